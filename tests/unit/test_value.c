/* Values: canonical bytes, exact sums, order and text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "decimal.h"
#include "value.h"

static const rr_measure_def defs[] = {
    [RR_MEASURE_INT64] = {.name = {"value", 5}, .type = RR_MEASURE_INT64, .never_falls = true},
    [RR_MEASURE_DECIMAL] = {.name = {"value", 5}, .type = RR_MEASURE_DECIMAL, .never_falls = true},
    [RR_MEASURE_DOUBLE] = {.name = {"value", 5}, .type = RR_MEASURE_DOUBLE, .never_falls = true},
};

static rr_contract contract_of(rr_measure_type type)
{
    return (rr_contract){.measures = &defs[type], .measure_count = 1};
}

/* Canonical bytes of a number as text; len 0: refused. */
static rr_slice read_as(rr_measure_type type, const char *text, rr_arena *arena)
{
    rr_measure measure = {.kind = RR_NUMBER_TEXT, .text = rr_slice_of(text)};
    char *from = rr_arena_take(arena, RR_NUMBER_TEXT_MAX), *at = from;

    assert_non_null(from);
    return rr_value_read(type, &measure, &at) ? (rr_slice){from, (size_t)(at - from)} : (rr_slice){NULL, 0};
}

static const char *printed(rr_measure_type type, rr_slice values)
{
    static char text[RR_NUMBER_TEXT_MAX + 1];
    rr_contract contract = contract_of(type);

    text[rr_values_print(&contract, 0, &values, text)] = '\0';
    assert_int_equal(values.len, 0);
    return text;
}

static void integers_are_read_exactly(void **state)
{
    static const struct {
        const char *text, *printed; /* NULL: measure_type */
        size_t bytes;
    } rows[] = {
        {"0", "0", 1},
        {"-0", "0", 1},
        {"-1", "-1", 1},
        {"63", "63", 1},
        {"64", "64", 2},
        {"9223372036854775807", "9223372036854775807", 10},
        {"-9223372036854775808", "-9223372036854775808", 10},
        {"9223372036854775808", NULL, 0},
        {"-9223372036854775809", NULL, 0},
        {"1.0", NULL, 0},
        {"1e2", NULL, 0},
        {"01", NULL, 0},
        {"+1", NULL, 0},
        {" 1", NULL, 0},
        {"", NULL, 0},
        {"1_000", NULL, 0},
    };
    rr_contract contract = contract_of(RR_MEASURE_INT64);
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_slice values = read_as(RR_MEASURE_INT64, rows[k].text, &arena);

        assert_int_equal(values.len, rows[k].bytes);
        if (rows[k].printed != NULL) {
            assert_string_equal(printed(RR_MEASURE_INT64, values), rows[k].printed);
            assert_true(rr_values_check(&contract, values));
        }
    }
    rr_arena_fini(&arena);
}

static void sums_of_integers_pass_the_ends_of_int64(void **state)
{
    rr_contract contract = contract_of(RR_MEASURE_INT64);
    rr_arena arena;
    rr_slice most, least, sum;

    (void)state;
    rr_arena_init(&arena, 0);
    most = read_as(RR_MEASURE_INT64, "9223372036854775807", &arena);
    least = read_as(RR_MEASURE_INT64, "-9223372036854775808", &arena);
    sum = rr_values_add(&contract, most, most, &arena);
    assert_string_equal(printed(RR_MEASURE_INT64, sum), "18446744073709551614");
    sum = rr_values_add(&contract, sum, sum, &arena);
    assert_string_equal(printed(RR_MEASURE_INT64, sum), "36893488147419103228");
    assert_true(rr_values_check(&contract, sum));
    sum = rr_values_subtract(&contract, least, most, &arena);
    assert_string_equal(printed(RR_MEASURE_INT64, sum), "-18446744073709551615");
    sum = rr_values_add(&contract, sum, most, &arena);
    sum = rr_values_subtract(&contract, sum, least, &arena);
    assert_string_equal(printed(RR_MEASURE_INT64, sum), "0");
    assert_true(rr_slice_equal(sum, rr_values_zero(&contract, &arena)));
    rr_arena_fini(&arena);
}

static void decimals_are_canonical(void **state)
{
    static const struct {
        const char *text, *canonical; /* NULL: measure_type */
    } rows[] = {
        {"0", "0"},
        {"-0.0", "0"},
        {"0e999999999", "0"},
        {"-0.00e-999999999999999999999", "0"},
        {"1.50", "1.5"},
        {"10.10", "10.1"},
        {"-10.00", "-10"},
        {"1E2", "100"},
        {"12.345e1", "123.45"},
        {"12.345e-1", "1.2345"},
        {"12.345e-4", "0.0012345"},
        {"12.345e3", "12345"},
        {"12.345e5", "1234500"},
        {"0.00120e2", "0.12"},
        {"1200e-2", "12"},
        {"0.5", "0.5"},
        {"+1", NULL},
        {".5", NULL},
        {"01", NULL},
        {"1_0", NULL},
        {"1e", NULL},
        {"", NULL},
        {"1e999999999", NULL},
        {"1e-999999999", NULL},
        {"1e99999999999999999999999999", NULL},
    };
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_slice values = read_as(RR_MEASURE_DECIMAL, rows[k].text, &arena);

        assert_int_equal(values.len != 0, rows[k].canonical != NULL);
        if (values.len != 0) {
            rr_contract contract = contract_of(RR_MEASURE_DECIMAL);

            assert_string_equal(printed(RR_MEASURE_DECIMAL, values), rows[k].canonical);
            assert_true(rr_values_check(&contract, values));
        }
    }
    rr_arena_fini(&arena);
}

/* `ones` digits 1 before the point and `places` behind it, written with as many zeros around as are given. */
static size_t decimal_read_len(size_t ones, size_t places, size_t zeros)
{
    char number[1200], text[RR_DECIMAL_TEXT_MAX];
    size_t len = 0;

    memset(number + len, '1', ones);
    len += ones;
    if (ones == 0) {
        number[len++] = '0';
    }
    number[len++] = '.';
    memset(number + len, '1', places);
    len += places;
    memset(number + len, '0', zeros + 1);
    len += zeros + 1;
    return rr_decimal_read((rr_slice){number, len}, text);
}

static void decimals_have_bounds_by_value(void **state)
{
    char text[RR_DECIMAL_TEXT_MAX], number[400];

    (void)state;
    assert_int_equal(decimal_read_len(100, 0, 0), 100);
    assert_int_equal(decimal_read_len(101, 0, 0), 0);
    assert_int_equal(decimal_read_len(100, 100, 500), 201);
    assert_int_equal(decimal_read_len(0, 100, 0), 102);
    assert_int_equal(decimal_read_len(0, 101, 0), 0);
    assert_int_equal(rr_decimal_read(RR_SLICE("1e99"), text), 100);
    assert_int_equal(rr_decimal_read(RR_SLICE("1e100"), text), 0);
    assert_int_equal(rr_decimal_read(RR_SLICE("1e-100"), text), 102);
    assert_int_equal(rr_decimal_read(RR_SLICE("1e-101"), text), 0);
    /* 250 digits of text, and still the number 1 */
    memset(number, '0', sizeof number);
    number[0] = '1';
    memcpy(number + 250, "e-249", 5);
    assert_int_equal(rr_decimal_read((rr_slice){number, 255}, text), 1);
}

static void decimals_add_by_digits(void **state)
{
    static const struct {
        const char *a, *b, *sum, *difference;
    } rows[] = {
        {"0", "0", "0", "0"},
        {"0.1", "0.2", "0.3", "-0.1"},
        {"99.99", "0.01", "100", "99.98"},
        {"1", "-1", "0", "2"},
        {"-1", "-1", "-2", "0"},
        {"-5.5", "0", "-5.5", "-5.5"},
        {"0", "5.5", "5.5", "-5.5"},
        {"100", "-0.001", "99.999", "100.001"},
        {"-100", "0.001", "-99.999", "-100.001"},
        {"12.34", "-56.789", "-44.449", "69.129"},
        {"9223372036854775807", "9223372036854775807", "18446744073709551614", "0"},
    };
    rr_contract contract = contract_of(RR_MEASURE_DECIMAL);
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        rr_slice a = read_as(RR_MEASURE_DECIMAL, rows[k].a, &arena), b = read_as(RR_MEASURE_DECIMAL, rows[k].b, &arena);

        assert_string_equal(printed(RR_MEASURE_DECIMAL, rr_values_add(&contract, a, b, &arena)), rows[k].sum);
        assert_string_equal(printed(RR_MEASURE_DECIMAL, rr_values_add(&contract, b, a, &arena)), rows[k].sum);
        assert_string_equal(printed(RR_MEASURE_DECIMAL, rr_values_subtract(&contract, a, b, &arena)),
                            rows[k].difference);
    }
    rr_arena_fini(&arena);
}

static void sums_of_decimals_grow_beyond_their_bounds(void **state)
{
    char text[2][RR_DECIMAL_TEXT_MAX];
    size_t len = rr_decimal_read(RR_SLICE("9e99"), text[0]);

    (void)state;
    for (int round = 0; round < 60; round++) { /* doubling 60 times: 18 more digits */
        rr_slice a = {text[round % 2], len};

        len = rr_decimal_add(a, a, false, text[(round + 1) % 2]);
    }
    assert_int_equal(len, 119);
    assert_true(rr_decimal_check((rr_slice){text[0], len}));
    assert_int_equal(memcmp(text[0], "10376293541461622784", 20), 0);
}

static void decimals_compare(void **state)
{
    static const char *const ascending[] = {"-100", "-99.5", "-99.45", "-1", "-0.5", "-0.05", "0",    "0.05", "0.051",
                                            "0.5",  "1",     "1.5",    "9",  "10",   "99.45", "99.5", "100"};

    (void)state;
    for (size_t a = 0; a < sizeof ascending / sizeof ascending[0]; a++) {
        for (size_t b = 0; b < sizeof ascending / sizeof ascending[0]; b++) {
            int order = rr_decimal_compare(rr_slice_of(ascending[a]), rr_slice_of(ascending[b]));

            assert_int_equal((order > 0) - (order < 0), (a > b) - (a < b));
        }
    }
}

static void what_is_no_canonical_decimal(void **state)
{
    static const char *const rows[] = {"", "-", "-0", "00", "01", "1.", "1.0", "1.50", ".5", "1e5", "+1", "a", "-0.0"};

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        assert_false(rr_decimal_check(rr_slice_of(rows[k])));
    }
    assert_true(rr_decimal_check(RR_SLICE("-10.05")));
}

static void doubles_are_finite(void **state)
{
    rr_contract contract = contract_of(RR_MEASURE_DOUBLE);
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    assert_string_equal(printed(RR_MEASURE_DOUBLE, read_as(RR_MEASURE_DOUBLE, "0.1", &arena)), "0.1");
    assert_string_equal(printed(RR_MEASURE_DOUBLE, read_as(RR_MEASURE_DOUBLE, "-0.0", &arena)), "-0");
    assert_string_equal(printed(RR_MEASURE_DOUBLE, read_as(RR_MEASURE_DOUBLE, "1e400", &arena).len == 0
                                                       ? read_as(RR_MEASURE_DOUBLE, "2", &arena)
                                                       : RR_SLICE("")),
                        "2");
    assert_int_equal(read_as(RR_MEASURE_DOUBLE, "NaN", &arena).len, 0);
    assert_true(rr_values_check(&contract, read_as(RR_MEASURE_DOUBLE, "1e300", &arena)));
    assert_false(rr_values_check(&contract, (rr_slice){"\0\0\0\0\0\0\xf0\x7f", 8}));
    assert_false(rr_values_check(&contract, (rr_slice){"\0\0\0\0\0\0\xf0", 7}));
    rr_arena_fini(&arena);
}

static bool reads(rr_measure_type type, rr_measure measure)
{
    char bytes[RR_NUMBER_TEXT_MAX], *at = bytes;

    return rr_value_read(type, &measure, &at);
}

static void kinds_that_fit_a_type(void **state)
{
    const rr_measure integer = {.kind = RR_NUMBER_INT64, .integer = -7}, none = {.kind = RR_NUMBER_NONE};
    const rr_measure real = {.kind = RR_NUMBER_DOUBLE, .real = 2.0}, nan_ = {.kind = RR_NUMBER_DOUBLE, .real = NAN},
                     infinite = {.kind = RR_NUMBER_DOUBLE, .real = -INFINITY};

    (void)state;
    assert_true(reads(RR_MEASURE_INT64, integer) && reads(RR_MEASURE_DECIMAL, integer) &&
                reads(RR_MEASURE_DOUBLE, integer));
    assert_false(reads(RR_MEASURE_INT64, real) || reads(RR_MEASURE_DECIMAL, real));
    assert_true(reads(RR_MEASURE_DOUBLE, real));
    assert_false(reads(RR_MEASURE_DOUBLE, nan_) || reads(RR_MEASURE_DOUBLE, infinite));
    for (rr_measure_type type = RR_MEASURE_INT64; type <= RR_MEASURE_DOUBLE; type++) {
        assert_false(reads(type, none));
    }
}

static void what_fell(void **state)
{
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    for (rr_measure_type type = RR_MEASURE_INT64; type <= RR_MEASURE_DOUBLE; type++) {
        rr_contract contract = contract_of(type);
        rr_measure_def free_to_fall = {.name = {"value", 5}, .type = type};
        rr_slice low = read_as(type, "-3", &arena), high = read_as(type, "20", &arena);

        assert_true(rr_values_fell(&contract, high, low));
        assert_false(rr_values_fell(&contract, low, high));
        assert_false(rr_values_fell(&contract, low, low));
        contract.measures = &free_to_fall;
        assert_false(rr_values_fell(&contract, high, low));
    }
    rr_arena_fini(&arena);
}

static void bytes_from_a_store_are_checked(void **state)
{
    rr_contract integer = contract_of(RR_MEASURE_INT64), decimal = contract_of(RR_MEASURE_DECIMAL);
    char long_int[19];

    (void)state;
    memset(long_int, 0xff, sizeof long_int);
    long_int[18] = 0x03;
    assert_false(rr_values_check(&integer, (rr_slice){long_int, 19})); /* beyond any sum */
    long_int[18] = 0x04;
    assert_false(rr_values_check(&integer, (rr_slice){long_int, 19}));
    assert_false(rr_values_check(&integer, RR_SLICE("")));
    assert_false(rr_values_check(&integer, RR_SLICE("\x80")));
    assert_false(rr_values_check(&integer, (rr_slice){"\x80\x00", 2})); /* not the shortest */
    assert_false(rr_values_check(&integer, (rr_slice){"\x02\x02", 2})); /* more than one value */
    assert_true(rr_values_check(&integer, RR_SLICE("\x02")));
    assert_false(rr_values_check(&decimal, RR_SLICE("\x02"
                                                    "1")));
    assert_false(rr_values_check(&decimal, RR_SLICE("\x02"
                                                    "-0")));
    assert_true(rr_values_check(&decimal, RR_SLICE("\x03"
                                                   "1.5")));
}

static void several_measures_stand_one_after_the_other(void **state)
{
    const rr_measure_def two[] = {{.name = {"count", 5}, .type = RR_MEASURE_INT64},
                                  {.name = {"revenue", 7}, .type = RR_MEASURE_DECIMAL, .never_falls = true}};
    rr_contract contract = {.measures = two, .measure_count = 2};
    char text[RR_NUMBER_TEXT_MAX];
    rr_slice a = RR_SLICE("\x02\x04"
                          "10.1"),
             b = RR_SLICE("\x03\x03"
                          "0.9"),
             sum;
    rr_arena arena;

    (void)state;
    rr_arena_init(&arena, 0);
    assert_true(rr_values_check(&contract, a) && rr_values_check(&contract, b));
    sum = rr_values_add(&contract, a, b, &arena);
    assert_true(rr_values_need(&contract) >= sum.len);
    assert_true(rr_values_fell(&contract, sum, a));
    assert_int_equal(rr_values_print(&contract, 0, &sum, text), 2);
    assert_memory_equal(text, "-1", 2);
    assert_int_equal(rr_values_print(&contract, 1, &sum, text), 2);
    assert_memory_equal(text, "11", 2);
    rr_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_exactly),
        cmocka_unit_test(sums_of_integers_pass_the_ends_of_int64),
        cmocka_unit_test(decimals_are_canonical),
        cmocka_unit_test(decimals_have_bounds_by_value),
        cmocka_unit_test(decimals_add_by_digits),
        cmocka_unit_test(sums_of_decimals_grow_beyond_their_bounds),
        cmocka_unit_test(decimals_compare),
        cmocka_unit_test(what_is_no_canonical_decimal),
        cmocka_unit_test(doubles_are_finite),
        cmocka_unit_test(kinds_that_fit_a_type),
        cmocka_unit_test(what_fell),
        cmocka_unit_test(bytes_from_a_store_are_checked),
        cmocka_unit_test(several_measures_stand_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
