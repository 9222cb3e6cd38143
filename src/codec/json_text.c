/* Memory for yajl from a bump of ours, and the checks that it does not make. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_text.h"

#include "must.h"
#include "utf8.h"

enum { BUMP_HEADER = 16 };

static void *bump_take(void *context, size_t bytes)
{
    rr_json_memory *b = context;
    size_t whole = BUMP_HEADER + ((bytes + 15) & ~(size_t)15);
    char *taken = b->at;

    RR_MUST(bytes < SIZE_MAX / 2 && whole <= (size_t)(b->end - b->at));
    memcpy(taken, &bytes, sizeof bytes);
    b->at += whole;
    return taken + BUMP_HEADER;
}

static void *bump_grow(void *context, void *from, size_t bytes)
{
    void *taken = bump_take(context, bytes);
    size_t held = 0;

    if (from != NULL) {
        memcpy(&held, (char *)from - BUMP_HEADER, sizeof held);
        memcpy(taken, from, held < bytes ? held : bytes);
    }
    return taken;
}

static void bump_free(void *context, void *taken)
{
    (void)context;
    (void)taken;
}

yajl_alloc_funcs rr_json_memory_funcs(rr_json_memory *memory)
{
    return (yajl_alloc_funcs){bump_take, bump_grow, bump_free, memory};
}

/* yajl's buffers begin at 2 KiB and double up to what one token needs; there are two of them (strings with escapes, and
 * a token that the end of the text cuts off), and what they outgrow stays taken. */
size_t rr_json_need(size_t text)
{
    return 24 * 1024 + 10 * text;
}

/* What yajl is more lenient with than we may be. */

static bool hex4(rr_slice text, size_t at, unsigned *unit)
{
    *unit = 0;
    if (text.len - at < 4) {
        return false;
    }
    for (size_t k = at; k < at + 4; k++) {
        char c = text.data[k];
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
static const char *check_escape(rr_slice text, size_t *at)
{
    unsigned unit, second;

    if (text.data[*at] != 'u' || !hex4(text, *at + 1, &unit)) {
        return NULL; /* another escape, or yajl's to refuse */
    }
    *at += 4;
    if (unit == 0) {
        return "holds the escape \\u0000: strings must not hold a NUL";
    }
    if (unit < 0xd800 || unit > 0xdfff) {
        return NULL;
    }
    if (unit < 0xdc00 && text.len - *at > 6 && text.data[*at + 1] == '\\' && text.data[*at + 2] == 'u' &&
        hex4(text, *at + 3, &second) && second >= 0xdc00 && second <= 0xdfff) {
        *at += 6;
        return NULL;
    }
    return "holds half of a surrogate pair, which is no character";
}

static const char *check_byte(rr_slice text, size_t *at)
{
    unsigned char c = (unsigned char)text.data[*at];

    if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
        return c == 0 ? "holds a NUL" : "holds a bare control character";
    }
    if (c == '\\' && *at + 1 < text.len) {
        ++*at;
        return check_escape(text, at);
    }
    return NULL;
}

const char *rr_json_fault(rr_slice text, size_t *column)
{
    size_t valid = rr_utf8_valid_len(text);

    *column = 1;
    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0) {
        return "begins with a byte order mark: save the file as UTF-8 without one";
    }
    if (valid != text.len) {
        *column = valid + 1;
        return "is not UTF-8";
    }
    for (size_t at = 0; at < text.len; at++) {
        const char *problem;

        *column = at + 1;
        problem = check_byte(text, &at);
        if (problem != NULL) {
            return problem;
        }
    }
    return NULL;
}
