/* The loop with all of its threads at once: fetching, deciding, and handing out alerts, on a Redis of its own. It says
 * most under the thread sanitizer (`tools/test --full`); what is stored must be right in any case. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "contract_yaml.h"
#include "service.h"
#include "record_json.h"
#include "record_proto.h"
#include "servers.h"
#include "source_script.h"
#include "store_redis.h"

enum { RECORDS = 1500, KEYS = 20, BATCH = 40, EVERY = 50, SKIPPED = 77 };

static const char contracts_text[] = "contracts:\n"
                                     "- {name: sums, mode: delta, window: {kind: global}}\n"
                                     "- {name: latest, mode: cumulative, window: {kind: global}}\n";

static rr_server server;
static rr_contract_list contracts;
static rr_bound_contract texts[2];
static rr_buf printed[2], payloads[RECORDS];
static rr_script_record script[RECORDS];
static atomic_uint alerts, told;

/* Most are deltas, each its own identity; each EVERYth is an old version, which is an alert. */
static void make_payload(size_t k)
{
    bool latest = k % EVERY < 2;
    char line[512];
    rr_arena arena;
    rr_record record;
    int64_t clock_us;

    if (latest) {
        snprintf(line, sizeof line,
                 "{\"business_key\":\"k%zu\",\"metric_version\":\"v1\",\"result_version\":%zu,\"value\":%zu}",
                 k / EVERY, 2 - k % EVERY, k % EVERY);
    } else {
        snprintf(line, sizeof line,
                 "{\"business_key\":\"k%zu\",\"metric_version\":\"v1\",\"delta_id\":\"d%zu\",\"value\":1}", k % KEYS,
                 k);
    }
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_record_from_json(rr_slice_of(line), &arena, &record, &clock_us, NULL), RR_DECODED_RECORD);
    assert_true(rr_record_to_proto(&record, &payloads[k]));
    rr_arena_fini(&arena);
    script[k] = (rr_script_record){latest ? RR_SLICE("latest") : RR_SLICE("sums"), rr_buf_view(&payloads[k]),
                                   INT64_C(1767261900000000)};
}

static int begin(void **state)
{
    rr_problems problems = {0};

    (void)state;
    assert_int_equal(rr_contracts_parse("contracts", rr_slice_of(contracts_text), &contracts, &problems), RR_OK);
    rr_problems_fini(&problems);
    for (size_t k = 0; k < contracts.count; k++) {
        rr_contract_print(&contracts.items[k], &printed[k]);
        texts[k] = (rr_bound_contract){&contracts.items[k], rr_buf_view(&printed[k])};
    }
    for (size_t k = 0; k < RECORDS; k++) {
        make_payload(k);
    }
    return rr_server_start_redis(&server, NULL) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    rr_server_fini(&server);
    for (size_t k = 0; k < RECORDS; k++) {
        rr_buf_fini(&payloads[k]);
    }
    for (size_t k = 0; k < contracts.count; k++) {
        rr_buf_fini(&printed[k]);
    }
    rr_contracts_fini(&contracts);
    return 0;
}

static rr_bound_route route(const void *context, rr_slice subject)
{
    (void)context;
    return (rr_bound_route){.contract = rr_contracts_find(&contracts, subject)};
}

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void log_line(rr_log_level level, const char *text)
{
    (void)level;
    (void)text;
    atomic_fetch_add(&told, 1);
}

/* A burst is one message, which says of how many. */
static rr_status count_alerts(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    (void)channel;
    (void)error;
    for (size_t k = 0; k < count; k++) {
        const char *at = memmem(messages[k].json.data, messages[k].json.len, "\"count\":", 8);

        atomic_fetch_add(&alerts, at == NULL ? 0 : (unsigned)strtoul(at + 8, NULL, 10));
    }
    return RR_OK;
}

static rr_store *open_store(void)
{
    rr_store *store = NULL;
    rr_error error = {0};

    if (rr_store_redis_ops.open(server.url, NULL, &store, &error) != RR_OK) {
        fail_msg("%s", error.text);
    }
    return store;
}

/* The sum of each key, as readers find it. */
static void assert_sums(rr_store *store)
{
    size_t wanted[KEYS] = {0};
    rr_arena arena;

    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < RECORDS; k++) {
        wanted[k % KEYS] += k % EVERY >= 2;
    }
    for (size_t k = 0; k < KEYS; k++) {
        char key[64], measures[64];
        rr_load load = {.key = {key, (size_t)snprintf(key, sizeof key, "rr:{sums:k%zu}:v1", k)}};

        snprintf(measures, sizeof measures, "\"measures\":{\"value\":%zu}", wanted[k]);
        assert_int_equal(rr_store_redis_ops.load(store, &load, 1, &arena, NULL), RR_OK);
        assert_non_null(memmem(load.value.data, load.value.len, measures, strlen(measures)));
    }
    rr_arena_fini(&arena);
}

static void all_threads_at_once(void **state)
{
    static const rr_channel_ops channel_ops = {.send = count_alerts};
    static atomic_int stop;
    rr_store *store = open_store(), *outbox_store = open_store();
    rr_source *source = rr_source_script_new(script, RECORDS, NULL, NULL);
    rr_bound_source over = {.ops = &rr_source_script_ops,
                            .source = source,
                            .name = RR_SLICE("s"),
                            .stream = RR_SLICE("S"),
                            .consumer = RR_SLICE("c"),
                            .batch = BATCH,
                            .dead_letters = "dead",
                            .route = route};
    rr_bound_channel channel = {.ops = &channel_ops};
    rr_service_totals totals = {0};
    rr_service_options options = {.env.store_ops = &rr_store_redis_ops,
                                  .env.store = store,
                                  .outbox_store = outbox_store,
                                  .env.prefix = RR_SLICE("rr"),
                                  .env.sources = &over,
                                  .env.source_count = 1,
                                  .env.contracts = texts,
                                  .env.contract_count = contracts.count,
                                  .channels = &channel,
                                  .channel_count = 1,
                                  .until_idle = true,
                                  .env.stop = &stop,
                                  .env.now_us = now_us,
                                  .env.log = log_line};
    rr_error error = {0};

    (void)state;
    if (rr_service_run(&options, &totals, &error) != RR_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(rr_source_script_acked(source), RECORDS);
    assert_int_equal(totals.verdicts[RR_VERDICT_APPLIED], RECORDS - RECORDS / EVERY);
    assert_int_equal(totals.verdicts[RR_VERDICT_STALE], RECORDS / EVERY);
    assert_int_equal(atomic_load(&alerts), RECORDS / EVERY);
    assert_sums(store);
    rr_source_script_ops.close(source);
    rr_store_redis_ops.close(outbox_store);
    rr_store_redis_ops.close(store);
}

static atomic_uint fetched, handed_over, handed_over_later;

static rr_status count_fetch(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                             rr_error *error)
{
    rr_status status = rr_source_script_ops.fetch(source, deliveries, most, count, wait_ms, error);

    atomic_fetch_add(&fetched, status == RR_OK ? (unsigned)*count : 0);
    return status;
}

/* The third batch fails for good, when the next one waits behind it, since one more is fetched. */
static rr_status fail_third(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    if (atomic_fetch_add(&handed_over, 1) < 2) {
        return rr_store_redis_ops.swap_ahead(store, swaps, count, arena, error);
    }
    atomic_fetch_add(&handed_over_later, 1);
    for (int k = 0; k < 60000 && atomic_load(&fetched) < 5 * BATCH; k++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return rr_fail(error, RR_INTERNAL, "as planned");
}

static void nothing_is_decided_behind_a_batch_that_could_not_be(void **state)
{
    static atomic_int stop;
    rr_store *store = open_store(), *outbox_store = open_store();
    rr_store_ops store_ops = rr_store_redis_ops;
    rr_source_ops source_ops = rr_source_script_ops;
    rr_source *source = rr_source_script_new(script, RECORDS, NULL, NULL);
    rr_bound_source over = {.ops = &source_ops,
                            .source = source,
                            .name = RR_SLICE("s"),
                            .stream = RR_SLICE("S"),
                            .consumer = RR_SLICE("c"),
                            .batch = BATCH,
                            .dead_letters = "dead",
                            .route = route};
    rr_service_totals totals = {0};
    rr_service_options options = {.env.store_ops = &store_ops,
                                  .env.store = store,
                                  .outbox_store = outbox_store,
                                  .env.prefix = RR_SLICE("behind"),
                                  .env.sources = &over,
                                  .env.source_count = 1,
                                  .env.contracts = texts,
                                  .env.contract_count = contracts.count,
                                  .until_idle = true,
                                  .env.stop = &stop,
                                  .env.now_us = now_us,
                                  .env.log = log_line};

    (void)state;
    store_ops.swap_ahead = fail_third;
    source_ops.fetch = count_fetch;
    assert_int_equal(rr_service_run(&options, &totals, NULL), RR_INTERNAL);
    assert_int_equal(atomic_load(&handed_over_later), 1);
    assert_true(rr_source_script_acked(source) <= 2 * BATCH);
    rr_source_script_ops.close(source);
    rr_store_redis_ops.close(outbox_store);
    rr_store_redis_ops.close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_threads_at_once),
                                       cmocka_unit_test(nothing_is_decided_behind_a_batch_that_could_not_be)};

    return rr_server_installed(RR_SERVER_REDIS) ? cmocka_run_group_tests(tests, begin, end) : SKIPPED;
}
