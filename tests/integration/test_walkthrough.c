/* One cell's story from the first result to an open conflict, as producers, readers and operators see it. */
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

enum { SOON_MS = 10000 };

#define WINDOW "\"window\":{\"start\":\"2024-01-01T10:00:00Z\",\"end\":\"2024-01-01T10:01:00Z\"}"
#define LINE_7 "{\"business_key\":\"line-7\"," WINDOW ",\"metric_version\":\"v1\","

static const char cell_key[] = "rr:{parts:line-7}:v1:1704103200000000-1704103260000000";
static const char *const names[] = {"parts", NULL};
static const char contracts[] = "  - {name: parts, mode: cumulative, window: {kind: tumbling, size: 1m},\n"
                                "     corrections: conditional}\n";

static void configure(rr_world *world, char *config)
{
    char alerts[160];
    rr_setup setup = {.contracts = contracts, .names = names, .alerts = alerts};

    snprintf(alerts, sizeof alerts, "[log, {nats: {url: \"%s\"}}]", world->nats.url);
    rr_world_configure(world, "walkthrough", &setup, config);
}

static void say(rr_world *world, const char *config, const char *line)
{
    rr_publish_json(world, config, "parts", line);
    rr_wait_settled(world, SOON_MS);
}

/* What a reader gets begins so, and is one JSON object. */
static void assert_reads(rr_world *world, const char *key, const char *begins)
{
    char *value = rr_redis_get(world, key);

    if (value == NULL || strncmp(value, begins, strlen(begins)) != 0 || value[strlen(value) - 1] != '}') {
        fail_msg("%s:\n  expected %s...\n  found    %s", key, begins, value == NULL ? "nothing" : value);
    }
    free(value);
}

static void assert_alert(natsSubscription *alerts, const char *subject, const char *says)
{
    natsMsg *message = NULL;

    assert_int_equal(natsSubscription_NextMsg(&message, alerts, SOON_MS), NATS_OK);
    assert_string_equal(natsMsg_GetSubject(message), subject);
    if (memmem(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), says, strlen(says)) == NULL) {
        fail_msg("%s: no %s in %.*s", subject, says, natsMsg_GetDataLength(message), natsMsg_GetData(message));
    }
    natsMsg_Destroy(message);
}

static void assert_header(natsMsg *message, const char *name, const char *expected)
{
    const char *value = NULL;

    assert_int_equal(natsMsgHeader_Get(message, name, &value), NATS_OK);
    assert_string_equal(value, expected);
}

static void assert_dead_letter(rr_world *world)
{
    uint64_t sequence = rr_stream_last(world, "RESULTS");
    natsMsg *letter = rr_stream_message(world, "DEAD", 1), *record = rr_stream_message(world, "RESULTS", sequence);
    char begins[64], ends[64], number[24];
    const char *value = NULL, *subject = natsMsg_GetSubject(letter);

    snprintf(begins, sizeof begins, "dead.parts.%lld-", (long long)(natsMsg_GetTime(record) / 1000));
    snprintf(ends, sizeof ends, ".RESULTS.%llu", (unsigned long long)sequence);
    snprintf(number, sizeof number, "%llu", (unsigned long long)sequence);
    assert_memory_equal(subject, begins, strlen(begins));
    assert_int_equal(strlen(subject), strlen(begins) + 16 + strlen(ends));
    assert_string_equal(subject + strlen(begins) + 16, ends);
    assert_int_equal(natsMsg_GetDataLength(letter), natsMsg_GetDataLength(record));
    assert_memory_equal(natsMsg_GetData(letter), natsMsg_GetData(record), (size_t)natsMsg_GetDataLength(record));
    assert_header(letter, "Rr-Reason", "metric_version_missing");
    assert_header(letter, "Rr-Verdict", "REFUSED");
    assert_header(letter, "Rr-Contract", "parts");
    assert_header(letter, "Rr-Subject", "results.parts");
    assert_header(letter, "Rr-Stream", "RESULTS");
    assert_header(letter, "Rr-Sequence", number);
    assert_header(letter, "Rr-Deliveries", "1");
    assert_int_equal(natsMsgHeader_Get(letter, "Rr-Text", &value), NATS_OK);
    assert_true(strlen(value) > 0);
    assert_int_equal(natsMsgHeader_Get(letter, "Rr-Stored-At", &value), NATS_OK);
    assert_int_equal(natsMsgHeader_Get(letter, "Rr-Program", &value), NATS_OK);
    natsMsg_Destroy(letter);
    natsMsg_Destroy(record);
}

static void first_2_then_3_then_late_then_4_then_a_conflict(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    natsSubscription *alerts = NULL;
    rr_child *program;

    configure(world, config);
    assert_int_equal(natsConnection_SubscribeSync(&alerts, world->connection, "rr.alerts.>"), NATS_OK);
    program = rr_child_run(world, config, NULL);

    say(world, config, LINE_7 "\"result_version\":1,\"value\":2,\"cause\":\"ON_TIME\"}\n");
    assert_reads(world, cell_key,
                 "{\"state\":\"present\",\"measures\":{\"value\":2},\"version\":1,\"origin\":\"LIVE\","
                 "\"status\":\"PROVISIONAL\",\"conflicts\":[],");
    say(world, config, LINE_7 "\"result_version\":2,\"value\":3,\"cause\":\"LATE\"}\n");
    assert_reads(world, cell_key, "{\"state\":\"present\",\"measures\":{\"value\":3},\"version\":2,");
    say(world, config, LINE_7 "\"result_version\":2,\"value\":3,\"cause\":\"LATE\"}\n");
    assert_reads(world, cell_key, "{\"state\":\"present\",\"measures\":{\"value\":3},\"version\":2,");
    say(world, config, LINE_7 "\"result_version\":2,\"value\":3,\"cause\":\"RECOMPUTE\"}\n");
    assert_reads(world, cell_key, "{\"state\":\"present\",\"measures\":{\"value\":3},\"version\":2,");
    say(world, config, LINE_7 "\"result_version\":1,\"value\":2,\"cause\":\"ON_TIME\"}\n");
    assert_reads(world, cell_key, "{\"state\":\"present\",\"measures\":{\"value\":3},\"version\":2,");
    assert_alert(alerts, "rr.alerts.parts.stale_overwrite", "\"kind\":\"stale_overwrite\"");

    say(world, config,
        LINE_7 "\"result_version\":1,\"value\":4,\"origin\":\"CORRECTION\",\"base_version\":2,"
               "\"status\":\"RECONCILED\",\"cause\":\"CORRECTION\",\"evidence\":\"ledger A-D\"}\n");
    assert_reads(world, cell_key,
                 "{\"state\":\"present\",\"measures\":{\"value\":4},\"version\":1,"
                 "\"origin\":\"CORRECTION\",\"status\":\"RECONCILED\",\"conflicts\":[],");
    say(world, config, LINE_7 "\"result_version\":3,\"value\":5}\n");
    assert_reads(world, cell_key,
                 "{\"state\":\"present\",\"measures\":{\"value\":4},\"version\":1,"
                 "\"origin\":\"CORRECTION\",\"status\":\"RECONCILED\","
                 "\"conflicts\":[\"divergence\"],");
    assert_alert(alerts, "rr.alerts.parts.correction_conflict", "\"business_key\":\"line-7\"");

    say(world, config, "{\"business_key\":\"line-7\"," WINDOW ",\"result_version\":5,\"value\":5}\n");
    assert_alert(alerts, "rr.alerts.parts.contract_violation", "\"count\":1");
    assert_dead_letter(world);

    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    assert_int_equal(rr_child_count_before(program, " dead letters"), 1);
    assert_int_equal(rr_child_count_after(program, "APPLIED "), 3);
    assert_int_equal(rr_child_count_after(program, "DUPLICATE "), 2);
    assert_int_equal(rr_child_count_after(program, "STALE "), 1);
    assert_int_equal(rr_child_count_after(program, "CONFLICT "), 1);
    assert_int_equal(rr_stream_count(world, "DEAD"), 1);
    natsSubscription_Destroy(alerts);
}

/* An alert that was stored when the program was killed is handed out by the next one. */
static void an_alert_survives_the_program(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], other[RR_WORLD_PATH];
    rr_setup without = {.contracts = contracts, .names = names, .alerts = "[{nats: {url: \"nats://127.0.0.1:1\"}}]"};
    natsSubscription *alerts = NULL;
    natsMsg *message = NULL;
    rr_child *program;

    if (!rr_world_full) {
        skip(); /* what one reader of the log holds, another gets after half a minute */
    }
    rr_world_configure(world, "nobody-hears", &without, other);
    program = rr_child_run(world, other, NULL);
    say(world, other, LINE_7 "\"result_version\":9,\"value\":2}\n");
    say(world, other, LINE_7 "\"result_version\":9,\"value\":3}\n");
    rr_child_kill(program);

    configure(world, config);
    assert_int_equal(natsConnection_SubscribeSync(&alerts, world->connection, "rr.alerts.>"), NATS_OK);
    assert_int_equal(natsConnection_Flush(world->connection), NATS_OK);
    program = rr_child_run(world, config, NULL);
    assert_int_equal(natsSubscription_NextMsg(&message, alerts, 45000), NATS_OK);
    assert_string_equal(natsMsg_GetSubject(message), "rr.alerts.parts.equivocation");
    natsMsg_Destroy(message);
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
    natsSubscription_Destroy(alerts);
}

static void keys_are_as_the_readme_says(void **state)
{
    static const struct {
        const char *business_key, *key;
    } rows[] = {
        {"line-7", "rr:{parts:line-7}:v1:1704103200000000-1704103260000000"},
        {"a:b", "rr:{parts:a%3Ab}:v1:1704103200000000-1704103260000000"},
        {"{x}", "rr:{parts:%7Bx%7D}:v1:1704103200000000-1704103260000000"},
        {"50%", "rr:{parts:50%25}:v1:1704103200000000-1704103260000000"},
        {"a b/c", "rr:{parts:a%20b%2Fc}:v1:1704103200000000-1704103260000000"},
        {"caf\xc3\xa9", "rr:{parts:caf%C3%A9}:v1:1704103200000000-1704103260000000"},
        {"A-z_0.9~", "rr:{parts:A-z_0.9~}:v1:1704103200000000-1704103260000000"},
    };
    rr_world *world = *state;
    char config[RR_WORLD_PATH], line[512];
    rr_child *program;

    configure(world, config);
    program = rr_child_run(world, config, NULL);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        snprintf(line, sizeof line,
                 "{\"business_key\":\"%s\"," WINDOW ",\"metric_version\":\"v1\",\"result_version\":1,"
                 "\"value\":%zu}\n",
                 rows[k].business_key, k);
        rr_publish_json(world, config, "parts", line);
    }
    rr_wait_settled(world, SOON_MS);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char begins[64];

        snprintf(begins, sizeof begins, "{\"state\":\"present\",\"measures\":{\"value\":%zu},", k);
        assert_reads(world, rows[k].key, begins);
    }
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
}

static void a_reader_gets_many_windows_with_one_mget(void **state)
{
    static const char *const ask[] = {"MGET", "rr:{parts:line-7}:v1:1704103200000000-1704103260000000",
                                      "rr:{parts:line-7}:v1:1704103260000000-1704103320000000",
                                      "rr:{parts:line-7}:v1:1704103320000000-1704103380000000", NULL};
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_child *program;
    redisReply *reply;

    configure(world, config);
    program = rr_child_run(world, config, NULL);
    say(world, config,
        LINE_7 "\"result_version\":1,\"value\":9223372036854775807}\n"
               "{\"business_key\":\"line-7\",\"window\":{\"start\":1704103320000000,\"end\":1704103380000000},"
               "\"metric_version\":\"v1\",\"result_version\":18446744073709551615,\"value\":-9223372036854775808}"
               "\n");
    reply = rr_redis_ask(world, ask);
    assert_int_equal(reply->elements, 3);
    assert_non_null(strstr(reply->element[0]->str, "{\"value\":9223372036854775807}"));
    assert_int_equal(reply->element[1]->type, REDIS_REPLY_NIL);
    assert_non_null(
        strstr(reply->element[2]->str, "{\"value\":-9223372036854775808},\"version\":18446744073709551615"));
    freeReplyObject(reply);
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
}

#define CELL(start, end, value, version) \
    "{\"business_key\":\"line-7\",\"metric_version\":\"" version "\",\"window\":{\"start\":\"" start \
    "\",\"end\":\"" end "\"},\"state\":\"present\",\"measures\":{\"value\":" value "},\"version\":1," \
    "\"origin\":\"LIVE\",\"status\":\"PROVISIONAL\",\"conflicts\":[]}\n"

static void assert_gets(rr_world *world, const char *const *words, const char *expected)
{
    char *lines = rr_world_output(world, words, NULL);

    assert_string_equal(lines, expected);
    free(lines);
}

static void get_prints_the_cells_of_a_key(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    const char *window = "2024-01-01T10:00:00Z/2024-01-01T10:01:00Z";
    rr_child *program;
    int code;

    configure(world, config);
    program = rr_child_run(world, config, NULL);
    say(world, config,
        LINE_7 "\"result_version\":1,\"value\":1}\n"
               "{\"business_key\":\"line-7\",\"window\":{\"start\":\"2024-01-01T10:01:00Z\",\"end\":\"2024-"
               "01-01T10:02:00Z\"},"
               "\"metric_version\":\"v1\",\"result_version\":1,\"value\":2}\n"
               "{\"business_key\":\"line-7\"," WINDOW ",\"metric_version\":\"v2\",\"result_version\":1,\"value\":3}\n"
               "{\"business_key\":\"line-77\"," WINDOW
               ",\"metric_version\":\"v1\",\"result_version\":1,\"value\":4}\n");
    assert_gets(world, (const char *[]){"get", "--config", config, "parts", "line-7", NULL},
                CELL("2024-01-01T10:00:00Z", "2024-01-01T10:01:00Z", "1", "v1")
                    CELL("2024-01-01T10:01:00Z", "2024-01-01T10:02:00Z", "2", "v1")
                        CELL("2024-01-01T10:00:00Z", "2024-01-01T10:01:00Z", "3", "v2"));
    assert_gets(world,
                (const char *[]){"get", "--config", config, "--window", window, "--metric-version", "v2", "parts",
                                 "line-7", NULL},
                CELL("2024-01-01T10:00:00Z", "2024-01-01T10:01:00Z", "3", "v2"));
    free(rr_world_output(world, (const char *[]){"get", "--config", config, "parts", "line-8", NULL}, &code));
    assert_int_not_equal(code, 0);
    assert_int_equal(rr_child_stop(program, SOON_MS), 0);
}

/* ---- which subject `publish` takes ---- */

/* Two contracts in two sources; the first source that is asked about `parts` knows only wildcards. */
static const char two_sources[] =
    "sources:\n"
    "  - {name: wild, url: \"${env:WALK_NATS}\", stream: RESULTS, consumer: a, dead_letters: dead.a,\n"
    "     routes: [{subject: results.raw.*, contract: parts}, {subject: results.other, contract: other},\n"
    "              {subject: results.old.>, contract: parts}]}\n"
    "  - {name: narrow, url: \"${env:WALK_NATS}\", stream: RESULTS, consumer: b, dead_letters: dead.b, filter: "
    "results.narrow.>,\n"
    "     routes: [{subject: results.elsewhere, contract: parts}]}\n"
    "  - {name: plain, url: \"${env:WALK_NATS}\", stream: RESULTS, consumer: c, dead_letters: dead.c,\n"
    "     routes: [{subject: results.new.*, contract: other}, {subject: results.parts, contract: parts},\n"
    "              {subject: results.parts.more, contract: parts}, {subject: results.hourly.>, contract: hourly}]}\n"
    "  - {name: one, url: \"${env:WALK_NATS}\", stream: RESULTS, consumer: d, dead_letters: dead.d, filter: "
    "results.one,\n"
    "     contract: parts}\n"
    "contracts:\n"
    "  - {name: parts, mode: cumulative, retention: 1d}\n"
    "  - {name: other, mode: cumulative, retention: 1d}\n"
    "  - {name: hourly, mode: cumulative, retention: 1d}\n"
    "  - {name: unfed, mode: cumulative, retention: 1d}\n";

typedef struct publish_row {
    const char *contract, *source, *subject; /* options; NULL: not given */
    const char *goes_to;                     /* the subject; NULL: it is refused with 64 */
    const char *says[3];                     /* on standard error */
} publish_row;

static const publish_row publish_rows[] = {
    {"parts", NULL, NULL, "results.parts", {"source plain"}},
    {"other", NULL, NULL, "results.other", {"source wild"}},
    {"parts", "one", NULL, "results.one", {"source one"}},
    {"parts", NULL, "results.raw.x", "results.raw.x", {"source wild"}},
    {"parts", NULL, "results.old.x.y", "results.old.x.y", {"source wild"}},
    {"parts", "plain", "results.parts.more", "results.parts.more", {"source plain"}},
    {"other", NULL, "results.new.x", "results.new.x", {"source plain"}},
    {"hourly", NULL, "results.hourly.x", "results.hourly.x", {"source plain"}},
    {"hourly", NULL, NULL, NULL, {"no route of contract hourly", "source plain: 'results.hourly.>'", "--subject"}},
    {"parts", "wild", NULL, NULL, {"no route of contract parts", "source wild: 'results.raw.*', 'results.old.>'"}},
    {"parts", "narrow", NULL, NULL, {"source narrow: 'results.elsewhere' (filter 'results.narrow.>')"}},
    {"parts",
     NULL,
     "results.other",
     NULL,
     {"subject 'results.other' does not lead to contract parts", "'results.parts'"}},
    {"parts", NULL, "results.raw.*", NULL, {"subject 'results.raw.*' does not lead to contract parts"}},
    {"hourly", "wild", NULL, NULL, {"no route of source wild feeds contract hourly"}},
    {"unfed", NULL, NULL, NULL, {"no source feeds contract unfed"}},
    {"parts", "nosuch", NULL, NULL, {"no source named 'nosuch'"}},
    {"nosuch", NULL, NULL, NULL, {"no contract named 'nosuch'"}},
    {NULL, NULL, NULL, NULL, {"the configuration has 4 contracts: name one with --contract"}},
};

static void write_file(rr_world *world, const char *name, const char *format, const char *argument, char *path)
{
    FILE *file;

    snprintf(path, RR_WORLD_PATH, "%s/%s", world->folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, format, argument);
    fclose(file);
}

static void publish_one(rr_world *world, const publish_row *row, const char *config, const char *records,
                        natsSubscription *results)
{
    const char *words[12] = {"publish", "--config", config, records};
    const char *const options[][2] = {
        {"--contract", row->contract}, {"--source", row->source}, {"--subject", row->subject}};
    size_t count = 4;
    natsMsg *message = NULL;
    rr_child *program;

    for (size_t k = 0; k < 3; k++) {
        if (options[k][1] != NULL) {
            words[count++] = options[k][0];
            words[count++] = options[k][1];
        }
    }
    program = rr_child_start(world, words);
    assert_int_equal(rr_child_wait(program, SOON_MS), row->goes_to == NULL ? 64 : 0);
    for (size_t k = 0; k < 3 && row->says[k] != NULL; k++) {
        if (!rr_child_has_said(program, row->says[k])) {
            fail_msg("%s did not say %s", program->log, row->says[k]);
        }
    }
    if (row->goes_to != NULL) {
        assert_int_equal(natsSubscription_NextMsg(&message, results, SOON_MS), NATS_OK);
        assert_string_equal(natsMsg_GetSubject(message), row->goes_to);
        natsMsg_Destroy(message);
    }
}

static void publish_takes_the_first_subject_that_leads_to_the_contract(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], records[RR_WORLD_PATH];
    natsSubscription *results = NULL;

    setenv("WALK_NATS", world->nats.url, 1);
    write_file(world, "two.yaml", "store: memory\n%s", two_sources, config);
    write_file(world, "one.jsonl", "%s", LINE_7 "\"result_version\":1,\"value\":1}\n", records);
    assert_int_equal(natsConnection_SubscribeSync(&results, world->connection, "results.>"), NATS_OK);
    assert_int_equal(natsConnection_Flush(world->connection), NATS_OK);
    for (size_t k = 0; k < sizeof publish_rows / sizeof *publish_rows; k++) {
        publish_one(world, &publish_rows[k], config, records, results);
    }
    natsSubscription_Destroy(results);
}

/* Exit code 1, which needs servers; test_cli sees the others. */
static void a_stream_that_is_missing_is_a_difference(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], *text;
    int code;

    write_file(
        world, "missing.yaml",
        "store: memory\nsources:\n  - {name: a, url: \"%s\", stream: NOSUCH, consumer: a, dead_letters: dead.a,\n"
        "     contract: parts}\ncontracts: [{name: parts, mode: cumulative, retention: 1d}]\n",
        world->nats.url, config);
    text = rr_world_output(world, (const char *[]){"streams", "--config", config, NULL}, &code);
    assert_int_equal(code, 1);
    assert_non_null(strstr(text, "\"stream\":\"NOSUCH\""));
    free(text);
    text = rr_world_output(world, (const char *[]){"help", "streams", NULL}, NULL);
    assert_non_null(strstr(text, "\n   1  differences found: a stream is missing\n"));
    free(text);
}

static void observing_stores_nothing_and_acknowledges_nothing(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_history history;
    rr_setup setup = {.contracts = rr_mixed_contracts, .names = rr_mixed_names};
    rr_child *program;

    rr_world_configure(world, "observe", &setup, config);
    rr_history_init(&history, rr_mixed_names, rr_world_seed);
    rr_history_mixed(&history, 2000, 100);
    rr_history_add_bytes(&history, 0, RR_SLICE("\x07"));
    rr_publish_history(world, &history, 0, history.count);

    program = rr_child_start(world, (const char *[]){"run", "--config", config, "--observe", "--until-idle", NULL});
    assert_int_equal(rr_child_wait(program, 30000), 0);
    assert_int_equal(rr_child_count_before(program, " delivered"), history.count);
    assert_int_equal(rr_child_count_after(program, "REFUSED "), 1);
    assert_int_equal(rr_child_count_before(program, " acknowledged"), 0);
    assert_int_equal(rr_redis_integer(world, (const char *[]){"DBSIZE", NULL}), 0);
    assert_int_equal(rr_consumer_progress(world).ack_floor, 0);
    assert_int_equal(rr_consumer_progress(world).delivered, 0);
    assert_int_equal(rr_stream_count(world, "DEAD"), 0);

    /* And so the first one that stores gets them all. */
    program = rr_child_run(world, config, "--until-idle");
    assert_int_equal(rr_child_wait(program, 30000), 0);
    assert_int_equal(rr_stream_count(world, "DEAD"), 1);
    history.count--;
    rr_assert_cells(world, &history);
    rr_history_fini(&history);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(first_2_then_3_then_late_then_4_then_a_conflict, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(an_alert_survives_the_program, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(keys_are_as_the_readme_says, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(a_reader_gets_many_windows_with_one_mget, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(get_prints_the_cells_of_a_key, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(publish_takes_the_first_subject_that_leads_to_the_contract, rr_world_begin,
                                        rr_world_end),
        cmocka_unit_test_setup_teardown(a_stream_that_is_missing_is_a_difference, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(observing_stores_nothing_and_acknowledges_nothing, rr_world_begin,
                                        rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
