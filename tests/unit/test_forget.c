/* Windows of a session group that are gone, and what goes with them: only what no window that stays can sum. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forget.h"
#include "joins.h"
#include "time.h"

/* Retention and grace are a second each: a window that ends at :30 is gone at :32. */
#define CONTRACT(mode) "  mode: " mode "\n  window: {kind: session, gap: 5s}\n  retention: 1s\n  grace: 1s\n"
#define SESSION(start, end) \
    "\"window\":{\"start\":\"2026-01-01T10:00:" start "Z\",\"end\":\"2026-01-01T10:00:" end "Z\"},"

static int64_t at(const char *second)
{
    char text[32] = "2026-01-01T10:00:00.000000Z";
    int64_t time_us;

    text[17] = second[0];
    text[18] = second[1];
    assert_true(rr_time_parse(rr_slice_of(text), &time_us));
    return time_us;
}

/* How many cells are left at that second. */
static size_t left_at(joins *j, const char *second)
{
    if (rr_unit_has_gone(&j->unit, at(second))) {
        size_t before = j->unit.cell_count;

        rr_unit_forget(&j->unit, at(second));
        assert_true(j->unit.cell_count < before);
        assert_false(rr_unit_has_gone(&j->unit, at(second)));
    }
    assert_int_equal(j->unit.part_total, j->unit.part_count);
    return j->unit.cell_count;
}

static rr_cell *cell(joins *j, const char *start, const char *end)
{
    return rr_unit_cell(&j->unit, (rr_window){at(start), at(end)});
}

/* How many contributions a window sums. */
static uint64_t counted(joins *j, const char *start, const char *end)
{
    const rr_cell *found = cell(j, start, end);

    assert_non_null(found);
    assert_int_equal(found->view.state, RR_STATE_present);
    return found->fold.counting;
}

static void a_window_goes_when_retention_and_grace_are_over(void **state)
{
    static const char *const modes[] = {CONTRACT("cumulative"), CONTRACT("retraction"), CONTRACT("delta")};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        joins j;

        joins_open(&j, modes[k]);
        assert_false(rr_unit_has_gone(&j.unit, at("59")));
        joins_take(&j, SESSION("00", "10") "\"result_version\":1,\"delta_id\":\"a\",\"value\":1");
        joins_take(&j, SESSION("20", "30") "\"result_version\":1,\"delta_id\":\"b\",\"value\":2");
        assert_false(rr_unit_has_gone(&j.unit, at("11")));
        assert_int_equal(left_at(&j, "11"), 2);
        assert_true(rr_unit_has_gone(&j.unit, at("12")));
        assert_int_equal(left_at(&j, "12"), 1);
        assert_null(cell(&j, "00", "10"));
        assert_non_null(cell(&j, "20", "30"));
        assert_int_equal(left_at(&j, "31"), 1);
        assert_int_equal(left_at(&j, "32"), 0);
        assert_int_equal(j.unit.part_count, 0);
        joins_close(&j);
    }
}

/* The facts of an inner window live as long as the outermost. */
static void the_outermost_window_keeps_those_inside(void **state)
{
    static const char *const modes[] = {CONTRACT("cumulative"), CONTRACT("retraction"), CONTRACT("delta")};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        joins j;

        joins_open(&j, modes[k]);
        joins_take(&j, SESSION("00", "10") "\"result_version\":1,\"delta_id\":\"a\",\"value\":1");
        joins_take(&j, SESSION("00", "20") "\"result_version\":2,\"delta_id\":\"b\",\"value\":2");
        joins_take(&j, SESSION("00", "40") "\"result_version\":3,\"delta_id\":\"c\",\"value\":3");
        assert_int_equal(rr_unit_outermost_end(&j.unit, (rr_window){at("00"), at("10")}), at("40"));
        assert_int_equal(left_at(&j, "30"), 3);
        assert_int_equal(left_at(&j, "41"), 3);
        assert_int_equal(cell(&j, "00", "10")->view.state, RR_STATE_merged);
        assert_int_equal(left_at(&j, "42"), 0);
        joins_close(&j);
    }
}

/* A window that only overlaps keeps nothing alive. */
static void an_overlapping_window_keeps_nothing(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, CONTRACT("cumulative"));
    joins_take(&j, SESSION("00", "20") "\"result_version\":1,\"value\":1");
    joins_take(&j, SESSION("10", "40") "\"result_version\":1,\"value\":2");
    assert_int_equal(j.outcome.alerts, RR_BIT(RR_ALERT_OVERLAPPING_SESSIONS));
    assert_int_equal(rr_unit_outermost_end(&j.unit, (rr_window){at("00"), at("20")}), at("20"));
    assert_int_equal(left_at(&j, "22"), 1);
    assert_non_null(cell(&j, "10", "40"));
    joins_close(&j);
}

/* What a window sums is not touched by what goes beside it, and it goes on growing. */
static void sums_are_as_before(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, CONTRACT("delta"));
    joins_take(&j, SESSION("00", "10") "\"delta_id\":\"old\",\"value\":1");
    joins_take(&j, SESSION("20", "30") "\"delta_id\":\"a\",\"value\":2");
    joins_take(&j, SESSION("20", "35") "\"delta_id\":\"b\",\"value\":4");
    joins_take(&j, SESSION("20", "40") "\"delta_id\":\"c\",\"value\":8");
    assert_int_equal(counted(&j, "20", "40"), 3);
    assert_int_equal(left_at(&j, "15"), 3);
    assert_int_equal(counted(&j, "20", "40"), 3);
    assert_int_equal(j.unit.part_count, 3);
    joins_take(&j, SESSION("20", "30") "\"delta_id\":\"a\",\"value\":2");
    assert_int_equal(j.outcome.verdict, RR_VERDICT_DUPLICATE);
    joins_take(&j, SESSION("20", "30") "\"delta_id\":\"a\",\"op\":\"RETRACT\"");
    assert_int_equal(j.outcome.verdict, RR_VERDICT_APPLIED);
    assert_int_equal(counted(&j, "20", "40"), 2);
    joins_close(&j);
}

/* One identity addressed to two windows: what was said to the one that goes, goes; the other part of it stays. */
static void an_identity_loses_only_what_was_addressed_to_the_window(void **state)
{
    joins j;
    const rr_part *part;

    (void)state;
    joins_open(&j, CONTRACT("delta"));
    joins_take(&j, SESSION("00", "10") "\"delta_id\":\"a\",\"value\":1");
    joins_take(&j, SESSION("20", "30") "\"delta_id\":\"a\",\"value\":1");
    assert_int_equal(j.unit.part_count, 1);
    assert_int_equal(j.unit.parts[0].claim_count, 2);
    assert_int_equal(left_at(&j, "15"), 1);
    assert_int_equal(j.unit.part_count, 1);
    part = &j.unit.parts[0];
    assert_int_equal(part->claim_count, 1);
    assert_int_equal(part->claims[0].window.start, at("20"));
    assert_int_equal(counted(&j, "20", "30"), 1);
    joins_close(&j);
}

/* A contributor belongs to one window. */
static void contributors_go_with_their_window(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, CONTRACT("retraction"));
    joins_take(&j, SESSION("00", "10") "\"contributor\":\"a\",\"result_version\":1,\"value\":1");
    joins_take(&j, SESSION("00", "10") "\"contributor\":\"b\",\"result_version\":2,\"value\":2");
    joins_take(&j, SESSION("20", "30") "\"contributor\":\"a\",\"result_version\":3,\"value\":3");
    assert_int_equal(j.unit.part_count, 3);
    assert_int_equal(left_at(&j, "15"), 1);
    assert_int_equal(j.unit.part_count, 1);
    joins_take(&j, SESSION("20", "30") "\"contributor\":\"a\",\"op\":\"RETRACT\",\"retracts_version\":3");
    assert_int_equal(j.outcome.verdict, RR_VERDICT_APPLIED);
    assert_int_equal(cell(&j, "20", "30")->view.state, RR_STATE_withdrawn);
    joins_close(&j);
}

/* Parts that stood beside the value are as good as those inside: written, read again, all at hand. */
static void all_parts_at_hand_are_enough(void **state)
{
    joins j;
    rr_unit again;
    char *bytes;

    (void)state;
    joins_open(&j, CONTRACT("delta"));
    joins_take(&j, SESSION("00", "10") "\"delta_id\":\"a\",\"value\":1");
    joins_take(&j, SESSION("20", "30") "\"delta_id\":\"b\",\"value\":2");
    joins_take(&j, SESSION("20", "35") "\"delta_id\":\"c\",\"value\":4");
    j.unit.spilled = true;
    bytes = rr_arena_take(&j.arena, rr_unit_write_need(&j.unit));
    assert_true(rr_unit_read(&again, j.contract, (rr_slice){bytes, rr_unit_write(&j.unit, bytes)}, &j.arena));
    assert_false(again.complete);
    assert_true(rr_unit_has_gone(&again, at("15"))); /* that needs no parts */
    for (size_t k = 0; k < j.unit.part_count; k++) {
        const rr_part *part = &j.unit.parts[k];
        char *one = rr_arena_take(&j.arena, rr_part_write_need(&j.unit, part));

        assert_true(rr_part_read(&again, part->id, (rr_slice){one, rr_part_write(&j.unit, part, one)}, &j.arena));
    }
    again.complete = true;
    j.unit = again;
    assert_int_equal(left_at(&j, "15"), 2);
    assert_int_equal(j.unit.part_count, 2);
    joins_close(&j);
}

static void for_ever_is_for_ever(void **state)
{
    joins j;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: session, gap: 5s}\n  retention: forever\n");
    joins_take(&j, SESSION("00", "10") "\"delta_id\":\"a\",\"value\":1");
    assert_false(rr_unit_has_gone(&j.unit, INT64_MAX));
    joins_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_goes_when_retention_and_grace_are_over),
        cmocka_unit_test(the_outermost_window_keeps_those_inside),
        cmocka_unit_test(an_overlapping_window_keeps_nothing),
        cmocka_unit_test(sums_are_as_before),
        cmocka_unit_test(an_identity_loses_only_what_was_addressed_to_the_window),
        cmocka_unit_test(contributors_go_with_their_window),
        cmocka_unit_test(all_parts_at_hand_are_enough),
        cmocka_unit_test(for_ever_is_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
