/* rr_hash: of bytes, eight at a time, for hash tables in memory. Never store it: it may change with any build. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_HASH_H
#define RR_HASH_H

#include <rr/slice.h>

static inline uint64_t rr_hash(rr_slice bytes)
{
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ bytes.len;
    size_t at = 0;

    for (; at + 8 <= bytes.len; at += 8) {
        uint64_t word;

        memcpy(&word, bytes.data + at, 8);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    for (; at < bytes.len; at++) {
        hash = (hash ^ (unsigned char)bytes.data[at]) * UINT64_C(0x100000001b3);
    }
    return hash ^ hash >> 29;
}

#endif
