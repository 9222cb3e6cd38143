/* What a compare-and-swap costs: swaps against a private redis-server beside pipelined plain SETs of the same
 * bytes, and against the memory store. Takes some seconds; only the ratios say something. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "servers.h"
#include "store_memory.h"
#include "store_redis.h"

enum { UNITS = 20480, BATCH = 1024, VALUE_LEN = 600, ROUNDS = 5, PASSES = 2 };

static char keys[UNITS][64], values[2][UNITS][VALUE_LEN];
static rr_swap swaps[BATCH];

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Bytes as facts and tokens have them: Lua's hash looks at few, and must not find them alike. */
static void scribble(char *to, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static uint64_t state = 1;

    for (size_t i = 0; i < len; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        to[i] = digits[state >> 58];
    }
}

/* Two values of each unit, which take turns. */
static void fill(void)
{
    for (unsigned i = 0; i < UNITS; i++) {
        snprintf(keys[i], sizeof keys[i], "rr:{contract:business-key-%u}:v1:%u-%u", i, i * 60, i * 60 + 60);
        for (unsigned turn = 0; turn < 2; turn++) {
            char tail[64];
            int len = snprintf(tail, sizeof tail, ",\"token\":\"BirthXYZProcessProc%07u%u\"}", i, turn);

            scribble(values[turn][i], VALUE_LEN);
            memcpy(values[turn][i] + VALUE_LEN - len, tail, (size_t)len);
        }
    }
}

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void swap_batch(const rr_store_ops *ops, rr_store *store, rr_arena *arena, unsigned first, unsigned turn,
                       bool made, int64_t expire_at_ms)
{
    rr_error error = {0};

    for (unsigned i = 0; i < BATCH; i++) {
        rr_slice was = {values[1 - turn][first + i], VALUE_LEN};

        swaps[i] = (rr_swap){.key = rr_slice_of(keys[first + i]),
                             .token = made ? rr_value_token(was) : (rr_slice){0},
                             .value = {values[turn][first + i], VALUE_LEN},
                             .expire_at_ms = expire_at_ms,
                             .partless = true};
    }
    rr_arena_reset(arena);
    if (ops->swap(store, swaps, BATCH, arena, &error) != RR_OK) {
        fail("swap", error.text);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        if (swaps[i].answer != RR_SWAP_WON) {
            fail("swap", "not won");
        }
    }
}

/* Seconds of one pass over all units; turn and made say what is there. */
static double swap_pass(const rr_store_ops *ops, rr_store *store, unsigned turn, bool made, int64_t expire_at_ms)
{
    rr_arena arena;
    double since = now_s();

    rr_arena_init(&arena, 0);
    for (unsigned first = 0; first < UNITS; first += BATCH) {
        swap_batch(ops, store, &arena, first, turn, made, expire_at_ms);
    }
    rr_arena_fini(&arena);
    return now_s() - since;
}

static void set_batch(redisContext *context, unsigned first, unsigned turn, const char *expire_at)
{
    for (unsigned i = first; i < first + BATCH; i++) {
        const char *words[] = {"SET", keys[i], values[turn][i], "PXAT", expire_at};
        size_t lens[] = {3, strlen(keys[i]), VALUE_LEN, 4, strlen(expire_at)};

        redisAppendCommandArgv(context, expire_at[0] == '\0' ? 3 : 5, words, lens);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        void *reply = NULL;

        if (redisGetReply(context, &reply) != REDIS_OK) {
            fail("SET", context->errstr);
        }
        freeReplyObject(reply);
    }
}

static double set_pass(redisContext *context, unsigned turn, const char *expire_at)
{
    double since = now_s();

    for (unsigned first = 0; first < UNITS; first += BATCH) {
        set_batch(context, first, turn, expire_at);
    }
    return now_s() - since;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof *times, by_value);
    return times[ROUNDS / 2];
}

/* The server's time on the processor so far. */
static double server_s(redisContext *context)
{
    redisReply *reply = redisCommand(context, "INFO cpu");
    const char *system = strstr(reply->str, "used_cpu_sys_main_thread:");
    const char *user = strstr(reply->str, "used_cpu_user_main_thread:");
    double seconds = strtod(strchr(system, ':') + 1, NULL) + strtod(strchr(user, ':') + 1, NULL);

    freeReplyObject(reply);
    return seconds;
}

static void compare(rr_store *store, redisContext *context, int64_t expire_at_ms, const char *what)
{
    double swapped[ROUNDS], set[ROUNDS], at_swaps = 0, at_sets = 0;
    char expire_at[24] = "";

    if (expire_at_ms != 0) {
        snprintf(expire_at, sizeof expire_at, "%lld", (long long)expire_at_ms);
    }
    for (int round = 0; round < ROUNDS; round++) {
        at_sets -= server_s(context);
        set[round] = set_pass(context, 1, expire_at);
        set[round] += set_pass(context, 0, expire_at);
        at_sets += server_s(context);
        at_swaps -= server_s(context);
        swapped[round] = swap_pass(&rr_store_redis_ops, store, 1, true, expire_at_ms);
        swapped[round] += swap_pass(&rr_store_redis_ops, store, 0, true, expire_at_ms);
        at_swaps += server_s(context);
    }
    printf("redis, %s: swap %.0f k/s, plain SET %.0f k/s, ratio %.2f; server %.2f and %.2f us each, ratio "
           "%.2f\n",
           what, 2 * UNITS / median(swapped) / 1e3, 2 * UNITS / median(set) / 1e3, median(set) / median(swapped),
           at_swaps * 1e6 / (2 * ROUNDS * UNITS), at_sets * 1e6 / (2 * ROUNDS * UNITS), at_sets / at_swaps);
}

static void bench_redis(void)
{
    static rr_server server;
    rr_store_options options = {.timeout_ms = 5000};
    rr_error error = {0};
    redisContext *context;
    rr_store *store;

    if (!rr_server_start_redis(&server, NULL)) {
        fail("redis-server", "did not start");
    }
    if (rr_store_redis_ops.open(server.url, &options, &store, &error) != RR_OK) {
        fail("open", error.text);
    }
    context = redisConnect("127.0.0.1", server.port);
    swap_pass(&rr_store_redis_ops, store, 0, false, 0);
    compare(store, context, 0, "no expiry");
    compare(store, context, INT64_C(4102444800000), "expiry");
    redisFree(context);
    rr_store_redis_ops.close(store);
    rr_server_fini(&server);
}

static void bench_memory(void)
{
    double times[ROUNDS];
    rr_error error = {0};
    rr_store *store;

    if (rr_store_memory_ops.open("memory:", NULL, &store, &error) != RR_OK) {
        fail("open", error.text);
    }
    swap_pass(&rr_store_memory_ops, store, 0, false, 0);
    for (int round = 0; round < ROUNDS; round++) {
        times[round] = 0;
        for (int i = 0; i < PASSES * 4; i++) {
            times[round] += swap_pass(&rr_store_memory_ops, store, 1 - i % 2, true, 0) / (PASSES * 4);
        }
    }
    printf("memory: %.0f ns a swap of %d bytes, the filling in of the call included\n", median(times) / UNITS * 1e9,
           VALUE_LEN);
    rr_store_memory_ops.close(store);
}

int main(void)
{
    fill();
    bench_memory();
    bench_redis();
    return 0;
}
