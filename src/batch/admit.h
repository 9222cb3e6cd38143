/* Decoding and admitting one delivery. For callers of rr_batch that keep items of their own; rr_intake does it for the
 * others. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ADMIT_H
#define RR_ADMIT_H

#include "batch.h"
#include "bindings.h"

/* Fills the item and its record, whose bytes lie in the arena. A record that cannot be joined makes a refused item, with
 * the outcome set. now_us: the wall clock, to refuse a record whose cell may have expired; INT64_MIN: admit it. False:
 * memory ran out. */
bool rr_admit_delivery(const rr_bound_source *source, const rr_delivery *delivery, int64_t now_us, rr_arena *arena,
                       rr_item *item, rr_record *record);

/* The same where the contract is known. `stream` must outlive the item. contract NULL: the item is refused as unrouted. */
bool rr_admit_payload(const rr_contract *contract, rr_slice stream, const rr_delivery *delivery, int64_t now_us,
                      rr_arena *arena, rr_item *item, rr_record *record);

/* Sets the outcome of an item that cannot be joined. */
void rr_item_refuse(rr_item *item, rr_reason reason);

#endif
