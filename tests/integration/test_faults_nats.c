/* NATS breaks, or what it holds is replaced or taken away: nothing is lost and nothing counts twice, or the program
 * says what happened and stops. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

enum { SOON_MS = 15000, PATH = 256, CONFIGURATION = 78 };

static void come_back(rr_world *world)
{
    assert_true(rr_server_restart(&world->nats, true));
    rr_nats_reconnect(world);
}

static void copy_folder(const char *from, const char *to)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execlp("cp", "cp", "-a", from, to, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void remove_folder(const char *path)
{
    pid_t pid = fork();

    if (pid == 0) {
        execlp("rm", "rm", "-rf", path, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- killed ---- */

static void kill_nats(rr_run *run)
{
    rr_server_kill(&run->world->nats);
    come_back(run->world);
}

static void killed(void **state, bool under_ack_all)
{
    rr_setup setup = {.ack_all = under_ack_all};
    rr_run run;

    rr_run_begin(&run, *state, &setup, false);
    rr_run_break_under_load(&run, rr_world_scaled(4, 30), 100, kill_nats);
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

static void killed_in_the_midst_of_a_batch_it_goes_on(void **state)
{
    killed(state, false);
}

static void killed_under_ack_all_it_goes_on(void **state)
{
    killed(state, true);
}

/* Both are killed at once, and the program with them. */
static void everything_killed_at_once_it_goes_on(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    for (size_t k = 0; k < rr_world_scaled(3, 20); k++) {
        rr_run_load(&run, rr_run_portion());
        rr_nap_ms((long)rr_history_draw(&run.history, 150));
        rr_child_kill(run.program);
        rr_server_kill(&run.world->nats);
        rr_server_kill(&run.world->redis);
        assert_true(rr_server_restart(&run.world->redis, k % 2 == 0)); /* every other time without its data */
        rr_redis_reconnect(run.world);
        come_back(run.world);
        rr_run_restart(&run);
    }
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

/* ---- not the same stream any more ---- */

typedef struct copy {
    char live[PATH], kept[PATH];
} copy;

/* Stops the server while it is copied, so that the copy is one of a moment. */
static void keep_copy(rr_world *world, copy *c)
{
    snprintf(c->live, sizeof c->live, "%s/data", world->nats.folder);
    snprintf(c->kept, sizeof c->kept, "%s/kept", world->nats.folder);
    rr_server_stop(&world->nats);
    copy_folder(c->live, c->kept);
    come_back(world);
}

static void put_copy_back(rr_world *world, const copy *c)
{
    rr_server_kill(&world->nats);
    remove_folder(c->live);
    copy_folder(c->kept, c->live);
    come_back(world);
}

/* It says so, stores it as an alert, leaves with the code for it, and has changed nothing. */
static void assert_stopped(rr_run *run)
{
    assert_int_equal(rr_child_wait(run->program, SOON_MS), CONFIGURATION);
    assert_true(rr_child_has_said(run->program, "source_rolled_back"));
    assert_true(rr_run_notice(run, "source_rolled_back").there);
    assert_true(rr_assert_cells(run->world, &run->history) > 0);
    rr_run_fini(run);
}

static void begin_with_older_copy(rr_run *run, void **state, copy *c)
{
    rr_run_begin(run, *state, NULL, false);
    rr_run_load(run, rr_run_portion());
    rr_wait_settled(run->world, RR_SETTLE_MS);
    rr_run_wait_checkpoint(run);
    keep_copy(run->world, c);
    rr_run_load(run, 300);
    rr_wait_settled(run->world, RR_SETTLE_MS);
    rr_run_wait_checkpoint(run);
}

static void replaced_by_an_older_copy_its_source_stops(void **state)
{
    rr_run run;
    copy c;

    begin_with_older_copy(&run, state, &c);
    put_copy_back(run.world, &c);
    assert_stopped(&run);
}

/* Publishes records of another history. */
static void publish_others(rr_world *world, size_t count)
{
    rr_history others;

    rr_history_init(&others, rr_mixed_names, rr_world_seed + 1);
    rr_history_mixed(&others, count, 50);
    rr_publish_history(world, &others, 0, others.count);
    rr_history_fini(&others);
}

/* others: so many of other records are published on the older copy before anybody looks, so its end tells nothing. */
static void replaced_while_nobody_runs(void **state, size_t others)
{
    rr_run run;
    copy c;

    begin_with_older_copy(&run, state, &c);
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    put_copy_back(run.world, &c);
    publish_others(run.world, others);
    run.program = rr_child_start(run.world, (const char *[]){"run", "--config", run.config, NULL});
    assert_stopped(&run);
}

static void replaced_while_nobody_runs_the_next_start_says_so(void **state)
{
    replaced_while_nobody_runs(state, 0);
}

static void replaced_and_grown_again_the_next_start_says_so(void **state)
{
    replaced_while_nobody_runs(state, 400);
}

static void replaced_and_grown_again_under_a_running_program_its_source_stops(void **state)
{
    rr_run run;
    copy c;

    begin_with_older_copy(&run, state, &c);
    rr_child_signal(run.program, SIGSTOP);
    put_copy_back(run.world, &c);
    publish_others(run.world, 400);
    rr_child_signal(run.program, SIGCONT);
    assert_int_equal(rr_child_wait(run.program, SOON_MS), CONFIGURATION);
    assert_true(rr_child_has_said(run.program, "source_rolled_back"));
    assert_true(rr_run_notice(&run, "source_rolled_back").there);
    rr_run_fini(&run);
}

static void made_anew_while_nobody_runs_the_next_start_says_so(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    rr_stream_remove(run.world, "RESULTS");
    rr_stream_make(run.world, "RESULTS", "results.>", 0);
    run.program = rr_child_start(run.world, (const char *[]){"run", "--config", run.config, NULL});
    assert_stopped(&run);
}

static void made_anew_while_it_runs_it_says_so(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    rr_stream_remove(run.world, "RESULTS");
    rr_stream_make(run.world, "RESULTS", "results.>", 0);
    assert_int_equal(rr_child_wait(run.program, SOON_MS), CONFIGURATION);
    assert_true(rr_child_has_said(run.program, "the stream is gone") ||
                rr_child_has_said(run.program, "the consumer is gone") ||
                rr_child_has_said(run.program, "source_rolled_back"));
    assert_true(rr_assert_cells(run.world, &run.history) > 0);
    rr_run_fini(&run);
}

static void its_consumer_deleted_it_says_so(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_int_equal(js_DeleteConsumer(run.world->js, "RESULTS", "reconciler", NULL, NULL), NATS_OK);
    assert_int_equal(rr_child_wait(run.program, SOON_MS), CONFIGURATION);
    assert_true(rr_child_has_said(run.program, "the consumer is gone"));
    rr_run_compare(&run);

    /* Made again, it reads all from the start: everything is there already. */
    rr_run_restart(&run);
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

/* ---- purged ---- */

static void purged_of_what_is_done_it_goes_on(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    rr_stream_purge(run.world, "RESULTS");
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

/* What was purged and lost by Redis cannot be had back: it says which, and goes on with the rest. */
static void purged_and_then_lost_by_redis_it_says_what_is_gone(void **state)
{
    rr_notice gap;
    uint64_t gone;
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    gone = rr_stream_last(run.world, "RESULTS");
    rr_stream_purge(run.world, "RESULTS");
    run.history.count = run.published = 0;
    rr_run_load(&run, 500);
    rr_wait_settled(run.world, RR_SETTLE_MS);
    rr_server_kill(&run.world->redis);
    assert_true(rr_server_restart(&run.world->redis, false));
    rr_redis_reconnect(run.world);
    rr_run_wait_repaired(&run);
    gap = rr_run_notice(&run, "unrepairable_gap");
    print_message("    gone 1 to %llu; told %llu to %llu\n", (unsigned long long)gone, gap.from, gap.to);
    assert_true(gap.there && gap.from <= 1 && gap.to == gone);
    assert_true(rr_run_notice(&run, "sink_rolled_back").there);
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

static void purged_of_what_was_not_read_it_goes_on_with_the_rest(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    publish_others(run.world, 300);
    rr_stream_purge(run.world, "RESULTS");
    rr_run_load(&run, rr_run_portion());
    rr_run_restart(&run);
    rr_run_end(&run);
}

/* ---- the way there ---- */

static void answers_that_take_a_second_are_waited_for(void **state)
{
    rr_setup setup = {.batch = 512, .ack_wait_s = 30};
    rr_relayed w;

    rr_relayed_begin(&w, *state, RR_RELAYED_NATS, &setup, false);
    rr_relay_delay(w.relay, 500);
    rr_run_load(&w.run, 500);
    rr_wait_settled(w.run.world, RR_SETTLE_MS);
    rr_relay_reset(w.relay); /* it must also come anew */
    rr_run_load(&w.run, 300);
    rr_wait_settled(w.run.world, RR_SETTLE_MS);
    rr_relay_delay(w.relay, 0);
    rr_relayed_end(&w);
}

static void bytes_that_come_one_by_one_are_put_together(void **state)
{
    rr_relayed_chopped(*state, RR_RELAYED_NATS, rr_world_scaled(1000, 5000));
}

static const rr_setup ack_all = {.ack_all = true};

static void connections_that_are_half_open_are_left(void **state)
{
    rr_relayed_half_open(*state, RR_RELAYED_NATS, NULL, 1);
}

/* It takes the client 20 s to find out. */
static void connections_that_are_half_open_are_left_under_ack_all(void **state)
{
    if (!rr_world_full) {
        skip();
    }
    rr_relayed_half_open(*state, RR_RELAYED_NATS, &ack_all, 1);
}

static void connections_that_are_reset_again_and_again_are_made_anew(void **state)
{
    rr_relayed_reset(*state, RR_RELAYED_NATS, NULL, rr_world_scaled(10, 100), 300);
}

static void connections_that_are_reset_under_ack_all_are_made_anew(void **state)
{
    rr_relayed_reset(*state, RR_RELAYED_NATS, &ack_all, rr_world_scaled(10, 100), 300);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RR_FLEETING(killed_in_the_midst_of_a_batch_it_goes_on),
        RR_FLEETING(killed_under_ack_all_it_goes_on),
        RR_LASTING(everything_killed_at_once_it_goes_on),
        RR_FLEETING(replaced_by_an_older_copy_its_source_stops),
        RR_FLEETING(replaced_while_nobody_runs_the_next_start_says_so),
        RR_FLEETING(replaced_and_grown_again_the_next_start_says_so),
        RR_FLEETING(replaced_and_grown_again_under_a_running_program_its_source_stops),
        RR_FLEETING(made_anew_while_nobody_runs_the_next_start_says_so),
        RR_FLEETING(made_anew_while_it_runs_it_says_so),
        RR_FLEETING(its_consumer_deleted_it_says_so),
        RR_FLEETING(purged_of_what_is_done_it_goes_on),
        RR_FLEETING(purged_and_then_lost_by_redis_it_says_what_is_gone),
        RR_FLEETING(purged_of_what_was_not_read_it_goes_on_with_the_rest),
        RR_FLEETING(answers_that_take_a_second_are_waited_for),
        RR_FLEETING(bytes_that_come_one_by_one_are_put_together),
        RR_FLEETING(connections_that_are_half_open_are_left),
        RR_FLEETING(connections_that_are_half_open_are_left_under_ack_all),
        RR_FLEETING(connections_that_are_reset_again_and_again_are_made_anew),
        RR_FLEETING(connections_that_are_reset_under_ack_all_are_made_anew),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
