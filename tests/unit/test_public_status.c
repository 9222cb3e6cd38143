/* The status that readers find is made by all processes together, and its progress never goes back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "public_status.h"

enum { SECOND_US = 1000000 };

static const int64_t noon_us = 1767268800000000; /* 2026-01-01T12:00:00Z */

typedef struct stage {
    rr_public_status status;
    rr_arena arena;
    rr_buf text;
} stage;

static int set_up(void **state)
{
    static stage s;

    s = (stage){0};
    rr_arena_init(&s.arena, 0);
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    stage *s = *state;

    rr_arena_fini(&s->arena);
    rr_buf_fini(&s->text);
    return 0;
}

/* One renewal by one process: what is stored before goes in, what is stored after comes out. */
static const char *renew(stage *s, const char *name, rr_public_state state, int64_t now_us, uint64_t sequence)
{
    rr_status_process process = {.name = rr_slice_of(name), .state = state, .updated_at_us = now_us};
    rr_status_source source = {.name = RR_SLICE("parts"),
                               .stream = RR_SLICE("RESULTS"),
                               .sequence = sequence,
                               .time_us = noon_us + (int64_t)sequence};

    rr_public_status_read(rr_buf_view(&s->text), &s->arena, &s->status);
    rr_public_status_join(&s->status, &process, false, &source, sequence != 0);
    rr_buf_clear(&s->text);
    rr_public_status_write(&s->text, &s->status, state, now_us);
    rr_buf_char(&s->text, '\0');
    s->text.len--;
    return s->text.data;
}

static void one_process_says_how_far_it_is(void **state)
{
    assert_string_equal(
        renew(*state, "a", RR_PUBLIC_OK, noon_us, 7),
        "{\"state\":\"ok\",\"updated_at\":\"2026-01-01T12:00:00Z\",\"sources\":[{\"name\":\"parts\","
        "\"stream\":\"RESULTS\",\"through_sequence\":7,\"through_time\":\"2026-01-01T12:00:00.000007Z\"}],"
        "\"processes\":[{\"name\":\"a\",\"state\":\"ok\",\"updated_at\":\"2026-01-01T12:00:00Z\"}]}");
}

static void the_process_that_is_behind_sets_nothing_back(void **state)
{
    stage *s = *state;

    renew(s, "a", RR_PUBLIC_OK, noon_us, 100);
    assert_non_null(strstr(renew(s, "b", RR_PUBLIC_OK, noon_us, 90), "\"through_sequence\":100,"));
    assert_int_equal(s->status.process_count, 2);
    assert_non_null(strstr(renew(s, "b", RR_PUBLIC_OK, noon_us, 101), "\"through_sequence\":101,"));
}

static void a_process_that_has_settled_nothing_yet_sets_nothing_back(void **state)
{
    renew(*state, "a", RR_PUBLIC_OK, noon_us, 100);
    assert_non_null(strstr(renew(*state, "b", RR_PUBLIC_OK, noon_us, 0), "\"through_sequence\":100,"));
}

static void the_worst_state_of_all_is_shown(void **state)
{
    renew(*state, "a", RR_PUBLIC_DEGRADED, noon_us, 1);
    assert_memory_equal(renew(*state, "b", RR_PUBLIC_OK, noon_us, 1), "{\"state\":\"degraded\"", 19);
    assert_memory_equal(renew(*state, "a", RR_PUBLIC_REPAIRING, noon_us, 1), "{\"state\":\"repairing\"", 20);
    assert_memory_equal(renew(*state, "a", RR_PUBLIC_OK, noon_us, 1), "{\"state\":\"ok\"", 13);
}

static void a_process_that_died_counts_for_a_minute(void **state)
{
    renew(*state, "dead", RR_PUBLIC_DEGRADED, noon_us, 5);
    assert_memory_equal(renew(*state, "b", RR_PUBLIC_OK, noon_us + 60 * SECOND_US, 3), "{\"state\":\"degraded\"", 19);
    assert_memory_equal(renew(*state, "b", RR_PUBLIC_OK, noon_us + 60 * SECOND_US + 1, 3), "{\"state\":\"ok\"", 13);
    assert_non_null(strstr(renew(*state, "b", RR_PUBLIC_OK, noon_us + 61 * SECOND_US, 3), "\"through_sequence\":5,"));
}

static void one_that_leaves_takes_its_entry_along(void **state)
{
    stage *s = *state;
    rr_status_process leaving = {.name = RR_SLICE("a"), .state = RR_PUBLIC_DEGRADED, .updated_at_us = noon_us};

    renew(s, "a", RR_PUBLIC_DEGRADED, noon_us, 5);
    renew(s, "b", RR_PUBLIC_OK, noon_us, 5);
    rr_public_status_join(&s->status, &leaving, true, NULL, 0);
    assert_int_equal(s->status.process_count, 1);
    assert_string_equal(s->status.processes[0].name.data, "b");
    rr_buf_clear(&s->text);
    rr_public_status_write(&s->text, &s->status, leaving.state, noon_us);
    assert_memory_equal(s->text.data, "{\"state\":\"ok\"", 13);
}

static void sources_of_other_processes_stay(void **state)
{
    stage *s = *state;

    rr_buf_text(&s->text,
                "{\"sources\":[{\"name\":\"other\",\"stream\":\"S\",\"through_sequence\":18446744073709551615,"
                "\"through_time\":\"2026-01-01T00:00:00Z\"}]}");
    renew(s, "a", RR_PUBLIC_OK, noon_us, 1);
    assert_int_equal(s->status.source_count, 2);
    assert_true(s->status.sources[0].sequence == UINT64_MAX);
}

static void what_is_not_ours_is_left_out(void **state)
{
    static const char *const texts[] = {"",
                                        "no JSON",
                                        "[]",
                                        "{\"sources\":7,\"processes\":{}}",
                                        "{\"sources\":[7,{\"name\":\"x\"}],\"processes\":[null,{\"name\":\"\"}]}",
                                        "{\"processes\":[{\"name\":\"x\",\"state\":\"ok\",\"updated_at\":\"noon\"}]}"};
    stage *s = *state;

    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        rr_public_status_read(rr_slice_of(texts[k]), &s->arena, &s->status);
        assert_int_equal(s->status.source_count, 0);
        assert_int_equal(s->status.process_count, 0);
    }
}

static void more_processes_than_there_is_room_for_are_left_out(void **state)
{
    stage *s = *state;
    char name[16];

    for (int k = 0; k < RR_STATUS_PROCESSES_MAX + 10; k++) {
        snprintf(name, sizeof name, "p%d", k);
        renew(s, name, RR_PUBLIC_OK, noon_us, 1);
    }
    assert_int_equal(s->status.process_count, RR_STATUS_PROCESSES_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(one_process_says_how_far_it_is),
                                       TEST(the_process_that_is_behind_sets_nothing_back),
                                       TEST(a_process_that_has_settled_nothing_yet_sets_nothing_back),
                                       TEST(the_worst_state_of_all_is_shown),
                                       TEST(a_process_that_died_counts_for_a_minute),
                                       TEST(one_that_leaves_takes_its_entry_along),
                                       TEST(sources_of_other_processes_stay),
                                       TEST(what_is_not_ours_is_left_out),
                                       TEST(more_processes_than_there_is_room_for_are_left_out)};
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
