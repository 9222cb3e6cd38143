/* One unit: its value is read, its records are joined, and it ends settled or stuck. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_internal.h"
#include "forget.h"

void rr_batch_cache_value(rr_batch *batch, const rr_batch_unit *u, rr_slice value)
{
    if (batch->cache != NULL) {
        rr_cache_put(batch->cache, u->hash, u->key, value);
    }
}

/* Values enter the cache here and nowhere else, so that each is copied once. A value that may have changed was removed
 * from the cache before. */
void rr_batch_settle_unit(rr_batch *batch, rr_batch_unit *u, rr_slice stored)
{
    u->state = RR_BATCH_DONE;
    if (u->looked_up || stored.data != u->value.data) {
        rr_batch_cache_value(batch, u, stored);
    }
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        batch->items[k].settled = true;
    }
}

void rr_batch_give_up_unit(rr_batch *batch, rr_batch_unit *u, const rr_error *error)
{
    u->state = RR_BATCH_STUCK;
    rr_batch_cache_value(batch, u, (rr_slice){NULL, 0});
    batch->counts.failed++;
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        batch->items[k].stuck = true;
    }
    if (batch->options.report_stuck != NULL) {
        batch->options.report_stuck(batch->options.context, error);
    }
}

rr_status rr_batch_open_unit(rr_batch *batch, rr_batch_unit *u, rr_error *error)
{
    rr_error why = {0};
    rr_status status;

    if (u->attempted && u->unanswered && rr_slice_equal(rr_value_token(u->value), (rr_slice){u->token, RR_TOKEN_LEN})) {
        batch->counts.won++;
        rr_batch_settle_unit(batch, u, u->value); /* the stored token is ours: the swap won */
        return RR_OK;
    }
    u->unanswered = false;
    status = rr_stored_read(&u->facts, u->contract, u->value, &batch->arena, &why);
    if (status == RR_INPUT) {
        rr_error_within(&why, "key %.*s", (int)u->key.len, u->key.data);
        rr_batch_give_up_unit(batch, u, &why);
        return RR_OK;
    }
    if (status != RR_OK) {
        return rr_fail(error, status, "%s", why.text);
    }
    u->had_parts = u->facts.spilled;
    u->forgets = batch->options.forget && u->contract->window_kind == RR_WINDOW_SESSION &&
                 rr_unit_has_gone(&u->facts, batch->now_us);
    if (u->forgets && u->facts.complete) {
        rr_unit_forget(&u->facts, batch->now_us);
        u->forgets = false;
    }
    u->all_parts |= u->forgets;
    u->state = u->had_parts ? RR_BATCH_PARTS : RR_BATCH_JOIN;
    return RR_OK;
}

/* A STALE record that stands before the held one in their stream was sent in order: the reconciler took it too late. */
static bool is_reordered(const rr_batch *batch, const rr_batch_unit *u, const rr_item *item)
{
    const rr_record *record = item->record;

    return item->outcome.verdict == RR_VERDICT_STALE &&
           (batch->options.replayed ||
            (record->stream_sequence != 0 && record->stream_sequence < u->facts.stream_sequence &&
             rr_slice_equal(record->stream, u->facts.stream)));
}

rr_status rr_batch_join_unit(rr_batch *batch, rr_batch_unit *u, rr_error *error)
{
    u->grew = false;
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        rr_item *item = &batch->items[k];

        if (!rr_arena_reserve(&batch->arena, rr_join_need(&u->facts, item->record))) {
            return rr_batch_no_memory(error);
        }
        if (rr_join(&u->facts, item->record, &batch->arena, &item->outcome) == RR_JOIN_NEEDS_PARTS) {
            u->all_parts = true;
            u->state = RR_BATCH_PARTS;
            return rr_stored_read(&u->facts, u->contract, u->value, &batch->arena, error);
        }
        if (item->outcome.verdict == RR_VERDICT_REFUSED) {
            item->why = rr_slice_of(rr_reason_text(item->outcome.reason));
        }
        if (is_reordered(batch, u, item)) {
            batch->counts.reordered++;
            item->outcome.alerts &= ~(rr_alert_set)RR_BIT(RR_ALERT_STALE_OVERWRITE);
        }
        if (item->outcome.grew) {
            u->grew = true;
            u->facts.stream = item->record->stream;
            u->facts.stream_sequence = item->record->stream_sequence;
        }
    }
    u->state = RR_BATCH_SWAP;
    return RR_OK;
}
