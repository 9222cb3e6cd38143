/* Records as JSON: what a line can say, what is malformed and why, and the way back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "limits.h"
#include "record_expect.h"
#include "record_json.h"

static rr_decoded from_json(rr_slice line, rr_arena *memory, rr_text *sentence)
{
    return rr_record_from_json(line, memory, &record, &clock_us, sentence);
}

static rr_decoded decode_bytes(rr_slice line)
{
    return decode_copy(from_json, line);
}

static rr_decoded decode(const char *line)
{
    return decode_bytes(rr_slice_of(line));
}

static void assert_version(rr_version version, uint64_t epoch, uint64_t number)
{
    assert_int_equal(version.epoch, epoch);
    assert_int_equal(version.number, number);
}

static void all_fields(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"business_key\":\"k\\u00e9\\ud83d\\ude00\\n\",\"window\":{\"start\":\"2026-01-01T10:00:00Z\","
               "\"end\":1767261660000000},\"metric_version\":\"v1\",\"result_version\":{\"epoch\":2,\"number\":"
               "\"18446744073709551615\"},\"measures\":{\"a\":1.50,\"b\":\"-2\",\"c\":true,\"d\":[{\"x\":[]}],"
               "\"e\":{},"
               "\"f\":null,\"g\":\"\"},\"mode\":\"RETRACTION\",\"op\":\"RETRACT\",\"retracts_version\":\"7\","
               "\"delta_id\":\"d\",\"producer\":\"p\",\"sequence\":\"0\",\"contributor\":\"c\",\"origin\":"
               "\"CORRECTION\","
               "\"base_version\":0,\"includes_correction\":{\"version\":{\"epoch\":1,\"number\":4},\"base\":2},"
               "\"status\":\"STREAM_CLOSED\",\"cause\":\"SESSION_MERGE\",\"evidence\":\"e\",\"emitted_at\":\"-"
               "5\"}\r\n"),
        RR_DECODED_RECORD);
    assert_text(record.business_key, "k\xc3\xa9\xf0\x9f\x98\x80\n");
    assert_true(record.has_window && !record.window_incomplete);
    assert_int_equal(record.window.start, 1767261600000000);
    assert_int_equal(record.window.end, 1767261660000000);
    assert_text(record.metric_version, "v1");
    assert_version(record.version, 2, UINT64_MAX);
    assert_version(record.retracts_version, 0, 7);
    assert_int_equal(record.mode, RR_MODE_RETRACTION);
    assert_int_equal(record.op, RR_OP_RETRACT);
    assert_int_equal(record.origin, RR_ORIGIN_CORRECTION);
    assert_int_equal(record.status, RR_RESULT_STREAM_CLOSED);
    assert_int_equal(record.cause, RR_CAUSE_SESSION_MERGE);
    assert_text(record.delta_id, "d");
    assert_text(record.producer, "p");
    assert_text(record.contributor, "c");
    assert_text(record.evidence, "e");
    assert_true(record.has_sequence && record.sequence == 0);
    assert_true(record.has_base);
    assert_version(record.base_version, 0, 0);
    assert_true(record.has_includes);
    assert_version(record.includes_base, 0, 2);
    assert_version(record.includes_version, 1, 4);
    assert_true(record.has_emitted_at && record.emitted_at_us == -5);
    assert_int_equal(record.measure_count, 5);
    assert_text(record.measures[0].name, "a");
    assert_text(record.measures[0].text, "1.50");
    assert_int_equal(record.measures[0].kind, RR_NUMBER_TEXT);
    assert_text(record.measures[1].text, "-2");
    for (size_t k = 2; k < 5; k++) {
        assert_int_equal(record.measures[k].kind, RR_NUMBER_NONE);
    }
    assert_text(record.measures[4].name, "e");
}

static void null_and_the_empty_string_are_absent(void **state)
{
    static const char *const fields[] = {
        "business_key",
        "window",
        "metric_version",
        "result_version",
        "value",
        "measures",
        "mode",
        "op",
        "retracts_version",
        "delta_id",
        "producer",
        "sequence",
        "contributor",
        "origin",
        "base_version",
        "includes_correction",
        "status",
        "cause",
        "evidence",
        "emitted_at",
    };

    (void)state;
    for (size_t k = 0; k < sizeof fields / sizeof fields[0]; k++) {
        for (int empty = 0; empty < 2; empty++) {
            const rr_record none = {0};
            char line[100];

            snprintf(line, sizeof line, "{\"%s\":%s}", fields[k], empty == 1 ? "\"\"" : "null");
            assert_int_equal(decode(line), RR_DECODED_RECORD);
            assert_memory_equal(&record, &none, sizeof none);
        }
    }
    assert_int_equal(decode("{\"result_version\":0,\"retracts_version\":{\"epoch\":3,\"number\":0},"
                            "\"base_version\":{\"epoch\":null,\"number\":null},"
                            "\"includes_correction\":{\"base\":null,\"version\":0},\"value\":null,\"measures\":{}}"),
                     RR_DECODED_RECORD);
    assert_version(record.version, 0, 0);
    assert_version(record.retracts_version, 0, 0);
    assert_false(record.has_base || record.has_includes);
    assert_int_equal(record.measure_count, 0);
}

static void windows_may_lack_an_end(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"window\":{\"start\":5}}"), RR_DECODED_RECORD);
    assert_true(record.has_window && record.window_incomplete && record.window.start == 5);
    assert_int_equal(decode("{\"window\":{\"start\":null,\"end\":\"\"}}"), RR_DECODED_RECORD);
    assert_true(record.has_window && record.window_incomplete);
    assert_int_equal(decode("{\"window\":{\"start\":0,\"end\":0}}"), RR_DECODED_RECORD);
    assert_true(record.has_window && !record.window_incomplete);
    assert_int_equal(decode("{\"window\":{\"start\":-9223372036854775808,\"end\":\"9223372036854775807\"}}"),
                     RR_DECODED_RECORD);
    assert_true(record.window.start == INT64_MIN && record.window.end == INT64_MAX);
}

static void clock_lines(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"clock\":\"2026-01-01T10:03:01Z\"}"), RR_DECODED_CLOCK);
    assert_int_equal(clock_us, 1767261781000000);
    assert_int_equal(decode(" { \"clock\" : 12 } \n"), RR_DECODED_CLOCK);
    assert_int_equal(clock_us, 12);
}

static void blank_lines(void **state)
{
    static const char *const rows[] = {"", "\n", "\r\n", " \t ", "  \r\n"};

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        assert_int_equal(decode(rows[k]), RR_DECODED_NOTHING);
        assert_int_equal(why.len, 0);
    }
}

static void assert_malformed(rr_slice line, const char *part)
{
    if (decode_bytes(line) != RR_DECODED_MALFORMED) {
        fail_msg("%.*s is not malformed", (int)line.len, line.data);
    }
    assert_why(part);
}

static void what_is_malformed_and_why(void **state)
{
    static const struct {
        const char *line, *why;
    } rows[] = {
        {"{\"busines_key\":1}", "field 'busines_key' (column 2) is no field of a record"},
        {"{\"value\":1,\"value\":1}", "field 'value' (column 12) is there twice"},
        {"{\"value\":1,\"valu\\u0065\":1}", "field 'value' (column 23) is there twice"},
        {"{\"measures\":{\"a\":1,\"a\":null}}", "field 'a' (column 20) is there twice"},
        {"{\"window\":{\"start\":1,\"start\":1}}", "field 'start' (column 22) is there twice"},
        {"{\"result_version\":{\"number\":1,\"number\":1}}", "is there twice"},
        {"{\"includes_correction\":{\"base\":1,\"base\":1}}", "is there twice"},
        {"{\"window\":{\"begin\":1}}", "is no field of a window"},
        {"{\"result_version\":{\"numer\":1}}", "is no field of a version"},
        {"{\"includes_correction\":{\"x\":1}}", "is no field of includes_correction"},
        {"{\"includes_correction\":{\"base\":{\"x\":1}}}", "is no field of a version"},
        {"{\"business_key\":7}", "field 'business_key' (column 2) is the number 7; it has to be a string"},
        {"{\"business_key\":true}", "is true or false; it has to be a string"},
        {"{\"business_key\":{}}", "is an object; it has to be a string"},
        {"{\"business_key\":[]}", "is a list; it has to be a string"},
        {"{\"status\":\"FINAL\"}", "'FINAL'; it can be PROVISIONAL, STREAM_CLOSED or RECONCILED"},
        {"{\"op\":\"UPSERT\"}", "it can be ASSERT or RETRACT"},
        {"{\"mode\":\"UNSPECIFIED\"}", "it can be CUMULATIVE, DELTA or RETRACTION"},
        {"{\"cause\":\"MAGIC\"}", "it can be EARLY, "},
        {"{\"origin\":\"live\"}", "it can be LIVE or CORRECTION"},
        {"{\"origin\":1}", "it has to be a word"},
        {"{\"window\":5}", "it has to be an object with start and end"},
        {"{\"window\":[1,2]}", "is a list; it has to be an object with start and end"},
        {"{\"window\":{\"start\":1.5}}",
         "field 'window.start' (column 12) is the number 1.5; it has to be an RFC 3339"},
        {"{\"window\":{\"end\":9223372036854775808}}", "field 'window.end'"},
        {"{\"window\":{\"end\":{}}}", "field 'window.end' (column 12) is an object"},
        {"{\"window\":{\"end\":\"yesterday\"}}", "is the string 'yesterday'"},
        {"{\"window\":{\"end\":\"2026-01-01T10:00:00.1234567Z\"}}", "at most six fraction digits"},
        {"{\"window\":{\"end\":true}}", "is true or false"},
        {"{\"result_version\":-1}", "integer from 0 to 18446744073709551615"},
        {"{\"result_version\":18446744073709551616}", "field 'result_version'"},
        {"{\"result_version\":1.0}", "field 'result_version'"},
        {"{\"result_version\":[1]}", "is a list"},
        {"{\"result_version\":{\"number\":\"x\"}}", "field 'result_version.number'"},
        {"{\"result_version\":{\"number\":{}}}", "field 'result_version.number' (column 20) is an object"},
        {"{\"includes_correction\":{\"version\":{\"epoch\":-1}}}", "field 'includes_correction.version.epoch'"},
        {"{\"includes_correction\":{\"base\":2}}", "has a base but no version"},
        {"{\"includes_correction\":2}", "it has to be an object with base and version"},
        {"{\"measures\":5}", "it has to be an object of names and numbers"},
        {"{\"measures\":[]}", "it has to be an object of names and numbers"},
        {"{\"sequence\":-1}", "field 'sequence'"},
        {"{\"sequence\":{}}", "field 'sequence'"},
        {"{\"emitted_at\":\"9223372036854775808\"}", "field 'emitted_at'"},
        {"{\"value\":2,\"measures\":{\"value\":2}}", "both value and measures"},
        {"{\"measures\":{},\"value\":2}", "both value and measures"},
        {"{\"value\":[2],\"measures\":{}}", "both value and measures"},
        {"{\"measures\":{\"a\":1},\"value\":[2]}", "both value and measures"},
        {"{\"clock\":1,\"value\":2}", "'clock' stands beside other fields"},
        {"{\"business_key\":null,\"clock\":1}", "'clock' stands beside other fields"},
        {"{\"clock\":null}", "'clock' has no time"},
        {"{\"clock\":\"noon\"}", "field 'clock'"},
        {"[]", "a JSON list"},
        {"5", "not an object"},
        {"null", "not an object"},
        {"\"x\"", "not an object"},
        {"{", "not JSON"},
        {"{}{}", "not JSON (column 3) "},
        {"{} x", "not JSON"},
        {"{\"value\":}", "not JSON"},
        {"{\"value\":01}", "not JSON"},
        {"{\"value\":+1}", "not JSON"},
        {"{\"value\":.5}", "not JSON"},
        {"{\"value\":NaN}", "not JSON"},
        {"{\"value\":1,}", "not JSON"},
        {"{'value':1}", "not JSON"},
        {"{\"value\":1 /* one */}", "not JSON"},
        {"{\"business_key\":\"a\\x\"}", "not JSON"},
        {"{\"business_key\":\"a", "not JSON"},
        {"{\"business_key\":\"a\tb\"}", "not JSON"},
        {"{\"business_key\":\"a\\u12\"}", "not JSON"},
        {"{\"business_key\":\"a\\", "not JSON"},
        {"{\"value\":1}\v", "(column 12) holds a bare control character"},
        {"\xef\xbb\xbf{\"value\":1}", "byte order mark"},
        {"{\"business_key\":\"\xff\"}", "(column 18) is not UTF-8"},
        {"{\"business_key\":\"\xed\xa0\x80\"}", "is not UTF-8"},
        {"{\"business_key\":\"\\ud800\"}", "(column 18) holds half of a surrogate pair"},
        {"{\"business_key\":\"\\udc00\\ud800\"}", "surrogate"},
        {"{\"business_key\":\"\\ud800\\u0041\"}", "surrogate"},
        {"{\"business_key\":\"\\ud800\\ud800\"}", "surrogate"},
        {"{\"business_key\":\"\\ud800x\"}", "surrogate"},
        {"{\"\\ud800\":1}", "surrogate"},
        {"{\"business_key\":\"a\\u0000b\"}", "NUL"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        assert_malformed(rr_slice_of(rows[k].line), rows[k].why);
    }
    assert_malformed((rr_slice){"{\"value\":1}\0", 12}, "NUL");
    /* a backslash that is itself escaped begins no escape */
    assert_int_equal(decode("{\"business_key\":\"\\\\ud800\"}"), RR_DECODED_RECORD);
    assert_text(record.business_key, "\\ud800");
}

static void deep_nesting_is_bounded(void **state)
{
    char line[400] = "{\"value\":";
    size_t len = strlen(line);

    (void)state;
    memset(line + len, '[', 64);
    memset(line + len + 64, ']', 64);
    line[len + 128] = '}';
    assert_int_equal(decode(line), RR_DECODED_RECORD);
    assert_int_equal(record.measures[0].kind, RR_NUMBER_NONE);
    memset(line + len, '[', 65);
    memset(line + len + 65, ']', 65);
    line[len + 130] = '}';
    assert_malformed(rr_slice_of(line), "too deeply");
}

static void lines_up_to_the_limit(void **state)
{
    static char line[RR_LIMIT_RECORD_BYTES + 3];

    (void)state;
    memset(line, ' ', sizeof line);
    memcpy(line, "{\"value\":1}", 11);
    assert_int_equal(decode_bytes((rr_slice){line, RR_LIMIT_RECORD_BYTES}), RR_DECODED_RECORD);
    line[RR_LIMIT_RECORD_BYTES] = '\n';
    assert_int_equal(decode_bytes((rr_slice){line, RR_LIMIT_RECORD_BYTES + 1}), RR_DECODED_RECORD);
    line[RR_LIMIT_RECORD_BYTES] = ' ';
    assert_int_equal(decode_bytes((rr_slice){line, RR_LIMIT_RECORD_BYTES + 1}), RR_DECODED_TOO_LARGE);
}

/* yajl gets its memory beforehand and does not look whether it got any: these need the most. */
static void lines_that_take_most_memory(void **state)
{
    static const struct {
        const char *head, *part, *tail;
    } rows[] = {
        {"{\"evidence\":\"", "\\n", "\"}"},
        {"{\"evidence\":\"", "\\u20ac", "\"}"},
        {"{\"evidence\":\"", "\\ud83d\\ude00", "\"}"},
        {"{\"evidence\":\"", "\\n", ""},
        {"{\"evidence\":\"", "x", ""},
        {"{\"evidence\":\"\\n", "x", "\"}"},
        {"{\"value\":", "1", ""},
        {"{\"value\":", "1", "}"},
        {"{\"", "\\n", "\":1}"},
        {"{\"measures\":{\"", "\\n", "\":1}}"},
        {"{\"value\":", "[", ""},
        {"{\"value\":[", "1,", "1]}"},
        {"", "[", ""},
        {"{\"value\":[", "\"\\n\",", "1]}"},
        {"", "{", ""},
        {"{\"measures\":{\"a\":[", "{\"\\n\":\"\\n\"},", "1]}}"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        static char line[RR_LIMIT_RECORD_BYTES];
        size_t len = strlen(rows[k].head), part = strlen(rows[k].part), tail = strlen(rows[k].tail);

        memcpy(line, rows[k].head, len);
        for (; len + part + tail <= sizeof line; len += part) {
            memcpy(line + len, rows[k].part, part);
        }
        memcpy(line + len, rows[k].tail, tail);
        decode_bytes((rr_slice){line, len + tail});
    }
}

static size_t many_measures(char *line, size_t count)
{
    size_t len = (size_t)sprintf(line, "{\"measures\":{");

    for (size_t k = 0; k < count; k++) {
        len += (size_t)sprintf(line + len, "%s\"m%zu\":%zu", k == 0 ? "" : ",", k, k);
    }
    return len + (size_t)sprintf(line + len, "}}");
}

static void measures_up_to_the_limit(void **state)
{
    char line[2000];
    size_t len = many_measures(line, RR_LIMIT_MEASURES);

    (void)state;
    assert_int_equal(decode_bytes((rr_slice){line, len}), RR_DECODED_RECORD);
    assert_int_equal(record.measure_count, RR_LIMIT_MEASURES);
    assert_text(record.measures[63].text, "63");
    len = many_measures(line, RR_LIMIT_MEASURES + 1);
    assert_int_equal(decode_bytes((rr_slice){line, len}), RR_DECODED_TOO_LARGE);
}

static void scratch_is_given_back(void **state)
{
    static const rr_slice rows[] = {
        {"{\"business_key\":\"k\\n\",\"value\":12}", 33}, {"{\"business_key\":\"k", 18}, {"{\"clock\":1}", 11}};

    (void)state;
    assert_scratch_is_given_back(from_json, rows, 3);
}

static void records_print_compactly(void **state)
{
    static const struct {
        const char *line, *printed; /* NULL: the same */
    } rows[] = {
        {"{}", NULL},
        {"{\"business_key\":\"k\\\"\\n\",\"window\":{\"start\":\"2026-01-01T10:00:00Z\",\"end\":\"2026-01-"
         "01T10:01:00Z\"},"
         "\"metric_version\":\"v1\",\"result_version\":3,\"value\":2}",
         NULL},
        {"{\"result_version\":{\"epoch\":2,\"number\":3},\"measures\":{\"a\":1,\"b\":\"1.5\"},\"mode\":"
         "\"DELTA\","
         "\"op\":\"RETRACT\",\"retracts_version\":4,\"delta_id\":\"d\",\"producer\":\"p\",\"sequence\":0,"
         "\"contributor\":\"c\",\"origin\":\"CORRECTION\",\"base_version\":0,"
         "\"includes_correction\":{\"base\":2,\"version\":1},\"status\":\"RECONCILED\",\"cause\":"
         "\"BACKFILL\","
         "\"evidence\":\"e\",\"emitted_at\":\"1969-12-31T23:59:59Z\"}",
         NULL},
        {"{\"includes_correction\":{\"version\":1}}", NULL},
        {"{\"result_version\":9007199254740993}", "{\"result_version\":\"9007199254740993\"}"},
        {"{\"value\":9007199254740993}", "{\"value\":\"9007199254740993\"}"},
        {"{\"value\":10.1}", "{\"value\":\"10.1\"}"},
        {"{\"value\":\"12\"}", "{\"value\":12}"},
        {"{\"value\":\"+12\"}", NULL},
        {"{\"value\":true}", "{\"value\":[]}"},
        {"{\"measures\":{\"value\":1}}", "{\"value\":1}"},
        {"{\"measures\":{\"x\":1}}", NULL},
        {"{\"window\":{}}", NULL},
        {"{\"window\":{\"end\":\"2026-01-01T10:01:00Z\"}}", NULL},
        {"{\"emitted_at\":253402300800000000}", "{\"emitted_at\":\"253402300800000000\"}"},
        {"{\"op\":\"ASSERT\",\"origin\":\"LIVE\",\"status\":\"PROVISIONAL\"}", "{}"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_buf buf = {0};
        const char *expected = rows[k].printed == NULL ? rows[k].line : rows[k].printed;

        assert_int_equal(decode(rows[k].line), RR_DECODED_RECORD);
        assert_true(rr_record_to_json(&record, &buf));
        assert_text(rr_buf_view(&buf), expected);
        rr_buf_fini(&buf);
    }
}

static void doubles_print_too(void **state)
{
    const rr_measure measures[] = {{.name = {"a", 1}, .kind = RR_NUMBER_DOUBLE, .real = 0.1},
                                   {.name = {"b", 1}, .kind = RR_NUMBER_DOUBLE, .real = -1.0 / 0.0},
                                   {.name = {"c", 1}, .kind = RR_NUMBER_INT64, .integer = INT64_MIN}};
    const rr_record from = {.measures = measures, .measure_count = 3};
    rr_buf buf = {0};

    (void)state;
    assert_true(rr_record_to_json(&from, &buf));
    assert_text(rr_buf_view(&buf), "{\"measures\":{\"a\":0.1,\"b\":\"-Infinity\",\"c\":\"-9223372036854775808\"}}");
    rr_buf_fini(&buf);
}

static void decode_damaged_line(rr_slice line, int round)
{
    (void)round;
    decode_bytes(line);
}

/* Bytes changed at random never do more than make a line malformed. */
static void damaged_lines(void **state)
{
    static const char line[] = "{\"business_key\":\"k\\u00e9\",\"window\":{\"start\":\"2026-01-01T10:00:"
                               "00Z\",\"end\":1767261660000000},"
                               "\"result_version\":{\"epoch\":2,\"number\":3},\"measures\":{\"a\":1.5,\"b\":["
                               "1,{}]},\"sequence\":\"3\"}";

    (void)state;
    decode_damaged((rr_slice){line, sizeof line - 1}, "{}[]\",:\\u0019ntf.e-", decode_damaged_line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_fields),
        cmocka_unit_test(null_and_the_empty_string_are_absent),
        cmocka_unit_test(windows_may_lack_an_end),
        cmocka_unit_test(clock_lines),
        cmocka_unit_test(blank_lines),
        cmocka_unit_test(what_is_malformed_and_why),
        cmocka_unit_test(deep_nesting_is_bounded),
        cmocka_unit_test(lines_up_to_the_limit),
        cmocka_unit_test(lines_that_take_most_memory),
        cmocka_unit_test(measures_up_to_the_limit),
        cmocka_unit_test(scratch_is_given_back),
        cmocka_unit_test(records_print_compactly),
        cmocka_unit_test(doubles_print_too),
        cmocka_unit_test(damaged_lines),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
