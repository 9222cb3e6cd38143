/* Refused records: they belong to no unit, and their alerts need no token. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "refusals.h"

#include "decision.h"

static bool prepare_refusal(rr_batch *batch, const rr_item *item, rr_swap *swap)
{
    rr_slice *entry = rr_arena_take(&batch->scratch, sizeof *entry);

    if (entry == NULL) {
        return false;
    }
    *entry = rr_decision_write(item, batch->now_us, &batch->text, &batch->scratch);
    RR_STORE_ITEM_INIT(swap);
    swap->entries = entry;
    swap->entry_count = 1;
    swap->log_key = rr_decision_log_key(batch->options.prefix, item->contract, &batch->text, &batch->scratch);
    return entry->data != NULL && swap->log_key.data != NULL;
}

/* UNAVAILABLE where an alert could not be stored: nothing may be acknowledged. Alerts that are stored are settled,
 * so that the next try does not store them again. */
static rr_status log_refusals(rr_batch *batch, rr_swap *swaps, rr_item **which, size_t count, rr_error *error)
{
    rr_status status = count == 0 ? RR_OK : batch->ops->swap(batch->store, swaps, count, &batch->scratch, error);

    batch->confirmed = count == 0 ? batch->confirmed : status == RR_OK;
    for (size_t k = 0; k < count; k++) {
        if (swaps[k].answer == RR_SWAP_WON) {
            which[k]->settled = true;
            batch->logged++;
        } else if (status == RR_OK) {
            status = rr_fail(error, rr_is_outage(swaps[k].error.status) ? swaps[k].error.status : RR_UNAVAILABLE, "%s",
                             swaps[k].error.text);
        }
    }
    return status;
}

rr_status rr_batch_store_refusals(rr_batch *batch, rr_error *error)
{
    size_t room = RR_LIMIT_BATCH_ALERTS, refused = 0, count = 0;
    rr_swap *swaps;
    rr_item **which;
    rr_status status;

    for (size_t k = 0; k < batch->item_count; k++) {
        refused += batch->items[k].refused && !batch->items[k].settled;
    }
    if (refused == 0) {
        return RR_OK;
    }
    room = !batch->options.log_decisions || batch->logged >= room ? 0 : room - batch->logged;
    room = room < refused ? room : refused;
    swaps = rr_arena_take(&batch->scratch, room * sizeof *swaps);
    which = rr_arena_take(&batch->scratch, room * sizeof *which);
    for (size_t k = 0; k < batch->item_count && count < room; k++) {
        rr_item *item = &batch->items[k];

        if (!item->refused || item->settled) {
            continue;
        }
        if (swaps == NULL || which == NULL || !prepare_refusal(batch, item, &swaps[count])) {
            return rr_batch_no_memory(error);
        }
        which[count++] = item;
    }
    status = log_refusals(batch, swaps, which, count, error);
    if (status != RR_OK) {
        return status;
    }
    batch->counts.suppressed += batch->options.log_decisions ? refused - count : 0;
    for (size_t k = 0; k < batch->item_count; k++) {
        batch->items[k].settled |= batch->items[k].refused;
    }
    return RR_OK;
}
