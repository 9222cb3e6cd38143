/* Law 5: the latest contender of an open conflict is kept with its cell, and goes when the conflict closes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "joins.h"

static bool keeps(const joins *j, rr_slice values)
{
    rr_slice contender = j->unit.cells[0].contender;

    return values.len == 0 ? contender.len == 0
                           : contender.len > values.len &&
                                 memcmp(contender.data + contender.len - values.len, values.data, values.len) == 0;
}

static rr_slice values_of(joins *j, const char *json)
{
    return joins_record(j, json).values;
}

static void of_a_register(void **state)
{
    static const char second[] = "\"result_version\":1,\"value\":2", third[] = "\"result_version\":1,\"value\":3";
    joins j;

    (void)state;
    joins_open(&j, "  mode: cumulative\n  window: {kind: global}\n");
    joins_take(&j, "\"result_version\":1,\"value\":1");
    assert_true(keeps(&j, (rr_slice){NULL, 0}));
    joins_take(&j, second);
    assert_int_equal(j.outcome.verdict, RR_VERDICT_CONFLICT);
    assert_true(j.outcome.grew && keeps(&j, values_of(&j, second)));
    joins_take(&j, third);
    assert_true(j.outcome.grew && keeps(&j, values_of(&j, third)));
    joins_take(&j, third);
    assert_int_equal(j.outcome.verdict, RR_VERDICT_CONFLICT);
    assert_false(j.outcome.grew); /* nothing new to store */
    joins_take(&j, "\"result_version\":2,\"value\":1");
    assert_true(j.outcome.grew && keeps(&j, (rr_slice){NULL, 0}));
    joins_close(&j);
}

static void of_a_delta(void **state)
{
    static const char other[] = "\"delta_id\":\"a\",\"value\":2";
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n");
    joins_take(&j, "\"delta_id\":\"a\",\"value\":1");
    joins_take(&j, "\"delta_id\":\"b\",\"value\":1");
    joins_take(&j, other);
    assert_true(keeps(&j, values_of(&j, other)));
    joins_take(&j, "\"delta_id\":\"b\",\"op\":\"RETRACT\"");
    assert_true(keeps(&j, values_of(&j, other)));
    joins_take(&j, "\"delta_id\":\"a\",\"op\":\"RETRACT\"");
    assert_true(keeps(&j, (rr_slice){NULL, 0}));
    joins_close(&j);
}

static void of_a_withdrawal(void **state)
{
    static const char other[] = "\"op\":\"RETRACT\",\"retracts_version\":1,\"value\":2";
    joins j;

    (void)state;
    joins_open(&j, "  mode: retraction\n  window: {kind: global}\n");
    joins_take(&j, "\"result_version\":1,\"value\":1");
    joins_take(&j, other);
    assert_int_equal(j.outcome.alerts, RR_BIT(RR_ALERT_RETRACTION_MISMATCH));
    assert_true(keeps(&j, values_of(&j, other)));
    joins_take(&j, "\"op\":\"RETRACT\",\"retracts_version\":1,\"value\":1");
    assert_int_equal(j.outcome.verdict, RR_VERDICT_APPLIED);
    assert_true(keeps(&j, (rr_slice){NULL, 0}));
    joins_close(&j);
}

static void of_a_correction(void **state)
{
    static const char other[] = "\"origin\":\"CORRECTION\",\"base_version\":1,\"result_version\":1,\"value\":6";
    joins j;

    (void)state;
    joins_open(&j, "  mode: cumulative\n  window: {kind: global}\n  corrections: conditional\n");
    joins_take(&j, "\"result_version\":1,\"value\":1");
    joins_take(&j, "\"origin\":\"CORRECTION\",\"base_version\":1,\"result_version\":1,\"value\":5");
    joins_take(&j, other);
    assert_true(keeps(&j, values_of(&j, other)));
    joins_take(&j, "\"origin\":\"CORRECTION\",\"base_version\":1,\"result_version\":2,\"value\":7");
    assert_true(keeps(&j, (rr_slice){NULL, 0}));
    joins_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_register),
        cmocka_unit_test(of_a_delta),
        cmocka_unit_test(of_a_withdrawal),
        cmocka_unit_test(of_a_correction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
