/* Protobuf by its schema. A field of implicit presence that is not on the wire is zero, and counts as a value; any
 * other is absent. Unknown fields are passed over. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_proto.h"
#include "sample_values.h"
#include "time.h"

typedef struct reading {
    rr_sample *sample;
    const char *why;
} reading;

/* Where values go: below which path, and to which item of a list. */
typedef struct place {
    uint16_t path, item;
    size_t depth;
} place;

enum { FIELDS_MAX = 1024 }; /* of a message, of which absent ones are seen */

static void read_message(reading *r, const rr_schema_message *message, rr_slice bytes, place at);

static void put_scalar(reading *r, const rr_schema_field *field, const rr_proto_field *in, uint16_t path, uint16_t item)
{
    rr_sample *s = r->sample;
    const rr_schema_enum_value *name;

    switch (field->type) {
    case RR_SCHEMA_DOUBLE: rr_sample_put_real(s, path, item, rr_proto_double(in->value)); break;
    case RR_SCHEMA_FLOAT: rr_sample_put_real(s, path, item, (double)rr_proto_float(in->value)); break;
    case RR_SCHEMA_STRING: rr_sample_put_text(s, path, item, RR_VALUE_TEXT, in->bytes); break;
    case RR_SCHEMA_BYTES: rr_sample_put_text(s, path, item, RR_VALUE_OTHER, in->bytes); break;
    case RR_SCHEMA_BOOL: rr_sample_put_int(s, path, item, RR_VALUE_BOOL, rr_proto_bool(in->value)); break;
    case RR_SCHEMA_INT32:
    case RR_SCHEMA_SFIXED32: rr_sample_put_int(s, path, item, RR_VALUE_INT, rr_proto_int32(in->value)); break;
    case RR_SCHEMA_UINT32:
    case RR_SCHEMA_FIXED32: rr_sample_put_int(s, path, item, RR_VALUE_INT, rr_proto_uint32(in->value)); break;
    case RR_SCHEMA_SINT32: rr_sample_put_int(s, path, item, RR_VALUE_INT, rr_proto_sint32(in->value)); break;
    case RR_SCHEMA_SINT64: rr_sample_put_int(s, path, item, RR_VALUE_INT, rr_proto_sint64(in->value)); break;
    case RR_SCHEMA_ENUM:
        name = rr_schema_value_numbered(field->enumeration, rr_proto_int32(in->value));
        if (name != NULL) {
            rr_sample_put_text(s, path, item, RR_VALUE_ENUM, name->name);
        } else {
            rr_sample_put_int(s, path, item, RR_VALUE_INT, rr_proto_int32(in->value));
        }
        break;
    case RR_SCHEMA_UINT64:
    case RR_SCHEMA_FIXED64:
        if (in->value > INT64_MAX) {
            rr_sample_put_real(s, path, item, (double)in->value);
            break;
        }
        rr_sample_put_int(s, path, item, RR_VALUE_INT, rr_proto_int64(in->value));
        break;
    default: rr_sample_put_int(s, path, item, RR_VALUE_INT, rr_proto_int64(in->value)); break;
    }
}

static void put_timestamp(reading *r, rr_slice bytes, uint16_t path, uint16_t item)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    int64_t seconds = 0, nanos = 0, us;

    while (rr_proto_next(&in, &field)) {
        if (field.number == 1 && field.wire == RR_PROTO_VARINT) {
            seconds = rr_proto_int64(field.value);
        } else if (field.number == 2 && field.wire == RR_PROTO_VARINT) {
            nanos = rr_proto_int32(field.value);
        }
    }
    if (in.why != NULL) {
        r->why = in.why;
    } else if (!__builtin_mul_overflow(seconds, RR_SECOND_US, &us)) {
        rr_sample_put_int(r->sample, path, item, RR_VALUE_TIME, rr_add_held(us, nanos / 1000));
    }
}

static void put_wrapped(reading *r, const rr_schema_message *type, rr_slice bytes, uint16_t path, uint16_t item)
{
    const rr_schema_field *value = rr_schema_field_numbered(type, 1);
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field, last = {.wire = rr_schema_wire(value->type), .bytes = {"", 0}};

    while (rr_proto_next(&in, &field)) {
        last = field.number == 1 && field.wire == last.wire ? field : last;
    }
    r->why = in.why != NULL ? in.why : r->why;
    put_scalar(r, value, &last, path, item);
}

/* The key of a map's entry as a step of a path. */
static void read_entry(reading *r, const rr_schema_field *map, rr_slice bytes, place at)
{
    const rr_schema_field *key = rr_schema_field_numbered(map->message, 1);
    const rr_schema_field *value = rr_schema_field_numbered(map->message, 2);
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field, name = {.bytes = {"", 0}};
    rr_proto_field last = {.wire = rr_schema_wire(value->type), .bytes = {"", 0}};
    uint16_t path;

    while (rr_proto_next(&in, &field)) {
        name = field.number == 1 && field.wire == RR_PROTO_BYTES ? field : name;
        last = field.number == 2 && field.wire == last.wire ? field : last;
    }
    if (in.why != NULL || key->type != RR_SCHEMA_STRING || value->message != NULL) {
        r->why = in.why != NULL ? in.why : r->why;
        return;
    }
    path = rr_sample_path(r->sample, at.path, name.bytes);
    if (path != 0) {
        put_scalar(r, value, &last, path, at.item);
    }
}

static void read_inner(reading *r, const rr_schema_field *field, rr_slice bytes, place at, uint16_t nth)
{
    place inner = {at.path, at.item, at.depth + 1};

    if (rr_schema_is_map(field)) {
        read_entry(r, field, bytes, inner);
        return;
    }
    if (field->repeated) {
        if (at.item != RR_SAMPLE_NO_ITEM ||
            nth >= RR_SAMPLE_ITEMS_MAX) { /* a list in a list has no place in a mapping */
            r->sample->left_out++;
            return;
        }
        r->sample->paths[at.path].is_list = true;
        inner.item = nth;
    }
    switch (field->message->known) {
    case RR_SCHEMA_KNOWN_TIMESTAMP: put_timestamp(r, bytes, at.path, inner.item); break;
    case RR_SCHEMA_KNOWN_DURATION: rr_sample_put_text(r->sample, at.path, inner.item, RR_VALUE_OTHER, bytes); break;
    case RR_SCHEMA_KNOWN_WRAPPER: put_wrapped(r, field->message, bytes, at.path, inner.item); break;
    default: read_message(r, field->message, bytes, inner); break;
    }
}

static void put_zeros(reading *r, const rr_schema_message *message, const uint16_t *seen, place at)
{
    for (size_t k = 0; k < message->field_count && k < FIELDS_MAX; k++) {
        const rr_schema_field *field = &message->fields[k];
        rr_proto_field zero = {.bytes = {"", 0}};
        uint16_t path;

        if (seen[k] == 0 && !field->repeated && !field->has_presence) {
            path = rr_sample_path(r->sample, at.path, field->name);
            if (path != 0) {
                put_scalar(r, field, &zero, path, at.item);
            }
        }
    }
}

static void read_field(reading *r, const rr_schema_field *field, const rr_proto_field *in, place at, uint16_t nth)
{
    place below = {rr_sample_path(r->sample, at.path, field->name), at.item, at.depth};
    bool is_packed = field->repeated && field->message == NULL;

    if (below.path == 0) {
        return;
    }
    if (is_packed) {
        rr_sample_put_text(r->sample, below.path, below.item, RR_VALUE_OTHER, RR_SLICE("list"));
    } else if (in->wire != rr_schema_wire(field->type)) {
        r->sample->left_out++;
    } else if (field->message != NULL) {
        read_inner(r, field, in->bytes, below, nth);
    } else {
        put_scalar(r, field, in, below.path, below.item);
    }
}

static void read_message(reading *r, const rr_schema_message *message, rr_slice bytes, place at)
{
    rr_proto_reader in = rr_proto_over(bytes);
    uint16_t seen[FIELDS_MAX] = {0};
    rr_proto_field one;

    if (at.depth > RR_SAMPLE_DEPTH_MAX) {
        r->sample->left_out++;
        return;
    }
    while (r->why == NULL && rr_proto_next(&in, &one)) {
        const rr_schema_field *field = rr_schema_field_numbered(message, one.number);
        size_t k = field == NULL ? FIELDS_MAX : (size_t)(field - message->fields);

        if (k < FIELDS_MAX) {
            read_field(r, field, &one, at, seen[k]);
            seen[k] += seen[k] < UINT16_MAX ? 1 : 0;
        }
    }
    r->why = r->why != NULL ? r->why : in.why;
    if (r->why == NULL) {
        put_zeros(r, message, seen, at);
    }
}

const char *rr_sample_read_proto(rr_sample *sample, rr_slice payload)
{
    reading r = {.sample = sample};

    read_message(&r, sample->schema, payload, (place){0, RR_SAMPLE_NO_ITEM, 0});
    return r.why;
}
