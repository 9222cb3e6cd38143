/* What verify reports where the store holds bytes that are no text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "intake.h"
#include "key.h"
#include "record_json.h"
#include "record_proto.h"
#include "source_script.h"
#include "store_memory.h"
#include "verify.h"

#define NOW INT64_C(1767261900000000) /* 2026-01-01T10:05:00Z */
#define MINUTE INT64_C(60000000)

static rr_contract contract;
static char found_line[256];
static unsigned findings;

static rr_bound_route route(const void *context, rr_slice subject)
{
    (void)context;
    (void)subject;
    return (rr_bound_route){.contract = &contract};
}

static int64_t now_us(void)
{
    return NOW;
}

static void keep_found(void *context, rr_verify_finding finding, rr_slice key, rr_slice expected, rr_slice found)
{
    (void)context;
    (void)key;
    assert_int_equal(finding, RR_VERIFY_DIFFERS);
    assert_int_not_equal(expected.len, 0);
    snprintf(found_line, sizeof found_line, "%.*s", (int)found.len, found.data);
    findings++;
}

static void write_payload(rr_buf *payload)
{
    rr_slice line = RR_SLICE("{\"business_key\":\"k\",\"metric_version\":\"v1\",\"result_version\":1,\"value\":1,"
                             "\"window\":{\"start\":1767261600000000,\"end\":1767261660000000}}");
    rr_arena arena;
    rr_record record;
    int64_t clock_us;

    rr_arena_init(&arena, 0);
    assert_int_equal(rr_record_from_json(line, &arena, &record, &clock_us, NULL), RR_DECODED_RECORD);
    assert_true(rr_record_to_proto(&record, payload));
    rr_arena_fini(&arena);
}

/* Stores the effect of the payload, as the daemon does. */
static void store_effect(rr_store *store, const rr_bound_source *source, rr_slice payload)
{
    rr_batch_options options = {.prefix = RR_SLICE("rr")};
    rr_batch *batch = rr_batch_new(&rr_store_memory_ops, store, &options);
    rr_delivery delivery = {
        .subject = RR_SLICE("c"), .payload = payload, .stream_sequence = 1, .stored_at_us = NOW - MINUTE};
    rr_intake intake;
    rr_error error = {0};

    assert_non_null(batch);
    assert_true(rr_intake_init(&intake, 1));
    assert_non_null(rr_intake_add(&intake, source, &delivery, INT64_MIN));
    assert_int_equal(rr_batch_begin(batch, intake.items, 1, &error), RR_OK);
    assert_int_equal(rr_batch_step(batch, NOW, &error), RR_OK);
    assert_int_equal(intake.items[0].outcome.verdict, RR_VERDICT_APPLIED);
    rr_intake_fini(&intake);
    rr_batch_free(batch);
}

/* Puts other bytes in the place of what readers are shown, and leaves the facts. */
static void replace_shown(rr_store *store, rr_slice shown)
{
    rr_buf key = {0}, value = {0};
    rr_load load = {0};
    rr_arena arena;
    const char *rest;
    bool done = false;

    rr_arena_init(&arena, 0);
    rr_key_unit(&key, RR_SLICE("rr"), &contract, RR_SLICE("k"), RR_SLICE("v1"),
                (rr_window){INT64_C(1767261600000000), INT64_C(1767261660000000)});
    load.key = rr_buf_view(&key);
    assert_int_equal(rr_store_memory_ops.load(store, &load, 1, &arena, NULL), RR_OK);
    assert_int_not_equal(load.value.len, 0);
    rest = memmem(load.value.data, load.value.len, ",\"updated_at\":", 14);
    assert_non_null(rest);
    rr_buf_slice(&value, shown);
    rr_buf_put(&value, rest, (size_t)(load.value.data + load.value.len - rest));
    assert_int_equal(
        rr_store_memory_ops.note_set(store, load.key, load.value, rr_buf_view(&value), 0, NULL, &done, NULL), RR_OK);
    assert_true(done);
    rr_buf_fini(&key);
    rr_buf_fini(&value);
    rr_arena_fini(&arena);
}

/* The line is one JSON string in UTF-8 that steers no terminal, whatever somebody wrote into the store. */
static void shown_bytes_that_are_no_text_are_reported_as_text(void **state)
{
    rr_buf payload = {0};
    rr_script_record script = {.subject = RR_SLICE("c"), .stored_at_us = NOW - MINUTE};
    rr_source *source;
    rr_bound_source bound = {
        .ops = &rr_source_script_ops, .name = RR_SLICE("s"), .stream = RR_SLICE("S"), .route = route};
    rr_verify_options options = {.contract = &contract,
                                 .store_ops = &rr_store_memory_ops,
                                 .memory_ops = &rr_store_memory_ops,
                                 .prefix = RR_SLICE("rr"),
                                 .sources = &bound,
                                 .source_count = 1,
                                 .rounds = 1,
                                 .now_us = now_us,
                                 .report = keep_found};
    rr_verify_totals totals;
    rr_error error = {0};

    (void)state;
    contract = rr_contract_defaults;
    contract.name = RR_SLICE("c");
    contract.mode = RR_MODE_CUMULATIVE;
    contract.window_kind = RR_WINDOW_TUMBLING;
    contract.size_us = contract.slide_us = MINUTE;
    write_payload(&payload);
    script.payload = rr_buf_view(&payload);
    source = bound.source = rr_source_script_new(&script, 1, NULL, NULL);
    assert_non_null(source);
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &options.store, NULL), RR_OK);
    store_effect(options.store, &bound, script.payload);
    replace_shown(options.store, RR_SLICE("{\"\xff\x1b[31m\xc2\x9b"));
    assert_int_equal(rr_verify_run(&options, &totals, &error), RR_OK);
    assert_int_equal(findings, 1);
    assert_int_equal(totals.different, 1);
    assert_string_equal(found_line, "\"{\\\"\\\\xff\\u001b[31m\\u009b\"");
    rr_store_memory_ops.close(options.store);
    rr_source_script_ops.close(source);
    rr_buf_fini(&payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shown_bytes_that_are_no_text_are_reported_as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
