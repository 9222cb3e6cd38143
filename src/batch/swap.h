/* What the swap of a unit carries. Private to src/batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SWAP_H
#define RR_SWAP_H

#include "batch_state.h"

/* Fills the swap of a unit in SWAP, in the scratch arena. *needed: there is something to store. False: memory ran
 * out. */
bool rr_batch_prepare_swap(rr_batch *batch, rr_batch_unit *unit, rr_swap *swap, bool *needed);

#endif
