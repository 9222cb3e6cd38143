/* The state of a verification, shared by its stages. Private to src/audit.
 *
 *   verify.c           the order of things: read, compare in rounds, report
 *   verify_read.c      the streams, read into memory; what they cover
 *   verify_compare.c   one unit of the store beside the same unit of the streams
 *   verify_repair.c    the unit of the streams put in the place of the store's
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERIFY_STATE_H
#define RR_VERIFY_STATE_H

#include "batch.h"
#include "intake.h"
#include "listing.h"
#include "verify_options.h"

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

/* One unit: as the streams give it, and as the store has it. */
typedef struct rr_verify_pair {
    const rr_listed *listed;
    rr_unit expected, found;
    rr_verify_shown *shown; /* of each found cell, and one more that is all zero */
    bool broken;            /* what the store holds cannot be read; `found` is empty then */
} rr_verify_pair;

rr_status rr_verify_no_memory(rr_error *error);

#endif
