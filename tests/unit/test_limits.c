/* Every row of the table of limits: at n it works, at n + 1 comes what the table says. A row without a test here does
 * not compile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "batch.h"
#include "joins.h"
#include "record_json.h"
#include "record_proto.h"
#include "store_memory.h"

#define WINDOW "\"window\":{\"start\":\"2026-01-01T10:00:00Z\",\"end\":\"2026-01-01T10:01:00Z\"}"

static rr_slice repeated(rr_buf *buf, char c, size_t count)
{
    while (count-- > 0) {
        rr_buf_char(buf, c);
    }
    return rr_buf_view(buf);
}

/* ---- what a record may be ---- */

static void test_RECORD_BYTES(void **state)
{
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    for (size_t over = 0; over < 2; over++) {
        rr_decoded wanted = over == 0 ? RR_DECODED_RECORD : RR_DECODED_TOO_LARGE;
        rr_buf json = {0}, proto = {0};
        rr_record record;
        int64_t clock_us;

        rr_buf_text(&json, "{\"business_key\":\"k\"");
        repeated(&json, ' ', RR_LIMIT_RECORD_BYTES + over - json.len - 1);
        rr_buf_char(&json, '}');
        assert_int_equal(json.len, RR_LIMIT_RECORD_BYTES + over);
        assert_int_equal(rr_record_from_json(rr_buf_view(&json), &arena, &record, &clock_us, NULL), wanted);
        /* field 9999, a string with a length of three bytes: an unknown field, which is skipped */
        rr_buf_put(&proto, "\xfa\xf0\x04", 3);
        repeated(&proto, '\0', 3);
        for (size_t k = 0, rest = RR_LIMIT_RECORD_BYTES + over - 6; k < 3; k++, rest >>= 7) {
            proto.data[3 + k] = (char)((rest & 0x7f) | (k < 2 ? 0x80 : 0));
        }
        repeated(&proto, 'x', RR_LIMIT_RECORD_BYTES + over - 6);
        assert_int_equal(rr_record_from_proto(rr_buf_view(&proto), false, &arena, &record, &clock_us, NULL), wanted);
        rr_buf_fini(&json);
        rr_buf_fini(&proto);
    }
    rr_arena_fini(&arena);
}

static rr_reason admit(joins *j, rr_record *record)
{
    assert_true(rr_arena_reserve(&j->arena, rr_admit_need(j->contract, record)));
    return rr_admit(j->contract, record, &j->arena, NULL);
}

static void test_KEY_BYTES(void **state)
{
    static const size_t fields[] = {offsetof(rr_record, business_key), offsetof(rr_record, metric_version),
                                    offsetof(rr_record, delta_id), offsetof(rr_record, producer),
                                    offsetof(rr_record, contributor)};
    rr_buf text = {0};
    rr_slice longest = repeated(&text, 'k', RR_LIMIT_KEY_BYTES + 1);
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n");
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        rr_record record = joins_record(&j, "\"delta_id\":\"a\",\"value\":1");
        rr_slice *field = (rr_slice *)(void *)((char *)&record + fields[k]);

        *field = (rr_slice){longest.data, RR_LIMIT_KEY_BYTES};
        assert_int_equal(admit(&j, &record), RR_REASON_NONE);
        *field = longest;
        assert_int_equal(admit(&j, &record), RR_REASON_LIMIT_EXCEEDED);
    }
    joins_close(&j);
    rr_buf_fini(&text);
}

static void test_EVIDENCE_BYTES(void **state)
{
    rr_buf text = {0};
    joins j;
    rr_record record;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n");
    record = joins_record(&j, "\"delta_id\":\"a\",\"value\":1");
    record.evidence = repeated(&text, 'e', RR_LIMIT_EVIDENCE_BYTES);
    assert_int_equal(admit(&j, &record), RR_REASON_NONE);
    record.evidence = repeated(&text, 'e', 1);
    assert_int_equal(admit(&j, &record), RR_REASON_LIMIT_EXCEEDED);
    joins_close(&j);
    rr_buf_fini(&text);
}

static rr_status contract_of(size_t measures)
{
    rr_buf yaml = {0};
    rr_contract_list list;
    rr_problems problems = {0};
    rr_status status;

    rr_buf_text(&yaml, "contracts:\n- name: c\n  mode: cumulative\n  window: {kind: global}\n  measures:\n");
    for (size_t k = 0; k < measures; k++) {
        rr_buf_format(&yaml, "    m%03zu: {type: int64}\n", k);
    }
    status = rr_contracts_parse("test.yaml", rr_buf_view(&yaml), &list, &problems);
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
    rr_buf_fini(&yaml);
    return status;
}

static rr_reason record_of(joins *j, size_t measures)
{
    rr_buf json = {0};
    rr_record record;
    int64_t clock_us;
    rr_decoded decoded;

    rr_buf_text(&json, "{\"business_key\":\"k\",\"metric_version\":\"v1\",\"result_version\":1,\"measures\":{");
    for (size_t k = 0; k < measures; k++) {
        rr_buf_format(&json, "%s\"m%03zu\":1", k == 0 ? "" : ",", k);
    }
    rr_buf_text(&json, "}}");
    decoded = rr_record_from_json(rr_buf_view(&json), &j->arena, &record, &clock_us, NULL);
    rr_buf_fini(&json);
    if (decoded == RR_DECODED_TOO_LARGE) {
        return RR_REASON_LIMIT_EXCEEDED; /* decoding stops there already */
    }
    assert_int_equal(decoded, RR_DECODED_RECORD);
    return admit(j, &record);
}

static void test_MEASURES(void **state)
{
    rr_buf contract = {0};
    joins j;

    (void)state;
    assert_int_equal(contract_of(RR_LIMIT_MEASURES), RR_OK);
    assert_int_equal(contract_of(RR_LIMIT_MEASURES + 1), RR_CONFIG);
    rr_buf_text(&contract, "  mode: cumulative\n  window: {kind: global}\n  measures:\n");
    for (size_t k = 0; k < RR_LIMIT_MEASURES; k++) {
        rr_buf_format(&contract, "    m%03zu: {type: int64}\n", k);
    }
    rr_buf_char(&contract, '\0');
    joins_open(&j, contract.data);
    assert_int_equal(record_of(&j, RR_LIMIT_MEASURES), RR_REASON_NONE);
    assert_int_equal(record_of(&j, RR_LIMIT_MEASURES + 1), RR_REASON_LIMIT_EXCEEDED);
    joins_close(&j);
    rr_buf_fini(&contract);
}

static rr_reason decimal_of(joins *j, size_t whole, size_t fraction)
{
    rr_buf json = {0};
    rr_record record;
    int64_t clock_us;

    rr_buf_text(&json, "{\"business_key\":\"k\",\"metric_version\":\"v1\",\"result_version\":1,\"value\":\"");
    repeated(&json, '7', whole);
    rr_buf_char(&json, '.');
    repeated(&json, '7', fraction);
    rr_buf_text(&json, "\"}");
    assert_int_equal(rr_record_from_json(rr_buf_view(&json), &j->arena, &record, &clock_us, NULL), RR_DECODED_RECORD);
    rr_buf_fini(&json);
    return admit(j, &record);
}

static void test_DECIMAL_DIGITS(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: cumulative\n  window: {kind: global}\n  measures: {value: {type: decimal}}\n");
    assert_int_equal(decimal_of(&j, RR_LIMIT_DECIMAL_DIGITS, RR_LIMIT_DECIMAL_DIGITS), RR_REASON_NONE);
    assert_int_equal(decimal_of(&j, RR_LIMIT_DECIMAL_DIGITS + 1, 1), RR_REASON_MEASURE_TYPE);
    assert_int_equal(decimal_of(&j, 1, RR_LIMIT_DECIMAL_DIGITS + 1), RR_REASON_MEASURE_TYPE);
    joins_close(&j);
}

/* ---- what a cell may become ---- */

static void refuses(joins *j, const char *json)
{
    joins_take(j, json);
    assert_int_equal(j->outcome.verdict, RR_VERDICT_REFUSED);
    assert_int_equal(j->outcome.reason, RR_REASON_LIMIT_EXCEEDED);
    assert_int_equal(j->outcome.alerts, RR_BIT(RR_ALERT_CONTRACT_VIOLATION));
    assert_false(j->outcome.grew);
}

static void takes(joins *j, const char *json, rr_verdict verdict)
{
    joins_take(j, json);
    assert_int_equal(j->outcome.verdict, verdict);
    assert_int_equal(j->outcome.reason, RR_REASON_NONE);
}

static void test_PARTS(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n");
    takes(&j, "\"delta_id\":\"a\",\"value\":1", RR_VERDICT_APPLIED);
    j.unit.part_total = RR_LIMIT_PARTS - 1;
    takes(&j, "\"delta_id\":\"b\",\"value\":1", RR_VERDICT_APPLIED);
    refuses(&j, "\"delta_id\":\"c\",\"value\":1");
    refuses(&j, "\"delta_id\":\"c\",\"op\":\"RETRACT\"");
    takes(&j, "\"delta_id\":\"a\",\"op\":\"RETRACT\"", RR_VERDICT_APPLIED);
    joins_close(&j);
    joins_open(&j, "  mode: retraction\n  window: {kind: global}\n  corrections: conditional\n");
    takes(&j, "\"contributor\":\"a\",\"result_version\":1,\"value\":1", RR_VERDICT_APPLIED);
    j.unit.part_total = RR_LIMIT_PARTS;
    refuses(&j, "\"contributor\":\"b\",\"result_version\":1,\"value\":1");
    takes(&j, "\"contributor\":\"a\",\"result_version\":2,\"value\":2", RR_VERDICT_APPLIED);
    takes(&j, "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":2,\"value\":3", RR_VERDICT_APPLIED);
    joins_close(&j);
}

static const char *session_json(char *text, size_t room, unsigned at)
{
    int64_t start = INT64_C(1767261600000000) + (int64_t)at * 20000000;

    snprintf(text, room, "\"window\":{\"start\":%lld,\"end\":%lld},\"result_version\":1,\"value\":1", (long long)start,
             (long long)start + 10000000);
    return text;
}

static void test_WINDOWS(void **state)
{
    char json[128];
    joins j;

    (void)state;
    joins_open(&j, "  mode: cumulative\n  window: {kind: session, gap: 10s}\n");
    for (unsigned k = 0; k < RR_LIMIT_WINDOWS; k++) {
        takes(&j, session_json(json, sizeof json, k), RR_VERDICT_APPLIED);
    }
    refuses(&j, session_json(json, sizeof json, RR_LIMIT_WINDOWS));
    assert_int_equal(j.unit.cell_count, RR_LIMIT_WINDOWS);
    takes(&j, session_json(json, sizeof json, 500), RR_VERDICT_DUPLICATE);
    joins_close(&j);
}

static void test_CLAIMS(void **state)
{
    char json[192];
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: session, gap: 10s}\n");
    for (unsigned k = 0; k <= RR_LIMIT_CLAIMS; k++) {
        const int64_t start = INT64_C(1767225600000000) + k * INT64_C(1000000);

        snprintf(json, sizeof json, "\"delta_id\":\"d\",\"value\":1,\"window\":{\"start\":%lld,\"end\":%lld}",
                 (long long)start, (long long)(start + INT64_C(300000000)));
        if (k < RR_LIMIT_CLAIMS) {
            takes(&j, json, RR_VERDICT_APPLIED);
        } else {
            refuses(&j, json);
        }
    }
    assert_int_equal(j.unit.parts[0].claim_count, RR_LIMIT_CLAIMS);
    joins_close(&j);
}

static void test_NAMED_VALUES(void **state)
{
    char json[128];
    joins j;

    (void)state;
    joins_open(&j, "  mode: retraction\n  window: {kind: global}\n");
    takes(&j, "\"result_version\":1,\"value\":100", RR_VERDICT_APPLIED);
    for (unsigned k = 0; k <= RR_LIMIT_NAMED_VALUES; k++) {
        snprintf(json, sizeof json, "\"op\":\"RETRACT\",\"retracts_version\":1,\"value\":%u", k);
        takes(&j, json, RR_VERDICT_CONFLICT);
        assert_true((j.outcome.alerts & RR_BIT(RR_ALERT_RETRACTION_MISMATCH)) != 0);
        assert_int_equal(j.unit.parts[0].reg.named_count, k < RR_LIMIT_NAMED_VALUES ? k + 1 : RR_LIMIT_NAMED_VALUES);
    }
    takes(&j, "\"op\":\"RETRACT\",\"retracts_version\":1,\"value\":100", RR_VERDICT_APPLIED);
    joins_close(&j);
    joins_open(&j, "  mode: retraction\n  window: {kind: global}\n");
    for (unsigned k = 0; k <= RR_LIMIT_NAMED_VALUES; k++) {
        snprintf(json, sizeof json, "\"op\":\"RETRACT\",\"retracts_version\":1,\"value\":%u", k);
        takes(&j, json,
              k == 0                      ? RR_VERDICT_APPLIED
              : k < RR_LIMIT_NAMED_VALUES ? RR_VERDICT_ABSORBED
                                          : RR_VERDICT_CONFLICT);
    }
    joins_close(&j);
}

/* One delta: 24 for the part, 12 for its claim, one byte each for the value and the kind of identity. */
static void test_INLINE_BYTES(void **state)
{
    (void)state;
    for (size_t over = 0; over < 2; over++) {
        rr_buf text = {0};
        joins j;
        rr_record record;

        joins_open(&j, "  mode: delta\n  window: {kind: global}\n");
        record = joins_record(&j, "\"delta_id\":\"a\",\"value\":1");
        record.identity = repeated(&text, 'd', RR_LIMIT_INLINE_BYTES - 37 + over);
        assert_true(rr_arena_reserve(&j.arena, rr_join_need(&j.unit, &record)));
        assert_int_equal(rr_join(&j.unit, &record, &j.arena, &j.outcome), RR_JOIN_DONE);
        rr_unit_write(&j.unit, rr_arena_take(&j.arena, rr_unit_write_need(&j.unit)));
        assert_int_equal(j.unit.spilled, over == 1);
        joins_close(&j);
        rr_buf_fini(&text);
    }
}

/* ---- what a batch stores ---- */

static uint64_t suppressed_of(size_t refusals)
{
    static rr_item items[RR_LIMIT_BATCH_ALERTS + 1];
    static rr_record record;
    const rr_store_options options = {0};
    const rr_batch_options batch_options = {.prefix = RR_SLICE("rr"), .log_decisions = true};
    rr_store *store;
    rr_error error = {0};
    rr_batch *batch;
    joins j;
    uint64_t suppressed;

    joins_open(&j, "  mode: cumulative\n  window: {kind: global}\n");
    for (size_t k = 0; k < refusals; k++) {
        items[k] = (rr_item){.contract = j.contract, .record = &record, .refused = true};
        items[k].outcome =
            (rr_outcome){RR_VERDICT_REFUSED, RR_REASON_KEY_MISSING, RR_BIT(RR_ALERT_CONTRACT_VIOLATION), false};
    }
    assert_int_equal(rr_store_memory_ops.open("memory:", &options, &store, &error), RR_OK);
    batch = rr_batch_new(&rr_store_memory_ops, store, &batch_options);
    assert_non_null(batch);
    assert_int_equal(rr_batch_begin(batch, items, refusals, &error), RR_OK);
    assert_int_equal(rr_batch_step(batch, INT64_C(1767261600000000), &error), RR_OK);
    assert_true(items[refusals - 1].settled);
    suppressed = rr_batch_totals(batch)->suppressed;
    rr_batch_free(batch);
    rr_store_memory_ops.close(store);
    joins_close(&j);
    return suppressed;
}

static void test_BATCH_ALERTS(void **state)
{
    (void)state;
    assert_int_equal(suppressed_of(RR_LIMIT_BATCH_ALERTS), 0);
    assert_int_equal(suppressed_of(RR_LIMIT_BATCH_ALERTS + 1), 1);
}

/* ---- what a contract keeps of those before it ---- */

/* One more than there is room for: the two oldest are one, which is as strict as either about the windows of both. */
static void test_ERAS(void **state)
{
    rr_eras eras = {0};

    (void)state;
    for (int64_t k = 1; k <= RR_LIMIT_ERAS + 1; k++) {
        rr_eras_join(&eras, &(rr_eras){.count = 1, .items = {{100 * k, k, 10 * k}}});
        assert_int_equal(eras.count, k <= RR_LIMIT_ERAS ? k : RR_LIMIT_ERAS);
        assert_int_equal(eras.items[0].until_us, k <= RR_LIMIT_ERAS ? 100 : 200);
        assert_int_equal(eras.items[0].retention_us, 1);
        assert_int_equal(eras.items[0].kept_us, 10);
        assert_int_equal(eras.items[eras.count - 1].until_us, 100 * k);
        assert_int_equal(eras.items[eras.count - 1].kept_us, 10 * k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define RR_X(name, value, what, beyond) cmocka_unit_test(test_##name),
        RR_LIMIT_TABLE(RR_X)
#undef RR_X
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
