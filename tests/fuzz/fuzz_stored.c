/* A value as read from the store: any bytes are read or refused; what is read writes back as the same facts; honest
 * records can be joined to it. Half of the inputs are facts, which are put into a well-formed value first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "stored.h"

static const char token[] = "abcdefghijklmnopqrstuvwxyz0";

static rr_slice wrapped(rr_slice facts)
{
    static rr_buf value;

    rr_buf_clear(&value);
    rr_buf_text(&value, "{\"state\":\"present\",\"format\":1,\"facts\":\"");
    rr_buf_base64(&value, facts);
    rr_buf_format(&value, "\",\"token\":\"%s\"}", token);
    RR_MUST(rr_buf_ok(&value));
    return rr_buf_view(&value);
}

/* As the batch writes it. */
static rr_slice written(rr_unit *unit, rr_arena *arena, rr_buf *value)
{
    RR_MUST(rr_arena_reserve(arena, rr_join_need(unit, NULL)));
    rr_unit_see(unit, arena);
    rr_buf_clear(value);
    rr_stored_write(value, unit, 0, token, arena);
    RR_MUST(rr_buf_ok(value));
    return rr_buf_view(value);
}

static void check_writes_back(const rr_unit *read, rr_arena *arena)
{
    static rr_buf first, second;
    rr_unit unit = *read, again;
    rr_slice value;

    if (unit.cell_count == 0) {
        return; /* a batch never writes such a unit */
    }
    value = written(&unit, arena, &first);
    RR_MUST(rr_slice_equal(rr_value_token(value), (rr_slice){token, RR_TOKEN_LEN}));
    RR_MUST(rr_stored_read(&again, read->contract, value, arena, NULL) == RR_OK);
    RR_MUST(rr_slice_equal(value, written(&again, arena, &second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    uint8_t selector = fuzz_byte(&in);
    const rr_contract *contract = fuzz_contract(selector & 0x7f);
    rr_arena *arena = fuzz_arena(0);
    rr_slice value = fuzz_rest(&in);
    rr_error error = {0};
    rr_unit unit;
    rr_status status;

    value = (selector & 0x80) != 0 ? value : wrapped(value);
    status = rr_stored_read(&unit, contract, value, arena, &error);
    RR_MUST(status == RR_OK || (status == RR_INPUT && error.text[0] != '\0'));
    if (status != RR_OK) {
        return 0;
    }
    check_writes_back(&unit, arena);
    for (size_t k = 0; k < FUZZ_SAMPLES; k++) {
        const rr_record *record = fuzz_sample(contract, k, arena);
        rr_outcome outcome;

        if (record != NULL) {
            RR_MUST(rr_arena_reserve(arena, rr_join_need(&unit, record)));
            if (rr_join(&unit, record, arena, &outcome) == RR_JOIN_NEEDS_PARTS) {
                break;
            }
        }
    }
    fuzz_facts(&unit, arena);
    return 0;
}
