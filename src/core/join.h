/* rr_join: joins one record to the facts of a unit, and returns its verdict.
 *
 * Nothing here allocates, reads a clock, logs or fails: the same arguments give
 * the same answer everywhere, so a decision can be replayed from a log line and
 * every test is a row of a table. Joining the same record again never changes
 * the facts (semantics, law 2).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JOIN_H
#define RR_JOIN_H

#include "admission.h"
#include "facts.h"

typedef struct rr_outcome {
    rr_verdict verdict;
    rr_reason reason; /* REFUSED (limit_exceeded): the cell would grow beyond a limit */
    rr_alert_set alerts;
    bool grew; /* facts changed: the unit must be written */
} rr_outcome;

typedef enum rr_joined {
    RR_JOIN_DONE,
    RR_JOIN_NEEDS_PARTS /* the verdict needs all parts: load the unit again with them, and join all its records */
} rr_joined;

/* unit     the facts held, with the part that the record names at hand, if there is one; changed in place
 * record   admitted by rr_admit
 * scratch  must have rr_join_need(unit, record) bytes left (asserted)
 */
rr_joined rr_join(rr_unit *unit, const rr_record *record, rr_arena *scratch, rr_outcome *outcome);
size_t rr_join_need(const rr_unit *unit, const rr_record *record);

/* Makes every cell's view valid (for printing). Needs rr_join_need(unit, NULL) bytes of scratch. */
void rr_unit_see(rr_unit *unit, rr_arena *scratch);

#endif
