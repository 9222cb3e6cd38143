/* The rare forms on the wire: long varints and tags, fixed numbers, groups; and what is wrong with the rest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "proto_reader.h"

enum { VARINT_MAX = 10, SHORT_MAX = 5, END_GROUP = 4 };

/* Seven bits of each of eight bytes, the first byte lowest. */
static uint64_t join_sevens(uint64_t eight)
{
    eight &= UINT64_C(0x7f7f7f7f7f7f7f7f);
    eight = (eight & UINT64_C(0x007f007f007f007f)) | (eight & UINT64_C(0x7f007f007f007f00)) >> 1;
    eight = (eight & UINT64_C(0x00003fff00003fff)) | (eight & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (eight & UINT64_C(0x000000000fffffff)) | (eight & UINT64_C(0x0fffffff00000000)) >> 4;
}

static bool varint_by_bytes(const char **at, const char *end, uint64_t *value)
{
    const char *next = *at;
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 7 * VARINT_MAX && next != end; shift += 7) {
        uint8_t byte = (uint8_t)*next++;

        if (shift == 63 && byte > 1) {
            return false;
        }
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *at = next;
            *value = number;
            return true;
        }
    }
    return false;
}

bool rr_proto_long_varint(const char **at, const char *end, uint64_t *value)
{
    uint64_t eight, ends;
    unsigned bits;

    if (end - *at < (ptrdiff_t)sizeof eight) {
        return varint_by_bytes(at, end, value);
    }
    memcpy(&eight, *at, sizeof eight);
    eight = le64toh(eight);
    ends = ~eight & UINT64_C(0x8080808080808080);
    if (ends == 0) {
        return varint_by_bytes(at, end, value);
    }
    /* The last byte of a varint is the first without its highest bit. Times in microseconds are eight bytes long. */
    bits = (unsigned)__builtin_ctzll(ends) + 1;
    *value = join_sevens(bits == 64 ? eight : eight & ((UINT64_C(1) << bits) - 1));
    *at += bits / 8;
    return true;
}

/* Tags and lengths: 32 bits in at most five bytes, as protobuf's own readers have it. */
static bool take_short(const char **at, const char *end, uint32_t *value)
{
    const char *next = *at;
    uint64_t number;

    if (!rr_proto_varint(&next, end, &number) || number > UINT32_MAX || next - *at > SHORT_MAX) {
        return false;
    }
    *at = next;
    *value = (uint32_t)number;
    return true;
}

static const char *take_fixed(const char **at, const char *end, size_t len, uint64_t *value)
{
    uint64_t bits = 0;

    if ((size_t)(end - *at) < len) {
        return "a number is cut off";
    }
    memcpy(&bits, *at, len);
    *value = le64toh(bits);
    *at += len;
    return NULL;
}

static const char *take_bytes(const char **at, const char *end, rr_slice *bytes)
{
    uint32_t len;

    if (!take_short(at, end, &len)) {
        return "a length is cut off, or no length";
    }
    if (len > (size_t)(end - *at)) {
        return "a field is cut off";
    }
    *bytes = (rr_slice){*at, len};
    *at += len;
    return NULL;
}

/* A tag; `wire` may be END_GROUP. */
static const char *take_tag(const char **at, const char *end, uint32_t *number, unsigned *wire)
{
    uint32_t tag;

    if (!take_short(at, end, &tag)) {
        return "a tag is cut off, or no tag";
    }
    *number = tag >> 3;
    *wire = tag & 7;
    return *number == 0 ? "a field has the number 0" : *wire > RR_PROTO_FIXED32 ? "a wire type is 6 or 7" : NULL;
}

/* The value behind a tag that is neither of the two of a group. */
static const char *take_value(const char **at, const char *end, rr_proto_field *field)
{
    switch (field->wire) {
    case RR_PROTO_FIXED64: return take_fixed(at, end, 8, &field->value);
    case RR_PROTO_FIXED32: return take_fixed(at, end, 4, &field->value);
    case RR_PROTO_BYTES: return take_bytes(at, end, &field->bytes);
    default: break;
    }
    return rr_proto_varint(at, end, &field->value) ? NULL : "a varint is cut off, or longer than 64 bits";
}

/* What follows the first tag of a group, up to and with its end tag. No recursion: how deep it goes is the sender's to
 * say. */
static const char *take_group(const char **at, const char *end, rr_proto_field *field)
{
    uint32_t open[RR_PROTO_GROUP_DEPTH] = {field->number};
    const char *from = *at, *before = from, *why;
    size_t depth = 1;

    while (depth != 0) {
        rr_proto_field inner = {0};
        unsigned wire;

        before = *at;
        if (before == end) {
            return "a group has no end";
        }
        why = take_tag(at, end, &inner.number, &wire);
        if (why == NULL && wire == END_GROUP) {
            why = open[--depth] == inner.number ? NULL : "the end of a group is that of another";
        } else if (why == NULL && wire == RR_PROTO_GROUP) {
            if (depth == RR_PROTO_GROUP_DEPTH) {
                return "groups are nested too deep";
            }
            open[depth++] = inner.number;
        } else if (why == NULL) {
            inner.wire = (rr_proto_wire)wire;
            why = take_value(at, end, &inner);
        }
        if (why != NULL) {
            return why;
        }
    }
    field->bytes = (rr_slice){from, (size_t)(before - from)};
    return NULL;
}

static bool fail(rr_proto_reader *in, const char *why)
{
    in->why = why;
    in->end = in->at;
    return false;
}

bool rr_proto_next_rare(rr_proto_reader *in, rr_proto_field *field)
{
    const char *at = in->at, *why;
    unsigned wire;

    *field = (rr_proto_field){.bytes = {"", 0}};
    why = take_tag(&at, in->end, &field->number, &wire);
    if (why == NULL && wire == END_GROUP) {
        why = "a group ends that did not begin";
    }
    if (why == NULL) {
        field->wire = (rr_proto_wire)wire;
        why = wire == RR_PROTO_GROUP ? take_group(&at, in->end, field) : take_value(&at, in->end, field);
    }
    if (why != NULL) {
        return fail(in, why);
    }
    in->at = at;
    return true;
}

bool rr_proto_next_packed(rr_proto_reader *in, rr_proto_wire wire, uint64_t *value)
{
    rr_proto_field field = {.wire = wire};
    const char *at = in->at, *why;

    if (at == in->end) {
        return false;
    }
    if (wire == RR_PROTO_BYTES || wire == RR_PROTO_GROUP) {
        return fail(in, "only numbers are packed");
    }
    why = take_value(&at, in->end, &field);
    if (why != NULL) {
        return fail(in, why);
    }
    in->at = at;
    *value = field.value;
    return true;
}
