/* The embedded reconciler: how long its answers live. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rr/rr.h>

#include "joins.h"
#include "record_proto.h"

enum { RECORDS = 200 };

static const char contract[] =
    "contracts:\n- {name: c, mode: cumulative, window: {kind: global}, metric_versions: [v1]}\n";

/* Record k: even ones have a cell each, odd ones are of a metric version that the contract does not list. */
static void make_payloads(joins *j, rr_buf *payloads)
{
    rr_record record = joins_record(j, "\"result_version\":1,\"value\":1");

    for (size_t k = 0; k < RECORDS; k++) {
        char key[16];

        snprintf(key, sizeof key, "k%zu", k);
        record.business_key = rr_slice_of(key);
        record.metric_version = k % 2 == 0 ? RR_SLICE("v1") : RR_SLICE("v2");
        assert_true(rr_record_to_proto(&record, &payloads[k]));
    }
}

static void take(rr_reconciler *r, const rr_buf *payloads, size_t count, rr_answer *answers)
{
    rr_input inputs[RECORDS] = {0};

    for (size_t k = 0; k < count; k++) {
        inputs[k] = (rr_input){.payload = rr_buf_view(&payloads[k]), .stream = RR_SLICE("S"), .sequence = k + 1};
    }
    assert_int_equal(rr_reconciler_take(r, inputs, count, answers, NULL), RR_OK);
}

/* An embedder reads a cell between two answers of one take, and takes again with what it read. */
static void answers_and_values_live_beside_each_other(void **state)
{
    const rr_reconciler_options options = {.contract_yaml = contract, .store_url = "memory:"};
    rr_buf payloads[RECORDS] = {0};
    rr_answer answers[RECORDS];
    rr_reconciler *r;
    char *text, *value;
    rr_slice json;
    joins j;

    (void)state;
    joins_open(&j, "  mode: cumulative\n  window: {kind: global}\n");
    make_payloads(&j, payloads);
    assert_int_equal(rr_reconciler_open(&options, &r, NULL), RR_OK);
    take(r, payloads, 2, answers);
    assert_string_equal(answers[0].verdict, "APPLIED");
    assert_string_equal(answers[1].verdict, "REFUSED");
    assert_true(answers[1].text.len != 0);
    text = strndup(answers[1].text.data, answers[1].text.len);

    assert_int_equal(rr_reconciler_get(r, RR_SLICE("k0"), RR_SLICE("v1"), 0, 0, &json, NULL), RR_OK);
    assert_true(json.len != 0);
    assert_true(rr_slice_equal(answers[1].text, rr_slice_of(text)));

    value = strndup(json.data, json.len);
    take(r, payloads, RECORDS, answers);
    assert_true(rr_slice_equal(json, rr_slice_of(value)));
    assert_string_equal(answers[0].verdict, "DUPLICATE");
    assert_string_equal(answers[RECORDS - 1].verdict, "REFUSED");
    rr_reconciler_close(r);
    free(value);
    free(text);
    for (size_t k = 0; k < RECORDS; k++) {
        rr_buf_fini(&payloads[k]);
    }
    joins_close(&j);
}

static const char mapping[] = "json: {}\n"
                              "skip: {kind: BEAT}\n"
                              "each: rows\n"
                              "record:\n"
                              "  business_key: [{subject: 2}, id]\n"
                              "  metric_version: {const: v1}\n"
                              "  op: {path: op, values: {'-U': SKIP}, default: ASSERT}\n"
                              "  version: {epoch: {header: Attempt}, number: pane}\n"
                              "  value: n\n";

typedef struct expected {
    const char *payload, *verdict, *reason;
    size_t index, records, dead_letters, skipped;
} expected;

static void expect_answer(const rr_answer *answer, const expected *row)
{
    assert_string_equal(answer->verdict, row->verdict);
    assert_string_equal(answer->reason, row->reason);
    assert_int_equal(answer->index, row->index);
    assert_int_equal(answer->records, row->records);
    assert_int_equal(answer->dead_letters, row->dead_letters);
    assert_int_equal(answer->skipped, row->skipped);
    assert_int_equal(answer->dead_letter, row->dead_letters != 0);
    assert_true(answer->stored);
}

static void expect_cell(rr_reconciler *r, rr_slice key, const char *start)
{
    rr_slice json;

    assert_int_equal(rr_reconciler_get(r, key, RR_SLICE("v1"), 0, 0, &json, NULL), RR_OK);
    assert_true(json.len >= strlen(start) && memcmp(json.data, start, strlen(start)) == 0);
}

/* Inputs of no, one and several records; the gravest answer stands for an input, and each record has its own. */
static void an_input_may_become_several_records(void **state)
{
    static const expected rows[] = {
        {"{\"rows\":[{\"id\":\"a\",\"pane\":2,\"n\":5},{\"op\":\"-U\"},{\"id\":\"a\",\"pane\":1,\"n\":4},"
         "{\"id\":\"b\",\"pane\":1,\"n\":6}]}",
         "STALE", "", 2, 3, 0, 1},
        {"{\"kind\":\"BEAT\"}", "", "", 0, 0, 0, 1},
        {"{\"rows\":[{\"id\":\"c\",\"n\":1},{\"id\":\"c\",\"pane\":1,\"n\":\"x\"},{\"id\":\"c\",\"pane\":1,\"n\":7}]}",
         "REFUSED", "version_missing", 0, 3, 2, 0},
        {"nonsense", "REFUSED", "malformed", 0, 1, 1, 0},
        {"{\"rows\":[{\"id\":\"d\",\"pane\":1,\"n\":8}]}", "APPLIED", "", 0, 1, 0, 0},
    };
    static const char *const verdicts[] = {"REFUSED", "REFUSED", "APPLIED"};
    enum { COUNT = sizeof rows / sizeof *rows };
    const rr_reconciler_options options = {.contract_yaml = contract, .mapping_yaml = mapping, .store_url = "memory:"};
    const rr_header headers[] = {{RR_SLICE("Attempt"), RR_SLICE("3")}};
    rr_input inputs[COUNT];
    rr_answer answers[COUNT], one;
    rr_reconciler *r;

    (void)state;
    for (size_t k = 0; k < COUNT; k++) {
        inputs[k] = (rr_input){.payload = rr_slice_of(rows[k].payload),
                               .subject = RR_SLICE("acme.north"),
                               .headers = headers,
                               .header_count = 1};
    }
    assert_int_equal(rr_reconciler_open(&options, &r, NULL), RR_OK);
    assert_int_equal(rr_reconciler_take(r, inputs, COUNT, answers, NULL), RR_OK);
    for (size_t k = 0; k < COUNT; k++) {
        expect_answer(&answers[k], &rows[k]);
    }
    for (size_t k = 0; k < 3; k++) {
        assert_true(rr_reconciler_answer(r, 2, k, &one));
        assert_string_equal(one.verdict, verdicts[k]);
        assert_int_equal(one.index, k);
        assert_int_equal(one.records, 1);
    }
    assert_true(rr_reconciler_answer(r, 0, 1, &one));
    assert_int_equal(one.index, 2); /* what was skipped keeps its place in the message */
    assert_false(rr_reconciler_answer(r, 1, 0, &one));
    assert_false(rr_reconciler_answer(r, 2, 3, &one));
    assert_false(rr_reconciler_answer(r, COUNT, 0, &one));
    expect_cell(r, RR_SLICE("north/a"),
                "{\"state\":\"present\",\"measures\":{\"value\":5},\"version\":{\"epoch\":3,\"number\":2}");
    expect_cell(r, RR_SLICE("north/c"), "{\"state\":\"present\",\"measures\":{\"value\":7}");

    /* Inputs that are all skipped take no batch. */
    assert_int_equal(rr_reconciler_take(r, &inputs[1], 1, answers, NULL), RR_OK);
    expect_answer(&answers[0], &rows[1]);
    rr_reconciler_close(r);
}

static void a_mapping_that_is_wrong_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *yaml, *folder, *text;
    } rows[] = {
        {"json: {}\nrecord: {busines_key: a}\n", NULL, "mapping_yaml:2:10: unknown key 'busines_key'"},
        {"", NULL, "mapping_yaml"},
        {"protobuf: {descriptor_set: no.binpb, message: A}\nrecord: {business_key: a}\n", "/nowhere",
         "/nowhere/no.binpb"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const rr_reconciler_options options = {.contract_yaml = contract,
                                               .mapping_yaml = rows[k].yaml,
                                               .mapping_folder = rows[k].folder,
                                               .store_url = "memory:"};
        rr_error error = {0};
        rr_reconciler *r;

        assert_int_equal(rr_reconciler_open(&options, &r, &error), RR_CONFIG);
        assert_null(r);
        if (strstr(error.text, rows[k].text) == NULL) {
            fail_msg("%s is not in: %s", rows[k].text, error.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_values_live_beside_each_other),
        cmocka_unit_test(an_input_may_become_several_records),
        cmocka_unit_test(a_mapping_that_is_wrong_is_refused_with_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
