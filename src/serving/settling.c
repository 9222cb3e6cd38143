/* Dead letters before acknowledgements: what is acknowledged is stored somewhere (semantics, law 5). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "settling.h"

#include "dead_letter.h"
#include "hold.h"

enum { PROGRESS_US = 5000000 };

static const rr_bound_source *source_of(const rr_service *service, const rr_inflight *batch)
{
    return &service->env->sources[batch->source];
}

static void tell_progress(rr_service *service, rr_inflight *batch)
{
    const rr_bound_source *source = source_of(service, batch);
    int64_t now_us = service->env->now_us(), since_us = now_us - batch->progress_us;

    if (since_us > PROGRESS_US || since_us < 0) {
        source->ops->progress(source->source, batch->deliveries, batch->count, NULL);
        batch->progress_us = now_us;
    }
}

void rr_settle_signal_progress(rr_service *service, rr_inflight *ending)
{
    if (ending != NULL) {
        tell_progress(service, ending);
    }
    for (size_t k = 0; k < service->inflight_count; k++) {
        tell_progress(service, service->inflight[k]);
    }
    if (service->filling != NULL) {
        tell_progress(service, service->filling);
    }
}

static bool needs_dead_letter(const rr_item *item)
{
    return item->settled && rr_verdict_settle(item->outcome.verdict) == RR_SETTLE_DEAD_LETTER;
}

/* The items of one delivery: items[from .. result). */
static size_t end_of_delivery(const rr_intake *intake, size_t from, size_t delivery)
{
    while (from < intake->count && intake->items[from].delivery == delivery) {
        from++;
    }
    return from;
}

/* All records of a delivery settle together: it is acknowledged when each of them is stored. A message without records was
 * skipped by a rule. */
static bool is_settled(const rr_intake *intake, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++) {
        if (!intake->items[k].settled) {
            return false;
        }
    }
    return true;
}

/* One letter holds the whole message, however many of its records were refused. It names them, and there is no second one:
 * so it waits until all of them are decided. */
static bool write_dead_letter(rr_service *service, rr_inflight *batch, size_t delivery, size_t from, size_t to,
                              rr_publication *letters, size_t *due)
{
    rr_intake *intake = &batch->intake;
    bool wanted = false;

    for (size_t k = from; k < to; k++) {
        wanted |= needs_dead_letter(&intake->items[k]);
    }
    return !wanted || !is_settled(intake, from, to) ||
           rr_dead_letter_write(&letters[(*due)++], source_of(service, batch)->dead_letters, &intake->items[from],
                                to - from, &batch->deliveries[delivery], &service->text, &intake->arena);
}

static rr_publication *write_dead_letters(rr_service *service, rr_inflight *batch, size_t *due)
{
    rr_intake *intake = &batch->intake;
    rr_publication *letters;
    size_t count = 0, from = 0;

    for (size_t k = 0; k < intake->count; k++) {
        count += needs_dead_letter(&intake->items[k]);
    }
    letters = rr_arena_zero(&intake->arena, count * sizeof *letters);
    *due = 0;
    for (size_t k = 0; letters != NULL && count != 0 && k < batch->count; k++) {
        size_t to = end_of_delivery(intake, from, k);

        if (!write_dead_letter(service, batch, k, from, to, letters, due)) {
            return NULL;
        }
        from = to;
    }
    return letters;
}

/* Publishes; moves those that were not stored to the front, and answers how many they are. The error is the first's. */
static size_t publish(rr_service *service, const rr_bound_source *source, rr_publication *letters, size_t due,
                      rr_error *error)
{
    rr_status status = source->ops->publish(source->source, letters, due, error);
    size_t failed = 0;

    for (size_t k = 0; k < due; k++) {
        if (status == RR_OK && letters[k].error.status == RR_OK) {
            service->totals->dead_letters++;
            continue;
        }
        if (status == RR_OK && failed == 0) {
            *error = letters[k].error;
        }
        letters[failed++] = letters[k];
    }
    return failed;
}

static rr_status store_dead_letters(rr_service *service, rr_inflight *batch, rr_error *error)
{
    int pause_ms = RR_PAUSE_MIN_MS;
    bool down = false;
    size_t due = 0;
    rr_publication *letters = write_dead_letters(service, batch, &due);

    if (letters == NULL) {
        return rr_service_no_memory(error);
    }
    while (due != 0) {
        due = publish(service, source_of(service, batch), letters, due, error);
        if (due == 0) {
            break;
        }
        rr_outage_begin(service, &down, rr_the_dead_letters, error);
        rr_settle_signal_progress(service, batch);
        if (!rr_outage_wait(service, &pause_ms)) {
            batch->abandoned = true;
            break;
        }
    }
    if (!batch->abandoned) {
        rr_outage_end(service, &down, rr_the_dead_letters);
    }
    return RR_OK;
}

static void note_progress(rr_source_progress *progress, const rr_delivery *deliveries, size_t count)
{
    const rr_delivery *newest = NULL;

    for (size_t k = 0; k < count; k++) {
        if (deliveries[k].stream_sequence > (newest == NULL ? progress->sequence : newest->stream_sequence)) {
            newest = &deliveries[k];
        }
    }
    if (newest != NULL) {
        progress->sequence = newest->stream_sequence;
        progress->time_us = newest->stored_at_us;
        progress->digest = rr_checkpoint_digest(newest->payload);
    }
}

static void count_verdicts(rr_service *service, const rr_intake *intake, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++) {
        service->totals->verdicts[intake->items[k].outcome.verdict]++;
    }
}

/* Acknowledges what is settled, and releases what is stuck: its deliveries come again. */
static rr_status acknowledge(rr_service *service, rr_inflight *batch, rr_error *error)
{
    const rr_bound_source *source = source_of(service, batch);
    rr_intake *intake = &batch->intake;
    size_t settled = 0, stuck = 0, from = 0;
    rr_delivery *released = rr_arena_take(&intake->arena, batch->count * sizeof *released);

    if (released == NULL) {
        return rr_service_no_memory(error);
    }
    for (size_t k = 0; k < batch->count; k++) {
        size_t to = end_of_delivery(intake, from, k);

        if (is_settled(intake, from, to)) {
            count_verdicts(service, intake, from, to);
            batch->deliveries[settled++] = batch->deliveries[k];
        } else {
            released[stuck++] = batch->deliveries[k];
        }
        from = to;
    }
    service->totals->acknowledged += settled;
    service->totals->stuck += stuck;
    service->totals->skipped += intake->skipped;
    if (stuck != 0) {
        source->ops->release(source->source, released, stuck, false);
    }
    if (settled == 0) {
        return RR_OK;
    }
    note_progress(&service->recovery.progress[batch->source], batch->deliveries, settled);
    return source->ops->ack(source->source, batch->deliveries, settled, error);
}

rr_status rr_settle_batch(rr_service *service, rr_inflight *batch, rr_error *error)
{
    const rr_bound_source *source = source_of(service, batch);
    rr_status status = batch->status;

    if (status != RR_OK) {
        *error = batch->error;
    } else if (!batch->abandoned && rr_hold_check(service, batch)) {
        source->ops->release(source->source, batch->deliveries, batch->count, false);
        return RR_OK;
    } else if (!batch->abandoned) {
        status = store_dead_letters(service, batch, error);
    }
    if (status == RR_OK && !batch->abandoned) {
        status = acknowledge(service, batch, error);
        return rr_is_outage(status) ? RR_OK : status; /* the deliveries come again */
    }
    source->ops->release(source->source, batch->deliveries, batch->count, true);
    return status;
}
