/* What is asked of a descriptor set that was read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "proto_schema.h"

#include <stdlib.h>

static rr_slice without_dot(rr_slice name)
{
    return name.len != 0 && name.data[0] == '.' ? (rr_slice){name.data + 1, name.len - 1} : name;
}

static int is_message_named(const void *name, const void *message)
{
    return rr_slice_compare(*(const rr_slice *)name, ((const rr_schema_message *)message)->name);
}

static int is_enum_named(const void *name, const void *enumeration)
{
    return rr_slice_compare(*(const rr_slice *)name, ((const rr_schema_enum *)enumeration)->name);
}

const rr_schema_message *rr_schema_find_message(const rr_schema *schema, rr_slice name)
{
    rr_slice full = without_dot(name);

    return schema->message_count == 0
               ? NULL
               : bsearch(&full, schema->messages, schema->message_count, sizeof *schema->messages, is_message_named);
}

const rr_schema_enum *rr_schema_find_enum(const rr_schema *schema, rr_slice name)
{
    rr_slice full = without_dot(name);

    return schema->enum_count == 0
               ? NULL
               : bsearch(&full, schema->enums, schema->enum_count, sizeof *schema->enums, is_enum_named);
}

const rr_schema_field *rr_schema_find_field(const rr_schema_message *message, rr_slice name)
{
    const rr_schema_field *by_json = NULL;

    for (size_t k = 0; k < message->field_count; k++) {
        const rr_schema_field *field = &message->fields[k];

        if (rr_slice_equal(field->name, name)) {
            return field;
        }
        by_json = by_json == NULL && rr_slice_equal(field->json_name, name) ? field : by_json;
    }
    return by_json;
}

static int is_field_numbered(const void *number, const void *field)
{
    uint32_t wanted = *(const uint32_t *)number, has = ((const rr_schema_field *)field)->number;

    return (wanted > has) - (wanted < has);
}

const rr_schema_field *rr_schema_field_numbered(const rr_schema_message *message, uint32_t number)
{
    return message->field_count == 0
               ? NULL
               : bsearch(&number, message->fields, message->field_count, sizeof *message->fields, is_field_numbered);
}

const rr_schema_enum_value *rr_schema_find_value(const rr_schema_enum *enumeration, rr_slice name)
{
    for (size_t k = 0; k < enumeration->value_count; k++) {
        if (rr_slice_equal(enumeration->values[k].name, name)) {
            return &enumeration->values[k];
        }
    }
    return NULL;
}

const rr_schema_enum_value *rr_schema_value_numbered(const rr_schema_enum *enumeration, int32_t number)
{
    for (size_t k = 0; k < enumeration->value_count; k++) {
        if (enumeration->values[k].number == number) {
            return &enumeration->values[k];
        }
    }
    return NULL;
}

static const struct {
    const char *word;
    rr_proto_wire wire;
} types[] = {
    [RR_SCHEMA_DOUBLE] = {"double", RR_PROTO_FIXED64},     [RR_SCHEMA_FLOAT] = {"float", RR_PROTO_FIXED32},
    [RR_SCHEMA_INT64] = {"int64", RR_PROTO_VARINT},        [RR_SCHEMA_UINT64] = {"uint64", RR_PROTO_VARINT},
    [RR_SCHEMA_INT32] = {"int32", RR_PROTO_VARINT},        [RR_SCHEMA_FIXED64] = {"fixed64", RR_PROTO_FIXED64},
    [RR_SCHEMA_FIXED32] = {"fixed32", RR_PROTO_FIXED32},   [RR_SCHEMA_BOOL] = {"bool", RR_PROTO_VARINT},
    [RR_SCHEMA_STRING] = {"string", RR_PROTO_BYTES},       [RR_SCHEMA_GROUP] = {"group", RR_PROTO_GROUP},
    [RR_SCHEMA_MESSAGE] = {"message", RR_PROTO_BYTES},     [RR_SCHEMA_BYTES] = {"bytes", RR_PROTO_BYTES},
    [RR_SCHEMA_UINT32] = {"uint32", RR_PROTO_VARINT},      [RR_SCHEMA_ENUM] = {"enum", RR_PROTO_VARINT},
    [RR_SCHEMA_SFIXED32] = {"sfixed32", RR_PROTO_FIXED32}, [RR_SCHEMA_SFIXED64] = {"sfixed64", RR_PROTO_FIXED64},
    [RR_SCHEMA_SINT32] = {"sint32", RR_PROTO_VARINT},      [RR_SCHEMA_SINT64] = {"sint64", RR_PROTO_VARINT},
};

rr_proto_wire rr_schema_wire(rr_schema_type type)
{
    return types[type].wire;
}

const char *rr_schema_type_word(rr_schema_type type)
{
    return types[type].word;
}
