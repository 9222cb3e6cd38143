/* Which records need only the part that they name, once parts are kept beside the value, and which need them all. What
 * the answers then are is for the laws to say. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "joins.h"

#define SESSION(start, end) \
    "\"window\":{\"start\":\"2026-01-01T10:00:" start "Z\",\"end\":\"2026-01-01T10:00:" end "Z\"},"

static void needs(joins *j, const char *json, rr_joined wanted)
{
    rr_outcome outcome;

    assert_int_equal(joins_probe(j, json, &outcome), wanted);
}

static void a_delta_names_its_identity(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n  corrections: conditional\n");
    joins_take(&j, "\"delta_id\":\"a\",\"result_version\":1,\"value\":1");
    joins_take(&j, "\"delta_id\":\"b\",\"result_version\":2,\"value\":2");
    needs(&j, "\"delta_id\":\"c\",\"result_version\":3,\"value\":3", RR_JOIN_DONE);
    needs(&j, "\"delta_id\":\"a\",\"result_version\":1,\"value\":1", RR_JOIN_DONE);
    needs(&j, "\"delta_id\":\"a\",\"result_version\":1,\"value\":9", RR_JOIN_DONE);
    needs(&j, "\"delta_id\":\"a\",\"op\":\"RETRACT\"", RR_JOIN_DONE);
    joins_close(&j);
}

/* What a correction covers is left out of the sum: that is known only of all. */
static void a_correction_that_covers_more_names_none(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n  corrections: conditional\n");
    joins_take(&j, "\"delta_id\":\"a\",\"result_version\":1,\"value\":1");
    needs(&j, "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":1,\"value\":5", RR_JOIN_NEEDS_PARTS);
    needs(&j, "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":0,\"value\":5", RR_JOIN_DONE);
    joins_take(&j, "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":1,\"value\":5");
    needs(&j, "\"origin\":\"CORRECTION\",\"result_version\":2,\"base_version\":1,\"value\":6", RR_JOIN_DONE);
    needs(&j, "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":1,\"value\":7", RR_JOIN_DONE);
    needs(&j, "\"origin\":\"CORRECTION\",\"result_version\":9,\"base_version\":0,\"value\":7", RR_JOIN_DONE);
    needs(&j, "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":2,\"value\":8", RR_JOIN_NEEDS_PARTS);
    joins_close(&j);
}

static void the_newest_standing_is_asked_for_when_it_falls(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: retraction\n  window: {kind: global}\n");
    joins_take(&j, "\"contributor\":\"a\",\"result_version\":1,\"value\":1");
    joins_take(&j, "\"contributor\":\"b\",\"result_version\":2,\"value\":2");
    needs(&j, "\"contributor\":\"c\",\"result_version\":3,\"value\":3", RR_JOIN_DONE);
    needs(&j, "\"contributor\":\"b\",\"result_version\":4,\"value\":3", RR_JOIN_DONE);
    needs(&j, "\"contributor\":\"a\",\"op\":\"RETRACT\",\"retracts_version\":1", RR_JOIN_DONE);
    needs(&j, "\"contributor\":\"b\",\"op\":\"RETRACT\",\"retracts_version\":1", RR_JOIN_DONE);
    needs(&j, "\"contributor\":\"b\",\"op\":\"RETRACT\",\"retracts_version\":2,\"value\":9", RR_JOIN_DONE);
    needs(&j, "\"contributor\":\"b\",\"op\":\"RETRACT\",\"retracts_version\":2", RR_JOIN_NEEDS_PARTS);
    needs(&j, "\"contributor\":\"b\",\"op\":\"RETRACT\",\"result_version\":5", RR_JOIN_NEEDS_PARTS);
    joins_close(&j);
}

static void an_open_conflict_is_asked_for_when_it_closes(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: retraction\n  window: {kind: global}\n");
    joins_take(&j, "\"contributor\":\"a\",\"result_version\":1,\"value\":1");
    joins_take(&j, "\"contributor\":\"a\",\"result_version\":1,\"value\":2");
    assert_int_equal(j.outcome.alerts, RR_BIT(RR_ALERT_EQUIVOCATION));
    needs(&j, "\"contributor\":\"a\",\"result_version\":1,\"value\":3", RR_JOIN_DONE);
    needs(&j, "\"contributor\":\"b\",\"result_version\":1,\"value\":3", RR_JOIN_DONE);
    needs(&j, "\"contributor\":\"a\",\"result_version\":2,\"value\":1", RR_JOIN_NEEDS_PARTS);
    joins_close(&j);
}

/* A session that grows carries its sum along; one that brings two together has to add them up. */
static void a_bridge_asks_for_what_it_brings_together(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: session, gap: 5s}\n");
    joins_take(&j, SESSION("00", "10") "\"delta_id\":\"a\",\"value\":1");
    needs(&j, SESSION("00", "15") "\"delta_id\":\"b\",\"value\":2", RR_JOIN_DONE);
    needs(&j, SESSION("20", "30") "\"delta_id\":\"b\",\"value\":2", RR_JOIN_DONE);
    joins_take(&j, SESSION("20", "30") "\"delta_id\":\"b\",\"value\":2");
    needs(&j, SESSION("00", "30") "\"delta_id\":\"c\",\"value\":3", RR_JOIN_NEEDS_PARTS);
    joins_take(&j, SESSION("00", "30") "\"delta_id\":\"c\",\"value\":3");
    needs(&j, SESSION("00", "40") "\"delta_id\":\"d\",\"value\":4", RR_JOIN_DONE);
    needs(&j, SESSION("00", "30") "\"delta_id\":\"a\",\"op\":\"RETRACT\"", RR_JOIN_DONE);
    joins_close(&j);
}

/* A record that is refused for the size of its cell changes nothing. */
static void what_exceeds_a_limit_leaves_the_unit_as_it_was(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n");
    joins_take(&j, "\"delta_id\":\"a\",\"value\":1");
    j.unit.part_total = RR_LIMIT_PARTS;
    joins_take(&j, "\"delta_id\":\"b\",\"value\":1");
    assert_int_equal(j.outcome.verdict, RR_VERDICT_REFUSED);
    assert_int_equal(j.outcome.reason, RR_REASON_LIMIT_EXCEEDED);
    assert_int_equal(j.outcome.alerts, RR_BIT(RR_ALERT_CONTRACT_VIOLATION));
    assert_false(j.outcome.grew);
    assert_int_equal(j.unit.part_count, 1);
    assert_int_equal(j.unit.cells[0].fold.counting, 1);
    joins_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delta_names_its_identity),
        cmocka_unit_test(a_correction_that_covers_more_names_none),
        cmocka_unit_test(the_newest_standing_is_asked_for_when_it_falls),
        cmocka_unit_test(an_open_conflict_is_asked_for_when_it_closes),
        cmocka_unit_test(a_bridge_asks_for_what_it_brings_together),
        cmocka_unit_test(what_exceeds_a_limit_leaves_the_unit_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
