/* Any bytes as a message: fields and packed numbers stay inside them, in order, without a gap; what is read once is
 * read again; a message stands where one ends. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "proto_reader.h"

static void check_field(rr_slice message, const char *before, const char *after, const rr_proto_field *field)
{
    rr_proto_reader alone = rr_proto_over((rr_slice){before, (size_t)(after - before)});
    rr_proto_field again;

    RR_MUST(before >= message.data && before < after && after <= message.data + message.len);
    RR_MUST(field->number >= 1 && field->number <= RR_PROTO_NUMBER_MAX);
    if (field->wire == RR_PROTO_BYTES || field->wire == RR_PROTO_GROUP) {
        RR_MUST(field->value == 0 && field->bytes.data > before && field->bytes.data + field->bytes.len <= after);
    } else {
        RR_MUST(field->bytes.len == 0 && (field->wire != RR_PROTO_FIXED32 || field->value <= UINT32_MAX));
    }
    /* The field alone is the same field, and nothing else. */
    RR_MUST(rr_proto_next(&alone, &again) && again.number == field->number && again.wire == field->wire &&
            again.value == field->value && again.bytes.len == field->bytes.len &&
            (field->bytes.len == 0 || again.bytes.data == field->bytes.data));
    RR_MUST(!rr_proto_next(&alone, &again) && alone.why == NULL);
}

__extension__ typedef unsigned __int128 wide;

/* Numbers by the plainest rule there is. */
static bool plain_varint(const char **at, const char *end, uint64_t *value)
{
    wide number = 0;

    for (unsigned k = 0; k < 10 && *at != end; k++) {
        uint8_t byte = (uint8_t) * (*at)++;

        number |= (wide)(byte & 0x7f) << 7 * k;
        if (byte < 0x80) {
            *value = (uint64_t)number;
            return number <= UINT64_MAX;
        }
    }
    return false;
}

static void check_packed(rr_slice bytes, rr_proto_wire wire)
{
    rr_proto_reader in = rr_proto_over(bytes);
    const char *at = in.at, *end = in.end;
    uint64_t value, plain;

    while (rr_proto_next_packed(&in, wire, &value)) {
        if (wire == RR_PROTO_VARINT) {
            RR_MUST(plain_varint(&at, end, &plain) && plain == value);
        } else {
            at += wire == RR_PROTO_FIXED64 ? 8 : 4;
        }
        RR_MUST(at == in.at);
    }
    RR_MUST((in.why == NULL) == (at == end));
    RR_MUST(in.why == NULL || wire != RR_PROTO_VARINT || !plain_varint(&at, end, &plain));
    RR_MUST(!rr_proto_next_packed(&in, wire, &value));
}

static size_t check_message(rr_slice message, unsigned depth)
{
    rr_proto_reader in = rr_proto_over(message);
    const char *before = in.at;
    rr_proto_field field;
    size_t fields = 0;

    while (rr_proto_next(&in, &field)) {
        check_field(message, before, in.at, &field);
        before = in.at;
        fields++;
        if (field.wire == RR_PROTO_GROUP && depth < 8) {
            size_t inner = check_message(field.bytes, depth + 1);

            RR_MUST(field.bytes.len == 0 || inner != 0); /* what is in a group was looked at already */
        }
        if (field.wire == RR_PROTO_BYTES && depth < 8) {
            check_message(field.bytes, depth + 1);
            check_packed(field.bytes, RR_PROTO_VARINT);
            check_packed(field.bytes, RR_PROTO_FIXED32);
            check_packed(field.bytes, RR_PROTO_FIXED64);
        }
    }
    RR_MUST(in.at == before && in.end == before);
    RR_MUST((in.why == NULL) == (before == message.data + message.len || message.len == 0));
    RR_MUST(!rr_proto_next(&in, &field));
    return in.why == NULL ? fields : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_message((rr_slice){(const char *)data, size}, 0);
    return 0;
}
