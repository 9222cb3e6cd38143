/* Commands in Redis's wire format, written straight into one buffer: an array's head, then its strings. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_RESP_H
#define RR_STORE_REDIS_RESP_H

#include "buf.h"

enum { RR_RESP_HEAD_MAX = 24 }; /* a sign, a number of 64 bits, and the end of a line */

static inline size_t rr_resp_number(char *to, uint64_t number)
{
    char digits[20];
    size_t len = 0;

    do {
        digits[len++] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    for (size_t i = 0; i < len; i++) {
        to[i] = digits[len - 1 - i];
    }
    return len;
}

static inline void rr_resp_head(rr_buf *buf, char sign, size_t number, size_t room)
{
    char *to;
    size_t len;

    if (buf->failed || !rr_buf_reserve(buf, RR_RESP_HEAD_MAX + room)) {
        return;
    }
    to = buf->data + buf->len;
    to[0] = sign;
    len = 1 + rr_resp_number(to + 1, number);
    to[len] = '\r';
    to[len + 1] = '\n';
    buf->len += len + 2;
}

/* A command of `words` strings follows. */
static inline void rr_resp_command(rr_buf *buf, size_t words)
{
    rr_resp_head(buf, '*', words, 0);
}

static inline void rr_resp_bytes(rr_buf *buf, rr_slice bytes)
{
    rr_resp_head(buf, '$', bytes.len, bytes.len + 2);
    rr_buf_put(buf, bytes.data, bytes.len);
    rr_buf_put(buf, "\r\n", 2);
}

static inline void rr_resp_text(rr_buf *buf, const char *text)
{
    rr_resp_bytes(buf, rr_slice_of(text));
}

static inline void rr_resp_u64(rr_buf *buf, uint64_t number)
{
    char digits[20];

    rr_resp_bytes(buf, (rr_slice){digits, rr_resp_number(digits, number)});
}

/* A time or span in ms. 0 becomes the empty string, which means for ever. One before 1970 becomes a time that is
 * past. */
static inline void rr_resp_until(rr_buf *buf, int64_t ms)
{
    if (ms == 0) {
        rr_resp_bytes(buf, (rr_slice){NULL, 0});
    } else {
        rr_resp_u64(buf, ms < 0 ? 1 : (uint64_t)ms);
    }
}

#endif
