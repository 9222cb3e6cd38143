/* Records in an array, each with its state. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_script.h"

#include <stdio.h>
#include <stdlib.h>

typedef enum record_state { WAITING, DELIVERED, ACKED } record_state;

struct rr_source {
    const rr_script_record *records;
    size_t count;
    void (*on_ack)(void *context, const rr_delivery *delivery);
    void *context;
    record_state states[RR_SCRIPT_MAX];
    uint64_t times[RR_SCRIPT_MAX];
    bool letters[RR_SCRIPT_MAX];
    uint64_t consumed;
    uint64_t first, last, held_back;
    unsigned failing_publishes;
    int64_t created_at_us;
};

rr_source *rr_source_script_new(const rr_script_record *records, size_t count,
                                void (*on_ack)(void *context, const rr_delivery *delivery), void *context)
{
    rr_source *source = count > RR_SCRIPT_MAX ? NULL : calloc(1, sizeof *source);

    if (source != NULL) {
        source->records = records;
        source->count = count;
        source->on_ack = on_ack;
        source->context = context;
        rr_source_script_set_stream(source, 1, count, 1);
    }
    return source;
}

void rr_source_script_set_stream(rr_source *source, uint64_t first, uint64_t last, int64_t created_at_us)
{
    source->first = first;
    source->last = last;
    source->created_at_us = created_at_us;
}

void rr_source_script_hold_back(rr_source *source, uint64_t sequence)
{
    source->held_back = sequence;
}

void rr_source_script_fail_publish(rr_source *source, unsigned times)
{
    source->failing_publishes = times;
}

void rr_source_script_rewind(rr_source *source)
{
    for (size_t k = 0; k < source->count; k++) {
        source->states[k] = source->states[k] == ACKED ? ACKED : WAITING;
    }
}

size_t rr_source_script_acked(const rr_source *source)
{
    size_t acked = 0;

    for (size_t k = 0; k < source->count; k++) {
        acked += source->states[k] == ACKED;
    }
    return acked;
}

bool rr_source_script_is_acked(const rr_source *source, uint64_t sequence)
{
    return sequence >= 1 && sequence <= source->count && source->states[sequence - 1] == ACKED;
}

bool rr_source_script_has_letter(const rr_source *source, uint64_t sequence)
{
    return sequence >= 1 && sequence <= source->count && source->letters[sequence - 1];
}

static rr_status script_open(const rr_source_options *options, rr_source **source, rr_error *error)
{
    (void)options;
    *source = NULL;
    return rr_fail(error, RR_CONFIG, "a script is made, not opened");
}

static void script_close(rr_source *source)
{
    free(source);
}

static rr_delivery delivery_of(const rr_source *source, size_t k)
{
    const rr_script_record *record = &source->records[k];

    return (rr_delivery){.subject = record->subject,
                         .payload = record->payload,
                         .stream_sequence = k + 1,
                         .consumer_sequence = source->consumed,
                         .times_delivered = source->times[k],
                         .stored_at_us = record->stored_at_us};
}

static rr_delivery deliver(rr_source *source, size_t k)
{
    source->states[k] = DELIVERED;
    source->times[k]++;
    source->consumed++;
    return delivery_of(source, k);
}

static rr_status script_fetch(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                              rr_error *error)
{
    (void)wait_ms;
    (void)error;
    *count = 0;
    for (size_t k = 0; k < source->count && *count < most; k++) {
        if (source->states[k] == WAITING && k + 1 != source->held_back) {
            deliveries[(*count)++] = deliver(source, k);
        }
    }
    if (*count < most && source->held_back != 0 && source->states[source->held_back - 1] == WAITING) {
        deliveries[(*count)++] = deliver(source, source->held_back - 1);
    }
    return RR_OK;
}

static rr_status script_ack(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    (void)error;
    for (size_t k = 0; k < count; k++) {
        if (source->on_ack != NULL) {
            source->on_ack(source->context, &deliveries[k]);
        }
        source->states[deliveries[k].stream_sequence - 1] = ACKED;
    }
    return RR_OK;
}

static rr_status script_progress(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    (void)source;
    (void)deliveries;
    (void)count;
    (void)error;
    return RR_OK;
}

static void script_release(rr_source *source, const rr_delivery *deliveries, size_t count, bool leaving)
{
    (void)leaving;
    for (size_t k = 0; k < count; k++) {
        source->states[deliveries[k].stream_sequence - 1] = WAITING;
    }
}

static uint64_t sequence_of(rr_slice subject)
{
    uint64_t sequence = 0, unit = 1;

    for (size_t k = subject.len; k > 0 && subject.data[k - 1] >= '0' && subject.data[k - 1] <= '9'; k--) {
        sequence += (uint64_t)(subject.data[k - 1] - '0') * unit;
        unit *= 10;
    }
    return sequence;
}

static rr_status script_publish(rr_source *source, rr_publication *publications, size_t count, rr_error *error)
{
    bool fails = source->failing_publishes != 0;

    (void)error;
    source->failing_publishes -= fails;
    for (size_t k = 0; k < count; k++) {
        uint64_t sequence = sequence_of(publications[k].subject);

        publications[k].error.status = RR_OK;
        if (fails) {
            rr_fail(&publications[k].error, RR_UNAVAILABLE, "not stored");
            continue;
        }
        if (sequence < 1 || sequence > source->count) {
            rr_fail(&publications[k].error, RR_INPUT, "a letter of no record");
            continue;
        }
        publications[k].already = source->letters[sequence - 1];
        source->letters[sequence - 1] = true;
    }
    return RR_OK;
}

static rr_status script_bound(rr_source *source, rr_slice subject, char stream[256], rr_error *error)
{
    (void)source;
    (void)subject;
    (void)error;
    snprintf(stream, 256, "DEAD");
    return RR_OK;
}

static rr_status script_info(rr_source *source, rr_source_info *info, rr_error *error)
{
    (void)error;
    *info = (rr_source_info){.first_sequence = source->first,
                             .last_sequence = source->last,
                             .created_at_us = source->created_at_us,
                             .deliveries = source->consumed,
                             .replicas = 1};
    for (size_t k = 0; k < source->count; k++) {
        info->delivered = source->times[k] != 0 ? k + 1 : info->delivered;
        info->deliveries += source->times[k];
        info->pending += source->states[k] == WAITING;
        info->ack_pending += source->states[k] == DELIVERED;
    }
    while (info->ack_floor < source->count && source->states[info->ack_floor] == ACKED) {
        info->ack_floor++;
    }
    return RR_OK;
}

static rr_status script_flush(rr_source *source, int timeout_ms, rr_error *error)
{
    (void)source;
    (void)timeout_ms;
    (void)error;
    return RR_OK;
}

static rr_status script_replay(rr_source *source, uint64_t from, uint64_t to,
                               bool (*each)(void *context, const rr_delivery *), void *context, rr_error *error)
{
    (void)error;
    for (uint64_t k = from < source->first ? source->first : from; k <= source->last && (to == 0 || k <= to); k++) {
        rr_delivery delivery = delivery_of(source, (size_t)k - 1);

        if (!each(context, &delivery)) {
            break;
        }
    }
    return RR_OK;
}

static rr_status script_find_time(rr_source *source, int64_t time_us, uint64_t *sequence, rr_error *error)
{
    (void)error;
    *sequence = 0;
    for (uint64_t k = source->first; k <= source->last && *sequence == 0; k++) {
        *sequence = source->records[k - 1].stored_at_us >= time_us ? k : 0;
    }
    return RR_OK;
}

const rr_source_ops rr_source_script_ops = {
    .scheme = "script",
    .open = script_open,
    .close = script_close,
    .fetch = script_fetch,
    .ack = script_ack,
    .progress = script_progress,
    .release = script_release,
    .publish = script_publish,
    .bound = script_bound,
    .info = script_info,
    .flush = script_flush,
    .replay = script_replay,
    .find_time = script_find_time,
};
