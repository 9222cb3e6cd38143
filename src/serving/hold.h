/* Holding a source: a wrong mapping must not drain a stream into the dead letters.
 *
 * Where nearly all records of a mapped route are refused, the source is held:
 * nothing more is fetched or acknowledged, nothing is lost, and a sentence says
 * what is wrong. It goes on with another mapping, or with --accept-refusals. A
 * note in the store, `<prefix>:hold:{<source>}`, keeps it held over restarts: the
 * digest of the mappings that it was held under, and why.
 *
 * The rule counts the records of one contract that a source's mappings made,
 * with all older ones counting as 100 of them at most: held where 95 % of at
 * least 100 are refused. So there are fewer than 1,000 dead letters by then.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_HOLD_H
#define RR_HOLD_H

#include "service_state.h"

/* What is remembered of one source and contract. All zero: nothing yet. */
typedef struct rr_refusals {
    double judged, refused;               /* so far; scaled down, so no whole numbers */
    uint64_t batch_judged, batch_refused; /* while a batch is counted */
} rr_refusals;

/* Adds what was counted of one batch. True: nearly all are refused. Pure. */
bool rr_refusals_end_batch(rr_refusals *refusals);

/* Makes room for the counts. False: memory ran out. */
bool rr_hold_init(rr_service *service);
void rr_hold_fini(rr_service *service);

/* Reads the notes at the start: a source that was held stays so. Where the options accept refusals, it removes them. */
rr_status rr_hold_read_notes(rr_service *service, rr_error *error);

/* Says which sources are held, at the start. */
void rr_hold_report(const rr_service *service);

/* INPUT: a source is held, for a caller that was to read to the end. */
rr_status rr_hold_fail(const rr_service *service, rr_error *error);

/* Looks at a decided batch before its dead letters are stored. True: its source is held, by now or since before;
 * nothing of it may be acknowledged. Does not use the store: the worker may be using it. */
bool rr_hold_check(rr_service *service, const rr_inflight *batch);

/* Writes the notes of sources that are held since the last call. No batch is under way. */
rr_status rr_hold_write_notes(rr_service *service, rr_error *error);

#endif
