/* What an operator does beside the running program: verify, rewind, rebuild; and session groups that never end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "publish.h"

enum { SOON_MS = 20000, SETTLE_MS = 60000, REBUILD_MS = 90000, KEYS = 100, INPUT = 65, CONFIGURATION = 78 };

static const char *const names[] = {"parts", NULL};
static const char whole[] = "  - {name: parts, mode: cumulative, window: {kind: tumbling, size: 1m}}\n";
static const char decimal[] = "  - {name: parts, mode: cumulative, window: {kind: tumbling, size: 1m},\n"
                              "     measures: {value: {type: decimal}}}\n";
static const char summing[] = "  - {name: parts, mode: delta, window: {kind: tumbling, size: 1m}}\n";

static void configure(rr_world *world, const char *name, const char *contracts, char *config)
{
    rr_setup setup = {.contracts = contracts, .names = names, .batch = 256};

    rr_world_configure(world, name, &setup, config);
}

/* A result that every one of the contracts above takes. */
static void add_result(rr_history *history, size_t key, uint64_t version)
{
    rr_measure value = rr_value_measure((int64_t)(1000 * key + version));
    char name[64], text[64];
    rr_record record;

    snprintf(name, sizeof name, "key-%zu", key);
    record = rr_delta_record(name, history->count, &value, text);
    record.version = (rr_version){0, version};
    rr_history_add(history, 0, &record);
}

/* Each round has one more version of every key. */
static void begin_history(rr_history *history, size_t rounds)
{
    rr_history_init(history, names, rr_world_seed);
    for (size_t version = 1; version <= rounds; version++) {
        for (size_t key = 0; key < KEYS; key++) {
            add_result(history, key, version);
        }
    }
}

static void key_of(const char *prefix, size_t key, char text[160])
{
    snprintf(text, 160, "%s:{parts:key-%zu}:v1:%lld-%lld", prefix, key, (long long)RR_TEST_START,
             (long long)RR_TEST_START + 60000000);
}

static rr_child *take_all(rr_world *world, const char *config)
{
    rr_child *program = rr_child_run(world, config, "--until-idle");

    assert_int_equal(rr_child_wait(program, SETTLE_MS), 0);
    return program;
}

static void set(rr_world *world, const char *key, const char *value)
{
    freeReplyObject(rr_redis_ask(world, (const char *[]){"SET", key, value, NULL}));
}

static void del(rr_world *world, const char *key)
{
    assert_int_equal(rr_redis_integer(world, (const char *[]){"DEL", key, NULL}), 1);
}

static bool exists(rr_world *world, const char *key)
{
    return rr_redis_integer(world, (const char *[]){"EXISTS", key, NULL}) == 1;
}

static size_t keys_like(rr_world *world, const char *pattern)
{
    redisReply *keys = rr_redis_ask(world, (const char *[]){"KEYS", pattern, NULL});
    size_t count = keys->elements;

    freeReplyObject(keys);
    return count;
}

static size_t lines_with(const char *text, const char *wanted)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) {
        count++;
    }
    return count;
}

static rr_child *last_child(rr_world *world)
{
    return &world->children[world->child_count - 1];
}

static char *verify(rr_world *world, const char *config, const char *more, int expected)
{
    int code;
    char *lines = rr_world_output(world, (const char *[]){"verify", "--config", config, more, NULL}, &code);

    if (code != expected) {
        fail_msg("verify: exit code %d, not %d:\n%s", code, expected, lines);
    }
    return lines;
}

static void assert_verified(rr_world *world, const char *config)
{
    free(verify(world, config, NULL, 0));
}

/* ---- verify ---- */

static void verify_finds_what_others_did(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], gone[160], facts[160], text[160], extra[160], broken[160], *value, *at, *lines;
    rr_history history;

    configure(world, "verify", whole, config);
    begin_history(&history, 2);
    rr_publish_history(world, &history, 0, history.count);
    take_all(world, config);
    assert_verified(world, config);

    key_of("rr", 1, gone);
    key_of("rr", 2, facts);
    key_of("rr", 3, text);
    key_of("rr", 4, broken);
    snprintf(extra, sizeof extra, "rr:{parts:nobody}:v1:%lld-%lld", (long long)RR_TEST_START,
             (long long)RR_TEST_START + 60000000);
    value = rr_redis_get(world, text);
    set(world, facts, value);
    set(world, extra, value);
    at = strstr(value, "\"value\":3002");
    assert_non_null(at);
    memcpy(at, "\"value\":3009", strlen("\"value\":3009"));
    set(world, text, value);
    set(world, broken, "{}");
    del(world, gone);
    free(value);

    lines = verify(world, config, NULL, 1);
    assert_int_equal(lines_with(lines, "\n"), 5);
    assert_int_equal(lines_with(lines, "{\"finding\":\"missing\",\"key\":\"rr:{parts:key-1}"), 1);
    assert_int_equal(lines_with(lines, "{\"finding\":\"differs\",\"key\":\"rr:{parts:key-2}"), 1);
    assert_int_equal(lines_with(lines, "{\"finding\":\"differs\",\"key\":\"rr:{parts:key-3}"), 1);
    assert_int_equal(lines_with(lines, "{\"finding\":\"broken\",\"key\":\"rr:{parts:key-4}"), 1);
    assert_int_equal(lines_with(lines, "{\"finding\":\"extra\",\"key\":\"rr:{parts:nobody}"), 1);
    free(lines);
    assert_false(exists(world, gone)); /* it only looks */

    free(verify(world, config, "--repair", 1));
    lines = verify(world, config, NULL, 1);
    assert_int_equal(lines_with(lines, "\n"), 1); /* nothing says that the extra one should go */
    assert_int_equal(lines_with(lines, "\"extra\""), 1);
    free(lines);
    del(world, extra);
    assert_verified(world, config);
    rr_assert_cells(world, &history);

    /* What was put back is a cell like any other. */
    add_result(&history, 1, 3);
    add_result(&history, 2, 3);
    rr_publish_history(world, &history, history.count - 2, 2);
    take_all(world, config);
    rr_assert_cells(world, &history);
    rr_history_fini(&history);
}

static void verify_reads_what_readers_of_sessions_read(void **state)
{
    static const char contract[] = "  - {name: parts, mode: delta, window: {kind: session, gap: 10s}}\n";
    static const char first[] = "rr:{parts:k}:v1:1704103200000000-1704103215000000";
    static const char second[] = "rr:{parts:k}:v1:1704103300000000-1704103315000000";
    rr_world *world = *state;
    char config[RR_WORLD_PATH], *lines, *value;

    configure(world, "sessions", contract, config);
    rr_publish_json(world, config, "parts",
                    "{\"business_key\":\"k\",\"window\":{\"start\":1704103200000000,\"end\":1704103215000000},"
                    "\"metric_version\":\"v1\",\"delta_id\":\"a\",\"value\":1}\n"
                    "{\"business_key\":\"k\",\"window\":{\"start\":1704103300000000,\"end\":1704103315000000},"
                    "\"metric_version\":\"v1\",\"delta_id\":\"b\",\"value\":2}\n");
    take_all(world, config);
    assert_verified(world, config);
    value = rr_redis_get(world, first);
    del(world, first);
    set(world, second, value);
    lines = verify(world, config, "--repair", 1);
    assert_int_equal(lines_with(lines, "\n"), 2);
    assert_int_equal(lines_with(lines, "{\"finding\":\"missing\""), 1);
    assert_int_equal(lines_with(lines, "{\"finding\":\"differs\""), 1);
    free(lines);
    free(value);
    assert_verified(world, config);
    value = rr_redis_get(world, second);
    assert_non_null(value);
    assert_non_null(strstr(value, "\"value\":2"));
    free(value);
}

static void purge_below(rr_world *world, uint64_t sequence)
{
    jsOptions options;

    jsOptions_Init(&options);
    options.Stream.Purge.Sequence = sequence;
    assert_int_equal(js_PurgeStream(world->js, "RESULTS", &options, NULL), NATS_OK);
}

/* A window that begins after the stream's first message is whole; the others are not judged. */
static void what_the_stream_does_not_cover_is_not_judged(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], line[512], key[160];
    long long start = ((long long)time(NULL) / 60 + 2) * 60000000; /* a minute that is to come */
    rr_history history;

    configure(world, "purged", whole, config);
    begin_history(&history, 1);
    rr_publish_history(world, &history, 0, history.count);
    snprintf(line, sizeof line,
             "{\"business_key\":\"young\",\"window\":{\"start\":%lld,\"end\":%lld},\"metric_version\":\"v1\","
             "\"result_version\":1,\"value\":7}\n",
             start, start + 60000000);
    rr_publish_json(world, config, "parts", line);
    take_all(world, config);
    purge_below(world, 51);
    key_of("rr", 5, key); /* of what is purged */
    del(world, key);
    key_of("rr", 70, key); /* its record is still there, but maybe not all of its records */
    del(world, key);
    assert_verified(world, config);
    assert_true(rr_child_has_said(last_child(world), "1 cells equal, 0 differ, 99 not verifiable"));

    snprintf(key, sizeof key, "rr:{parts:young}:v1:%lld-%lld", start, start + 60000000);
    del(world, key);
    free(verify(world, config, NULL, 1));
    rr_history_fini(&history);
}

/* ---- while there is traffic ---- */

static bool is_over(const rr_child *child)
{
    siginfo_t info = {0};

    return child->pid == 0 ||
           (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child->pid);
}

/* Publishes on, in small portions, until the child is over (or for so long). Returns where it stopped. */
static size_t publish_while(rr_world *world, const rr_history *history, size_t from, const rr_child *child,
                            int within_ms)
{
    long long until = rr_now_ms() + within_ms;

    while ((child == NULL || !is_over(child)) && rr_now_ms() < until && from + KEYS <= history->count) {
        rr_publish_history(world, history, from, KEYS);
        from += KEYS;
        rr_nap_ms(20);
    }
    return from;
}

/* One cell that changes with every message is never the same twice; that is no difference. */
static void a_hot_cell_is_verified(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *program, *looker;
    size_t at = 0;

    configure(world, "hot", summing, config);
    rr_history_init(&history, names, rr_world_seed);
    for (size_t k = 0; k < 200000; k++) {
        add_result(&history, 0, k + 1);
    }
    program = rr_child_run(world, config, NULL);
    for (size_t k = 0; k < rr_world_scaled(1, 5); k++) {
        looker = rr_child_start(world, (const char *[]){"verify", "--config", config, "--repair", NULL});
        while (!is_over(looker) && at + 10 <= history.count) {
            rr_publish_history(world, &history, at, 10);
            at += 10;
        }
        assert_int_equal(rr_child_wait(looker, SOON_MS), 0);
        assert_true(rr_child_has_said(looker, " 0 differ"));
        assert_true(rr_child_has_said(looker, " 0 replaced"));
    }
    rr_wait_settled(world, SETTLE_MS);
    history.count = at;
    rr_assert_cells(world, &history);
    assert_verified(world, config);
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    rr_history_fini(&history);
}

static void a_live_stream_is_verified(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *program, *looker;
    size_t at = KEYS;

    configure(world, "live", whole, config);
    begin_history(&history, 1000);
    rr_publish_history(world, &history, 0, at);
    program = rr_child_run(world, config, NULL);
    for (size_t k = 0; k < rr_world_scaled(3, 10); k++) {
        at = publish_while(world, &history, at, NULL, 300);
        looker = rr_child_start(world, (const char *[]){"verify", "--config", config, NULL});
        at = publish_while(world, &history, at, looker, 8000);
        assert_int_equal(rr_child_wait(looker, SOON_MS), 0);
        assert_true(rr_child_has_said(looker, " 100 cells equal, 0 differ"));
    }
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    rr_history_fini(&history);
}

/* ---- rewind ---- */

typedef struct two_keys {
    char a[160], b[160];
} two_keys;

static bool are_back(rr_world *world, const void *context)
{
    const two_keys *keys = context;

    return exists(world, keys->a) && exists(world, keys->b);
}

static void rewind_by(rr_world *world, const char *config, const char *option, const char *value, const char *expected)
{
    char *line = rr_world_output(world, (const char *[]){"rewind", "--config", config, option, value, NULL}, NULL);

    assert_string_equal(line, expected);
    free(line);
}

static void rewind_brings_back_what_was_deleted(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], now[40], *line;
    rr_history history;
    rr_child *program;
    two_keys keys;
    time_t second;
    struct tm utc;

    configure(world, "rewind", whole, config);
    begin_history(&history, 1);
    rr_publish_history(world, &history, 0, 50);
    rr_nap_ms(1100);
    second = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&second, &utc));
    rr_nap_ms(1100);
    rr_publish_history(world, &history, 50, 50);
    program = rr_child_run(world, config, NULL);
    rr_wait_settled(world, SOON_MS);
    rr_nap_ms(1200); /* the checkpoint of that */

    key_of("rr", 60, keys.a);
    key_of("rr", 99, keys.b);
    del(world, keys.a);
    del(world, keys.b);
    line = rr_world_output(world, (const char *[]){"rewind", "--config", config, "--to-seq", "61", "--dry-run", NULL},
                           NULL);
    assert_string_equal(line, "{\"source\":\"results\",\"from\":61,\"to\":100,\"dry_run\":true}\n");
    free(line);
    rr_nap_ms(2500);
    assert_false(exists(world, keys.a) || exists(world, keys.b));
    rewind_by(world, config, "--to-seq", "61", "{\"source\":\"results\",\"from\":61,\"to\":100,\"dry_run\":false}\n");
    rr_wait(world, are_back, &keys, SOON_MS, "cells that were deleted (by sequence)");

    del(world, keys.a);
    del(world, keys.b);
    rewind_by(world, config, "--to-time", now, "{\"source\":\"results\",\"from\":51,\"to\":100,\"dry_run\":false}\n");
    rr_wait(world, are_back, &keys, SOON_MS, "cells that were deleted (by time)");

    key_of("rr", 0, keys.a);
    del(world, keys.a);
    rewind_by(world, config, "--to-start", NULL, "{\"source\":\"results\",\"from\":1,\"to\":100,\"dry_run\":false}\n");
    rr_wait(world, are_back, &keys, SOON_MS, "cells that were deleted (from the start)");
    assert_verified(world, config);
    rr_assert_cells(world, &history);
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    assert_int_equal(rr_child_count_before(program, " again"), 0); /* the consumer was not moved */
    rr_history_fini(&history);
}

/* ---- rebuild ---- */

/* One who reads all keys, by the generation in force, as docs/readers.md says. */
typedef struct reader {
    pthread_t thread;
    int port;
    atomic_bool over;
    unsigned long looks, missing, back;
    unsigned long long seen[KEYS];
    unsigned generations;
    char prefix[64];
} reader;

static void ask_generation(redisContext *link, char prefix[64])
{
    redisReply *reply = redisCommand(link, "GET rr:generation");

    snprintf(prefix, 64, "%s", reply != NULL && reply->type == REDIS_REPLY_STRING ? reply->str : "rr");
    freeReplyObject(reply);
}

static redisReply *read_all(redisContext *link, const char *prefix)
{
    static const char mget[] = "MGET";
    char text[KEYS][160];
    const char *words[KEYS + 1] = {mget};

    for (size_t k = 0; k < KEYS; k++) {
        key_of(prefix, k, text[k]);
        words[k + 1] = text[k];
    }
    return redisCommandArgv(link, KEYS + 1, words, NULL);
}

static void look(reader *r, redisContext *link)
{
    char prefix[64], again[64];
    redisReply *values;
    unsigned missing = 0;

    ask_generation(link, prefix);
    values = read_all(link, prefix);
    for (size_t k = 0; values != NULL && k < KEYS; k++) {
        const char *version =
            values->element[k]->type == REDIS_REPLY_STRING ? strstr(values->element[k]->str, "\"version\":") : NULL;
        unsigned long long number = version == NULL ? 0 : strtoull(version + strlen("\"version\":"), NULL, 10);

        missing += version == NULL;
        r->back += version != NULL && number < r->seen[k];
        r->seen[k] = number > r->seen[k] ? number : r->seen[k];
    }
    freeReplyObject(values);
    ask_generation(link, again);
    r->missing += strcmp(prefix, again) == 0 ? missing : 0;
    r->generations += strcmp(prefix, r->prefix) != 0;
    snprintf(r->prefix, sizeof r->prefix, "%s", prefix);
    r->looks++;
}

static void *read_on(void *context)
{
    reader *r = context;
    redisContext *link = redisConnect("127.0.0.1", r->port);

    while (link != NULL && link->err == 0 && !atomic_load(&r->over)) {
        look(r, link);
        rr_nap_ms(2);
    }
    redisFree(link);
    return NULL;
}

static void begin_reading(reader *r, rr_world *world)
{
    *r = (reader){.port = world->redis.port, .prefix = "rr"};
    assert_int_equal(pthread_create(&r->thread, NULL, read_on, r), 0);
}

/* From here on what it saw may be read. */
static void stop_reading(reader *r)
{
    atomic_store(&r->over, true);
    pthread_join(r->thread, NULL);
    print_message("    %lu looks of a reader, %lu missing, %lu older than before\n", r->looks, r->missing, r->back);
    assert_true(r->looks > 10);
    assert_int_equal(r->missing, 0);
    assert_int_equal(r->back, 0);
}

static void end_reading(reader *r, unsigned generations)
{
    stop_reading(r);
    assert_int_equal(r->generations, generations);
}

/* The cells that follow from the facts below a prefix are those that `apply` makes of the history under the newest
 * contract. */
static void assert_cells_below(rr_world *world, const char *prefix, const rr_history *history, size_t contract)
{
    const char *name = history->names[contract];
    char url[96], *stored, *expected = rr_cells_applied(world, history, contract);

    snprintf(url, sizeof url, "%s/0", world->redis.url);
    stored = rr_world_output(world,
                             (const char *[]){"apply", "--contract", world->contracts, "--name", name, "--store", url,
                                              "--prefix", prefix, "--cells", "/dev/null", NULL},
                             NULL);
    rr_assert_same_lines(name, expected, stored);
    free(stored);
    free(expected);
}

static rr_child *start_rebuild(rr_world *world, const char *config, const char *more)
{
    return rr_child_start(world, (const char *[]){"rebuild", "--config", config, more, NULL});
}

/* Only what is in force is left. */
static void assert_only(rr_world *world, const char *prefix)
{
    char pattern[80], *now = rr_redis_get(world, "rr:generation");
    size_t all = keys_like(world, "*"), ours;

    assert_string_equal(now, prefix);
    snprintf(pattern, sizeof pattern, "%s:*", prefix);
    ours = keys_like(world, pattern);
    if (all != ours + 1) {
        redisReply *keys = rr_redis_ask(world, (const char *[]){"KEYS", "*", NULL});

        for (size_t k = 0; k < keys->elements; k++) {
            print_error("%s\n", keys->element[k]->str);
        }
        fail_msg("%zu keys, of which %zu below %s", all, ours, prefix);
    }
    free(now);
}

/* Two programs run all the time; what others have done to the cells is gone afterwards. */
static void rebuild_while_programs_run(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], key[160], *value;
    rr_history history;
    rr_child *first, *second, *rebuild;
    reader r;
    size_t at = KEYS;

    configure(world, "running", whole, config);
    begin_history(&history, 2000);
    rr_publish_history(world, &history, 0, at);
    first = rr_child_run(world, config, NULL);
    second = rr_child_run(world, config, NULL);
    rr_wait_settled(world, SOON_MS);
    key_of("rr", 7, key); /* a cell with the facts of another one: reading again would not mend it */
    value = rr_redis_get(world, key);
    snprintf(key, sizeof key, "rr:{parts:nobody}:v1:%lld-%lld", (long long)RR_TEST_START,
             (long long)RR_TEST_START + 60000000);
    set(world, key, value);
    free(value);

    begin_reading(&r, world);
    rebuild = start_rebuild(world, config, NULL);
    at = publish_while(world, &history, at, rebuild, REBUILD_MS);
    assert_int_equal(rr_child_wait(rebuild, SOON_MS), 0);
    at = publish_while(world, &history, at, NULL, 500);
    rr_wait_settled(world, SETTLE_MS);
    rr_nap_ms(1500);
    end_reading(&r, 1);
    history.count = at;
    assert_verified(world, config);
    assert_cells_below(world, "rr.g1", &history, 0);
    assert_int_equal(rr_child_stop(first, SOON_MS), 0);
    assert_int_equal(rr_child_stop(second, SOON_MS), 0);
    assert_only(world, "rr.g1");
    value = rr_world_output(world, (const char *[]){"get", "--config", config, "parts", "key-3", NULL}, NULL);
    assert_int_equal(lines_with(value, "\n"), 1);
    free(value);
    print_message("    %zu records\n", at);
    rr_history_fini(&history);
}

/* The old program goes on under the old contract until the switch, and stops then; the new one takes over. */
static void rebuild_for(rr_world *world, const char *contracts)
{
    char config[RR_WORLD_PATH], changed[RR_WORLD_PATH];
    rr_history history;
    rr_child *old, *fresh, *rebuild;
    reader r;
    size_t at = KEYS;

    configure(world, "old", whole, config);
    begin_history(&history, 2000);
    rr_publish_history(world, &history, 0, at);
    old = rr_child_run(world, config, NULL);
    rr_wait_settled(world, SOON_MS);
    configure(world, "new", contracts, changed);
    begin_reading(&r, world);
    rebuild = start_rebuild(world, changed, NULL);
    at = publish_while(world, &history, at, rebuild, REBUILD_MS);
    assert_int_equal(rr_child_wait(rebuild, SOON_MS), 0);
    assert_int_equal(rr_child_wait(old, SOON_MS), CONFIGURATION);
    assert_true(rr_child_has_said(old, "contract parts, as stored: "));
    assert_true(rr_child_has_said(old, "Stored: '"));
    assert_false(rr_child_has_said(old, "\\x0a"));
    fresh = rr_child_run(world, changed, NULL);
    at = publish_while(world, &history, at, NULL, 500);
    rr_wait_settled(world, SETTLE_MS);
    rr_nap_ms(1500);
    atomic_store(&r.over, true);
    pthread_join(r.thread, NULL);
    assert_int_equal(r.missing, 0);
    assert_int_equal(r.generations, 1);
    history.count = at;
    assert_verified(world, changed);
    assert_cells_below(world, "rr.g1", &history, 0);
    assert_int_equal(rr_child_stop(fresh, SOON_MS), 0);
    assert_only(world, "rr.g1");
    rr_history_fini(&history);
}

static void rebuild_for_another_type(void **state)
{
    rebuild_for(*state, decimal);
}

static void rebuild_for_another_mode(void **state)
{
    rebuild_for(*state, summing);
}

/* Every mode, and most kinds of windows and corrections; cells with many parts too. */
static void rebuild_makes_every_mode_anew(void **state)
{
    rr_world *world = *state;
    rr_setup setup = {.contracts = rr_mixed_contracts, .names = rr_mixed_names};
    char config[RR_WORLD_PATH];
    rr_history history;

    rr_world_configure(world, "mixed", &setup, config);
    rr_history_init(&history, rr_mixed_names, rr_world_seed);
    rr_history_mixed(&history, rr_world_scaled(6000, 60000), 200);
    rr_history_repeat(&history, 10);
    rr_publish_history(world, &history, 0, history.count);
    take_all(world, config);
    for (int round = 1; round <= 2; round++) {
        char prefix[16];

        assert_int_equal(rr_child_wait(start_rebuild(world, config, NULL), REBUILD_MS), 0);
        snprintf(prefix, sizeof prefix, "rr.g%d", round);
        assert_only(world, prefix);
        for (size_t k = 0; rr_mixed_names[k] != NULL; k++) {
            assert_cells_below(world, prefix, &history, k);
        }
        assert_verified(world, config);
    }
    take_all(world, config); /* the daemon takes over, and finds nothing to do */
    assert_true(rr_child_has_said(last_child(world), " 0 delivered"));
    assert_verified(world, config);
    rr_history_fini(&history);
}

/* ---- rebuild, cut short ---- */

static void kill_after(rr_world *world, const char *config, const char *said, int within_ms)
{
    rr_child *rebuild = start_rebuild(world, config, NULL);

    if (said != NULL) {
        rr_child_wait_for(rebuild, said, SOON_MS);
    }
    rr_nap_ms(1 + rand() % within_ms);
    rr_child_kill(rebuild);
}

static void a_killed_rebuild_does_no_harm(void **state)
{
    static const struct {
        const char *said;
        int within_ms;
    } rows[] = {
        {NULL, 300},                      /* while it reads or verifies */
        {"switching readers over", 3000}, /* while programs pause, or just after */
        {"removing the old one", 5500},   /* while the old one is there, or goes */
    };
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *program;
    reader r;
    size_t at = KEYS;

    srand((unsigned)rr_world_seed);
    configure(world, "killed", whole, config);
    begin_history(&history, 2000);
    rr_publish_history(world, &history, 0, at);
    program = rr_child_run(world, config, NULL);
    rr_wait_settled(world, SOON_MS);
    begin_reading(&r, world);
    for (size_t k = 0; k < rr_world_scaled(3, 9); k++) {
        kill_after(world, config, rows[k % 3].said, rows[k % 3].within_ms);
        at = publish_while(world, &history, at, NULL, 300);
    }
    assert_int_equal(rr_child_wait(start_rebuild(world, config, NULL), REBUILD_MS), 0);
    at = publish_while(world, &history, at, NULL, 300);
    rr_wait_settled(world, SETTLE_MS);
    rr_nap_ms(1500);
    stop_reading(&r);
    assert_true(r.generations >= 1);
    history.count = at;
    assert_verified(world, config);
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    assert_cells_below(world, r.prefix, &history, 0);
    assert_only(world, r.prefix);
    rr_history_fini(&history);
}

static void two_rebuilds_do_not_meet(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *first, *second;

    configure(world, "two", whole, config);
    begin_history(&history, 5);
    rr_publish_history(world, &history, 0, history.count);
    take_all(world, config);
    first = start_rebuild(world, config, NULL);
    second = start_rebuild(world, config, NULL);
    assert_int_equal(rr_child_wait(first, REBUILD_MS), 0);
    assert_int_equal(rr_child_wait(second, REBUILD_MS), 0);
    assert_only(world, "rr.g2");
    assert_cells_below(world, "rr.g2", &history, 0);
    rr_history_fini(&history);
}

static void keeping_and_dropping_the_old_one(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], key[160], *line;
    rr_history history;

    configure(world, "kept", whole, config);
    begin_history(&history, 1);
    rr_publish_history(world, &history, 0, history.count);
    take_all(world, config);
    line = rr_world_output(world, (const char *[]){"rebuild", "--config", config, "--dry-run", NULL}, NULL);
    assert_non_null(strstr(line, "{\"before\":\"rr\",\"after\":\"rr.g1\",\"switched\":false,"));
    free(line);
    assert_int_equal(keys_like(world, "rr:generation"), 0);
    assert_int_equal(keys_like(world, "rr.g*"), 0);

    assert_int_equal(rr_child_wait(start_rebuild(world, config, "--keep-old"), REBUILD_MS), 0);
    key_of("rr", 5, key);
    assert_true(exists(world, key));
    key_of("rr.g1", 5, key);
    assert_true(exists(world, key));
    set(world, "rr:{others:key}:v1:0-60000000", "of somebody else");
    set(world, "rrx", "of somebody else");
    assert_int_equal(rr_child_wait(start_rebuild(world, config, "--drop-old"), REBUILD_MS), 0);
    assert_true(exists(world, key));
    assert_true(exists(world, "rrx"));
    assert_true(exists(world, "rr:{others:key}:v1:0-60000000"));
    del(world, "rrx");
    del(world, "rr:{others:key}:v1:0-60000000");
    assert_only(world, "rr.g1");
    rr_history_fini(&history);
}

static rr_child *refused(rr_world *world, const char *config, int expected)
{
    int code;

    free(rr_world_output(world, (const char *[]){"rebuild", "--config", config, NULL}, &code));
    assert_int_equal(code, expected);
    assert_int_equal(keys_like(world, "rr.g*"), 0);
    return last_child(world);
}

static void what_could_not_be_made_again_is_not_given_up(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], key[160];
    rr_history history;

    configure(world, "lost", whole, config);
    begin_history(&history, 1);
    rr_publish_history(world, &history, 0, history.count);
    take_all(world, config);
    set(world, "rr:contract:{another}", "- name: another\n");
    assert_true(rr_child_has_said(refused(world, config, CONFIGURATION), "contract another also keeps results"));
    del(world, "rr:contract:{another}");
    set(world, "rr:checkpoint:{another}", "{}");
    assert_true(rr_child_has_said(refused(world, config, CONFIGURATION), "source another also keeps results"));
    del(world, "rr:checkpoint:{another}");
    purge_below(world, 51);
    assert_true(rr_child_has_said(refused(world, config, INPUT), "begins at sequence 51"));
    assert_int_equal(rr_child_wait(start_rebuild(world, config, "--from-what-is-there"), REBUILD_MS), 0);
    assert_only(world, "rr.g1");
    assert_int_equal(keys_like(world, "rr.g1:{parts:*"), 50);
    key_of("rr.g1", 70, key);
    assert_true(exists(world, key));
    rr_history_fini(&history);
}

/* An alert that was not sent yet moves to the new generation. */
static void alerts_that_wait_are_not_dropped(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], other[RR_WORLD_PATH], alerts[160];
    rr_setup nobody = {.contracts = whole, .names = names, .alerts = "[{nats: {url: \"nats://127.0.0.1:1\"}}]"};
    rr_setup heard = {.contracts = whole, .names = names, .alerts = alerts};
    natsSubscription *subscription = NULL;
    natsMsg *message = NULL;
    rr_history history;
    rr_child *program;

    snprintf(alerts, sizeof alerts, "[{nats: {url: \"%s\"}}]", world->nats.url);
    rr_world_configure(world, "nobody-hears", &nobody, other);
    rr_world_configure(world, "heard", &heard, config);
    begin_history(&history, 0);
    add_result(&history, 1, 2);
    add_result(&history, 1, 1);
    rr_publish_history(world, &history, 0, 1);
    program = rr_child_run(world, other, NULL);
    rr_wait_settled(world, SOON_MS);
    rr_child_kill(program);
    program = rr_child_run(world, other, NULL);
    rr_publish_history(world, &history, 1, 1);
    rr_wait_settled(world, SOON_MS);
    rr_nap_ms(500);
    rr_child_kill(program);

    assert_int_equal(natsConnection_SubscribeSync(&subscription, world->connection, "rr.alerts.>"), NATS_OK);
    assert_int_equal(natsConnection_Flush(world->connection), NATS_OK);
    assert_int_equal(rr_child_wait(start_rebuild(world, config, NULL), REBUILD_MS), 0);
    assert_only(world, "rr.g1");
    program = rr_child_run(world, config, NULL);
    if (natsSubscription_NextMsg(&message, subscription, SOON_MS) == NATS_OK) {
        assert_string_equal(natsMsg_GetSubject(message), "rr.alerts.parts.stale_overwrite");
        natsMsg_Destroy(message);
    } else {
        fail_msg("the alert did not come");
    }
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    natsSubscription_Destroy(subscription);
    rr_history_fini(&history);
}

/* ---- sessions ---- */

static int64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Windows of one key, one after the other, up to this moment. Returns where the next one begins. */
static int64_t add_windows(rr_history *history, int64_t from, int64_t step_us)
{
    for (; from + step_us <= wall_us(); from += step_us) {
        rr_measure value = rr_value_measure(1);
        char text[64];
        rr_record record = rr_delta_record("one", history->count, &value, text);

        record.window = (rr_window){from, from + step_us - 1000};
        rr_history_add(history, 0, &record);
    }
    return from;
}

static size_t windows_listed(rr_world *world)
{
    char *group = rr_redis_get(world, "rr:{parts:one}:v1:sessions"), *end;
    size_t count;

    assert_non_null(group);
    end = strstr(group, "],\"updated_at\"");
    assert_non_null(end);
    *end = '\0';
    count = lines_with(group, "\"start\":");
    free(group);
    return count;
}

/* A group has 1000 windows at most; in these seconds it has more, but never so many at once. */
static void a_session_group_goes_on_for_ever(void **state)
{
    static const char contract[] = "  - {name: parts, mode: delta, window: {kind: session, gap: 1ms},\n"
                                   "     retention: 1s, grace: 1s}\n";
    enum { STEP_US = 5000, RUN_MS = 8000 };
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_child *program;
    int64_t from;
    long long until;
    size_t sent = 0;

    configure(world, "sessions", contract, config);
    rr_history_init(&history, names, rr_world_seed);
    program = rr_child_run(world, config, NULL);
    from = wall_us() / 1000 * 1000;
    until = rr_now_ms() + RUN_MS;
    while (rr_now_ms() < until) {
        from = add_windows(&history, from, STEP_US);
        rr_publish_history(world, &history, sent, history.count - sent);
        sent = history.count;
        rr_nap_ms(50);
    }
    rr_wait_settled(world, SOON_MS);
    print_message("    %zu windows, %zu of them listed at the end\n", sent, windows_listed(world));
    assert_true(sent > 1200);
    assert_true(windows_listed(world) < 1000);
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    assert_int_equal(rr_child_count_after(program, "APPLIED "), sent);
    assert_int_equal(rr_child_count_after(program, "REFUSED "), 0);
    assert_int_equal(rr_child_count_after(program, "TOO_LATE "), 0);
    rr_history_fini(&history);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verify_finds_what_others_did, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(verify_reads_what_readers_of_sessions_read, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(what_the_stream_does_not_cover_is_not_judged, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_live_stream_is_verified, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_hot_cell_is_verified, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(rewind_brings_back_what_was_deleted, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(rebuild_while_programs_run, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(rebuild_for_another_type, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(rebuild_for_another_mode, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(rebuild_makes_every_mode_anew, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_killed_rebuild_does_no_harm, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(two_rebuilds_do_not_meet, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(keeping_and_dropping_the_old_one, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(what_could_not_be_made_again_is_not_given_up, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(alerts_that_wait_are_not_dropped, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_session_group_goes_on_for_ever, rr_world_begin, rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
