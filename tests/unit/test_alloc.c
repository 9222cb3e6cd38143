/* Every allocation fails once, and then it and all behind it: while records are decoded, batches decided, contracts
 * and configurations read, stores verified, and the loop runs. Nothing crashes or leaks, and nothing is acknowledged
 * whose effect, alert or dead letter is not stored. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "intake.h"
#include "allocations.h"
#include "config.h"
#include "service.h"
#include "record_json.h"
#include "record_proto.h"
#include "source_script.h"
#include "store_memory.h"
#include "verify.h"

enum { LINES_MAX = 64, BATCH = 7, LONG = 300, ATTEMPTS_MAX = 100000, KEYS_MAX = 64 };

#define LONG_A \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char contracts_text[] =
    "contracts:\n"
    "- {name: latest, mode: cumulative, window: {kind: tumbling, size: 1m}, corrections: conditional, retention: 7d}\n"
    "- {name: parts, mode: delta, window: {kind: tumbling, size: 1m}}\n"
    "- {name: rows, mode: retraction, window: {kind: tumbling, size: 1m}}\n"
    "- {name: visits, mode: delta, window: {kind: session, gap: 30s}}\n";

static const char config_text[] =
    "store: \"memory:\"\n"
    "sources:\n"
    "- {name: s, url: \"nats://127.0.0.1:4222\", stream: S, consumer: c, dead_letters: dead.s,"
    "   routes: [{subject: \"results.>\", contract: latest}]}\n"
    "contracts:\n"
    "- {name: latest, mode: cumulative, window: {kind: tumbling, size: 1m},"
    "   measures: {value: {type: int64, never_falls: true}, revenue: {type: decimal}}}\n"
    "alerts: [log, {nats: {url: \"nats://127.0.0.1:4222\"}}]\n";

/* A window of the contract's, and what else the record says. %s: a long identity, so that they do not fit in a cell. */
static const char window[] = "\"window\":{\"start\":\"2026-01-01T10:00:00Z\",\"end\":\"2026-01-01T10:01:00Z\"}";
static const struct {
    const char *contract, *rest;
} lines[] = {
    {"latest", "\"result_version\":2,\"value\":20"},
    {"latest", "\"result_version\":1,\"value\":10"},
    {"latest", "\"result_version\":2,\"value\":21"},
    {"latest", "\"result_version\":4,\"value\":4,\"window\":{\"start\":\"2026-01-01T10:02:00Z\",\"end\":\"2026-01-"
               "01T10:03:00Z\"}"},
    {"parts", "\"delta_id\":\"%s1\",\"value\":1"},
    {"parts", "\"delta_id\":\"%s2\",\"value\":2"},
    {"rows", "\"contributor\":\"%s1\",\"result_version\":5,\"value\":5"},
    {"rows", "\"contributor\":\"%s2\",\"result_version\":6,\"value\":6"},
    {"parts", "\"delta_id\":\"%s3\",\"value\":4"},
    {"parts", "\"delta_id\":\"%s4\",\"value\":8"},
    {"rows", "\"contributor\":\"%s3\",\"result_version\":7,\"value\":7"},
    {"rows", "\"contributor\":\"%s4\",\"result_version\":8,\"value\":8"},
    {"latest", "\"origin\":\"CORRECTION\",\"result_version\":1,\"base_version\":2,\"value\":22"},
    {"parts", "\"delta_id\":\"%s2\",\"value\":2"},
    {"parts", "\"delta_id\":\"%s1\",\"value\":9"},
    {"rows", "\"contributor\":\"%s1\",\"result_version\":4,\"value\":4"},
    {"rows", "\"contributor\":\"%s4\",\"op\":\"RETRACT\",\"retracts_version\":8"},
    {"visits", "\"delta_id\":\"v1\",\"value\":1"},
    {"visits", "\"delta_id\":\"v2\",\"value\":2,\"window\":{\"start\":\"2026-01-01T10:02:00Z\",\"end\":\"2026-01-01T10:"
               "03:00Z\"}"},
    {"visits", "\"delta_id\":\"v3\",\"value\":4,\"window\":{\"start\":\"2026-01-01T10:00:00Z\",\"end\":\"2026-01-01T10:"
               "03:00Z\"}"},
    {"latest", "\"result_version\":3"},
    {"latest", "\"result_version\":3,\"value\":30"},
    {"unknown", "\"result_version\":3,\"value\":30"},
    {"latest", "\"result_version\":1,\"value\":1,\"window\":{\"start\":\"2025-12-01T10:00:00Z\",\"end\":\"2025-12-"
               "01T10:01:00Z\"}"},
    {"parts", "\"op\":\"RETRACT\",\"delta_id\":\"%s4\""},
    {"rows", "\"contributor\":\"%s1\",\"op\":\"RETRACT\",\"result_version\":3"},
    {"latest", "\"result_version\":3,\"value\":3,\"window\":{\"start\":\"2026-01-01T10:02:00Z\",\"end\":\"2026-01-"
               "01T10:03:00Z\"}"},
};
enum { LINES = sizeof lines / sizeof lines[0] };

static char *payload_bytes[LINES];
static rr_script_record script[LINES];
static rr_contract_list contracts;
static rr_bound_contract texts[8];
static rr_buf printed[8];

/* ---- records ---- */

static void make_payload(size_t k)
{
    char rest[LONG + 200], line[LONG + 600];
    rr_arena arena;
    rr_record record;
    rr_buf bytes = {0};
    int64_t clock_us;

    snprintf(rest, sizeof rest, lines[k].rest, LONG_A LONG_A);
    snprintf(line, sizeof line, "{\"business_key\":\"k\",\"metric_version\":\"v1\",%s%s%s}", rest,
             strstr(rest, "window") == NULL ? "," : "", strstr(rest, "window") == NULL ? window : "");
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_record_from_json(rr_slice_of(line), &arena, &record, &clock_us, NULL), RR_DECODED_RECORD);
    assert_true(rr_record_to_proto(&record, &bytes));
    rr_arena_fini(&arena);
    payload_bytes[k] = bytes.data;
    script[k] = (rr_script_record){rr_slice_of(lines[k].contract), rr_buf_view(&bytes), INT64_C(1767261900000000)};
}

static rr_bound_route route(const void *context, rr_slice subject)
{
    (void)context;
    return (rr_bound_route){.contract = rr_contracts_find(&contracts, subject)};
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
    for (size_t k = 0; k < LINES; k++) {
        make_payload(k);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t k = 0; k < LINES; k++) {
        free(payload_bytes[k]);
    }
    for (size_t k = 0; k < contracts.count; k++) {
        rr_buf_fini(&printed[k]);
    }
    rr_contracts_fini(&contracts);
    return 0;
}

/* ---- a store that is watched: which records' decisions it keeps ---- */

static rr_store_ops watched_ops;
static bool logged[LINES + 1]; /* by sequence */

static bool says(rr_slice entry, const char *what)
{
    return memmem(entry.data, entry.len, what, strlen(what)) != NULL;
}

/* And each entry says why. */
static void note_entry(rr_slice entry)
{
    static const char name[] = "\"sequence\":";
    const char *at = memmem(entry.data, entry.len, name, sizeof name - 1);
    unsigned long sequence = at == NULL ? 0 : strtoul(at + sizeof name - 1, NULL, 10);
    bool unrouted = sequence != 0 && strcmp(lines[sequence - 1].contract, "unknown") == 0;

    assert_true(sequence <= LINES);
    assert_int_equal(
        unrouted, says(entry, "\"verdict\":\"REFUSED\",\"reason\":\"unrouted\",\"alerts\":[\"contract_violation\"]"));
    assert_int_equal(says(entry, "2025-12-01"),
                     says(entry, "\"verdict\":\"TOO_LATE\",\"reason\":\"beyond_retention\",\"alerts\":[\"too_late\"]"));
    logged[sequence] = true;
}

static rr_status watched_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = rr_store_memory_ops.swap(store, swaps, count, arena, error);
    bool was_on = rr_allocations_pause();

    for (size_t k = 0; k < count; k++) {
        for (size_t e = 0; swaps[k].answer == RR_SWAP_WON && e < swaps[k].entry_count; e++) {
            note_entry(swaps[k].entries[e]);
        }
    }
    rr_allocations_resume(was_on);
    return status;
}

/* ---- what the store holds ---- */

typedef struct snapshot {
    rr_store *store;
    rr_arena arena;
    rr_buf lines[KEYS_MAX];
    size_t count;
} snapshot;

/* Key and value up to where the time of writing begins. */
static bool take_key(void *context, rr_slice key)
{
    snapshot *s = context;
    rr_load load = {.key = key};
    rr_buf *line = &s->lines[s->count];
    const char *rest;

    assert_true(s->count < KEYS_MAX);
    assert_int_equal(rr_store_memory_ops.load(s->store, &load, 1, &s->arena, NULL), RR_OK);
    rest = load.value.len == 0 ? NULL : memmem(load.value.data, load.value.len, ",\"updated_at\"", 13);
    if (rest != NULL && memmem(key.data, key.len, ":{", 2) == key.data + 2) {
        rr_buf_slice(line, key);
        rr_buf_put(line, load.value.data, (size_t)(rest - load.value.data));
        s->count++;
    }
    return true;
}

static int by_text(const void *a, const void *b)
{
    return rr_slice_compare(rr_buf_view(a), rr_buf_view(b));
}

static void take_snapshot(snapshot *s, rr_store *store)
{
    *s = (snapshot){.store = store};
    rr_arena_init(&s->arena, 0);
    assert_int_equal(rr_store_memory_ops.scan(store, RR_SLICE("rr:"), take_key, s, NULL), RR_OK);
    qsort(s->lines, s->count, sizeof s->lines[0], by_text);
}

static void free_snapshot(snapshot *s)
{
    for (size_t k = 0; k < s->count; k++) {
        rr_buf_fini(&s->lines[k]);
    }
    rr_arena_fini(&s->arena);
}

static void assert_same_cells(const snapshot *a, const snapshot *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t k = 0; k < a->count; k++) {
        if (by_text(&a->lines[k], &b->lines[k]) != 0) {
            fail_msg("%.*s\nbut undisturbed\n%.*s", (int)b->lines[k].len, b->lines[k].data, (int)a->lines[k].len,
                     a->lines[k].data);
        }
    }
}

/* ---- is the effect of a record in the store? ---- */

static rr_bound_source source_over(rr_source *source)
{
    return (rr_bound_source){.ops = &rr_source_script_ops,
                             .source = source,
                             .name = RR_SLICE("s"),
                             .stream = RR_SLICE("S"),
                             .consumer = RR_SLICE("c"),
                             .batch = BATCH,
                             .dead_letters = "dead",
                             .route = route};
}

/* Joining it again to what is stored changes nothing. */
static bool is_held(rr_store *store, const rr_item *item, rr_arena *arena)
{
    rr_buf key = {0};
    rr_load load;
    rr_unit unit;
    rr_outcome outcome;

    if (item->contract->window_kind == RR_WINDOW_SESSION) {
        rr_slice index = RR_SLICE("rr:{visits:k}:v1:sessions");
        rr_buf_slice(&key, index);
    } else {
        rr_buf_format(&key, "rr:{%.*s:k}:v1:%lld-%lld", (int)item->contract->name.len, item->contract->name.data,
                      (long long)item->record->window.start, (long long)item->record->window.end);
    }
    load = (rr_load){.key = rr_buf_view(&key)};
    assert_int_equal(rr_store_memory_ops.load(store, &load, 1, arena, NULL), RR_OK);
    assert_int_equal(rr_stored_read(&unit, item->contract, load.value, arena, NULL), RR_OK);
    if (unit.spilled) {
        rr_parts_read read = {.key = load.key, .token = rr_value_token(load.value), .all = true};

        assert_int_equal(rr_store_memory_ops.read_parts(store, &read, 1, arena, NULL), RR_OK);
        assert_false(read.changed);
        for (size_t k = 0; k < read.part_count; k++) {
            assert_true(rr_part_read(&unit, read.parts[k].name, read.parts[k].bytes, arena));
        }
        unit.complete = true;
    }
    rr_buf_fini(&key);
    assert_true(rr_arena_reserve(arena, rr_join_need(&unit, item->record)));
    assert_int_equal(rr_join(&unit, item->record, arena, &outcome), RR_JOIN_DONE);
    return !outcome.grew ||
           outcome.verdict == RR_VERDICT_CONFLICT; /* the latest contender is kept, the others are not */
}

typedef struct witness {
    rr_store *store;
    rr_source *source;
    const bool *due; /* by sequence: its decision is to be logged; NULL: not known yet */
} witness;

/* An acknowledgement: its effect and alert, or its dead letter, must be stored by now. */
static void check_ack(void *context, const rr_delivery *delivery)
{
    witness *w = context;
    rr_bound_source source = source_over(w->source);
    rr_intake intake;
    const rr_item *item;
    bool was_on = rr_allocations_pause();

    assert_true(rr_intake_init(&intake, 1));
    assert_true(rr_intake_add(&intake, &source, delivery, INT64_MIN));
    item = &intake.items[0];
    assert_int_equal(item->refused, rr_source_script_has_letter(w->source, delivery->stream_sequence));
    if (!item->refused && !is_held(w->store, item, &intake.arena)) {
        fail_msg("sequence %llu is acknowledged, and its effect is not stored",
                 (unsigned long long)delivery->stream_sequence);
    }
    if (w->due != NULL && w->due[delivery->stream_sequence] && !logged[delivery->stream_sequence]) {
        fail_msg("sequence %llu is acknowledged, and its alert is not stored",
                 (unsigned long long)delivery->stream_sequence);
    }
    rr_intake_fini(&intake);
    rr_allocations_resume(was_on);
}

/* ---- the loop ---- */

static int64_t tick_us;

static int64_t now_us(void)
{
    return INT64_C(1767261900000000) + (tick_us += 100000);
}

static void log_line(rr_log_level level, const char *text)
{
    (void)level;
    (void)text;
}

static rr_status send_nothing(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    (void)channel;
    (void)messages;
    (void)count;
    (void)error;
    return RR_OK;
}

static rr_status run_service(rr_store *store, rr_source *source, rr_error *error)
{
    static const rr_channel_ops channel_ops = {.send = send_nothing};
    static atomic_int stop;
    rr_bound_source over = source_over(source);
    rr_bound_channel channel = {.ops = &channel_ops};
    rr_service_totals totals = {0};
    rr_service_options options = {.env.store_ops = &watched_ops,
                                  .env.store = store,
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

    return rr_service_run(&options, &totals, error);
}

static void open_store(rr_store **store)
{
    rr_error error = {0};

    memset(logged, 0, sizeof logged);
    tick_us = 0;
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, store, &error), RR_OK);
}

/* One run with a fault, and one without that ends the work. True: the fault was reached. */
static bool serve_with_fault(size_t nth, bool all, const snapshot *wanted, const bool *due)
{
    witness w = {.due = due};
    snapshot got;
    rr_error error = {0};
    rr_status status;
    bool reached;

    rr_allocations_begin(nth, all);
    rr_allocations_pause();
    open_store(&w.store);
    w.source = rr_source_script_new(script, LINES, check_ack, &w);
    rr_allocations_resume(true);
    status = run_service(w.store, w.source, &error);
    rr_allocations_pause();
    assert_true(status == RR_OK || error.text[0] != '\0');
    rr_source_script_rewind(w.source);
    assert_int_equal(run_service(w.store, w.source, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(w.source), LINES);
    take_snapshot(&got, w.store);
    assert_same_cells(wanted, &got);
    free_snapshot(&got);
    rr_source_script_ops.close(w.source);
    rr_store_memory_ops.close(w.store);
    reached = rr_allocations_end();
    if (rr_allocations_live() != 0) {
        fail_msg("allocation %zu: %ld blocks are lost", nth, rr_allocations_live());
    }
    return reached;
}

static void undisturbed(snapshot *wanted, bool due[LINES + 1], rr_store **store)
{
    witness w = {.due = NULL};
    rr_error error = {0};

    open_store(&w.store);
    w.source = rr_source_script_new(script, LINES, check_ack, &w);
    assert_int_equal(run_service(w.store, w.source, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(w.source), LINES);
    take_snapshot(wanted, w.store);
    assert_int_equal(wanted->count, 4 + 3 + 1); /* four cells, three sessions and their index */
    memcpy(due, logged, sizeof logged);
    /* Stale, equivocation, refused, unrouted, too late; and one that is stale in a batch where its cell stays as it
     * is. */
    assert_true(due[2] && due[3] && due[21] && due[23] && due[24] && due[LINES]);
    rr_source_script_ops.close(w.source);
    *store = w.store;
}

static void the_loop_acknowledges_nothing_that_is_not_stored(void **state)
{
    static const bool both[] = {false, true};
    snapshot wanted;
    bool due[LINES + 1];
    rr_store *store;

    (void)state;
    undisturbed(&wanted, due, &store);
    for (size_t a = 0; a < 2; a++) {
        size_t nth = 1;

        while (serve_with_fault(nth, both[a], &wanted, due)) {
            assert_true(++nth < ATTEMPTS_MAX);
        }
        assert_true(nth > 10);
    }
    free_snapshot(&wanted);
    rr_store_memory_ops.close(store);
}

/* ---- one batch ---- */

typedef struct batch_world {
    rr_intake intake;
    rr_store *store;
} batch_world;

static void admit_all(batch_world *b)
{
    rr_bound_source source = source_over(NULL);

    assert_true(rr_intake_init(&b->intake, LINES));
    for (size_t k = 0; k < LINES; k++) {
        rr_delivery delivery = {.subject = script[k].subject,
                                .payload = script[k].payload,
                                .stream_sequence = k + 1,
                                .stored_at_us = script[k].stored_at_us};

        assert_true(rr_intake_add(&b->intake, &source, &delivery, INT64_MIN));
    }
}

/* No value that was stored is broken, so none may be taken for broken where memory ran out. */
static void assert_not_broken(void *context, const rr_error *error)
{
    (void)context;
    assert_int_not_equal(error->status, RR_INPUT);
}

static rr_status decide(batch_world *b, size_t first, size_t count)
{
    rr_batch_options options = {
        .prefix = RR_SLICE("rr"), .log_decisions = true, .list_open = true, .report_stuck = assert_not_broken};
    rr_batch *batch = rr_batch_new(&watched_ops, b->store, &options);
    rr_error error = {0};
    rr_status status = batch == NULL ? RR_MEMORY : rr_batch_begin(batch, b->intake.items + first, count, &error);

    if (status == RR_OK) {
        status = rr_batch_step(batch, 0, &error);
    }
    rr_batch_free(batch);
    return status;
}

static void check_settled(batch_world *b, const bool *due, size_t nth)
{
    for (size_t k = 0; k < LINES; k++) {
        const rr_item *item = &b->intake.items[k];

        if (item->settled && !item->refused && !is_held(b->store, item, &b->intake.arena)) {
            fail_msg("allocation %zu: record %zu is settled, and its effect is not stored", nth, k + 1);
        }
        if (item->settled && due[k + 1] && !logged[k + 1]) {
            fail_msg("allocation %zu: record %zu is settled, and its alert is not stored", nth, k + 1);
        }
        assert_false(item->settled && item->stuck);
    }
}

/* The first half is there already, so that the second meets values and parts that were stored. */
static bool batch_with_fault(size_t nth, bool all, const snapshot *wanted, const bool *due)
{
    static batch_world b;
    snapshot got;
    rr_status status;
    bool reached;

    memset(&b, 0, sizeof b);
    rr_allocations_begin(nth, all);
    rr_allocations_pause();
    open_store(&b.store);
    admit_all(&b);
    assert_int_equal(decide(&b, 0, LINES / 2), RR_OK);
    rr_allocations_resume(true);
    status = decide(&b, LINES / 2, LINES - LINES / 2);
    rr_allocations_pause();
    assert_true(status == RR_OK || status == RR_MEMORY);
    check_settled(&b, due, nth);
    assert_int_equal(decide(&b, LINES / 2, LINES - LINES / 2), RR_OK);
    for (size_t k = 0; k < LINES; k++) {
        assert_true(b.intake.items[k].settled && !b.intake.items[k].stuck);
    }
    take_snapshot(&got, b.store);
    assert_same_cells(wanted, &got);
    free_snapshot(&got);
    rr_intake_fini(&b.intake);
    rr_store_memory_ops.close(b.store);
    reached = rr_allocations_end();
    assert_int_equal(rr_allocations_live(), 0);
    return reached;
}

static void a_batch_settles_nothing_that_is_not_stored(void **state)
{
    static const bool both[] = {false, true};
    snapshot wanted;
    bool due[LINES + 1];
    rr_store *store;

    (void)state;
    undisturbed(&wanted, due, &store);
    for (size_t a = 0; a < 2; a++) {
        size_t nth = 1;

        while (batch_with_fault(nth, both[a], &wanted, due)) {
            assert_true(++nth < ATTEMPTS_MAX);
        }
        assert_true(nth > 10);
    }
    free_snapshot(&wanted);
    rr_store_memory_ops.close(store);
}

/* ---- verify ---- */

static uint64_t differences;

static void count_difference(void *context, rr_verify_finding finding, rr_slice key, rr_slice expected, rr_slice found)
{
    (void)context;
    (void)finding;
    (void)key;
    (void)expected;
    (void)found;
    differences++;
}

static int64_t stored_at(void)
{
    return script[0].stored_at_us;
}

/* The store holds what the streams say. Memory that runs out must not make a difference of that. */
static bool verify_with_fault(size_t nth, bool all, const rr_contract *contract, rr_store *store, rr_source *source)
{
    const rr_bound_source bound = source_over(source);
    const rr_verify_options options = {.contract = contract,
                                       .store_ops = &rr_store_memory_ops,
                                       .store = store,
                                       .memory_ops = &rr_store_memory_ops,
                                       .prefix = RR_SLICE("rr"),
                                       .sources = &bound,
                                       .source_count = 1,
                                       .rounds = 1,
                                       .now_us = stored_at,
                                       .report = count_difference};
    rr_verify_totals totals;
    rr_error error = {0};
    rr_status status;
    bool reached;

    differences = 0;
    rr_allocations_begin(nth, all);
    status = rr_verify_run(&options, &totals, &error);
    reached = rr_allocations_end();
    if (differences != 0 || (status != RR_OK && (nth == 0 || status != RR_MEMORY))) {
        fail_msg("allocation %zu: %s %s, %llu differences", nth, rr_status_name(status), error.text,
                 (unsigned long long)differences);
    }
    assert_true(status != RR_OK || totals.equal != 0);
    assert_int_equal(rr_allocations_live(), 0);
    return reached;
}

static void verify_finds_no_difference_for_want_of_memory(void **state)
{
    static batch_world b;
    rr_source *source = rr_source_script_new(script, LINES, NULL, NULL);

    (void)state;
    assert_non_null(source);
    open_store(&b.store);
    admit_all(&b);
    assert_int_equal(decide(&b, 0, LINES), RR_OK);
    for (size_t k = 0; k < contracts.count; k++) {
        for (int all = 0; all < 2; all++) {
            size_t nth = 0;

            while (nth == 0 || verify_with_fault(nth, all, &contracts.items[k], b.store, source)) {
                assert_true(++nth < ATTEMPTS_MAX);
            }
            assert_true(nth > 10);
        }
    }
    rr_intake_fini(&b.intake);
    rr_store_memory_ops.close(b.store);
    rr_source_script_ops.close(source);
}

/* ---- decoding and encoding ---- */

static rr_decoded decode(bool json, rr_slice bytes, rr_arena *arena, rr_record *record)
{
    int64_t clock_us;
    rr_text why = {.len = 0};

    return json ? rr_record_from_json(bytes, arena, record, &clock_us, &why)
                : rr_record_from_proto(bytes, false, arena, record, &clock_us, &why);
}

/* What is decoded although something failed is the whole record. */
static bool decode_with_fault(bool json, rr_slice bytes, size_t nth, bool all, rr_slice wanted)
{
    rr_arena arena;
    rr_record record;
    rr_buf again = {0};
    rr_decoded decoded;
    bool reached;

    rr_allocations_begin(nth, all);
    rr_arena_init(&arena, 0);
    decoded = decode(json, bytes, &arena, &record);
    rr_allocations_pause();
    assert_true(decoded == RR_DECODED_RECORD || decoded == RR_DECODED_NO_MEMORY);
    if (decoded == RR_DECODED_RECORD) {
        rr_allocations_resume(true);
        if (rr_record_to_json(&record, &again)) {
            assert_true(rr_slice_equal(rr_buf_view(&again), wanted));
        }
        rr_allocations_pause();
    }
    rr_buf_fini(&again);
    rr_arena_fini(&arena);
    reached = rr_allocations_end();
    assert_int_equal(rr_allocations_live(), 0);
    return reached;
}

static void decode_all(bool json)
{
    for (size_t k = 0; k < LINES; k++) {
        rr_buf text = {0}, bytes = {0};
        rr_arena arena;
        rr_record record;

        rr_arena_init(&arena, 0);
        assert_int_equal(decode(false, script[k].payload, &arena, &record), RR_DECODED_RECORD);
        assert_true(rr_record_to_json(&record, &text) && rr_record_to_proto(&record, &bytes));
        assert_int_equal(decode(true, rr_buf_view(&text), &arena, &record), RR_DECODED_RECORD);
        for (int all = 0; all < 2; all++) {
            size_t nth = 1;

            while (decode_with_fault(json, json ? rr_buf_view(&text) : rr_buf_view(&bytes), nth, all,
                                     rr_buf_view(&text))) {
                assert_true(++nth < ATTEMPTS_MAX);
            }
            assert_true(nth > 1);
        }
        rr_arena_fini(&arena);
        rr_buf_fini(&text);
        rr_buf_fini(&bytes);
    }
}

static void protobuf_is_decoded_whole_or_not_at_all(void **state)
{
    (void)state;
    decode_all(false);
}

static void json_is_decoded_whole_or_not_at_all(void **state)
{
    (void)state;
    decode_all(true);
}

/* ---- contracts and configuration ---- */

static bool contracts_with_fault(size_t nth, bool all)
{
    rr_contract_list list;
    rr_problems problems = {0};
    rr_status status;
    bool reached;

    rr_allocations_begin(nth, all);
    status = rr_contracts_parse("contracts", rr_slice_of(contracts_text), &list, &problems);
    rr_allocations_pause();
    if (status == RR_OK) {
        assert_int_equal(list.count, contracts.count);
        for (size_t k = 0; k < list.count; k++) {
            rr_buf text = {0};

            rr_contract_print(&list.items[k], &text);
            assert_true(rr_slice_equal(rr_buf_view(&text), rr_buf_view(&printed[k])));
            rr_buf_fini(&text);
        }
    } else {
        assert_true(nth != 0 && (problems.errors != 0 || status == RR_MEMORY));
    }
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
    reached = rr_allocations_end();
    assert_int_equal(rr_allocations_live(), 0);
    return reached;
}

static bool config_with_fault(size_t nth, bool all)
{
    rr_config config;
    rr_problems problems = {0};
    rr_status status;
    bool reached;

    rr_allocations_begin(nth, all);
    status = rr_config_parse("config", rr_slice_of(config_text), &config, &problems);
    rr_allocations_pause();
    if (status == RR_OK) {
        assert_int_equal(config.source_count, 1);
        assert_string_equal(config.sources[0].options.stream, "S");
        assert_int_equal(config.sources[0].route_count, 1);
        assert_ptr_equal(config.sources[0].routes[0].under, &config.contracts.items[0]);
        assert_int_equal(config.contracts.items[0].measure_count, 2);
        assert_int_equal(config.channel_count, 2);
    } else {
        assert_true(nth != 0 && (problems.errors != 0 || status == RR_MEMORY));
    }
    rr_config_fini(&config);
    rr_problems_fini(&problems);
    reached = rr_allocations_end();
    assert_int_equal(rr_allocations_live(), 0);
    return reached;
}

static void try_all(bool (*with_fault)(size_t nth, bool all))
{
    assert_false(with_fault(0, false));
    for (int all = 0; all < 2; all++) {
        size_t nth = 1;

        while (with_fault(nth, all)) {
            assert_true(++nth < ATTEMPTS_MAX);
        }
        assert_true(nth > 10);
    }
}

static void contracts_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    try_all(contracts_with_fault);
}

static void a_configuration_is_read_whole_or_not_at_all(void **state)
{
    (void)state;
    try_all(config_with_fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protobuf_is_decoded_whole_or_not_at_all),
        cmocka_unit_test(json_is_decoded_whole_or_not_at_all),
        cmocka_unit_test(contracts_are_read_whole_or_not_at_all),
        cmocka_unit_test(a_configuration_is_read_whole_or_not_at_all),
        cmocka_unit_test(a_batch_settles_nothing_that_is_not_stored),
        cmocka_unit_test(verify_finds_no_difference_for_want_of_memory),
        cmocka_unit_test(the_loop_acknowledges_nothing_that_is_not_stored),
    };

    watched_ops = rr_store_memory_ops;
    watched_ops.swap = watched_swap;
    return cmocka_run_group_tests(tests, begin, end);
}
