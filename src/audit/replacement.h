/* Putting a whole unit in the place of what a store holds (verify --repair). Private to the engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REPLACE_H
#define RR_REPLACE_H

#include "batch.h"

typedef struct rr_replacement {
    rr_unit *unit; /* all its parts at hand, its views valid */
    rr_slice key, prefix, business_key, metric_version;
    rr_window window;           /* of the key; not looked at for sessions */
    rr_slice store_value;       /* what is there now, whose token guards the swap; empty: nothing */
    const rr_cell *stale_cells; /* of what is there: sessions that are no more are removed */
    size_t stale_cell_count;
    int64_t now_us;
} rr_replacement;

/* Fills the swap; all in the arena. The unit gets a new birth, so parts of the old one are never met again. False:
 * memory ran out. */
bool rr_replacement_prepare(const rr_replacement *replacement, rr_tokens *tokens, rr_arena *arena, rr_swap *swap);

#endif
