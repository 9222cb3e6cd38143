/* The stages LOAD to SWAP of all units that have their parts. Private to src/batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ROUND_TRIP_H
#define RR_ROUND_TRIP_H

#include "batch_state.h"

/* LOAD, OPEN, JOIN: loads, joins and swaps all units that have their parts. */
rr_status rr_batch_round_trip(rr_batch *batch, rr_error *error);

#endif
