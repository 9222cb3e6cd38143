/* Any bytes as a descriptor set: what is read holds together, and look-ups find what is listed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "proto_schema.h"

enum { CAP = 64 * 1024 * 1024 };

static void check_slice(rr_slice text)
{
    RR_MUST(text.len != 0 && text.len <= RR_SCHEMA_NAME_MAX && memchr(text.data, '\0', text.len) == NULL);
}

static void check_file(const rr_schema *schema, const rr_schema_file *file)
{
    RR_MUST(file >= schema->files && file < schema->files + schema->file_count);
}

static void check_field(const rr_schema *schema, const rr_schema_message *in, const rr_schema_field *field)
{
    bool is_message = field->type == RR_SCHEMA_MESSAGE || field->type == RR_SCHEMA_GROUP;

    check_slice(field->name);
    RR_MUST(rr_schema_find_field(in, field->name) != NULL);
    RR_MUST(rr_schema_field_numbered(in, field->number) == field);
    RR_MUST(field->type >= RR_SCHEMA_DOUBLE && field->type <= RR_SCHEMA_SINT64);
    RR_MUST(rr_schema_type_word(field->type) != NULL);
    RR_MUST(is_message == (field->message != NULL) && (field->type == RR_SCHEMA_ENUM) == (field->enumeration != NULL));
    RR_MUST(!field->packed || (field->repeated && rr_schema_wire(field->type) != RR_PROTO_BYTES));
    RR_MUST(!field->has_presence || !field->repeated);
    RR_MUST(field->has_presence || field->repeated || (in->file->proto3 && !is_message && field->oneof == NULL));
    if (is_message) {
        RR_MUST(field->message == rr_schema_find_message(schema, field->type_name));
    }
    if (field->enumeration != NULL) {
        RR_MUST(field->enumeration == rr_schema_find_enum(schema, field->type_name));
    }
    if (rr_schema_is_map(field)) {
        RR_MUST(rr_schema_field_numbered(field->message, 1) != NULL &&
                rr_schema_field_numbered(field->message, 2) != NULL);
    }
}

static void check_oneofs(const rr_schema_message *in)
{
    size_t listed = 0, members = 0;

    for (size_t k = 0; k < in->oneof_count; k++) {
        check_slice(in->oneofs[k].name);
        RR_MUST(in->oneofs[k].field_count != 0);
        for (size_t at = 0; at < in->oneofs[k].field_count; at++, listed++) {
            RR_MUST(in->oneofs[k].fields[at]->oneof == &in->oneofs[k]);
        }
    }
    for (size_t k = 0; k < in->field_count; k++) {
        members += in->fields[k].oneof != NULL ? 1 : 0;
    }
    RR_MUST(listed == members);
}

static void check_message(const rr_schema *schema, const rr_schema_message *message)
{
    check_slice(message->name);
    check_file(schema, message->file);
    RR_MUST(rr_schema_find_message(schema, message->name) == message);
    RR_MUST(rr_schema_find_enum(schema, message->name) == NULL);
    for (size_t k = 0; k < message->field_count; k++) {
        check_field(schema, message, &message->fields[k]);
    }
    check_oneofs(message);
}

static void check_enum(const rr_schema *schema, const rr_schema_enum *enumeration)
{
    check_slice(enumeration->name);
    check_file(schema, enumeration->file);
    RR_MUST(rr_schema_find_enum(schema, enumeration->name) == enumeration);
    for (size_t k = 0; k < enumeration->value_count; k++) {
        const rr_schema_enum_value *value = &enumeration->values[k];

        check_slice(value->name);
        RR_MUST(rr_schema_find_value(enumeration, value->name) != NULL);
        RR_MUST(rr_schema_value_numbered(enumeration, value->number)->number == value->number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rr_arena *arena = fuzz_arena(0);
    rr_error error = {0};
    rr_schema schema;
    rr_status status;

    arena->cap = CAP;
    status = rr_schema_read((rr_slice){(const char *)data, size}, arena, &schema, &error);
    RR_MUST(status == error.status && (status == RR_OK || status == RR_CONFIG));
    RR_MUST((status == RR_OK) == (error.text[0] == '\0') && (status == RR_OK) == (schema.file_count != 0));
    for (size_t k = 0; k < schema.message_count; k++) {
        check_message(&schema, &schema.messages[k]);
    }
    for (size_t k = 0; k < schema.enum_count; k++) {
        check_enum(&schema, &schema.enums[k]);
    }
    return 0;
}
