/* JSON lines: parse of print is identity, also through protobuf; joined twice is joined once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "record_json.h"
#include "record_proto.h"

enum { RECORDS_MAX = 16 };

static void check_print(const rr_record *record, rr_arena *arena)
{
    static rr_buf first, second;
    rr_record again;
    int64_t clock_us;

    rr_buf_clear(&first);
    rr_buf_clear(&second);
    RR_MUST(rr_record_to_json(record, &first));
    RR_MUST(rr_record_from_json(rr_buf_view(&first), arena, &again, &clock_us, NULL) == RR_DECODED_RECORD);
    RR_MUST(rr_record_to_json(&again, &second));
    RR_MUST(rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second)));
}

/* What is admitted is the same record as protobuf. */
static void check_proto(const rr_contract *contract, const rr_record *record, rr_arena *arena)
{
    static rr_buf bytes;
    rr_record again;

    rr_buf_clear(&bytes);
    RR_MUST(rr_record_to_proto(record, &bytes));
    RR_MUST(rr_record_from_proto(rr_buf_view(&bytes), false, arena, &again, NULL, NULL) == RR_DECODED_RECORD);
    again.has_arrival = record->has_arrival;
    again.arrival_us = record->arrival_us;
    RR_MUST(fuzz_admit(contract, &again, arena));
    RR_MUST(rr_slice_equal(record->values, again.values) && rr_slice_equal(record->identity, again.identity) &&
            rr_window_equal(record->window, again.window));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const rr_contract *contract = fuzz_contract(fuzz_byte(&in));
    rr_arena *arena = fuzz_arena(0);
    int64_t clock_us = 0;
    bool has_clock = false;
    rr_unit unit;

    rr_unit_init(&unit, contract);
    for (size_t k = 0; k < RECORDS_MAX && in.left != 0; k++) {
        rr_record *record = rr_arena_zero(arena, sizeof *record);
        rr_text why = {.len = 0};
        rr_decoded decoded = rr_record_from_json(fuzz_until(&in, '\n'), arena, record, &clock_us, &why);

        RR_MUST(decoded != RR_DECODED_NO_MEMORY);
        has_clock = has_clock || decoded == RR_DECODED_CLOCK;
        if (decoded != RR_DECODED_RECORD) {
            continue;
        }
        check_print(record, arena);
        record->has_arrival = has_clock;
        record->arrival_us = clock_us;
        if (fuzz_admit(contract, record, arena)) {
            check_proto(contract, record, arena);
            RR_MUST(fuzz_join_twice(&unit, record, arena));
        }
    }
    return 0;
}
