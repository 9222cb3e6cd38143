/* rr_slice: bytes that are owned elsewhere.
 *
 * A slice does not own its bytes, and they do not end with a NUL. It is valid as
 * long as the memory it points into: the batch's arena, a delivery's payload, or static text.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SLICE_H
#define RR_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct rr_slice {
    const char *data; /* may be NULL where len is 0 */
    size_t len;
} rr_slice;

/* A slice over a string literal. */
#define RR_SLICE(literal) ((rr_slice){(literal), sizeof(literal) - 1})

static inline rr_slice rr_slice_of(const char *text)
{
    return (rr_slice){text, text == NULL ? 0 : strlen(text)};
}

static inline bool rr_slice_equal(rr_slice a, rr_slice b)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a slice with a length has data. */
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Orders by bytes, a prefix first: negative, 0 or positive. */
static inline int rr_slice_compare(rr_slice a, rr_slice b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a slice with a length has data. */
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

#endif
