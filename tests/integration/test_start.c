/* What the program checks before it takes a record, and before it acknowledges one: all processes have the same
 * contracts, a stream keeps the dead letters, and under `ack: all` there is no other reader. */
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
#include <time.h>

#include "publish.h"

enum { LEAVE_MS = 10000, SETTLE_MS = 40000, CONFIGURATION = 78 };

static const char *const names[] = {"sums", NULL};
static const char contract[] = "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}}\n";
static const char other_contract[] =
    "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}, retention: 9d}\n";

static void configure(rr_world *world, const char *name, const char *contracts, char *config)
{
    rr_setup setup = {.contracts = contracts, .names = names, .batch = 64};

    rr_world_configure(world, name, &setup, config);
}

/* Starts, and is to end by itself with 78. */
static rr_child *refused(rr_world *world, const char *config, const char *more)
{
    rr_child *program = rr_child_start(world, (const char *[]){"run", "--config", config, more, NULL});

    assert_int_equal(rr_child_wait(program, LEAVE_MS), CONFIGURATION);
    return program;
}

static void assert_said(const rr_child *child, const char *text)
{
    if (!rr_child_has_said(child, text)) {
        char *said = rr_child_said(child);

        print_error("%s\n", said);
        fail_msg("%s: it did not say \"%s\"", child->log, text);
    }
}

/* Deltas of value 1 for `keys` keys; about so many in a hundred break the contract. */
static void add_deltas(rr_history *history, size_t count, size_t keys, unsigned bad_percent)
{
    for (size_t k = 0; k < count; k++) {
        rr_measure value = rr_value_measure(1);
        char key[32], text[64];
        rr_record record;

        snprintf(key, sizeof key, "key-%llu", (unsigned long long)rr_history_draw(history, keys));
        record = rr_delta_record(key, history->count, &value, text);
        if (rr_history_draw(history, 100) < bad_percent) {
            record.metric_version = (rr_slice){NULL, 0};
        }
        rr_history_add(history, 0, &record);
    }
}

/* ---- contracts ---- */

static void two_texts_of_one_contract_stop_the_second(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], other[RR_WORLD_PATH];
    rr_child *first, *second;

    configure(world, "first", contract, config);
    configure(world, "second", other_contract, other);
    first = rr_child_run(world, config, NULL);
    rr_nap_ms(1500);
    second = refused(world, other, NULL);
    assert_said(second, "contract sums");
    assert_said(second, "retention: forever");
    assert_said(second, "retention: 9d");
    assert_said(second, "--accept-contracts");
    assert_int_equal(rr_child_stop(first, LEAVE_MS), 0);
    refused(world, other, NULL); /* the cells are still the first one's */
}

static void a_text_that_is_accepted_stops_who_has_the_other_one(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], other[RR_WORLD_PATH];
    rr_child *first, *second;

    configure(world, "first", contract, config);
    configure(world, "second", other_contract, other);
    first = rr_child_run(world, config, NULL);
    rr_nap_ms(1500);
    second = rr_child_run(world, other, "--accept-contracts");
    assert_int_equal(rr_child_wait(first, LEAVE_MS), CONFIGURATION);
    assert_said(first, "retention: forever");
    assert_said(first, "retention: 9d");
    assert_int_equal(rr_child_stop(second, LEAVE_MS), 0);
    second = rr_child_run(world, other, NULL); /* once is enough */
    assert_int_equal(rr_child_stop(second, LEAVE_MS), 0);
    refused(world, config, NULL);
}

/* The same promise in other words is the same text. */
static void the_same_contract_in_other_words_is_no_other(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], other[RR_WORLD_PATH];
    rr_child *program;

    configure(world, "first", contract, config);
    configure(world, "second",
              "  - window: {offset: 0s, size: 60s, kind: tumbling}\n    mode: delta\n    name: sums\n"
              "    measures: {value: {type: int64}}\n    corrections: none\n",
              other);
    program = rr_child_run(world, config, "--until-idle");
    assert_int_equal(rr_child_wait(program, LEAVE_MS), 0);
    program = rr_child_run(world, other, "--until-idle");
    assert_int_equal(rr_child_wait(program, LEAVE_MS), 0);
}

static const char brief_contract[] = "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}, retention: 1h, "
                                     "grace: 0s, future_tolerance: 0s}\n";

/* A delta whose window ends so many minutes from now; the key of its cell, which lasts. */
static const char *add_delta_ending(rr_history *history, int minutes, char *key, size_t room)
{
    const int64_t minute_us = 60000000;
    rr_measure value = rr_value_measure(1);
    char text[64];
    rr_record record = rr_delta_record("line-7", history->count, &value, text);

    record.window.end = ((int64_t)time(NULL) / 60 + minutes) * minute_us;
    record.window.start = record.window.end - minute_us;
    rr_history_add(history, 0, &record);
    snprintf(key, room, "rr:{sums:line-7}:v1:%lld-%lld", (long long)record.window.start, (long long)record.window.end);
    return key;
}

static bool exists(rr_world *world, const void *key)
{
    return rr_redis_integer(world, (const char *[]){"EXISTS", key, NULL}) == 1;
}

static bool has_eras(rr_world *world, const void *key)
{
    char *note = rr_redis_get(world, key);
    bool has = note != NULL && strstr(note, "\n# {\"eras\":[{\"until_us\":") != NULL;

    free(note);
    return has;
}

/* Two records, after a retention of an hour was lengthened: one of a window of before, that may be gone by the hour,
 * and one of a window of after. Returns the program, which runs. */
static rr_child *lengthen(rr_world *world, const char *longer, char *old, char *new, size_t room)
{
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *program;

    configure(world, "brief", brief_contract, config);
    program = rr_child_run(world, config, "--until-idle");
    assert_int_equal(rr_child_wait(program, LEAVE_MS), 0);
    rr_history_init(&history, names, rr_world_seed);
    add_delta_ending(&history, -120, old, room);
    add_delta_ending(&history, 60, new, room);
    rr_publish_history(world, &history, 0, history.count);
    rr_history_fini(&history);
    program = rr_child_run(world, longer, "--accept-contracts");
    rr_wait_settled(world, SETTLE_MS);
    assert_int_equal(rr_stream_count(world, "DEAD"), 1);
    assert_false(exists(world, old));
    assert_true(exists(world, new));
    assert_true(has_eras(world, "rr:contract:{sums}"));
    return program;
}

/* A cell that may be gone by the retention of before does not begin anew. Redis loses what was noted of it while the
 * program runs, and gets it back; and verify judges alike. */
static void a_longer_retention_is_for_windows_after_the_change(void **state)
{
    rr_world *world = *state;
    char longer[RR_WORLD_PATH], old[96], new[96];
    int code = -1;
    rr_child *program;

    configure(world, "longer", other_contract, longer);
    program = lengthen(world, longer, old, new, sizeof old);
    freeReplyObject(rr_redis_ask(world, (const char *[]){"FLUSHALL", NULL}));
    rr_wait(world, has_eras, "rr:contract:{sums}", SETTLE_MS, "the eras to be back");
    rr_wait(world, exists, new, SETTLE_MS, "the stream to be read again");
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    program = rr_child_run(world, longer, "--until-idle");
    assert_int_equal(rr_child_wait(program, LEAVE_MS), 0);
    assert_false(exists(world, old));
    free(rr_world_output(world, (const char *[]){"verify", "--config", longer, NULL}, &code));
    assert_int_equal(code, 0);
}

/* All was read again under the new contract: nothing of it is missing, so nothing has to be kept out. */
static void what_is_rebuilt_has_the_longer_retention(void **state)
{
    rr_world *world = *state;
    char longer[RR_WORLD_PATH], old[96], new[96], rebuilt[128];
    rr_child *program;

    configure(world, "longer", other_contract, longer);
    program = lengthen(world, longer, old, new, sizeof old);
    free(rr_world_output(world, (const char *[]){"rebuild", "--config", longer, "--keep-old", NULL}, NULL));
    rr_child_wait_for(program, "going on with prefix rr.g1", LEAVE_MS);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    snprintf(rebuilt, sizeof rebuilt, "rr.g1%s", old + 2);
    assert_true(exists(world, rebuilt));
    assert_true(exists(world, "rr.g1:contract:{sums}"));
    assert_false(has_eras(world, "rr.g1:contract:{sums}"));
}

/* ---- dead letters ---- */

static void without_a_stream_for_dead_letters_it_does_not_start(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_child *program;

    configure(world, "nowhere", contract, config);
    rr_stream_remove(world, "DEAD");
    program = refused(world, config, NULL);
    assert_said(program, "dead.");
    assert_int_equal(rr_consumer_progress(world).ack_floor, 0);
    rr_stream_make(world, "DEAD", "dead.>", 0);
    program = rr_child_run(world, config, NULL);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
}

static void while_the_dead_letters_are_full_none_is_acknowledged_without_its_own(void **state)
{
    rr_world *world = *state;
    rr_setup setup = {.contracts = contract, .names = names};
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *program;

    rr_world_configure(world, "full", &setup, config);
    rr_stream_make(world, "DEAD", "dead.>", 5);
    rr_history_init(&history, names, rr_world_seed);
    add_deltas(&history, 20, 5, 100);
    rr_publish_history(world, &history, 0, history.count);
    program = rr_child_run(world, config, NULL);
    rr_child_wait_for(program, "dead letters' stream refuses messages", LEAVE_MS);
    rr_nap_ms(500);
    assert_int_equal(rr_stream_count(world, "DEAD"), 5);
    /* A first batch of so few that each had room is done. */
    assert_true(rr_consumer_progress(world).ack_floor <= 5);

    rr_stream_make(world, "DEAD", "dead.>", 0);
    rr_wait_settled(world, SETTLE_MS);
    assert_int_equal(rr_stream_count(world, "DEAD"), 20);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    rr_history_fini(&history);
}

/* Told to leave while it cannot store a dead letter, it leaves, and who comes next has the record. */
static void a_dead_letter_that_was_not_stored_comes_again(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *program;

    configure(world, "full", contract, config);
    rr_stream_make(world, "DEAD", "dead.>", 1);
    rr_history_init(&history, names, rr_world_seed);
    add_deltas(&history, 3, 5, 100);
    rr_publish_history(world, &history, 0, history.count);
    program = rr_child_run(world, config, NULL);
    rr_child_wait_for(program, "dead letters' stream refuses messages", LEAVE_MS);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    rr_stream_make(world, "DEAD", "dead.>", 0);
    program = rr_child_run(world, config, NULL);
    rr_wait_settled(world, SETTLE_MS);
    assert_int_equal(rr_stream_count(world, "DEAD"), 3);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    rr_history_fini(&history);
}

/* Each bad record of the stream is in a dead letter, no good one is. Returns how many there are. */
static size_t assert_each_is_dead_once(rr_world *world, const rr_history *history)
{
    bool *dead = calloc(history->count + 1, sizeof *dead);
    uint64_t letters = rr_stream_count(world, "DEAD");
    size_t bad = 0;

    assert_non_null(dead);
    for (uint64_t k = 1; k <= letters; k++) {
        natsMsg *letter = rr_stream_message(world, "DEAD", k);
        const char *number = NULL;
        uint64_t sequence;

        assert_int_equal(natsMsgHeader_Get(letter, "Rr-Sequence", &number), NATS_OK);
        sequence = strtoull(number, NULL, 10);
        assert_true(sequence >= 1 && sequence <= history->count);
        assert_false(dead[sequence - 1]);
        dead[sequence - 1] = true;
        natsMsg_Destroy(letter);
    }
    for (size_t k = 0; k < history->count; k++) {
        bool is_bad = memmem(history->items[k].payload.data, history->items[k].payload.len, "v1", 2) == NULL;

        assert_int_equal(dead[k], is_bad);
        bad += is_bad;
    }
    free(dead);
    return bad;
}

static bool floor_reaches(rr_world *world, const void *context)
{
    return rr_consumer_progress(world).ack_floor >= *(const uint64_t *)context;
}

/* A tenth is refused, by a process that is killed and by the next one: each is a dead letter, once. */
static void each_refused_record_is_a_dead_letter_exactly_once(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    uint64_t half;
    rr_history history;
    rr_child *killed, *program;

    configure(world, "tenth", contract, config);
    rr_history_init(&history, names, rr_world_seed);
    add_deltas(&history, rr_world_scaled(5000, 50000), 200, 10);
    half = history.count / 3;
    rr_publish_history(world, &history, 0, history.count);
    killed = rr_child_run(world, config, NULL);
    rr_wait(world, floor_reaches, &half, LEAVE_MS, "a third to be done");
    rr_child_kill(killed);
    program = rr_child_run(world, config, NULL);
    rr_wait_settled(world, SETTLE_MS);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    print_message("    %zu of %zu are dead\n", assert_each_is_dead_once(world, &history), history.count);
    rr_assert_cells(world, &history);
    rr_history_fini(&history);
}

/* ---- ack: all ---- */

static void killed_under_ack_all_nothing_is_lost(void **state)
{
    rr_world *world = *state;
    rr_setup setup = {.contracts = contract, .names = names, .batch = 128, .ack_all = true};
    char config[RR_WORLD_PATH];
    uint64_t at = 0;
    rr_history history;
    rr_child *program;

    rr_world_configure(world, "all", &setup, config);
    rr_history_init(&history, names, rr_world_seed);
    add_deltas(&history, rr_world_scaled(8000, 80000), 300, 5);
    rr_publish_history(world, &history, 0, history.count);
    for (unsigned k = 0; k < 3; k++) {
        at += history.count / 4;
        program = rr_child_run(world, config, NULL);
        rr_wait(world, floor_reaches, &at, LEAVE_MS * 2, "a quarter to be done");
        rr_nap_ms((long)rr_history_draw(&history, 15));
        rr_child_kill(program);
    }
    program = rr_child_run(world, config, NULL);
    rr_wait_settled(world, SETTLE_MS);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    assert_int_equal(rr_consumer_progress(world).ack_floor, history.count);
    print_message("    %zu of %zu are dead\n", assert_each_is_dead_once(world, &history), history.count);
    rr_assert_cells(world, &history);
    rr_history_fini(&history);
}

/* Who noticed has stopped by itself, and says that it is a matter of configuration. */
static void stop_reader(rr_child *reader)
{
    if (rr_child_has_said(reader, "somebody else reads")) {
        assert_int_equal(rr_child_wait(reader, LEAVE_MS), CONFIGURATION);
    } else {
        rr_child_kill(reader);
    }
}

/* Two readers of one consumer: the one that notices stops and says why; nothing is lost. */
static void a_second_reader_under_ack_all_is_noticed(void **state)
{
    rr_world *world = *state;
    rr_setup setup = {.contracts = contract, .names = names, .batch = 64, .ack_all = true};
    char config[RR_WORLD_PATH];
    long long until = rr_now_ms() + SETTLE_MS;
    rr_history history;
    rr_child *first, *second;
    bool noticed = false;
    uint64_t all;

    rr_world_configure(world, "all", &setup, config);
    rr_history_init(&history, names, rr_world_seed);
    first = rr_child_run(world, config, NULL);
    second = rr_child_run(world, config, NULL);
    while (!noticed && rr_now_ms() < until) {
        size_t from = history.count;

        add_deltas(&history, 300, 100, 0);
        rr_publish_history(world, &history, from, 300);
        rr_nap_ms(100);
        noticed = rr_child_has_said(first, "somebody else reads") || rr_child_has_said(second, "somebody else reads");
    }
    assert_true(noticed);
    stop_reader(first);
    stop_reader(second);
    first = rr_child_run(world, config, NULL);
    all = history.count;
    /* Not "nothing pending": nats-server 2.9 may count a delivery for ever that two readers had at once. */
    rr_wait(world, floor_reaches, &all, SETTLE_MS, "all records to be acknowledged");
    assert_int_equal(rr_child_stop(first, LEAVE_MS), 0);
    rr_assert_cells(world, &history);
    rr_history_fini(&history);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_texts_of_one_contract_stop_the_second, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_text_that_is_accepted_stops_who_has_the_other_one, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(the_same_contract_in_other_words_is_no_other, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_longer_retention_is_for_windows_after_the_change, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(what_is_rebuilt_has_the_longer_retention, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(without_a_stream_for_dead_letters_it_does_not_start, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(while_the_dead_letters_are_full_none_is_acknowledged_without_its_own,
                                        rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_dead_letter_that_was_not_stored_comes_again, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(each_refused_record_is_a_dead_letter_exactly_once, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(killed_under_ack_all_nothing_is_lost, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_second_reader_under_ack_all_is_noticed, rr_world_begin, rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
