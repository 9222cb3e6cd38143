/* What a mapping makes of messages, as text, for the script beside.
 *
 *     mapping_driver FILE.yaml < messages > lines
 *
 * The file holds what stands below `decode:`. Messages stand one behind the other, each behind its length as a varint.
 * Of each message come: `+ COUNT`, `- skipped`, `! malformed WHY` or `! too_large WHY`, and with `+` a line a record:
 * the record as JSON, `skipped`, `malformed WHY` or `too_large WHY`. Problems of the file go to standard error.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "must.h"
#include "mapping_yaml.h"
#include "proto_reader.h"
#include "record_json.h"

enum { FILE_MAX = 1024 * 1024, INPUT_MAX = 256 * 1024 * 1024 };

static void put_why(const char *word, const rr_text *why)
{
    printf("%s %.*s\n", word, (int)why->len, why->bytes);
}

static void put_mapped(const rr_mapped *mapped)
{
    static rr_buf text;

    switch (mapped->kind) {
    case RR_MAPPED_SKIPPED: puts("skipped"); break;
    case RR_MAPPED_MALFORMED: put_why("malformed", mapped->why); break;
    case RR_MAPPED_TOO_LARGE: put_why("too_large", mapped->why); break;
    default:
        rr_buf_clear(&text);
        RR_MUST(rr_record_to_json(&mapped->record, &text));
        printf("%.*s\n", (int)text.len, text.data);
    }
}

static void put_result(const rr_mapping_result *result)
{
    switch (result->outcome) {
    case RR_MAPPING_SKIPPED: puts("- skipped"); break;
    case RR_MAPPING_MALFORMED: put_why("! malformed", &result->why); break;
    case RR_MAPPING_TOO_LARGE: put_why("! too_large", &result->why); break;
    case RR_MAPPING_NO_MEMORY: puts("! no_memory"); break;
    default:
        printf("+ %zu\n", result->count);
        for (size_t k = 0; k < result->count; k++) {
            put_mapped(&result->records[k]);
        }
    }
}

static void run_all(const rr_mapping *mapping, rr_slice input)
{
    const rr_header headers[] = {{RR_SLICE("X-Epoch"), RR_SLICE("7")}, {RR_SLICE("X-Text"), RR_SLICE("a/b~c")}};
    const char *at = input.data, *end = at + input.len;
    rr_arena arena, scratch;

    rr_arena_init(&arena, 0);
    rr_arena_init(&scratch, 0);
    while (at < end) {
        rr_mapping_input in = {.subject = RR_SLICE("acme.results.north"),
                               .headers = headers,
                               .header_count = 2,
                               .has_stream_time = true,
                               .stream_time_us = INT64_C(1704103200123456)};
        rr_mapping_result result;
        uint64_t len;

        RR_MUST(rr_proto_varint(&at, end, &len) && len <= (uint64_t)(end - at));
        in.message = (rr_slice){at, (size_t)len};
        at += len;
        rr_arena_reset(&arena);
        rr_mapping_run(mapping, &in, &arena, &scratch, &result);
        put_result(&result);
    }
    rr_arena_fini(&arena);
    rr_arena_fini(&scratch);
}

static rr_slice read_input(void)
{
    rr_buf all = {0};
    char bytes[65536];
    size_t got;

    while ((got = fread(bytes, 1, sizeof bytes, stdin)) != 0 && all.len < INPUT_MAX) {
        rr_buf_put(&all, bytes, got);
    }
    RR_MUST(rr_buf_ok(&all));
    return rr_buf_view(&all);
}

int main(int argc, char **argv)
{
    rr_problems problems = {0};
    rr_schema_files files = {NULL};
    rr_decode decode = {NULL, NULL, 0};
    rr_error error = {0};
    rr_arena arena;
    rr_reading reading = {argv[1], &arena, &problems};
    const rr_yaml_node *root;
    rr_slice text;

    rr_arena_init(&arena, 0);
    if (argc != 2 || rr_yaml_slurp(argv[1], FILE_MAX, &arena, &text, &error) != RR_OK) {
        fprintf(stderr, "%s\n", argc != 2 ? "one file is wanted" : error.text);
        return 64;
    }
    root = rr_yaml_parse(&reading, text);
    if (root != NULL) {
        rr_mapping_load(&reading, root, NULL, NULL, &files, &decode);
    }
    if (decode.mapping == NULL) {
        rr_buf out = {0};

        rr_problems_print(&problems, &out);
        fprintf(stderr, "%.*s", (int)out.len, out.data);
        return 78;
    }
    run_all(decode.mapping, read_input());
    rr_arena_fini(&arena);
    return 0;
}
