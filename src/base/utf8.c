/* Strict UTF-8, after the table of well-formed sequences in the Unicode standard (3-7). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "utf8.h"

static bool within(unsigned char byte, unsigned low, unsigned high)
{
    return byte >= low && byte <= high;
}

size_t rr_utf8_char_len(rr_slice text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    unsigned low = 0x80, high = 0xbf;
    size_t len;

    if (text.len == 0) {
        return 0;
    }
    if (at[0] < 0x80) {
        return 1;
    }
    if (!within(at[0], 0xc2, 0xf4)) {
        return 0;
    }
    len = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    switch (at[0]) {
    case 0xe0: low = 0xa0; break;
    case 0xed: high = 0x9f; break;
    case 0xf0: low = 0x90; break;
    case 0xf4: high = 0x8f; break;
    default: break;
    }
    if (text.len < len || !within(at[1], low, high)) {
        return 0;
    }
    for (size_t next = 2; next < len; next++) {
        if (!within(at[next], 0x80, 0xbf)) {
            return 0;
        }
    }
    return len;
}

size_t rr_utf8_valid_len(rr_slice text)
{
    size_t at = 0;

    while (at < text.len) {
        uint64_t eight;
        size_t len;

        /* Nearly all text is ASCII: eight bytes at once. */
        if (text.len - at >= sizeof eight) {
            memcpy(&eight, text.data + at, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        len = rr_utf8_char_len((rr_slice){text.data + at, text.len - at});
        if (len == 0) {
            break;
        }
        at += len;
    }
    return at;
}

/* Without a byte from 0x80 on, subtracting 1 from each borrows only from a 0. */
static bool is_plain_eight(const char *at)
{
    const uint64_t high = UINT64_C(0x8080808080808080), ones = UINT64_C(0x0101010101010101);
    uint64_t eight;

    memcpy(&eight, at, sizeof eight);
    return ((eight | (eight - ones)) & high) == 0;
}

/* The last eight bytes may overlap those before. */
bool rr_utf8_is_plain(rr_slice text)
{
    size_t at = 0;

    if (text.len >= 8) {
        for (; at + 8 < text.len; at += 8) {
            if (!is_plain_eight(text.data + at)) {
                return false;
            }
        }
        return is_plain_eight(text.data + text.len - 8);
    }
    for (; at < text.len; at++) {
        if ((unsigned char)(text.data[at] - 1) >= 0x7f) {
            return false;
        }
    }
    return true;
}
