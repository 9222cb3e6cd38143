/* Examples of a mapping: decoded and compared, as `check` does. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mapping_yaml.h"
#include "record_json.h"

enum { RECORDS_FILE_MAX = 16 * 1024 * 1024 };

typedef struct comparing {
    const rr_mapping_example *example;
    rr_problems *problems;
    rr_arena arena, scratch, files;
    rr_buf text;
} comparing;

#define WRONG(c, ...) rr_problems_error((c)->problems, (c)->example->place, __VA_ARGS__)

/* The record as a line that is the same for the same content: numbers are texts after reading. */
static bool canonical(comparing *c, const rr_record *record, rr_slice *line)
{
    rr_record again;
    int64_t clock_us;

    rr_buf_clear(&c->text);
    if (!rr_record_to_json(record, &c->text) ||
        rr_record_from_json(rr_buf_view(&c->text), &c->arena, &again, &clock_us, NULL) != RR_DECODED_RECORD) {
        return false;
    }
    rr_buf_clear(&c->text);
    if (!rr_record_to_json(&again, &c->text)) {
        return false;
    }
    *line = rr_arena_copy(&c->arena, rr_buf_view(&c->text));
    return line->data != NULL;
}

static rr_slice next_line(rr_slice *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data) + 1;
    rr_slice line = {rest->data, len};

    *rest = (rr_slice){rest->data + len, rest->len - len};
    return line;
}

/* The next record of the file that is expected. False: there is none, or it was reported. */
static bool next_expected(comparing *c, rr_slice *rest, size_t *row, rr_record *record)
{
    while (rest->len != 0) {
        rr_slice line = next_line(rest);
        rr_text why = {.len = 0};
        int64_t clock_us;

        ++*row;
        switch (rr_record_from_json(line, &c->arena, record, &clock_us, &why)) {
        case RR_DECODED_NOTHING: break;
        case RR_DECODED_RECORD: return true;
        default: WRONG(c, "%s:%zu: %.*s", c->example->records, *row, (int)why.len, why.bytes); return false;
        }
    }
    return false;
}

static void compare_one(comparing *c, size_t number, const rr_record *given, const rr_record *expected)
{
    rr_slice is, should;

    if (!canonical(c, given, &is) || !canonical(c, expected, &should)) {
        WRONG(c, "record %zu cannot be compared", number);
    } else if (!rr_slice_equal(is, should)) {
        WRONG(c, "record %zu is %.*s; %s says %.*s", number, (int)(is.len < 400 ? is.len : 400), is.data,
              c->example->records, (int)(should.len < 400 ? should.len : 400), should.data);
    }
}

static void compare(comparing *c, const rr_mapping_result *result, rr_slice expected)
{
    size_t given = 0, wanted = 0, row = 0;
    rr_record record;

    for (size_t k = 0; k < result->count; k++) {
        const rr_mapped *mapped = &result->records[k];

        if (mapped->kind == RR_MAPPED_SKIPPED) {
            continue;
        }
        given++;
        if (mapped->kind != RR_MAPPED_RECORD) {
            WRONG(c, "record %zu: %.*s", k + 1, (int)mapped->why->len, mapped->why->bytes);
        }
        if (next_expected(c, &expected, &row, &record)) {
            wanted++;
            if (mapped->kind == RR_MAPPED_RECORD) {
                compare_one(c, k + 1, &mapped->record, &record);
            }
        }
    }
    while (next_expected(c, &expected, &row, &record)) {
        wanted++;
    }
    if (given != wanted) {
        WRONG(c, "the message gives %zu records, and %zu are expected", given, wanted);
    }
}

static bool slurp(comparing *c, const char *path, size_t most, rr_slice *bytes)
{
    rr_error error = {0};

    if (rr_yaml_slurp(path, most, &c->files, bytes, &error) == RR_OK) {
        return true;
    }
    WRONG(c, "%s: %s", path, error.text);
    return false;
}

static void check_one(comparing *c, const rr_mapping *mapping)
{
    const rr_mapping_example *e = c->example;
    rr_mapping_input input = {.subject = e->subject,
                              .headers = e->headers,
                              .header_count = e->header_count,
                              .has_stream_time = e->has_stream_time,
                              .stream_time_us = e->stream_time_us};
    rr_slice expected = {NULL, 0};
    rr_mapping_result result;

    if (!slurp(c, e->message, RR_MAPPING_MESSAGE_MAX, &input.message) ||
        (e->records != NULL && !slurp(c, e->records, RECORDS_FILE_MAX, &expected))) {
        return;
    }
    rr_mapping_run(mapping, &input, &c->arena, &c->scratch, &result);
    switch (result.outcome) {
    case RR_MAPPING_RECORDS:
    case RR_MAPPING_SKIPPED: compare(c, &result, expected); break;
    case RR_MAPPING_NO_MEMORY: WRONG(c, "memory ran out"); break;
    default: WRONG(c, "%s: %.*s", e->message, (int)result.why.len, result.why.bytes);
    }
}

void rr_mapping_check_examples(const rr_decode *decode, rr_problems *problems)
{
    comparing c = {.problems = problems};

    rr_arena_init(&c.arena, 0);
    rr_arena_init(&c.scratch, 0);
    rr_arena_init(&c.files, 0);
    for (size_t k = 0; decode->mapping != NULL && k < decode->example_count; k++) {
        c.example = &decode->examples[k];
        check_one(&c, decode->mapping);
        rr_arena_reset(&c.arena);
        rr_arena_reset(&c.files);
    }
    rr_arena_fini(&c.arena);
    rr_arena_fini(&c.scratch);
    rr_arena_fini(&c.files);
    rr_buf_fini(&c.text);
}
