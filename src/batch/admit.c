/* From a delivery to an item that can be joined, or that is refused with its reason. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "admit.h"

#include "record_proto.h"

void rr_item_refuse(rr_item *item, rr_reason reason)
{
    bool late = reason == RR_REASON_BEYOND_RETENTION || reason == RR_REASON_CELL_GONE;

    item->refused = true;
    item->outcome = (rr_outcome){.verdict = late ? RR_VERDICT_TOO_LATE : RR_VERDICT_REFUSED,
                                 .reason = reason,
                                 .alerts = RR_BIT(late ? RR_ALERT_TOO_LATE : RR_ALERT_CONTRACT_VIOLATION)};
}

static rr_reason reason_of(rr_decoded decoded)
{
    return decoded == RR_DECODED_TOO_LARGE ? RR_REASON_LIMIT_EXCEEDED : RR_REASON_MALFORMED;
}

bool rr_admit_delivery(const rr_bound_source *source, const rr_delivery *delivery, int64_t now_us, rr_arena *arena,
                       rr_item *item, rr_record *record)
{
    return rr_admit_payload(source->route(source->context, delivery->subject), source->stream, delivery, now_us, arena,
                            item, record);
}

bool rr_admit_payload(const rr_contract *contract, rr_slice stream, const rr_delivery *delivery, int64_t now_us,
                      rr_arena *arena, rr_item *item, rr_record *record)
{
    rr_text why = {.len = 0};
    int64_t clock_us;
    rr_decoded decoded;
    rr_reason reason = RR_REASON_NONE;

    *item = (rr_item){.contract = contract, .record = record};
    decoded = rr_record_from_proto(delivery->payload, false, arena, record, &clock_us, &why);
    record->stream = stream;
    record->stream_sequence = delivery->stream_sequence;
    record->has_arrival = true;
    record->arrival_us = delivery->stored_at_us;
    if (decoded == RR_DECODED_NO_MEMORY) {
        return false;
    }
    if (item->contract == NULL) {
        reason = RR_REASON_UNROUTED;
    } else if (decoded != RR_DECODED_RECORD) {
        reason = reason_of(decoded);
    } else {
        if (!rr_arena_reserve(arena, rr_admit_need(item->contract, record))) {
            return false;
        }
        reason = rr_admit(item->contract, record, arena, &why);
        if (reason == RR_REASON_NONE && rr_cell_may_be_gone(item->contract, record->window, now_us)) {
            reason = RR_REASON_CELL_GONE;
        }
    }
    if (reason != RR_REASON_NONE) {
        rr_item_refuse(item, reason);
        item->why =
            why.len == 0 ? rr_slice_of(rr_reason_text(reason)) : rr_arena_copy(arena, (rr_slice){why.bytes, why.len});
    }
    return true;
}
