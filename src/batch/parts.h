/* The stage PARTS of all units. Private to src/batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PARTS_H
#define RR_PARTS_H

#include "batch_state.h"

/* PARTS: reads the parts of all units that need some. Then each is in JOIN, in LOAD where its value has changed, or has
 * ended. */
rr_status rr_batch_read_parts(rr_batch *batch, rr_error *error);

#endif
