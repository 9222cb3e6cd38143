/* From a decoded record to an item that can be joined, or that is refused with its reason. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "admit.h"

void rr_item_refuse(rr_item *item, rr_reason reason)
{
    bool late = reason == RR_REASON_BEYOND_RETENTION || reason == RR_REASON_CELL_GONE;

    item->refused = true;
    item->outcome = (rr_outcome){.verdict = late ? RR_VERDICT_TOO_LATE : RR_VERDICT_REFUSED,
                                 .reason = reason,
                                 .alerts = RR_BIT(late ? RR_ALERT_TOO_LATE : RR_ALERT_CONTRACT_VIOLATION)};
}

bool rr_admit_decoded(rr_item *item, const rr_contract *contract, rr_record *record, rr_decoded decoded, rr_text *why,
                      rr_slice stream, const rr_delivery *delivery, int64_t now_us, rr_arena *arena)
{
    rr_reason reason = RR_REASON_NONE;

    *item = (rr_item){.contract = contract, .record = record, .of = 1};
    record->stream = stream;
    record->stream_sequence = delivery->stream_sequence;
    record->has_arrival = delivery->stored_at_us != RR_NEVER_STORED;
    record->arrival_us = record->has_arrival ? delivery->stored_at_us : 0;
    if (contract == NULL) {
        reason = RR_REASON_UNROUTED;
    } else if (decoded != RR_DECODED_RECORD) {
        reason = decoded == RR_DECODED_TOO_LARGE ? RR_REASON_LIMIT_EXCEEDED : RR_REASON_MALFORMED;
    } else {
        if (!rr_arena_reserve(arena, rr_admit_need(contract, record))) {
            return false;
        }
        reason = rr_admit(contract, record, arena, why);
        if (reason == RR_REASON_NONE && rr_cell_may_be_gone(contract, record->window, now_us)) {
            reason = RR_REASON_CELL_GONE;
        }
    }
    if (reason != RR_REASON_NONE) {
        rr_item_refuse(item, reason);
        item->why = why->len == 0 ? rr_slice_of(rr_reason_text(reason))
                                  : rr_arena_copy(arena, (rr_slice){why->bytes, why->len});
    }
    return true;
}
