/* Reading a range of the stream again, without any effect on the consumer.
 *
 * It is read by an ephemeral consumer without acknowledgement, which the server
 * keeps in memory. A work queue allows none, so there messages are requested
 * one by one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "js_delivery.h"
#include "js_get.h"

enum { ROUND = 256, INACTIVE_S = 300 };

typedef struct reading {
    rr_source *source;
    uint64_t from, to;
    bool (*each)(void *context, const rr_delivery *delivery);
    void *context;
    bool ended;
    bool enough;   /* the caller wants no more */
    uint64_t next; /* no message below it comes any more */
    char subject[RR_JS_SUBJECT_MAX], inbox[128];
    natsSubscription *sub;
    rr_nats_client client; /* instead of sub, where headers are wanted */
} reading;

static bool has_client(const reading *run)
{
    return run->source->headers.names != NULL;
}

static void pass_on(reading *run, rr_delivery *delivery, uint64_t pending)
{
    delivery->handle = NULL;
    run->next = delivery->stream_sequence + 1;
    run->enough = delivery->stream_sequence > run->to || !run->each(run->context, delivery) ||
                  delivery->stream_sequence == run->to;
    run->ended = run->enough || pending == 0;
}

static rr_status pass_with_headers(reading *run, rr_slice block, rr_delivery *delivery, uint64_t pending,
                                   rr_error *error)
{
    rr_js_headers *wanted = &run->source->headers;

    if (!rr_js_headers_take(wanted, block, delivery)) {
        return rr_fail(error, RR_MEMORY, "no memory for headers");
    }
    pass_on(run, delivery, pending);
    rr_js_headers_release(wanted, delivery);
    return RR_OK;
}

static rr_status ask_round(reading *run, rr_error *error)
{
    char request[64];
    int len = snprintf(request, sizeof request, "{\"batch\":%d,\"no_wait\":true}", ROUND);
    natsConnection *connection = run->source->nats->connection;
    natsStatus status;

    if (has_client(run)) {
        rr_nats_client_publish(&run->client, rr_slice_of(run->subject), rr_slice_of(run->inbox),
                               (rr_slice){request, (size_t)len});
        rr_nats_client_send(&run->client);
        return RR_OK;
    }
    status = natsConnection_PublishRequest(connection, run->subject, run->inbox, request, len);
    return status == NATS_OK ? RR_OK : rr_nats_fail(run->source->nats, status, "read again", error);
}

/* *held: what the message lies in, if cnats received it. */
static rr_status next_message(reading *run, rr_nats_client_message *message, natsMsg **held, rr_error *error)
{
    rr_source *source = run->source;
    natsStatus status;

    *held = NULL;
    if (has_client(run)) {
        return rr_nats_client_next(&run->client, source->options.timeout_ms, message)
                   ? RR_OK
                   : rr_fail(error, RR_UNAVAILABLE, "%s: read again: %s", source->nats->place,
                             run->client.socket.why[0] == '\0' ? "no answer in time" : run->client.socket.why);
    }
    status = natsSubscription_NextMsg(held, run->sub, source->options.timeout_ms);
    if (status != NATS_OK) {
        return rr_nats_fail(source->nats, status, "read again", error);
    }
    *message = (rr_nats_client_message){.subject = rr_slice_of(natsMsg_GetSubject(*held)),
                                        .reply = rr_slice_of(natsMsg_GetReply(*held)),
                                        .payload = rr_js_data(*held)};
    return RR_OK;
}

static void release_message(reading *run, const rr_nats_client_message *message, natsMsg *held)
{
    if (held == NULL) {
        rr_nats_client_release(&run->client, message->subject.data);
    }
    natsMsg_Destroy(held);
}

/* One round: up to ROUND messages; a status message ends it earlier. */
static rr_status read_round(reading *run, rr_error *error)
{
    rr_status done = ask_round(run, error);
    rr_nats_client_message message;
    natsMsg *held = NULL;
    size_t got = 0;
    bool more = true;

    while (done == RR_OK && more && !run->ended && got < ROUND) {
        rr_delivery delivery;
        rr_reply reply;

        done = next_message(run, &message, &held, error);
        if (done != RR_OK) {
            return done;
        }
        more = rr_js_delivery(&message, &reply, NULL, &delivery);
        if (more) {
            got++;
            done = pass_with_headers(run, message.headers, &delivery, reply.pending, error);
        }
        release_message(run, &message, held);
    }
    run->ended = run->ended || (done == RR_OK && got == 0);
    return done;
}

/* cnats 3.4 takes the line behind an empty value for the value. So where headers are wanted, messages come over a
 * client of our own, which keeps the block as it is. */
static rr_status open_client(reading *run, char *inbox, rr_error *error)
{
    rr_status status = rr_nats_client_open(&run->client, run->source->nats, error);
    natsInbox *fresh = NULL;
    char subject[136];

    if (status != RR_OK) {
        return status;
    }
    if (natsInbox_Create(&fresh) != NATS_OK) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    snprintf(inbox, 128, "%s", fresh);
    natsInbox_Destroy(fresh);
    snprintf(subject, sizeof subject, "%s.*", inbox);
    rr_nats_client_subscribe(&run->client, subject);
    return RR_OK;
}

static rr_status subscribe_to(reading *run, const char *consumer, rr_error *error)
{
    char plain[128];
    rr_status status;

    status = has_client(run) ? open_client(run, plain, error) : rr_js_subscribe(run->source, &run->sub, plain, error);
    if (status != RR_OK) {
        return status;
    }
    snprintf(run->inbox, sizeof run->inbox, "%.120s.r", plain);
    snprintf(run->subject, sizeof run->subject, "%s.CONSUMER.MSG.NEXT.%s.%s", run->source->api,
             run->source->options.stream, consumer);
    return status;
}

/* The reader may be with a server of a cluster that does not have the newest messages yet, and then it ends too early.
 * A caller that asked up to a certain sequence takes what did not come for removed. So the leader is asked for more. */
static rr_status confirm_end(reading *run, rr_error *error)
{
    rr_source *source = run->source;
    rr_js_stored found;
    rr_status status = rr_js_next_message(source, run->next, source->filter, &found, error);

    if (status != RR_OK) {
        return status;
    }
    return found.sequence == 0 || found.sequence > run->to
               ? RR_OK
               : rr_fail(error, RR_UNAVAILABLE,
                         "stream %s: a server of the cluster does not have all of it yet; asking again",
                         source->options.stream);
}

static rr_status read_by_consumer(reading *run, rr_error *error)
{
    rr_source *source = run->source;
    jsConsumerInfo *info = NULL;
    jsConsumerConfig config;
    jsErrCode code = 0;
    natsStatus made;
    rr_status status;

    jsConsumerConfig_Init(&config);
    config.DeliverPolicy = js_DeliverByStartSequence;
    config.OptStartSeq = run->from;
    config.AckPolicy = js_AckNone;
    config.FilterSubject = source->filter[0] == '\0' ? NULL : source->filter;
    config.InactiveThreshold = INACTIVE_S * INT64_C(1000000000);
    config.MemoryStorage = true;
    made = js_AddConsumer(&info, source->js, source->options.stream, &config, NULL, &code);
    if (made != NATS_OK) {
        return rr_nats_js_fail(source->nats, made, (int)code, "make a reader to read again", error);
    }
    run->ended = info->NumPending == 0;
    status = subscribe_to(run, info->Name, error);
    while (status == RR_OK && !run->ended) {
        status = read_round(run, error);
    }
    rr_nats_retire(source->nats, run->sub);
    rr_nats_client_fini(&run->client);
    if (rr_nats_connected(source->nats)) {
        js_DeleteConsumer(source->js, source->options.stream, info->Name, NULL, NULL);
    }
    if (status == RR_OK && info->Cluster != NULL && !run->enough && run->to != UINT64_MAX) {
        status = confirm_end(run, error);
    }
    jsConsumerInfo_Destroy(info);
    return status;
}

/* --- a work queue --- */

/* Whether a subject matches a filter with wildcards. */
static bool passes(const char *filter, const char *subject)
{
    while (*filter != '\0' && *subject != '\0') {
        size_t token = strcspn(filter, "."), own = strcspn(subject, ".");

        if (token == 1 && *filter == '>') {
            return true;
        }
        if (!(token == 1 && *filter == '*') && (token != own || memcmp(filter, subject, own) != 0)) {
            return false;
        }
        filter += token;
        subject += own;
        if (*filter != *subject) {
            return false;
        }
        filter += *filter == '.';
        subject += *subject == '.';
    }
    return *filter == *subject;
}

static rr_status pass_stored(reading *run, uint64_t sequence, natsMsg *message, rr_error *error)
{
    rr_delivery delivery = {
        .subject = rr_slice_of(natsMsg_GetSubject(message)),
        .payload = rr_js_data(message),
        .stream_sequence = sequence,
        .times_delivered = 1,
        .stored_at_us = natsMsg_GetTime(message) / 1000,
    };
    rr_status status = RR_OK;
    char *block = NULL;
    size_t len = 0;

    if (run->source->headers.names != NULL) {
        status = rr_js_header_block(run->source, sequence, &block, &len, error);
    }
    if (status == RR_OK) {
        status = pass_with_headers(run, (rr_slice){block, len}, &delivery, 1, error);
    }
    free(block);
    return status;
}

static rr_status read_one(reading *run, uint64_t sequence, rr_error *error)
{
    rr_source *source = run->source;
    natsMsg *message = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetMsg(&message, source->js, source->options.stream, sequence, NULL, &code);
    rr_status done = RR_OK;

    if (status == NATS_NOT_FOUND) {
        return RR_OK;
    }
    if (status != NATS_OK) {
        return rr_nats_js_fail(source->nats, status, (int)code, "read again", error);
    }
    if (source->filter[0] == '\0' || passes(source->filter, natsMsg_GetSubject(message))) {
        done = pass_stored(run, sequence, message, error);
    }
    natsMsg_Destroy(message);
    return done;
}

static rr_status read_one_by_one(reading *run, rr_error *error)
{
    rr_source *source = run->source;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus asked = js_GetStreamInfo(&info, source->js, source->options.stream, NULL, &code);
    rr_status status = RR_OK;
    uint64_t last;

    if (asked != NATS_OK) {
        return rr_nats_js_fail(source->nats, asked, (int)code, "ask for the stream", error);
    }
    last = info->State.LastSeq < run->to ? info->State.LastSeq : run->to;
    run->from = info->State.FirstSeq > run->from ? info->State.FirstSeq : run->from;
    jsStreamInfo_Destroy(info);
    for (uint64_t at = run->from; status == RR_OK && at <= last && !run->ended; at++) {
        status = read_one(run, at, error);
    }
    return status;
}

rr_status rr_js_replay(rr_source *source, uint64_t from, uint64_t to, bool (*each)(void *, const rr_delivery *),
                       void *context, rr_error *error)
{
    reading run = {.source = source,
                   .from = from == 0 ? 1 : from,
                   .to = to == 0 ? UINT64_MAX : to,
                   .each = each,
                   .context = context};

    run.next = run.from;
    if (source->nats == NULL || !rr_nats_connected(source->nats)) {
        return rr_js_unavailable(source, error);
    }
    if (run.from > run.to) {
        return RR_OK;
    }
    return source->is_work_queue ? read_one_by_one(&run, error) : read_by_consumer(&run, error);
}
