/* Pull requests, and binding again behind a broken connection.
 *
 * natsSubscription_Fetch of cnats 3.4 can overrun its list, so requests are
 * sent and counted here. A message carries the stream's subject, not the inbox
 * of its pull. So outstanding messages are counted over all pulls: a pull adds
 * its batch, a message takes off one, and a status message takes off what its
 * pull did not deliver.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_pull.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "js_consumer.h"
#include "js_delivery.h"
#include "js_json.h"
#include "js_settle.h"
#include "nats_protocol.h"

enum {
    SLICE_MS = 50, /* a wait looks at the connection that often */
    NAP_MS = 10,
    SILENT_MS = 2 * RR_JS_HEARTBEAT_MS + 500, /* two heartbeats missed */
    DEAF_MS = 2 * RR_JS_EXPIRES_MS,           /* silent for so long: the server counts as away */
    PAUSE_MS = 250,                           /* after a refused pull, and between two attempts to bind */
    RECONNECT_MS = 1000,
    ASK_MIN_MS = 250,                    /* the first wait for an answer about the consumer */
    EXCUSE_MS = RR_JS_EXPIRES_MS + 1500, /* pulls of a broken connection live on at the server for that long */
    OUTSTANDING_BYTES = 48 * 1024 * 1024,
    FIRST_BYTES = 1024 * 1024, /* taken for the size of a message before one has come */
    LINE_BYTES = 256,          /* of the line before a message */
    FORGET = 64,               /* a smaller message lowers the estimate by one such part of the difference */
    RESETTLE_MS = 3000,
    NO_RESPONDERS = 503
};

static const char second_reader[] =
    "somebody else reads this consumer too: a delivery went elsewhere. Under `ack: all` an acknowledgement covers "
    "everything before it, also what the other reader has not done yet, so there may be one reader only. Stop the "
    "other "
    "one, or write `ack: explicit`";

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- subscribing --- */

bool rr_js_is_bound(const rr_source *source)
{
    return source->nats != NULL && source->is_bound && !source->is_leaving && source->client.socket.is_open;
}

/* Asks for the consumer. Over a slow connection no answer would come within the wait of a fetch. So after each answer
 * that did not come the next one is waited for longer, up to the time-out of a request. */
static rr_status ask_in_time(rr_source *source, int64_t deadline_ms, jsConsumerInfo **info, rr_error *error)
{
    int64_t left_ms = deadline_ms - rr_nats_now_ms(), most_ms = source->options.timeout_ms;
    int64_t wait_ms = source->info_wait_ms > ASK_MIN_MS ? source->info_wait_ms : ASK_MIN_MS;
    rr_status status;

    wait_ms = least(wait_ms < left_ms ? left_ms : wait_ms, most_ms);
    status = rr_js_consumer_info(source, (int)wait_ms, info, error);
    source->info_wait_ms = status == RR_UNAVAILABLE ? least(wait_ms * 2, most_ms) : ASK_MIN_MS;
    return status;
}

/* Under `ack: all` the server must have taken the subscription before it tells how much is delivered. Else what it
 * sends to the earlier subscription meanwhile would look like deliveries to another reader. */
static rr_status subscribe(rr_source *source, rr_error *error)
{
    natsInbox *fresh = NULL;
    char subject[136];
    natsStatus status = natsInbox_Create(&fresh);

    if (status != NATS_OK) {
        return rr_nats_fail(source->nats, status, "subscribe", error);
    }
    snprintf(source->inbox, sizeof source->inbox, "%s", fresh);
    natsInbox_Destroy(fresh);
    snprintf(subject, sizeof subject, "%s.*", source->inbox);
    rr_nats_client_subscribe(&source->client, subject);
    source->is_leaving = false;
    return source->options.ack == RR_ACK_ALL ? rr_js_flush(source, source->options.timeout_ms, error) : RR_OK;
}

static rr_status restart_count(rr_source *source, const jsConsumerInfo *info, rr_error *error)
{
    rr_acks_reset(&source->acks, info->Delivered.Consumer + 1);
    if (source->is_reconnected) {
        source->excuse_gaps_until_ms = rr_nats_now_ms() + EXCUSE_MS;
    }
    return rr_js_settle(source, info, error);
}

/* Subscribes, and sees that the consumer exists. Under `ack: all` waiting messages are dropped: they were counted for
 * another connection. */
static rr_status bind_again(rr_source *source, int64_t deadline_ms, rr_error *error)
{
    bool counts = source->options.ack == RR_ACK_ALL;
    jsConsumerInfo *info = NULL;
    rr_status status = RR_OK;

    source->is_bound = false;
    if (!source->client.socket.is_open) {
        source->is_reconnected = true;
        status = rr_nats_client_open(&source->client, source->nats, error);
    }
    if (status == RR_OK && counts) {
        rr_nats_client_drop(&source->client);
    }
    if (status == RR_OK && (source->is_reconnected || counts || source->is_leaving)) {
        status = subscribe(source, error);
    }
    if (status == RR_OK) {
        status = ask_in_time(source, deadline_ms, &info, error);
    }
    if (status == RR_OK && counts) {
        status = restart_count(source, info, error);
    }
    jsConsumerInfo_Destroy(info);
    if (source->is_reconnected || status != RR_OK) {
        source->rebind_at_ms = rr_nats_now_ms() + PAUSE_MS;
    }
    if (status == RR_OK) {
        source->is_bound = true;
        source->is_reconnected = false;
        source->outstanding = 0;
        source->void_below = source->pull_number;
        source->heard_ms = rr_nats_now_ms();
    }
    return status;
}

/* cnats gave up on the connection: opens a new one, not too often. */
static void reconnect(rr_source *source)
{
    int64_t now = rr_nats_now_ms();
    rr_error error = {0};

    if (now >= source->reconnect_at_ms) {
        rr_js_disconnect(source);
        rr_js_connect(source, &error);
        source->reconnect_at_ms = rr_nats_now_ms() + RECONNECT_MS;
    }
}

/* Waits for the connection, and for the time to bind again: a server that refuses at once must make no busy loop. */
static rr_status wait_connected(rr_source *source, int64_t deadline_ms, rr_error *error)
{
    for (;;) {
        if (source->nats == NULL || rr_nats_gave_up(source->nats)) {
            reconnect(source);
        }
        if (source->nats != NULL && rr_nats_connected(source->nats) &&
            (rr_js_is_bound(source) || rr_nats_now_ms() >= source->rebind_at_ms)) {
            return RR_OK;
        }
        if (rr_nats_now_ms() >= deadline_ms) {
            return rr_js_unavailable(source, error);
        }
        nats_Sleep(least(NAP_MS, deadline_ms - rr_nats_now_ms()));
    }
}

/* While outstanding deliveries are missing, asks again now and then: they may have been removed from the stream, or
 * need another request to come. */
static rr_status settle_again(rr_source *source, int64_t deadline_ms, rr_error *error)
{
    jsConsumerInfo *info = NULL;
    rr_status status;

    if (source->acks.debt == 0 || rr_nats_now_ms() < source->settled_ms + RESETTLE_MS || source->client.count > 0) {
        return RR_OK;
    }
    status = ask_in_time(source, deadline_ms, &info, error);
    if (status == RR_OK) {
        status = rr_js_settle(source, info, error);
        jsConsumerInfo_Destroy(info);
    }
    return status;
}

/* Without the permissions to subscribe and to acknowledge no message comes, or none is acknowledged: a failure for
 * good. */
static void check_permissions(rr_source *source)
{
    char text[2 * sizeof source->client.socket.why];

    if (strstr(source->client.socket.why, "Permissions Violation") != NULL) {
        snprintf(text, sizeof text, "%s: %s; the user's permissions must allow it", source->nats->place,
                 source->client.socket.why);
        rr_js_fail_for_good(source, text, NULL);
    }
}

static rr_status get_ready(rr_source *source, int64_t deadline_ms, rr_error *error)
{
    rr_status status;

    check_permissions(source);
    if (source->failed.status != RR_OK) {
        if (error != NULL) {
            *error = source->failed;
        }
        return source->failed.status;
    }
    status = wait_connected(source, deadline_ms, error);
    if (status == RR_OK && !rr_js_is_bound(source)) {
        status = bind_again(source, deadline_ms, error);
    }
    return status == RR_OK ? settle_again(source, deadline_ms, error) : status;
}

/* --- pulls --- */

/* How many messages may be outstanding. A server closes a connection for which 64 MB wait, so what comes while nobody
 * receives must be less. Before the first message has come, messages are taken to be as large as a server allows by
 * default. */
static size_t most_outstanding(const rr_source *source)
{
    size_t fit = OUTSTANDING_BYTES / (source->message_bytes == 0 ? FIRST_BYTES : source->message_bytes);
    size_t full = source->options.batch * source->options.pulls;

    return fit >= full ? full : fit == 0 ? 1 : fit;
}

/* The estimate rises at once and falls slowly. */
static void estimate_size(rr_source *source, const rr_nats_client_message *message)
{
    size_t bytes = message->payload.len + message->headers.len + LINE_BYTES;
    size_t known = source->message_bytes == 0 ? FIRST_BYTES : source->message_bytes;

    source->message_bytes = bytes >= known ? bytes : known - (known - bytes + FORGET - 1) / FORGET;
}

static void send_pull(rr_source *source, size_t batch)
{
    char reply[160], request[128];
    int inbox = snprintf(reply, sizeof reply, "%s.%llu", source->inbox, (unsigned long long)source->pull_number), len;

    len = snprintf(request, sizeof request, "{\"batch\":%zu,\"expires\":%lld,\"idle_heartbeat\":%lld}", batch,
                   RR_JS_EXPIRES_MS * 1000000LL, RR_JS_HEARTBEAT_MS * 1000000LL);
    rr_nats_client_publish(&source->client, rr_slice_of(source->pull_subject), (rr_slice){reply, (size_t)inbox},
                           (rr_slice){request, (size_t)len});
}

/* Sends pulls until as many are outstanding as the options say. */
static void send_pulls(rr_source *source)
{
    size_t most = most_outstanding(source), batch = most / source->options.pulls;

    if (!source->is_bound || source->failed.status != RR_OK || rr_nats_now_ms() < source->pause_until_ms ||
        !source->client.socket.is_open) {
        return;
    }
    batch = batch == 0 ? 1 : batch;
    while (source->outstanding + batch <= most) {
        send_pull(source, batch);
        source->pull_number++;
        source->outstanding += batch;
    }
    rr_nats_client_send(&source->client);
}

static void take_off(rr_source *source, size_t messages)
{
    source->outstanding -= messages < source->outstanding ? messages : source->outstanding;
}

/* The digits in front. */
static uint64_t number_of(rr_slice text)
{
    uint64_t number = 0;

    for (size_t k = 0; k < text.len && text.data[k] >= '0' && text.data[k] <= '9'; k++) {
        number = number * 10 + (uint64_t)(text.data[k] - '0');
    }
    return number;
}

/* A pull ended without having delivered all its messages. */
static void end_pull(rr_source *source, const rr_nats_client_message *status, uint64_t number)
{
    rr_slice text = rr_nats_header(status->headers, "Nats-Pending-Messages");
    size_t left = text.len == 0 ? source->options.batch : number_of(text);

    if (number >= source->void_below) {
        take_off(source, left);
    }
}

/* No pull is answered any more: all count as ended. Messages that still come are taken. */
static void void_pulls(rr_source *source)
{
    source->outstanding = 0;
    source->void_below = source->pull_number;
}

static void pause_pulls(rr_source *source)
{
    source->pause_until_ms = rr_nats_now_ms() + PAUSE_MS;
}

static rr_status take_conflict(rr_source *source, const rr_nats_client_message *message, uint64_t number,
                               rr_error *error)
{
    rr_slice text = rr_nats_status_text(message->headers);
    char why[128];

    snprintf(why, sizeof why, "%.*s", (int)text.len, text.data == NULL ? "" : text.data);
    if (strcasecmp(why, "Consumer Deleted") == 0) {
        return rr_js_fail_for_good(source,
                                   "the consumer is gone, and with it what was acknowledged: somebody deleted it; make "
                                   "it again on purpose",
                                   error);
    }
    if (strncasecmp(why, "Exceeded MaxRequest", strlen("Exceeded MaxRequest")) == 0) {
        char full[256];

        snprintf(full, sizeof full,
                 "the consumer does not allow our pulls: %s; its limit must hold a batch of %zu and an "
                 "expiry of 5 s",
                 why, source->options.batch);
        return rr_js_fail_for_good(source, full, error);
    }
    pause_pulls(source);
    if (strcasecmp(why, "Exceeded MaxWaiting") == 0) {
        end_pull(source, message, number);
    } else {
        /* The server shuts down, or the consumer has another leader. */
        void_pulls(source);
    }
    return RR_OK;
}

/* The answer to the question whether the consumer still exists. */
static rr_status take_answer(rr_source *source, const rr_nats_client_message *message, rr_error *error)
{
    uint64_t code = rr_js_json_number(message->payload, "err_code");

    if (code == JSConsumerNotFoundErr || code == JSStreamNotFoundErr) {
        return rr_js_missing(source,
                             code == JSStreamNotFoundErr ? "the stream is gone, and the consumer with it"
                                                         : "the consumer is gone, and with it what was "
                                                           "acknowledged; make it again on purpose",
                             error);
    }
    source->missing_since_ms = 0;
    return RR_OK;
}

static rr_status take_status(rr_source *source, const rr_nats_client_message *message, rr_error *error)
{
    size_t inbox = strlen(source->inbox) + 1;
    uint64_t number = message->subject.len <= inbox
                          ? 0
                          : number_of((rr_slice){message->subject.data + inbox, message->subject.len - inbox});

    switch (rr_nats_status_of(message->headers)) {
    case 0: return take_answer(source, message, error);
    case 100: /* heartbeat */ return RR_OK;
    case 404:
    case 408: end_pull(source, message, number); return RR_OK;
    case 409: return take_conflict(source, message, number, error);
    default: /* 400, NO_RESPONDERS, and codes of later servers: must not become a busy loop */
        pause_pulls(source);
        void_pulls(source);
        return RR_OK;
    }
}

/* Two heartbeats are missing: voids the pulls, and asks whether the consumer still exists. A pull to a consumer that
 * does not exist is not answered at all. */
static rr_status check_silence(rr_source *source, rr_error *error)
{
    int64_t now = rr_nats_now_ms();
    char subject[RR_JS_SUBJECT_MAX], reply[160];

    if (now - source->heard_ms > SILENT_MS && now - source->voided_ms > SILENT_MS) {
        source->voided_ms = now;
        void_pulls(source);
        snprintf(subject, sizeof subject, "%s.CONSUMER.INFO.%s.%s", source->api, source->options.stream,
                 source->options.consumer);
        snprintf(reply, sizeof reply, "%s.info", source->inbox);
        rr_nats_client_publish(&source->client, rr_slice_of(subject), rr_slice_of(reply), (rr_slice){NULL, 0});
        rr_nats_client_send(&source->client);
    }
    if (now - source->heard_ms > DEAF_MS) {
        rr_nats_client_close(&source->client);
        return rr_fail(error, RR_UNAVAILABLE, "%s: connected, but nothing was heard for %lld s; trying again",
                       source->nats->place, (long long)((now - source->heard_ms) / 1000));
    }
    return RR_OK;
}

/* --- deliveries --- */

static rr_status count_delivery(rr_source *source, const rr_reply *reply, rr_slice head, rr_error *error)
{
    switch (rr_acks_take(&source->acks, reply)) {
    case RR_ACKS_TAKEN:
        if (head.len < sizeof source->reply_head) {
            memcpy(source->reply_head, head.data, head.len);
            source->reply_head_len = head.len;
        }
        return RR_OK;
    case RR_ACKS_GAP:
        if (rr_nats_now_ms() > source->excuse_gaps_until_ms) {
            return rr_js_fail_for_good(source, second_reader, error);
        }
        source->is_bound = false;
        return RR_OK;
    case RR_ACKS_BACK: source->is_bound = false; return RR_OK;
    default: source->is_bound = false; return rr_fail(error, RR_MEMORY, "no memory to count deliveries");
    }
}

/* Takes one message from the inbox. *got: it is a delivery, which is now the caller's. */
static rr_status take(rr_source *source, const rr_nats_client_message *message, rr_delivery *delivery, bool *got,
                      rr_error *error)
{
    rr_status status = RR_OK;
    rr_slice head;
    rr_reply reply;

    *got = rr_js_delivery(message, &reply, &head, delivery);
    if (*got) {
        take_off(source, 1);
        estimate_size(source, message);
        if (!rr_js_headers_take(&source->headers, message->headers, delivery)) {
            /* Not counted, so the count begins anew. */
            source->is_bound = *got = false;
            status = rr_fail(error, RR_MEMORY, "no memory for headers");
        } else if (source->options.ack == RR_ACK_ALL) {
            status = count_delivery(source, &reply, head, error);
            *got = status == RR_OK && source->is_bound;
        }
    } else {
        status = take_status(source, message, error);
    }
    if (!*got) {
        rr_js_headers_release(&source->headers, delivery);
        rr_nats_client_release(&source->client, message->subject.data);
    }
    return status;
}

/* Takes the messages that are there, waiting for the first at most wait_ms. */
static rr_status take_some(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int64_t wait_ms,
                           rr_error *error)
{
    rr_status status = RR_OK;
    bool heard = false;

    while (*count < most && status == RR_OK && source->is_bound) {
        rr_nats_client_message message;
        bool got;

        if (!rr_nats_client_next(&source->client, *count == 0 ? wait_ms : 0, &message)) {
            break;
        }
        /* NATS itself answers NO_RESPONDERS, where no JetStream does. */
        heard |= rr_nats_status_of(message.headers) != NO_RESPONDERS;
        status = take(source, &message, &deliveries[*count], &got, error);
        *count += got;
        wait_ms = 0;
    }
    if (heard) {
        source->heard_ms = rr_nats_now_ms();
    }
    return status;
}

/* Nothing came: checks that connection and server are still there. */
static rr_status check_connection(rr_source *source, rr_error *error)
{
    if (rr_nats_gave_up(source->nats) || !rr_nats_connected(source->nats)) {
        return rr_js_unavailable(source, error);
    }
    if (!source->client.socket.is_open) {
        return RR_OK; /* the next turn opens it */
    }
    send_pulls(source);
    return check_silence(source, error);
}

rr_status rr_js_fetch(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                      rr_error *error)
{
    int64_t deadline_ms = rr_nats_now_ms() + (wait_ms > 0 ? wait_ms : 0);
    rr_status status;

    *count = 0;
    do {
        status = get_ready(source, deadline_ms, error);
        if (status != RR_OK) {
            return status;
        }
        send_pulls(source);
        status = take_some(source, deliveries, most, count, least(SLICE_MS, deadline_ms - rr_nats_now_ms()), error);
        if (*count > 0) {
            /* The next call reports a failure behind these: it is remembered, or happens again. */
            send_pulls(source);
            return RR_OK;
        }
        if (status == RR_OK && source->is_bound) {
            status = check_connection(source, error);
        }
    } while (status == RR_OK && rr_nats_now_ms() < deadline_ms);
    return status;
}
