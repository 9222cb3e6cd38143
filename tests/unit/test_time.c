/* Times, durations, numbers and UTF-8 as text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "number.h"
#include "time.h"
#include "utf8.h"

static void times_parse_and_print(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
        const char *printed;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"},
        {"2026-01-01T10:03:01Z", 1767261781000000, "2026-01-01T10:03:01Z"},
        {"2026-01-01t10:03:01z", 1767261781000000, "2026-01-01T10:03:01Z"},
        {"2026-01-01T10:03:01.5Z", 1767261781500000, "2026-01-01T10:03:01.5Z"},
        {"2026-01-01T10:03:01.000001Z", 1767261781000001, "2026-01-01T10:03:01.000001Z"},
        {"2026-01-01T10:03:01.120000Z", 1767261781120000, "2026-01-01T10:03:01.12Z"},
        {"2026-01-01T10:03:01+01:30", 1767256381000000, "2026-01-01T08:33:01Z"},
        {"2025-12-31T23:59:59-23:59", 1767311939000000, "2026-01-01T23:58:59Z"},
        {"2024-02-29T00:00:00-00:00", 1709164800000000, "2024-02-29T00:00:00Z"},
        {"1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999999Z"},
        {"0000-01-01T00:00:00Z", -62167219200000000, "0000-01-01T00:00:00Z"},
        {"0000-03-01T00:00:00Z", -62162035200000000, "0000-03-01T00:00:00Z"},
        {"9999-12-31T23:59:59.999999Z", 253402300799999999, "9999-12-31T23:59:59.999999Z"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char printed[RR_TIME_TEXT_MAX + 1] = {0};
        int64_t us;

        assert_true(rr_time_parse(rr_slice_of(rows[k].text), &us));
        assert_int_equal(us, rows[k].us);
        printed[rr_time_print(us, printed)] = '\0';
        assert_string_equal(printed, rows[k].printed);
    }
}

static void what_is_no_time(void **state)
{
    static const char *const rows[] = {
        "",
        "2026",
        "2026-01-01",
        "2026-01-01T10:03:01",
        "2026-01-01 10:03:01Z",
        "2026-01-01T10:03Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T23:60:00Z",
        "2016-12-31T23:59:60Z",
        "2026-01-01T10:03:01.Z",
        "2026-01-01T10:03:01.1234567Z",
        "2026-01-01T10:03:01,5Z",
        "2026-01-01T10:03:01+0100",
        "2026-01-01T10:03:01+24:00",
        "2026-01-01T10:03:01+01:60",
        "2026-01-01T10:03:01ZZ",
        " 2026-01-01T10:03:01Z",
        "+2026-01-01T10:03:01Z",
        "12026-01-01T10:03:01Z",
        "2026-1-1T10:03:01Z",
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        int64_t us;

        if (rr_time_parse(rr_slice_of(rows[k]), &us)) {
            fail_msg("taken for a time: %s", rows[k]);
        }
    }
}

static void the_ends_of_int64_print(void **state)
{
    char text[RR_TIME_TEXT_MAX + 1] = {0};

    (void)state;
    text[rr_time_print(INT64_MAX, text)] = '\0';
    assert_string_equal(text, "294247-01-10T04:00:54.775807Z");
    text[rr_time_print(INT64_MIN, text)] = '\0';
    assert_string_equal(text, "-290308-12-21T19:59:05.224192Z");
}

static void every_day_survives(void **state)
{
    (void)state;
    for (int64_t day = -719528; day < 2932896; day += 37) {
        char text[RR_TIME_TEXT_MAX];
        int64_t us;
        size_t len = rr_time_print(day * 86400 * RR_SECOND_US, text);

        assert_true(rr_time_parse((rr_slice){text, len}, &us));
        assert_int_equal(us, day * 86400 * RR_SECOND_US);
    }
}

static void durations_parse_and_print(void **state)
{
    static const struct {
        const char *text;
        bool negative;
        int64_t us;
        const char *printed; /* NULL: not a duration */
    } rows[] = {
        {"90s", false, 90000000, "90s"},
        {"1m", false, 60000000, "1m"},
        {"60s", false, 60000000, "1m"},
        {"1h30m", false, 5400000000, "90m"},
        {"1d1h1m1s1ms1us", false, 90061001001, "90061s1001us"},
        {"7d", false, 604800000000, "7d"},
        {"36h", false, 129600000000, "36h"},
        {"250ms", false, 250000, "250ms"},
        {"10us", false, 10, "10us"},
        {"0s", false, 0, "0s"},
        {"-8h", true, -28800000000, "-8h"},
        {"+8h", true, 28800000000, "8h"},
        {"9223372036854775807us", false, INT64_MAX, "9223372036854775807us"},
        {"-9223372036854775808us", true, INT64_MIN, "-9223372036854775808us"},
        {"9223372036854775808us", false, 0, NULL},
        {"106751992d", false, 0, NULL},
        {"-8h", false, 0, NULL},
        {"", false, 0, NULL},
        {"-", true, 0, NULL},
        {"8", false, 0, NULL},
        {"h", false, 0, NULL},
        {"1.5h", false, 0, NULL},
        {"1m1h", false, 0, NULL},
        {"1m1m", false, 0, NULL},
        {"1 m", false, 0, NULL},
        {"1w", false, 0, NULL},
        {"1M", false, 0, NULL},
        {"99999999999999999999s", false, 0, NULL},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char printed[RR_TIME_TEXT_MAX + 1] = {0};
        int64_t us;
        bool parsed = rr_duration_parse(rr_slice_of(rows[k].text), rows[k].negative, &us);

        if (parsed != (rows[k].printed != NULL)) {
            fail_msg("duration '%s': %d", rows[k].text, parsed);
        }
        if (!parsed) {
            continue;
        }
        assert_int_equal(us, rows[k].us);
        printed[rr_duration_print(us, printed)] = '\0';
        assert_string_equal(printed, rows[k].printed);
        assert_true(rr_duration_parse(rr_slice_of(printed), true, &us));
        assert_int_equal(us, rows[k].us);
    }
}

static void sums_are_held(void **state)
{
    (void)state;
    assert_int_equal(rr_add_held(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(rr_add_held(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(rr_add_held(5, -7), -2);
}

static void json_grammar_of_numbers(void **state)
{
    static const char *const good[] = {"0", "-0", "12", "-1.5", "1e5", "1E+5", "1.25e-7", "0e0", "0.0"};
    static const char *const bad[] = {"",    "+1",  ".5", "5.", "01",  "-",   "-01",      "1e",  "1e+",   "1.e5",
                                      "0x1", "1_0", " 1", "1 ", "1,0", "NaN", "Infinity", "--1", "1e5.0", "٣"};
    rr_number_parts parts;

    (void)state;
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        assert_true(rr_number_scan(rr_slice_of(good[k]), &parts));
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        if (rr_number_scan(rr_slice_of(bad[k]), &parts)) {
            fail_msg("taken for a number: '%s'", bad[k]);
        }
    }
    assert_true(rr_number_scan(RR_SLICE("1e99999999999999999999999"), &parts));
    assert_int_equal(parts.exponent, RR_NUMBER_EXPONENT_MAX);
}

static void the_ends_of_integers(void **state)
{
    int64_t i;
    uint64_t u;

    (void)state;
    assert_true(rr_number_i64(RR_SLICE("9223372036854775807"), &i) && i == INT64_MAX);
    assert_true(rr_number_i64(RR_SLICE("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(rr_number_i64(RR_SLICE("-0"), &i) && i == 0);
    assert_false(rr_number_i64(RR_SLICE("9223372036854775808"), &i));
    assert_false(rr_number_i64(RR_SLICE("-9223372036854775809"), &i));
    assert_false(rr_number_i64(RR_SLICE("1.0"), &i));
    assert_false(rr_number_i64(RR_SLICE("1e2"), &i));
    assert_true(rr_number_u64(RR_SLICE("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(rr_number_u64(RR_SLICE("18446744073709551616"), &u));
    assert_false(rr_number_u64(RR_SLICE("100000000000000000000"), &u));
    assert_false(rr_number_u64(RR_SLICE("-1"), &u));
}

static void doubles_print_as_in_ecmascript(void **state)
{
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {100, "100"},
        {1e21, "1e+21"},
        {1e20, "100000000000000000000"},
        {123456789012345680000.0, "123456789012345680000"},
        {0.000001, "0.000001"},
        {0.0000001, "1e-7"},
        {0.00000123, "0.00000123"},
        {1.5e300, "1.5e+300"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {0x1p-44, "5.684341886080802e-14"}, /* the nearest text of 16 digits reads back as another double */
        {9007199254740993.0, "9007199254740992"},
        {4.35, "4.35"},
        {-1e-7, "-1e-7"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        char text[RR_DOUBLE_TEXT_MAX + 1] = {0};
        double back;
        size_t len = rr_double_print(rows[k].number, text);

        assert_string_equal(text, rows[k].text);
        assert_true(rr_number_double((rr_slice){text, len}, &back));
        assert_memory_equal(&back, &rows[k].number, sizeof back);
    }
}

static void any_double_survives(void **state)
{
    uint64_t seed = 88172645463325252;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[RR_DOUBLE_TEXT_MAX];
        double number, back;

        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        memcpy(&number, &seed, sizeof number);
        if (!__builtin_isfinite(number)) {
            continue;
        }
        assert_true(rr_number_double((rr_slice){text, rr_double_print(number, text)}, &back));
        assert_memory_equal(&back, &number, sizeof back);
    }
}

static void long_texts_of_doubles_round_right(void **state)
{
    /* 1 + 2^-53 lies between two doubles; a digit far behind decides. */
    static const char half[] = "1.00000000000000011102230246251565404236316680908203125";
    char text[2200];
    double number;

    (void)state;
    memset(text, '0', sizeof text);
    memcpy(text, half, sizeof half - 1);
    assert_true(rr_number_double((rr_slice){text, 2000}, &number) && number == 1.0);
    text[1999] = '1';
    assert_true(rr_number_double((rr_slice){text, 2000}, &number) && number == 1.0 + 0x1p-52);
    assert_false(rr_number_double(RR_SLICE("1e309"), &number));
    assert_false(rr_number_double(RR_SLICE("-1e99999999999999999999"), &number));
    assert_true(rr_number_double(RR_SLICE("1e-400"), &number) && number == 0.0);
    assert_true(rr_number_double(RR_SLICE("0e999999999"), &number) && number == 0.0);
}

static void utf8_is_strict(void **state)
{
    static const struct {
        const char *text;
        size_t valid;
    } rows[] = {
        {"plain text, long enough for eight at once", 41},
        {"caf\xc3\xa9", 5},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"a\xff", 1},
        {"a\xc0\x80", 1}, /* overlong NUL */
        {"a\xc1\xbf", 1},
        {"a\xe0\x9f\xbf", 1}, /* overlong */
        {"a\xed\xa0\x80", 1}, /* surrogate */
        {"a\xed\x9f\xbf", 4},
        {"a\xf0\x8f\xbf\xbf", 1}, /* overlong */
        {"a\xf4\x90\x80\x80", 1}, /* above U+10FFFF */
        {"a\xf5\x80\x80\x80", 1},
        {"a\xe2\x82", 1}, /* cut off */
        {"a\x80", 1},
        {"12345678\xe2\x28\xa1", 8},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        assert_int_equal(rr_utf8_valid_len(rr_slice_of(rows[k].text)), rows[k].valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_parse_and_print),
        cmocka_unit_test(what_is_no_time),
        cmocka_unit_test(the_ends_of_int64_print),
        cmocka_unit_test(every_day_survives),
        cmocka_unit_test(durations_parse_and_print),
        cmocka_unit_test(sums_are_held),
        cmocka_unit_test(json_grammar_of_numbers),
        cmocka_unit_test(the_ends_of_integers),
        cmocka_unit_test(doubles_print_as_in_ecmascript),
        cmocka_unit_test(any_double_survives),
        cmocka_unit_test(long_texts_of_doubles_round_right),
        cmocka_unit_test(utf8_is_strict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
