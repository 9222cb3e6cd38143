/* What text from outside looks like to a person: rows of bytes, the form they are shown in, and their form in JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "printable.h"
#include "utf8.h"

typedef struct row {
    rr_slice text;
    const char *shown, *json;
} row;

#define ROW(text, shown, json) \
    { \
        {text, sizeof(text) - 1}, shown, json \
    }

static const row rows[] = {
    ROW("", "", "\"\""),
    ROW("orders", "orders", "\"orders\""),
    ROW("a \"b\" \\c", "a \"b\" \\c", "\"a \\\"b\\\" \\\\c\""),
    ROW("Z\xc3\xbcrich \xe6\x9d\xb1 \xf0\x9f\x98\x80", "Z\xc3\xbcrich \xe6\x9d\xb1 \xf0\x9f\x98\x80",
        "\"Z\xc3\xbcrich \xe6\x9d\xb1 \xf0\x9f\x98\x80\""),
    ROW("a\0b",
        "a\\x00"
        "b",
        "\"a\\u0000b\""),
    ROW("\x1b[2J\r\a\t\n", "\\x1b[2J\\x0d\\x07\\x09\\x0a", "\"\\u001b[2J\\u000d\\u0007\\u0009\\u000a\""),
    ROW("\x1f \x7e\x7f", "\\x1f \x7e\\x7f", "\"\\u001f \x7e\\u007f\""),
    /* CSI as one character; the first and the last of C1, and their neighbour. */
    ROW("\xc2\x9b"
        "2J",
        "\\xc2\\x9b"
        "2J",
        "\"\\u009b2J\""),
    ROW("\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0", "\"\\u0080\\u009f\xc2\xa0\""),
    /* A line separator; text that runs from right to left from here on. */
    ROW("\xe2\x80\xa8", "\\xe2\\x80\\xa8", "\"\\u2028\""),
    ROW("\xe2\x80\xae"
        "a\xe2\x81\xa6",
        "\\xe2\\x80\\xae"
        "a\\xe2\\x81\\xa6",
        "\"\\u202ea\\u2066\""),
    /* No UTF-8: a byte that begins nothing, a character cut short, an overlong form, a surrogate. */
    ROW("\xff", "\\xff", "\"\\\\xff\""),
    ROW("a\xe2\x82", "a\\xe2\\x82", "\"a\\\\xe2\\\\x82\""),
    ROW("\xc0\x80", "\\xc0\\x80", "\"\\\\xc0\\\\x80\""),
    ROW("\xed\xa0\x80", "\\xed\\xa0\\x80", "\"\\\\xed\\\\xa0\\\\x80\""),
};

static void each_row_is_shown_as_it_should(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rr_buf shown = {0}, json = {0};

        rr_buf_printable(&shown, rows[k].text);
        rr_buf_char(&shown, '\0');
        rr_buf_json_printable(&json, rows[k].text);
        rr_buf_char(&json, '\0');
        assert_string_equal(shown.data, rows[k].shown);
        assert_string_equal(json.data, rows[k].json);
        rr_buf_fini(&shown);
        rr_buf_fini(&json);
    }
}

static void expect_json(rr_slice json, const char *shown)
{
    rr_buf out = {0};

    rr_buf_printable_json(&out, json);
    rr_buf_char(&out, '\0');
    assert_string_equal(out.data, shown);
    rr_buf_fini(&out);
}

static void text_that_is_json_stays_json(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        expect_json(rr_slice_of(rows[k].json), rows[k].json);
    }
    expect_json(RR_SLICE("{\"a\":\"\x7f\xe2\x80\xae\\n\\\\\"}"), "{\"a\":\"\\u007f\\u202e\\n\\\\\"}");
}

/* All texts of three bytes: no control byte, and UTF-8 to the end. */
static void no_bytes_get_through(void **state)
{
    char bytes[3], form[3 * RR_PRINTABLE_MAX];

    (void)state;
    for (unsigned number = 0; number < 1u << 24; number += 7) {
        rr_slice rest = {bytes, sizeof bytes};
        size_t len = 0;

        bytes[0] = (char)(number >> 16);
        bytes[1] = (char)(number >> 8);
        bytes[2] = (char)number;
        while (rest.len != 0) {
            len += rr_printable_next(&rest, form + len);
        }
        assert_true(len <= sizeof form && rr_utf8_valid_len((rr_slice){form, len}) == len);
        for (size_t k = 0; k < len; k++) {
            assert_true((unsigned char)form[k] >= 0x20 && form[k] != 0x7f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_shown_as_it_should),
        cmocka_unit_test(text_that_is_json_stays_json),
        cmocka_unit_test(no_bytes_get_through),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
