/* Streams of others through mappings, on real servers: the examples give their cells, a wrong mapping drains nothing, two
 * mappings never read one stream, and messages of several records survive any death of the program. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>

#include "publish.h"
#include "relay.h"

enum {
    DONE_MS = 60000,
    DONE_FULL_MS = 400000,
    LEAVE_MS = 10000,
    LETTERS_MOST = 1000,
    OF_A_MESSAGE = 12,
    REFUSED_PLACE = 8,
    INPUT = 65,
    CONFIGURATION = 78
};

static int done_ms(void)
{
    return rr_world_full ? DONE_FULL_MS : DONE_MS;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);

    assert_non_null(file);
    assert_non_null(text);
    assert_in_range(fread(text, 1, 65535, file), 1, 65534);
    fclose(file);
    return text;
}

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

/* ---- the examples ---- */

typedef struct example {
    const char *folder, *stream, *subject, *contract;
    unsigned applied, absorbed, stale, skipped;
} example;

static void copy_file(const char *from, const char *to)
{
    static char bytes[65536];
    FILE *file = fopen(from, "r");

    assert_non_null(file);
    write_file(to, bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
}

/* Copies the folder's files into the world's. */
static void copy_example(rr_world *world, const example *e)
{
    char folder[512];
    DIR *files;

    snprintf(folder, sizeof folder, "%s/examples/attach/%s", RR_SOURCE_DIR, e->folder);
    files = opendir(folder);
    assert_non_null(files);
    for (const struct dirent *file; (file = readdir(files)) != NULL;) {
        char from[1024], to[RR_WORLD_PATH + 256];

        if (file->d_name[0] != '.') {
            snprintf(from, sizeof from, "%s/%s", folder, file->d_name);
            snprintf(to, sizeof to, "%s/%s", world->folder, file->d_name);
            copy_file(from, to);
        }
    }
    closedir(files);
}

/* Puts `with` in place of what stands there once. */
static char *replaced(char *text, const char *what, const char *with)
{
    char *at = strstr(text, what), *made = calloc(1, strlen(text) + strlen(with) + 1);

    assert_non_null(at);
    assert_non_null(made);
    sprintf(made, "%.*s%s%s", (int)(at - text), text, with, at + strlen(what));
    free(text);
    return made;
}

/* The example's configuration with the world's servers. Its contracts alone are world->contracts, for `apply`. */
static void configure_example(rr_world *world, const example *e, char *config)
{
    char *text, *contracts;

    copy_example(world, e);
    snprintf(config, RR_WORLD_PATH, "%s/config.yaml", world->folder);
    snprintf(world->contracts, sizeof world->contracts, "%s/contracts.yaml", world->folder);
    text = replaced(read_file(config), "redis://127.0.0.1:6379", world->redis.url);
    text = replaced(text, "nats://127.0.0.1:4222", world->nats.url);
    contracts = strstr(text, "\ncontracts:\n");
    assert_non_null(contracts);
    write_file(config, text, strlen(text));
    write_file(world->contracts, contracts, strlen(contracts));
    free(text);
}

static void publish_one(rr_world *world, const char *subject, char *headers, const char *hex)
{
    unsigned char bytes[4096];
    size_t len = 0;
    natsMsg *message = NULL;

    for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2) {
        assert_true(len < sizeof bytes);
        bytes[len++] = (unsigned char)byte;
    }
    assert_int_equal(natsMsg_Create(&message, subject, NULL, (const char *)bytes, (int)len), NATS_OK);
    for (char *rest = headers, *one; (one = strtok_r(rest, ";", &rest)) != NULL;) {
        char *value = strchr(one, '=');

        assert_non_null(value);
        *value++ = '\0';
        assert_int_equal(natsMsgHeader_Set(message, one, value), NATS_OK);
    }
    assert_int_equal(js_PublishMsg(NULL, world->js, message, NULL, NULL), NATS_OK);
    natsMsg_Destroy(message);
}

/* Messages `from` to `to`, counted from 1, of the example. Returns how many they were. */
static unsigned publish_example(rr_world *world, const example *e, unsigned from, unsigned to)
{
    char command[1024], line[16384];
    unsigned number = 0, published = 0;
    FILE *messages;

    snprintf(command, sizeof command, "/usr/bin/python3 '%s/tests/lib/attach.py' messages '%s'", RR_SOURCE_DIR,
             world->folder);
    messages = popen(command, "r");
    assert_non_null(messages);
    while (fgets(line, sizeof line, messages) != NULL) {
        char *hex = strchr(line, '\t');

        assert_non_null(hex);
        *hex++ = '\0';
        if (++number >= from && number <= to) {
            publish_one(world, e->subject, line, hex);
            published++;
        }
    }
    assert_int_equal(pclose(messages), 0);
    return published;
}

static rr_child *read_all(rr_world *world, const char *config)
{
    rr_child *program = rr_child_run(world, config, "--until-idle");

    assert_int_equal(rr_child_wait(program, done_ms()), 0);
    return program;
}

static void assert_example_cells(rr_world *world, const example *e)
{
    char path[RR_WORLD_PATH + 16], *expected, *cells;

    snprintf(path, sizeof path, "%s/cells.jsonl", world->folder);
    expected = read_file(path);
    cells = rr_cells_stored(world, e->contract);
    rr_assert_same_lines("what the facts give is not what the example says", expected, cells);
    free(cells);
    cells = rr_cells_readers(world, e->contract);
    rr_assert_same_lines("what readers see is not what the example says", expected, cells);
    free(cells);
    free(expected);
}

static void assert_example(rr_world *world, const example *e)
{
    char config[RR_WORLD_PATH];
    rr_child *program;

    configure_example(world, e, config);
    rr_stream_make(world, e->stream, e->subject, 0);
    free(rr_world_output(world, (const char *[]){"check", "--config", config, NULL}, NULL));
    assert_true(publish_example(world, e, 1, UINT32_MAX) > 1);
    program = read_all(world, config);
    assert_int_equal(rr_child_count_after(program, " APPLIED "), e->applied);
    assert_int_equal(rr_child_count_after(program, " ABSORBED "), e->absorbed);
    assert_int_equal(rr_child_count_after(program, " STALE "), e->stale);
    assert_int_equal(rr_child_count_after(program, " CONFLICT "), 0);
    assert_int_equal(rr_child_count_before(program, " skipped"), e->skipped);
    assert_int_equal(rr_child_count_before(program, " dead letters"), 0);
    assert_example_cells(world, e);
    free(rr_world_output(world, (const char *[]){"verify", "--config", config, NULL}, NULL));
}

static void a_schema_with_another_form_for_everything_gives_its_cells(void **state)
{
    static const example e = {"protobuf", "REPORTS", "reports.north", "lines", .applied = 4, .skipped = 1};

    assert_example(*state, &e);
}

/* In either order: the withdrawal names the version that it withdraws. */
static void an_update_pair_makes_no_conflict(void **state)
{
    static const example e = {"flink-changelog", "CHANGELOG",  "changelog.orders",
                              "orders",          .applied = 7, .absorbed = 1};

    assert_example(*state, &e);
}

/* An index from 0, which is not even on the wire; and an attempt that counts anew. */
static void the_first_pane_is_applied(void **state)
{
    static const example e = {"beam-panes", "PANES", "panes.sums", "sums", .applied = 4, .stale = 1};

    assert_example(*state, &e);
}

static void a_log_of_changes_gives_its_cells(void **state)
{
    static const example e = {"envelope", "TOTALS", "db.totals", "totals", .applied = 5, .skipped = 2};

    assert_example(*state, &e);
}

static void assert_value(rr_world *world, const char *key, const char *wanted)
{
    char *value = rr_redis_get(world, key);

    assert_non_null(value);
    if (strstr(value, wanted) == NULL) {
        fail_msg("%s is %s, without %s", key, value, wanted);
    }
    free(value);
}

static void after_an_update_readers_see_its_new_row(void **state)
{
    static const example e = {"envelope", "TOTALS", "db.totals", "totals", .applied = 1};
    static const char key[] = "rr:{totals:line-7}:v1:1704103200000000-1704106800000000";
    rr_world *world = *state;
    char config[RR_WORLD_PATH];

    configure_example(world, &e, config);
    rr_stream_make(world, e.stream, e.subject, 0);
    for (unsigned message = 1; message <= 2; message++) {
        assert_int_equal(publish_example(world, &e, message, message), 1);
        assert_int_equal(rr_child_count_after(read_all(world, config), " APPLIED "), 1);
        assert_value(world, key, message == 1 ? "{\"pieces\":118}" : "{\"pieces\":120}");
        assert_value(world, key, "\"state\":\"present\"");
        assert_value(world, key, "\"conflicts\":[]");
    }
}

/* ---- mappings of one stream ---- */

static const char *const names[] = {"sums", NULL};
static const char counts[] = "  - {name: sums, mode: cumulative, window: {kind: tumbling, size: 1m}}\n";
static const char deltas[] = "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}}\n";

/* The world's configuration, whose only route gets a mapping: its lines with an indent of 10. */
static void configure(rr_world *world, const char *name, const rr_setup *setup, const char *decode, char *config)
{
    static const char route[] = "      - {subject: results.sums, contract: sums}\n";
    char *text, *with = calloc(1, strlen(decode) + 200);

    assert_non_null(with);
    rr_world_configure(world, name, setup, config);
    sprintf(with, "      - subject: results.sums\n        contract: sums\n        decode:\n%s", decode);
    text = replaced(read_file(config), route, with);
    write_file(config, text, strlen(text));
    free(with);
    free(text);
}

/* version, value: the paths of these. */
static void configure_counts(rr_world *world, const char *name, const char *version, const char *value, char *config)
{
    rr_setup setup = {.contracts = counts, .names = names, .source = "results"};
    char decode[1024];

    snprintf(decode, sizeof decode,
             "          json: {}\n"
             "          record:\n"
             "            business_key: row.key\n"
             "            metric_version: {const: v1}\n"
             "            window: {start: {path: row.minute, unit: s}, length: 1m}\n"
             "            version: {number: %s}\n"
             "            measures: {value: %s}\n",
             version, value);
    configure(world, name, &setup, decode, config);
}

/* The first rows have keys that no later one has: no later row hides that such a one is missing. */
enum { KEYS = 100, EARLY = KEYS - 1 };

/* Rows `from` to `count`, of those that are numbered from 0. */
static void publish_rows(rr_world *world, size_t from, size_t count)
{
    for (size_t k = from; k < count; k++) {
        char row[256];
        int len =
            snprintf(row, sizeof row, "{\"row\":{\"key\":\"%s-%zu\",\"minute\":%lld,\"ver\":%zu,\"v\":%zu,\"w\":%zu}}",
                     k < EARLY ? "early" : "key", k % KEYS, (long long)RR_TEST_START / 1000000, k / KEYS + 1, k, 2 * k);

        assert_int_equal(js_PublishAsync(world->js, "results.sums", row, len, NULL), NATS_OK);
    }
    assert_int_equal(js_PublishAsyncComplete(world->js, NULL), NATS_OK);
    assert_int_equal(rr_stream_count(world, "RESULTS"), count);
}

/* Each cell has the last row of its key. */
static void assert_rows(rr_world *world, const char *prefix, size_t count, size_t factor)
{
    for (size_t k = 0; k < KEYS; k++) {
        char key[128], wanted[128];

        snprintf(key, sizeof key, "%s:{sums:key-%zu}:v1:%lld-%lld", prefix, k, (long long)RR_TEST_START,
                 (long long)RR_TEST_START + 60000000);
        snprintf(wanted, sizeof wanted, "\"measures\":{\"value\":%zu},\"version\":%zu,", factor * (count - KEYS + k),
                 count / KEYS);
        assert_value(world, key, wanted);
    }
}

/* Starts it on a source that is held, or that is to be held. */
static void assert_held(rr_world *world, const char *config, size_t count)
{
    const rr_child *program = &world->children[world->child_count];
    rr_progress progress;
    int code;

    free(rr_world_output(world, (const char *[]){"run", "--config", config, "--until-idle", NULL}, &code));
    assert_int_equal(code, INPUT);
    assert_true(rr_child_has_said(program, "source results is held"));
    assert_true(rr_child_has_said(program, "; the mapping takes version.number from 'row.revision'"));
    progress = rr_consumer_progress(world);
    assert_true(rr_stream_count(world, "DEAD") <= LETTERS_MOST);
    assert_true(progress.ack_floor <= rr_stream_count(world, "DEAD"));
    assert_true(progress.pending + progress.ack_pending + rr_stream_count(world, "DEAD") >= count);
}

static bool was_read_again(rr_world *world, const void *child)
{
    (void)world;
    return rr_child_has_said(child, "were read again");
}

static size_t early_cells(rr_world *world)
{
    redisReply *keys = rr_redis_ask(world, (const char *[]){"KEYS", "rr:{sums:early-*}:v1:*", NULL});
    size_t count = keys->elements;

    freeReplyObject(keys);
    return count;
}

/* Some rows trickle in before the hold: they are dead letters, and acknowledged. */
static uint64_t feed_the_dead_letters(rr_world *world, const char *config)
{
    publish_rows(world, 0, EARLY);
    assert_int_equal(rr_child_wait(rr_child_run(world, config, "--until-idle"), done_ms()), 0);
    assert_int_equal(rr_stream_count(world, "DEAD"), EARLY);
    return EARLY;
}

static void a_wrong_path_drains_nothing_and_mended_it_goes_on(void **state)
{
    rr_world *world = *state;
    size_t count = rr_world_scaled(10000, 100000);
    char config[RR_WORLD_PATH], mended[RR_WORLD_PATH];
    uint64_t letters;
    rr_child *program;

    configure_counts(world, "wrong", "row.revision", "row.v", config);
    configure_counts(world, "mended", "row.ver", "row.v", mended);
    letters = feed_the_dead_letters(world, config);
    publish_rows(world, letters, count);
    assert_held(world, config, count);
    letters = rr_stream_count(world, "DEAD");
    assert_held(world, config, count); /* and stays so */
    assert_int_equal(rr_stream_count(world, "DEAD"), letters);

    program = rr_child_run(world, mended, NULL);
    rr_wait_settled(world, done_ms());
    assert_rows(world, "rr", count, 1);
    assert_true(early_cells(world) < EARLY);
    rr_nap_ms(1200); /* the checkpoint of that */
    free(rr_world_output(world, (const char *[]){"rewind", "--config", mended, "--to-start", NULL}, NULL));
    rr_wait(world, was_read_again, program, done_ms(), "the stream to be read again");
    assert_int_equal(early_cells(world), EARLY);
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    assert_int_equal(rr_child_count_after(program, " REFUSED "), 0);
    assert_int_equal(rr_child_count_before(program, " acknowledged"), count - letters);
    assert_int_equal(rr_stream_count(world, "DEAD"), letters);
    free(rr_world_output(world, (const char *[]){"verify", "--config", mended, NULL}, NULL));
}

/* ---- two mappings ---- */

static size_t lines_with(const char *text, const char *wanted)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) {
        count++;
    }
    return count;
}

static void assert_refused(rr_world *world, const char *config)
{
    rr_child *second = rr_child_start(world, (const char *[]){"run", "--config", config, NULL});

    assert_int_equal(rr_child_wait(second, LEAVE_MS), CONFIGURATION);
    assert_true(rr_child_has_said(second, "Stored: 'measures \"value\": /\"row\".\"v\"'"));
    assert_true(rr_child_has_said(second, "this program's: 'measures \"value\": /\"row\".\"w\"'"));
    assert_true(rr_child_has_said(second, "mapping of source results, as stored: json\n"));
    assert_false(rr_child_has_said(second, "\\x0a"));
    assert_true(rr_child_has_said(second, "rebuild"));
}

static void two_mappings_never_read_one_stream(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], other[RR_WORLD_PATH], *lines;
    size_t count = 10 * KEYS;
    rr_child *first, *third;
    int code;

    configure_counts(world, "first", "row.ver", "row.v", config);
    configure_counts(world, "other", "row.ver", "row.w", other);
    publish_rows(world, 0, count);
    first = rr_child_run(world, config, NULL);
    rr_wait_settled(world, done_ms());
    assert_refused(world, other);
    assert_rows(world, "rr", count, 1);

    lines = rr_world_output(world, (const char *[]){"verify", "--config", other, NULL}, &code);
    assert_int_equal(code, 1);
    assert_int_equal(lines_with(lines, "\"finding\":\"differs\""), KEYS + EARLY - 1); /* one row is 0 in both */
    free(lines);

    free(rr_world_output(world, (const char *[]){"rebuild", "--config", other, NULL}, NULL));
    assert_int_equal(rr_child_wait(first, done_ms()), CONFIGURATION); /* it would decode the stream as before */
    free(rr_world_output(world, (const char *[]){"verify", "--config", other, NULL}, NULL));
    third = rr_child_run(world, other, "--until-idle");
    assert_int_equal(rr_child_wait(third, done_ms()), 0);
    assert_rows(world, "rr.g1", count, 2);
}

/* ---- messages of several records ---- */

static const char several[] = "          json: {}\n"
                              "          each: results\n"
                              "          record:\n"
                              "            business_key: key\n"
                              "            metric_version: {const: v1}\n"
                              "            window: {start: {path: /minute, unit: s}, length: 1m}\n"
                              "            delta_id: id\n"
                              "            measures: {value: v}\n";

/* The message of that number; what it is to give is added to the history. */
static void publish_several(rr_world *world, rr_history *history, uint64_t number)
{
    char text[2048];
    size_t len =
        (size_t)snprintf(text, sizeof text, "{\"minute\":%lld,\"results\":[", (long long)RR_TEST_START / 1000000);

    for (uint64_t k = 1; k <= OF_A_MESSAGE; k++) {
        uint64_t id = number * OF_A_MESSAGE + k;
        rr_measure value = rr_value_measure((int64_t)rr_history_draw(history, 1000));
        char key[32], id_text[64];
        rr_record record;

        snprintf(key, sizeof key, "key-%llu", (unsigned long long)rr_history_draw(history, KEYS));
        record = rr_delta_record(key, id, &value, id_text);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s{\"key\":\"%s\",\"id\":\"%s\"", k == 1 ? "" : ",",
                                key, id_text);
        len += (size_t)(k == REFUSED_PLACE
                            ? snprintf(text + len, sizeof text - len, "}")
                            : snprintf(text + len, sizeof text - len, ",\"v\":%lld}", (long long)value.integer));
        if (k != REFUSED_PLACE) {
            rr_history_add(history, 0, &record);
        }
    }
    len += (size_t)snprintf(text + len, sizeof text - len, "]}");
    assert_int_equal(js_PublishAsync(world->js, "results.sums", text, (int)len, NULL), NATS_OK);
}

static void publish_messages(rr_world *world, rr_history *history, uint64_t from, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) {
        publish_several(world, history, from + k);
    }
    assert_int_equal(js_PublishAsyncComplete(world->js, NULL), NATS_OK);
}

typedef struct losses {
    const rr_relay *relay;
    unsigned long long before;
} losses;

static bool has_lost(rr_world *world, const void *context)
{
    const losses *l = context;

    (void)world;
    return rr_relay_lost(l->relay) - l->before > 2000; /* far more than the pulls that are under way */
}

/* What it says to NATS is lost, what it does to Redis is done: killed then, it had stored and not acknowledged. */
static void kill_before_its_acknowledgements_arrive(rr_world *world, const char *config, rr_relay *relay,
                                                    rr_history *history, uint64_t from, uint64_t count)
{
    losses l = {relay, 0};
    rr_child *program = rr_child_run(world, config, NULL);

    publish_messages(world, history, from, count / 2);
    rr_wait_settled(world, done_ms()); /* it has asked for more by now */
    rr_relay_mute(relay, true);
    l.before = rr_relay_lost(relay);
    publish_messages(world, history, from + count / 2, count - count / 2);
    rr_wait(world, has_lost, &l, LEAVE_MS, "acknowledgements to get lost");
    rr_child_kill(program);
    rr_relay_mute(relay, false);
}

static void assert_letters(rr_world *world, uint64_t count)
{
    assert_int_equal(rr_stream_count(world, "DEAD"), count);
    for (uint64_t number = 1; number <= count; number += count / 10) {
        natsMsg *letter = rr_stream_message(world, "DEAD", number);
        const char *refused = NULL, *text = NULL;

        assert_int_equal(natsMsgHeader_Get(letter, "Rr-Refused", &refused), NATS_OK);
        assert_string_equal(refused, "1 of 12: 8");
        assert_int_equal(natsMsgHeader_Get(letter, "Rr-Text", &text), NATS_OK);
        assert_non_null(strstr(text, "; the mapping takes measures.value from 'v'"));
        natsMsg_Destroy(letter);
    }
}

static void one_refused_of_twelve_and_any_death_leave_the_cells_of_apply(void **state)
{
    enum { MESSAGES = 200 };
    rr_world *world = *state;
    rr_relay *relay = rr_relay_open(world->nats.port);
    size_t deaths = rr_world_scaled(5, 20);
    char url[64], config[RR_WORLD_PATH];
    rr_setup setup = {.contracts = deltas, .names = names, .nats_url = url, .batch = 64, .pulls = 2};
    rr_history history;
    rr_child *program;

    assert_non_null(relay);
    snprintf(url, sizeof url, "nats://127.0.0.1:%d", rr_relay_port(relay));
    configure(world, "several", &setup, several, config);
    rr_history_init(&history, names, rr_world_seed);
    for (size_t k = 0; k < deaths; k++) {
        kill_before_its_acknowledgements_arrive(world, config, relay, &history, k * MESSAGES, MESSAGES);
    }
    program = rr_child_run(world, config, NULL);
    publish_messages(world, &history, deaths * MESSAGES, MESSAGES);
    rr_wait_settled(world, done_ms());
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    assert_true(rr_child_count_after(program, " DUPLICATE ") > 0); /* the last death left something to repeat */
    assert_letters(world, (deaths + 1) * MESSAGES);
    assert_int_equal(rr_assert_cells(world, &history), KEYS);
    rr_history_fini(&history);
    rr_relay_close(relay);
}

/* One result goes to a cell that cannot be stored. A letter written before would name only those refused so far, and the
 * queue takes no second one. */
static void a_letter_waits_until_all_of_its_message_is_decided(void **state)
{
    static const char stuck[] = "rr:{sums:stuck}:v1:1704067200000000-1704067260000000";
    static const char message[] = "{\"minute\":1704067200,\"results\":[{\"key\":\"good\",\"id\":\"a\",\"v\":1},"
                                  "{\"key\":\"good\",\"id\":\"b\"},{\"key\":\"stuck\",\"id\":\"c\",\"v\":2}]}";
    rr_world *world = *state;
    rr_setup setup = {.contracts = deltas, .names = names, .source = "results"};
    char config[RR_WORLD_PATH];
    natsMsg *letter;
    const char *refused = NULL;
    rr_child *program;

    configure(world, "several", &setup, several, config);
    freeReplyObject(rr_redis_ask(world, (const char *[]){"RPUSH", stuck, "no cell", NULL}));
    rr_publish_bytes(world, "results.sums", message, strlen(message));
    program = rr_child_run(world, config, NULL);
    rr_child_wait_for(program, "stuck", done_ms());
    rr_wait_unacknowledged(world, 1, done_ms());
    assert_value(world, "rr:{sums:good}:v1:1704067200000000-1704067260000000", "\"measures\":{\"value\":1}");
    assert_int_equal(rr_stream_count(world, "DEAD"), 0);
    assert_int_equal(rr_redis_integer(world, (const char *[]){"DEL", stuck, NULL}), 1);
    rr_wait_settled(world, done_ms());
    assert_value(world, stuck, "\"measures\":{\"value\":2}");
    assert_int_equal(rr_child_stop(program, LEAVE_MS), 0);
    assert_int_equal(rr_stream_count(world, "DEAD"), 1);
    letter = rr_stream_message(world, "DEAD", 1);
    assert_int_equal(natsMsgHeader_Get(letter, "Rr-Refused", &refused), NATS_OK);
    assert_string_equal(refused, "1 of 3: 2");
    natsMsg_Destroy(letter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_schema_with_another_form_for_everything_gives_its_cells, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(an_update_pair_makes_no_conflict, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(the_first_pane_is_applied, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_log_of_changes_gives_its_cells, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(after_an_update_readers_see_its_new_row, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_wrong_path_drains_nothing_and_mended_it_goes_on, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(two_mappings_never_read_one_stream, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_letter_waits_until_all_of_its_message_is_decided, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(one_refused_of_twelve_and_any_death_leave_the_cells_of_apply, rr_world_begin,
                                        rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
