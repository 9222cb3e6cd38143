/* rr_batch: decides many records at once, and stores the results.
 *
 *   begin   group the records by unit
 *   step    load, join, swap, until every unit is settled; call it again after an outage
 *
 * The records of one unit are joined one after the other, in the order given, and
 * are written by one swap. A swap that lost is decided again from what the store
 * holds now. A swap whose answer never came is looked up by its token. Every step
 * is idempotent, so it may be repeated any number of times.
 *
 * One thread. A batch forgets everything at the next begin but its cache of values.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_BATCH_H
#define RR_BATCH_H

#include <rr/store.h>

#include "batch_options.h"
#include "item.h"
#include "stored.h"

typedef struct rr_batch rr_batch;

/* The store stays the caller's and outlives the batch. NULL: memory ran out. */
rr_batch *rr_batch_new(const rr_store_ops *ops, rr_store *store, const rr_batch_options *options);
void rr_batch_free(rr_batch *batch);

/* Takes the items of one batch. They and their records must live until all are settled, or until the next begin. */
rr_status rr_batch_begin(rr_batch *batch, rr_item *items, size_t count, rr_error *error);

/* The same, but items that are settled already stay settled and are not decided again. */
rr_status rr_batch_begin_rest(rr_batch *batch, rr_item *items, size_t count, rr_error *error);

/* Works until each item is settled or stuck, and the store has confirmed all that was read and written. now_us: the
 * wall clock, for `updated_at`. Blocks on the store. UNAVAILABLE, REFUSED_BY_SERVER: the store did not answer, or
 * refused; call again when it may have recovered. MEMORY, INTERNAL: begin again. */
rr_status rr_batch_step(rr_batch *batch, int64_t now_us, rr_error *error);

/* Empties the cache, because the store may be another one than before. A step that fails does this by itself; a caller
 * that uses the same store beside the batch calls it when an op of its own fails. */
void rr_batch_invalidate(rr_batch *batch);

/* Since rr_batch_new. */
const rr_batch_counts *rr_batch_totals(const rr_batch *batch);

#endif
