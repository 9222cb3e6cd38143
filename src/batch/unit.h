/* The stages OPEN and JOIN of one unit. Private to src/batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_UNIT_H
#define RR_UNIT_H

#include "batch_state.h"

/* OPEN: reads the facts out of the value. Then the unit is in PARTS or JOIN, or has ended. */
rr_status rr_batch_open_unit(rr_batch *batch, rr_batch_unit *unit, rr_error *error);

/* JOIN: joins the unit's records in their order. Then the unit is in SWAP, or in PARTS where the join needs more. */
rr_status rr_batch_join_unit(rr_batch *batch, rr_batch_unit *unit, rr_error *error);

#endif
