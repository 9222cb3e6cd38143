/* The order of things in the loop, on a source and a store in memory: what is stored before what is acknowledged, when
 * swaps are lost, unanswered or refused; and what is told when the store or the source was rolled back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "contract_yaml.h"
#include "dead_letter.h"
#include "service.h"
#include "record_json.h"
#include "record_proto.h"
#include "source_script.h"
#include "store_faulty.h"
#include "store_memory.h"

enum { RECORDS = 12, TEXT_MAX = 8192 };

#define STORED_US INT64_C(1767261900000000)

static const char contracts_text[] = "contracts:\n"
                                     "- {name: latest, mode: cumulative, window: {kind: global}}\n"
                                     "- {name: kept, mode: cumulative, retention: 7d, grace: 1d}\n";

static rr_contract_list contracts;
static rr_bound_contract texts[2];
static rr_buf printed[2], payloads[RECORDS], old_payload, young_payload;
static rr_script_record script[RECORDS];

static void make_payload(rr_buf *payload, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void make_payload(rr_buf *payload, const char *format, ...)
{
    char rest[256], line[512];
    rr_arena arena;
    rr_record record;
    int64_t time_us;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "{\"business_key\":\"k\",\"metric_version\":\"v1\",%s}", rest);
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_record_from_json(rr_slice_of(line), &arena, &record, &time_us, NULL), RR_DECODED_RECORD);
    assert_true(rr_record_to_proto(&record, payload));
    rr_arena_fini(&arena);
}

/* One cell: versions 1, 2, ... of which each third comes as an older one. */
static void make_script(void)
{
    for (size_t k = 0; k < RECORDS; k++) {
        size_t version = k % 3 == 2 ? 1 : k + 1;

        make_payload(&payloads[k], "\"result_version\":%zu,\"value\":%zu", version, version);
        script[k] = (rr_script_record){RR_SLICE("latest"), rr_buf_view(&payloads[k]), STORED_US};
    }
    make_payload(&old_payload, "\"result_version\":1,\"value\":1,\"window\":"
                               "{\"start\":\"2025-12-20T10:00:00Z\",\"end\":\"2025-12-20T10:01:00Z\"}");
    make_payload(&young_payload, "\"result_version\":1,\"value\":1,\"window\":"
                                 "{\"start\":\"2026-01-01T10:00:00Z\",\"end\":\"2026-01-01T10:01:00Z\"}");
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
    make_script();
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t k = 0; k < RECORDS; k++) {
        rr_buf_fini(&payloads[k]);
    }
    rr_buf_fini(&old_payload);
    rr_buf_fini(&young_payload);
    rr_buf_fini(&printed[0]);
    rr_buf_fini(&printed[1]);
    rr_contracts_fini(&contracts);
    return 0;
}

/* ---- the world ---- */

static const char *incarnation;
static int64_t clock_us;
static rr_service_totals totals;
static char told[TEXT_MAX]; /* kinds of alerts that reached the channel, each behind a space */
static char told_id[256];   /* of the first of them that is about a record */

static unsigned nameless;   /* so many times it does not say who it is ... */
static int64_t nameless_us; /* ... and the last time only after so long */

static rr_status identity(rr_store *store, rr_store_identity *who, rr_error *error)
{
    (void)store;
    if (nameless != 0) {
        clock_us += --nameless == 0 ? nameless_us : 0;
        return rr_fail(error, RR_UNAVAILABLE, "no answer");
    }
    snprintf(who->incarnation, sizeof who->incarnation, "%s", incarnation);
    return RR_OK;
}

/* A note is written to the same server whatever it is called here: nobody changes it between the look and the write. */
static const rr_store_ops *inner_ops;

static rr_status note_set(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                          const rr_store_identity *same, bool *done, rr_error *error)
{
    (void)same;
    return inner_ops->note_set(store, key, expected, value, ttl_ms, NULL, done, error);
}

static rr_bound_route route(const void *context, rr_slice subject)
{
    (void)context;
    return (rr_bound_route){.contract = rr_contracts_find(&contracts, subject)};
}

static int64_t now_us(void)
{
    return STORED_US + (clock_us += 100000);
}

static void log_line(rr_log_level level, const char *said)
{
    (void)level;
    (void)said;
}

static rr_status tell(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    (void)channel;
    (void)error;
    for (size_t k = 0; k < count; k++) {
        size_t used = strlen(told);

        if (told_id[0] == '\0' && !rr_slice_equal(messages[k].contract, RR_SLICE("-"))) {
            snprintf(told_id, sizeof told_id, "%.*s", (int)messages[k].id.len, messages[k].id.data);
        }
        snprintf(told + used, sizeof told - used, " %.*s", (int)messages[k].kind.len, messages[k].kind.data);
    }
    return RR_OK;
}

static rr_status run(const rr_store_ops *ops, rr_store *store, rr_source *source, size_t batch, rr_error *error)
{
    static const rr_channel_ops channel_ops = {.send = tell};
    static atomic_int stop;
    rr_bound_source over = {.ops = &rr_source_script_ops,
                            .source = source,
                            .name = RR_SLICE("s"),
                            .stream = RR_SLICE("S"),
                            .consumer = RR_SLICE("c"),
                            .batch = batch,
                            .dead_letters = "dead",
                            .route = route};
    rr_bound_channel channel = {.ops = &channel_ops};
    rr_store_ops own = *ops;
    rr_service_options options = {.env.store_ops = &own,
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

    inner_ops = ops;
    own.identity = identity;
    own.note_set = note_set;
    told[0] = told_id[0] = '\0';
    totals = (rr_service_totals){0};
    return rr_service_run(&options, &totals, error);
}

static rr_store *open_memory(void)
{
    rr_store *store = NULL;

    incarnation = "run/one";
    clock_us = 0;
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &store, NULL), RR_OK);
    return store;
}

/* What readers see of the one cell; empty: nothing. */
static void read_cell(const rr_store_ops *ops, rr_store *store, char value[TEXT_MAX])
{
    rr_load load = {.key = RR_SLICE("rr:{latest:k}:v1")};
    rr_arena arena;

    rr_arena_init(&arena, 0);
    assert_int_equal(ops->load(store, &load, 1, &arena, NULL), RR_OK);
    snprintf(value, TEXT_MAX, "%.*s", (int)load.value.len, load.value.len == 0 ? "" : load.value.data);
    rr_arena_fini(&arena);
}

static void assert_newest(const rr_store_ops *ops, rr_store *store)
{
    char value[TEXT_MAX];

    read_cell(ops, store, value);
    assert_non_null(strstr(value, "\"measures\":{\"value\":11},\"version\":11,"));
}

/* ---- swaps that go wrong ---- */

typedef struct witness {
    const rr_store_ops *ops;
    rr_store *store;
} witness;

/* The cell holds this version or a newer one. */
static void stored_by_now(void *context, const rr_delivery *delivery)
{
    const witness *w = context;
    char value[TEXT_MAX];
    const char *at;

    read_cell(w->ops, w->store, value);
    at = strstr(value, "\"version\":");
    if (at == NULL || strtoul(at + 10, NULL, 10) + 1 < delivery->stream_sequence) {
        fail_msg("sequence %llu is acknowledged, and the cell is %s", (unsigned long long)delivery->stream_sequence,
                 value);
    }
}

/* Somebody else writes the cell: the value as it is, under another token. */
static void rival(void *context, rr_store *inner)
{
    rr_load load = {.key = RR_SLICE("rr:{latest:k}:v1")};
    rr_arena arena;
    rr_swap swap = {.key = load.key};
    char *value;

    (void)context;
    rr_arena_init(&arena, 0);
    assert_int_equal(rr_store_memory_ops.load(inner, &load, 1, &arena, NULL), RR_OK);
    if (load.value.len != 0) {
        value = rr_arena_take(&arena, load.value.len);
        memcpy(value, load.value.data, load.value.len);
        value[load.value.len - 3] ^= 1;
        swap.token = rr_value_token(load.value);
        swap.value = (rr_slice){value, load.value.len};
        assert_int_equal(rr_store_memory_ops.swap(inner, &swap, 1, &arena, NULL), RR_OK);
    }
    rr_arena_fini(&arena);
}

/* The nth swap fails in this way, for each n there is. */
static void fail_each_swap(rr_fault_kind kind)
{
    for (size_t nth = 1; nth <= RECORDS; nth++) {
        rr_fault plan = {.op = RR_FAULT_SWAP, .kind = kind, .nth = nth, .late = 3, .rival = rival};
        rr_store *store = rr_store_faulty_new(&rr_store_memory_ops, open_memory(), &plan, 1);
        witness w = {&rr_store_faulty_ops, store};
        rr_source *source = rr_source_script_new(script, RECORDS, stored_by_now, &w);
        rr_error error = {0};

        if (run(&rr_store_faulty_ops, store, source, 2, &error) != RR_OK) {
            fail_msg("swap %zu: %s", nth, error.text);
        }
        assert_int_equal(rr_source_script_acked(source), RECORDS);
        assert_newest(&rr_store_faulty_ops, store);
        if (kind != RR_FAULT_LATE) { /* a swap that is done is known by its token, and not decided again */
            assert_int_equal(totals.verdicts[RR_VERDICT_APPLIED], RECORDS - RECORDS / 3);
        }
        rr_source_script_ops.close(source);
        rr_store_faulty_ops.close(store);
    }
}

static void a_swap_that_was_lost_is_decided_again(void **state)
{
    (void)state;
    fail_each_swap(RR_FAULT_RIVAL);
}

static void a_swap_that_was_not_sent_is_sent_again(void **state)
{
    (void)state;
    fail_each_swap(RR_FAULT_NOT_SENT);
}

static void a_swap_without_an_answer_is_looked_up(void **state)
{
    (void)state;
    fail_each_swap(RR_FAULT_NO_ANSWER);
}

static void a_swap_that_is_done_late_does_no_harm(void **state)
{
    (void)state;
    fail_each_swap(RR_FAULT_LATE);
}

/* ---- a store that is another one after an outage ---- */

static rr_store *behind; /* the store that is there now */

static rr_status moved_load(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    (void)store;
    return rr_store_memory_ops.load(behind, loads, count, arena, error);
}

/* Of the first call of two units one is won; then the store is gone, and an empty one in its place. */
static rr_status moved_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    bool breaks = behind == store && count == 2;
    rr_status status = rr_store_memory_ops.swap(behind, swaps, breaks ? 1 : count, arena, error);

    if (breaks) {
        swaps[1].answer = RR_SWAP_UNKNOWN;
        behind = open_memory();
        incarnation = "run/two";
        status = rr_fail(error, RR_UNAVAILABLE, "the connection broke");
    }
    return status;
}

static rr_status moved_note_get(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error)
{
    (void)store;
    return rr_store_memory_ops.note_get(behind, key, arena, value, error);
}

static rr_status moved_note_set(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                                const rr_store_identity *same, bool *done, rr_error *error)
{
    (void)store;
    return rr_store_memory_ops.note_set(behind, key, expected, value, ttl_ms, same, done, error);
}

static void both_stored_by_now(void *context, const rr_delivery *delivery)
{
    static const rr_slice keys[] = {{"rr:{latest:k}:v1", 16}, {"rr:{kept:k}:v1:1767261600000000-1767261660000000", 48}};
    rr_arena arena;

    (void)context;
    (void)delivery;
    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < 2; k++) {
        rr_load load = {.key = keys[k]};

        assert_int_equal(rr_store_memory_ops.load(behind, &load, 1, &arena, NULL), RR_OK);
        assert_int_not_equal(load.value.len, 0);
    }
    rr_arena_fini(&arena);
}

static void run_moving(rr_store *first, rr_status (*swap)(rr_store *, rr_swap *, size_t, rr_arena *, rr_error *))
{
    const rr_script_record two[] = {{RR_SLICE("latest"), rr_buf_view(&payloads[0]), STORED_US},
                                    {RR_SLICE("kept"), rr_buf_view(&young_payload), STORED_US}};
    rr_store_ops ops = rr_store_memory_ops;
    rr_source *source = rr_source_script_new(two, 2, both_stored_by_now, NULL);
    rr_error error = {0};

    behind = first;
    ops.load = moved_load;
    ops.swap = swap;
    ops.note_get = moved_note_get;
    ops.note_set = moved_note_set;
    assert_int_equal(run(&ops, first, source, 2, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(source), 2);
    rr_source_script_ops.close(source);
}

static void what_an_outage_took_is_decided_again(void **state)
{
    rr_store *first = open_memory();

    (void)state;
    run_moving(first, moved_swap);
    assert_ptr_not_equal(behind, first);
    rr_store_memory_ops.close(behind);
    rr_store_memory_ops.close(first);
}

static rr_store *elsewhere; /* for a while, in the place of the first */

/* The first attempt does nothing; the second is at another store and wins one of two; then the first one is there again. */
static rr_status straying_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    bool strayed = behind == elsewhere, strays = elsewhere == NULL;

    if (count != 2 || (!strayed && !strays)) {
        return rr_store_memory_ops.swap(behind, swaps, count, arena, error);
    }
    swaps[0].answer = swaps[1].answer = RR_SWAP_UNKNOWN;
    if (strayed) {
        assert_int_equal(rr_store_memory_ops.swap(behind, swaps, 1, arena, NULL), RR_OK);
    } else {
        elsewhere = open_memory();
    }
    behind = strayed ? store : elsewhere;
    incarnation = strayed ? "run/one" : "run/two";
    return rr_fail(error, RR_UNAVAILABLE, "the connection broke");
}

/* The store is the one of the last tick, and not the one of the last attempt. */
static void what_was_stored_elsewhere_between_two_attempts_is_decided_again(void **state)
{
    rr_store *first = open_memory();

    (void)state;
    elsewhere = NULL;
    run_moving(first, straying_swap);
    assert_ptr_equal(behind, first);
    assert_non_null(elsewhere);
    rr_store_memory_ops.close(elsewhere);
    rr_store_memory_ops.close(first);
}

static size_t logged;           /* entries that were stored */
static unsigned nameless_after; /* a swap that fails: so many times it does not say who it is */
static bool confirmed;          /* the last swap, or what was asked for behind it, was */

static rr_status noted_confirm(rr_store *store, rr_error *error)
{
    rr_status status = rr_store_faulty_ops.confirm(store, error);

    confirmed = status == RR_OK;
    return status;
}

static void confirmed_by_now(void *context, const rr_delivery *delivery)
{
    (void)context;
    (void)delivery;
    assert_true(confirmed);
}

static rr_status counted_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = rr_store_faulty_ops.swap(store, swaps, count, arena, error);

    for (size_t k = 0; k < count; k++) {
        logged += swaps[k].answer == RR_SWAP_WON ? swaps[k].entry_count : 0;
    }
    nameless = status == RR_OK ? nameless : nameless_after;
    confirmed = status == RR_OK;
    return status;
}

/* A cell with a stale record and a refused one, and another cell; what goes wrong is in the plan. Says how often the store
 * was asked whether replicas have it all. */
static size_t run_counted(const rr_fault *plan, size_t faults)
{
    const rr_script_record records[] = {script[0],
                                        script[1],
                                        script[2],
                                        {RR_SLICE("kept"), rr_buf_view(&young_payload), STORED_US},
                                        {RR_SLICE("nowhere"), rr_buf_view(&payloads[0]), STORED_US}};
    rr_store_ops ops = rr_store_faulty_ops;
    rr_store *store = rr_store_faulty_new(&rr_store_memory_ops, open_memory(), plan, faults);
    rr_source *source = rr_source_script_new(records, 5, confirmed_by_now, NULL);
    rr_error error = {0};
    size_t asked;

    logged = 0;
    ops.swap = counted_swap;
    ops.confirm = noted_confirm;
    assert_int_equal(run(&ops, store, source, 5, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(source), 5);
    asked = rr_store_faulty_calls(store, RR_FAULT_CONFIRM);
    rr_source_script_ops.close(source);
    rr_store_faulty_ops.close(store);
    return asked;
}

/* Whoever is the same all along is not told again what it has stored. */
static void a_store_that_does_not_say_who_it_is_is_waited_for(void **state)
{
    const rr_fault plan = {.op = RR_FAULT_SWAP, .kind = RR_FAULT_NOT_SENT, .nth = 1, .from_item = 1};

    (void)state;
    for (nameless_after = 0; nameless_after < 3; nameless_after++) {
        run_counted(&plan, 1);
        assert_int_equal(logged, 2);
    }
    nameless_after = 0;
}

/* The one that did not get through is too late by then; it takes the place of its own effect, and of nothing else. */
static void what_is_settled_is_not_told_again_where_the_rest_is_too_late(void **state)
{
    const rr_fault plan = {.op = RR_FAULT_SWAP, .kind = RR_FAULT_NOT_SENT, .nth = 1, .from_item = 1};

    (void)state;
    nameless_after = 1;
    nameless_us = INT64_C(9) * 86400000000;
    run_counted(&plan, 1);
    assert_int_equal(logged, 3);
    assert_int_equal(totals.verdicts[RR_VERDICT_TOO_LATE], 1);
    assert_int_equal(totals.verdicts[RR_VERDICT_APPLIED], 2);
    nameless_after = 0;
    nameless_us = 0;
}

/* ---- replicas that have to confirm ---- */

static void what_replicas_lack_is_neither_acknowledged_nor_told_again(void **state)
{
    /* The effects, then the refusal; then there is nothing to do but to ask. */
    const rr_fault plan[] = {{.op = RR_FAULT_SWAP, .kind = RR_FAULT_UNCONFIRMED, .nth = 1, .times = 2},
                             {.op = RR_FAULT_CONFIRM, .kind = RR_FAULT_UNCONFIRMED, .nth = 1, .times = 3}};

    (void)state;
    assert_int_equal(run_counted(plan, 0), 0); /* a swap has waited itself */
    assert_int_equal(run_counted(plan, 2), 4);
    assert_int_equal(logged, 2);
}

/* Decides one record, for as long as the store does not answer; says how often it did not. */
static unsigned decide_one(rr_batch *batch)
{
    rr_arena arena;
    rr_record record;
    rr_item item = {.contract = &contracts.items[0], .record = &record};
    rr_status status;
    unsigned failed = 0;

    rr_arena_init(&arena, 0);
    assert_int_equal(rr_record_from_proto(rr_buf_view(&payloads[0]), false, &arena, &record, NULL, NULL),
                     RR_DECODED_RECORD);
    assert_true(rr_arena_reserve(&arena, rr_admit_need(&contracts.items[0], &record)));
    assert_int_equal(rr_admit(&contracts.items[0], &record, &arena, NULL), RR_REASON_NONE);
    assert_int_equal(rr_batch_begin(batch, &item, 1, NULL), RR_OK);
    while ((status = rr_batch_step(batch, 0, NULL)) == RR_UNAVAILABLE) {
        failed++;
    }
    assert_int_equal(status, RR_OK);
    assert_true(item.settled);
    rr_arena_fini(&arena);
    return failed;
}

/* Read from the store or kept in memory: somebody else may have written it, and no replica may have it. */
static void what_is_held_already_is_confirmed_too(void **state)
{
    const rr_fault plan = {.op = RR_FAULT_CONFIRM, .kind = RR_FAULT_UNCONFIRMED, .nth = 1, .times = 2};

    (void)state;
    for (size_t slots = 0; slots <= 64; slots += 64) {
        rr_batch_options options = {.prefix = RR_SLICE("rr"), .log_decisions = true, .cache_slots = slots};
        rr_store *store = rr_store_faulty_new(&rr_store_memory_ops, open_memory(), &plan, 1);
        rr_batch *batch = rr_batch_new(&rr_store_faulty_ops, store, &options);

        assert_int_equal(decide_one(batch), 0);
        assert_int_equal(rr_store_faulty_calls(store, RR_FAULT_CONFIRM), 0);
        assert_int_equal(decide_one(batch), 2);
        assert_int_equal(rr_store_faulty_calls(store, RR_FAULT_CONFIRM), 3);
        assert_int_equal(rr_store_faulty_calls(store, RR_FAULT_LOAD), slots == 0 ? 2 : 1);
        rr_batch_free(batch);
        rr_store_faulty_ops.close(store);
    }
}

/* The call is answered, and this unit in it is not. */
static rr_status unanswering_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = rr_store_faulty_ops.swap(store, swaps, count, arena, error);

    swaps[0].answer = RR_SWAP_UNKNOWN;
    return status;
}

static void what_is_looked_up_behind_a_swap_is_confirmed_too(void **state)
{
    rr_batch_options options = {.prefix = RR_SLICE("rr"), .log_decisions = true};
    rr_store *store = rr_store_faulty_new(&rr_store_memory_ops, open_memory(), NULL, 0);
    rr_store_ops ops = rr_store_faulty_ops;
    rr_batch *batch;

    (void)state;
    ops.swap = unanswering_swap;
    batch = rr_batch_new(&ops, store, &options);
    assert_int_equal(decide_one(batch), 0);
    assert_int_equal(rr_store_faulty_calls(store, RR_FAULT_SWAP), 1);
    assert_int_equal(rr_store_faulty_calls(store, RR_FAULT_CONFIRM), 1);
    rr_batch_free(batch);
    rr_store_faulty_ops.close(store);
}

/* ---- an alert that is due is in the log, and reaches the channel ---- */

static void each_stale_record_is_told(void **state)
{
    rr_store *store = open_memory();
    rr_source *source = rr_source_script_new(script, 3, NULL, NULL);
    rr_error error = {0};

    (void)state;
    assert_int_equal(run(&rr_store_memory_ops, store, source, 1, &error), RR_OK);
    assert_string_equal(told, " stale_overwrite");
    rr_source_script_ops.close(source);
    rr_store_memory_ops.close(store);
}

/* The same, taken in the other order: the reconciler reordered it, and the producer did not. */
static void our_own_reordering_raises_no_alert(void **state)
{
    static const bool apart[] = {false, true};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        rr_store *store = open_memory();
        rr_source *source = rr_source_script_new(script, 2, NULL, NULL);
        rr_error error = {0};

        /* The second first: then the first is older in its version, and in the stream. */
        rr_source_script_hold_back(source, 1);
        assert_int_equal(run(&rr_store_memory_ops, store, source, apart[k] ? 1 : 2, &error), RR_OK);
        assert_int_equal(rr_source_script_acked(source), 2);
        assert_string_equal(told, "");
        rr_source_script_ops.close(source);
        rr_store_memory_ops.close(store);
    }
}

/* ---- one batch ---- */

/* Records of versions 2, 1, 1, ... of one cell; the first from one stream, the others from `stream`. */
static rr_batch_counts decide(rr_slice stream, size_t count, size_t *alerts)
{
    static rr_item items[RR_LIMIT_BATCH_ALERTS + 2];
    static rr_record records[RR_LIMIT_BATCH_ALERTS + 2];
    rr_batch_options options = {.prefix = RR_SLICE("rr"), .log_decisions = true};
    rr_store *store = open_memory();
    rr_batch *batch = rr_batch_new(&rr_store_memory_ops, store, &options);
    rr_batch_counts counts;
    rr_arena arena;
    rr_error error = {0};

    rr_arena_init(&arena, 0);
    *alerts = 0;
    for (size_t k = 0; k < count; k++) {
        rr_text why = {.len = 0};

        assert_int_equal(
            rr_record_from_proto(rr_buf_view(&payloads[k == 0 ? 1 : 2]), false, &arena, &records[k], NULL, NULL),
            RR_DECODED_RECORD);
        assert_true(rr_arena_reserve(&arena, rr_admit_need(&contracts.items[0], &records[k])));
        assert_int_equal(rr_admit(&contracts.items[0], &records[k], &arena, &why), RR_REASON_NONE);
        records[k].stream = k == 0 ? RR_SLICE("A") : stream;
        records[k].stream_sequence = k == 0 ? count + 1 : k;
        items[k] = (rr_item){.contract = &contracts.items[0], .record = &records[k]};
    }
    assert_int_equal(rr_batch_begin(batch, items, count, &error), RR_OK);
    assert_int_equal(rr_batch_step(batch, 0, &error), RR_OK);
    for (size_t k = 0; k < count; k++) {
        assert_true(items[k].settled);
        *alerts += items[k].outcome.alerts != 0;
    }
    counts = *rr_batch_totals(batch);
    rr_batch_free(batch);
    rr_arena_fini(&arena);
    rr_store_memory_ops.close(store);
    return counts;
}

/* Sequences of two streams cannot be compared. */
static void reordering_is_of_one_stream(void **state)
{
    size_t alerts;

    (void)state;
    assert_int_equal(decide(RR_SLICE("A"), 2, &alerts).reordered, 1);
    assert_int_equal(alerts, 0);
    assert_int_equal(decide(RR_SLICE("B"), 2, &alerts).reordered, 0);
    assert_int_equal(alerts, 1);
}

static void decisions_of_one_batch_are_bounded_and_counted(void **state)
{
    size_t alerts;

    (void)state;
    assert_int_equal(decide(RR_SLICE("B"), RR_LIMIT_BATCH_ALERTS + 1, &alerts).suppressed, 0);
    assert_int_equal(decide(RR_SLICE("B"), RR_LIMIT_BATCH_ALERTS + 2, &alerts).suppressed, 1);
}

/* ---- ids of alerts ---- */

/* A refused record, taken in, and read again for a store that lost what it had. */
static void assert_id(int64_t stored_at_us, const char *expected)
{
    const rr_script_record malformed = {RR_SLICE("latest"), RR_SLICE("\xff"), stored_at_us};
    rr_source *source = rr_source_script_new(&malformed, 1, NULL, NULL);

    for (unsigned k = 0; k < 2; k++) {
        rr_store *store = open_memory();
        rr_error error = {0};

        incarnation = k == 0 ? "run/one" : "run/two";
        assert_int_equal(run(&rr_store_memory_ops, store, source, 2, &error), RR_OK);
        assert_int_equal(totals.deliveries, 1 - k);
        assert_string_equal(told_id, expected);
        rr_store_memory_ops.close(store);
    }
    rr_source_script_ops.close(source);
}

static void the_id_of_an_alert_is_its_records_alone(void **state)
{
    (void)state;
    assert_id(STORED_US, "latest/contract_violation/S/1/2026-01-01T10:05:00Z");
    assert_id(STORED_US + 1, "latest/contract_violation/S/1/2026-01-01T10:05:00.000001Z");
}

/* ---- dead letters ---- */

static void letter_by_now(void *context, const rr_delivery *delivery)
{
    assert_true(rr_source_script_has_letter(*(rr_source **)context, delivery->stream_sequence));
}

/* Refused for any reason, and the dead letters' stream does not take it at first. */
static void assert_letter(const rr_script_record *record, rr_verdict verdict, const char *alert)
{
    rr_store *store = open_memory();
    rr_source *source = NULL;
    rr_error error = {0};

    source = rr_source_script_new(record, 1, letter_by_now, &source);
    rr_source_script_fail_publish(source, 2);
    assert_int_equal(run(&rr_store_memory_ops, store, source, 2, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(source), 1);
    assert_int_equal(totals.verdicts[verdict], 1);
    assert_int_equal(totals.dead_letters, 1);
    assert_string_equal(told, alert);
    rr_source_script_ops.close(source);
    rr_store_memory_ops.close(store);
}

static void a_refused_record_has_its_dead_letter_first(void **state)
{
    const rr_script_record unrouted = {RR_SLICE("nowhere"), rr_buf_view(&payloads[0]), STORED_US};
    const rr_script_record malformed = {RR_SLICE("latest"), RR_SLICE("\xff"), STORED_US};

    (void)state;
    assert_letter(&unrouted, RR_VERDICT_REFUSED, " contract_violation");
    assert_letter(&malformed, RR_VERDICT_REFUSED, " contract_violation");
}

static void assert_subject(int64_t stored_at_us, rr_slice payload, uint64_t times_delivered, const char *expected)
{
    rr_record record = {.stream = RR_SLICE("S.1")};
    rr_item item = {.contract = &contracts.items[0], .record = &record, .of = 1};
    rr_delivery delivery = {
        .payload = payload, .stream_sequence = 7, .times_delivered = times_delivered, .stored_at_us = stored_at_us};
    rr_publication letter;
    rr_arena arena;
    rr_buf text = {0};

    rr_arena_init(&arena, 0);
    assert_true(rr_dead_letter_write(&letter, "dead", &item, 1, &delivery, &text, &arena));
    assert_true(letter.once);
    assert_int_equal(letter.subject.len, strlen(expected));
    assert_memory_equal(letter.subject.data, expected, letter.subject.len);
    rr_buf_fini(&text);
    rr_arena_fini(&arena);
}

/* Of one record always the same; of another one never, whatever its place in the stream. */
static void the_subject_of_a_dead_letter_is_its_records_alone(void **state)
{
    (void)state;
    assert_subject(STORED_US, RR_SLICE("a"), 1, "dead.latest.1767261900000000-af63dc4c8601ec8c.S_1.7");
    assert_subject(STORED_US, RR_SLICE("a"), 2, "dead.latest.1767261900000000-af63dc4c8601ec8c.S_1.7");
    assert_subject(STORED_US + 1, RR_SLICE("a"), 1, "dead.latest.1767261900000001-af63dc4c8601ec8c.S_1.7");
    assert_subject(STORED_US, RR_SLICE("b"), 1, "dead.latest.1767261900000000-af63df4c8601f1a5.S_1.7");
}

static void assert_header(const rr_publication *letter, const char *name, rr_slice value)
{
    for (size_t k = 0; k < letter->header_count; k++) {
        if (rr_slice_equal(letter->headers[k].name, rr_slice_of(name))) {
            assert_true(rr_slice_equal(letter->headers[k].value, value));
            return;
        }
    }
    fail_msg("there is no header %s", name);
}

/* Under a name that NATS gives no meaning, one line each, and no longer than what a message of NATS can hold. */
static void a_dead_letter_carries_the_headers_of_its_record(void **state)
{
    static char large[100000], cut[4096];
    rr_header headers[] = {{RR_SLICE("Nats-Rollup"), RR_SLICE("all")},
                           {RR_SLICE("Empty"), {NULL, 0}},
                           {RR_SLICE("Lines"), RR_SLICE("a\rb\nc")},
                           {RR_SLICE("Large"), {large, sizeof large}}};
    rr_record record = {.stream = RR_SLICE("S")};
    rr_item item = {.contract = &contracts.items[0], .record = &record};
    rr_delivery delivery = {.payload = RR_SLICE("a"), .headers = headers, .header_count = 4};
    rr_publication letter;
    rr_arena arena;
    rr_buf text = {0};

    (void)state;
    memset(large, 'x', sizeof large);
    memset(cut, 'x', sizeof cut);
    rr_arena_init(&arena, 0);
    assert_true(rr_dead_letter_write(&letter, "dead", &item, 1, &delivery, &text, &arena));
    assert_header(&letter, "Rr-Original-Nats-Rollup", RR_SLICE("all"));
    assert_header(&letter, "Rr-Original-Empty", (rr_slice){NULL, 0});
    assert_header(&letter, "Rr-Original-Lines", RR_SLICE("a b c"));
    assert_header(&letter, "Rr-Original-Large", (rr_slice){cut, sizeof cut});
    for (size_t k = 0; k < letter.header_count; k++) {
        assert_int_equal(strncmp(letter.headers[k].name.data, "Rr-", 3), 0);
    }
    rr_buf_fini(&text);
    rr_arena_fini(&arena);
}

/* It arrived in time; but now its cell may have been removed, and it would come back as the first of a fresh one. */
static void a_record_whose_cell_may_be_gone_is_too_late(void **state)
{
    const rr_script_record old = {RR_SLICE("kept"), rr_buf_view(&old_payload), STORED_US - INT64_C(10) * 86400000000};

    (void)state;
    assert_letter(&old, RR_VERDICT_TOO_LATE, " too_late");
}

/* It came in time and its cell was there; then the store did not answer until long after the cell was removed: nothing
 * was begun, for it had not said who it is. */
static void a_record_that_waited_until_its_cell_may_be_gone_is_too_late(void **state)
{
    const rr_script_record young = {RR_SLICE("kept"), rr_buf_view(&young_payload), STORED_US};

    (void)state;
    nameless = 2; /* at the start, and when the record is there */
    nameless_us = INT64_C(9) * 86400000000;
    assert_letter(&young, RR_VERDICT_TOO_LATE, " too_late");
    nameless_us = 0;
}

/* ---- rollbacks ---- */

static void copy_note(rr_store *from, rr_store *to)
{
    rr_slice key = RR_SLICE("rr:checkpoint:{s}"), value;
    rr_arena arena;

    rr_arena_init(&arena, 0);
    assert_int_equal(rr_store_memory_ops.note_get(from, key, &arena, &value, NULL), RR_OK);
    assert_int_not_equal(value.len, 0);
    assert_int_equal(rr_store_memory_ops.note_put(to, key, value, 0, NULL), RR_OK);
    rr_arena_fini(&arena);
}

/* Half was taken in, with its checkpoint; then all the rest; then the store is the one of half-way again. */
typedef struct rollback {
    rr_store *store; /* of half-way, with nothing but its checkpoint */
    rr_source *source;
} rollback;

static rollback roll_back(bool with_checkpoint)
{
    rr_store *before = open_memory(), *after;
    rollback r = {open_memory(), rr_source_script_new(script, RECORDS, NULL, NULL)};
    rr_source *half = rr_source_script_new(script, RECORDS / 2, NULL, NULL);
    rr_error error = {0};

    assert_int_equal(run(&rr_store_memory_ops, before, half, 2, &error), RR_OK);
    if (with_checkpoint) {
        copy_note(before, r.store);
    }
    after = open_memory();
    assert_int_equal(run(&rr_store_memory_ops, after, r.source, 2, &error), RR_OK);
    assert_int_equal(rr_source_script_acked(r.source), RECORDS);
    rr_source_script_ops.close(half);
    rr_store_memory_ops.close(before);
    rr_store_memory_ops.close(after);
    return r;
}

static void forget(rollback *r)
{
    rr_source_script_ops.close(r->source);
    rr_store_memory_ops.close(r->store);
}

static void another_store_gets_back_what_it_lost(void **state)
{
    static const bool checkpoint[] = {false, true};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        rollback r = roll_back(checkpoint[k]);
        rr_error error = {0};

        incarnation = "run/two";
        assert_int_equal(run(&rr_store_memory_ops, r.store, r.source, 2, &error), RR_OK);
        assert_newest(&rr_store_memory_ops, r.store);
        assert_non_null(strstr(told, " sink_rolled_back"));
        assert_null(strstr(told, "gap"));
        assert_null(strstr(told, "stale")); /* what is read again raises none */
        forget(&r);
    }
}

static size_t notices;

/* The notice of a repair is in the log, and no replica has confirmed it. */
static rr_status unconfirmed_notice(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = rr_store_faulty_ops.swap(store, swaps, count, arena, error);
    const rr_slice *entry = swaps[0].entry_count == 0 ? NULL : &swaps[0].entries[0];

    if (entry == NULL || memmem(entry->data, entry->len, "sink_rolled_back", strlen("sink_rolled_back")) == NULL) {
        return status;
    }
    notices++;
    return rr_fail(error, RR_UNAVAILABLE, "not confirmed");
}

static void a_repair_waits_for_replicas_and_is_told_once(void **state)
{
    const rr_fault plan = {.op = RR_FAULT_CONFIRM, .kind = RR_FAULT_UNCONFIRMED, .nth = 1, .times = 2};
    rollback r = roll_back(true);
    rr_store *store = rr_store_faulty_new(&rr_store_memory_ops, r.store, &plan, 1);
    rr_store_ops ops = rr_store_faulty_ops;
    rr_error error = {0};

    (void)state;
    notices = 0;
    incarnation = "run/two";
    ops.swap = unconfirmed_notice;
    for (size_t asked = 1; asked <= 3; asked++) { /* it leaves while the repair rests, and goes on at the next start */
        assert_int_equal(rr_store_faulty_calls(store, RR_FAULT_SWAP), 0);
        assert_int_equal(run(&ops, store, r.source, 2, &error), RR_OK);
        assert_int_equal(rr_store_faulty_calls(store, RR_FAULT_CONFIRM), asked);
    }
    assert_newest(&rr_store_faulty_ops, store);
    assert_int_equal(run(&ops, store, r.source, 2, &error), RR_OK);
    assert_int_equal(notices, 1);
    rr_source_script_ops.close(r.source);
    rr_store_faulty_ops.close(store);
}

static void what_cannot_be_read_again_is_told(void **state)
{
    rollback r = roll_back(true);
    rr_error error = {0};

    (void)state;
    incarnation = "run/two";
    rr_source_script_set_stream(r.source, RECORDS, RECORDS, 1);
    assert_int_equal(run(&rr_store_memory_ops, r.store, r.source, 2, &error), RR_OK);
    assert_non_null(strstr(told, " unrepairable_gap"));
    forget(&r);
}

static void a_source_that_is_another_one_is_stopped(void **state)
{
    static const struct {
        uint64_t last;
        int64_t created_at_us;
    } streams[] = {{3, 1}, {RECORDS, 2}};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        rollback r = roll_back(true);
        rr_error error = {0};

        rr_source_script_set_stream(r.source, 1, streams[k].last, streams[k].created_at_us);
        assert_int_equal(run(&rr_store_memory_ops, r.store, r.source, 2, &error), RR_CONFIG);
        forget(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_swap_that_was_lost_is_decided_again),
        cmocka_unit_test(a_swap_that_was_not_sent_is_sent_again),
        cmocka_unit_test(a_swap_without_an_answer_is_looked_up),
        cmocka_unit_test(a_swap_that_is_done_late_does_no_harm),
        cmocka_unit_test(what_an_outage_took_is_decided_again),
        cmocka_unit_test(what_was_stored_elsewhere_between_two_attempts_is_decided_again),
        cmocka_unit_test(a_store_that_does_not_say_who_it_is_is_waited_for),
        cmocka_unit_test(what_is_settled_is_not_told_again_where_the_rest_is_too_late),
        cmocka_unit_test(what_replicas_lack_is_neither_acknowledged_nor_told_again),
        cmocka_unit_test(what_is_held_already_is_confirmed_too),
        cmocka_unit_test(what_is_looked_up_behind_a_swap_is_confirmed_too),
        cmocka_unit_test(each_stale_record_is_told),
        cmocka_unit_test(our_own_reordering_raises_no_alert),
        cmocka_unit_test(reordering_is_of_one_stream),
        cmocka_unit_test(decisions_of_one_batch_are_bounded_and_counted),
        cmocka_unit_test(the_id_of_an_alert_is_its_records_alone),
        cmocka_unit_test(a_refused_record_has_its_dead_letter_first),
        cmocka_unit_test(the_subject_of_a_dead_letter_is_its_records_alone),
        cmocka_unit_test(a_dead_letter_carries_the_headers_of_its_record),
        cmocka_unit_test(a_record_whose_cell_may_be_gone_is_too_late),
        cmocka_unit_test(a_record_that_waited_until_its_cell_may_be_gone_is_too_late),
        cmocka_unit_test(another_store_gets_back_what_it_lost),
        cmocka_unit_test(a_repair_waits_for_replicas_and_is_told_once),
        cmocka_unit_test(what_cannot_be_read_again_is_told),
        cmocka_unit_test(a_source_that_is_another_one_is_stopped),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
