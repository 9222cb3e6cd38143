/* The old generation: its alerts are moved, its keys removed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild_drop.h"

#include <stdio.h>
#include <unistd.h>

#include "decision.h"
#include "rebuild_keys.h"

enum { LOG_PAGE = 500 };

/* Alerts that were not sent yet are sent from the log of the new generation. One that is being sent at this moment
 * may be sent twice, with the same id. */
static rr_status move_log(rr_rebuild *r, const rr_contract *contract, const char *consumer)
{
    const rr_store_ops *ops = r->options->store_ops;
    rr_status status = RR_OK;
    size_t count = 1;

    while (status == RR_OK && count != 0) {
        rr_buf text = {0};
        rr_swap swap = {0};
        rr_slice from, *entries, *ids;
        rr_log_entry *found = NULL;

        rr_arena_reset(&r->page);
        from = rr_decision_log_key(r->old, contract, &text, &r->page);
        swap.log_key = rr_decision_log_key(r->target, contract, &text, &r->page);
        rr_buf_fini(&text);
        entries = rr_arena_take(&r->page, LOG_PAGE * sizeof *entries);
        ids = rr_arena_take(&r->page, LOG_PAGE * sizeof *ids);
        if (from.data == NULL || swap.log_key.data == NULL || entries == NULL || ids == NULL) {
            return rr_rebuild_no_memory(r->error);
        }
        status = ops->log_read(r->options->store, from, consumer, 0, LOG_PAGE, &r->page, &found, &count, r->error);
        for (size_t k = 0; k < count && status == RR_OK; k++) {
            ids[k] = found[k].id;
            if (found[k].bytes.len != 0) {
                entries[swap.entry_count++] = found[k].bytes;
            }
        }
        swap.entries = entries;
        if (status == RR_OK && swap.entry_count != 0) {
            status = ops->swap(r->options->store, &swap, 1, &r->page, r->error);
            if (status == RR_OK && swap.answer != RR_SWAP_WON) {
                *r->error = swap.error;
                status = rr_fail(r->error, RR_UNAVAILABLE, "alerts of the old generation could not be moved");
            }
        }
        if (status == RR_OK && count != 0) {
            status = ops->log_done(r->options->store, from, ids, count, r->error);
        }
    }
    return status;
}

static rr_status move_logs(rr_rebuild *r)
{
    char consumer[64];
    rr_status status;

    snprintf(consumer, sizeof consumer, "rebuild-%ld", (long)getpid());
    status = move_log(r, NULL, consumer);
    for (size_t k = 0; k < r->options->contract_count && status == RR_OK; k++) {
        status = move_log(r, r->options->contracts[k].contract, consumer);
    }
    return status;
}

rr_status rr_rebuild_drop_old(rr_rebuild *r)
{
    rr_status status = move_logs(r);

    r->in_force = r->number; /* the generation in force now */
    status = status == RR_OK ? rr_rebuild_sweep(r) : status;
    return status == RR_OK
               ? RR_OK
               : rr_error_within(
                     r->error,
                     "readers were switched over; remove the old results with `reconciler rebuild --drop-old`");
}
