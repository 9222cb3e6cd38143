/* Several processes on one durable consumer: whichever is killed, at any moment, the cells are those of the records. */
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
#include "relay.h"

enum { LEAVE_MS = 10000, SETTLE_MS = 40000, SETTLE_FULL_MS = 400000, BIRTHS_MAX = 8 };

/* A program that is killed and started again: what its lives did, of those that left in peace. */
typedef struct slot {
    rr_world *world;
    char config[RR_WORLD_PATH];
    rr_child *lives[BIRTHS_MAX];
    size_t count;
} slot;

static rr_child *life(const slot *s)
{
    return s->lives[s->count - 1];
}

static void bring_up(slot *s)
{
    assert_true(s->count < BIRTHS_MAX);
    s->lives[s->count++] = rr_child_run(s->world, s->config, NULL);
}

static bool has_delivered(rr_world *world, const void *context)
{
    return rr_consumer_progress(world).delivered >= *(const uint64_t *)context;
}

/* Kills it at a random moment of its work. */
static void kill_somewhere(slot *s, rr_history *history, uint64_t from)
{
    uint64_t at = from + rr_history_draw(history, 500);

    rr_wait(s->world, has_delivered, &at, LEAVE_MS, "records to be under way");
    rr_nap_ms((long)rr_history_draw(history, 20));
    rr_child_signal(life(s), SIGSTOP);
    rr_nap_ms((long)rr_history_draw(history, 50));
    rr_child_kill(life(s));
}

static bool has_lost(rr_world *world, const void *context)
{
    (void)world;
    return rr_relay_lost(context) > 2000; /* far more than the pulls that are under way */
}

/* Kills it between a swap and its acknowledgement: what it says to NATS is lost, what it does to Redis is
 * done. It has asked for records before, so it gets some. */
static void kill_before_its_acknowledgements_arrive(slot *s, rr_relay *relay, const rr_history *history, size_t from,
                                                    size_t count)
{
    rr_publish_history(s->world, history, from, count / 2);
    rr_wait_settled(s->world, SETTLE_MS);
    rr_relay_mute(relay, true);
    rr_publish_history(s->world, history, from + count / 2, count - count / 2);
    rr_wait(s->world, has_lost, relay, LEAVE_MS, "acknowledgements to get lost");
    rr_child_kill(life(s));
    rr_relay_mute(relay, false);
}

static unsigned long long sum_before(const slot *s, const char *word)
{
    unsigned long long sum = 0;

    for (size_t k = 0; k < s->count; k++) {
        sum += s->lives[k]->exit_code == 0 ? rr_child_count_before(s->lives[k], word) : 0;
    }
    return sum;
}

static unsigned long long sum_after(const slot *s, const char *word)
{
    unsigned long long sum = 0;

    for (size_t k = 0; k < s->count; k++) {
        sum += s->lives[k]->exit_code == 0 ? rr_child_count_after(s->lives[k], word) : 0;
    }
    return sum;
}

static void settle_and_stop(slot *a, slot *b)
{
    rr_wait_settled(a->world, rr_world_full ? SETTLE_FULL_MS : SETTLE_MS);
    assert_int_equal(rr_child_stop(life(a), LEAVE_MS), 0);
    assert_int_equal(rr_child_stop(life(b), LEAVE_MS), 0);
}

/* The test was one: both worked, they met, and something came again. */
static void assert_they_met(const slot *a, const slot *b, size_t records)
{
    unsigned long long by_a = sum_before(a, " acknowledged"), by_b = sum_before(b, " acknowledged");
    unsigned long long lost = sum_after(a, "lost ") + sum_after(b, "lost ");

    print_message("    %zu records; %llu and %llu acknowledged, %llu swaps lost, %llu delivered again\n", records, by_a,
                  by_b, lost, sum_before(a, " again") + sum_before(b, " again"));
    /* Of what the processes count; those that were killed printed no counts. */
    assert_true(by_a * 5 >= by_a + by_b && by_b * 5 >= by_a + by_b && (by_a + by_b) * 2 >= records);
    assert_true(lost > 0);
}

static void killed_between_swap_and_acknowledgement_the_cells_are_as_in_memory(void **state)
{
    rr_world *world = *state;
    rr_relay *relay = rr_relay_open(world->nats.port), *even = rr_relay_open(world->nats.port);
    slot a = {.world = world}, b = {.world = world};
    size_t fresh = rr_world_scaled(20000, 100000), part;
    char url[64];
    rr_setup setup = {.contracts = rr_mixed_contracts, .names = rr_mixed_names, .batch = 64, .pulls = 2};
    rr_history history;

    assert_non_null(relay);
    assert_non_null(even); /* both have the same way to go, so that neither has nearly all the work */
    rr_history_init(&history, rr_mixed_names, rr_world_seed);
    rr_history_mixed(&history, fresh * 5 / 6, fresh / 20);
    rr_history_repeat(&history, 20);
    rr_history_shuffle(&history);
    part = history.count / 16;

    setup.nats_url = url;
    snprintf(url, sizeof url, "nats://127.0.0.1:%d", rr_relay_port(even));
    rr_world_configure(world, "b", &setup, b.config);
    snprintf(url, sizeof url, "nats://127.0.0.1:%d", rr_relay_port(relay));
    rr_world_configure(world, "a", &setup, a.config);
    bring_up(&a);
    bring_up(&b);

    kill_before_its_acknowledgements_arrive(&a, relay, &history, 0, part);
    bring_up(&a);
    rr_publish_history(world, &history, part, part);
    kill_somewhere(&a, &history, part);
    bring_up(&a);
    rr_publish_history(world, &history, 2 * part, part);
    kill_somewhere(&b, &history, 2 * part);
    bring_up(&b);
    rr_publish_history(world, &history, 3 * part, history.count - 3 * part);
    settle_and_stop(&a, &b);

    assert_they_met(&a, &b, history.count);
    assert_true(sum_before(&a, " again") + sum_before(&b, " again") > 0);
    assert_int_equal(rr_stream_count(world, "DEAD"), 0);
    print_message("    %zu cells\n", rr_assert_cells(world, &history));
    rr_history_fini(&history);
    rr_relay_close(relay);
    rr_relay_close(even);
}

/* The whole value must be there, e.g. "measures":{"value":500}. */
static void assert_sum(rr_world *world, const char *key, int64_t sum)
{
    char expected[64], *value = rr_redis_get(world, key);

    snprintf(expected, sizeof expected, "\"measures\":{\"value\":%lld}", (long long)sum);
    assert_non_null(value);
    if (strstr(value, expected) == NULL) {
        fail_msg("%s: expected %s, found %.200s", key, expected, value);
    }
    free(value);
}

static void exact_sum(rr_world *world, const char *contract, const char *key, int windows)
{
    const char *const names[] = {"hot", NULL};
    rr_setup setup = {.contracts = contract, .names = names, .batch = 32, .pulls = 2};
    slot a = {.world = world}, b = {.world = world};
    size_t count = rr_world_scaled(10000, 100000);
    rr_history history;
    int64_t sum = 0;

    rr_world_configure(world, "hot", &setup, a.config);
    strcpy(b.config, a.config);
    rr_history_init(&history, names, rr_world_seed);
    for (size_t k = 0; k < count; k++) {
        rr_measure value = rr_value_measure((int64_t)rr_history_draw(&history, 2000001) - 1000000);
        char text[64];
        rr_record record = rr_delta_record("one", k, &value, text);

        /* Windows inside the one that spans them all. */
        record.window.start += windows > 1 && k != 0 ? (int64_t)(k % (size_t)windows) * 1000000 : 0;
        rr_history_add(&history, 0, &record);
        sum += value.integer;
    }
    rr_history_repeat(&history, 20);
    rr_history_shuffle(&history);
    bring_up(&a);
    bring_up(&b);
    rr_publish_history(world, &history, 0, history.count);
    settle_and_stop(&a, &b);
    assert_they_met(&a, &b, history.count);
    assert_sum(world, key, sum);
    rr_history_fini(&history);
}

static void two_processes_one_hot_key_the_sum_is_exact(void **state)
{
    exact_sum(*state, "  - {name: hot, mode: delta, window: {kind: tumbling, size: 1m}}\n",
              "rr:{hot:one}:v1:1704067200000000-1704067260000000", 1);
}

static void two_processes_one_group_of_sessions_the_sum_is_exact(void **state)
{
    exact_sum(*state, "  - {name: hot, mode: delta, window: {kind: session, gap: 10s, max: 1h, ends: last}}\n",
              "rr:{hot:one}:v1:1704067200000000-1704067260000000", 20);
}

static bool both_are_in_the_status(rr_world *world, const void *context)
{
    char *value = rr_redis_get(world, "rr:status:{hot}");
    const char *first = value == NULL ? NULL : strstr(value, "\"name\":\"reconciler-");
    bool both = first != NULL && strstr(first + 1, "\"name\":\"reconciler-") != NULL &&
                strstr(value, "{\"state\":\"ok\"") != NULL;

    (void)context;
    free(value);
    return both;
}

static void two_processes_make_one_status(void **state)
{
    rr_world *world = *state;
    const char *const names[] = {"hot", NULL};
    rr_setup setup = {.contracts = "  - {name: hot, mode: delta}\n", .names = names, .batch = 32, .pulls = 2};
    slot a = {.world = world}, b = {.world = world};
    char *value;

    rr_world_configure(world, "hot", &setup, a.config);
    strcpy(b.config, a.config);
    bring_up(&a);
    bring_up(&b);
    rr_wait(world, both_are_in_the_status, NULL, SETTLE_MS, "both processes to stand in the status");
    settle_and_stop(&a, &b);
    value = rr_redis_get(world, "rr:status:{hot}");
    assert_non_null(value);
    assert_non_null(strstr(value, "\"processes\":[]"));
    free(value);
}

/* Cells of the keys `<name>-0` and so on: one record each. */
static void add_cells(rr_history *history, const char *name, size_t count, uint64_t id)
{
    for (size_t k = 0; k < count; k++) {
        rr_measure value = rr_value_measure(1);
        char key[32], text[64];
        rr_record record;

        snprintf(key, sizeof key, "%s-%zu", name, k);
        record = rr_delta_record(key, id, &value, text);
        rr_history_add(history, 0, &record);
    }
}

/* Each process writes only its own cells, so nothing that it counts may look like contention. After many new cells
 * it takes the next ones for new too, and Redis answers that they are not. */
static void one_process_alone_predicts_wrongly_but_loses_no_swap(void **state)
{
    enum { CELLS = 300 };
    const char *const names[] = {"hot", NULL};
    rr_setup setup = {.contracts = "  - {name: hot, mode: delta, window: {kind: tumbling, size: 1m}}\n",
                      .names = names};
    slot a = {.world = *state};
    rr_history history;

    rr_world_configure(a.world, "alone", &setup, a.config);
    rr_history_init(&history, names, rr_world_seed);
    add_cells(&history, "old", CELLS, 1);
    add_cells(&history, "new", CELLS, 1);
    add_cells(&history, "old", CELLS, 2);
    bring_up(&a);
    rr_publish_history(a.world, &history, 0, CELLS);
    rr_wait_settled(a.world, SETTLE_MS);
    assert_int_equal(rr_child_stop(life(&a), LEAVE_MS), 0);
    assert_int_equal(rr_child_count_after(life(&a), "mispredicted "), 0);
    bring_up(&a); /* it has no values from before */
    for (size_t part = 1; part < 3; part++) {
        rr_publish_history(a.world, &history, part * CELLS, CELLS);
        rr_wait_settled(a.world, SETTLE_MS);
    }
    assert_int_equal(rr_child_stop(life(&a), LEAVE_MS), 0);
    assert_true(rr_child_count_after(life(&a), "mispredicted ") > 0);
    assert_int_equal(sum_after(&a, "lost "), 0);
    assert_int_equal(sum_after(&a, "won "), 3 * CELLS);
    rr_history_fini(&history);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_processes_make_one_status, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(killed_between_swap_and_acknowledgement_the_cells_are_as_in_memory,
                                        rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(one_process_alone_predicts_wrongly_but_loses_no_swap, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(two_processes_one_hot_key_the_sum_is_exact, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(two_processes_one_group_of_sessions_the_sum_is_exact, rr_world_begin,
                                        rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
