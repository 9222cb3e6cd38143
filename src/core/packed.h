/* rr_packed: facts packed into bytes. Reading checks every bound and remembers the first failure. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PACKED_H
#define RR_PACKED_H

#include "record.h"

enum { RR_PACKED_VARINT_MAX = 10 };

static inline void rr_packed_put_byte(char **at, uint8_t byte)
{
    *(*at)++ = (char)byte;
}

static inline void rr_packed_put_varint(char **at, uint64_t number)
{
    while (number >= 0x80) {
        rr_packed_put_byte(at, (uint8_t)(number | 0x80));
        number >>= 7;
    }
    rr_packed_put_byte(at, (uint8_t)number);
}

static inline void rr_packed_put_slice(char **at, rr_slice slice)
{
    rr_packed_put_varint(at, slice.len);
    if (slice.len != 0) {
        memcpy(*at, slice.data, slice.len);
        *at += slice.len;
    }
}

/* The number first: a version that is not set is one byte, and most epochs are 0. */
static inline void rr_packed_put_version(char **at, rr_version version)
{
    rr_packed_put_varint(at, version.number);
    rr_packed_put_varint(at, version.epoch);
}

static inline void rr_packed_put_window(char **at, rr_window window)
{
    rr_packed_put_varint(at, (uint64_t)window.start);
    rr_packed_put_varint(at, (uint64_t)window.end - (uint64_t)window.start);
}

static inline void rr_packed_put_fixed21(char *at, size_t number)
{
    at[0] = (char)(number & 0x7f);
    at[1] = (char)(number >> 7 & 0x7f);
    at[2] = (char)(number >> 14 & 0x7f);
}

static inline size_t rr_packed_get_fixed21(const char *at)
{
    return (size_t)at[0] | (size_t)at[1] << 7 | (size_t)at[2] << 14;
}

typedef struct rr_packed {
    const char *at, *end;
    bool failed;
} rr_packed;

static inline rr_packed rr_packed_over(rr_slice bytes)
{
    const char *from = bytes.data == NULL ? "" : bytes.data;

    return (rr_packed){from, from + bytes.len, false};
}

static inline uint8_t rr_packed_get_byte(rr_packed *in)
{
    if (in->at == in->end) {
        in->failed = true;
        return 0;
    }
    return (uint8_t)*in->at++;
}

static inline uint64_t rr_packed_get_varint(rr_packed *in)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = rr_packed_get_byte(in);

        if (in->failed || (shift == 63 && byte > 1)) {
            break;
        }
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return number;
        }
    }
    in->failed = true;
    return 0;
}

static inline rr_slice rr_packed_get_bytes(rr_packed *in, uint64_t len)
{
    rr_slice slice = {in->at, (size_t)len};

    if (in->failed || len > (uint64_t)(in->end - in->at)) {
        in->failed = true;
        return (rr_slice){NULL, 0};
    }
    in->at += len;
    return slice;
}

static inline rr_slice rr_packed_get_slice(rr_packed *in)
{
    return rr_packed_get_bytes(in, rr_packed_get_varint(in));
}

static inline rr_version rr_packed_get_version(rr_packed *in)
{
    rr_version version;

    version.number = rr_packed_get_varint(in);
    version.epoch = rr_packed_get_varint(in);
    return version;
}

static inline rr_window rr_packed_get_window(rr_packed *in)
{
    rr_window window;

    window.start = (int64_t)rr_packed_get_varint(in);
    window.end = (int64_t)((uint64_t)window.start + rr_packed_get_varint(in));
    return window;
}

static inline size_t rr_packed_take_fixed21(rr_packed *in)
{
    rr_slice bytes = rr_packed_get_bytes(in, 3);

    if (in->failed || ((bytes.data[0] | bytes.data[1] | bytes.data[2]) & 0x80) != 0) {
        in->failed = true;
        return 0;
    }
    return rr_packed_get_fixed21(bytes.data);
}

#endif
