/* One slice of a repair. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "repair.h"

#include <inttypes.h>

#include "intake.h"
#include "source_alert.h"
#include "source_checkpoint.h"

enum {
    SLICE = 20000,    /* sequences read in one turn, beside the new deliveries */
    REST_US = 1000000 /* between a slice that failed and its next try */
};

typedef struct slice_read {
    rr_recovery *recovery;
    const rr_bound_source *source;
    rr_intake intake;
    uint64_t acked;       /* a result above this was not lost where it is missing: its record was under way */
    int64_t starts_at_us; /* messages that were stored before are not for this consumer */
    uint64_t lost;
    rr_status status;
    rr_error *error;
} slice_read;

/* Decides what was read so far, as the service decides new deliveries. */
static void decide(slice_read *read)
{
    rr_recovery *recovery = read->recovery;
    rr_intake *intake = &read->intake;

    read->status = rr_batch_begin(recovery->repair_batch, intake->items, intake->count, read->error);
    if (read->status == RR_OK) {
        read->status = rr_batch_step(recovery->repair_batch, recovery->env->now_us(), read->error);
    }
    for (size_t k = 0; k < intake->count && read->status == RR_OK; k++) {
        const rr_item *item = &intake->items[k];

        if (item->stuck) {
            /* No other reader would bring it back: the slice is read again until it can be stored. */
            read->status = rr_fail(read->error, RR_UNAVAILABLE, "a cell cannot be stored (see above)");
        } else {
            read->lost += item->settled && item->outcome.verdict == RR_VERDICT_APPLIED &&
                          item->record->stream_sequence <= read->acked;
        }
    }
    rr_intake_reset(intake);
}

static bool take(void *context, const rr_delivery *delivery)
{
    slice_read *read = context;
    rr_bound_route route = read->source->route(read->source->context, delivery->subject);
    int64_t now_us = rr_intake_replay_clock(route.contract, read->recovery->env->now_us());

    if (delivery->stored_at_us < read->starts_at_us) {
        return true;
    }
    if (!rr_intake_add_routed(&read->intake, route, read->source->stream, delivery, now_us)) {
        read->status = rr_fail(read->error, RR_MEMORY, "memory ran out");
        return false;
    }
    if (rr_intake_is_full(&read->intake)) {
        decide(read);
    }
    return read->status == RR_OK && !rr_environment_is_stopping(read->recovery->env);
}

static rr_status read_slice(rr_recovery *recovery, size_t index, const rr_checkpoint *c, uint64_t upto, uint64_t *lost,
                            rr_error *error)
{
    const rr_bound_source *source = &recovery->env->sources[index];
    slice_read read = {.recovery = recovery,
                       .source = source,
                       .acked = c->acked,
                       .starts_at_us = recovery->progress[index].starts_at_us,
                       .error = error};
    rr_status status =
        rr_intake_init(&read.intake, source->batch) ? RR_OK : rr_fail(error, RR_MEMORY, "memory ran out");

    status = status == RR_OK ? source->ops->replay(source->source, c->from, upto, take, &read, error) : status;
    if (status == RR_OK && read.status == RR_OK && read.intake.count != 0) {
        decide(&read);
    }
    rr_intake_fini(&read.intake);
    *lost = read.lost;
    return status == RR_OK ? read.status : status;
}

/* Notes in the checkpoint that the slice is begun. If this process dies or loses its connection, nobody counts the
 * results that it restored. Whoever reads the slice again then knows that the count is incomplete. *unchanged: no
 * other process has changed the checkpoint. */
static rr_status begin_slice(rr_recovery *recovery, size_t index, rr_slice *held, rr_checkpoint *c, uint64_t upto,
                             bool *unchanged, rr_error *error)
{
    rr_status status;

    c->uncertain |= c->begun >= c->from;
    c->begun = upto;
    status = rr_source_checkpoint_write(recovery, index, *held, c, unchanged, error);
    *held = rr_arena_copy(&recovery->arena, rr_buf_view(&recovery->text));
    return status;
}

static rr_status report_repaired(rr_recovery *recovery, size_t index, const rr_checkpoint *c, rr_error *error)
{
    rr_slice name = recovery->env->sources[index].name;

    rr_environment_log(recovery->env, RR_LOG_INFO, "source %.*s: sequences %" PRIu64 " to %" PRIu64 " were read again",
                       (int)name.len, name.data, c->first, c->to);
    if (c->found_lost == 0 && (!c->uncertain || c->acked == 0)) {
        return RR_OK;
    }
    return rr_source_alert_raise(recovery, RR_ALERT_SINK_ROLLED_BACK, index, error,
                                 "the store had lost %s%" PRIu64 " results of sequences %" PRIu64 " to %" PRIu64
                                 "; they were read again and are back",
                                 c->uncertain ? "at least " : "", c->found_lost, c->first, c->to);
}

static rr_status end_slice(rr_recovery *recovery, size_t index, rr_slice held, rr_checkpoint *c, uint64_t upto,
                           uint64_t lost, rr_error *error)
{
    bool written = false;
    rr_status status = RR_OK;

    c->from = upto + 1;
    c->begun = 0;
    c->found_lost += lost;
    if (c->from > c->to) {
        status = report_repaired(recovery, index, c, error);
        c->repairing = false;
    }
    if (status == RR_OK) {
        status = rr_source_checkpoint_write(recovery, index, held, c, &written, error);
    }
    if (status == RR_OK && written) {
        recovery->progress[index].checkpoint = *c;
    }
    return status;
}

static rr_status repair_slice(rr_recovery *recovery, size_t index, rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_checkpoint c;
    rr_slice held = {NULL, 0};
    uint64_t upto, lost = 0;
    bool unchanged = false;
    rr_status status;

    rr_arena_reset(&recovery->arena);
    status = rr_source_checkpoint_read(recovery, index, &held, &c, error);
    recovery->progress[index].checkpoint = c;
    if (status != RR_OK || !c.repairing) {
        return status;
    }
    upto = c.to - c.from < SLICE ? c.to : c.from + SLICE - 1;
    /* As long as replicas do not confirm, no slice counts as read, and each try would raise its alerts again. */
    status = env->store_ops->confirm(env->store, error);
    status = status == RR_OK ? begin_slice(recovery, index, &held, &c, upto, &unchanged, error) : status;
    if (status == RR_OK && unchanged) {
        status = read_slice(recovery, index, &c, upto, &lost, error);
    }
    if (status != RR_OK || !unchanged || rr_environment_is_stopping(env)) {
        return status;
    }
    return end_slice(recovery, index, held, &c, upto, lost, error);
}

static bool is_rested(const rr_recovery *recovery, const rr_source_progress *progress)
{
    int64_t left_us = progress->repair_after_us - recovery->env->now_us();

    return left_us <= 0 || left_us > REST_US;
}

rr_status rr_repair_advance(rr_recovery *recovery, bool *more, rr_error *error)
{
    rr_status status = RR_OK;

    *more = false;
    for (size_t k = 0; k < recovery->env->source_count && status == RR_OK; k++) {
        rr_source_progress *progress = &recovery->progress[k];

        if (!progress->is_halted && progress->checkpoint.repairing && is_rested(recovery, progress)) {
            status = repair_slice(recovery, k, error);
            progress->repair_after_us = status == RR_OK ? 0 : recovery->env->now_us() + REST_US;
            *more |= progress->checkpoint.repairing;
        }
    }
    if (status != RR_OK) {
        rr_recovery_suspect_store(recovery);
    }
    return rr_is_outage(status) ? RR_OK : status;
}
