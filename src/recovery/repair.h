/* Repair: reads again the records whose results the store may have lost, and decides them as the service decides new
 * deliveries. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REPAIR_H
#define RR_REPAIR_H

#include "recovery_state.h"

/* Reads one slice for each source that has something to repair. *more: there is more. When it returns OK, all
 * effects of the slices are confirmed by the store. Outages are no error here: the slice is read again a second
 * later. */
rr_status rr_repair_advance(rr_recovery *recovery, bool *more, rr_error *error);

#endif
