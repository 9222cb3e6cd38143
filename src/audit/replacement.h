/* A swap that replaces what a store holds of a unit by the whole unit, for `verify --repair`. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REPLACEMENT_H
#define RR_REPLACEMENT_H

#include "batch.h"

typedef struct rr_replacement {
    rr_unit *unit; /* with all its parts, and with valid views */
    rr_slice key, prefix, business_key, metric_version;
    rr_window window;           /* of the key; ignored for sessions */
    rr_slice store_value;       /* what the store holds: its token guards the swap; empty: nothing */
    const rr_cell *stale_cells; /* sessions that the store holds; those that the unit does not have are removed */
    size_t stale_cell_count;
    int64_t now_us;
} rr_replacement;

/* Fills the swap, in the arena. The unit gets a new birth, so that nobody reads the parts of the old one. False:
 * memory ran out. */
bool rr_replacement_prepare(const rr_replacement *replacement, rr_tokens *tokens, rr_arena *arena, rr_swap *swap);

#endif
