/* Admission: each reason, in the order of the checks, and the limits at n and n + 1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "admission.h"
#include "record_json.h"
#include "time.h"
#include "value.h"

#define MINUTE (60 * RR_SECOND_US)
#define HOUR (60 * MINUTE)
#define CLOCK INT64_C(1767261900000000) /* 2026-01-01T10:05:00Z */
#define WINDOW "\"window\":{\"start\":\"2026-01-01T10:00:00Z\",\"end\":\"2026-01-01T10:01:00Z\"}"
#define HEAD "{\"business_key\":\"k\",\"metric_version\":\"v1\","
#define GOOD HEAD WINDOW ",\"result_version\":1,\"value\":2}"

static rr_contract base_contract(void)
{
    rr_contract contract = rr_contract_defaults;

    contract.name = RR_SLICE("parts");
    contract.mode = RR_MODE_CUMULATIVE;
    return contract;
}

static rr_contract tumbling(void)
{
    rr_contract contract = base_contract();

    contract.window_kind = RR_WINDOW_TUMBLING;
    contract.size_us = contract.slide_us = MINUTE;
    return contract;
}

static rr_contract in_mode(rr_mode mode, rr_corrections corrections)
{
    rr_contract contract = tumbling();

    contract.mode = mode;
    contract.corrections = corrections;
    return contract;
}

static rr_text why;

static rr_reason admit_at(const rr_contract *contract, const char *json, bool has_arrival, int64_t arrival_us)
{
    rr_arena arena, scratch;
    rr_record record;
    int64_t clock_us;
    rr_reason reason;

    why.len = 0;
    rr_arena_init(&arena, 0);
    rr_arena_init(&scratch, 0);
    if (rr_record_from_json(rr_slice_of(json), &arena, &record, &clock_us, &why) != RR_DECODED_RECORD) {
        fail_msg("%s: %.*s", json, (int)why.len, why.bytes);
    }
    record.has_arrival = has_arrival;
    record.arrival_us = arrival_us;
    assert_true(rr_arena_reserve(&scratch, rr_admit_need(contract, &record)));
    reason = rr_admit(contract, &record, &scratch, &why);
    assert_int_equal(reason == RR_REASON_NONE, why.len == 0);
    rr_arena_fini(&scratch);
    rr_arena_fini(&arena);
    return reason;
}

static rr_reason admit(const rr_contract *contract, const char *json)
{
    return admit_at(contract, json, true, CLOCK);
}

static void assert_why(const char *part)
{
    char text[RR_TEXT_MAX + 1];

    memcpy(text, why.bytes, why.len);
    text[why.len] = '\0';
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, text);
    }
}

static void reasons_in_their_order(void **state)
{
    static const struct {
        const char *json;
        rr_reason reason;
        const char *why;
    } rows[] = {
        {GOOD, RR_REASON_NONE, ""},
        {"{}", RR_REASON_KEY_MISSING, "business_key"},
        {"{\"business_key\":\"\",\"mode\":\"DELTA\"}", RR_REASON_KEY_MISSING, ""},
        {HEAD "\"mode\":\"DELTA\"}", RR_REASON_MODE_MISMATCH, "says mode DELTA; the contract says CUMULATIVE"},
        {"{\"business_key\":\"k\"}", RR_REASON_WINDOW_MISSING, "no window"},
        {HEAD "\"window\":{}}", RR_REASON_WINDOW_MISSING, "no start or no end"},
        {HEAD "\"window\":{\"start\":5}}", RR_REASON_WINDOW_MISSING, ""},
        {HEAD "\"window\":{\"start\":null,\"end\":\"\"}}", RR_REASON_WINDOW_MISSING, ""},
        {HEAD "\"window\":{\"start\":7,\"end\":7}}", RR_REASON_WINDOW_INVERTED, "is empty"},
        {HEAD "\"window\":{\"start\":8,\"end\":7}}", RR_REASON_WINDOW_INVERTED, "swapped"},
        {HEAD "\"window\":{\"start\":946684799999999,\"end\":946684860000000}}", RR_REASON_WINDOW_IMPLAUSIBLE, ""},
        {"{\"business_key\":\"k\"," WINDOW "}", RR_REASON_METRIC_VERSION_MISSING, ""},
        {HEAD WINDOW ",\"op\":\"RETRACT\"}", RR_REASON_OP_NOT_IN_MODE, "the mode is retraction"},
        {HEAD WINDOW ",\"op\":\"RETRACT\",\"origin\":\"CORRECTION\"}", RR_REASON_OP_NOT_IN_MODE, "can only ASSERT"},
        {HEAD WINDOW ",\"origin\":\"CORRECTION\"}", RR_REASON_CORRECTION_NOT_ALLOWED, "corrections: none"},
        {HEAD WINDOW ",\"status\":\"RECONCILED\"}", RR_REASON_STATUS_NOT_ALLOWED, ""},
        {HEAD WINDOW "}", RR_REASON_VERSION_MISSING, ""},
        {HEAD WINDOW ",\"result_version\":{\"epoch\":3}}", RR_REASON_VERSION_MISSING, "start at 1"},
        {HEAD WINDOW ",\"result_version\":1}", RR_REASON_MEASURE_MISSING, "no value and no measures"},
        {HEAD WINDOW ",\"result_version\":1,\"value\":\"\"}", RR_REASON_MEASURE_MISSING, ""},
        {HEAD WINDOW ",\"result_version\":1,\"measures\":{\"x\":1}}", RR_REASON_MEASURE_UNKNOWN,
         "'x'; the contract's measures are 'value'"},
        {HEAD WINDOW ",\"result_version\":1,\"value\":2.5}", RR_REASON_MEASURE_TYPE,
         "is '2.5'; the contract says int64"},
        {HEAD WINDOW ",\"result_version\":1,\"value\":[1]}", RR_REASON_MEASURE_TYPE, "no number"},
        {HEAD WINDOW ",\"result_version\":1,\"value\":9223372036854775807}", RR_REASON_NONE, ""},
        {HEAD WINDOW ",\"result_version\":1,\"value\":9223372036854775808}", RR_REASON_MEASURE_TYPE, ""},
        {HEAD WINDOW ",\"result_version\":1,\"value\":-9223372036854775808}", RR_REASON_NONE, ""},
        {HEAD WINDOW ",\"result_version\":1,\"value\":-9223372036854775809}", RR_REASON_MEASURE_TYPE, ""},
    };
    rr_contract contract = tumbling();

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_reason reason = admit(&contract, rows[k].json);

        if (reason != rows[k].reason) {
            fail_msg("%s: %s", rows[k].json, rr_reason_word(reason));
        }
        assert_why(rows[k].why);
    }
}

static void assert_window(const rr_contract *contract, int64_t start, int64_t end, rr_reason expected, const char *part)
{
    char json[400];
    rr_reason reason;

    snprintf(json, sizeof json, HEAD "\"window\":{\"start\":%lld,\"end\":%lld},\"result_version\":1,\"value\":2}",
             (long long)start, (long long)end);
    reason = admit(contract, json);
    if (reason != expected) {
        fail_msg("%s: %s", json, rr_reason_word(reason));
    }
    assert_why(part);
}

static void likely_causes_of_implausible_windows(void **state)
{
    rr_contract contract = tumbling();

    (void)state;
    assert_window(&contract, CLOCK / 1000000, CLOCK / 1000000 + 60, RR_REASON_WINDOW_IMPLAUSIBLE, "looks like seconds");
    assert_window(&contract, CLOCK / 1000, CLOCK / 1000 + 60000, RR_REASON_WINDOW_IMPLAUSIBLE, "like milliseconds");
    assert_window(&contract, CLOCK * 1000, CLOCK * 1000 + MINUTE * 1000, RR_REASON_WINDOW_IN_FUTURE, "nanoseconds");
    assert_window(&contract, 0, 5 * RR_SECOND_US, RR_REASON_WINDOW_IMPLAUSIBLE, "like a phase");
    assert_window(&contract, 5 * RR_SECOND_US, 10 * RR_SECOND_US, RR_REASON_WINDOW_IMPLAUSIBLE, "like a phase");
    assert_window(&contract, INT64_MIN, CLOCK, RR_REASON_WINDOW_IMPLAUSIBLE, "never set");
}

static void the_future_begins_behind_tolerance_and_size(void **state)
{
    rr_contract contract = tumbling();
    int64_t start = CLOCK + 24 * HOUR;

    (void)state;
    assert_window(&contract, start, start + MINUTE, RR_REASON_NONE, "");
    assert_window(&contract, start + MINUTE, start + 2 * MINUTE, RR_REASON_WINDOW_IN_FUTURE, "1d and one window");
    contract.window_kind = RR_WINDOW_ANY;
    assert_window(&contract, start - 5, start, RR_REASON_NONE, "");
    assert_window(&contract, start - 5, start + 1, RR_REASON_WINDOW_IN_FUTURE, "future_tolerance");
    assert_window(&contract, start, INT64_MAX, RR_REASON_WINDOW_IN_FUTURE, "");
    contract.future_tolerance_us = INT64_MAX;
    assert_window(&contract, start, INT64_MAX, RR_REASON_NONE, "");
    contract.future_tolerance_us = 0;
    assert_int_equal(admit_at(&contract, GOOD, false, 0), RR_REASON_NONE);
    assert_int_equal(admit_at(&contract, GOOD, true, INT64_MIN), RR_REASON_WINDOW_IN_FUTURE);
}

static void windows_stand_on_the_grid(void **state)
{
    rr_contract contract = tumbling();
    int64_t start = CLOCK - 5 * MINUTE;

    (void)state;
    assert_window(&contract, start, start + MINUTE, RR_REASON_NONE, "");
    assert_window(&contract, start, start + MINUTE - 1, RR_REASON_WINDOW_MISALIGNED, "looks inclusive");
    assert_window(&contract, start, start + MINUTE - 1000, RR_REASON_WINDOW_MISALIGNED, "looks inclusive");
    assert_window(&contract, start, start + MINUTE - RR_SECOND_US, RR_REASON_WINDOW_MISALIGNED, "looks inclusive");
    assert_window(&contract, start, start + 2 * MINUTE, RR_REASON_WINDOW_MISALIGNED,
                  "is 2m long; the contract says size 1m");
    assert_window(&contract, start + 30 * RR_SECOND_US, start + 90 * RR_SECOND_US, RR_REASON_WINDOW_MISALIGNED,
                  "starts 30s behind the grid");
    contract.offset_us = 30 * RR_SECOND_US;
    assert_window(&contract, start + 30 * RR_SECOND_US, start + 90 * RR_SECOND_US, RR_REASON_NONE, "");
    contract.size_us = contract.slide_us = 24 * HOUR;
    contract.offset_us = -8 * HOUR;
    assert_window(&contract, 1767196800000000, 1767283200000000, RR_REASON_NONE, "");
    assert_window(&contract, 1767225600000000, 1767312000000000, RR_REASON_WINDOW_MISALIGNED, "local time zone");
    contract.offset_us = INT64_MIN;
    contract.size_us = contract.slide_us = INT64_MAX;
    assert_window(&contract, start, start + 1, RR_REASON_WINDOW_MISALIGNED, "");
}

static void sliding_windows_have_a_slide_and_a_size(void **state)
{
    rr_contract contract = tumbling();
    int64_t start = CLOCK - 5 * MINUTE;

    (void)state;
    contract.window_kind = RR_WINDOW_SLIDING;
    contract.size_us = 2 * MINUTE;
    assert_window(&contract, start, start + 2 * MINUTE, RR_REASON_NONE, "");
    assert_window(&contract, start + MINUTE, start + 3 * MINUTE, RR_REASON_NONE, "");
    assert_window(&contract, start, start + MINUTE, RR_REASON_WINDOW_MISALIGNED, "a pane of one slide");
    assert_window(&contract, start + 1, start + 1 + 2 * MINUTE, RR_REASON_WINDOW_MISALIGNED, "slide 1m");
}

static void sessions_have_a_gap_and_a_longest(void **state)
{
    rr_contract contract = base_contract();
    int64_t start = CLOCK - HOUR;

    (void)state;
    contract.window_kind = RR_WINDOW_SESSION;
    contract.gap_us = 30 * RR_SECOND_US;
    contract.max_us = MINUTE;
    assert_window(&contract, start, start + MINUTE, RR_REASON_NONE, "");
    assert_window(&contract, start, start + MINUTE + 1, RR_REASON_WINDOW_MISALIGNED, "longest session (max) is 1m");
    assert_window(&contract, start, start + 30 * RR_SECOND_US, RR_REASON_NONE, "");
    assert_window(&contract, start, start + 30 * RR_SECOND_US - 1, RR_REASON_WINDOW_MISALIGNED, "'ends: last'");
    contract.ends_last = true;
    assert_window(&contract, start, start + 1, RR_REASON_NONE, "");
}

static void a_global_window_is_none(void **state)
{
    rr_contract contract = base_contract();

    (void)state;
    contract.window_kind = RR_WINDOW_GLOBAL;
    contract.retention_us = 0;
    assert_int_equal(admit(&contract, HEAD "\"result_version\":1,\"value\":2}"), RR_REASON_NONE);
    assert_int_equal(admit(&contract, HEAD "\"window\":null,\"result_version\":1,\"value\":2}"), RR_REASON_NONE);
    assert_int_equal(admit(&contract, HEAD "\"window\":{},\"result_version\":1,\"value\":2}"),
                     RR_REASON_WINDOW_UNEXPECTED);
    assert_int_equal(admit(&contract, GOOD), RR_REASON_WINDOW_UNEXPECTED);
}

static void metric_versions_are_those_listed(void **state)
{
    static const rr_slice versions[] = {{"v0", 2}, {"v2", 2}};
    rr_contract contract = tumbling();

    (void)state;
    contract.metric_versions = versions;
    contract.metric_version_count = 2;
    assert_int_equal(admit(&contract, GOOD), RR_REASON_METRIC_VERSION_UNKNOWN);
    assert_why("'v1'; the contract's metric_versions are 'v0', 'v2'");
}

static void corrections_in_their_order(void **state)
{
    static const struct {
        const char *fields;
        rr_reason conditional, coordinated;
    } rows[] = {
        {"\"value\":1", RR_REASON_VERSION_MISSING, RR_REASON_VERSION_MISSING},
        {"\"base_version\":{\"epoch\":4294967296,\"number\":1}", RR_REASON_VERSION_MISSING, RR_REASON_VERSION_MISSING},
        {"\"result_version\":{\"epoch\":4294967296,\"number\":1}", RR_REASON_VERSION_IMPLAUSIBLE,
         RR_REASON_VERSION_IMPLAUSIBLE},
        {"\"result_version\":1,\"value\":2", RR_REASON_BASE_MISSING, RR_REASON_NONE},
        {"\"result_version\":1,\"value\":2,\"base_version\":null", RR_REASON_BASE_MISSING, RR_REASON_NONE},
        {"\"result_version\":1,\"value\":2,\"base_version\":{}", RR_REASON_BASE_MISSING, RR_REASON_NONE},
        {"\"result_version\":1,\"value\":2,\"base_version\":0", RR_REASON_NONE, RR_REASON_NONE},
        {"\"result_version\":1,\"value\":2,\"base_version\":7,\"status\":\"RECONCILED\"", RR_REASON_NONE,
         RR_REASON_NONE},
        {"\"result_version\":1,\"value\":2,\"base_version\":{\"epoch\":4294967296,\"number\":1}",
         RR_REASON_VERSION_IMPLAUSIBLE, RR_REASON_VERSION_IMPLAUSIBLE},
        {"\"result_version\":1,\"base_version\":7", RR_REASON_MEASURE_MISSING, RR_REASON_MEASURE_MISSING},
    };
    rr_contract conditional = in_mode(RR_MODE_CUMULATIVE, RR_CORRECTIONS_CONDITIONAL);
    rr_contract coordinated = in_mode(RR_MODE_CUMULATIVE, RR_CORRECTIONS_COORDINATED);

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char json[600];

        snprintf(json, sizeof json, HEAD WINDOW ",\"origin\":\"CORRECTION\",%s}", rows[k].fields);
        if (admit(&conditional, json) != rows[k].conditional || admit(&coordinated, json) != rows[k].coordinated) {
            fail_msg("%s", json);
        }
    }
    /* the identity of a delta is not asked of a correction */
    conditional.mode = RR_MODE_DELTA;
    assert_int_equal(admit(&conditional,
                           HEAD WINDOW ",\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":0,"
                                       "\"value\":1}"),
                     RR_REASON_NONE);
}

static void epochs_are_bounded_in_any_version(void **state)
{
    static const char *const rows[] = {
        "\"result_version\":{\"epoch\":6,\"number\":1}",
        "\"result_version\":1,\"op\":\"RETRACT\",\"retracts_version\":{\"epoch\":6,\"number\":1}",
        "\"result_version\":1,\"base_version\":{\"epoch\":6,\"number\":1}",
        "\"result_version\":1,\"includes_correction\":{\"base\":{\"epoch\":6,\"number\":1},\"version\":1}",
        "\"result_version\":1,\"includes_correction\":{\"base\":1,\"version\":{\"epoch\":6,\"number\":1}}",
    };
    rr_contract contract = in_mode(RR_MODE_RETRACTION, RR_CORRECTIONS_NONE);

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char json[600];

        snprintf(json, sizeof json, HEAD WINDOW ",%s,\"value\":1}", rows[k]);
        contract.max_epoch = 5;
        assert_int_equal(admit(&contract, json), RR_REASON_VERSION_IMPLAUSIBLE);
        assert_why("has epoch 6; the contract's max_epoch is 5");
        contract.max_epoch = 6;
        assert_int_equal(admit(&contract, json), RR_REASON_NONE);
    }
}

static void deltas_have_an_identity(void **state)
{
    static const struct {
        const char *fields;
        rr_reason without, with; /* corrections */
    } rows[] = {
        {"\"value\":1", RR_REASON_IDENTITY_MISSING, RR_REASON_IDENTITY_MISSING},
        {"\"value\":1,\"producer\":\"p\"", RR_REASON_IDENTITY_MISSING, RR_REASON_IDENTITY_MISSING},
        {"\"value\":1,\"sequence\":4", RR_REASON_IDENTITY_MISSING, RR_REASON_IDENTITY_MISSING},
        {"\"value\":1,\"producer\":\"p\",\"sequence\":0", RR_REASON_NONE, RR_REASON_VERSION_MISSING},
        {"\"value\":1,\"delta_id\":\"x\"", RR_REASON_NONE, RR_REASON_VERSION_MISSING},
        {"\"value\":1,\"delta_id\":\"x\",\"result_version\":1", RR_REASON_NONE, RR_REASON_NONE},
        {"\"op\":\"RETRACT\",\"delta_id\":\"x\"", RR_REASON_NONE, RR_REASON_NONE},
        {"\"op\":\"RETRACT\",\"delta_id\":\"x\",\"value\":1.5", RR_REASON_MEASURE_TYPE, RR_REASON_MEASURE_TYPE},
    };
    rr_contract without = in_mode(RR_MODE_DELTA, RR_CORRECTIONS_NONE);
    rr_contract with = in_mode(RR_MODE_DELTA, RR_CORRECTIONS_CONDITIONAL);

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char json[600];

        snprintf(json, sizeof json, HEAD WINDOW ",%s}", rows[k].fields);
        if (admit(&without, json) != rows[k].without || admit(&with, json) != rows[k].with) {
            fail_msg("%s", json);
        }
    }
}

static void a_targeted_retract_needs_no_version(void **state)
{
    rr_contract contract = in_mode(RR_MODE_RETRACTION, RR_CORRECTIONS_NONE);

    (void)state;
    assert_int_equal(admit(&contract, HEAD WINDOW ",\"op\":\"RETRACT\",\"retracts_version\":3}"), RR_REASON_NONE);
    assert_int_equal(admit(&contract, HEAD WINDOW ",\"op\":\"RETRACT\",\"result_version\":3}"), RR_REASON_NONE);
    assert_int_equal(admit(&contract, HEAD WINDOW ",\"op\":\"RETRACT\"}"), RR_REASON_VERSION_MISSING);
    assert_int_equal(admit(&contract, HEAD WINDOW ",\"op\":\"RETRACT\",\"retracts_version\":0}"),
                     RR_REASON_VERSION_MISSING);
    assert_int_equal(admit(&contract, HEAD WINDOW ",\"retracts_version\":3,\"value\":1}"), RR_REASON_VERSION_MISSING);
}

static const rr_measure_def three[] = {{.name = {"a", 1}, .type = RR_MEASURE_INT64},
                                       {.name = {"b", 1}, .type = RR_MEASURE_DECIMAL},
                                       {.name = {"c", 1}, .type = RR_MEASURE_DOUBLE}};

static void measures_are_checked_in_the_order_they_come(void **state)
{
    rr_contract contract = in_mode(RR_MODE_RETRACTION, RR_CORRECTIONS_NONE);
    const char *head = HEAD WINDOW ",\"result_version\":1,\"measures\":";
    static const struct {
        const char *measures;
        rr_reason reason;
    } rows[] = {
        {"{\"a\":1,\"b\":2,\"c\":3}", RR_REASON_NONE},
        {"{\"c\":\"3e0\",\"a\":\"1\",\"b\":\"2.0\"}", RR_REASON_NONE},
        {"{\"x\":1,\"a\":1.5}", RR_REASON_MEASURE_UNKNOWN},
        {"{\"a\":1.5,\"x\":1}", RR_REASON_MEASURE_TYPE},
        {"{\"a\":1,\"b\":2}", RR_REASON_MEASURE_MISSING},
        {"{\"a\":1,\"b\":2,\"c\":null}", RR_REASON_MEASURE_MISSING},
        {"{\"a\":null,\"b\":\"\",\"c\":null}", RR_REASON_MEASURE_MISSING},
        {"{\"a\":1,\"b\":1e100,\"c\":1}", RR_REASON_MEASURE_TYPE},
        {"{\"a\":1,\"b\":1e99,\"c\":1e309}", RR_REASON_MEASURE_TYPE},
    };

    (void)state;
    contract.measures = three;
    contract.measure_count = 3;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char json[600];

        snprintf(json, sizeof json, "%s%s}", head, rows[k].measures);
        if (admit(&contract, json) != rows[k].reason) {
            fail_msg("%s: %.*s", json, (int)why.len, why.bytes);
        }
        snprintf(json, sizeof json, "%s%s,\"op\":\"RETRACT\"}", head, rows[k].measures);
        assert_int_equal(admit(&contract, json), k == 6 ? RR_REASON_NONE : rows[k].reason);
    }
}

static void the_order_of_measures_does_not_change_the_values(void **state)
{
    const rr_measure in_order[] = {{.name = {"a", 1}, .kind = RR_NUMBER_INT64, .integer = -1},
                                   {.name = {"b", 1}, .kind = RR_NUMBER_TEXT, .text = {"2.50", 4}},
                                   {.name = {"c", 1}, .kind = RR_NUMBER_DOUBLE, .real = 3}};
    const rr_measure mixed[] = {in_order[2], in_order[0], in_order[1]}, twice[] = {in_order[0], in_order[0]};
    rr_contract contract = base_contract();
    rr_record record = {.business_key = {"k", 1},
                        .metric_version = {"v", 1},
                        .has_window = true,
                        .window = {CLOCK, CLOCK + 1},
                        .version = {0, 1},
                        .measures = in_order,
                        .measure_count = 3};
    rr_record other = record, repeated = record;
    rr_arena arena;

    (void)state;
    contract.measures = three;
    contract.measure_count = 3;
    rr_arena_init(&arena, 0);
    other.measures = mixed;
    repeated.measures = twice;
    repeated.measure_count = 2;
    assert_int_equal(rr_admit(&contract, &record, &arena, NULL), RR_REASON_NONE);
    assert_int_equal(rr_admit(&contract, &other, &arena, NULL), RR_REASON_NONE);
    assert_int_equal(rr_admit(&contract, &repeated, &arena, NULL), RR_REASON_MALFORMED);
    assert_true(record.has_values && rr_slice_equal(record.values, other.values));
    assert_true(rr_values_check(&contract, record.values));
    assert_int_equal(record.values.len, 1 + 4 + 8);
    rr_arena_fini(&arena);
}

static void identities_are_canonical_bytes(void **state)
{
    rr_contract contract = in_mode(RR_MODE_DELTA, RR_CORRECTIONS_NONE);
    const rr_measure one = {.name = {"value", 5}, .kind = RR_NUMBER_INT64, .integer = 1};
    rr_record record = {.business_key = {"k", 1},
                        .metric_version = {"v", 1},
                        .has_window = true,
                        .window = {1767261600000000, 1767261660000000},
                        .measures = &one,
                        .measure_count = 1,
                        .producer = {"p1", 2},
                        .has_sequence = true,
                        .sequence = UINT64_MAX};
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_admit(&contract, &record, &arena, NULL), RR_REASON_NONE);
    assert_true(rr_slice_equal(record.identity, RR_SLICE("pp1\0"
                                                         "18446744073709551615")));
    record.delta_id = RR_SLICE("id");
    assert_int_equal(rr_admit(&contract, &record, &arena, NULL), RR_REASON_NONE);
    assert_true(rr_slice_equal(record.identity, RR_SLICE("did")));
    contract.mode = RR_MODE_CUMULATIVE;
    record.version.number = 1;
    assert_int_equal(rr_admit(&contract, &record, &arena, NULL), RR_REASON_NONE);
    assert_int_equal(record.identity.len, 0);
    rr_arena_fini(&arena);
}

static void limits_at_n_and_one_more(void **state)
{
    static char text[RR_LIMIT_EVIDENCE_BYTES + 2];
    rr_contract contract = base_contract();
    rr_arena arena;

    (void)state;
    memset(text, 'x', sizeof text);
    rr_arena_init(&arena, 0);
    for (int over = 0; over < 2; over++) {
        rr_slice key = {text, RR_LIMIT_KEY_BYTES + (size_t)over},
                 evidence = {text, RR_LIMIT_EVIDENCE_BYTES + (size_t)over};
        rr_measure many[RR_LIMIT_MEASURES + 1] = {{.name = {"x", 1}}};
        rr_record rows[] = {{.business_key = key},
                            {.metric_version = key},
                            {.delta_id = key},
                            {.producer = key},
                            {.contributor = key},
                            {.evidence = evidence},
                            {.measures = many, .measure_count = RR_LIMIT_MEASURES + (size_t)over}};

        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            rr_reason reason = rr_admit(&contract, &rows[k], &arena, NULL);

            /* within the limit it is the next check that refuses */
            assert_int_equal(reason, over == 1 ? RR_REASON_LIMIT_EXCEEDED
                                     : k == 0  ? RR_REASON_WINDOW_MISSING
                                               : RR_REASON_KEY_MISSING);
        }
    }
    rr_arena_fini(&arena);
}

static void too_late_at_end_plus_retention(void **state)
{
    rr_contract contract = tumbling();
    int64_t end = 1767261660000000;

    (void)state;
    contract.retention_us = 2 * MINUTE;
    assert_int_equal(admit_at(&contract, GOOD, true, end + 2 * MINUTE - 1), RR_REASON_NONE);
    assert_int_equal(admit_at(&contract, GOOD, true, end + 2 * MINUTE), RR_REASON_BEYOND_RETENTION);
    assert_why("the contract's retention is 2m");
    assert_int_equal(admit_at(&contract, GOOD, false, 0), RR_REASON_NONE);
    contract.retention_us = RR_FOREVER;
    assert_int_equal(admit_at(&contract, GOOD, true, INT64_MAX), RR_REASON_NONE);
    contract.retention_us = RR_FOREVER - 1;
    assert_int_equal(admit_at(&contract, GOOD, true, CLOCK), RR_REASON_NONE);
    /* what breaks the contract is refused, however late */
    contract.retention_us = 0;
    assert_int_equal(admit(&contract, HEAD WINDOW "}"), RR_REASON_VERSION_MISSING);
}

static void cells_live_through_retention_and_grace(void **state)
{
    rr_contract contract = tumbling();
    rr_window window = {0, 1000};

    (void)state;
    assert_false(rr_cell_may_be_gone(&contract, window, INT64_MAX));
    assert_int_equal(rr_expiry_us(&contract, 1000), RR_FOREVER);
    contract.retention_us = 100;
    contract.grace_us = 10;
    assert_false(rr_cell_may_be_gone(&contract, window, 1109));
    assert_true(rr_cell_may_be_gone(&contract, window, 1110));
    assert_int_equal(rr_expiry_us(&contract, 1000), 1110 + 600 * RR_SECOND_US);
    window.end = INT64_MAX - 5;
    assert_false(rr_cell_may_be_gone(&contract, window, INT64_MAX));
    assert_int_equal(rr_expiry_us(&contract, window.end), RR_FOREVER);
    contract.window_kind = RR_WINDOW_GLOBAL;
    assert_false(rr_cell_may_be_gone(&contract, (rr_window){0, 0}, INT64_MAX));
    assert_int_equal(rr_expiry_us(&contract, 0), RR_FOREVER);
}

static void sentences_are_safe_and_bounded(void **state)
{
    rr_text text = {.len = 0};

    (void)state;
    rr_text_slice(&text, RR_SLICE("a\r\nb\x1b[0m\xff\x7f caf\xc3\xa9"));
    assert_int_equal(text.len, 16);
    assert_memory_equal(text.bytes, "a??b?[0m?? caf\xc3\xa9", 16);
    for (int k = 0; k < 100; k++) {
        rr_text_put(&text, "0123456789\xe2\x82\xac");
        rr_text_i64(&text, INT64_MIN);
        rr_text_time(&text, CLOCK);
        rr_text_duration(&text, -MINUTE);
        rr_text_slice(&text, RR_SLICE("01234567890123456789012345678901234567890123456789012345678901234567890"));
    }
    assert_true(text.len <= RR_TEXT_MAX && text.len > RR_TEXT_MAX - 4);
    rr_text_put(NULL, "nothing");
    rr_text_slice(NULL, RR_SLICE("nothing"));
    rr_text_u64(NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_in_their_order),
        cmocka_unit_test(likely_causes_of_implausible_windows),
        cmocka_unit_test(the_future_begins_behind_tolerance_and_size),
        cmocka_unit_test(windows_stand_on_the_grid),
        cmocka_unit_test(sliding_windows_have_a_slide_and_a_size),
        cmocka_unit_test(sessions_have_a_gap_and_a_longest),
        cmocka_unit_test(a_global_window_is_none),
        cmocka_unit_test(metric_versions_are_those_listed),
        cmocka_unit_test(corrections_in_their_order),
        cmocka_unit_test(epochs_are_bounded_in_any_version),
        cmocka_unit_test(deltas_have_an_identity),
        cmocka_unit_test(a_targeted_retract_needs_no_version),
        cmocka_unit_test(measures_are_checked_in_the_order_they_come),
        cmocka_unit_test(the_order_of_measures_does_not_change_the_values),
        cmocka_unit_test(identities_are_canonical_bytes),
        cmocka_unit_test(limits_at_n_and_one_more),
        cmocka_unit_test(too_late_at_end_plus_retention),
        cmocka_unit_test(cells_live_through_retention_and_grace),
        cmocka_unit_test(sentences_are_safe_and_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
