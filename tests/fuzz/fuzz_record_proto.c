/* Record bytes: decode, encode, decode is identity; as JSON it is the same record; joined twice is joined once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "record_json.h"
#include "record_proto.h"

enum { RECORDS_MAX = 8 };

static void check_round(const rr_record *record, rr_arena *arena)
{
    static rr_buf first, second;
    rr_record again;

    rr_buf_clear(&first);
    rr_buf_clear(&second);
    RR_MUST(rr_record_to_proto(record, &first));
    RR_MUST(rr_record_from_proto(rr_buf_view(&first), false, arena, &again, NULL, NULL) == RR_DECODED_RECORD);
    RR_MUST(rr_record_to_proto(&again, &second));
    RR_MUST(rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second)));
}

/* What is admitted is the same record as JSON. */
static void check_json(const rr_contract *contract, const rr_record *record, rr_arena *arena)
{
    static rr_buf text;
    rr_record again;
    int64_t clock_us;

    rr_buf_clear(&text);
    RR_MUST(rr_record_to_json(record, &text));
    RR_MUST(rr_record_from_json(rr_buf_view(&text), arena, &again, &clock_us, NULL) == RR_DECODED_RECORD);
    RR_MUST(fuzz_admit(contract, &again, arena));
    RR_MUST(rr_slice_equal(record->values, again.values) && rr_slice_equal(record->identity, again.identity) &&
            rr_window_equal(record->window, again.window));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const rr_contract *contract = fuzz_contract(fuzz_byte(&in));
    rr_arena *arena = fuzz_arena(0);
    rr_unit unit;
    bool whole = true;

    rr_unit_init(&unit, contract);
    for (size_t k = 0; k < RECORDS_MAX && in.left != 0; k++) {
        rr_record *record = rr_arena_zero(arena, sizeof *record);
        rr_text why = {.len = 0};
        rr_decoded decoded = rr_record_from_proto(fuzz_chunk(&in), false, arena, record, NULL, &why);

        RR_MUST(decoded != RR_DECODED_NO_MEMORY && decoded != RR_DECODED_CLOCK);
        if (decoded != RR_DECODED_RECORD) {
            continue;
        }
        check_round(record, arena);
        if (fuzz_admit(contract, record, arena)) {
            check_json(contract, record, arena);
            whole = whole && fuzz_join_twice(&unit, record, arena);
            RR_MUST(whole); /* all parts are at hand */
        }
    }
    return 0;
}
