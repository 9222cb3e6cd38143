/* rr_joining: one call of rr_join, shared by its sources.
 *
 *   join.c             the order of the steps, cumulative, and the verdict by what readers see
 *   join_delta.c       semantics, section 7, and the deltas of section 9
 *   join_retraction.c  semantics, section 6
 *   join_correction.c  semantics, section 8
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JOINING_H
#define RR_JOINING_H

#include "join.h"
#include "register.h"
#include "view.h"

/* One call of rr_join. */
typedef struct rr_joining {
    rr_unit *unit;
    const rr_contract *contract;
    const rr_record *record;
    rr_arena *scratch;
    rr_window at; /* the record's window; {0, 0} but for sessions */
    bool session;
    bool new_cell;    /* the record's cell came into being here */
    rr_lanes before;  /* the state of the lanes of the record's cell before the record */
    rr_effect effect; /* what the rules of the mode say */
} rr_joining;

/* The record's cell, made if there is none. NULL: the group has too many windows. */
static inline rr_cell *rr_joining_cell(rr_joining *j)
{
    rr_cell *cell = rr_unit_cell(j->unit, j->at);

    if (cell != NULL || j->unit->cell_count == (j->session ? RR_LIMIT_WINDOWS : 1)) {
        return cell;
    }
    j->new_cell = true;
    return rr_unit_insert_cell(j->unit, j->at, j->scratch);
}

/* The part that the record names, made if there is none. NULL: there are too many. */
static inline rr_part *rr_joining_part(rr_joining *j)
{
    rr_slice id = rr_part_id(j->contract, j->record, j->scratch);
    rr_part *part = rr_unit_part(j->unit, id);

    if (part != NULL || j->unit->part_total >= RR_LIMIT_PARTS) {
        return part;
    }
    return rr_unit_add_part(j->unit, id, j->scratch);
}

/* Take the record into the facts of its mode, and set j->effect. */
rr_joined rr_join_delta(rr_joining *j);
rr_joined rr_join_retraction(rr_joining *j);
rr_joined rr_join_correction(rr_joining *j);

/* Computes what the deltas of a cell fold into from all parts of the unit, which must be at hand. */
void rr_fold_deltas(const rr_joining *j, rr_cell *cell);

/* Semantics, section 8: remembers the newest correction that the live lane is known to include, if the record names
 * a newer one. */
void rr_note_known_correction(rr_joining *j, rr_cell *cell);

/* Semantics, section 8: remembers which lane readers saw when the lanes began to diverge, and forgets it when they
 * no longer do. */
void rr_note_incumbent(const rr_joining *j, rr_cell *cell);

/* The verdict on a correction or a live record once the lanes of its cell are known; adds alerts. */
rr_verdict rr_correction_verdict(const rr_joining *j, const rr_cell *cell, rr_alert_set *alerts);
rr_verdict rr_live_verdict(const rr_joining *j, const rr_cell *cell, rr_alert_set *alerts);

#endif
