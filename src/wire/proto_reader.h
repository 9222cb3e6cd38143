/* rr_proto_reader: a cursor over the bytes of one protobuf message.
 *
 * It shows one field after the other, and checks every bound before it reads.
 * It knows no schema, allocates nothing and looks at each byte once. A field
 * is a view of the bytes: what it points to is valid as long as they are.
 *
 *     rr_proto_reader in = rr_proto_over(bytes);
 *     rr_proto_field field;
 *
 *     while (rr_proto_next(&in, &field)) {
 *         switch (field.number) { ... }
 *     }
 *     if (in.why != NULL) { not a message: in.why says why }
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PROTO_READER_H
#define RR_PROTO_READER_H

#include <endian.h>

#include <rr/slice.h>

enum {
    RR_PROTO_NUMBER_MAX = (1 << 29) - 1, /* the largest number of a field */
    RR_PROTO_GROUP_DEPTH = 100           /* groups inside groups; a deeper one is an error */
};

/* How the value of a field is laid out. The numbers are those on the wire. */
typedef enum rr_proto_wire {
    RR_PROTO_VARINT = 0,  /* int32, int64, uint32, uint64, sint32, sint64, bool, enum */
    RR_PROTO_FIXED64 = 1, /* fixed64, sfixed64, double */
    RR_PROTO_BYTES = 2,   /* string, bytes, message, packed repeated numbers */
    RR_PROTO_GROUP = 3,   /* a group of proto2 */
    RR_PROTO_FIXED32 = 5  /* fixed32, sfixed32, float */
} rr_proto_wire;

typedef struct rr_proto_field {
    uint32_t number; /* 1 to RR_PROTO_NUMBER_MAX */
    rr_proto_wire wire;
    uint64_t value; /* VARINT, FIXED64, FIXED32: the bits; else 0 */
    rr_slice
        bytes; /* BYTES: the content. GROUP: the fields between its two tags. Else empty. data is never NULL there */
} rr_proto_field;

typedef struct rr_proto_reader {
    const char *at, *end; /* what was not read yet; after an error both stand at the field that is wrong */
    const char *why;      /* NULL, or what is wrong, as the end of a sentence: "a field is cut off" */
} rr_proto_reader;

static inline rr_proto_reader rr_proto_over(rr_slice bytes)
{
    const char *from = bytes.data == NULL ? "" : bytes.data;

    return (rr_proto_reader){from, from + bytes.len, NULL};
}

/* The rare forms, out of line; for the functions below only. */
bool rr_proto_next_rare(rr_proto_reader *in, rr_proto_field *field);
bool rr_proto_long_varint(const char **at, const char *end, uint64_t *value);

/* One varint. False: it is cut off, longer than 10 bytes, or has bits beyond 64; `at` stays. Forms that are longer than
 * they need be are read. */
static inline bool rr_proto_varint(const char **at, const char *end, uint64_t *value)
{
    if (*at != end && (uint8_t) * *at < 0x80) {
        *value = (uint8_t) * (*at)++;
        return true;
    }
    return rr_proto_long_varint(at, end, value);
}

/* The next field. False: there is none (why is NULL), or the bytes are no message (why says it; further calls are
 * false too).
 *
 * A group is one field, whatever is in it: it is checked to its end tag, which has to be its own. These are errors: a field number of 0 or
 * above RR_PROTO_NUMBER_MAX, wire types 6 and 7, an end of a group that did not begin, a value that is cut off, a tag or
 * length longer than 5 bytes. */
static inline bool rr_proto_next(rr_proto_reader *in, rr_proto_field *field)
{
    const char *at = in->at, *end = in->end;
    uint32_t tag;

    if (at == end) {
        return false;
    }
    /* Tags of one or two bytes, before a varint or before bytes of less than 128, are nearly all of a message. */
    tag = (uint8_t)*at++;
    if (tag >= 0x80 && at != end) {
        tag = (tag & 0x7f) | (uint32_t)(uint8_t)*at++ << 7;
    }
    if (tag >= 8 && tag < 0x80 << 7 && at != end) {
        uint64_t value = (uint8_t)*at;

        if ((tag & 7) == RR_PROTO_BYTES && value < 0x80 && value < (uint64_t)(end - at)) {
            *field = (rr_proto_field){tag >> 3, RR_PROTO_BYTES, 0, {at + 1, (size_t)value}};
            in->at = at + 1 + value;
            return true;
        }
        if ((tag & 7) == RR_PROTO_VARINT && rr_proto_varint(&at, end, &value)) {
            *field = (rr_proto_field){tag >> 3, RR_PROTO_VARINT, value, {"", 0}};
            in->at = at;
            return true;
        }
    }
    return rr_proto_next_rare(in, field);
}

/* Repeated numbers: writers put them one a field, or packed into one field of BYTES; a reader has to take both.
 * `in` is over the content of a packed field, `wire` is that of the numbers. False as with rr_proto_next. */
bool rr_proto_next_packed(rr_proto_reader *in, rr_proto_wire wire, uint64_t *value);

/* What the bits of rr_proto_field.value mean. Each type takes any bits: what is too wide is cut, as protobuf says. */
static inline int32_t rr_proto_int32(uint64_t value) /* also of enums and of sfixed32 */
{
    return (int32_t)(uint32_t)value;
}

static inline uint32_t rr_proto_uint32(uint64_t value) /* also of fixed32 */
{
    return (uint32_t)value;
}

static inline int64_t rr_proto_int64(uint64_t value) /* also of sfixed64 */
{
    return (int64_t)value;
}

static inline int32_t rr_proto_sint32(uint64_t value)
{
    uint32_t bits = (uint32_t)value;

    return (int32_t)(bits >> 1 ^ (0 - (bits & 1)));
}

static inline int64_t rr_proto_sint64(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static inline bool rr_proto_bool(uint64_t value)
{
    return value != 0;
}

static inline float rr_proto_float(uint64_t value)
{
    uint32_t bits = (uint32_t)value;
    float number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline double rr_proto_double(uint64_t value)
{
    double number;

    memcpy(&number, &value, sizeof number);
    return number;
}

#endif
