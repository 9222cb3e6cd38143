/* rr_buf: text or bytes that grow while they are written.
 *
 * A failed allocation is remembered and makes the whole buffer empty; the
 * writer checks once, at the end, with rr_buf_ok.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_BUF_H
#define RR_BUF_H

#include <rr/slice.h>

typedef struct rr_buf {
    char *data;
    size_t len, room;
    bool failed; /* memory ran out: the content cannot be used */
} rr_buf;

void rr_buf_fini(rr_buf *buf);

/* Makes room for `bytes` more. False: memory ran out. */
bool rr_buf_grow(rr_buf *buf, size_t bytes);

static inline bool rr_buf_reserve(rr_buf *buf, size_t bytes)
{
    return buf->room - buf->len >= bytes || rr_buf_grow(buf, bytes);
}

/* Inline, so that a literal is a store or two. */
static inline void rr_buf_put(rr_buf *buf, const void *bytes, size_t len)
{
    if (len != 0 && !buf->failed && rr_buf_reserve(buf, len)) {
        memcpy(buf->data + buf->len, bytes, len);
        buf->len += len;
    }
}

static inline void rr_buf_text(rr_buf *buf, const char *text)
{
    rr_buf_put(buf, text, strlen(text));
}

static inline void rr_buf_slice(rr_buf *buf, rr_slice slice)
{
    rr_buf_put(buf, slice.data, slice.len);
}

static inline void rr_buf_char(rr_buf *buf, char c)
{
    rr_buf_put(buf, &c, 1);
}

void rr_buf_format(rr_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rr_buf_u64(rr_buf *buf, uint64_t number);
void rr_buf_i64(rr_buf *buf, int64_t number);

/* A JSON string with its quotes; escapes only what JSON demands, the short forms where there are any. */
void rr_buf_json(rr_buf *buf, rr_slice text);

/* The same bytes as base64 (RFC 4648 section 4), with padding. */
void rr_buf_base64(rr_buf *buf, rr_slice bytes);

static inline void rr_buf_clear(rr_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

static inline rr_slice rr_buf_view(const rr_buf *buf)
{
    return (rr_slice){buf->data, buf->len};
}

static inline bool rr_buf_ok(const rr_buf *buf)
{
    return !buf->failed;
}

#endif
