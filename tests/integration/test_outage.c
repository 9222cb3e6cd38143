/* Servers that are away, or hold what is not ours: nothing is lost, nothing good becomes a dead letter, and
 * it goes on by itself. */
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

#include "publish.h"

enum { LEAVE_MS = 10000, LEAVE_ALONE_MS = 10000, BACK_MS = 5000, SETTLE_MS = 30000, LOAD = 400 };

static const char *const names[] = {"sums", NULL};
static const char contract[] = "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}}\n";

/* A server that does not answer must be away for longer than a request waits for it. */
static void stay_away(bool silent)
{
    rr_nap_ms((long)rr_world_scaled(silent ? 3000 : 1000, 20000));
}

/* Deltas for many keys, and one record for a key of its own, whose cell tells that work has begun again. */
static void add_load(rr_history *history, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        rr_measure value = rr_value_measure((int64_t)rr_history_draw(history, 100));
        char key[32], text[64];
        rr_record record;

        snprintf(key, sizeof key, "key-%llu", (unsigned long long)rr_history_draw(history, 50));
        record = rr_delta_record(key, history->count, &value, text);
        rr_history_add(history, 0, &record);
    }
}

static void add_sentinel(rr_history *history, unsigned number, char *key)
{
    rr_measure value = rr_value_measure(1);
    char name[32], text[64];
    rr_record record;

    snprintf(name, sizeof name, "sentinel-%u", number);
    snprintf(key, 96, "rr:{sums:sentinel-%u}:v1:1704067200000000-1704067260000000", number);
    record = rr_delta_record(name, number, &value, text);
    rr_history_add(history, 0, &record);
}

static void publish_rest(rr_world *world, const rr_history *history, size_t *published)
{
    rr_publish_history(world, history, *published, history->count - *published);
    *published = history->count;
}

static bool key_is_there(rr_world *world, const void *key)
{
    return rr_redis_integer(world, (const char *[]){"EXISTS", key, NULL}) == 1;
}

typedef struct trouble {
    rr_world *world;
    rr_child *program;
    rr_history history;
    size_t published;
    char config[RR_WORLD_PATH];
} trouble;

static void open_trouble(trouble *t, rr_world *world, size_t batch)
{
    rr_setup setup = {.contracts = contract, .names = names, .batch = batch};

    *t = (trouble){.world = world};
    rr_world_configure(world, "outage", &setup, t->config);
    rr_history_init(&t->history, names, rr_world_seed);
    t->program = rr_child_run(world, t->config, NULL);
    add_load(&t->history, LOAD);
    publish_rest(world, &t->history, &t->published);
}

/* It took up work by itself; nothing was lost, and no good record is a dead letter. */
static void close_trouble(trouble *t)
{
    add_load(&t->history, LOAD);
    publish_rest(t->world, &t->history, &t->published);
    rr_wait_settled(t->world, SETTLE_MS);
    assert_int_equal(rr_child_stop(t->program, LEAVE_MS), 0);
    assert_int_equal(rr_child_count_before(t->program, " dead letters"), 0);
    assert_int_equal(rr_stream_count(t->world, "DEAD"), 0);
    rr_assert_cells(t->world, &t->history);
    rr_history_fini(&t->history);
}

static void wait_applied(trouble *t, const char *key, const char *what)
{
    long long took = rr_wait(t->world, key_is_there, key, BACK_MS, what);

    print_message("    %s: the first record was applied after %lld ms\n", what, took);
}

/* Load while Redis is away; then the clock runs from its return. */
static void redis_gone(trouble *t, unsigned number, void (*take_away)(rr_server *), bool (*bring_back)(rr_server *),
                       const char *what)
{
    char key[96];

    add_load(&t->history, LOAD);
    take_away(&t->world->redis);
    publish_rest(t->world, &t->history, &t->published);
    stay_away(take_away == rr_server_pause);
    add_sentinel(&t->history, number, key);
    publish_rest(t->world, &t->history, &t->published);
    assert_true(bring_back(&t->world->redis));
    rr_redis_reconnect(t->world);
    wait_applied(t, key, what);
}

static bool resume(rr_server *server)
{
    rr_server_resume(server);
    return true;
}

static bool restart(rr_server *server)
{
    return rr_server_restart(server, true);
}

static void redis_is_away_and_comes_back(void **state)
{
    trouble t;

    open_trouble(&t, *state, 64);
    redis_gone(&t, 1, rr_server_pause, resume, "redis did not answer");
    rr_wait_settled(t.world, SETTLE_MS);
    redis_gone(&t, 2, rr_server_stop, restart, "redis was stopped");
    rr_wait_settled(t.world, SETTLE_MS);
    redis_gone(&t, 3, rr_server_kill, restart, "redis was killed");
    close_trouble(&t);
    assert_true(rr_child_count_after(t.program, "outages ") >= 1);
}

/* NATS takes no records while it is away; so the sentinel is sent when it is back. */
static void nats_gone(trouble *t, unsigned number, void (*take_away)(rr_server *), bool (*bring_back)(rr_server *),
                      const char *what)
{
    char key[96];

    add_load(&t->history, LOAD);
    publish_rest(t->world, &t->history, &t->published);
    take_away(&t->world->nats);
    stay_away(take_away == rr_server_pause);
    assert_true(bring_back(&t->world->nats));
    rr_nats_reconnect(t->world);
    add_sentinel(&t->history, number, key);
    publish_rest(t->world, &t->history, &t->published);
    wait_applied(t, key, what);
}

static void nats_is_away_and_comes_back(void **state)
{
    trouble t;

    open_trouble(&t, *state, 64);
    nats_gone(&t, 1, rr_server_pause, resume, "nats did not answer");
    nats_gone(&t, 2, rr_server_stop, restart, "nats was stopped");
    nats_gone(&t, 3, rr_server_kill, restart, "nats was killed");
    close_trouble(&t);
}

/* The program starts before its servers, logs what it waits for, and goes on by itself when they come. */
static void started_before_its_servers_it_waits_for_them(void **state)
{
    rr_world *world = *state;
    trouble t;

    open_trouble(&t, world, 0);
    rr_wait_settled(world, SETTLE_MS);
    assert_int_equal(rr_child_stop(t.program, LEAVE_MS), 0);
    rr_server_stop(&world->redis);
    t.program = rr_child_start(world, (const char *[]){"run", "--config", t.config, NULL});
    rr_child_wait_for(t.program, "waiting for a server: ", LEAVE_MS);
    assert_true(restart(&world->redis));
    rr_redis_reconnect(world);
    rr_child_wait_for(t.program, " running", BACK_MS);
    close_trouble(&t);
}

static void told_to_leave_it_finishes_and_leaves(void **state)
{
    trouble t;
    long long begun;

    open_trouble(&t, *state, 256);
    add_load(&t.history, rr_world_scaled(20000, 100000));
    publish_rest(t.world, &t.history, &t.published);
    begun = rr_now_ms();
    assert_int_equal(rr_child_stop(t.program, LEAVE_MS), 0);
    print_message("    left after %lld ms\n", rr_now_ms() - begun);
    /* What it had not done, the next one does. */
    t.program = rr_child_run(t.world, t.config, NULL);
    close_trouble(&t);
}

static void told_to_leave_while_redis_is_away_it_leaves(void **state)
{
    rr_world *world = *state;
    long long begun;
    trouble t;

    open_trouble(&t, world, 0);
    rr_wait_settled(world, SETTLE_MS);
    rr_server_pause(&world->redis);
    add_load(&t.history, LOAD);
    publish_rest(world, &t.history, &t.published);
    rr_child_wait_for(t.program, "cannot be reached", LEAVE_MS);
    begun = rr_now_ms();
    assert_int_equal(rr_child_stop(t.program, LEAVE_MS), 0);
    print_message("    left after %lld ms\n", rr_now_ms() - begun);
    rr_server_resume(&world->redis);
    t.program = rr_child_run(world, t.config, NULL);
    close_trouble(&t);
}

static void told_to_leave_while_nats_is_away_it_leaves(void **state)
{
    rr_world *world = *state;
    long long begun;
    trouble t;

    open_trouble(&t, world, 0);
    rr_wait_settled(world, SETTLE_MS);
    rr_server_pause(&world->nats);
    rr_nap_ms(200);
    begun = rr_now_ms();
    assert_int_equal(rr_child_stop(t.program, LEAVE_ALONE_MS), 0);
    print_message("    left after %lld ms\n", rr_now_ms() - begun);
    rr_server_resume(&world->nats);
    rr_nats_reconnect(world);
    t.program = rr_child_run(world, t.config, NULL);
    close_trouble(&t);
}

/* ---- a key that holds something else ---- */

#define POISONED "rr:{sums:key-7}:v1:1704067200000000-1704067260000000"

static uint64_t records_of(const rr_history *history, const char *key)
{
    uint64_t count = 0;

    for (size_t k = 0; k < history->count; k++) {
        count += memmem(history->items[k].payload.data, history->items[k].payload.len, key, strlen(key)) != NULL;
    }
    return count;
}

/* One cell cannot be stored: its records wait, and the other records are settled. When the key is gone the cell is
 * stored. */
static void poisoned_by(rr_world *world, const char *const *poison)
{
    rr_setup setup = {.contracts = contract, .names = names};
    trouble t = {.world = world};
    uint64_t waiting;

    rr_world_configure(world, "poison", &setup, t.config);
    rr_history_init(&t.history, names, rr_world_seed);
    for (size_t k = 0; k < 400; k++) {
        rr_measure value = rr_value_measure(1);
        char key[32], text[64];
        rr_record record;

        snprintf(key, sizeof key, "key-%zu", k % 10);
        record = rr_delta_record(key, k, &value, text);
        rr_history_add(&t.history, 0, &record);
    }
    waiting = records_of(&t.history, "key-7");
    assert_int_equal(waiting, 40);
    freeReplyObject(rr_redis_ask(world, poison));
    t.program = rr_child_run(world, t.config, NULL);
    publish_rest(world, &t.history, &t.published);

    rr_wait_unacknowledged(world, waiting, SETTLE_MS);
    rr_child_wait_for(t.program, POISONED, LEAVE_MS);
    assert_true(key_is_there(world, "rr:{sums:key-6}:v1:1704067200000000-1704067260000000"));
    rr_nap_ms(2500); /* they have come again by now */
    rr_wait_unacknowledged(world, waiting, SETTLE_MS);
    assert_int_equal(rr_stream_count(world, "DEAD"), 0);

    freeReplyObject(rr_redis_ask(world, (const char *[]){"DEL", POISONED, NULL}));
    close_trouble(&t);
}

static void a_key_that_is_a_list_fails_alone(void **state)
{
    poisoned_by(*state, (const char *[]){"LPUSH", POISONED, "not", "ours", NULL});
}

static void a_key_that_is_another_text_fails_alone(void **state)
{
    poisoned_by(*state, (const char *[]){"SET", POISONED, "{\"state\":\"present\",\"measures\":{\"value\":7}}", NULL});
}

static void a_cell_of_a_newer_program_is_not_touched(void **state)
{
    poisoned_by(*state, (const char *[]){
                            "SET", POISONED,
                            "{\"state\":\"present\",\"measures\":{\"value\":7},\"version\":null,\"origin\":\"LIVE\","
                            "\"status\":\"PROVISIONAL\",\"conflicts\":[],\"updated_at\":\"2024-01-01T00:00:00Z\","
                            "\"format\":999,\"facts\":\"AAAA\",\"token\":\"aaaaaaaabbbbbbbbbbbcccccccc\"}",
                            NULL});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(redis_is_away_and_comes_back, rr_world_begin_lasting, rr_world_end),
        cmocka_unit_test_setup_teardown(nats_is_away_and_comes_back, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(started_before_its_servers_it_waits_for_them, rr_world_begin_lasting,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(told_to_leave_it_finishes_and_leaves, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(told_to_leave_while_redis_is_away_it_leaves, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(told_to_leave_while_nats_is_away_it_leaves, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_key_that_is_a_list_fails_alone, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_key_that_is_another_text_fails_alone, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_cell_of_a_newer_program_is_not_touched, rr_world_begin, rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
