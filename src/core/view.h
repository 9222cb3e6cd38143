/* What readers see of a cell, computed from its facts (semantics, sections 5 to 9). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VIEW_H
#define RR_VIEW_H

#include "facts.h"

/* Whether the live lane and the newest correction of a cell agree, and which of them readers see (semantics, section
 * 8). */
typedef struct rr_lanes {
    rr_lane shown; /* what readers see; NONE: there are no facts */
    bool diverged;
    bool live_ahead; /* live knows of the correction, or is ahead of it */
} rr_lanes;

rr_lanes rr_cell_lanes(const rr_contract *contract, const rr_cell *cell);

/* True if readers see the correction without divergence, and the version is at or below its base (without one: its
 * own version). */
bool rr_cell_covers(const rr_contract *contract, const rr_cell *cell, rr_version version);

/* True if the cell counts as present among the sessions of its key (semantics, section 9). */
bool rr_cell_present(const rr_contract *contract, const rr_cell *cell);

/* What readers see of one cell of the unit, its conflicts included. */
rr_view rr_cell_view(const rr_unit *unit, const rr_cell *cell, rr_arena *scratch);

/* True if a cell of the unit, whose views are valid, has an open conflict. */
bool rr_unit_is_open(const rr_unit *unit);

/* True if readers see a difference; conflicts do not count (law 7). */
bool rr_view_differs(const rr_view *a, const rr_view *b);

#endif
