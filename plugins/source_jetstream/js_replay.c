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
    char subject[2 * RR_JS_NAME_MAX + 64], inbox[128];
    natsSubscription *sub;
} reading;

static void pass_on(reading *run, rr_delivery *delivery, uint64_t pending)
{
    delivery->handle = NULL;
    run->next = delivery->stream_sequence + 1;
    run->enough = delivery->stream_sequence > run->to || !run->each(run->context, delivery) ||
                  delivery->stream_sequence == run->to;
    run->ended = run->enough || pending == 0;
}

static rr_status ask_round(reading *run, rr_error *error)
{
    char request[64];
    int len = snprintf(request, sizeof request, "{\"batch\":%d,\"no_wait\":true}", ROUND);
    natsConnection *connection = run->source->nats->connection;
    natsStatus status = natsConnection_PublishRequest(connection, run->subject, run->inbox, request, len);

    return status == NATS_OK ? RR_OK : rr_nats_fail(run->source->nats, status, "read again", error);
}

/* One round: up to ROUND messages; a status message ends it earlier. */
static rr_status read_round(reading *run, rr_error *error)
{
    rr_status done = ask_round(run, error);
    natsMsg *message = NULL;
    size_t got = 0;
    bool more = true;

    while (done == RR_OK && more && !run->ended && got < ROUND) {
        natsStatus status = natsSubscription_NextMsg(&message, run->sub, run->source->options.timeout_ms);
        rr_delivery delivery;
        rr_reply reply;

        if (status != NATS_OK) {
            return rr_nats_fail(run->source->nats, status, "read again", error);
        }
        more = rr_js_delivery(&(rr_nats_client_message){.subject = rr_slice_of(natsMsg_GetSubject(message)),
                                                        .reply = rr_slice_of(natsMsg_GetReply(message)),
                                                        .payload = rr_js_data(message)},
                              &reply, NULL, &delivery);
        if (more) {
            got++;
            pass_on(run, &delivery, reply.pending);
        }
        natsMsg_Destroy(message);
    }
    run->ended = run->ended || (done == RR_OK && got == 0);
    return done;
}

static rr_status subscribe_to(reading *run, const char *consumer, rr_error *error)
{
    char plain[128];
    rr_status status;

    status = rr_js_subscribe(run->source, &run->sub, plain, error);
    snprintf(run->inbox, sizeof run->inbox, "%.120s.r", plain);
    snprintf(run->subject, sizeof run->subject, "$JS.API.CONSUMER.MSG.NEXT.%s.%s", run->source->options.stream,
             consumer);
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

static rr_status read_one(reading *run, uint64_t sequence, rr_error *error)
{
    rr_source *source = run->source;
    natsMsg *message = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetMsg(&message, source->js, source->options.stream, sequence, NULL, &code);

    if (status == NATS_NOT_FOUND) {
        return RR_OK;
    }
    if (status != NATS_OK) {
        return rr_nats_js_fail(source->nats, status, (int)code, "read again", error);
    }
    if (source->filter[0] == '\0' || passes(source->filter, natsMsg_GetSubject(message))) {
        rr_delivery delivery = {
            .subject = rr_slice_of(natsMsg_GetSubject(message)),
            .payload = rr_js_data(message),
            .stream_sequence = sequence,
            .times_delivered = 1,
            .stored_at_us = natsMsg_GetTime(message) / 1000,
        };

        pass_on(run, &delivery, 1);
    }
    natsMsg_Destroy(message);
    return RR_OK;
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
