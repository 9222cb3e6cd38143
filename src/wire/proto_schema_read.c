/* Descriptor sets: files first, then what they declare, then what the types of fields are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "proto_schema.h"

#include <stdlib.h>

#include "utf8.h"

#define BYTES(number) ((number) << 3 | RR_PROTO_BYTES)
#define VARINT(number) ((number) << 3 | RR_PROTO_VARINT)
#define KEY(field) ((field).number << 3 | (field).wire)
#define WRONG(r, ...) ((r)->status = rr_fail((r)->error, RR_CONFIG, __VA_ARGS__), false)
#define SHOW(slice) (int)((slice).len < 200 ? (slice).len : 200), (slice).len == 0 ? "" : (slice).data

enum { LABEL_REQUIRED = 2, LABEL_REPEATED = 3 };

/* A file under way. */
typedef struct source {
    rr_schema_file file;
    rr_slice bytes, syntax;
    bool again; /* a second copy of another */
} source;

typedef struct reading {
    rr_arena *arena;
    rr_error *error;
    rr_status status;
    source *sources;
    const source **by_name; /* each file once */
    size_t source_count, file_count;
    rr_schema_file *files;
    rr_schema_message *messages;
    rr_schema_enum *enums;
    size_t message_count, enum_count;
    const rr_schema_file *file; /* whose messages are read */
} reading;

/* A field as the descriptor says it. */
typedef struct field_said {
    rr_slice name, type_name, json_name;
    uint64_t number, oneof_index;
    int32_t label, type;
    bool in_oneof, proto3_optional, packed_said, packed;
} field_said;

static bool no_memory(reading *r)
{
    r->status = rr_fail(r->error, RR_MEMORY, "the descriptor set takes more memory than it may");
    return false;
}

static bool take(reading *r, size_t count, size_t size, void *to)
{
    void *taken = count > SIZE_MAX / size ? NULL : rr_arena_zero(r->arena, count * size);

    memcpy(to, &taken, sizeof taken);
    return taken != NULL || no_memory(r);
}

static bool copy(reading *r, rr_slice from, rr_slice *to)
{
    *to = rr_arena_copy(r->arena, from);
    return to->len == from.len || no_memory(r);
}

/* After a loop over fields: whether it ended because there were no more. */
static bool is_read(reading *r, const rr_proto_reader *in)
{
    return in->why == NULL || WRONG(r,
                                    "these bytes are not a descriptor set, or not all of it: %s; write it with `protoc "
                                    "--descriptor_set_out=FILE --include_imports`, or `buf build -o FILE.binpb`",
                                    in->why);
}

/* ---- names ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Identifiers with a dot between each two. */
static bool is_path(rr_slice text)
{
    bool begins = true;

    for (size_t k = 0; k < text.len; k++) {
        char c = text.data[k];

        if (begins ? !is_letter(c) : !is_letter(c) && !is_digit(c) && c != '.') {
            return false;
        }
        begins = c == '.';
    }
    return !begins && text.len <= RR_SCHEMA_NAME_MAX;
}

static bool is_identifier(rr_slice text)
{
    return is_path(text) && memchr(text.data, '.', text.len) == NULL;
}

static bool is_printable(rr_slice text)
{
    for (size_t k = 0; k < text.len; k++) {
        if ((unsigned char)text.data[k] < ' ' || text.data[k] == 0x7f) {
            return false;
        }
    }
    return text.len != 0 && rr_utf8_valid_len(text) == text.len;
}

/* "scope.name" in the arena. */
static bool join(reading *r, rr_slice scope, const char *kind, rr_slice name, rr_slice *full)
{
    size_t before = scope.len == 0 ? 0 : scope.len + 1;
    char *text;

    if (!is_identifier(name) || before + name.len > RR_SCHEMA_NAME_MAX) {
        return WRONG(r, "file '%.*s' of the descriptor set has %s without a proper name; is it a descriptor set?",
                     SHOW(r->file->name), kind);
    }
    text = rr_arena_take(r->arena, before + name.len);
    if (text == NULL) {
        return no_memory(r);
    }
    if (before != 0) {
        memcpy(text, scope.data, scope.len);
        text[scope.len] = '.';
    }
    memcpy(text + before, name.data, name.len);
    *full = (rr_slice){text, before + name.len};
    return true;
}

/* As protoc makes it where nothing else is said: `at_most` is `atMost`. */
static bool make_json_name(reading *r, rr_slice name, rr_slice *to)
{
    char *text = rr_arena_take(r->arena, name.len);
    size_t len = 0;

    if (text == NULL) {
        return no_memory(r);
    }
    for (size_t k = 0; k < name.len; k++) {
        char c = name.data[k];

        if (c != '_') {
            text[len++] = k != 0 && name.data[k - 1] == '_' && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        }
    }
    *to = (rr_slice){text, len};
    return true;
}

/* ---- files ---- */

static bool read_source(reading *r, rr_slice bytes, source *to)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    rr_slice name = {0}, package = {0};

    to->bytes = bytes;
    while (rr_proto_next(&in, &field)) {
        switch (KEY(field)) {
        case BYTES(1): name = field.bytes; break;
        case BYTES(2): package = field.bytes; break;
        case BYTES(12): to->syntax = field.bytes; break;
        default: break;
        }
    }
    if (!is_read(r, &in)) {
        return false;
    }
    if (!is_printable(name) || (package.len != 0 && !is_path(package))) {
        return WRONG(r, "a file of the descriptor set has no name, or no proper package; is it a descriptor set?");
    }
    to->file.proto3 = rr_slice_equal(to->syntax, RR_SLICE("proto3"));
    if (!to->file.proto3 && to->syntax.len != 0 && !rr_slice_equal(to->syntax, RR_SLICE("proto2"))) {
        return WRONG(r,
                     "file '%.*s' is not written in proto2 or proto3 but in an edition of protobuf, which is not "
                     "supported; write it with `syntax = \"proto3\"`",
                     SHOW(name));
    }
    return copy(r, name, &to->file.name) && copy(r, package, &to->file.package);
}

static bool read_sources(reading *r, rr_slice set)
{
    rr_proto_reader in = rr_proto_over(set);
    rr_proto_field field;
    size_t count = 0;

    while (rr_proto_next(&in, &field)) {
        count += KEY(field) == BYTES(1) ? 1 : 0;
    }
    if (!is_read(r, &in)) {
        return false;
    }
    if (count == 0) {
        return WRONG(r, "there is no file in the descriptor set; write it with `protoc --descriptor_set_out=FILE "
                        "--include_imports`, or `buf build -o FILE.binpb`");
    }
    if (!take(r, count, sizeof *r->sources, &r->sources)) {
        return false;
    }
    in = rr_proto_over(set);
    while (rr_proto_next(&in, &field)) {
        if (KEY(field) == BYTES(1) && !read_source(r, field.bytes, &r->sources[r->source_count++])) {
            return false;
        }
    }
    return true;
}

static int by_file_name(const void *a, const void *b)
{
    const source *left = *(source *const *)a, *right = *(source *const *)b;
    int order = rr_slice_compare(left->file.name, right->file.name);

    return order != 0 ? order : (left > right) - (left < right);
}

/* Orders the files by name, without copies. */
static bool order_sources(reading *r)
{
    source **all;

    if (!take(r, r->source_count, sizeof(source *), &all)) {
        return false;
    }
    for (size_t k = 0; k < r->source_count; k++) {
        all[k] = &r->sources[k];
    }
    qsort(all, r->source_count, sizeof *all, by_file_name);
    for (size_t k = 0; k < r->source_count; k++) {
        source *before = r->file_count == 0 ? NULL : all[r->file_count - 1];

        if (before == NULL || !rr_slice_equal(before->file.name, all[k]->file.name)) {
            all[r->file_count++] = all[k];
        } else if (rr_slice_equal(before->bytes, all[k]->bytes)) {
            all[k]->again = true;
        } else {
            return WRONG(r,
                         "file '%.*s' is in the descriptor set twice, and differs; write the set anew from one "
                         "version of the files",
                         SHOW(before->file.name));
        }
    }
    r->by_name = (const source **)all;
    return true;
}

static int is_file_named(const void *name, const void *with)
{
    return rr_slice_compare(*(const rr_slice *)name, (*(const source *const *)with)->file.name);
}

static bool check_imports(reading *r, const source *of)
{
    rr_proto_reader in = rr_proto_over(of->bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        if (KEY(field) == BYTES(3) &&
            bsearch(&field.bytes, r->by_name, r->file_count, sizeof *r->by_name, is_file_named) == NULL) {
            return WRONG(r,
                         "the descriptor set lacks file '%.*s', which '%.*s' imports; write it with "
                         "--include_imports (buf: without --exclude-imports)",
                         is_printable(field.bytes) ? (int)field.bytes.len : 0, field.bytes.data, SHOW(of->file.name));
        }
    }
    return true;
}

/* ---- how many there are ---- */

static bool count_message(reading *r, rr_slice bytes, size_t nesting)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    if (nesting == RR_SCHEMA_NESTING_MAX) {
        return WRONG(r,
                     "file '%.*s' of the descriptor set declares messages inside messages, more than %d deep; "
                     "declare them side by side",
                     SHOW(r->file->name), RR_SCHEMA_NESTING_MAX);
    }
    r->message_count++;
    while (rr_proto_next(&in, &field)) {
        r->enum_count += KEY(field) == BYTES(4) ? 1 : 0;
        if (KEY(field) == BYTES(3) && !count_message(r, field.bytes, nesting + 1)) {
            return false;
        }
    }
    return is_read(r, &in);
}

static bool count_file(reading *r, rr_slice bytes)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        r->enum_count += KEY(field) == BYTES(5) ? 1 : 0;
        if (KEY(field) == BYTES(4) && !count_message(r, field.bytes, 0)) {
            return false;
        }
    }
    return is_read(r, &in);
}

/* ---- what a file declares ---- */

static bool read_value(reading *r, rr_slice bytes, rr_schema_enum_value *to)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    rr_slice name = {0};

    while (rr_proto_next(&in, &field)) {
        switch (KEY(field)) {
        case BYTES(1): name = field.bytes; break;
        case VARINT(2): to->number = rr_proto_int32(field.value); break;
        default: break;
        }
    }
    return is_read(r, &in) && join(r, (rr_slice){0}, "a value of an enum", name, &to->name);
}

static bool read_enum(reading *r, rr_slice bytes, rr_slice scope)
{
    rr_schema_enum *to = &r->enums[r->enum_count++];
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    rr_schema_enum_value *values;
    rr_slice name = {0};
    size_t count = 0;

    while (rr_proto_next(&in, &field)) {
        name = KEY(field) == BYTES(1) ? field.bytes : name;
        count += KEY(field) == BYTES(2) ? 1 : 0;
    }
    if (!is_read(r, &in) || !join(r, scope, "an enum", name, &to->name) || !take(r, count, sizeof *values, &values)) {
        return false;
    }
    to->file = r->file;
    to->values = values;
    in = rr_proto_over(bytes);
    while (rr_proto_next(&in, &field)) {
        if (KEY(field) == BYTES(2) && !read_value(r, field.bytes, &values[to->value_count++])) {
            return false;
        }
    }
    return true;
}

static bool read_field_options(reading *r, rr_slice bytes, field_said *said)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        if (KEY(field) == VARINT(2)) {
            said->packed_said = true;
            said->packed = rr_proto_bool(field.value);
        }
    }
    return is_read(r, &in);
}

static bool read_field_said(reading *r, rr_slice bytes, field_said *said)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    *said = (field_said){0};
    while (rr_proto_next(&in, &field)) {
        switch (KEY(field)) {
        case BYTES(1): said->name = field.bytes; break;
        case VARINT(3): said->number = field.value; break;
        case VARINT(4): said->label = rr_proto_int32(field.value); break;
        case VARINT(5): said->type = rr_proto_int32(field.value); break;
        case BYTES(6): said->type_name = field.bytes; break;
        case VARINT(9):
            said->in_oneof = true;
            said->oneof_index = field.value;
            break;
        case BYTES(10): said->json_name = field.bytes; break;
        case VARINT(17): said->proto3_optional = rr_proto_bool(field.value); break;
        case BYTES(8):
            if (!read_field_options(r, field.bytes, said)) {
                return false;
            }
            break;
        default: break;
        }
    }
    return is_read(r, &in);
}

/* A proto3 `optional` stands in a oneof that protoc made up for it. */
static bool place_in_oneof(reading *r, const rr_schema_message *in, rr_schema_oneof *oneofs, const field_said *said,
                           rr_schema_field *to)
{
    if (!said->in_oneof || said->proto3_optional) {
        return true;
    }
    if (said->oneof_index >= in->oneof_count || to->repeated) {
        return WRONG(r,
                     "field '%.*s' of message '%.*s' stands in a oneof that the descriptor set does not declare, or "
                     "that it cannot stand in; write the set anew",
                     SHOW(to->name), SHOW(in->name));
    }
    to->oneof = &oneofs[said->oneof_index];
    oneofs[said->oneof_index].field_count++;
    return true;
}

static bool read_field(reading *r, rr_slice bytes, const rr_schema_message *in, rr_schema_oneof *oneofs,
                       rr_schema_field *to)
{
    field_said said;

    if (!read_field_said(r, bytes, &said) || !join(r, (rr_slice){0}, "a field", said.name, &to->name)) {
        return false;
    }
    if (said.number == 0 || said.number > RR_PROTO_NUMBER_MAX || said.type < 0 || said.type > RR_SCHEMA_SINT64) {
        return WRONG(r,
                     "field '%.*s' of message '%.*s' has a number or a type that protobuf does not know; write the "
                     "descriptor set anew",
                     SHOW(to->name), SHOW(in->name));
    }
    to->number = (uint32_t)said.number;
    to->type = (rr_schema_type)said.type; /* 0: what the named type is */
    to->repeated = said.label == LABEL_REPEATED;
    to->required = said.label == LABEL_REQUIRED;
    to->packed = to->repeated && (said.packed_said ? said.packed : r->file->proto3);
    to->has_presence = !to->repeated && (!r->file->proto3 || said.proto3_optional || said.in_oneof);
    to->type_name = said.type_name;
    return place_in_oneof(r, in, oneofs, &said, to) &&
           (is_printable(said.json_name) ? copy(r, said.json_name, &to->json_name)
                                         : make_json_name(r, to->name, &to->json_name));
}

static int by_number(const void *a, const void *b)
{
    const rr_schema_field *left = a, *right = b;

    return (left->number > right->number) - (left->number < right->number);
}

static bool check_numbers(reading *r, const rr_schema_message *in)
{
    for (size_t k = 1; k < in->field_count; k++) {
        if (in->fields[k].number == in->fields[k - 1].number) {
            return WRONG(r, "message '%.*s' of the descriptor set has two fields of the number %u; write the set anew",
                         SHOW(in->name), in->fields[k].number);
        }
    }
    return true;
}

/* Which fields are in which oneof. The made-up ones have none, and stand behind the others. */
static bool fill_oneofs(reading *r, rr_schema_message *in, rr_schema_oneof *oneofs)
{
    for (; in->oneof_count != 0 && oneofs[in->oneof_count - 1].field_count == 0; in->oneof_count--) {}
    for (size_t k = 0; k < in->oneof_count; k++) {
        if (oneofs[k].field_count == 0) {
            return WRONG(r, "oneof '%.*s' of message '%.*s' has no field; write the descriptor set anew",
                         SHOW(oneofs[k].name), SHOW(in->name));
        }
        if (!take(r, oneofs[k].field_count, sizeof *oneofs[k].fields, &oneofs[k].fields)) {
            return false;
        }
        oneofs[k].field_count = 0;
    }
    for (size_t k = 0; k < in->field_count; k++) {
        if (in->fields[k].oneof != NULL) {
            rr_schema_oneof *oneof = &oneofs[in->fields[k].oneof - oneofs];

            oneof->fields[oneof->field_count++] = &in->fields[k];
        }
    }
    return true;
}

static bool read_oneof(reading *r, rr_slice bytes, rr_schema_oneof *to)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    rr_slice name = {0};

    while (rr_proto_next(&in, &field)) {
        name = KEY(field) == BYTES(1) ? field.bytes : name;
    }
    return is_read(r, &in) && join(r, (rr_slice){0}, "a oneof", name, &to->name);
}

static bool read_message_options(reading *r, rr_slice bytes, rr_schema_message *to)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        to->map_entry = KEY(field) == VARINT(7) ? rr_proto_bool(field.value) : to->map_entry;
    }
    return is_read(r, &in);
}

/* Its name, its options, and how many fields and oneofs it has. */
static bool read_message_outline(reading *r, rr_slice bytes, rr_slice scope, rr_schema_message *to, size_t *fields)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    rr_slice name = {0};

    to->file = r->file;
    while (rr_proto_next(&in, &field)) {
        switch (KEY(field)) {
        case BYTES(1): name = field.bytes; break;
        case BYTES(2): ++*fields; break;
        case BYTES(8): to->oneof_count++; break;
        case BYTES(7):
            if (!read_message_options(r, field.bytes, to)) {
                return false;
            }
            break;
        default: break;
        }
    }
    return is_read(r, &in) && join(r, scope, "a message", name, &to->name);
}

static bool read_oneofs(reading *r, rr_slice bytes, rr_schema_oneof *oneofs)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        if (KEY(field) == BYTES(8) && !read_oneof(r, field.bytes, oneofs++)) {
            return false;
        }
    }
    return true;
}

static bool read_fields(reading *r, rr_slice bytes, rr_schema_message *to, size_t count)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    rr_schema_field *fields;
    rr_schema_oneof *oneofs;

    if (!take(r, count, sizeof *fields, &fields) || !take(r, to->oneof_count, sizeof *oneofs, &oneofs) ||
        !read_oneofs(r, bytes, oneofs)) {
        return false;
    }
    to->fields = fields;
    to->oneofs = oneofs;
    while (rr_proto_next(&in, &field)) {
        if (KEY(field) == BYTES(2) && !read_field(r, field.bytes, to, oneofs, &fields[to->field_count++])) {
            return false;
        }
    }
    qsort(fields, to->field_count, sizeof *fields, by_number);
    return check_numbers(r, to) && fill_oneofs(r, to, oneofs);
}

/* As deep as count_message has seen. */
static bool read_message(reading *r, rr_slice bytes, rr_slice scope)
{
    rr_schema_message *to = &r->messages[r->message_count++];
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    size_t fields = 0;

    if (!read_message_outline(r, bytes, scope, to, &fields) || !read_fields(r, bytes, to, fields)) {
        return false;
    }
    while (rr_proto_next(&in, &field)) {
        if ((KEY(field) == BYTES(3) && !read_message(r, field.bytes, to->name)) ||
            (KEY(field) == BYTES(4) && !read_enum(r, field.bytes, to->name))) {
            return false;
        }
    }
    return true;
}

static bool read_file(reading *r, const source *of)
{
    rr_proto_reader in = rr_proto_over(of->bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        if ((KEY(field) == BYTES(4) && !read_message(r, field.bytes, r->file->package)) ||
            (KEY(field) == BYTES(5) && !read_enum(r, field.bytes, r->file->package))) {
            return false;
        }
    }
    return true;
}

/* ---- types ---- */

static int by_message_name(const void *a, const void *b)
{
    return rr_slice_compare(((const rr_schema_message *)a)->name, ((const rr_schema_message *)b)->name);
}

static int by_enum_name(const void *a, const void *b)
{
    return rr_slice_compare(((const rr_schema_enum *)a)->name, ((const rr_schema_enum *)b)->name);
}

static bool is_twice(reading *r, rr_slice name, const rr_schema_file *one, const rr_schema_file *other)
{
    return WRONG(r,
                 "'%.*s' is declared twice in the descriptor set, in '%.*s' and in '%.*s'; give one of them another "
                 "package",
                 SHOW(name), SHOW(one->name), SHOW(other->name));
}

static bool order_names(reading *r, const rr_schema *schema)
{
    qsort(r->messages, r->message_count, sizeof *r->messages, by_message_name);
    qsort(r->enums, r->enum_count, sizeof *r->enums, by_enum_name);
    for (size_t k = 1; k < r->message_count; k++) {
        if (rr_slice_equal(r->messages[k].name, r->messages[k - 1].name)) {
            return is_twice(r, r->messages[k].name, r->messages[k - 1].file, r->messages[k].file);
        }
    }
    for (size_t k = 0; k < r->enum_count; k++) {
        const rr_schema_message *same = rr_schema_find_message(schema, r->enums[k].name);

        if (same != NULL || (k != 0 && rr_slice_equal(r->enums[k].name, r->enums[k - 1].name))) {
            return is_twice(r, r->enums[k].name, same != NULL ? same->file : r->enums[k - 1].file, r->enums[k].file);
        }
    }
    return true;
}

/* Looks a type up as protoc does: from inside the message outwards, but for a full name. */
static bool find_type(const rr_schema *schema, rr_slice scope, rr_schema_field *field)
{
    char text[2 * RR_SCHEMA_NAME_MAX + 1];
    rr_slice name = field->type_name;

    while (name.len != 0 && name.len <= RR_SCHEMA_NAME_MAX) {
        rr_slice full = name;

        if (name.data[0] != '.' && scope.len != 0) {
            memcpy(text, scope.data, scope.len);
            text[scope.len] = '.';
            memcpy(text + scope.len + 1, name.data, name.len);
            full = (rr_slice){text, scope.len + 1 + name.len};
        }
        field->message = rr_schema_find_message(schema, full);
        field->enumeration = rr_schema_find_enum(schema, full);
        if (field->message != NULL || field->enumeration != NULL) {
            return true;
        }
        if (name.data[0] == '.' || scope.len == 0) {
            return false;
        }
        for (scope.len--; scope.len != 0 && scope.data[scope.len] != '.'; scope.len--) {}
    }
    return false;
}

static bool is_named_type(rr_schema_type type)
{
    return type == RR_SCHEMA_MESSAGE || type == RR_SCHEMA_GROUP || type == RR_SCHEMA_ENUM;
}

static bool is_packable(rr_schema_type type)
{
    return rr_schema_wire(type) != RR_PROTO_BYTES && rr_schema_wire(type) != RR_PROTO_GROUP;
}

static bool resolve_type(reading *r, const rr_schema *schema, const rr_schema_message *in, rr_schema_field *field)
{
    if (field->type != 0 && !is_named_type(field->type)) {
        field->type_name = (rr_slice){0};
        return true;
    }
    if (!find_type(schema, in->name, field)) {
        return WRONG(r,
                     "field '%.*s' of message '%.*s' is of type '%.*s', which the descriptor set does not define; "
                     "write it with --include_imports",
                     SHOW(field->name), SHOW(in->name), is_printable(field->type_name) ? (int)field->type_name.len : 0,
                     field->type_name.data);
    }
    if (field->type == 0) {
        field->type = field->message != NULL ? RR_SCHEMA_MESSAGE : RR_SCHEMA_ENUM;
    }
    if ((field->type == RR_SCHEMA_ENUM) != (field->enumeration != NULL)) {
        return WRONG(r,
                     "field '%.*s' of message '%.*s' is a message by its type, and an enum by the type's name, or "
                     "the other way round; write the descriptor set anew",
                     SHOW(field->name), SHOW(in->name));
    }
    field->type_name = field->message != NULL ? field->message->name : field->enumeration->name;
    return true;
}

static bool resolve_fields(reading *r, const rr_schema *schema, const rr_schema_message *in)
{
    /* The fields are the reading's own until it is done. */
    rr_schema_field *fields = (rr_schema_field *)(uintptr_t)in->fields;

    for (size_t k = 0; k < in->field_count; k++) {
        rr_schema_field *field = &fields[k];

        if (!resolve_type(r, schema, in, field)) {
            return false;
        }
        field->packed = field->packed && is_packable(field->type);
        field->has_presence = !field->repeated && (field->has_presence || field->message != NULL);
    }
    return true;
}

static bool check_entry(reading *r, const rr_schema_message *entry)
{
    const rr_schema_field *key = rr_schema_field_numbered(entry, 1);
    const rr_schema_field *value = rr_schema_field_numbered(entry, 2);

    if (entry->map_entry &&
        (key == NULL || value == NULL || key->repeated || value->repeated || is_named_type(key->type))) {
        return WRONG(r,
                     "'%.*s' of the descriptor set is marked as the entry of a map, and has no key and value; write "
                     "the set anew",
                     SHOW(entry->name));
    }
    return true;
}

/* ---- types that mean more than they say ---- */

static bool has_field(const rr_schema_message *in, uint32_t number, rr_schema_type type)
{
    const rr_schema_field *field = rr_schema_field_numbered(in, number);

    return field != NULL && field->type == type && !field->repeated && !field->has_presence;
}

static rr_schema_known known_of(const rr_schema_message *message)
{
    static const struct {
        rr_slice name;
        rr_schema_type type;
    } wrappers[] = {
        {{"google.protobuf.BoolValue", 25}, RR_SCHEMA_BOOL},
        {{"google.protobuf.BytesValue", 26}, RR_SCHEMA_BYTES},
        {{"google.protobuf.DoubleValue", 27}, RR_SCHEMA_DOUBLE},
        {{"google.protobuf.FloatValue", 26}, RR_SCHEMA_FLOAT},
        {{"google.protobuf.Int32Value", 26}, RR_SCHEMA_INT32},
        {{"google.protobuf.Int64Value", 26}, RR_SCHEMA_INT64},
        {{"google.protobuf.StringValue", 27}, RR_SCHEMA_STRING},
        {{"google.protobuf.UInt32Value", 27}, RR_SCHEMA_UINT32},
        {{"google.protobuf.UInt64Value", 27}, RR_SCHEMA_UINT64},
    };
    bool is_time = has_field(message, 1, RR_SCHEMA_INT64) && has_field(message, 2, RR_SCHEMA_INT32);

    if (is_time && rr_slice_equal(message->name, RR_SLICE("google.protobuf.Timestamp"))) {
        return RR_SCHEMA_KNOWN_TIMESTAMP;
    }
    if (is_time && rr_slice_equal(message->name, RR_SLICE("google.protobuf.Duration"))) {
        return RR_SCHEMA_KNOWN_DURATION;
    }
    for (size_t k = 0; k < sizeof wrappers / sizeof wrappers[0]; k++) {
        if (rr_slice_equal(message->name, wrappers[k].name) && has_field(message, 1, wrappers[k].type)) {
            return RR_SCHEMA_KNOWN_WRAPPER;
        }
    }
    return RR_SCHEMA_KNOWN_NONE;
}

/* ---- the whole ---- */

static bool read_files(reading *r)
{
    r->message_count = r->enum_count = 0;
    for (size_t k = 0, at = 0; k < r->source_count; k++) {
        if (!r->sources[k].again) {
            r->files[at] = r->sources[k].file;
            r->file = &r->files[at++];
            if (!read_file(r, &r->sources[k])) {
                return false;
            }
        }
    }
    return true;
}

static bool count_all(reading *r)
{
    for (size_t k = 0; k < r->source_count; k++) {
        r->file = &r->sources[k].file;
        if (!r->sources[k].again && (!check_imports(r, &r->sources[k]) || !count_file(r, r->sources[k].bytes))) {
            return false;
        }
    }
    return take(r, r->file_count, sizeof *r->files, &r->files) &&
           take(r, r->message_count, sizeof *r->messages, &r->messages) &&
           take(r, r->enum_count, sizeof *r->enums, &r->enums);
}

static bool resolve_all(reading *r, const rr_schema *schema)
{
    for (size_t k = 0; k < r->message_count; k++) {
        if (!resolve_fields(r, schema, &r->messages[k])) {
            return false;
        }
    }
    for (size_t k = 0; k < r->message_count; k++) {
        r->messages[k].known = known_of(&r->messages[k]);
        if (!check_entry(r, &r->messages[k])) {
            return false;
        }
    }
    return true;
}

rr_status rr_schema_read(rr_slice set, rr_arena *arena, rr_schema *schema, rr_error *error)
{
    reading r = {.arena = arena, .error = error, .status = RR_OK};
    rr_schema read;

    *schema = (rr_schema){0};
    if (!read_sources(&r, set) || !order_sources(&r) || !count_all(&r) || !read_files(&r)) {
        return r.status;
    }
    read = (rr_schema){.files = r.files,
                       .file_count = r.file_count,
                       .messages = r.messages,
                       .message_count = r.message_count,
                       .enums = r.enums,
                       .enum_count = r.enum_count};
    if (order_names(&r, &read) && resolve_all(&r, &read)) {
        *schema = read;
    }
    return r.status;
}
