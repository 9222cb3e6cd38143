/* How long records of a window are accepted, and how long its cell is kept (semantics, section 10).
 *
 * All times are microseconds since the epoch unless a name says otherwise.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RETENTION_H
#define RR_RETENTION_H

#include "contract.h"

/* A longer retention holds only for windows that end after the change (semantics, section 10). Call this when the
 * contract `after` replaces `before`, at wall-clock time now_us. It adds the era of `before`, because the store
 * removes cells of its windows by the older expiry, and drops eras that have no effect any more. Beyond
 * RR_LIMIT_ERAS the two oldest become one, with the shorter times. */
void rr_eras_advance(rr_eras *eras, const rr_contract *before, const rr_contract *after, int64_t now_us);

/* Adds the eras of `more`: the result forbids what either of the two forbids. Order and repetition do not matter,
 * except beyond RR_LIMIT_ERAS: then the order decides which eras become one, and every order forbids enough. */
void rr_eras_join(rr_eras *eras, const rr_eras *more);

/* How long after its end a record of the window may arrive. RR_FOREVER: for ever. */
int64_t rr_retention_us(const rr_contract *contract, int64_t end_us);

/* How long beyond its end a window's cell is kept: retention and grace. RR_FOREVER: for ever. */
int64_t rr_kept_us(const rr_contract *contract, int64_t end_us);

/* True if the cell of this window may have been removed by wall-clock time now_us (semantics, section 10). */
bool rr_cell_may_be_gone(const rr_contract *contract, rr_window window, int64_t now_us);

/* When the store may remove what belongs to a window that ends at end_us: microseconds since the epoch,
 * RR_FOREVER for never. Later than rr_cell_may_be_gone by a margin for clocks that differ. */
int64_t rr_expiry_us(const rr_contract *contract, int64_t end_us);

/* The same in milliseconds, for a store: rounded up; 0: never (also under a global window). */
int64_t rr_expiry_ms(const rr_contract *contract, int64_t end_us);

#endif
