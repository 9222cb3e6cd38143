/* Protobuf's wire by hand: each form, each bound, and what is no message. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto_reader.h"

/* A copy of just its size, so that a sanitizer sees a read beyond it. */
static char *exact(rr_slice bytes)
{
    char *copy = malloc(bytes.len == 0 ? 1 : bytes.len);

    assert_non_null(copy);
    if (bytes.len != 0) {
        memcpy(copy, bytes.data, bytes.len);
    }
    return copy;
}

#define NINE "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

/* The bytes 1 to 7 as groups of seven bits. */
#define SEVEN (1 | 2ull << 7 | 3ull << 14 | 4ull << 21 | 5ull << 28 | 6ull << 35 | 7ull << 42)

static void numbers(void **state)
{
    static const struct {
        rr_slice bytes;
        uint32_t number;
        rr_proto_wire wire;
        uint64_t value;
    } rows[] = {
        {{"\x08\x00", 2}, 1, RR_PROTO_VARINT, 0},
        {{"\x08\x7f", 2}, 1, RR_PROTO_VARINT, 127},
        {{"\x08\x80\x01", 3}, 1, RR_PROTO_VARINT, 128},
        {{"\x78\xac\x02", 3}, 15, RR_PROTO_VARINT, 300},
        {{"\x80\x01\x05", 3}, 16, RR_PROTO_VARINT, 5},
        {{"\xf8\xff\xff\xff\x0f\x05", 6}, RR_PROTO_NUMBER_MAX, RR_PROTO_VARINT, 5},
        {{"\x08\x81\x82\x83\x84\x85\x86\x07", 8}, 1, RR_PROTO_VARINT, SEVEN},
        {{"\x08\x81\x82\x83\x84\x85\x86\x87\x08", 9}, 1, RR_PROTO_VARINT, SEVEN | 8ull << 49},
        {{"\x08\x81\x82\x83\x84\x85\x86\x87\x88\x09", 10}, 1, RR_PROTO_VARINT, SEVEN | 8ull << 49 | 9ull << 56},
        {{"\x08" NINE "\x01", 11}, 1, RR_PROTO_VARINT, UINT64_MAX},
        {{"\x08\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11}, 1, RR_PROTO_VARINT, 5}, /* longer than it need be */
        {{"\x88\x80\x80\x80\x00\x05", 6}, 1, RR_PROTO_VARINT, 5},                      /* so is this tag */
        {{"\x09\x01\x02\x03\x04\x05\x06\x07\x08", 9}, 1, RR_PROTO_FIXED64, UINT64_C(0x0807060504030201)},
        {{"\x0d\x01\x02\x03\x84", 5}, 1, RR_PROTO_FIXED32, 0x84030201},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char *copy = exact(rows[k].bytes);
        rr_proto_reader in = rr_proto_over((rr_slice){copy, rows[k].bytes.len});
        rr_proto_field field;

        assert_true(rr_proto_next(&in, &field));
        assert_int_equal(field.number, rows[k].number);
        assert_int_equal(field.wire, rows[k].wire);
        assert_true(field.value == rows[k].value);
        assert_int_equal(field.bytes.len, 0);
        assert_false(rr_proto_next(&in, &field));
        assert_null(in.why);
        free(copy);
    }
}

static void bytes(void **state)
{
    static char message[300] = "\x12\xa8\x02";
    rr_proto_reader in = rr_proto_over(RR_SLICE("\x12\x00\x12\x03"
                                                "abc"
                                                "\xa2\x01\x01z"));
    rr_proto_field field;

    (void)state;
    assert_true(rr_proto_next(&in, &field));
    assert_true(field.number == 2 && field.wire == RR_PROTO_BYTES && field.bytes.len == 0 && field.value == 0);
    assert_true(rr_proto_next(&in, &field));
    assert_true(rr_slice_equal(field.bytes, RR_SLICE("abc")));
    assert_true(rr_proto_next(&in, &field));
    assert_true(field.number == 20 && rr_slice_equal(field.bytes, RR_SLICE("z")));
    assert_false(rr_proto_next(&in, &field));
    in = rr_proto_over((rr_slice){message, 3 + 296});
    assert_true(rr_proto_next(&in, &field));
    assert_int_equal(field.bytes.len, 296);
    assert_false(rr_proto_next(&in, &field));
    assert_null(in.why);
    in = rr_proto_over((rr_slice){NULL, 0});
    assert_false(rr_proto_next(&in, &field));
    assert_null(in.why);
}

static void a_group_is_one_field(void **state)
{
    /* 1: group { 2: "x", 3: group { 4: 5 }, 5: fixed64, 6: fixed32 }, then 7: 8 */
    rr_proto_reader in = rr_proto_over(RR_SLICE("\x0b\x12\x01x\x1b\x20\x05\x1c\x29"
                                                "12345678"
                                                "\x35"
                                                "1234"
                                                "\x0c\x38\x08"));
    rr_proto_field field;

    (void)state;
    assert_true(rr_proto_next(&in, &field));
    assert_true(field.number == 1 && field.wire == RR_PROTO_GROUP && field.value == 0);
    assert_int_equal(field.bytes.len, 21);
    assert_true(rr_proto_next(&in, &field));
    assert_true(field.number == 7 && field.value == 8);
    assert_false(rr_proto_next(&in, &field));
    assert_null(in.why);
    in = rr_proto_over(RR_SLICE("\x0b\x0c"));
    assert_true(rr_proto_next(&in, &field) && field.wire == RR_PROTO_GROUP && field.bytes.len == 0);
}

/* `deep` groups inside each other; returns the reason. */
static const char *nested(size_t deep)
{
    char text[2 * RR_PROTO_GROUP_DEPTH + 10];
    rr_proto_reader in = rr_proto_over((rr_slice){text, 2 * deep});
    rr_proto_field field;

    assert_true(2 * deep <= sizeof text);
    memset(text, 0x0b, deep);
    memset(text + deep, 0x0c, deep);
    if (rr_proto_next(&in, &field)) {
        assert_null(in.why);
        assert_int_equal(field.bytes.len, 2 * deep - 2);
    }
    return in.why;
}

static void groups_nest_so_deep(void **state)
{
    (void)state;
    assert_null(nested(1));
    assert_null(nested(RR_PROTO_GROUP_DEPTH));
    assert_string_equal(nested(RR_PROTO_GROUP_DEPTH + 1), "groups are nested too deep");
}

static void what_is_no_message(void **state)
{
    static const struct {
        rr_slice bytes;
        const char *why;
    } rows[] = {
        {{"\x08", 1}, "a varint is cut off, or longer than 64 bits"},
        {{"\x08\x80", 2}, "a varint is cut off, or longer than 64 bits"},
        {{"\x08\x80\x80\x80\x80\x80\x80\x80\x80", 9}, "a varint is cut off, or longer than 64 bits"},
        {{"\x08" NINE "\x02", 11}, "a varint is cut off, or longer than 64 bits"},
        {{"\x08" NINE "\x81\x00", 12}, "a varint is cut off, or longer than 64 bits"},
        {{"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12}, "a varint is cut off, or longer than 64 bits"},
        {{"\x09"
          "1234567",
          8},
         "a number is cut off"},
        {{"\x0d"
          "123",
          4},
         "a number is cut off"},
        {{"\x0a", 1}, "a length is cut off, or no length"},
        {{"\x0a\x80", 2}, "a length is cut off, or no length"},
        {{"\x0a\x02x", 3}, "a field is cut off"},
        {{"\x0a\xff\xff\xff\xff\x0f", 6}, "a field is cut off"},
        {{"\x0a\xff\xff\xff\xff\x1f", 6}, "a length is cut off, or no length"},
        {{"\x0a\x80\x80\x80\x80\x80\x00", 7}, "a length is cut off, or no length"},
        {{"\x80", 1}, "a tag is cut off, or no tag"},
        {{"\xf8\xff\xff\xff\x1f\x05", 6}, "a tag is cut off, or no tag"}, /* a number above the largest */
        {{"\x88\x80\x80\x80\x80\x00\x05", 7}, "a tag is cut off, or no tag"},
        {{"\x00\x01", 2}, "a field has the number 0"},
        {{"\x02\x00", 2}, "a field has the number 0"},
        {{"\x07", 1}, "a field has the number 0"},
        {{"\x0e\x01", 2}, "a wire type is 6 or 7"},
        {{"\x0f\x01", 2}, "a wire type is 6 or 7"},
        {{"\x0c", 1}, "a group ends that did not begin"},
        {{"\x0b", 1}, "a group has no end"},
        {{"\x0b\x08\x01", 3}, "a group has no end"},
        {{"\x0b\x13\x0c", 3}, "the end of a group is that of another"},
        {{"\x0b\x14", 2}, "the end of a group is that of another"},
        {{"\x0b\x13\x14\x14", 4}, "the end of a group is that of another"},
        {{"\x0b\x00\x01\x0c", 4}, "a field has the number 0"},
        {{"\x0b\x12\x05x\x0c", 5}, "a field is cut off"},
        {{"\x0b\x10\x80", 3}, "a varint is cut off, or longer than 64 bits"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        /* behind a field that is fine: the cursor stays at the wrong one */
        char text[32] = "\x10\x01", *copy;
        rr_proto_reader in;
        rr_proto_field field;

        memcpy(text + 2, rows[k].bytes.data, rows[k].bytes.len);
        copy = exact((rr_slice){text, 2 + rows[k].bytes.len});
        in = rr_proto_over((rr_slice){copy, 2 + rows[k].bytes.len});
        assert_true(rr_proto_next(&in, &field));
        if (rr_proto_next(&in, &field) || in.why == NULL || strcmp(in.why, rows[k].why) != 0) {
            fail_msg("row %zu: %s", k, in.why);
        }
        assert_ptr_equal(in.at, copy + 2);
        assert_false(rr_proto_next(&in, &field));
        assert_string_equal(in.why, rows[k].why);
        free(copy);
    }
}

static void packed_numbers(void **state)
{
    static const uint64_t varints[] = {0, 300, UINT64_MAX, 1}, words[] = {0x04030201, 0x08070605};
    rr_proto_reader in = rr_proto_over(RR_SLICE("\x00\xac\x02" NINE "\x01\x01"));
    rr_slice eight = RR_SLICE("\x01\x02\x03\x04\x05\x06\x07\x08");
    uint64_t value;

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        assert_true(rr_proto_next_packed(&in, RR_PROTO_VARINT, &value));
        assert_true(value == varints[k]);
    }
    assert_false(rr_proto_next_packed(&in, RR_PROTO_VARINT, &value));
    assert_null(in.why);
    in = rr_proto_over(eight);
    for (size_t k = 0; k < 2; k++) {
        assert_true(rr_proto_next_packed(&in, RR_PROTO_FIXED32, &value));
        assert_true(value == words[k]);
    }
    assert_false(rr_proto_next_packed(&in, RR_PROTO_FIXED32, &value));
    assert_null(in.why);
    in = rr_proto_over(eight);
    assert_true(rr_proto_next_packed(&in, RR_PROTO_FIXED64, &value));
    assert_true(value == UINT64_C(0x0807060504030201));
    in = rr_proto_over((rr_slice){eight.data, 7});
    assert_true(rr_proto_next_packed(&in, RR_PROTO_FIXED32, &value));
    assert_false(rr_proto_next_packed(&in, RR_PROTO_FIXED32, &value));
    assert_string_equal(in.why, "a number is cut off");
    in = rr_proto_over(RR_SLICE("\x01\x80"));
    assert_true(rr_proto_next_packed(&in, RR_PROTO_VARINT, &value));
    assert_false(rr_proto_next_packed(&in, RR_PROTO_VARINT, &value));
    assert_string_equal(in.why, "a varint is cut off, or longer than 64 bits");
    in = rr_proto_over(eight);
    assert_false(rr_proto_next_packed(&in, RR_PROTO_BYTES, &value));
    assert_string_equal(in.why, "only numbers are packed");
}

static void what_the_bits_mean(void **state)
{
    (void)state;
    /* -1 is ten bytes on the wire, for an int32 too; five are read as well; what is too wide is cut */
    assert_int_equal(rr_proto_int32(UINT64_MAX), -1);
    assert_int_equal(rr_proto_int32(UINT32_MAX), -1);
    assert_int_equal(rr_proto_int32(UINT64_C(0x100000005)), 5);
    assert_int_equal(rr_proto_uint32(UINT64_C(0x100000005)), 5);
    assert_true(rr_proto_int64(UINT64_MAX) == -1);
    assert_int_equal(rr_proto_sint32(0), 0);
    assert_int_equal(rr_proto_sint32(1), -1);
    assert_int_equal(rr_proto_sint32(2), 1);
    assert_int_equal(rr_proto_sint32(UINT32_MAX - 1), INT32_MAX);
    assert_int_equal(rr_proto_sint32(UINT32_MAX), INT32_MIN);
    assert_int_equal(rr_proto_sint32(UINT64_C(0x100000001)), -1);
    assert_true(rr_proto_sint64(UINT64_MAX - 1) == INT64_MAX);
    assert_true(rr_proto_sint64(UINT64_MAX) == INT64_MIN);
    assert_true(rr_proto_sint64(3) == -2);
    assert_true(!rr_proto_bool(0) && rr_proto_bool(1) && rr_proto_bool(UINT64_C(1) << 63));
    assert_true(rr_proto_float(0x3f000000) == 0.5f && isnan(rr_proto_float(0x7fc00000)));
    assert_true(rr_proto_double(UINT64_C(0xbfe0000000000000)) == -0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(bytes),
        cmocka_unit_test(a_group_is_one_field),
        cmocka_unit_test(groups_nest_so_deep),
        cmocka_unit_test(what_is_no_message),
        cmocka_unit_test(packed_numbers),
        cmocka_unit_test(what_the_bits_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
