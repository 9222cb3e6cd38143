/* What a record costs, as the servers count it: commands, messages and bytes, never time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "publish.h"

enum { RUN_MS = 60000, RUN_FULL_MS = 300000 };

/* Takes all there is in the stream, and leaves. */
static rr_child *run_until_idle(rr_world *world, const char *config)
{
    rr_child *program = rr_child_run(world, config, "--until-idle");

    assert_int_equal(rr_child_wait(program, rr_world_full ? RUN_FULL_MS : RUN_MS), 0);
    return program;
}

/* ---- many cells ---- */

/* A result of each of `count` cells. */
static void add_round(rr_history *history, size_t count, uint64_t version)
{
    for (size_t k = 0; k < count; k++) {
        rr_measure value = rr_value_measure((int64_t)(k + version));
        char key[64], text[64];
        rr_record record;

        snprintf(key, sizeof key, "key-%zu", k);
        record = rr_delta_record(key, k, &value, text);
        record.delta_id = (rr_slice){NULL, 0};
        record.version = (rr_version){0, version};
        rr_history_add(history, 0, &record);
    }
}

/* Calls that came from a client. The others are made inside our functions, once a cell: no messages. */
static long long calls_from_clients(rr_world *world)
{
    static const char *const inner[] = {"get",    "set",     "mset",      "type", "exists",          "getrange",
                                        "strlen", "persist", "pexpireat", "xadd", "config|resetstat"};
    long long calls = rr_redis_calls(world, "");

    for (size_t k = 0; k < sizeof inner / sizeof *inner; k++) {
        calls -= rr_redis_calls(world, inner[k]);
    }
    return calls;
}

static void assert_cheap(rr_world *world, const char *config, size_t cells, size_t records)
{
    long long messages = rr_nats_number(world, "in_msgs"), begun = rr_now_ms(), beats, calls, reads;

    freeReplyObject(rr_redis_ask(world, (const char *[]){"CONFIG", "RESETSTAT", NULL}));
    run_until_idle(world, config);
    /* A start, and each second the status, the checkpoint and the look for alerts. */
    beats = 60 + (rr_now_ms() - begun) * 30 / 1000;
    calls = calls_from_clients(world);
    reads = rr_redis_info(world, "stats", "total_reads_processed");
    messages = rr_nats_number(world, "in_msgs") - messages;
    print_message("    %zu records of %zu cells: %lld calls, %lld reads by redis, %lld messages to nats\n", records,
                  cells, calls, reads, messages);
    assert_true(calls <= (long long)cells / 32 + beats);
    assert_true(reads <= (long long)records / 8 + beats);
    assert_true(messages <= (long long)(records + records / 500) + beats);
}

static void there_is_no_round_trip_a_record(void **state)
{
    static const char *const names[] = {"many", NULL};
    rr_world *world = *state;
    rr_setup setup = {.contracts = "  - {name: many, mode: cumulative, window: {kind: tumbling, size: 1m}}\n",
                      .names = names};
    size_t count = rr_world_scaled(20000, 100000);
    char config[RR_WORLD_PATH];
    rr_history history;

    rr_world_configure(world, "many", &setup, config);
    rr_history_init(&history, names, rr_world_seed);
    add_round(&history, count, 1);
    rr_publish_history(world, &history, 0, count);
    assert_cheap(world, config, count, count); /* cells that come into being */
    add_round(&history, count, 2);
    rr_publish_history(world, &history, count, count);
    assert_cheap(world, config, count, count); /* cells that change */
    rr_publish_history(world, &history, 0, count);
    assert_cheap(world, config, count, count); /* results that are older */
    assert_int_equal(rr_assert_cells(world, &history), count);
    rr_history_fini(&history);
}

/* ---- a cell that has grown ---- */

typedef struct cost {
    long long calls, bytes;
} cost;

static cost cost_of_run(rr_world *world, const char *config)
{
    cost c;

    freeReplyObject(rr_redis_ask(world, (const char *[]){"CONFIG", "RESETSTAT", NULL}));
    run_until_idle(world, config);
    c.calls = rr_redis_calls(world, "");
    c.bytes = rr_redis_info(world, "stats", "total_net_input_bytes") +
              rr_redis_info(world, "stats", "total_net_output_bytes");
    return c;
}

typedef void add_one(rr_history *history, const char *key, uint64_t id);

static void add_delta(rr_history *history, const char *key, uint64_t id)
{
    rr_measure value = rr_value_measure((int64_t)id);
    char text[64];
    rr_record record = rr_delta_record(key, id, &value, text);

    rr_history_add(history, 0, &record);
}

/* Each contributor's first row. */
static void add_row(rr_history *history, const char *key, uint64_t id)
{
    rr_measure value = rr_value_measure((int64_t)id);
    char text[64];
    rr_record record = rr_delta_record(key, id, &value, text);

    record.contributor = record.delta_id;
    record.delta_id = (rr_slice){NULL, 0};
    record.version = (rr_version){0, id + 1};
    rr_history_add(history, 0, &record);
}

/* What a batch costs on a cell that has `held` identities: 500 new ones, and 100 that were there. */
static cost cost_of_batch(rr_world *world, const char *config, rr_history *history, add_one *add, const char *key,
                          uint64_t held)
{
    size_t from = history->count;

    for (uint64_t id = 0; id < held; id++) {
        add(history, key, id);
    }
    rr_publish_history(world, history, from, history->count - from);
    run_until_idle(world, config);
    from = history->count;
    for (uint64_t id = 0; id < 500; id++) {
        add(history, key, held + id);
    }
    for (uint64_t k = 0; k < 100; k++) {
        add(history, key, k);
    }
    rr_publish_history(world, history, from, history->count - from);
    return cost_of_run(world, config);
}

static void assert_grows_for_nothing(rr_world *world, const char *contract, add_one *add)
{
    static const char *const names[] = {"grown", NULL};
    rr_setup setup = {.contracts = contract, .names = names};
    uint64_t many = rr_world_scaled(20000, 200000);
    char config[RR_WORLD_PATH];
    rr_history history;
    cost idle, small, big;

    rr_world_configure(world, "grown", &setup, config);
    rr_history_init(&history, names, rr_world_seed);
    run_until_idle(world, config); /* the first start makes what later ones find */
    idle = cost_of_run(world, config);
    small = cost_of_batch(world, config, &history, add, "small", 200);
    big = cost_of_batch(world, config, &history, add, "big", many);
    print_message("    with 200: %lld calls, %lld bytes; with %llu: %lld calls, %lld bytes (idle: %lld, %lld)\n",
                  small.calls - idle.calls, small.bytes - idle.bytes, (unsigned long long)many, big.calls - idle.calls,
                  big.bytes - idle.bytes, idle.calls, idle.bytes);
    assert_true(big.calls - idle.calls <= 2 * (small.calls - idle.calls) + 40);
    assert_true(big.bytes - idle.bytes <= 2 * (small.bytes - idle.bytes) + 20000);
    rr_assert_cells(world, &history);
    rr_history_fini(&history);
}

static void a_delta_cell_of_many_identities_costs_no_more(void **state)
{
    assert_grows_for_nothing(*state, "  - {name: grown, mode: delta, window: {kind: tumbling, size: 1m}}\n", add_delta);
}

static void a_retraction_cell_of_many_contributors_costs_no_more(void **state)
{
    assert_grows_for_nothing(*state, "  - {name: grown, mode: retraction, window: {kind: tumbling, size: 1m}}\n",
                             add_row);
}

static void a_session_of_many_identities_costs_no_more(void **state)
{
    assert_grows_for_nothing(
        *state, "  - {name: grown, mode: delta, window: {kind: session, gap: 30s, max: 1h, ends: last}}\n", add_delta);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(there_is_no_round_trip_a_record, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_delta_cell_of_many_identities_costs_no_more, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_retraction_cell_of_many_contributors_costs_no_more, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(a_session_of_many_identities_costs_no_more, rr_world_begin, rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
