/* Units on their way to the store and back. While the store is at work on some units, others are decided. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "round_trip.h"

#include "prediction.h"
#include "swap.h"
#include "unit.h"

enum { LOST_SWAPS_MAX = 1000 }; /* a unit that loses more swaps in a row shows a fault of this program */

typedef struct round_trip {
    rr_batch *batch;
    rr_load *loads;
    rr_batch_unit **loaded;
    size_t load_count;
    size_t load_ready; /* loads that are answered */
    rr_swap *swaps;
    rr_batch_unit **swapped;
    size_t swap_count;
    size_t swap_sent; /* swaps that were handed to the store */
} round_trip;

static rr_status begin_trip(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;
    size_t loads = 0, all = 0;

    for (size_t k = 0; k < batch->unit_count; k++) {
        rr_batch_state state = batch->units[k].state;

        loads += state == RR_BATCH_LOAD;
        all += state == RR_BATCH_LOAD || state == RR_BATCH_OPEN || state == RR_BATCH_JOIN;
    }
    t->loads = rr_arena_take(&batch->scratch, loads * sizeof *t->loads);
    t->loaded = rr_arena_take(&batch->scratch, loads * sizeof(rr_batch_unit *));
    t->swaps = rr_arena_take(&batch->scratch, all * sizeof *t->swaps);
    t->swapped = rr_arena_take(&batch->scratch, all * sizeof(rr_batch_unit *));
    return t->loads == NULL || t->loaded == NULL || t->swaps == NULL || t->swapped == NULL ? rr_batch_no_memory(error)
                                                                                           : RR_OK;
}

static rr_status send_loads(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;

    for (size_t k = 0; k < batch->unit_count; k++) {
        rr_batch_unit *u = &batch->units[k];

        if (u->state == RR_BATCH_LOAD) {
            u->looked_up = true;
            u->predicted = false;
            RR_STORE_ITEM_INIT(&t->loads[t->load_count]);
            t->loads[t->load_count].key = u->key;
            t->loaded[t->load_count++] = u;
        }
    }
    batch->confirmed = batch->confirmed && t->load_count == 0;
    batch->counts.loads += t->load_count;
    if (batch->ops->load_ahead != NULL) { /* also for no loads: the call ends a trip that was given up before its end */
        return batch->ops->load_ahead(batch->store, t->loads, t->load_count, &batch->arena, error);
    }
    t->load_ready = t->load_count;
    return t->load_count == 0 ? RR_OK : batch->ops->load(batch->store, t->loads, t->load_count, &batch->arena, error);
}

/* Waits for the answer of one load. */
static rr_status take_load(round_trip *t, size_t k, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = RR_OK;

    while (t->load_ready <= k && status == RR_OK) {
        status = batch->ops->load_next(batch->store, &t->load_ready, error);
    }
    if (status != RR_OK) {
        return status;
    }
    t->loaded[k]->value = t->loads[k].value;
    t->loaded[k]->state = RR_BATCH_OPEN;
    rr_batch_note_presence(batch, t->loads[k].value.len != 0);
    if (t->loads[k].error.status != RR_OK) {
        rr_batch_give_up_unit(batch, t->loaded[k], &t->loads[k].error);
    }
    return RR_OK;
}

/* Hands the prepared swaps to the store once there are enough of them, so that it works while the rest is decided. */
static rr_status send_swaps(round_trip *t, bool all, rr_error *error)
{
    rr_batch *batch = t->batch;
    size_t count = t->swap_count - t->swap_sent;
    rr_swap *first = t->swaps + t->swap_sent;

    if (count == 0 || (count < batch->options.send_from && !all) || batch->ops->swap_ahead == NULL) {
        return RR_OK;
    }
    t->swap_sent = t->swap_count;
    return batch->ops->swap_ahead(batch->store, first, count, &batch->arena, error);
}

/* All steps of one unit follow each other, while its value is in the processor's caches. */
static rr_status decide_unit(round_trip *t, rr_batch_unit *u, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = u->state == RR_BATCH_OPEN ? rr_batch_open_unit(batch, u, error) : RR_OK;
    bool needed = false;

    if (status == RR_OK && u->state == RR_BATCH_JOIN) {
        status = rr_batch_join_unit(batch, u, error);
    }
    if (status != RR_OK || u->state != RR_BATCH_SWAP) {
        return status;
    }
    if (!rr_batch_prepare_swap(batch, u, &t->swaps[t->swap_count], &needed)) {
        return rr_batch_no_memory(error);
    }
    if (needed) {
        u->attempted = u->grew;
        t->swapped[t->swap_count++] = u;
        return send_swaps(t, false, error);
    }
    if (u->predicted) {
        u->state = RR_BATCH_LOAD; /* without a swap the store does not tell whether the unit is absent */
    } else {
        rr_batch_settle_unit(batch, u, u->value);
    }
    return RR_OK;
}

/* Units whose values are at hand come first. Meanwhile the store answers the loads of the others. */
static rr_status decide_units(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = RR_OK;

    batch->logging = 0;
    for (size_t k = 0; k < batch->unit_count && status == RR_OK; k++) {
        if (batch->units[k].state == RR_BATCH_OPEN || batch->units[k].state == RR_BATCH_JOIN) {
            status = decide_unit(t, &batch->units[k], error);
        }
    }
    for (size_t k = 0; k < t->load_count && status == RR_OK; k++) {
        status = take_load(t, k, error);
        status = status == RR_OK ? decide_unit(t, t->loaded[k], error) : status;
    }
    return status;
}

static rr_status end_trip(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = send_swaps(t, true, error);

    if (t->swap_count == 0 || status != RR_OK) {
        return status;
    }
    return batch->ops->swap_ahead != NULL
               ? batch->ops->swap_end(batch->store, error)
               : batch->ops->swap(batch->store, t->swaps, t->swap_count, &batch->arena, error);
}

/* The unit is decided again from what the store holds. A unit that was predicted to be absent did not lose to
 * another process: its value was not loaded, and may have been there before. */
static void take_lost(rr_batch *batch, rr_batch_unit *u, const rr_swap *swap)
{
    batch->counts.mispredicted += u->predicted;
    batch->counts.lost += !u->predicted;
    u->predicted = false;
    u->value = rr_arena_copy(&batch->arena, swap->current);
    u->looked_up = true;
    u->all_parts = false;
    u->state = RR_BATCH_OPEN;
    if (++u->lost_swaps > LOST_SWAPS_MAX) {
        rr_error why = {0};

        rr_fail(&why, RR_INTERNAL, "key %.*s: lost %d swaps in a row", (int)u->key.len, u->key.data, LOST_SWAPS_MAX);
        rr_batch_give_up_unit(batch, u, &why);
    }
}

static void take_answer(rr_batch *batch, rr_batch_unit *u, rr_swap *swap)
{
    switch (swap->answer) {
    case RR_SWAP_WON:
        batch->counts.won++;
        batch->logged += swap->entry_count;
        batch->counts.suppressed += u->suppressed;
        rr_batch_settle_unit(batch, u, swap->value.len != 0 ? swap->value : u->value);
        break;
    case RR_SWAP_LOST: take_lost(batch, u, swap); break;
    case RR_SWAP_UNKNOWN:
        batch->counts.unknown++;
        if (swap->error.status != RR_OK) {
            rr_batch_give_up_unit(
                batch, u, &swap->error); /* the server failed while it executed this swap: it would fail again */
            break;
        }
        u->unanswered = u->grew;
        rr_batch_cache_value(batch, u, (rr_slice){NULL, 0});
        u->all_parts = false;
        u->state = RR_BATCH_LOAD;
        break;
    case RR_SWAP_FAILED: rr_batch_give_up_unit(batch, u, &swap->error); break;
    }
}

rr_status rr_batch_round_trip(rr_batch *batch, rr_error *error)
{
    round_trip t = {.batch = batch};
    rr_status status = begin_trip(&t, error);

    status = status == RR_OK ? send_loads(&t, error) : status;
    status = status == RR_OK ? decide_units(&t, error) : status;
    status = status == RR_OK ? end_trip(&t, error) : status;
    /* A call that fails may have answered some swaps before. Replicas have not confirmed these. */
    batch->confirmed = t.swap_count == 0 ? batch->confirmed : status == RR_OK;
    batch->counts.swaps += t.swap_count;
    for (size_t k = 0; k < t.swap_count; k++) {
        if (t.swapped[k]->predicted) {
            rr_batch_note_presence(batch, t.swaps[k].answer == RR_SWAP_LOST);
        }
        take_answer(batch, t.swapped[k], &t.swaps[k]);
    }
    return status;
}
