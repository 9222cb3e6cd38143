/* Replaces a unit of the store by that of the streams. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERIFY_REPAIR_H
#define RR_VERIFY_REPAIR_H

#include "verify_state.h"

/* Replaces the store's unit by that of the streams, unless the store's has changed meanwhile. expected, found: the
 * values that the pair was read from. A unit that is only in the store stays: the streams may have been purged. */
rr_status rr_verify_repair(rr_verify *v, rr_verify_pair *pair, rr_slice expected, rr_slice found, rr_error *error);

#endif
