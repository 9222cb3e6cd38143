/* Suggestions on made streams of several forms: what the counts bear out is said, and nothing else; what is printed is
 * a configuration once its TODOs are filled in. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "suggest.h"

#define BASE_MS INT64_C(1735689600000) /* 2025-01-01T00:00:00Z */

enum { ROWS = 600, CELLS = 30 };

static const char *protoc;
static char folder[] = "/tmp/test_suggestion-XXXXXX";
static rr_arena arena;
static rr_sample sample;
static rr_buf text;
static uint64_t seed;
static rr_suggest_origin origin;

static uint64_t any(uint64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % below;
}

static int begin(void **state)
{
    (void)state;
    rr_arena_init(&arena, 256 << 20);
    seed = 7;
    origin = (rr_suggest_origin){"nats://127.0.0.1:4222", "RESULTS", NULL, NULL, NULL};
    return rr_sample_init(&sample, &arena, NULL) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    rr_buf_fini(&text);
    text = (rr_buf){0};
    rr_arena_fini(&arena);
    return 0;
}

static void add_on(const char *subject, rr_slice payload)
{
    uint64_t sequence = sample.message_count + 1;

    assert_true(rr_sample_add(
        &sample, &(rr_sample_message){rr_slice_of(subject), payload, sequence, (BASE_MS + (int64_t)sequence) * 1000}));
}

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *format, ...)
{
    char line[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    add_on("acme.results", rr_slice_of(line));
}

static const char *suggest(void)
{
    rr_buf_clear(&text);
    assert_true(rr_suggest_write(&sample, &origin, &text));
    rr_buf_char(&text, '\0');
    return text.data;
}

static void says(const char *wanted)
{
    if (strstr(text.data, wanted) == NULL) {
        fail_msg("'%s' is not in:\n%s", wanted, text.data);
    }
}

static void says_not(const char *unwanted)
{
    if (strstr(text.data, unwanted) != NULL) {
        fail_msg("'%s' is in:\n%s", unwanted, text.data);
    }
}

/* ---- the same as `check` ---- */

/* Puts what a person would where a TODO stands. */
static void fill_in(const char *from, const char *to)
{
    char *at = strstr(text.data, from);
    rr_buf filled = {0};

    if (at == NULL) {
        return;
    }
    rr_buf_put(&filled, text.data, (size_t)(at - text.data));
    rr_buf_text(&filled, to);
    rr_buf_text(&filled, at + strlen(from));
    rr_buf_char(&filled, '\0');
    rr_buf_fini(&text);
    text = filled;
}

static rr_status load(void)
{
    rr_problems problems = {0};
    rr_buf said = {0};
    rr_config config;
    rr_status status;
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/suggested.yaml", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text.data, file) >= 0);
    assert_int_equal(fclose(file), 0);
    status = rr_config_load(path, &config, &problems);
    if (status != RR_OK) {
        rr_problems_print(&problems, &said);
        printf("%.*s", (int)said.len, said.data);
    }
    rr_buf_fini(&said);
    rr_config_fini(&config);
    rr_problems_fini(&problems);
    return status;
}

/* It is no configuration before the TODOs are filled in, and one afterwards. */
static void becomes_a_configuration(void)
{
    assert_int_equal(load(), RR_CONFIG);
    fill_in("store: TODO", "store: redis://127.0.0.1:6379/0");
    fill_in("mode: TODO", "mode: cumulative");
    fill_in("version: {TODO: what the producer counts up with each result of a cell}", "version: {number: {const: 1}}");
    fill_in("window: {TODO: start and end}", "window: {start: {path: opened, unit: ms}, length: 1m}");
    fill_in("length: {TODO: how long a window is}", "length: 1m");
    if (load() != RR_OK) {
        fail_msg("no configuration:\n%s", text.data);
    }
}

/* ---- totals ---- */

typedef struct total {
    uint64_t store, minute, sum, step;
} total;

static void make_totals(total *rows)
{
    uint64_t sums[CELLS] = {0}, steps[CELLS] = {0};

    for (size_t k = 0; k < ROWS; k++) {
        uint64_t cell = any(CELLS);

        sums[cell] += 2 + any(40);
        rows[k] = (total){cell % 3, cell / 3, sums[cell], ++steps[cell]};
    }
}

static void add_total(const total *row, uint64_t ends, const total *counted)
{
    int64_t start = BASE_MS + (int64_t)row->minute * 60000;

    add("{\"store\":\"s%d\",\"from\":%lld,\"to\":%lld,\"sum\":%d,\"update_no\":{\"rev\":%d},\"schema\":3}",
        (int)row->store, (long long)start, (long long)(BASE_MS + (int64_t)ends * 60000 + 59999), (int)counted->sum,
        (int)counted->step);
}

static void totals_with_a_counter_are_cumulative(void **state)
{
    total rows[ROWS];

    (void)state;
    make_totals(rows);
    for (size_t k = 0; k < ROWS; k++) {
        add_total(&rows[k], rows[k].minute, &rows[k]);
    }
    suggest();
    says("business_key: [store]   # with the window: 30 cells in 600 records");
    says("start: {path: from, unit: ms}   # 10 values");
    says("end: {path: to, unit: ms, inclusive: 1ms}   # 600 of 600 records: 59999ms behind the start");
    says("number: update_no.rev   # 30 of 30 cells with repeats: grows with each repeat");
    says("# 570 of 570 repeats grow, 0 fall, 570 grow by 1; the least is 1; its name took part");
    says("mode: cumulative   # likely: cells repeat (570 repeats) under a version that grows");
    says("window: {kind: tumbling, size: 1m}   # 10 starts");
    says("sum: sum   # of 570 repeats in a cell 570 grow, 0 are equal, 0 fall");
    says("not in every record): schema");
    says("- subject: \"acme.results\"");
    becomes_a_configuration();
}

/* The same values, each column in an order of its own. */
static void shuffled_values_make_no_claim(void **state)
{
    total rows[ROWS];

    (void)state;
    make_totals(rows);
    for (size_t k = 0; k < ROWS; k++) {
        total counted = {0, 0, rows[any(ROWS)].sum, rows[any(ROWS)].step};

        add_total(&rows[k], rows[any(ROWS)].minute, &counted);
    }
    suggest();
    says("version: {TODO");
    says("mode: TODO");
    says("window: {kind: any}   # takes every window");
    says_not("grows with each repeat");
    says_not("behind the start");
    says_not("likely");
    says_not("tumbling");
    becomes_a_configuration();
}

static void a_total_alone_is_no_version(void **state)
{
    total rows[ROWS];

    (void)state;
    make_totals(rows);
    for (size_t k = 0; k < ROWS; k++) {
        int64_t start = BASE_MS / 1000 + (int64_t)rows[k].minute * 60;

        add("{\"store\":%d,\"s\":\"t%d\",\"from\":%lld,\"to\":%lld,\"sum\":%d,\"at\":%lld}", (int)rows[k].store,
            (int)rows[k].store, (long long)start, (long long)start + 60, (int)rows[k].sum,
            (long long)(BASE_MS + (int64_t)k));
    }
    suggest();
    says("version: {TODO");
    says("# at grows in 570 of 570 repeats, but is a wall clock");
    says("# sum grows in 570 of 570 repeats, as a total does");
    says("start: {path: from, unit: s}");
    says("emitted_at: {path: at, unit: ms}   # 600 of 600 lie within an hour");
    says("mode: cumulative   # likely: measures grow as totals do, and fall in 0 of");
    says_not("grows with each repeat");
    becomes_a_configuration();
}

static void few_messages_show_nothing(void **state)
{
    (void)state;
    for (int k = 1; k <= 5; k++) {
        add("{\"store\":\"a\",\"from\":%lld,\"to\":%lld,\"version\":%d,\"sum\":%d}", (long long)BASE_MS,
            (long long)BASE_MS + 60000, k, k * 10);
    }
    suggest();
    says("version: {TODO");
    says("window: {TODO: start and end}");
    says("mode: TODO");
    says_not("likely");
}

static void an_attempt_orders_before_a_counter_that_begins_anew(void **state)
{
    (void)state;
    for (int k = 0; k < ROWS; k++) {
        int64_t start = BASE_MS + k % 10 * INT64_C(60000);
        int round = k / 10;

        add("{\"line\":\"l%d\",\"from\":%lld,\"to\":%lld,\"attempt\":%d,\"pane_index\":%d,\"n\":%d}", k % 2,
            (long long)start, (long long)start + 60000, round / 20 + 1, round % 20, (int)any(1000));
    }
    suggest();
    says("epoch: attempt   # never falls in a cell; 3 values");
    says("number: {path: pane_index, add: 1}   # 10 of 10 cells with repeats");
    becomes_a_configuration();
}

/* ---- changelogs ---- */

static void add_row(const char *op, uint64_t cell, uint64_t version, uint64_t count)
{
    add("{\"op\":\"%s\",\"row\":{\"id\":\"i%d\",\"ws\":\"2025-01-01T00:%02d:00Z\",\"we\":\"2025-01-01T00:%02d:00Z\","
        "\"ver\":%d,\"cnt\":%d}}",
        op, (int)(cell % 3), (int)(cell / 3), (int)(cell / 3) + 1, (int)version, (int)count);
}

/* own: the withdrawal has a version of its own. */
static void add_changelog(bool own)
{
    uint64_t versions[CELLS] = {0}, counts[CELLS] = {0};

    for (size_t k = 0; k < ROWS; k++) {
        uint64_t cell = any(CELLS);

        if (versions[cell] != 0) {
            versions[cell] += own ? 1 : 0;
            add_row("-U", cell, versions[cell], counts[cell]);
        }
        counts[cell] += any(9);
        versions[cell]++;
        add_row(versions[cell] == 1 ? "+I" : "+U", cell, versions[cell], counts[cell]);
    }
}

static void a_changelog_is_a_retraction(void **state)
{
    (void)state;
    add_changelog(false);
    suggest();
    says("op: {path: op, values: {\"+I\": ASSERT, ");
    says("\"-U\": RETRACT");
    says("seen: +I 30, ");
    says("number: row.ver   # 30 of 30 cells with repeats: grows with each repeat");
    says("# 570 withdrawals have the version of the row before them in the cell, 0 a greater one");
    says("mode: retraction   # likely: 600 records assert, 570 withdraw");
    says("start: row.ws");
    says("business_key: [row.id]");
    says_not("withdraws: older");
    becomes_a_configuration();
}

static void withdrawals_with_versions_of_their_own_withdraw_what_is_older(void **state)
{
    (void)state;
    add_changelog(true);
    suggest();
    says("withdraws: older             # 570 withdrawals have a greater version");
    becomes_a_configuration();
}

static void both_halves_are_an_envelope(void **state)
{
    uint64_t revs[CELLS] = {0};

    (void)state;
    for (int k = 0; k < ROWS; k++) {
        uint64_t cell = any(CELLS);
        bool deletes = revs[cell] != 0 && any(10) == 0;
        char half[256];

        snprintf(half, sizeof half, "{\"line\":\"L%d\",\"opened\":%lld,\"closed\":%lld,\"qty\":%d}", (int)(cell % 5),
                 (long long)(BASE_MS / 1000 + (int64_t)(cell / 5) * 3600),
                 (long long)(BASE_MS / 1000 + (int64_t)(cell / 5) * 3600 + 3600), (int)any(100));
        add("{\"before\":%s,\"after\":%s,\"source\":{\"lsn\":%d},\"op\":\"%s\"}", revs[cell] != 0 ? half : "null",
            deletes ? "null" : half, 1000 + k * 7,
            deletes           ? "d"
            : revs[cell] == 0 ? "c"
                              : "u");
        revs[cell] = deletes ? 0 : 1;
    }
    suggest();
    says("- {at: after, when: {op: [c, r, u]}, op: ASSERT}");
    says("- {at: before, when: {op: [d]}, op: RETRACT, withdraws: older}");
    says("business_key: [line]");
    says("start: {path: opened, unit: s}");
    says("number: /source.lsn");
    says("# it also grows over the whole sample");
    says("mode: retraction");
    says_not("before.");
    becomes_a_configuration();
}

/* ---- amounts ---- */

static void amounts_with_identities_are_a_delta(void **state)
{
    (void)state;
    for (int k = 0; k < ROWS; k++) {
        int64_t start = BASE_MS + (int64_t)any(12) * 300000;

        add("{\"tx\":\"%08x-%d\",\"account\":\"a%d\",\"start\":%lld,\"end\":%lld,\"amount\":%d.25}",
            (unsigned)any(1u << 31), k, (int)any(9), (long long)start, (long long)start + 300000, (int)any(100) - 50);
    }
    suggest();
    says("delta_id: tx   # 600 values in 600 records");
    says("mode: delta   # likely: 600 different identities, no version, and measures fall in ");
    says("amount: {type: decimal}");
    says("# version: none is needed");
    becomes_a_configuration();
}

static void lengths_that_vary_are_named(void **state)
{
    (void)state;
    for (int k = 0; k < ROWS; k++) {
        int64_t start = BASE_MS + k % 50 * INT64_C(61000);

        add("{\"user\":\"u%d\",\"session_start\":%lld,\"session_end\":%lld,\"clicks\":%d}", k % 3, (long long)start,
            (long long)start + 1000 + (int64_t)any(90000), (int)any(100));
    }
    suggest();
    says("end: {path: session_end, unit: ms}   # 600 of 600 records: from ");
    says("taken for their names");
    says("# lengths vary: of sessions write {kind: session");
    becomes_a_configuration();
}

/* ---- what stands around ---- */

static void subjects_give_a_pattern_and_a_key(void **state)
{
    static const char *const plants[] = {"acme.north.parts", "acme.south.parts", "acme.west.parts"};

    (void)state;
    for (int k = 0; k < ROWS; k++) {
        char line[256];
        int64_t start = BASE_MS + k / 3 % 10 * INT64_C(60000);

        snprintf(line, sizeof line, "{\"from\":%lld,\"to\":%lld,\"revision\":%d,\"n\":%d}", (long long)start,
                 (long long)start + 60000, k / 30 + 1, (int)any(100));
        add_on(plants[k % 3], rr_slice_of(line));
    }
    suggest();
    says("- subject: \"acme.*.parts\"");
    says("business_key: [{subject: 2}]");
    says("number: revision   # 30 of 30 cells");
    becomes_a_configuration();
}

static void frames_and_empty_messages_are_noticed(void **state)
{
    total rows[ROWS];

    (void)state;
    make_totals(rows);
    for (size_t k = 0; k < ROWS; k++) {
        char framed[256] = {0, 0, 0, 0, 42};
        int len =
            snprintf(framed + 5, sizeof framed - 5, "{\"k\":\"s%d\",\"n\":%d}", (int)rows[k].store, (int)rows[k].sum);

        add_on("a", (rr_slice){framed, (size_t)len + 5});
        if (k % 100 == 0) {
            add_on("a", RR_SLICE(""));
        }
    }
    suggest();
    says("json: {framing: confluent}   # 600 messages begin with the frame of a schema registry");
    says("skip: {empty: true}   # 6 messages were empty");
}

static void heartbeats_are_skipped_by_what_tells_them_apart(void **state)
{
    (void)state;
    for (int k = 0; k < ROWS; k++) {
        int64_t start = BASE_MS + k % 10 * INT64_C(60000);

        add("{\"kind\":\"RESULT\",\"line\":\"l%d\",\"from\":%lld,\"to\":%lld,\"version\":%d,\"n\":%d}", k % 2,
            (long long)start, (long long)start + 60000, k / 10 + 1, (int)any(1000));
        if (k % 20 == 0) {
            add("{\"kind\":\"%s\",\"node\":%d}", k % 40 == 0 ? "HEARTBEAT" : "SCHEMA", k);
        }
    }
    suggest();
    says(
        "skip: {kind: [\"HEARTBEAT\", \"SCHEMA\"]}   # 0 messages were empty, 0 have no half of the envelope, 30 lack");
    says("business_key: [line]   # with the window: 10 cells in 600 records");
    says("number: version   # 10 of 10 cells");
    becomes_a_configuration();
}

static void repeated_bytes_are_no_repeats_of_a_cell(void **state)
{
    (void)state;
    for (int k = 0; k < ROWS; k++) {
        add("{\"k\":\"a\",\"version\":%d,\"n\":%d}", k / 2 + 1, k / 2 * 3);
    }
    suggest();
    says("# 300 records repeat the bytes of an earlier message");
    says("number: version   # 1 of 1 cells with repeats");
    says("# 299 of 299 repeats grow, 0 fall");
}

/* What a message says stays within its line and its quotes. */
static void names_of_messages_are_quoted(void **state)
{
    (void)state;
    for (int k = 0; k < ROWS; k++) {
        add("{\"a.b\":{\"x]: y # z\":\"v%d\\nstore: evil\"},\"true\":\"t%d\",\"ver\":%d,\"n\\nm: "
            "{\":%d,\"o\\u0000p\":%d}",
            k % 3, k % 2, k / 6 + 1, (int)any(100), (int)any(100));
    }
    suggest();
    says("\"[\\\"a.b\\\"].x]: y # z\"");
    says("\"true\"");
    says("n_m___: \"n\\u000am: {\"");
    says("# 600 values, rows or fields were left out"); /* a configuration holds no NUL */
    says_not("\nstore: evil");
    says_not("\nm: {");
    becomes_a_configuration();
}

/* ---- protobuf ---- */

static const char proto[] = "syntax = \"proto3\"; package acme.v1;\n"
                            "message Batch { Plant plant = 1; repeated Result results = 2; int64 sent_ms = 3;\n"
                            "  repeated int32 marks = 4; }\n"
                            "message Plant { string id = 1; }\n"
                            "message Result { string line = 1; Win win = 2; Pane pane = 3; Agg agg = 4; }\n"
                            "message Win { int64 open = 1; int64 max_ts = 2; }\n"
                            "message Pane { int64 index = 1; Timing timing = 2; bool is_last = 3; }\n"
                            "message Agg { int64 count = 1; double mean = 2; map<string, int64> by_kind = 3; }\n"
                            "enum Timing { UNKNOWN = 0; EARLY = 1; ON_TIME = 2; LATE = 3; }\n";

static void put_varint(rr_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        rr_buf_char(out, (char)(value | 0x80));
    }
    rr_buf_char(out, (char)value);
}

static void put_number(rr_buf *out, unsigned field, uint64_t value)
{
    if (value != 0) { /* as proto3 writes it */
        put_varint(out, field << 3);
        put_varint(out, value);
    }
}

static void put_bytes(rr_buf *out, unsigned field, rr_slice bytes)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len);
    rr_buf_slice(out, bytes);
}

/* Takes the inner message's bytes, and empties it. */
static void put_inner(rr_buf *out, unsigned field, rr_buf *inner)
{
    put_bytes(out, field, rr_buf_view(inner));
    rr_buf_clear(inner);
}

static void put_result(rr_buf *out, uint64_t line, uint64_t minute, uint64_t index)
{
    rr_buf inner = {0}, result = {0}, entry = {0};
    double mean = (double)any(1000) / 7;
    char name[8];

    put_bytes(&result, 1, (rr_slice){name, (size_t)snprintf(name, sizeof name, "l%d", (int)line)});
    put_number(&inner, 1, (uint64_t)BASE_MS + minute * 60000);
    put_number(&inner, 2, (uint64_t)BASE_MS + minute * 60000 + 59999);
    put_inner(&result, 2, &inner);
    put_number(&inner, 1, index);
    put_number(&inner, 2, index < 3 ? 1 : index == 3 ? 2 : 3);
    put_inner(&result, 3, &inner);
    put_number(&inner, 1, index * 5 + 3);
    rr_buf_char(&inner, 2 << 3 | 1);
    rr_buf_put(&inner, &mean, sizeof mean);
    put_bytes(&entry, 1, RR_SLICE("good"));
    put_number(&entry, 2, index * 4 + any(4));
    put_inner(&inner, 3, &entry);
    put_inner(&result, 4, &inner);
    put_inner(out, 2, &result);
    rr_buf_fini(&inner);
    rr_buf_fini(&result);
    rr_buf_fini(&entry);
}

static void add_batch(uint64_t plant, uint64_t round)
{
    rr_buf batch = {0}, inner = {0};
    char name[8];

    put_bytes(&inner, 1, (rr_slice){name, (size_t)snprintf(name, sizeof name, "p%d", (int)plant)});
    put_inner(&batch, 1, &inner);
    put_number(&batch, 3, (uint64_t)BASE_MS + sample.message_count);
    for (uint64_t line = 0; line < 4; line++) {
        put_result(&batch, line, round / 6 % 8, round % 6);
    }
    add_on("acme.batches", rr_buf_view(&batch));
    rr_buf_fini(&batch);
    rr_buf_fini(&inner);
}

static const rr_schema_message *read_schema(rr_schema *schema)
{
    static char path[128];
    char command[512], *bytes = rr_arena_take(&arena, 1 << 16);
    rr_error error = {0};
    FILE *file;
    size_t len;

    snprintf(path, sizeof path, "%s/acme.proto", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(proto, file) >= 0);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "cd %s && '%s' --include_imports --descriptor_set_out=acme.binpb acme.proto",
             folder, protoc);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/acme.binpb", folder);
    file = fopen(path, "rb");
    assert_non_null(file);
    len = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    assert_int_equal(rr_schema_read((rr_slice){bytes, len}, &arena, schema, &error), RR_OK);
    origin.descriptor_set = path;
    origin.message = "acme.v1.Batch";
    return rr_schema_find_message(schema, RR_SLICE("acme.v1.Batch"));
}

static void panes_in_protobuf_are_read_item_by_item(void **state)
{
    rr_schema schema;

    (void)state;
    assert_true(rr_sample_init(&sample, &arena, read_schema(&schema)));
    for (uint64_t round = 0; round < 48; round++) {
        add_batch(0, round);
        add_batch(1, round);
    }
    suggest();
    says("each: results   # a record for each item: 96 messages have 384");
    says("business_key: [/plant.id, line]   # with the window: 64 cells in 384 records");
    says("end: {path: win.max_ts, unit: ms, inclusive: 1ms}");
    says("number: {path: pane.index, add: 1}   # 64 of 64 cells with repeats: grows with each repeat");
    says("# 320 of 320 repeats grow, 0 fall, 320 grow by 1; the least is 0; its name took part");
    says("cause: {path: pane.timing, values: {EARLY: EARLY, ON_TIME: ON_TIME, LATE: LATE}}   # seen: EARLY 192");
    says("emitted_at: {path: /sent_ms, unit: ms}");
    says("mode: cumulative");
    says("mean: {type: double}");
    says("good: agg.by_kind.good");
    says("message: acme.v1.Batch}");
    becomes_a_configuration();
}

/* ---- hostile samples ---- */

static void any_bytes_are_counted_or_read(void **state)
{
    rr_schema schema;

    (void)state;
    for (int proto_too = 0; proto_too < 2; proto_too++) {
        assert_true(rr_sample_init(&sample, &arena, proto_too ? read_schema(&schema) : NULL));
        add_on("a", proto_too ? RR_SLICE("\x18\x01") : RR_SLICE("{\"a\":1}"));
        for (int k = 0; k < 2000; k++) {
            char bytes[64];
            size_t len = any(sizeof bytes);

            for (size_t at = 0; at < len; at++) {
                bytes[at] = (char)any(256);
            }
            add_on("a", (rr_slice){bytes, len});
        }
        assert_true(sample.unreadable > 1000);
        suggest();
        says("further messages could not be read, the first at sequence");
    }
}

static void deep_and_wide_messages_stay_within_bounds(void **state)
{
    rr_buf message = {0};

    (void)state;
    add("{\"a\":1}");
    for (int k = 0; k < 5000; k++) {
        rr_buf_text(&message, "{\"a\":[");
    }
    add_on("a", rr_buf_view(&message));
    assert_int_equal(sample.unreadable, 1);
    assert_string_equal(sample.unreadable_why, "is nested too deeply");
    rr_buf_clear(&message);
    for (int k = 0; k < 5000; k++) {
        rr_buf_format(&message, "%s\"f%d\":[{\"x\":%d},{\"y\":[[1]]}]", k == 0 ? "{" : ",", k, k);
    }
    rr_buf_char(&message, '}');
    for (int k = 0; k < 30; k++) {
        add_on("a", rr_buf_view(&message));
    }
    assert_true(sample.path_count <= RR_SAMPLE_PATHS_MAX);
    suggest();
    says("were left out: too many, too deep, or a list in a list");
    rr_buf_fini(&message);
}

int main(int argc, char **argv)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        ROW(totals_with_a_counter_are_cumulative),
        ROW(shuffled_values_make_no_claim),
        ROW(a_total_alone_is_no_version),
        ROW(few_messages_show_nothing),
        ROW(an_attempt_orders_before_a_counter_that_begins_anew),
        ROW(a_changelog_is_a_retraction),
        ROW(withdrawals_with_versions_of_their_own_withdraw_what_is_older),
        ROW(both_halves_are_an_envelope),
        ROW(amounts_with_identities_are_a_delta),
        ROW(lengths_that_vary_are_named),
        ROW(subjects_give_a_pattern_and_a_key),
        ROW(frames_and_empty_messages_are_noticed),
        ROW(heartbeats_are_skipped_by_what_tells_them_apart),
        ROW(repeated_bytes_are_no_repeats_of_a_cell),
        ROW(names_of_messages_are_quoted),
        ROW(panes_in_protobuf_are_read_item_by_item),
        ROW(any_bytes_are_counted_or_read),
        ROW(deep_and_wide_messages_stay_within_bounds),
    };
    char command[64];
    int failed;

    if (argc < 2 || mkdtemp(folder) == NULL) {
        return 1;
    }
    protoc = argv[1];
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? failed : 1;
}
