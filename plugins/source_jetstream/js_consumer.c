/* Finding, making and checking the stream's consumer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_consumer.h"

#include <stdio.h>

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000, MISSING_MS = 30000 };

static const char *ack_word(jsAckPolicy policy)
{
    return policy == js_AckAll ? "all" : policy == js_AckNone ? "none" : "explicit";
}

static jsAckPolicy wanted_ack(const rr_source *source)
{
    return source->options.ack == RR_ACK_ALL ? js_AckAll : js_AckExplicit;
}

/* Four times what can be under way at once, so that deliveries at work and deliveries to be repeated never stop the
 * flow. */
static int64_t wanted_pending(const rr_source *source)
{
    size_t flying = source->options.batch * source->options.pulls * 4;

    return flying > 20000 ? (int64_t)flying : 20000;
}

rr_status rr_js_missing(rr_source *source, const char *why, rr_error *error)
{
    int64_t now_ms = rr_nats_now_ms();

    source->missing_since_ms = source->missing_since_ms == 0 ? now_ms : source->missing_since_ms;
    if (!source->is_clustered || now_ms - source->missing_since_ms > MISSING_MS) {
        return rr_js_fail_for_good(source, why, error);
    }
    return rr_fail(error, RR_UNAVAILABLE, "consumer %s of stream %s: a server says that it is not there; asking again",
                   source->options.consumer, source->options.stream);
}

rr_status rr_js_consumer_info(rr_source *source, int wait_ms, jsConsumerInfo **info, rr_error *error)
{
    jsErrCode code = 0;
    jsOptions options;
    natsStatus status;

    jsOptions_Init(&options);
    options.Wait = wait_ms;
    status = js_GetConsumerInfo(info, source->js, source->options.stream, source->options.consumer, &options, &code);
    if (status == NATS_OK) {
        source->is_clustered = (*info)->Cluster != NULL && (*info)->Cluster->Name != NULL;
        source->missing_since_ms = 0;
        return RR_OK;
    }
    *info = NULL;
    if (code == JSStreamNotFoundErr) {
        return rr_js_missing(
            source,
            "the stream is gone and its messages with it; a new stream of that name counts from 1 again. "
            "If that is intended, configure another consumer",
            error);
    }
    if (status == NATS_NOT_FOUND || code == JSConsumerNotFoundErr) {
        return rr_js_missing(
            source, "the consumer is gone, and with it what was acknowledged; make it again on purpose", error);
    }
    source->missing_since_ms = 0; /* without an answer nobody says that it is missing */
    return rr_nats_js_fail(source->nats, status, (int)code, "ask for the consumer", error);
}

/* --- checks --- */

static rr_status refuse(const rr_source *source, rr_error *error, const char *what, const char *is, const char *wanted)
{
    rr_fail(error, RR_CONFIG,
            "%s is %s, but %s; change the configuration or the consumer (nats consumer edit, or make "
            "another one)",
            what, is, wanted);
    return rr_js_within(source, error);
}

static rr_status refuse_number(const rr_source *source, rr_error *error, const char *what, int64_t is, const char *unit,
                               const char *wanted)
{
    char text[64];

    snprintf(text, sizeof text, "%lld%s", (long long)is, unit);
    return refuse(source, error, what, text, wanted);
}

static rr_status check_manner(const rr_source *source, const jsConsumerConfig *config, rr_error *error)
{
    char wanted[128];

    if (config->DeliverSubject != NULL && config->DeliverSubject[0] != '\0') {
        return refuse(source, error, "its kind", "push", "only pull consumers are read");
    }
    if (config->AckPolicy != wanted_ack(source)) {
        snprintf(wanted, sizeof wanted, "the configuration says ack: %s", ack_word(wanted_ack(source)));
        return refuse(source, error, "its ack policy", ack_word(config->AckPolicy), wanted);
    }
    if (config->MaxDeliver > 0) {
        return refuse_number(source, error, "max_deliver", config->MaxDeliver, "",
                             "it must be unlimited (-1): an outage of the store would use up the deliveries, and the "
                             "records would be lost");
    }
    if (source->options.filter != NULL && strcmp(source->filter, source->options.filter) != 0) {
        snprintf(wanted, sizeof wanted, "the configuration says '%.80s'", source->options.filter);
        return refuse(source, error, "its filter", source->filter[0] == '\0' ? "none" : source->filter, wanted);
    }
    if (config->HeadersOnly) {
        return refuse(source, error, "headers_only", "true", "the payload is needed");
    }
    if (config->MemoryStorage) {
        return refuse(source, error, "its state", "kept in memory",
                      "acknowledgements must survive a restart of the server");
    }
    return RR_OK;
}

static rr_status check_numbers(const rr_source *source, const jsConsumerConfig *config, rr_error *error)
{
    int64_t batch = (int64_t)source->options.batch;

    if (config->MaxAckPending > 0 && config->MaxAckPending < batch) {
        return refuse_number(source, error, "max_ack_pending", config->MaxAckPending, "",
                             "it must hold at least one batch, better four times batch x pulls");
    }
    if (config->AckWait < (int64_t)RR_JS_ACK_WAIT_MIN_S * NS_PER_S) {
        return refuse_number(source, error, "ack_wait", config->AckWait / NS_PER_MS, " ms",
                             "a batch may need longer, and all of it would come again and again; take 30 s or more");
    }
    if (config->BackOffLen > 0) {
        return refuse_number(source, error, "backoff", config->BackOffLen, " steps",
                             "it takes the place of ack_wait; it must be empty");
    }
    if (config->MaxRequestBatch > 0 && config->MaxRequestBatch < batch) {
        return refuse_number(source, error, "max_batch", config->MaxRequestBatch, "",
                             "the configuration's batch is larger");
    }
    if (config->MaxRequestExpires > 0 && config->MaxRequestExpires < (int64_t)RR_JS_EXPIRES_MS * NS_PER_MS) {
        return refuse_number(source, error, "max_expires", config->MaxRequestExpires / NS_PER_MS, " ms",
                             "a pull here waits 5 s");
    }
    if (config->InactiveThreshold > 0) {
        return refuse_number(source, error, "inactive_threshold", config->InactiveThreshold / NS_PER_MS, " ms",
                             "the server would remove the consumer, and what was acknowledged with it, while we are "
                             "away");
    }
    return RR_OK;
}

static rr_status check(rr_source *source, const jsConsumerConfig *config, rr_error *error)
{
    rr_status status;

    snprintf(source->filter, sizeof source->filter, "%s", config->FilterSubject == NULL ? "" : config->FilterSubject);
    status = check_manner(source, config, error);
    return status != RR_OK ? status : check_numbers(source, config, error);
}

/* --- making one --- */

static void print_start(const rr_source_options *options, char *text, size_t room)
{
    if (options->start == RR_START_TIME) {
        snprintf(text, room, "<the time>");
    } else {
        snprintf(text, room, "%s", options->start == RR_START_NEW ? "new" : "all");
    }
}

static rr_status fail_missing(const rr_source *source, rr_error *error)
{
    const rr_source_options *options = &source->options;
    char start[32];

    print_start(options, start, sizeof start);
    rr_fail(error, RR_CONFIG,
            "there is no such consumer. Write `create: true` in its configuration, or make it: nats "
            "consumer add %s %s --pull --deliver=%s --ack=%s --wait=%ds --max-deliver=-1 --max-pending=%lld "
            "--replay=instant --filter='%s'",
            options->stream, options->consumer, start, ack_word(wanted_ack(source)), options->ack_wait_s,
            (long long)wanted_pending(source), options->filter == NULL ? "" : options->filter);
    return rr_js_within(source, error);
}

/* From 1970 to 2262: what nanoseconds in 64 bits can say. 0 would be no time at all. */
static int64_t ns_of(int64_t time_us)
{
    return time_us <= 0 ? 1 : time_us > INT64_MAX / 1000 ? INT64_MAX : time_us * 1000;
}

static rr_status make(rr_source *source, rr_error *error)
{
    const rr_source_options *options = &source->options;
    jsConsumerInfo *info = NULL;
    jsConsumerConfig config;
    jsErrCode code = 0;
    natsStatus status;
    rr_status done;

    jsConsumerConfig_Init(&config);
    config.Durable = options->consumer;
    config.Description = "result-reconciler: never delete it by hand while records matter";
    config.DeliverPolicy = options->start == RR_START_NEW    ? js_DeliverNew
                           : options->start == RR_START_TIME ? js_DeliverByStartTime
                                                             : js_DeliverAll;
    config.OptStartTime = options->start == RR_START_TIME ? ns_of(options->start_time_us) : 0;
    config.AckPolicy = wanted_ack(source);
    config.AckWait = (int64_t)options->ack_wait_s * NS_PER_S;
    config.MaxDeliver = -1;
    config.FilterSubject = options->filter;
    config.ReplayPolicy = js_ReplayInstant;
    config.MaxAckPending = wanted_pending(source);
    status = js_AddConsumer(&info, source->js, options->stream, &config, NULL, &code);
    if (status != NATS_OK) {
        rr_nats_js_fail(source->nats, status, (int)code, "make it", error);
        return rr_js_within(source, error);
    }
    done = check(source, info->Config, error);
    jsConsumerInfo_Destroy(info);
    return done;
}

/* --- the stream --- */

static rr_status look_at_stream(rr_source *source, rr_error *error)
{
    const char *name = source->options.stream;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(&info, source->js, name, NULL, &code);
    int64_t per_subject;

    if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr) {
        return rr_fail(error, RR_CONFIG,
                       "there is no stream %s on %s; make it (`reconciler streams --config FILE "
                       "--create`, or nats stream add %s), or correct `stream`",
                       name, source->nats->place, name);
    }
    if (status != NATS_OK) {
        return rr_nats_js_fail(source->nats, status, (int)code, "ask for the stream", error);
    }
    source->is_work_queue = info->Config->Retention == js_WorkQueuePolicy;
    per_subject = info->Config->MaxMsgsPerSubject;
    jsStreamInfo_Destroy(info);
    if (source->is_work_queue && source->options.ack == RR_ACK_ALL) {
        return rr_fail(error, RR_CONFIG,
                       "stream %s has work queue retention, and there the server allows only "
                       "explicit acknowledgement: write `ack: explicit`",
                       name);
    }
    /* When the server removes a message that is not acknowledged it counts as acknowledged, and so do all before it. */
    if (per_subject > 0 && source->options.ack == RR_ACK_ALL) {
        return rr_fail(error, RR_CONFIG,
                       "stream %s keeps %lld messages a subject (max_msgs_per_subject): the server "
                       "removes older ones out of order, and under `ack: all` each removal acknowledges everything "
                       "before it; write `ack: explicit`",
                       name, (long long)per_subject);
    }
    return RR_OK;
}

rr_status rr_js_check(rr_source *source, const jsConsumerConfig *config, rr_error *error)
{
    rr_status done = look_at_stream(source, error);

    return done != RR_OK || config == NULL ? done : check(source, config, error);
}

/* A source that is read_only needs the consumer only for its filter. */
static rr_status take_filter(rr_source *source, rr_error *error)
{
    const rr_source_options *options = &source->options;
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetConsumerInfo(&info, source->js, options->stream, options->consumer, NULL, &code);
    const char *filter = status == NATS_OK ? info->Config->FilterSubject : options->filter;

    snprintf(source->filter, sizeof source->filter, "%s", filter == NULL ? "" : filter);
    jsConsumerInfo_Destroy(info);
    if (status == NATS_OK || status == NATS_NOT_FOUND || code == JSConsumerNotFoundErr) {
        return RR_OK;
    }
    rr_nats_js_fail(source->nats, status, (int)code, "ask for it", error);
    return rr_js_within(source, error);
}

rr_status rr_js_bind(rr_source *source, rr_error *error)
{
    const rr_source_options *options = &source->options;
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    rr_status done = look_at_stream(source, error);
    natsStatus status;

    if (done != RR_OK) {
        return done;
    }
    if (options->read_only) {
        return take_filter(source, error);
    }
    status = js_GetConsumerInfo(&info, source->js, options->stream, options->consumer, NULL, &code);
    if (status == NATS_NOT_FOUND || code == JSConsumerNotFoundErr) {
        return options->create ? make(source, error) : fail_missing(source, error);
    }
    if (status != NATS_OK) {
        rr_nats_js_fail(source->nats, status, (int)code, "ask for it", error);
        return rr_js_within(source, error);
    }
    done = check(source, info->Config, error);
    jsConsumerInfo_Destroy(info);
    return done;
}
