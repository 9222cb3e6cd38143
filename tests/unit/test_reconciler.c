/* The embedded reconciler: how long its answers live. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_values_live_beside_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
