/* Growing text: numbers, JSON strings and base64 without printf on the hot path. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "number.h"

void rr_buf_fini(rr_buf *buf)
{
    free(buf->data);
    *buf = (rr_buf){0};
}

bool rr_buf_grow(rr_buf *buf, size_t bytes)
{
    size_t room = buf->room == 0 ? 256 : buf->room;
    char *grown;

    if (buf->room - buf->len >= bytes) {
        return true;
    }
    while (room - buf->len < bytes) {
        if (room > SIZE_MAX / 2) {
            buf->failed = true;
            return false;
        }
        room *= 2;
    }
    grown = realloc(buf->data, room);
    if (grown == NULL) {
        buf->failed = true;
        buf->len = 0;
        return false;
    }
    buf->data = grown;
    buf->room = room;
    return true;
}

void rr_buf_format(rr_buf *buf, const char *format, ...)
{
    va_list arguments;
    int len;

    va_start(arguments, format);
    len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (len < 0 || buf->failed || !rr_buf_reserve(buf, (size_t)len + 1)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(buf->data + buf->len, (size_t)len + 1, format, arguments);
    va_end(arguments);
    buf->len += (size_t)len;
}

void rr_buf_u64(rr_buf *buf, uint64_t number)
{
    char digits[21];

    rr_buf_put(buf, digits, rr_u64_print(number, digits));
}

void rr_buf_i64(rr_buf *buf, int64_t number)
{
    char digits[21];

    rr_buf_put(buf, digits, rr_i64_print(number, digits));
}

static const char *json_escape(unsigned char c)
{
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return NULL;
    }
}

void rr_buf_json(rr_buf *buf, rr_slice text)
{
    size_t from = 0;

    rr_buf_char(buf, '"');
    for (size_t at = 0; at < text.len; at++) {
        unsigned char c = (unsigned char)text.data[at];

        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        rr_buf_put(buf, text.data + from, at - from);
        from = at + 1;
        if (json_escape(c) != NULL) {
            rr_buf_text(buf, json_escape(c));
        } else {
            rr_buf_format(buf, "\\u%04x", c);
        }
    }
    if (text.len != 0) {
        rr_buf_put(buf, text.data + from, text.len - from);
    }
    rr_buf_char(buf, '"');
}

void rr_buf_base64(rr_buf *buf, rr_slice bytes)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)bytes.data;

    if (buf->failed || !rr_buf_reserve(buf, (bytes.len + 2) / 3 * 4)) {
        return;
    }
    for (size_t at = 0; at < bytes.len; at += 3) {
        size_t left = bytes.len - at;
        unsigned group =
            (unsigned)in[at] << 16 | (left > 1 ? (unsigned)in[at + 1] << 8 : 0) | (left > 2 ? in[at + 2] : 0);

        buf->data[buf->len++] = alphabet[group >> 18];
        buf->data[buf->len++] = alphabet[group >> 12 & 63];
        buf->data[buf->len++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
        buf->data[buf->len++] = left > 2 ? alphabet[group & 63] : '=';
    }
}
