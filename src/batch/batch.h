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

#include "join.h"
#include "stored.h"

/* One record to decide. */
typedef struct rr_item {
    const rr_contract *contract; /* NULL: unknown; then `refused` is set */
    rr_record *record;           /* admitted, unless `refused` */
    bool refused;                /* in: the outcome is set already; only its alert is to be stored */
    rr_slice why;                /* a sentence for the decision log; may be empty */
    rr_outcome outcome;          /* out */
    bool settled;                /* out: effect and alerts are stored */
    bool stuck;                  /* out: they cannot be stored, and trying again soon will not help */
    size_t unit, next;           /* private to the batch */
} rr_item;

/* The last two count records, all others units. */
typedef struct rr_batch_counts {
    uint64_t loads, swaps;
    uint64_t won;
    uint64_t lost;         /* contention: the value changed after it had been read */
    uint64_t mispredicted; /* the unit was taken for absent without a load, and was in the store */
    uint64_t unknown;      /* the answer never came, or the store failed while it was at work */
    uint64_t failed;       /* given up: the unit is stuck */
    uint64_t reordered; /* STALE records that the reconciler itself took in another order than the stream's: no alert */
    uint64_t suppressed; /* decisions beyond RR_LIMIT_BATCH_ALERTS: counted, not logged */
} rr_batch_counts;

typedef struct rr_batch_options {
    rr_slice prefix;     /* of keys */
    bool log_decisions;  /* append alerts, STALE and CONFLICT to the decision log */
    bool list_open;      /* keep the sorted set of open conflicts */
    bool expire;         /* cells are removed some time after their retention (`apply` removes nothing) */
    bool forget;         /* drop session windows that may have expired */
    bool replayed;       /* the records were decided before (repair): a STALE one is no alert and is not logged */
    size_t cache_slots;  /* values kept from batch to batch, a power of two; 0: none */
    size_t send_from;    /* hand swaps to the store when so many are prepared, and prepare the next meanwhile; 0: 256 */
    size_t predict_from; /* look up so many units before any is predicted to be absent; 0: 64 */
    void (*report_stuck)(void *context, const rr_error *error); /* a unit is stuck; may be NULL */
    void *context;
} rr_batch_options;

typedef struct rr_batch rr_batch;

/* The store stays the caller's and outlives the batch. NULL: memory ran out. */
rr_batch *rr_batch_new(const rr_store_ops *ops, rr_store *store, const rr_batch_options *options);
void rr_batch_free(rr_batch *batch);

/* Takes the items of one batch. They and their records must live until all are settled, or until the next begin. */
rr_status rr_batch_begin(rr_batch *batch, rr_item *items, size_t count, rr_error *error);

/* The same, but items that are settled already stay settled and are not decided again. */
rr_status rr_batch_begin_rest(rr_batch *batch, rr_item *items, size_t count, rr_error *error);

/* Works until each item is settled or stuck, and the store has confirmed all that was read and written. now_us: the wall
 * clock, for `updated_at`. Blocks on the store. UNAVAILABLE, REFUSED_BY_SERVER: the store did not answer, or refused; call
 * again when it may have recovered. MEMORY, INTERNAL: begin again. */
rr_status rr_batch_step(rr_batch *batch, int64_t now_us, rr_error *error);

/* Empties the cache, because the store may be another one than before. A step that fails does this by itself; a caller
 * that uses the same store beside the batch calls it when an op of its own fails. */
void rr_batch_invalidate(rr_batch *batch);

/* Since rr_batch_new. */
const rr_batch_counts *rr_batch_totals(const rr_batch *batch);

#endif
