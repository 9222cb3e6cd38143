/* Records as protobuf: the wire by hand, hostile messages, files of them, and the way from JSON and back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "delimited.h"
#include "limits.h"
#include "record_expect.h"
#include "record_json.h"
#include "record_proto.h"

static rr_decoded from_queue(rr_slice message, rr_arena *memory, rr_text *sentence)
{
    return rr_record_from_proto(message, false, memory, &record, &clock_us, sentence);
}

static rr_decoded from_file(rr_slice message, rr_arena *memory, rr_text *sentence)
{
    return rr_record_from_proto(message, true, memory, &record, &clock_us, sentence);
}

static rr_decoded decode_in(rr_slice message, bool in_file)
{
    return decode_copy(in_file ? from_file : from_queue, message);
}

static rr_decoded decode(rr_slice message)
{
    return decode_in(message, false);
}

#define MALFORMED(bytes, part) \
    do { \
        assert_int_equal(decode(RR_SLICE(bytes)), RR_DECODED_MALFORMED); \
        assert_why(part); \
    } while (0)

static void the_wire_by_hand(void **state)
{
    (void)state;
    assert_int_equal(decode(RR_SLICE("\x0a\x01k"                /* business_key */
                                     "\x12\x04\x08\x05\x10\x07" /* window 5 to 7 */
                                     "\x1a\x02v1"               /* metric_version */
                                     "\x22\x04\x08\x02\x10\x03" /* result_version 2, 3 */
                                     "\x2a\x05\x0a\x01"
                                     "a"
                                     "\x10\x03" /* a: -2 */
                                     "\x2a\x08\x0a\x01"
                                     "b"
                                     "\x1a\x03"
                                     "1.5" /* b: decimal */
                                     "\x2a\x0c\x0a\x01"
                                     "c"
                                     "\x21\0\0\0\0\0\0\xe0\x3f" /* c: 0.5 */
                                     "\x2a\x03\x0a\x01"
                                     "d"                                                    /* d: nothing */
                                     "\x48\x03\x50\x02\x80\x01\x02\x98\x01\x02\xa0\x01\x08" /* enums */
                                     "\x70\x00"                                             /* sequence 0 */
                                     "\x8a\x01\x00"                                         /* base_version {} */
                                     "\xb0\x01\x00"                                         /* emitted_at 0 */
                                     "\xfa\x07\x01x")),                                     /* an unknown field */
                     RR_DECODED_RECORD);
    assert_slice(record.business_key, RR_SLICE("k"));
    assert_true(record.has_window && !record.window_incomplete && record.window.start == 5 && record.window.end == 7);
    assert_true(record.version.epoch == 2 && record.version.number == 3);
    assert_int_equal(record.measure_count, 4);
    assert_int_equal(record.measures[0].kind, RR_NUMBER_INT64);
    assert_int_equal(record.measures[0].integer, -2);
    assert_int_equal(record.measures[1].kind, RR_NUMBER_TEXT);
    assert_slice(record.measures[1].text, RR_SLICE("1.5"));
    assert_int_equal(record.measures[2].kind, RR_NUMBER_DOUBLE);
    assert_true(record.measures[2].real == 0.5);
    assert_int_equal(record.measures[3].kind, RR_NUMBER_NONE);
    assert_int_equal(record.mode, RR_MODE_RETRACTION);
    assert_int_equal(record.op, RR_OP_RETRACT);
    assert_int_equal(record.origin, RR_ORIGIN_CORRECTION);
    assert_int_equal(record.status, RR_RESULT_STREAM_CLOSED);
    assert_int_equal(record.cause, RR_CAUSE_RETRACTION);
    assert_true(record.has_sequence && record.has_base && record.has_emitted_at);
    assert_int_equal(record.base_version.number, 0);
}

static void presence(void **state)
{
    const rr_record none = {0};

    (void)state;
    assert_int_equal(decode(RR_SLICE("")), RR_DECODED_RECORD);
    assert_memory_equal(&record, &none, sizeof none);
    assert_int_equal(decode(RR_SLICE("\x12\x00")), RR_DECODED_RECORD);
    assert_true(record.has_window && record.window_incomplete);
    assert_int_equal(decode(RR_SLICE("\x12\x02\x08\x00")), RR_DECODED_RECORD);
    assert_true(record.has_window && record.window_incomplete);
    assert_int_equal(decode(RR_SLICE("\x12\x04\x08\x00\x10\x00")), RR_DECODED_RECORD);
    assert_true(record.has_window && !record.window_incomplete);
    assert_int_equal(decode(RR_SLICE("\x22\x02\x08\x05\x5a\x02\x08\x05")), RR_DECODED_RECORD);
    assert_true(record.version.epoch == 0 && record.retracts_version.epoch == 0); /* number 0: absent */
    assert_int_equal(decode(RR_SLICE("\x92\x01\x06\x0a\x00\x12\x02\x10\x01")), RR_DECODED_RECORD);
    assert_true(record.has_includes && record.includes_base.number == 0 && record.includes_version.number == 1);
    assert_int_equal(decode(RR_SLICE("\x92\x01\x00")), RR_DECODED_RECORD);
    assert_false(record.has_includes);
    MALFORMED("\x92\x01\x04\x0a\x02\x10\x01", "has a base but no version");
}

static void value_is_short_for_measures(void **state)
{
    (void)state;
    assert_int_equal(decode(RR_SLICE("\x30\x00")), RR_DECODED_RECORD);
    assert_int_equal(record.measure_count, 1);
    assert_slice(record.measures[0].name, RR_SLICE("value"));
    assert_true(record.measures[0].kind == RR_NUMBER_INT64 && record.measures[0].integer == 0);
    assert_int_equal(decode(RR_SLICE("\x3a\x01"
                                     "7")),
                     RR_DECODED_RECORD);
    assert_slice(record.measures[0].text, RR_SLICE("7"));
    assert_int_equal(decode(RR_SLICE("\x3a\x00")), RR_DECODED_RECORD);
    assert_int_equal(record.measure_count, 0);
    assert_int_equal(decode(RR_SLICE("\x41\0\0\0\0\0\0\xf8\x7f")), RR_DECODED_RECORD);
    assert_true(record.measures[0].kind == RR_NUMBER_DOUBLE && isnan(record.measures[0].real));
    MALFORMED("\x30\x02\x2a\x05\x0a\x01"
              "a"
              "\x10\x03",
              "stands beside measures");
    MALFORMED("\x2a\x05\x0a\x01"
              "a"
              "\x10\x03\x2a\x03\x0a\x01"
              "a",
              "'a' is there twice");
}

static void strings_keep_their_length_and_are_utf8(void **state)
{
    (void)state;
    MALFORMED("\x0a\x03"
              "a\0b",
              "field 'business_key' holds a NUL");
    MALFORMED("\x0a\x09"
              "abcdefgh\0",
              "field 'business_key' holds a NUL");
    MALFORMED("\x0a\x11"
              "abc\0efghijklmnopq",
              "field 'business_key' holds a NUL");
    MALFORMED("\x0a\x11"
              "abcdefghijk\xffmnopq",
              "field 'business_key' is not UTF-8");
    assert_int_equal(decode(RR_SLICE("\x0a\x0c"
                                     "abcdefgh\xc3\xa9\x01\x7f")),
                     RR_DECODED_RECORD);
    MALFORMED("\x0a\x02\xff\xfe", "field 'business_key' is not UTF-8");
    MALFORMED("\x1a\x03\xed\xa0\x80", "field 'metric_version' is not UTF-8");
    MALFORMED("\x62\x02\xc0\x80", "field 'delta_id' is not UTF-8");
    MALFORMED("\x6a\x01\x80", "field 'producer'");
    MALFORMED("\x7a\x01\x80", "field 'contributor'");
    MALFORMED("\xaa\x01\x01\x80", "field 'evidence'");
    MALFORMED("\x2a\x03\x0a\x01\x80", "field 'measures.name'");
    MALFORMED("\x2a\x06\x0a\x01"
              "a"
              "\x1a\x01\x80",
              "field 'measures.decimal'");
    MALFORMED("\x3a\x01\x80", "field 'value_decimal'");
}

static void enums_are_those_of_the_file(void **state)
{
    (void)state;
    MALFORMED("\x48\x04", "field 'mode' has the value 4, which result.proto does not name");
    MALFORMED("\x50\x03", "field 'op'");
    MALFORMED("\x80\x01\x03", "field 'origin'");
    MALFORMED("\x98\x01\x04", "field 'status'");
    MALFORMED("\xa0\x01\x09", "field 'cause'");
    MALFORMED("\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "has the value -1");
    assert_int_equal(decode(RR_SLICE("\x48\x03\x50\x02\x80\x01\x02\x98\x01\x03\xa0\x01\x08")), RR_DECODED_RECORD);
    assert_int_equal(record.status, RR_RESULT_RECONCILED);
}

static void the_clock_is_for_files(void **state)
{
    (void)state;
    assert_int_equal(decode_in(RR_SLICE("\xb8\x01\x05"), true), RR_DECODED_CLOCK);
    assert_int_equal(clock_us, 5);
    assert_int_equal(decode_in(RR_SLICE("\xb8\x01\x00"), true), RR_DECODED_CLOCK);
    assert_int_equal(clock_us, 0);
    MALFORMED("\xb8\x01\x05", "for files only");
    assert_int_equal(decode_in(RR_SLICE("\xb8\x01\x05\x0a\x01k"), true), RR_DECODED_MALFORMED);
    assert_why("stands beside other fields");
    assert_int_equal(decode_in(RR_SLICE("\xb8\x01\x05\xfa\x07\x01x"), true), RR_DECODED_MALFORMED);
    assert_int_equal(decode_in(RR_SLICE("\xb8\x01\x05\x22\x00"), true), RR_DECODED_MALFORMED);
    assert_int_equal(decode_in(RR_SLICE("\xb8\x01\x05\x0a\x00\x48\x00"), true), RR_DECODED_CLOCK);
}

static void what_is_no_message(void **state)
{
    (void)state;
    MALFORMED("\x0a", "not a protobuf message");
    MALFORMED("\x0a\x05k", "cut off");
    MALFORMED("\x0a\xff\xff\xff\xff\x0f", "cut off");
    MALFORMED("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "cut off"); /* a length beyond the memory there is */
    MALFORMED("\x08\x01", "not a protobuf message");                      /* business_key as a number */
    MALFORMED("\x12\x01\x08", "not a protobuf message");                  /* cut off inside a window */
    MALFORMED("\x12\x03\x0a\x01k", "not a protobuf message");             /* a string as the window's start */
    MALFORMED("\xfb\x07", "a group has no end");
    MALFORMED("\x0b\x0c", "a field is of another type"); /* business_key as a group */
    MALFORMED("\x00\x01", "not a protobuf message");     /* field number 0 */
    MALFORMED("\x0e\x01", "not a protobuf message");     /* wire type 6 */
    MALFORMED("\xff\xff\xff\xff\xff\xff", "not a protobuf message");
    MALFORMED("{\"business_key\":\"k\"}", "is it JSON");
}

/* One field with each wire type, inside a message of the record (0: the record itself). Only its own is read. */
static void only_its_own_type(unsigned inside, unsigned number, unsigned wire)
{
    static const rr_slice contents[] = {{"\0", 1}, {"\0\0\0\0\0\0\0\0", 8}, {"\0", 1}, {NULL, 0},
                                        {NULL, 0}, {"\0\0\0\0", 4}};

    for (unsigned other = 0; other <= 5; other += other == 2 ? 3 : 1) {
        char field[16], message[32];
        size_t len = 0, in = 0;

        if (number > 15) {
            field[len++] = (char)((number << 3 & 0x7f) | other | 0x80);
            field[len++] = (char)(number >> 4);
        } else {
            field[len++] = (char)(number << 3 | other);
        }
        memcpy(field + len, contents[other].data, contents[other].len);
        len += contents[other].len;
        if (inside > 15) {
            message[in++] = (char)((inside << 3 & 0x7f) | 0x82);
            message[in++] = (char)(inside >> 4);
        } else if (inside != 0) {
            message[in++] = (char)(inside << 3 | 2);
        }
        if (inside != 0) {
            message[in++] = (char)len;
        }
        memcpy(message + in, field, len);
        if ((decode_in((rr_slice){message, in + len}, true) == RR_DECODED_MALFORMED) != (other != wire)) {
            fail_msg("field %u inside %u with wire type %u", number, inside, other);
        }
        if (other != wire) {
            assert_why("not a protobuf message of type rr.v1.Result, or cut off (a field is of another type");
        }
    }
}

static void a_field_of_another_type_is_no_message(void **state)
{
    static const unsigned result[] = {2, 2, 2, 2, 2, 0, 2, 1, 0, 0, 2, 2, 2, 0, 2, 0, 2, 2, 0, 0, 2, 0, 0};
    static const unsigned measure[] = {2, 0, 2, 1}, versions[] = {4, 11, 17};

    (void)state;
    for (unsigned k = 0; k < sizeof result / sizeof result[0]; k++) {
        only_its_own_type(0, k + 1, result[k]);
    }
    for (unsigned k = 0; k < 4; k++) {
        only_its_own_type(5, k + 1, measure[k]);
    }
    for (unsigned number = 1; number <= 2; number++) {
        only_its_own_type(2, number, 0);
        only_its_own_type(18, number, 2);
        for (unsigned k = 0; k < 3; k++) {
            only_its_own_type(versions[k], number, 0);
        }
    }
}

/* As anybody who joins two messages byte by byte, and as unknown fields of any form, expects it. */
static void what_comes_twice(void **state)
{
    (void)state;
    assert_int_equal(decode(RR_SLICE("\x0a\x01j\x0a\x01k")), RR_DECODED_RECORD);
    assert_slice(record.business_key, RR_SLICE("k"));
    assert_int_equal(decode(RR_SLICE("\x0a\x01j\x0a\x00")), RR_DECODED_RECORD);
    assert_int_equal(record.business_key.len, 0);
    /* a message inside: what the second does not say is the first's, and 0 is said */
    assert_int_equal(decode(RR_SLICE("\x12\x02\x08\x05\x12\x02\x10\x07")), RR_DECODED_RECORD);
    assert_true(!record.window_incomplete && record.window.start == 5 && record.window.end == 7);
    assert_int_equal(decode(RR_SLICE("\x22\x04\x08\x02\x10\x03\x22\x02\x10\x04")), RR_DECODED_RECORD);
    assert_true(record.version.epoch == 2 && record.version.number == 4);
    assert_int_equal(decode(RR_SLICE("\x22\x04\x08\x02\x10\x03\x22\x02\x08\x00")), RR_DECODED_RECORD);
    assert_true(record.version.epoch == 0 && record.version.number == 3);
    assert_int_equal(decode(RR_SLICE("\x92\x01\x04\x0a\x02\x10\x01\x92\x01\x04\x12\x02\x10\x02")), RR_DECODED_RECORD);
    assert_true(record.has_includes && record.includes_base.number == 1 && record.includes_version.number == 2);
    /* a later member of a oneof clears the others */
    assert_int_equal(decode(RR_SLICE("\x30\x02\x3a\x01"
                                     "7")),
                     RR_DECODED_RECORD);
    assert_int_equal(record.measure_count, 1);
    assert_true(record.measures[0].kind == RR_NUMBER_TEXT && record.measures[0].integer == 0);
    assert_slice(record.measures[0].text, RR_SLICE("7"));
    assert_int_equal(decode(RR_SLICE("\x2a\x09\x1a\x02"
                                     "\xff\xff"
                                     "\x10\x03\x0a\x01"
                                     "a")),
                     RR_DECODED_RECORD);
    assert_true(record.measures[0].kind == RR_NUMBER_INT64 && record.measures[0].integer == -2);
    assert_slice(record.measures[0].name, RR_SLICE("a"));
    assert_int_equal(record.measures[0].text.len, 0);
}

static void unknown_fields_of_any_form_are_skipped(void **state)
{
    (void)state;
    assert_int_equal(decode(RR_SLICE("\xc0\x01\x05\xc1\x01"
                                     "12345678"
                                     "\xc2\x01\x01x\xc3\x01\x08\x01\x13\x14\xc4\x01\xc5\x01"
                                     "1234"
                                     "\x0a\x01k"
                                     "\x12\x03\x18\x01\x08\x80\x01")),
                     RR_DECODED_MALFORMED); /* the window is cut off */
    assert_int_equal(decode(RR_SLICE("\xc0\x01\x05\xc1\x01"
                                     "12345678"
                                     "\xc2\x01\x01x\xc3\x01\x08\x01\x13\x14\xc4\x01\xc5\x01"
                                     "1234"
                                     "\x0a\x01k"
                                     "\x12\x05\x18\x01\x08\x80\x01\x22\x04\x1a\x00\x10\x01"
                                     "\x2a\x03\x2b\x2c\x2a\x00")),
                     RR_DECODED_MALFORMED); /* lengths that lie */
    assert_int_equal(decode(RR_SLICE("\xc0\x01\x05\xc1\x01"
                                     "12345678"
                                     "\xc2\x01\x01x\xc3\x01\x08\x01\x13\x14\xc4\x01\xc5\x01"
                                     "1234"
                                     "\x0a\x01k"
                                     "\x12\x05\x18\x01\x08\x80\x01\x22\x04\x1a\x00\x10\x01"
                                     "\x2a\x02\x2b\x2c")),
                     RR_DECODED_RECORD);
    assert_slice(record.business_key, RR_SLICE("k"));
    assert_int_equal(record.window.start, 128);
    assert_int_equal(record.version.number, 1);
    assert_int_equal(record.measure_count, 1);
}

static void sizes_up_to_the_limits(void **state)
{
    static char bytes[RR_LIMIT_RECORD_BYTES + 1];

    (void)state;
    /* one field that fills the record */
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "\x0a\xfc\xff\x03", 4);
    assert_int_equal(decode((rr_slice){bytes, RR_LIMIT_RECORD_BYTES}), RR_DECODED_RECORD);
    assert_int_equal(record.business_key.len, RR_LIMIT_RECORD_BYTES - 4);
    assert_int_equal(decode((rr_slice){bytes, RR_LIMIT_RECORD_BYTES + 1}), RR_DECODED_TOO_LARGE);
    assert_why("65537 bytes");
    /* the smallest fields, known and unknown */
    for (size_t at = 0; at < RR_LIMIT_RECORD_BYTES; at += 2) {
        memcpy(bytes + at, "\x2a\x00", 2);
    }
    assert_int_equal(decode((rr_slice){bytes, 2 * RR_LIMIT_MEASURES + 2}), RR_DECODED_TOO_LARGE);
    assert_why("65 measures");
    assert_int_equal(decode((rr_slice){bytes, RR_LIMIT_RECORD_BYTES}), RR_DECODED_TOO_LARGE);
    for (size_t at = 0; at < RR_LIMIT_RECORD_BYTES; at += 2) {
        memcpy(bytes + at, "\x38\x00", 2);
    }
    assert_int_not_equal(decode((rr_slice){bytes, RR_LIMIT_RECORD_BYTES}), RR_DECODED_NO_MEMORY);
    for (size_t at = 0; at + 3 <= RR_LIMIT_RECORD_BYTES; at += 3) {
        memcpy(bytes + at, "\xf8\x07\x00", 3);
    }
    assert_int_not_equal(decode((rr_slice){bytes, RR_LIMIT_RECORD_BYTES - 1}), RR_DECODED_NO_MEMORY);
    for (size_t at = 0; at + 4 <= RR_LIMIT_RECORD_BYTES; at += 4) {
        memcpy(bytes + at, "\x12\x02\x08\x00", 4);
    }
    assert_int_not_equal(decode((rr_slice){bytes, RR_LIMIT_RECORD_BYTES}), RR_DECODED_NO_MEMORY);
}

static void scratch_is_given_back(void **state)
{
    static const rr_slice rows[] = {{"\x0a\x01k\x30\x02", 5}, {"\x0a\x05k", 3}, {"\x0a\x01k\xfa\x07\x01x", 7}};

    (void)state;
    assert_scratch_is_given_back(from_queue, rows, 3);
}

static void decode_damaged_message(rr_slice message, int round)
{
    decode_in(message, round % 2 == 0);
}

static void damaged_messages(void **state)
{
    static const char message[] = "\x0a\x03key\x12\x04\x08\x05\x10\x07\x1a\x02v1\x22\x04\x08\x02\x10\x03"
                                  "\x2a\x05\x0a\x01"
                                  "a"
                                  "\x10\x03\x2a\x08\x0a\x01"
                                  "b"
                                  "\x1a\x03"
                                  "1.5\x48\x03"
                                  "\x92\x01\x08\x0a\x02\x10\x01\x12\x02\x10\x01";

    (void)state;
    decode_damaged((rr_slice){message, sizeof message - 1}, NULL, decode_damaged_message);
}

/* JSON -> record -> protobuf -> record -> JSON. Returns false for what is no record. */
static bool goes_round(rr_slice line)
{
    rr_buf json = {0}, proto = {0}, again = {0};
    rr_arena first;
    bool is_record;

    rr_arena_init(&first, 0);
    is_record = rr_record_from_json(line, &first, &record, &clock_us, NULL) == RR_DECODED_RECORD;
    if (is_record) {
        assert_true(rr_record_to_json(&record, &json));
        assert_true(rr_record_to_proto(&record, &proto));
        assert_int_equal(decode(rr_buf_view(&proto)), RR_DECODED_RECORD);
        assert_true(rr_record_to_json(&record, &again));
        assert_slice(rr_buf_view(&again), rr_buf_view(&json));
        /* and what was printed reads as the same record */
        assert_int_equal(rr_record_from_json(rr_buf_view(&json), &first, &record, &clock_us, NULL), RR_DECODED_RECORD);
        rr_buf_clear(&again);
        assert_true(rr_record_to_json(&record, &again));
        assert_slice(rr_buf_view(&again), rr_buf_view(&json));
    }
    rr_arena_fini(&first);
    rr_buf_fini(&json);
    rr_buf_fini(&proto);
    rr_buf_fini(&again);
    return is_record;
}

static size_t file_goes_round(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0, records = 0;
    ssize_t len;

    assert_non_null(file);
    while ((len = getline(&line, &room, file)) > 0) {
        records += goes_round((rr_slice){line, (size_t)len}) ? 1 : 0;
    }
    free(line);
    fclose(file);
    return records;
}

static void all_cases_go_round(void **state)
{
    glob_t found;
    size_t records = 0;

    (void)state;
    assert_int_equal(glob(RR_SOURCE_DIR "/tests/cases/*/*/records.jsonl", 0, NULL, &found), 0);
    for (size_t k = 0; k < found.gl_pathc; k++) {
        records += file_goes_round(found.gl_pathv[k]);
    }
    globfree(&found);
    assert_true(records > 300);
}

static void everything_goes_round(void **state)
{
    (void)state;
    assert_true(goes_round(
        RR_SLICE("{\"business_key\":\"k\xc3\xa9\",\"window\":{\"end\":7},\"metric_version\":\"v\",\"result_version\":"
                 "{\"epoch\":18446744073709551615,\"number\":18446744073709551615},\"measures\":{\"a\":-1e5,\"b\":"
                 "true},"
                 "\"mode\":\"DELTA\",\"op\":\"RETRACT\",\"retracts_version\":1,\"delta_id\":\"d\",\"producer\":\"p\","
                 "\"sequence\":18446744073709551615,\"contributor\":\"c\",\"origin\":\"CORRECTION\",\"base_version\":{"
                 "\"epoch\":1,"
                 "\"number\":2},\"includes_correction\":{\"version\":3},\"status\":\"RECONCILED\",\"cause\":\"EARLY\","
                 "\"evidence\":\"e\",\"emitted_at\":-9223372036854775808}")));
}

static FILE *file_of(rr_slice bytes)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(fwrite(bytes.data, 1, bytes.len, file), bytes.len);
    rewind(file);
    return file;
}

static void files_of_records(void **state)
{
    static char large[RR_LIMIT_RECORD_BYTES + 1];
    rr_buf bytes = {0};
    rr_delimited reader = {.name = "results.pb"};
    rr_slice got;
    rr_error error = {0};

    (void)state;
    memset(large, 'x', sizeof large);
    rr_delimited_put(&bytes, RR_SLICE("first"));
    rr_delimited_put(&bytes, RR_SLICE(""));
    rr_delimited_put(&bytes, (rr_slice){large, RR_LIMIT_RECORD_BYTES});
    rr_delimited_put(&bytes, (rr_slice){large, RR_LIMIT_RECORD_BYTES + 1});
    rr_delimited_put(&bytes, RR_SLICE("last"));
    rr_buf_put(&bytes,
               "\x05"
               "cut",
               4);
    reader.file = file_of(rr_buf_view(&bytes));
    assert_int_equal(rr_delimited_read(&reader, &got, &error), RR_DELIMITED_RECORD);
    assert_slice(got, RR_SLICE("first"));
    assert_int_equal(rr_delimited_read(&reader, &got, &error), RR_DELIMITED_RECORD);
    assert_int_equal(got.len, 0);
    assert_int_equal(rr_delimited_read(&reader, &got, &error), RR_DELIMITED_RECORD);
    assert_slice(got, (rr_slice){large, RR_LIMIT_RECORD_BYTES});
    assert_int_equal(rr_delimited_read(&reader, &got, &error), RR_DELIMITED_TOO_LARGE);
    assert_int_equal(got.len, RR_LIMIT_RECORD_BYTES + 1);
    assert_int_equal(rr_delimited_read(&reader, &got, &error), RR_DELIMITED_RECORD);
    assert_slice(got, RR_SLICE("last"));
    assert_int_equal(rr_delimited_read(&reader, &got, &error), RR_DELIMITED_FAILED);
    assert_int_equal(error.status, RR_INPUT);
    assert_string_equal(error.text, "results.pb: the record at byte 131091 is cut off: the file ends before it does");
    fclose(reader.file);
    rr_delimited_fini(&reader);
    rr_buf_fini(&bytes);
}

static void damaged_files(void **state)
{
    static const struct {
        rr_slice bytes;
        rr_delimited_next next;
        const char *why;
    } rows[] = {
        {{"", 0}, RR_DELIMITED_END, ""},
        {{"\x80", 1}, RR_DELIMITED_FAILED, "ends in its length"},
        {{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11}, RR_DELIMITED_FAILED, "does not begin with a length"},
        {{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10}, RR_DELIMITED_FAILED, "does not begin with a length"},
        {{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", 11}, RR_DELIMITED_FAILED, "over the size limit"},
        {{"\xff\xff\x7fx", 4}, RR_DELIMITED_FAILED, "at byte 0 is over the size limit"},
        {{"{\"business_key\":\"k\"}\n", 21}, RR_DELIMITED_FAILED, "cut off"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_delimited reader = {.name = "f", .file = file_of(rows[k].bytes)};
        rr_slice got;
        rr_error error = {0};

        assert_int_equal(rr_delimited_read(&reader, &got, &error), rows[k].next);
        assert_non_null(strstr(error.text, rows[k].why));
        fclose(reader.file);
        rr_delimited_fini(&reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wire_by_hand),
        cmocka_unit_test(presence),
        cmocka_unit_test(value_is_short_for_measures),
        cmocka_unit_test(strings_keep_their_length_and_are_utf8),
        cmocka_unit_test(enums_are_those_of_the_file),
        cmocka_unit_test(the_clock_is_for_files),
        cmocka_unit_test(what_is_no_message),
        cmocka_unit_test(a_field_of_another_type_is_no_message),
        cmocka_unit_test(what_comes_twice),
        cmocka_unit_test(unknown_fields_of_any_form_are_skipped),
        cmocka_unit_test(sizes_up_to_the_limits),
        cmocka_unit_test(scratch_is_given_back),
        cmocka_unit_test(damaged_messages),
        cmocka_unit_test(all_cases_go_round),
        cmocka_unit_test(everything_goes_round),
        cmocka_unit_test(files_of_records),
        cmocka_unit_test(damaged_files),
    };

    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
