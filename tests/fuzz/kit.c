/* Contracts, honest records, and the laws that several targets check. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"

#include "contract_yaml.h"
#include "record_json.h"
#include "view.h"

static const char contracts_text[] =
    "contracts:\n"
    "- {name: a, mode: cumulative, window: {kind: tumbling, size: 1m},"
    "   measures: {value: {type: int64, never_falls: true}}}\n"
    "- {name: b, mode: cumulative, window: {kind: sliding, size: 10m, slide: 1m}, corrections: conditional}\n"
    "- {name: c, mode: cumulative, corrections: coordinated, retention: 7d}\n"
    "- {name: d, mode: cumulative, window: {kind: session, gap: 30s}}\n"
    "- {name: e, mode: delta, window: {kind: tumbling, size: 1m}, corrections: conditional}\n"
    "- {name: f, mode: delta, window: {kind: session, gap: 30s, ends: last}}\n"
    "- {name: g, mode: delta, window: {kind: global}, measures: {value: {type: decimal}}}\n"
    "- {name: h, mode: retraction, window: {kind: tumbling, size: 1m}, corrections: conditional,"
    "   during_conflict: live}\n"
    "- {name: i, mode: retraction, window: {kind: session, gap: 30s}}\n"
    "- {name: j, mode: retraction, corrections: coordinated, during_conflict: correction}\n"
    "- {name: k, mode: cumulative, window: {kind: global}, metric_versions: [v1],"
    "   measures: {count: {}, ratio: {type: double}, revenue: {type: decimal}}}\n"
    "- {name: l, mode: delta, measures: {count: {}, revenue: {type: decimal}}, corrections: coordinated}\n";

/* Behind `"business_key":"k","metric_version":"v1",`, and a window and values that fit the contract. */
static const char *const samples[FUZZ_SAMPLES] = {
    "\"result_version\":1,\"delta_id\":\"a\"",
    "\"result_version\":2,\"delta_id\":\"b\",\"status\":\"STREAM_CLOSED\"",
    "\"result_version\":2,\"delta_id\":\"a\",\"status\":\"STREAM_CLOSED\",\"contributor\":\"x\"",
    "\"result_version\":3,\"producer\":\"p\",\"sequence\":7,\"includes_correction\":{\"base\":2,\"version\":1}",
    "\"op\":\"RETRACT\",\"retracts_version\":2,\"delta_id\":\"b\"",
    "\"op\":\"RETRACT\",\"result_version\":4,\"delta_id\":\"c\"",
    "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":2,\"status\":\"RECONCILED\"",
    "\"origin\":\"CORRECTION\",\"result_version\":{\"epoch\":1,\"number\":1},\"base_version\":5",
    "\"result_version\":5,\"delta_id\":\"d\",\"contributor\":\"x\"",
    "\"origin\":\"CORRECTION\",\"result_version\":2,\"base_version\":1",
    "\"result_version\":{\"epoch\":4294967295,\"number\":18446744073709551615},\"delta_id\":\"e\"",
    "\"op\":\"RETRACT\",\"retracts_version\":{\"epoch\":4294967295,\"number\":18446744073709551615},\"delta_id\":\"a\"",
};

uint8_t fuzz_byte(fuzz_input *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

rr_slice fuzz_bytes(fuzz_input *in, size_t len)
{
    rr_slice taken = {(const char *)in->at, len < in->left ? len : in->left};

    in->at += taken.len;
    in->left -= taken.len;
    return taken;
}

rr_slice fuzz_rest(fuzz_input *in)
{
    return fuzz_bytes(in, in->left);
}

rr_slice fuzz_chunk(fuzz_input *in)
{
    size_t len = fuzz_byte(in);

    len |= (size_t)fuzz_byte(in) << 8;
    return fuzz_bytes(in, len);
}

rr_slice fuzz_until(fuzz_input *in, char end)
{
    const uint8_t *found = in->left == 0 ? NULL : memchr(in->at, end, in->left);
    rr_slice taken = fuzz_bytes(in, found == NULL ? in->left : (size_t)(found - in->at));

    fuzz_byte(in);
    return taken;
}

const rr_contract *fuzz_contract(uint8_t selector)
{
    static rr_contract_list list;

    if (list.count == 0) {
        rr_problems problems = {0};

        RR_MUST(rr_contracts_parse("contracts", rr_slice_of(contracts_text), &list, &problems) == RR_OK);
        rr_problems_fini(&problems);
    }
    return &list.items[selector % list.count];
}

rr_arena *fuzz_arena(unsigned which)
{
    static rr_arena arenas[2];

    rr_arena_reset(&arenas[which]);
    return &arenas[which];
}

rr_slice fuzz_facts(const rr_unit *unit, rr_arena *arena)
{
    rr_unit copy = *unit;
    size_t room = rr_unit_write_need(unit), len;
    char *bytes;

    for (size_t k = 0; k < unit->part_count; k++) {
        room += unit->parts[k].id.len + rr_part_write_need(unit, &unit->parts[k]);
    }
    bytes = rr_arena_take(arena, room);
    RR_MUST(bytes != NULL);
    len = rr_unit_write(&copy, bytes);
    for (size_t k = 0; copy.spilled && k < copy.part_count; k++) {
        rr_slice id = copy.parts[k].id;

        if (id.len != 0) {
            memcpy(bytes + len, id.data, id.len);
        }
        len += id.len;
        len += rr_part_write(&copy, &copy.parts[k], bytes + len);
    }
    RR_MUST(len <= room);
    return (rr_slice){bytes, len};
}

bool fuzz_admit(const rr_contract *contract, rr_record *record, rr_arena *arena)
{
    rr_text why = {.len = 0};
    rr_reason reason;

    RR_MUST(rr_arena_reserve(arena, rr_admit_need(contract, record)));
    reason = rr_admit(contract, record, arena, &why);
    RR_MUST(reason < RR_REASON_COUNT && (reason == RR_REASON_NONE || why.len != 0));
    return reason == RR_REASON_NONE;
}

static rr_joined join(rr_unit *unit, const rr_record *record, rr_arena *arena, rr_outcome *outcome)
{
    RR_MUST(rr_arena_reserve(arena, rr_join_need(unit, record)));
    return rr_join(unit, record, arena, outcome);
}

bool fuzz_join_twice(rr_unit *unit, const rr_record *record, rr_arena *arena)
{
    rr_outcome outcome;
    rr_slice once;

    if (join(unit, record, arena, &outcome) == RR_JOIN_NEEDS_PARTS) {
        return false;
    }
    RR_MUST(outcome.verdict < RR_VERDICT_COUNT);
    once = fuzz_facts(unit, arena);
    if (join(unit, record, arena, &outcome) == RR_JOIN_NEEDS_PARTS) {
        return false;
    }
    RR_MUST(outcome.verdict != RR_VERDICT_APPLIED && !outcome.grew);
    RR_MUST(rr_slice_equal(once, fuzz_facts(unit, arena)));
    return true;
}

const rr_record *fuzz_sample(const rr_contract *contract, size_t k, rr_arena *arena)
{
    bool session = contract->window_kind == RR_WINDOW_SESSION;
    const char *start = "10:00", *end = session && k % 3 != 0 ? "10:03" : "10:01", *values;
    rr_record *record = rr_arena_zero(arena, sizeof *record);
    rr_buf line = {0};
    int64_t clock_us;

    if (contract->window_kind == RR_WINDOW_SLIDING) {
        end = "10:10";
    } else if (session && k % 3 == 1) {
        start = "10:02";
    }
    values = contract->measure_count == 1   ? "\"value\":7"
             : contract->measure_count == 2 ? "\"measures\":{\"count\":7,\"revenue\":\"1.5\"}"
                                            : "\"measures\":{\"count\":7,\"ratio\":0.5,\"revenue\":\"1.5\"}";
    rr_buf_format(&line, "{\"business_key\":\"k\",\"metric_version\":\"v1\",%s,%s", samples[k % FUZZ_SAMPLES], values);
    if (contract->window_kind != RR_WINDOW_GLOBAL) {
        rr_buf_format(&line, ",\"window\":{\"start\":\"2026-01-01T%s:00Z\",\"end\":\"2026-01-01T%s:00Z\"}", start, end);
    }
    rr_buf_char(&line, '}');
    RR_MUST(record != NULL && rr_buf_ok(&line));
    RR_MUST(rr_record_from_json(rr_buf_view(&line), arena, record, &clock_us, NULL) == RR_DECODED_RECORD);
    rr_buf_fini(&line);
    return fuzz_admit(contract, record, arena) ? record : NULL;
}
