/* A part as read from beside a value: read or refused; what is read writes back; honest records can be joined to it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

static rr_slice written(const rr_unit *unit, rr_arena *arena)
{
    char *bytes = rr_arena_take(arena, rr_part_write_need(unit, &unit->parts[0]));
    size_t len;

    RR_MUST(bytes != NULL);
    len = rr_part_write(unit, &unit->parts[0], bytes);
    RR_MUST(len <= rr_part_write_need(unit, &unit->parts[0]));
    return (rr_slice){bytes, len};
}

static void check_writes_back(const rr_unit *unit, rr_arena *arena)
{
    rr_slice first = written(unit, arena);
    rr_unit again;

    rr_unit_init(&again, unit->contract);
    RR_MUST(rr_part_read(&again, unit->parts[0].id, first, arena));
    RR_MUST(rr_slice_equal(first, written(&again, arena)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const rr_contract *contract = fuzz_contract(fuzz_byte(&in));
    rr_arena *arena = fuzz_arena(0);
    const rr_record *named = fuzz_sample(contract, fuzz_byte(&in), arena);
    rr_slice id = named == NULL ? RR_SLICE("x") : rr_part_id(contract, named, arena);
    rr_unit unit;

    rr_unit_init(&unit, contract);
    if (contract->mode == RR_MODE_CUMULATIVE || !rr_part_read(&unit, id, fuzz_rest(&in), arena)) {
        return 0;
    }
    check_writes_back(&unit, arena);
    unit.part_total = unit.part_count;
    for (size_t k = 0; k < FUZZ_SAMPLES; k++) {
        const rr_record *record = fuzz_sample(contract, k, arena);
        rr_outcome outcome;

        if (record != NULL) {
            RR_MUST(rr_arena_reserve(arena, rr_join_need(&unit, record)));
            RR_MUST(rr_join(&unit, record, arena, &outcome) == RR_JOIN_DONE); /* all parts are at hand */
        }
    }
    fuzz_facts(&unit, arena);
    return 0;
}
