/* The survey of stream, consumer and the dead letters' stream, also where they do not fit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_survey.h"

#include <stdio.h>
#include <stdlib.h>

#include "js_consumer.h"
#include "js_publish.h"

enum { NS_PER_US = 1000, NS_PER_MS = 1000000 };

static int64_t bound_of(int64_t limit)
{
    return limit > 0 ? limit : 0;
}

static void join_subjects(const jsStreamConfig *config, char *text, size_t room)
{
    size_t len = 0;

    text[0] = '\0';
    for (int i = 0; i < config->SubjectsLen && len < room; i++) {
        len += (size_t)snprintf(text + len, room - len, "%s%s", i == 0 ? "" : ", ", config->Subjects[i]);
    }
}

static void take_config(const jsStreamConfig *config, rr_stream_survey *survey)
{
    static const char *const retentions[] = {"limits", "interest", "workqueue"};
    unsigned retention = (unsigned)config->Retention;

    snprintf(survey->name, sizeof survey->name, "%s", config->Name);
    snprintf(survey->storage, sizeof survey->storage, "%s", config->Storage == js_MemoryStorage ? "memory" : "file");
    snprintf(survey->retention, sizeof survey->retention, "%s", retention < 3 ? retentions[retention] : "");
    snprintf(survey->discard, sizeof survey->discard, "%s", config->Discard == js_DiscardNew ? "new" : "old");
    survey->discard_new_per_subject = rr_known_of(config->DiscardNewPerSubject);
    survey->confirms = rr_known_of(!config->NoAck);
    survey->replicas = config->Replicas > 0 ? config->Replicas : 1;
    survey->max_age_us = bound_of(config->MaxAge) / NS_PER_US;
    survey->max_messages = bound_of(config->MaxMsgs);
    survey->max_bytes = bound_of(config->MaxBytes);
    survey->max_messages_per_subject = bound_of(config->MaxMsgsPerSubject);
    survey->max_message_size = bound_of(config->MaxMsgSize);
    survey->duplicates_us = bound_of(config->Duplicates) / NS_PER_US;
    join_subjects(config, survey->subjects, sizeof survey->subjects);
}

static void take_stream(const jsStreamInfo *info, rr_stream_survey *survey)
{
    survey->there = RR_YES;
    take_config(info->Config, survey);
    survey->messages = (int64_t)info->State.Msgs;
    survey->bytes = (int64_t)info->State.Bytes;
    survey->consumers = info->State.Consumers;
    survey->first_at_us = info->State.Msgs == 0 ? 0 : info->State.FirstTime / NS_PER_US;
    survey->last_at_us = info->State.Msgs == 0 ? 0 : info->State.LastTime / NS_PER_US;
}

static void forget_numbers(rr_stream_survey *survey)
{
    survey->replicas = survey->max_age_us = survey->max_messages = survey->max_bytes = RR_NOT_TOLD;
    survey->max_messages_per_subject = survey->max_message_size = survey->duplicates_us = RR_NOT_TOLD;
    survey->messages = survey->bytes = survey->consumers = RR_NOT_TOLD;
    survey->first_at_us = survey->last_at_us = RR_NOT_TOLD;
}

/* Without a permission NATS does not answer at all, so silence does not prove that the server is away. */
static void hide(rr_source_survey *survey, const char *what, const char *name, const char *why)
{
    size_t len = strlen(survey->hidden);

    snprintf(survey->hidden + len, sizeof survey->hidden - len, "%s%s %s: %s", len == 0 ? "" : "; ", what, name, why);
}

static void ask_stream(rr_source *source, const char *name, rr_stream_survey *stream, rr_source_survey *survey)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(&info, source->js, name, NULL, &code);

    if (status == NATS_OK) {
        take_stream(info, stream);
        jsStreamInfo_Destroy(info);
    } else if (status == NATS_NOT_FOUND || code == JSStreamNotFoundErr) {
        stream->there = RR_NO;
    } else {
        hide(survey, "stream", name, natsStatus_GetText(status));
    }
}

static const char *ack_word(jsAckPolicy policy)
{
    return policy == js_AckAll ? "all" : policy == js_AckNone ? "none" : "explicit";
}

static const char *deliver_word(jsDeliverPolicy policy)
{
    switch (policy) {
    case js_DeliverLast: return "last";
    case js_DeliverNew: return "new";
    case js_DeliverByStartSequence: return "by_start_sequence";
    case js_DeliverByStartTime: return "by_start_time";
    case js_DeliverLastPerSubject: return "last_per_subject";
    default: return "all";
    }
}

static void take_consumer(const jsConsumerConfig *config, rr_consumer_survey *survey)
{
    survey->there = RR_YES;
    snprintf(survey->ack, sizeof survey->ack, "%s", ack_word(config->AckPolicy));
    snprintf(survey->deliver, sizeof survey->deliver, "%s", deliver_word(config->DeliverPolicy));
    snprintf(survey->filter, sizeof survey->filter, "%s", config->FilterSubject == NULL ? "" : config->FilterSubject);
    survey->ack_wait_ms = config->AckWait / NS_PER_MS;
    survey->max_deliver = bound_of(config->MaxDeliver);
    survey->max_ack_pending = bound_of(config->MaxAckPending);
}

static void check_fit(rr_source *source, const jsConsumerConfig *config, rr_source_survey *survey)
{
    rr_error why = {0};

    if (survey->stream.there == RR_YES && rr_js_check(source, config, &why) == RR_CONFIG) {
        snprintf(survey->unfit, sizeof survey->unfit, "%s", why.text);
    }
}

static void ask_consumer(rr_source *source, rr_source_survey *survey)
{
    rr_consumer_survey *consumer = &survey->consumer;
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status =
        js_GetConsumerInfo(&info, source->js, source->options.stream, source->options.consumer, NULL, &code);

    if (status == NATS_OK) {
        take_consumer(info->Config, consumer);
    } else if (status == NATS_NOT_FOUND || code == JSConsumerNotFoundErr || code == JSStreamNotFoundErr) {
        consumer->there = RR_NO;
    } else {
        hide(survey, "consumer", source->options.consumer, natsStatus_GetText(status));
    }
    check_fit(source, info == NULL ? NULL : info->Config, survey);
    jsConsumerInfo_Destroy(info);
}

static void ask_dead_letters(rr_source *source, rr_slice dead_letter, rr_source_survey *survey)
{
    rr_stream_survey *stream = &survey->dead_letters;
    rr_error why = {0};
    char name[256];

    if (rr_js_bound(source, dead_letter, name, &why) != RR_OK) {
        hide(survey, "the stream of", "the dead letters", why.text);
    } else if (name[0] == '\0') {
        stream->there = RR_NO;
    } else {
        stream->there = RR_YES;
        snprintf(stream->name, sizeof stream->name, "%s", name);
        ask_stream(source, name, stream, survey);
    }
}

static void ask_server(rr_source *source, rr_source_survey *survey)
{
    survey->max_payload = natsConnection_GetMaxPayload(source->nats->connection);
    snprintf(survey->server, sizeof survey->server, "NATS at %s", source->nats->place);
}

rr_status rr_js_survey(const rr_source_options *options, rr_slice dead_letter, rr_source_survey *survey,
                       rr_error *error)
{
    rr_source *source;
    rr_status status;

    *survey = (rr_source_survey){.max_payload = RR_NOT_TOLD};
    survey->consumer.ack_wait_ms = survey->consumer.max_deliver = survey->consumer.max_ack_pending = RR_NOT_TOLD;
    forget_numbers(&survey->stream);
    forget_numbers(&survey->dead_letters);
    status = rr_js_open_unbound(options, &source, error);
    if (status != RR_OK) {
        return status;
    }
    ask_server(source, survey);
    ask_stream(source, options->stream, &survey->stream, survey);
    ask_consumer(source, survey);
    ask_dead_letters(source, dead_letter, survey);
    rr_js_free(source);
    return RR_OK;
}
