/* Messages of several records: they settle together, one dead letter names those that were refused, skipped ones are
 * acknowledged, and a wrong mapping acknowledges nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "config.h"
#include "dead_letter.h"
#include "service.h"
#include "source_script.h"

enum { STORED_S = 1767268800, TEXT_MAX = 4096, LINES_MAX = 1200, LINE_MAX = 512 }; /* 2026-01-01T12:00:00Z */

extern const rr_store_ops rr_store_memory_ops;

typedef struct world {
    rr_config config;
    rr_store *store;
    rr_source *source;
    rr_script_record records[LINES_MAX];
    char lines[LINES_MAX][LINE_MAX];
    size_t count;
    rr_service_totals totals;
    rr_buf mappings;
    char said[TEXT_MAX * 4];
} world;

static world w;
static bool accept_contracts, accept_refusals;

static const char yaml[] = "store: memory\n"
                           "sources:\n"
                           "  - name: s\n"
                           "    url: nats://127.0.0.1:1\n"
                           "    stream: S\n"
                           "    consumer: c\n"
                           "    dead_letters: dead\n"
                           "    routes:\n"
                           "      - subject: r\n"
                           "        contract: c\n"
                           "        decode:\n"
                           "          json: {}\n"
                           "          skip: {kind: [HEARTBEAT]}\n"
                           "          each: results\n"
                           "          record:\n"
                           "            business_key: line\n"
                           "            metric_version: {const: v1}\n"
                           "            window: {start: {path: start, unit: s}, length: 1m}\n"
                           "            version: {number: %s}\n"
                           "            measures: {value: v}\n"
                           "contracts:\n"
                           "  - {name: c, mode: cumulative, window: {kind: tumbling, size: 1m}, retention: 1d}\n";

/* version_path: where the mapping takes the version from. */
static void read_config(const char *version_path)
{
    char text[TEXT_MAX];
    rr_problems problems = {0};
    rr_buf told = {0};

    snprintf(text, sizeof text, yaml, version_path);
    if (rr_config_parse("test.yaml", rr_slice_of(text), &w.config, &problems) != RR_OK) {
        rr_problems_print(&problems, &told);
        fail_msg("%.*s", (int)told.len, told.data);
    }
    rr_problems_fini(&problems);
    rr_buf_clear(&w.mappings);
    rr_mapping_print(w.config.sources[0].routes[0].mapping, &w.mappings);
}

static int begin(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    accept_contracts = accept_refusals = false;
    read_config("n");
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &w.store, NULL), RR_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (w.source != NULL) {
        rr_source_script_ops.close(w.source);
    }
    rr_store_memory_ops.close(w.store);
    rr_config_fini(&w.config);
    rr_buf_fini(&w.mappings);
    return 0;
}

static void add(const char *json)
{
    assert_true(w.count < LINES_MAX);
    snprintf(w.lines[w.count], LINE_MAX, "%s", json);
    w.records[w.count] = (rr_script_record){RR_SLICE("r"), rr_slice_of(w.lines[w.count]),
                                            (int64_t)STORED_S * 1000000 + (int64_t)w.count};
    w.count++;
}

static rr_bound_route route(const void *context, rr_slice subject)
{
    const rr_route *found = rr_source_route(context, subject);

    return found == NULL ? (rr_bound_route){.contract = NULL}
                         : (rr_bound_route){.contract = found->under, .mapping = found->mapping};
}

static int64_t now_us(void)
{
    return (int64_t)STORED_S * 1000000 + 1000000;
}

static void hear(rr_log_level level, const char *text)
{
    size_t used = strlen(w.said);

    (void)level;
    snprintf(w.said + used, sizeof w.said - used, "%s\n", text);
}

static bool reread(rr_slice text, rr_contract *contract)
{
    return rr_contract_reread(text, contract);
}

static rr_status run(size_t batch, rr_error *error)
{
    static atomic_int stop;
    const rr_contract *contract = &w.config.contracts.items[0];
    rr_bound_source source = {.ops = &rr_source_script_ops,
                              .source = w.source,
                              .name = RR_SLICE("s"),
                              .stream = RR_SLICE("S"),
                              .consumer = RR_SLICE("c"),
                              .batch = batch,
                              .dead_letters = "dead",
                              .mappings = rr_buf_view(&w.mappings),
                              .route = route,
                              .context = &w.config.sources[0]};
    rr_bound_contract bound = {.contract = contract, .text = RR_SLICE("name: c\n")};
    rr_service_options options = {.env.store_ops = &rr_store_memory_ops,
                                  .env.store = w.store,
                                  .env.prefix = RR_SLICE("rr"),
                                  .env.sources = &source,
                                  .env.source_count = 1,
                                  .env.contracts = &bound,
                                  .env.contract_count = 1,
                                  .accept_contract = accept_contracts ? reread : NULL,
                                  .accept_refusals = accept_refusals,
                                  .until_idle = true,
                                  .env.stop = &stop,
                                  .env.now_us = now_us,
                                  .env.log = hear};

    w.said[0] = '\0';
    w.totals = (rr_service_totals){0};
    return rr_service_run(&options, &w.totals, error);
}

static rr_status deliver(size_t batch, rr_error *error)
{
    if (w.source == NULL) {
        w.source = rr_source_script_new(w.records, w.count, NULL, NULL);
        assert_non_null(w.source);
    } else {
        rr_source_script_rewind(w.source);
    }
    return run(batch, error);
}

static bool has_cell(const char *key, const char *wanted)
{
    rr_load load = {0};
    char text[128];
    rr_arena arena;
    bool has;

    snprintf(text, sizeof text, "rr:{c:%s}:v1:%lld-%lld", key, STORED_S * 1000000LL, (STORED_S + 60) * 1000000LL);
    load.key = rr_slice_of(text);
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_store_memory_ops.load(w.store, &load, 1, &arena, NULL), RR_OK);
    has = load.value.len != 0 && memmem(load.value.data, load.value.len, wanted, strlen(wanted)) != NULL;
    rr_arena_fini(&arena);
    return has;
}

/* One result of a message. version 0: it is refused, since a version was never set. */
static void put_result(char *to, size_t room, const char *line, unsigned version, unsigned value)
{
    snprintf(to, room, "{\"line\":\"%s\",\"start\":%d,\"n\":%u,\"v\":%u}", line, STORED_S, version, value);
}

static void add_message(const char *a, unsigned version_a, const char *b, unsigned version_b)
{
    char one[160], two[160], all[LINE_MAX];

    put_result(one, sizeof one, a, version_a, 1);
    put_result(two, sizeof two, b, version_b, 2);
    snprintf(all, sizeof all, "{\"results\":[%s,%s]}", one, two);
    add(all);
}

static void each_record_takes_effect_and_one_letter_names_the_refused(void **state)
{
    rr_error error = {0};

    (void)state;
    add_message("a", 1, "b", 0);
    add_message("c", 1, "d", 1);
    assert_int_equal(deliver(10, &error), RR_OK);
    assert_true(has_cell("a", "\"measures\":{\"value\":1}"));
    assert_true(has_cell("c", "\"measures\":{\"value\":1}"));
    assert_true(has_cell("d", "\"measures\":{\"value\":2}"));
    assert_int_equal(w.totals.verdicts[RR_VERDICT_APPLIED], 3);
    assert_int_equal(w.totals.verdicts[RR_VERDICT_REFUSED], 1);
    assert_int_equal(w.totals.dead_letters, 1);
    assert_int_equal(w.totals.acknowledged, 2);
    assert_true(rr_source_script_has_letter(w.source, 1));
    assert_false(rr_source_script_has_letter(w.source, 2));
}

static void what_a_rule_skips_is_acknowledged_and_counted(void **state)
{
    rr_error error = {0};

    (void)state;
    add("{\"kind\":\"HEARTBEAT\"}");
    add_message("a", 1, "b", 1);
    add("{\"kind\":\"HEARTBEAT\",\"results\":[{}]}");
    assert_int_equal(deliver(2, &error), RR_OK);
    assert_int_equal(w.totals.skipped, 2);
    assert_int_equal(w.totals.deliveries, 3);
    assert_int_equal(w.totals.acknowledged, 3);
    assert_int_equal(rr_source_script_acked(w.source), 3);
    assert_int_equal(w.totals.verdicts[RR_VERDICT_APPLIED], 2);
}

/* The dead letters' stream refuses the letter once: nothing of that message is acknowledged before it is stored. */
static void no_record_is_acknowledged_before_its_message_s_letter(void **state)
{
    rr_error error = {0};

    (void)state;
    add_message("a", 1, "b", 0);
    w.source = rr_source_script_new(w.records, w.count, NULL, NULL);
    rr_source_script_fail_publish(w.source, 2);
    assert_int_equal(run(10, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(w.source), 1);
    assert_int_equal(w.totals.outages, 1);
}

static void a_message_taken_again_changes_nothing(void **state)
{
    rr_error error = {0};

    (void)state;
    add_message("a", 1, "b", 1);
    assert_int_equal(deliver(10, &error), RR_OK);
    rr_source_script_ops.close(w.source);
    w.source = NULL;
    assert_int_equal(deliver(10, &error), RR_OK);
    assert_int_equal(w.totals.verdicts[RR_VERDICT_DUPLICATE], 2);
}

static void more_records_than_deliveries_fit_are_decided_in_one_batch(void **state)
{
    rr_error error = {0};
    char all[LINE_MAX] = "{\"results\":[";

    (void)state;
    for (unsigned k = 1; k <= 7; k++) {
        size_t used = strlen(all);

        all[used] = k == 1 ? all[used] : ',';
        put_result(all + used + (k != 1), sizeof all - used - 2, "a", k, k);
    }
    strcat(all, "]}");
    add(all);
    assert_int_equal(deliver(1, &error), RR_OK);
    assert_true(has_cell("a", "\"measures\":{\"value\":7},\"version\":7"));
    assert_int_equal(w.totals.verdicts[RR_VERDICT_APPLIED] + w.totals.verdicts[RR_VERDICT_ABSORBED], 7);
}

/* ---- the letter ---- */

static void a_letter_tells_which_records_were_refused(void **state)
{
    rr_record record = {.stream = RR_SLICE("S")};
    rr_item items[12] = {0};
    rr_delivery delivery = {.payload = RR_SLICE("x"), .stream_sequence = 7};
    rr_publication letter;
    rr_slice refused = {NULL, 0};
    rr_arena arena;
    rr_buf text = {0};

    (void)state;
    for (size_t k = 0; k < 12; k++) {
        items[k] = (rr_item){.record = &record, .index = k, .of = 12, .outcome = {.verdict = RR_VERDICT_APPLIED}};
    }
    items[2].outcome = (rr_outcome){.verdict = RR_VERDICT_REFUSED, .reason = RR_REASON_VERSION_MISSING};
    items[6].outcome = (rr_outcome){.verdict = RR_VERDICT_TOO_LATE, .reason = RR_REASON_BEYOND_RETENTION};
    rr_arena_init(&arena, 0);
    assert_true(rr_dead_letter_write(&letter, "dead", items, 12, &delivery, &text, &arena));
    for (size_t k = 0; k < letter.header_count; k++) {
        if (rr_slice_equal(letter.headers[k].name, RR_SLICE("Rr-Reason"))) {
            assert_true(rr_slice_equal(letter.headers[k].value, RR_SLICE("version_missing")));
        }
        refused = rr_slice_equal(letter.headers[k].name, RR_SLICE("Rr-Refused")) ? letter.headers[k].value : refused;
    }
    assert_true(rr_slice_equal(refused, RR_SLICE("2 of 12: 3, 7")));
    rr_buf_fini(&text);
    rr_arena_fini(&arena);
}

/* ---- a wrong mapping ---- */

static void add_many(size_t count)
{
    char line[16];

    for (size_t k = 0; k < count; k++) {
        snprintf(line, sizeof line, "k%zu", k);
        add_message(line, 1, "all", (unsigned)k + 1);
    }
}

static void a_wrong_mapping_holds_its_source(void **state)
{
    rr_error error = {0};

    (void)state;
    rr_config_fini(&w.config);
    read_config("no.such.place");
    add_many(1000);
    assert_int_equal(deliver(64, &error), RR_INPUT);
    assert_non_null(strstr(error.text, "source s is held"));
    assert_non_null(strstr(error.text, "version_missing"));
    assert_non_null(strstr(error.text, "; the mapping takes version.number from 'no.such.place'"));
    assert_non_null(strstr(w.said, "Correct the mapping"));
    assert_true(rr_source_script_acked(w.source) <= 100);
    assert_true(w.totals.dead_letters <= 100);

    /* Started again it stays held, and no further letter is written. */
    assert_int_equal(deliver(64, &error), RR_INPUT);
    assert_int_equal(w.totals.deliveries, 0);
    assert_int_equal(w.totals.dead_letters, 0);

    /* With the mapping corrected it goes on by itself. */
    rr_config_fini(&w.config);
    read_config("n");
    assert_int_equal(deliver(64, &error), RR_OK);
    assert_non_null(strstr(w.said, "it was held, and has another mapping now"));
    assert_int_equal(rr_source_script_acked(w.source), 1000);
    assert_int_equal(w.totals.dead_letters, 0);
    assert_int_equal(w.totals.verdicts[RR_VERDICT_REFUSED], 0);
}

/* The program that brought the corrected mapping died when it had noted it, and the hold was still there. */
static void a_hold_of_another_mapping_ends_at_the_next_start(void **state)
{
    rr_error error = {0};

    (void)state;
    rr_config_fini(&w.config);
    read_config("no.such.place");
    add_many(1000);
    assert_int_equal(deliver(64, &error), RR_INPUT);
    rr_config_fini(&w.config);
    read_config("n");
    assert_int_equal(
        rr_store_memory_ops.note_put(w.store, RR_SLICE("rr:mapping:{s}"), rr_buf_view(&w.mappings), 0, &error), RR_OK);
    assert_int_equal(deliver(64, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(w.source), 1000);
}

static void refusals_that_are_right_are_accepted_on_demand(void **state)
{
    rr_error error = {0};

    (void)state;
    for (size_t k = 0; k < 300; k++) {
        add_message("a", 0, "b", 0);
    }
    assert_int_equal(deliver(50, &error), RR_INPUT);
    accept_refusals = true;
    assert_int_equal(deliver(50, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(w.source), 300);
    for (uint64_t sequence = 1; sequence <= 300; sequence++) {
        assert_true(rr_source_script_has_letter(w.source, sequence));
    }
}

static void another_mapping_is_refused_until_it_is_accepted(void **state)
{
    rr_error error = {0};

    (void)state;
    add_message("a", 1, "b", 1);
    assert_int_equal(deliver(10, &error), RR_OK);
    rr_config_fini(&w.config);
    read_config("v");
    assert_int_equal(deliver(10, &error), RR_CONFIG);
    assert_non_null(strstr(error.text, "decoded by other mappings"));
    assert_non_null(strstr(error.text, "--accept-contracts"));
    assert_non_null(strstr(error.text, "rebuild"));
    accept_contracts = true;
    assert_int_equal(deliver(10, &error), RR_OK);
    accept_contracts = false;
    assert_int_equal(deliver(10, &error), RR_OK);

    /* Nor may a process without a mapping join. */
    rr_buf_clear(&w.mappings);
    assert_int_equal(deliver(10, &error), RR_CONFIG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {TEST(each_record_takes_effect_and_one_letter_names_the_refused),
                                       TEST(what_a_rule_skips_is_acknowledged_and_counted),
                                       TEST(no_record_is_acknowledged_before_its_message_s_letter),
                                       TEST(a_message_taken_again_changes_nothing),
                                       TEST(more_records_than_deliveries_fit_are_decided_in_one_batch),
                                       TEST(a_letter_tells_which_records_were_refused),
                                       TEST(a_wrong_mapping_holds_its_source),
                                       TEST(a_hold_of_another_mapping_ends_at_the_next_start),
                                       TEST(refusals_that_are_right_are_accepted_on_demand),
                                       TEST(another_mapping_is_refused_until_it_is_accepted)};
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
