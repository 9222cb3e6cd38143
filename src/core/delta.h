/* Deltas (semantics, sections 7 and 9): the claims of one identity, and what it adds to the sum of a window. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DELTA_H
#define RR_DELTA_H

#include "register.h"

/* What one identity adds to the sum of one window: the content that counts there, if any. */
typedef struct rr_share {
    bool counts, closed, contradicted;
    rr_slice values;
} rr_share;

/* The correction of a cell covers deltas whose version is at or below this one. Not set: it covers none. */
rr_version rr_delta_cut(const rr_contract *contract, const rr_cell *cell);

/* The share of an identity in a window: among the contributions that are addressed to the window or to one inside
 * it, held and not withdrawn, the first one (earlier start, then earlier end). */
rr_share rr_delta_share(const rr_part *part, rr_window window, rr_version cut);

/* True if a contribution addressed to this very window counts. */
bool rr_delta_owns(const rr_part *part, rr_window window);

/* True if the identity was addressed to this window. */
bool rr_delta_claims(const rr_part *part, rr_window window);

/* Takes a contribution or a withdrawal into its identity's claims. rr_part_reserve_claim must come before. `at`: the
 * window of the record, {0, 0} but for sessions. */
rr_effect rr_delta_take(rr_part *part, rr_window at, const rr_record *record);

#endif
