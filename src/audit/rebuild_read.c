/* Reads the streams into the new generation, by the rules of `run`. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild_read.h"

#include <inttypes.h>

#include "checkpoint.h"
#include "rebuild_lock.h"

enum { ROUNDS = 50 }; /* so the rounds end where messages come faster than they are read */

/* The records before a stream's first message cannot be read again, so their results would be gone. */
rr_status rr_rebuild_check_beginnings(rr_rebuild *r)
{
    for (size_t k = 0; k < r->options->source_count; k++) {
        const rr_bound_source *source = &r->options->sources[k];
        rr_source_info info;
        rr_status status = source->ops->info(source->source, &info, r->error);

        if (status != RR_OK) {
            return status;
        }
        if (info.first_sequence <= 1) {
            continue;
        }
        if (!r->options->from_what_is_there) {
            return rr_fail(r->error, RR_INPUT,
                           "source %.*s: stream %.*s begins at sequence %" PRIu64
                           ": the results of sequences 1 to %" PRIu64
                           " cannot be made again, and would be gone. To accept that, say --from-what-is-there",
                           (int)source->name.len, source->name.data, (int)source->stream.len, source->stream.data,
                           info.first_sequence, info.first_sequence - 1);
        }
        rr_rebuild_log(r, RR_LOG_WARNING,
                       "source %.*s: the results of sequences 1 to %" PRIu64 " of stream %.*s will be gone",
                       (int)source->name.len, source->name.data, info.first_sequence - 1, (int)source->stream.len,
                       source->stream.data);
    }
    return RR_OK;
}

void rr_rebuild_report_stuck(void *context, const rr_error *error)
{
    rr_rebuild *r = context;

    *r->error = *error;
}

/* Refused records get no dead letter here: they had one when they were first decided. A changed contract may refuse
 * more, so the first one is shown. */
static void note_refused(void *context, const rr_item *item)
{
    rr_rebuild *r = context;

    if (r->totals->refused++ == 0) {
        rr_rebuild_log(r, RR_LOG_WARNING,
                       "sequence %" PRIu64 " has no effect under this contract (others are counted): %s: %.*s",
                       item->record->stream_sequence, rr_reason_word(item->outcome.reason), (int)item->why.len,
                       item->why.len == 0 ? "" : item->why.data);
    }
}

static rr_status check_settled(rr_rebuild *r)
{
    for (size_t k = 0; k < r->intake.count; k++) {
        const rr_item *item = &r->intake.items[k];

        if (!item->settled) {
            r->error->status = RR_REFUSED_BY_SERVER; /* rr_rebuild_report_stuck has set the text */
            return rr_error_within(r->error, "sequence %" PRIu64, item->record->stream_sequence);
        }
        if (rr_verdict_settle(item->outcome.verdict) == RR_SETTLE_DEAD_LETTER) {
            note_refused(r, item);
        }
    }
    return RR_OK;
}

/* Decides what the intake holds, and empties it. */
static void decide(rr_rebuild *r)
{
    r->status = rr_rebuild_check_lock(r);
    if (r->status == RR_OK && r->intake.count != 0) {
        r->status = rr_batch_begin(r->batch, r->intake.items, r->intake.count, r->error);
        r->status = r->status == RR_OK ? rr_batch_step(r->batch, r->options->now_us(), r->error) : r->status;
        r->status = r->status == RR_OK ? check_settled(r) : r->status;
    }
    r->totals->records += r->intake.count;
    rr_intake_reset(&r->intake);
}

static bool take_delivery(void *context, const rr_delivery *delivery)
{
    rr_rebuild *r = context;
    const rr_bound_source *source = &r->options->sources[r->source];
    rr_bound_route route = source->route(source->context, delivery->subject);
    size_t before = r->intake.count;

    r->positions[r->source] = (rr_rebuild_position){delivery->stream_sequence, rr_checkpoint_digest(delivery->payload)};
    r->round_records++;
    if (route.contract == NULL) {
        return true;
    }
    if (!rr_intake_add_routed(&r->intake, route, source->stream, delivery,
                              rr_intake_replay_clock(route.contract, r->options->now_us()))) {
        r->status = rr_rebuild_no_memory(r->error);
        return false;
    }
    rr_intake_drop_refused(&r->intake, before, note_refused, r);
    if (rr_intake_is_full(&r->intake)) {
        decide(r);
    }
    return r->status == RR_OK;
}

/* Reads every stream to its end. */
static rr_status read_round(rr_rebuild *r)
{
    rr_status status = RR_OK;

    r->round_records = 0;
    for (r->source = 0; r->source < r->options->source_count && status == RR_OK; r->source++) {
        const rr_bound_source *source = &r->options->sources[r->source];

        status =
            source->ops->replay(source->source, r->positions[r->source].sequence + 1, 0, take_delivery, r, r->error);
        if (status == RR_OK && r->status == RR_OK) {
            decide(r);
        }
        status = status == RR_OK ? r->status : status;
    }
    return status;
}

rr_status rr_rebuild_catch_up(rr_rebuild *r, uint64_t few)
{
    rr_status status = RR_OK;

    r->round_records = few + 1;
    for (int round = 0; round < ROUNDS && r->round_records > few && status == RR_OK; round++) {
        status = read_round(r);
    }
    return status;
}
