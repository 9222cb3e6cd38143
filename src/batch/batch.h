/* rr_batch: decides many records at once, and stores what became of them.
 *
 *   begin   group the records by unit
 *   step    load, join, swap, until every unit is settled; again after an outage
 *
 * Records of one unit are joined one after the other, in the order given, and
 * written by one swap. A swap that lost is decided again from what is there now;
 * one whose answer never came is looked up by its token. So a step can be
 * repeated for ever: everything in it is idempotent.
 *
 * One thread. Everything a batch holds is forgotten at the next begin.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_BATCH_H
#define RR_BATCH_H

#include <rr/store.h>

#include "join.h"
#include "stored.h"

/* One record to decide. */
typedef struct rr_item {
    const rr_contract *contract; /* NULL: none is known; then `refused` is set */
    rr_record *record;           /* admitted, unless `refused` */
    bool refused;                /* in: outcome is set already; only its alert is to be stored */
    rr_slice why;                /* a sentence for the decision log; may be empty */
    rr_outcome outcome;          /* out */
    bool settled;                /* out: effect and alerts are stored */
    bool stuck;                  /* out: they cannot be stored, and trying again soon will not help */
    /* the batch's own */
    size_t unit, next;
} rr_item;

typedef struct rr_batch_counts {
    uint64_t loads, swaps, won, lost, unknown, failed; /* units */
    uint64_t disorder;   /* STALE records that we ourselves took in the wrong order: no alert */
    uint64_t suppressed; /* decisions beyond RR_LIMIT_BATCH_ALERTS, counted instead of stored */
} rr_batch_counts;

typedef struct rr_batch_options {
    rr_slice prefix;    /* of keys */
    bool log_decisions; /* append alerts, STALE and CONFLICT to the decision log */
    bool list_open;     /* keep the sorted set of open conflicts */
    bool expire;        /* cells are removed some time after their retention (`apply` removes nothing) */
    bool forget;        /* drop windows of sessions that may be gone */
    bool again;         /* the records were decided before (repair): that they are stale now says nothing */
    size_t cache_slots; /* values kept between batches, a power of two; 0: none */
    size_t send_from;   /* swaps that are decided before the store gets them, to work on them meanwhile; 0: 256 */
    size_t guess_from;  /* units to have looked at before cells are guessed to be new ones; 0: 64 */
    void (*complain)(void *context, const rr_error *error); /* a unit is stuck; may be NULL */
    void *context;
} rr_batch_options;

typedef struct rr_batch rr_batch;

/* The store stays the caller's and outlives the batch. NULL: memory ran out. */
rr_batch *rr_batch_new(const rr_store_ops *ops, rr_store *store, const rr_batch_options *options);
void rr_batch_free(rr_batch *batch);

/* Takes the items of one batch; they and their records must live until all are settled or the next begin. */
rr_status rr_batch_begin(rr_batch *batch, rr_item *items, size_t count, rr_error *error);

/* The same for those that are not settled; the others are done with. */
rr_status rr_batch_begin_rest(rr_batch *batch, rr_item *items, size_t count, rr_error *error);

/* Works until each item is settled or stuck, and the store has confirmed all that was seen and done. now_us: wall clock,
 * for `updated_at`. UNAVAILABLE, REFUSED_BY_SERVER: the store did not answer, or refused; call again
 * when it may. MEMORY, INTERNAL: begin again. */
rr_status rr_batch_step(rr_batch *batch, int64_t now_us, rr_error *error);

/* The store may be another one than before: nothing that was seen of it counts any more. A step that fails does this by
 * itself; who uses the same store beside the batch calls it when an op fails. */
void rr_batch_invalidate(rr_batch *batch);

const rr_batch_counts *rr_batch_totals(const rr_batch *batch);

#endif
