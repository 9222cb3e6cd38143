/* How a unit ends: settled or stuck. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_state.h"

rr_status rr_batch_no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out while a batch was decided");
}

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
