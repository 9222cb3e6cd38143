/* What the files of a verification share. Private to src/audit.
 *
 *   verify.c           the order of things: read, compare in rounds, report
 *   verify_read.c      the streams, read into memory; what they cover
 *   verify_compare.c   one unit of the store beside the same unit of the streams
 *   verify_repair.c    the unit of the streams put in the place of the store's
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERIFY_INTERNAL_H
#define RR_VERIFY_INTERNAL_H

#include "intake.h"
#include "listing.h"
#include "verify.h"

/* What is known of one source. */
typedef struct rr_verify_coverage {
    bool has_beginning;   /* the stream still has its first message */
    int64_t since_us;     /* when the first message that was read was stored: only later windows are covered whole */
    uint64_t read_upto;   /* sequence of the last message that was read; 0: none */
    uint64_t acked_upto;  /* the store must hold the effect of all sequences up to here; UINT64_MAX: of all */
    uint64_t starts_at;   /* the consumer was made to start at this sequence ... */
    int64_t starts_at_us; /* ... or at this time: what was stored before was never meant for it */
} rr_verify_coverage;

typedef struct rr_verify {
    const rr_verify_options *options;
    rr_verify_totals *totals;
    rr_error *error;
    rr_store *memory; /* holds what the streams say */
    rr_batch *batch;  /* writes to `memory` */
    rr_intake intake;
    rr_arena page;                /* one page of units */
    size_t source;                /* index of the one that is being read */
    rr_verify_coverage *coverage; /* one a source */
    rr_listing suspects;          /* units that are still to be compared */
    rr_tokens tokens;
    rr_status status; /* of the callback that takes deliveries */
} rr_verify;

/* What readers are shown of a found cell, compared with what its facts give. */
typedef struct rr_verify_shown {
    bool wrong;    /* somebody else wrote or removed the text */
    rr_slice text; /* empty: nothing is shown */
} rr_verify_shown;

/* One unit twice: as the streams say, and as the store has it. */
typedef struct rr_verify_pair {
    const rr_listed *listed;
    rr_unit expected, found;
    rr_verify_shown *shown; /* of each found cell, and one more that is all zero */
    bool broken;            /* what the store holds cannot be read; `found` is empty then */
} rr_verify_pair;

rr_status rr_verify_no_memory(rr_error *error);

/* ---- verify_read.c ---- */

/* Asks each source what its stream still has, and where its consumer began. */
rr_status rr_verify_ask_coverage(rr_verify *v);

/* Asks each source what is acknowledged. Called before the store is read: what is acknowledged by then is in it. */
rr_status rr_verify_ask_acked(rr_verify *v, rr_error *error);

/* Reads each stream on, from where the last call ended to its present end or `upto`. */
rr_status rr_verify_read_on(rr_verify *v);

/* Whether the streams still have every record of a window. */
bool rr_verify_covers(const rr_verify *v, rr_window window);

/* Whether the two sides differ only in time: the store holds a record that was not read yet, or lacks one that is not
 * acknowledged yet. */
bool rr_verify_is_moving(const rr_verify *v, const rr_verify_pair *pair);

/* ---- verify_compare.c ---- */

/* Reads both sides of a pair from their values, in the page arena. INPUT never: a broken value of the store is noted in
 * the pair. */
rr_status rr_verify_read_pair(rr_verify *v, rr_verify_pair *pair, rr_slice expected, rr_slice found, rr_error *error);

/* Compares the cells of both sides by window. Reports and counts differences where `last` is set; a pair without any is
 * counted always. True: something differs. */
bool rr_verify_compare_pair(rr_verify *v, rr_verify_pair *pair, bool last);

/* ---- verify_repair.c ---- */

/* Replaces the store's unit by that of the streams, unless the store's has changed meanwhile. expected, found: the values
 * that the pair was read from. A unit that is only in the store stays: the streams may have been purged. */
rr_status rr_verify_repair(rr_verify *v, rr_verify_pair *pair, rr_slice expected, rr_slice found, rr_error *error);

#endif
