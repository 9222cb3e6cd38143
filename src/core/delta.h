/* Section 7, and what section 9 adds to it: contributions by identity, and what they sum to. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DELTA_H
#define RR_DELTA_H

#include "register.h"

/* What one identity gives to one window: the content that counts there, if any. */
typedef struct rr_share {
    bool counts, closed, contradicted;
    rr_slice values;
} rr_share;

/* Deltas whose version is at or below this are covered by the correction; not set: none are. */
rr_version rr_delta_cut(const rr_contract *contract, const rr_cell *cell);

/* The share of an identity in a window: of the contributions addressed to it or to a window inside it, held and not
 * withdrawn, the first (earlier start, then earlier end). */
rr_share rr_delta_share(const rr_part *part, rr_window window, rr_version cut);

/* True if a contribution addressed to this very window counts. */
bool rr_delta_owns(const rr_part *part, rr_window window);

/* True if the identity was addressed to this window. */
bool rr_delta_claims(const rr_part *part, rr_window window);

/* Takes a contribution or a withdrawal into its identity's claims. Room for one more claim is there. `at`: the window
 * of the record, {0, 0} but for sessions. */
rr_effect rr_delta_take(rr_part *part, rr_window at, const rr_record *record);

#endif
