/* What yajl is more lenient with than a record may be. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_line.h"

#include "utf8.h"

void rr_json_explain_column(rr_text *why, size_t column)
{
    rr_text_put(why, " (column ");
    rr_text_u64(why, column);
    rr_text_put(why, ") ");
}

rr_slice rr_json_without_line_end(rr_slice line)
{
    if (line.len != 0 && line.data[line.len - 1] == '\n') {
        line.len--;
    }
    if (line.len != 0 && line.data[line.len - 1] == '\r') {
        line.len--;
    }
    return line;
}

bool rr_json_is_blank(rr_slice line)
{
    for (size_t at = 0; at < line.len; at++) {
        if (memchr(" \t\r\n", line.data[at], 4) == NULL) {
            return false;
        }
    }
    return true;
}

static bool read_hex4(rr_slice line, size_t at, unsigned *unit)
{
    *unit = 0;
    if (line.len - at < 4) {
        return false;
    }
    for (size_t k = at; k < at + 4; k++) {
        char c = line.data[k];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;

        if (digit == 16) {
            return false;
        }
        *unit = *unit * 16 + digit;
    }
    return true;
}

/* Behind a backslash. Returns what is wrong, or NULL; *at moves to the last byte of the escape. */
static const char *check_escape(rr_slice line, size_t *at)
{
    unsigned unit, second;

    if (line.data[*at] != 'u' || !read_hex4(line, *at + 1, &unit)) {
        return NULL; /* another escape, or yajl's to refuse */
    }
    *at += 4;
    if (unit == 0) {
        return "the escape \\u0000: strings must not hold a NUL";
    }
    if (unit < 0xd800 || unit > 0xdfff) {
        return NULL;
    }
    if (unit < 0xdc00 && line.len - *at > 6 && line.data[*at + 1] == '\\' && line.data[*at + 2] == 'u' &&
        read_hex4(line, *at + 3, &second) && second >= 0xdc00 && second <= 0xdfff) {
        *at += 6;
        return NULL;
    }
    return "half of a surrogate pair, which is no character";
}

static bool refuse_bytes(rr_text *why, const char *what)
{
    rr_text_put(why, what);
    return false;
}

bool rr_json_check_bytes(rr_slice line, rr_text *why)
{
    size_t valid = rr_utf8_valid_len(line);

    if (line.len >= 3 && memcmp(line.data, "\xef\xbb\xbf", 3) == 0) {
        return refuse_bytes(why, "the line begins with a byte order mark: save the file as UTF-8 without one");
    }
    if (valid != line.len) {
        rr_text_put(why, "the line");
        rr_json_explain_column(why, valid + 1);
        return refuse_bytes(why, "is not UTF-8");
    }
    for (size_t at = 0; at < line.len; at++) {
        unsigned char c = (unsigned char)line.data[at];
        const char *problem = NULL;
        size_t column = at + 1;

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
            problem = c == 0 ? "a NUL" : "a bare control character";
        } else if (c == '\\' && at + 1 < line.len) {
            at++;
            problem = check_escape(line, &at);
        }
        if (problem != NULL) {
            rr_text_put(why, "the line");
            rr_json_explain_column(why, column);
            rr_text_put(why, "holds ");
            return refuse_bytes(why, problem);
        }
    }
    return true;
}
