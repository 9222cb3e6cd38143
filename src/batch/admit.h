/* Checking one decoded record against its contract. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ADMIT_H
#define RR_ADMIT_H

#include <rr/source.h>

#include "item.h"
#include "text.h"

/* stored_at_us of a delivery that no queue stored: its record is never too early or too late. */
#define RR_NEVER_STORED INT64_MIN

/* Fills an item from what decoding gave.
 *
 * decoded  RECORD: `record` is admitted or refused; MALFORMED, TOO_LARGE: the item is refused
 * why      what decoding said of it; may be empty
 * stream   where the delivery comes from; outlives the item
 * now_us   the wall clock, to refuse a record whose cell may have expired; INT64_MIN: such a record is admitted
 *
 * contract NULL: the item is refused as unrouted. False: memory ran out. */
bool rr_admit_decoded(rr_item *item, const rr_contract *contract, rr_record *record, rr_decoded decoded, rr_text *why,
                      rr_slice stream, const rr_delivery *delivery, int64_t now_us, rr_arena *arena);

/* Sets the outcome of an item that cannot be joined. */
void rr_item_refuse(rr_item *item, rr_reason reason);

#endif
