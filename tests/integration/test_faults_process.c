/* The program is killed at any moment, and records that cannot be taken meet a dead letters' stream that cannot take
 * them either. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "faults.h"

enum { SOON_MS = 15000, BIG = 40000, SMALL = 4096 };

/* ---- killed ---- */

/* Load goes on all the time; it is killed while it starts, works, repairs or waits, as it comes. */
static void killed_at_any_moment(void **state, bool ack_all)
{
    rr_setup setup = {.ack_all = ack_all};
    size_t kills = rr_world_scaled(20, 100);
    rr_run run;

    rr_run_begin(&run, *state, &setup, false);
    for (size_t k = 0; k < kills; k++) {
        rr_run_load(&run, 300 + rr_history_draw(&run.history, 600));
        rr_nap_ms((long)rr_history_draw(&run.history, 120));
        rr_child_kill(run.program);
        run.program = rr_child_start(run.world, (const char *[]){"run", "--config", run.config, NULL});
    }
    rr_child_wait_for(run.program, " running", SOON_MS);
    rr_run_load(&run, 500);
    print_message("    %zu kills, %zu records\n", kills, run.history.count);
    rr_run_end(&run);
}

static void killed_at_any_moment_nothing_is_lost_or_twice(void **state)
{
    killed_at_any_moment(state, false);
}

static void killed_at_any_moment_under_ack_all_nothing_is_lost_or_twice(void **state)
{
    killed_at_any_moment(state, true);
}

/* Redis loses its data, and who repairs it is killed again and again. */
static void killed_in_the_midst_of_a_repair_the_next_one_ends_it(void **state)
{
    uint64_t last;
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_world_scaled(8000, 50000));
    rr_wait_settled(run.world, RR_SETTLE_MS);
    last = rr_stream_last(run.world, "RESULTS");
    rr_server_kill(&run.world->redis);
    assert_true(rr_server_restart(&run.world->redis, false));
    rr_redis_reconnect(run.world);
    for (size_t k = 0; k < rr_world_scaled(5, 30); k++) {
        rr_nap_ms((long)rr_history_draw(&run.history, 400));
        rr_child_kill(run.program);
        run.program = rr_child_start(run.world, (const char *[]){"run", "--config", run.config, NULL});
    }
    rr_run_wait_repaired(&run);
    assert_true(rr_run_notice(&run, "sink_rolled_back").there);
    assert_true(rr_run_notice(&run, "sink_rolled_back").to >= last);
    rr_run_load(&run, 500);
    rr_run_end(&run);
}

/* ---- records that cannot be taken ---- */

static void add_broken(rr_run *run, size_t len)
{
    char *bytes = malloc(len);

    assert_non_null(bytes);
    memset(bytes, 0xff, len);
    rr_history_add_bytes(&run->history, 0, (rr_slice){bytes, len});
    free(bytes);
    run->letters++;
}

static void one_poison_among_a_thousand_harms_nobody(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_add(&run, 500);
    add_broken(&run, 20);
    rr_run_add(&run, 500);
    rr_run_publish(&run);
    rr_run_end(&run);
}

static void begin_with_full_dead_letters(rr_run *run, rr_world *world)
{
    rr_run_begin(run, world, NULL, false);
    rr_stream_make(world, "DEAD", "dead.>", 3);
    for (int k = 0; k < 10; k++) {
        rr_run_add(run, 50);
        add_broken(run, 20);
    }
    rr_run_publish(run);
    rr_child_wait_for(run->program, "the dead letters' stream refuses messages", SOON_MS);
}

static void a_full_stream_of_dead_letters_is_waited_for(void **state)
{
    rr_run run;

    begin_with_full_dead_letters(&run, *state);
    rr_nap_ms((long)rr_world_scaled(3000, 15000));
    assert_int_equal(rr_stream_count(run.world, "DEAD"), 3);
    assert_true(rr_consumer_progress(run.world).ack_floor < rr_stream_last(run.world, "RESULTS"));
    rr_stream_make(run.world, "DEAD", "dead.>", 0);
    rr_child_wait_for(run.program, "the dead letters' stream is back", SOON_MS);
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    /* What came again meanwhile was given again, and is there once. */
    assert_true(rr_child_count_before(run.program, " dead letters") >= run.letters);
    rr_run_compare(&run);
    rr_run_fini(&run);
}

static void killed_while_the_dead_letters_wait_each_is_there_once(void **state)
{
    rr_run run;

    begin_with_full_dead_letters(&run, *state);
    rr_child_kill(run.program);
    rr_stream_make(run.world, "DEAD", "dead.>", 0);
    rr_run_restart(&run);
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    rr_run_compare(&run);
    rr_run_fini(&run);
}

/* ---- dead letters that are too large ---- */

static void limit_letters(rr_world *world, int32_t most)
{
    const char *subjects[] = {"dead.>"};
    jsStreamConfig config;

    jsStreamConfig_Init(&config);
    config.Name = "DEAD";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.MaxMsgSize = most;
    assert_int_equal(js_UpdateStream(NULL, world->js, &config, NULL, NULL), NATS_OK);
}

static void assert_cut(rr_world *world, size_t most)
{
    natsMsg *letter = rr_stream_message(world, "DEAD", 1);
    const char *cut = NULL;

    assert_int_equal(natsMsgHeader_Get(letter, "Rr-Cut-From-Bytes", &cut), NATS_OK);
    assert_int_equal(strtoul(cut, NULL, 10), BIG);
    assert_true(natsMsg_GetDataLength(letter) > 0 && (size_t)natsMsg_GetDataLength(letter) < most);
    natsMsg_Destroy(letter);
}

/* A record that no dead letter can hold whole: what can be kept is kept, and says what it is. */
static void a_letter_over_its_streams_limit_is_cut_and_says_so(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    limit_letters(run.world, SMALL);
    rr_run_add(&run, 200);
    add_broken(&run, BIG);
    rr_run_add(&run, 200);
    rr_run_publish(&run);
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_cut(run.world, SMALL);
    rr_run_end(&run);
}

/* The headers of a letter make it larger than the record, which was as large as the server takes. */
static void a_letter_over_the_servers_limit_is_cut_and_says_so(void **state)
{
    rr_run run;

    ((rr_world *)*state)->nats.config = "http: \"127.0.0.1:-1\"\nmax_payload: 40100\n";
    assert_true(rr_server_restart(&((rr_world *)*state)->nats, true));
    rr_nats_reconnect(*state);
    rr_run_begin(&run, *state, NULL, false);
    rr_run_add(&run, 200);
    add_broken(&run, BIG);
    rr_run_add(&run, 200);
    rr_run_publish(&run);
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_cut(run.world, 40100);
    rr_run_end(&run);
}

#define LASTING(test) cmocka_unit_test_setup_teardown(test, rr_world_begin_lasting, rr_world_end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        LASTING(killed_at_any_moment_nothing_is_lost_or_twice),
        LASTING(killed_at_any_moment_under_ack_all_nothing_is_lost_or_twice),
        LASTING(killed_in_the_midst_of_a_repair_the_next_one_ends_it),
        LASTING(one_poison_among_a_thousand_harms_nobody),
        LASTING(a_full_stream_of_dead_letters_is_waited_for),
        LASTING(killed_while_the_dead_letters_wait_each_is_there_once),
        LASTING(a_letter_over_its_streams_limit_is_cut_and_says_so),
        LASTING(a_letter_over_the_servers_limit_is_cut_and_says_so),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
