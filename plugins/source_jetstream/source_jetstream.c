/* Opening, acknowledging, and info. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_jetstream.h"

#include <stdio.h>
#include <stdlib.h>

#include "js_consumer.h"
#include "js_find_time.h"
#include "js_publish.h"
#include "js_pull.h"
#include "js_replay.h"
#include "js_streams.h"
#include "js_survey.h"

enum { CLOSE_FLUSH_MS = 1000, QUIET_MS = 20 };

static rr_status js_open(const rr_source_options *options, rr_source **source, rr_error *error)
{
    rr_error local = {0};
    rr_source *made;
    rr_status status = rr_js_open_unbound(options, &made, error == NULL ? &local : error);

    *source = NULL;
    if (status != RR_OK) {
        return status;
    }
    status = rr_js_bind(made, error == NULL ? &local : error);
    if (status != RR_OK) {
        rr_js_free(made);
        return status;
    }
    *source = made;
    return RR_OK;
}

/* --- acknowledging --- */

/* A delivery's handle points to its reply subject among the received bytes; a space ends it. */
static void answer(rr_source *source, const void *handle, rr_slice word)
{
    const char *reply = handle;

    rr_nats_client_publish(&source->client, (rr_slice){reply, strcspn(reply, " \t")}, (rr_slice){NULL, 0}, word);
}

static void answer_all(rr_source *source, const rr_delivery *deliveries, size_t count, rr_slice word)
{
    for (size_t i = 0; i < count; i++) {
        answer(source, deliveries[i].handle, word);
    }
    rr_nats_client_send(&source->client);
}

static void free_deliveries(rr_source *source, const rr_delivery *deliveries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rr_js_headers_release(&source->headers, &deliveries[i]);
        rr_nats_client_release(&source->client, deliveries[i].handle);
    }
}

/* Sends the acknowledgement that is due, only over the connection that brought its deliveries. A server that was killed
 * may have lost its last counts. An acknowledgement of earlier deliveries would set its floor above what it believes to
 * have delivered; then it repeats these messages for ever and ignores every acknowledgement. Deliveries that are not
 * acknowledged here come again. */
static void acknowledge_due(rr_source *source)
{
    char subject[RR_REPLY_MAX];
    rr_reply reply;

    if (source->failed.status == RR_OK && rr_js_is_bound(source) && rr_acks_due(&source->acks, &reply)) {
        size_t len = rr_reply_print((rr_slice){source->reply_head, source->reply_head_len}, &reply, subject);

        rr_nats_client_publish(&source->client, (rr_slice){subject, len}, (rr_slice){NULL, 0}, RR_SLICE("+ACK"));
        rr_nats_client_send(&source->client);
    }
}

static rr_status sent(const rr_source *source, rr_error *error)
{
    return source->client.socket.is_open ? RR_OK : rr_js_unavailable(source, error);
}

static rr_status js_ack(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    if (source->options.ack == RR_ACK_ALL) {
        for (size_t i = 0; i < count; i++) {
            rr_acks_done(&source->acks, deliveries[i].stream_sequence);
        }
        acknowledge_due(source);
    } else {
        answer_all(source, deliveries, count, RR_SLICE("+ACK"));
    }
    free_deliveries(source, deliveries, count);
    return sent(source, error);
}

static rr_status js_progress(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    answer_all(source, deliveries, count, RR_SLICE("+WPI"));
    rr_nats_client_receive(&source->client); /* the server closes the connection of a client that does not read */
    return sent(source, error);
}

/* The reply subjects of messages that came and were never fetched. Outstanding pulls bring a limited number. Messages
 * that come later are repeated after ack_wait. */
static const void **take_unfetched(rr_source *source, size_t *count)
{
    int64_t until_ms = rr_nats_now_ms() + CLOSE_FLUSH_MS;
    const void **rest = NULL, **grown;
    rr_nats_client_message message;

    while (rr_nats_now_ms() < until_ms && rr_nats_client_next(&source->client, QUIET_MS, &message)) {
        grown = message.reply.len == 0 ? NULL : reallocarray(rest, *count + 1, sizeof *rest);
        if (grown == NULL) {
            rr_nats_client_release(&source->client, message.subject.data);
            continue;
        }
        rest = grown;
        rest[(*count)++] = message.reply.data;
    }
    return rest;
}

/* Unsubscribes, then gives back what was never fetched. In this order: else the server would deliver it to our own
 * pulls again. (nats-server 2.9 forgets the first message that is given back while a pull without subscriber is left;
 * it repeats that one after ack_wait.) */
static void leave(rr_source *source)
{
    size_t count = 0;
    const void **rest;

    if (source->is_leaving) {
        return;
    }
    rest = take_unfetched(source, &count);
    rr_nats_client_unsubscribe(&source->client);
    for (size_t i = 0; i < count; i++) {
        if (source->options.ack == RR_ACK_EXPLICIT) {
            answer(source, rest[i], RR_SLICE("-NAK"));
        }
        rr_nats_client_release(&source->client, rest[i]);
    }
    rr_nats_client_send(&source->client);
    free(rest);
    source->is_leaving = true;
}

static void js_release(rr_source *source, const rr_delivery *deliveries, size_t count, bool leaving)
{
    if (leaving) {
        leave(source);
    }
    /* Under `ack: all` the next reader asks for outstanding messages (js_settle.c). */
    if (leaving && source->options.ack == RR_ACK_EXPLICIT) {
        answer_all(source, deliveries, count, RR_SLICE("-NAK"));
    }
    free_deliveries(source, deliveries, count);
}

static void js_close(rr_source *source)
{
    if (source == NULL) {
        return;
    }
    leave(source);
    rr_nats_client_flush(&source->client, CLOSE_FLUSH_MS);
    rr_js_free(source);
}

/* --- info --- */

static void copy_stream(rr_source_info *info, const jsStreamInfo *stream)
{
    static const char *const retentions[] = {"limits", "interest", "workqueue"};
    const jsStreamConfig *config = stream->Config;
    size_t retention = (size_t)config->Retention;

    info->first_sequence = stream->State.FirstSeq;
    info->last_sequence = stream->State.LastSeq;
    info->created_at_us = stream->Created / 1000;
    info->replicas = (int)config->Replicas;
    info->max_age_us = config->MaxAge > 0 ? config->MaxAge / 1000 : 0;
    info->max_messages = config->MaxMsgs > 0 ? config->MaxMsgs : 0;
    info->max_bytes = config->MaxBytes > 0 ? config->MaxBytes : 0;
    snprintf(info->retention, sizeof info->retention, "%s", retention < 3 ? retentions[retention] : "other");
    snprintf(info->storage, sizeof info->storage, "%s", config->Storage == js_MemoryStorage ? "memory" : "file");
}

/* Where the consumer starts: earlier messages were never meant for it. */
static void copy_start(rr_source_info *info, const jsConsumerInfo *consumer)
{
    const jsConsumerConfig *config = consumer->Config;

    if (config->DeliverPolicy == js_DeliverByStartSequence) {
        info->starts_at = config->OptStartSeq;
    } else if (config->DeliverPolicy == js_DeliverByStartTime) {
        info->starts_at_us = config->OptStartTime / 1000;
    } else if (config->DeliverPolicy != js_DeliverAll) {
        info->starts_at_us = consumer->Created / 1000;
    }
}

static rr_status js_info(rr_source *source, rr_source_info *info, rr_error *error)
{
    jsStreamInfo *stream = NULL;
    jsConsumerInfo *consumer = NULL;
    jsErrCode code = 0;
    natsStatus status;
    rr_status done;

    *info = (rr_source_info){0};
    if (source->nats == NULL || !rr_nats_connected(source->nats)) {
        return rr_js_unavailable(source, error);
    }
    status = js_GetStreamInfo(&stream, source->js, source->options.stream, NULL, &code);
    if (status != NATS_OK) {
        return status == NATS_NOT_FOUND ? rr_js_missing(source, "the stream is gone", error)
                                        : rr_nats_js_fail(source->nats, status, (int)code, "ask for the stream", error);
    }
    copy_stream(info, stream);
    jsStreamInfo_Destroy(stream);
    done = rr_js_consumer_info(source, source->options.timeout_ms, &consumer, error);
    if (done == RR_CONFIG && source->options.read_only) {
        return RR_OK; /* a reader needs no consumer */
    }
    if (done == RR_OK) {
        info->ack_floor = consumer->AckFloor.Stream;
        info->delivered = consumer->Delivered.Stream;
        info->deliveries = consumer->Delivered.Consumer;
        copy_start(info, consumer);
        info->pending = consumer->NumPending;
        info->ack_pending = (uint64_t)consumer->NumAckPending;
        info->redelivered = (uint64_t)consumer->NumRedelivered;
        jsConsumerInfo_Destroy(consumer);
    }
    return done;
}

const rr_source_ops rr_source_jetstream_ops = {
    .scheme = "nats",
    .open = js_open,
    .close = js_close,
    .fetch = rr_js_fetch,
    .ack = js_ack,
    .progress = js_progress,
    .release = js_release,
    .publish = rr_js_publish,
    .bound = rr_js_bound,
    .info = js_info,
    .flush = rr_js_flush,
    .replay = rr_js_replay,
    .find_time = rr_js_find_time,
    .survey = rr_js_survey,
    .make_stream = rr_js_make_stream,
};

#ifdef RR_PLUGIN_SHARED
#include <rr/plugin.h>

extern const rr_plugin rr_plugin_export __asm__("rr_plugin") __attribute__((visibility("default")));

const rr_plugin rr_plugin_export = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "source_jetstream",
    .help = "Reads a durable pull consumer of a NATS JetStream stream.",
    .source = &rr_source_jetstream_ops,
};
#endif
