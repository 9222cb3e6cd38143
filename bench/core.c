/* What the parts of a decision cost, in nanoseconds on one core, without a server. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "batch.h"
#include "intake.h"
#include "key.h"
#include "mapping_yaml.h"
#include "options.h"
#include "record_json.h"
#include "record_proto.h"
#include "record_proto_reference.h"
#include "store_memory.h"
#include "workload.h"

enum { RECORDS = 1024, PASSES = 300, BATCH_PASSES = 60, ROUNDS = 5 };

/* Records as they come, decoded and admitted, and what is made of them. */
static struct {
    rr_contract contract;
    rr_arena arena;   /* of the records below */
    rr_arena scratch; /* of one pass */
    rr_arena walk;    /* of one message that is mapped */
    const rr_mapping *mapping;
    rr_slice protos[RECORDS], shorts[RECORDS], jsons[RECORDS], values[RECORDS], facts[RECORDS];
    rr_record created[RECORDS], updated[RECORDS], hot[RECORDS];
    rr_item items[RECORDS];
    rr_intake intake;
    int64_t stored_at_us; /* of the deliveries */
    rr_unit units[RECORDS];
    rr_buf text;
    rr_tokens tokens;
    uint64_t sink; /* what is computed is used */
} b;

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(bool good, const char *what)
{
    if (!good) {
        bench_fail("core", what);
    }
}

static void decode(rr_slice message, rr_record *record, rr_arena *arena)
{
    int64_t clock_us;

    must(rr_record_from_proto(message, false, arena, record, &clock_us, NULL) == RR_DECODED_RECORD, "decode");
    record->has_arrival = true;
    record->arrival_us = record->window.end;
    record->stream = RR_SLICE("BENCH");
}

static void admit(rr_record *record, rr_arena *arena)
{
    must(rr_arena_reserve(arena, rr_admit_need(&b.contract, record)), "memory");
    must(rr_admit(&b.contract, record, arena, NULL) == RR_REASON_NONE, "admit");
}

/* The same record with its value in the field `value`, where a path leads to it: no path leads into `measures`. */
static rr_slice shorten(rr_record record)
{
    uint64_t zigzag = (uint64_t)record.measures[0].integer << 1;

    record.measure_count = 0;
    rr_buf_clear(&b.text);
    must(rr_record_to_proto(&record, &b.text), "encode");
    rr_buf_char(&b.text, 6 << 3);
    for (; zigzag > 127; zigzag >>= 7) {
        rr_buf_char(&b.text, (char)((zigzag & 127) | 128));
    }
    rr_buf_char(&b.text, (char)zigzag);
    return rr_arena_copy(&b.arena, rr_buf_view(&b.text));
}

static void make(const char *workload, rr_record *records, bool keep)
{
    bench_workload *from = bench_workload_new(workload, RECORDS, INT64_C(1767225600000000));

    for (size_t k = 0; k < RECORDS; k++) {
        rr_record record;
        rr_slice message;

        bench_workload_next(from, &record);
        rr_buf_clear(&b.text);
        must(rr_record_to_proto(&record, &b.text), "encode");
        message = rr_arena_copy(&b.arena, rr_buf_view(&b.text));
        decode(message, &records[k], &b.arena);
        admit(&records[k], &b.arena);
        if (keep) {
            b.protos[k] = message;
            b.shorts[k] = shorten(record);
            rr_buf_clear(&b.text);
            must(rr_record_to_json(&record, &b.text), "encode");
            b.jsons[k] = rr_arena_copy(&b.arena, rr_buf_view(&b.text));
        }
    }
    bench_workload_free(from);
}

/* Cells of version 1, as a store holds them. */
static void make_cells(void)
{
    char token[RR_TOKEN_LEN];

    for (size_t k = 0; k < RECORDS; k++) {
        rr_unit unit;
        rr_outcome outcome;
        char *facts;

        rr_unit_init(&unit, &b.contract);
        must(rr_arena_reserve(&b.arena, rr_join_need(&unit, &b.created[k])), "memory");
        rr_join(&unit, &b.created[k], &b.arena, &outcome);
        must(outcome.verdict == RR_VERDICT_APPLIED, "join");
        rr_tokens_next(&b.tokens, (rr_slice){0}, token);
        rr_buf_clear(&b.text);
        rr_stored_write(&b.text, &unit, INT64_C(1767225600000000), token, &b.arena);
        b.values[k] = rr_arena_copy(&b.arena, rr_buf_view(&b.text));
        facts = rr_arena_take(&b.arena, rr_unit_write_need(&unit));
        b.facts[k] = (rr_slice){facts, rr_unit_write(&unit, facts)};
    }
}

/* ---- passes over all records ---- */

static void decode_all(const rr_slice *messages)
{
    for (size_t k = 0; k < RECORDS; k++) {
        rr_record record;

        decode(messages[k], &record, &b.scratch);
        b.sink += record.version.number;
    }
}

static void pass_proto(void)
{
    decode_all(b.protos);
}

static void pass_shorts(void)
{
    decode_all(b.shorts);
}

/* The same by protobuf-c. */
static void pass_proto_reference(void)
{
    for (size_t k = 0; k < RECORDS; k++) {
        rr_record record;

        must(record_from_proto_reference(b.protos[k], false, &b.scratch, &record, NULL, NULL) == RR_DECODED_RECORD,
             "decode");
        b.sink += record.version.number;
    }
}

/* The bytes of shorts as if they were somebody else's: by a mapping of our own schema. */
static void load_mapping(const char *descriptor_set)
{
    static const char text[] =
        "{protobuf: {descriptor_set: %s, message: rr.v1.Result}, record: {business_key: business_key,"
        "metric_version: metric_version, window: {start: {path: window.start, unit: us}, end: {path: "
        "window.end,"
        "unit: us}}, version: {epoch: result_version.epoch, number: result_version.number}, value: value,"
        "mode: {path: mode, values: {MODE_CUMULATIVE: CUMULATIVE}, absent: zero}, cause: {path: cause, "
        "values: "
        "{CAUSE_ON_TIME: ON_TIME}, absent: zero}, emitted_at: {path: emitted_at, unit: us}}}";
    rr_problems problems = {0};
    rr_reading reading = {"bench", &b.arena, &problems};
    rr_schema_files files = {NULL};
    const rr_yaml_node *root;
    rr_decode decode;

    rr_buf_clear(&b.text);
    rr_buf_format(&b.text, text, descriptor_set);
    root = rr_yaml_parse(&reading, rr_arena_copy(&b.arena, rr_buf_view(&b.text)));
    must(root != NULL, "the mapping's text");
    rr_mapping_load(&reading, root, NULL, &b.contract, &files, &decode);
    must(decode.mapping != NULL, problems.count == 0 ? "mapping" : problems.items[0].text);
    b.mapping = decode.mapping;
}

static void pass_mapping(void)
{
    for (size_t k = 0; k < RECORDS; k++) {
        rr_mapping_input input = {.message = b.shorts[k]};
        rr_mapping_result result;

        rr_mapping_run(b.mapping, &input, &b.scratch, &b.walk, &result);
        must(result.count == 1 && result.records[0].record.measure_count == 1, "map");
        b.sink += result.records[0].record.version.number;
    }
}

static void pass_json(void)
{
    for (size_t k = 0; k < RECORDS; k++) {
        rr_record record;
        int64_t clock_us;

        must(rr_record_from_json(b.jsons[k], &b.scratch, &record, &clock_us, NULL) == RR_DECODED_RECORD, "json");
        b.sink += record.version.number;
    }
}

static void pass_admit(void)
{
    for (size_t k = 0; k < RECORDS; k++) {
        rr_record record = b.updated[k];

        admit(&record, &b.scratch);
        b.sink += record.values.len;
    }
}

/* As deliveries come: decoded and admitted, into memory that is used again. */
static void take_in(rr_bound_route route)
{
    rr_intake_reset(&b.intake);
    for (size_t k = 0; k < RECORDS; k++) {
        const rr_delivery delivery = {.payload = b.shorts[k], .stream_sequence = k + 1, .stored_at_us = b.stored_at_us};

        must(rr_intake_add_routed(&b.intake, route, RR_SLICE("BENCH"), &delivery, INT64_MIN), "memory");
    }
    must(b.intake.count == RECORDS && !b.intake.items[RECORDS - 1].refused, "intake");
    b.sink += b.intake.items[RECORDS - 1].record->version.number;
}

static void pass_intake(void)
{
    take_in((rr_bound_route){.contract = &b.contract});
}

static void pass_intake_by_mapping(void)
{
    take_in((rr_bound_route){.contract = &b.contract, .mapping = b.mapping});
}

static void pass_key(void)
{
    for (size_t k = 0; k < RECORDS; k++) {
        rr_buf_clear(&b.text);
        rr_key_unit(&b.text, RR_SLICE("rr"), &b.contract, b.updated[k].business_key, b.updated[k].metric_version,
                    b.updated[k].window);
        b.sink += b.text.len;
    }
}

/* One cell at hand takes in a thousand rising versions. */
static void pass_join(void)
{
    rr_unit unit;
    rr_outcome outcome;

    rr_unit_init(&unit, &b.contract);
    for (size_t k = 0; k < RECORDS; k++) {
        must(rr_arena_reserve(&b.scratch, rr_join_need(&unit, &b.hot[k])), "memory");
        rr_join(&unit, &b.hot[k], &b.scratch, &outcome);
        b.sink += outcome.verdict;
    }
}

static void pass_facts_read(void)
{
    for (size_t k = 0; k < RECORDS; k++) {
        must(rr_unit_read(&b.units[k], &b.contract, b.facts[k], &b.scratch), "facts");
    }
}

static void pass_facts_write(void)
{
    char bytes[4096];

    for (size_t k = 0; k < RECORDS; k++) {
        b.sink += rr_unit_write(&b.units[k], bytes);
    }
}

static void read_values(rr_arena *arena)
{
    for (size_t k = 0; k < RECORDS; k++) {
        must(rr_stored_read(&b.units[k], &b.contract, b.values[k], arena, NULL) == RR_OK, "value");
        must(rr_arena_reserve(arena, rr_join_need(&b.units[k], NULL)), "memory");
        rr_unit_see(&b.units[k], arena);
    }
}

static void pass_value_read(void)
{
    read_values(&b.scratch);
}

static void pass_value_write(void)
{
    char token[RR_TOKEN_LEN];

    for (size_t k = 0; k < RECORDS; k++) {
        rr_tokens_next(&b.tokens, (rr_slice){0}, token);
        rr_buf_clear(&b.text);
        rr_stored_write(&b.text, &b.units[k], INT64_C(1767225600000000), token, &b.scratch);
        b.sink += b.text.len;
    }
}

static int by_size(const void *a, const void *c)
{
    double left = *(const double *)a, right = *(const double *)c;

    return (left > right) - (left < right);
}

static void say(const char *name, double *times)
{
    qsort(times, ROUNDS, sizeof *times, by_size);
    printf("core name=%s ns=%.1f low=%.1f high=%.1f\n", name, times[ROUNDS / 2], times[0], times[ROUNDS - 1]);
}

static void time_pass(const char *name, void (*pass)(void))
{
    double times[ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        double since = now_ns();

        for (size_t k = 0; k < PASSES; k++) {
            rr_arena_reset(&b.scratch);
            pass();
        }
        times[round] = (now_ns() - since) / (PASSES * RECORDS);
    }
    say(name, times);
}

/* ---- whole batches on the memory store ---- */

static void decide(rr_batch *batch, rr_record *records)
{
    rr_error error = {0};

    for (size_t k = 0; k < RECORDS; k++) {
        b.items[k] = (rr_item){.contract = &b.contract, .record = &records[k]};
    }
    must(rr_batch_begin(batch, b.items, RECORDS, &error) == RR_OK, error.text);
    must(rr_batch_step(batch, INT64_C(1767225600000000), &error) == RR_OK, error.text);
    b.sink += b.items[RECORDS - 1].outcome.verdict;
}

/* Versions rise from pass to pass, so each record changes its cell. */
static void time_batch(const char *name, rr_record *records, bool made_before)
{
    rr_batch_options options = {.prefix = RR_SLICE("rr"), .log_decisions = true, .list_open = true};
    rr_store *store = NULL;
    rr_error error = {0};
    double times[ROUNDS];

    for (size_t round = 0; round < ROUNDS; round++) {
        times[round] = 0;
        for (size_t pass = 0; pass < BATCH_PASSES; pass++) {
            rr_batch *batch = NULL;
            double since;

            must(rr_store_memory_ops.open("memory:", NULL, &store, &error) == RR_OK, error.text);
            batch = rr_batch_new(&rr_store_memory_ops, store, &options);
            must(batch != NULL, "memory");
            decide(batch, made_before ? b.created : b.hot); /* warms up */
            since = now_ns();
            decide(batch, records);
            times[round] += (now_ns() - since) / (BATCH_PASSES * RECORDS);
            rr_batch_free(batch);
            rr_store_memory_ops.close(store);
        }
    }
    say(name, times);
}

int main(int argc, char **argv)
{
    must(argc <= 2, "bench_core [DESCRIPTOR_SET]");
    b.contract = rr_contract_defaults;
    b.contract.name = RR_SLICE("bench");
    b.contract.mode = RR_MODE_CUMULATIVE;
    b.contract.window_kind = RR_WINDOW_TUMBLING;
    b.contract.size_us = b.contract.slide_us = 60000000;
    rr_arena_init(&b.arena, 0);
    rr_arena_init(&b.scratch, 0);
    rr_arena_init(&b.walk, 0);
    must(rr_tokens_init(&b.tokens), "no entropy");
    must(rr_intake_init(&b.intake, RECORDS), "memory");
    make("create", b.created, false);
    make("update", b.updated, true);
    make("hot", b.hot, false);
    b.stored_at_us = b.updated[RECORDS - 1].window.end;
    make_cells();
    load_mapping(argc == 2 ? argv[1] : BENCH_DESCRIPTOR_SET);
    printf("core name=sizes proto_bytes=%zu json_bytes=%zu value_bytes=%zu facts_bytes=%zu\n", b.protos[0].len,
           b.jsons[0].len, b.values[0].len, b.facts[0].len);
    time_pass("decode_proto", pass_proto);
    time_pass("decode_proto_by_protobuf_c", pass_proto_reference);
    time_pass("decode_proto_shorthand", pass_shorts);
    time_pass("decode_by_mapping", pass_mapping);
    time_pass("decode_json", pass_json);
    time_pass("admit", pass_admit);
    time_pass("intake", pass_intake);
    time_pass("intake_by_mapping", pass_intake_by_mapping);
    time_pass("key", pass_key);
    time_pass("join", pass_join);
    time_pass("facts_read", pass_facts_read);
    time_pass("value_read_and_see", pass_value_read);
    read_values(&b.arena); /* for those below, which need them to stay */
    time_pass("facts_write", pass_facts_write);
    time_pass("value_write", pass_value_write);
    time_batch("batch_create", b.created, false);
    time_batch("batch_update", b.updated, true);
    time_batch("batch_hot", b.hot, true);
    return b.sink == 0;
}
