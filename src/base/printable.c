/* Which characters are shown as they are, and the forms of those that are not. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "printable.h"

#include "utf8.h"

/* The code point of one valid character. */
static unsigned code_point(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;

    switch (len) {
    case 1: return at[0];
    case 2: return (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
    case 3: return (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    default: return (at[0] & 0x07u) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
    }
}

static bool is_shown(unsigned point)
{
    bool control = point < 0x20 || (point >= 0x7f && point <= 0x9f);
    bool separator = point == 0x2028 || point == 0x2029;
    bool direction = point == 0x061c || point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
                     (point >= 0x2066 && point <= 0x2069);

    return !control && !separator && !direction;
}

static size_t put_escape(unsigned char byte, char *to)
{
    static const char digits[] = "0123456789abcdef";

    to[0] = '\\';
    to[1] = 'x';
    to[2] = digits[byte >> 4];
    to[3] = digits[byte & 15];
    return 4;
}

size_t rr_printable_next(rr_slice *rest, char form[RR_PRINTABLE_MAX])
{
    size_t len = rr_utf8_char_len(*rest), used = 0;
    bool shown = len != 0 && is_shown(code_point(rest->data, len));

    len = len == 0 ? 1 : len;
    for (size_t k = 0; k < len; k++) {
        if (shown) {
            form[used++] = rest->data[k];
        } else {
            used += put_escape((unsigned char)rest->data[k], form + used);
        }
    }
    *rest = (rr_slice){rest->data + len, rest->len - len};
    return used;
}

void rr_buf_printable(rr_buf *buf, rr_slice text)
{
    char form[RR_PRINTABLE_MAX];

    while (text.len != 0) {
        rr_buf_put(buf, form, rr_printable_next(&text, form));
    }
}

/* All characters that need a form are below U+10000. */
static void put_json(rr_buf *buf, rr_slice text, bool is_json)
{
    while (text.len != 0) {
        size_t len = rr_utf8_char_len(text);
        unsigned point = len == 0 ? (unsigned char)text.data[0] : code_point(text.data, len);

        if (len == 0) {
            rr_buf_format(buf, "\\\\x%02x", point);
        } else if (!is_shown(point)) {
            rr_buf_format(buf, "\\u%04x", point);
        } else if (!is_json && (point == '"' || point == '\\')) {
            rr_buf_format(buf, "\\%c", (int)point);
        } else {
            rr_buf_put(buf, text.data, len);
        }
        len = len == 0 ? 1 : len;
        text = (rr_slice){text.data + len, text.len - len};
    }
}

void rr_buf_json_printable(rr_buf *buf, rr_slice text)
{
    rr_buf_char(buf, '"');
    put_json(buf, text, false);
    rr_buf_char(buf, '"');
}

void rr_buf_printable_json(rr_buf *buf, rr_slice json)
{
    put_json(buf, json, true);
}
