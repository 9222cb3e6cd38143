/* Decoding and admitting one delivery. Private to the engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ENGINE_ADMIT_H
#define RR_ENGINE_ADMIT_H

#include "batch.h"
#include "bindings.h"

/* Fills the item and its record, which lie in the arena but for the delivery's subject. What cannot be joined is
 * refused in the item, with the outcome set. now_us: the wall clock, to tell a cell that may be gone; INT64_MIN: do
 * not look. False: memory ran out. */
bool rr_admit_delivery(const rr_bound_source *source, const rr_delivery *delivery, int64_t now_us, rr_arena *arena,
                       rr_item *item, rr_record *record);

/* The same for a contract that is known. `stream` outlives the item. contract NULL: unrouted. */
bool rr_admit_payload(const rr_contract *contract, rr_slice stream, const rr_delivery *delivery, int64_t now_us,
                      rr_arena *arena, rr_item *item, rr_record *record);

/* Sets the outcome of an item that cannot be joined. */
void rr_item_refuse(rr_item *item, rr_reason reason);

#endif
