/* Descriptor sets: what protoc makes of files, and sets that no protoc would make. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "buf.h"
#include "proto_schema.h"

static const char *protoc;
static char folder[] = "/tmp/test_proto_schema-XXXXXX";
static rr_arena arena;
static rr_schema schema;
static rr_error error;

/* ---- sets by protoc ---- */

static void write_file(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The descriptor set of a file in the folder; the caller's to finish. */
static rr_buf compile(const char *name, const char *options)
{
    char command[1024], part[4096];
    rr_buf set = {0};
    FILE *file;
    size_t len;

    snprintf(command, sizeof command, "cd %s && '%s' --descriptor_set_out=set.binpb %s %s", folder, protoc, options,
             name);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/set.binpb", folder);
    file = fopen(command, "rb");
    assert_non_null(file);
    while ((len = fread(part, 1, sizeof part, file)) > 0) {
        rr_buf_put(&set, part, len);
    }
    fclose(file);
    assert_true(rr_buf_ok(&set));
    return set;
}

/* From a copy that is gone afterwards: nothing may point into the bytes. */
static rr_status read_set(rr_slice set)
{
    char *copy = malloc(set.len + 1);
    rr_status status;

    assert_non_null(copy);
    if (set.len != 0) {
        memcpy(copy, set.data, set.len);
    }
    rr_arena_reset(&arena);
    error = (rr_error){0};
    status = rr_schema_read((rr_slice){copy, set.len}, &arena, &schema, &error);
    memset(copy, 0xff, set.len);
    free(copy);
    assert_int_equal(status, error.status);
    return status;
}

static void read_file(const char *name)
{
    rr_buf set = compile(name, "--include_imports");

    if (read_set(rr_buf_view(&set)) != RR_OK) {
        fail_msg("%s: %s", name, error.text);
    }
    rr_buf_fini(&set);
}

static const rr_schema_message *message(const char *name)
{
    const rr_schema_message *found = rr_schema_find_message(&schema, rr_slice_of(name));

    if (found == NULL) {
        fail_msg("no message '%s'", name);
    }
    return found;
}

static const rr_schema_field *field(const char *in, const char *name)
{
    const rr_schema_field *found = rr_schema_find_field(message(in), rr_slice_of(name));

    if (found == NULL) {
        fail_msg("no field '%s' in '%s'", name, in);
    }
    assert_ptr_equal(rr_schema_field_numbered(message(in), found->number), found);
    return found;
}

static void assert_slice(rr_slice slice, const char *expected)
{
    if (!rr_slice_equal(slice, rr_slice_of(expected))) {
        fail_msg("'%.*s' is not '%s'", (int)slice.len, slice.data, expected);
    }
}

static const char results_text[] =
    "syntax = \"proto3\";\n"
    "package acme.v1;\n"
    "import \"shared.proto\";\n"
    "import \"google/protobuf/timestamp.proto\";\n"
    "import \"google/protobuf/wrappers.proto\";\n"
    "enum Kind { option allow_alias = true; KIND_UNKNOWN = 0; DATA = 1; ALSO_DATA = 1; BACK = -3; }\n"
    "message Batch {\n"
    "  repeated Pane panes = 9;\n"
    "  Kind kind = 2;\n"
    "  optional int64 attempt = 3;\n"
    "  google.protobuf.Timestamp sent_at = 4;\n"
    "  map<string, sint64> counts = 5;\n"
    "  map<int32, Pane> by_number = 6;\n"
    "  oneof source { string host = 7; acme.shared.Origin origin = 1; }\n"
    "  google.protobuf.Int64Value maybe = 8;\n"
    "  repeated int32 numbers = 10;\n"
    "  repeated int32 loose = 11 [packed = false];\n"
    "  repeated string names = 12 [json_name = \"Names-Of\"];\n"
    "  optional Kind other_kind = 16;\n"
    "  message Pane {\n"
    "    enum Timing { EARLY = 0; LATE = 1; }\n"
    "    Timing timing = 1;\n"
    "    Pane inner = 2;\n"
    "    Batch batch = 3;\n"
    "    double a_double = 4; float a_float = 5; uint64 a_uint64 = 6; fixed64 a_fixed64 = 7;\n"
    "    fixed32 a_fixed32 = 8; bool a_bool = 9; bytes some_bytes = 10; uint32 a_uint32 = 11;\n"
    "    sfixed32 a_sfixed32 = 12; sfixed64 a_sfixed64 = 13; sint32 a_sint32 = 14; sint64 a_sint64 = 15;\n"
    "    int64 last = 536870911;\n"
    "  }\n"
    "}\n"
    "service Results { rpc Send(Batch) returns (Batch); }\n";

static const char shared_text[] = "syntax = \"proto2\";\n"
                                  "package acme.shared;\n"
                                  "message Origin {\n"
                                  "  required string name = 1;\n"
                                  "  optional int32 port = 2 [default = 42];\n"
                                  "  repeated int32 plain = 3;\n"
                                  "  repeated int32 tight = 4 [packed = true];\n"
                                  "  repeated group Part = 5 { optional int32 size = 1; }\n"
                                  "  extensions 100 to 200;\n"
                                  "}\n"
                                  "message Empty {}\n"
                                  "extend Origin { optional int32 more = 100; }\n";

static void write_protos(void)
{
    char path[256];

    snprintf(path, sizeof path, "%s/google", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/google/protobuf", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("google/protobuf/timestamp.proto", "syntax = \"proto3\"; package google.protobuf;\n"
                                                  "message Timestamp { int64 seconds = 1; int32 nanos = 2; }\n");
    write_file("google/protobuf/wrappers.proto",
               "syntax = \"proto3\"; package google.protobuf;\n"
               "message Int64Value { int64 value = 1; } message StringValue { string value = 1; }\n"
               "message BoolValue { int64 value = 1; } message Duration { int64 seconds = 1; int32 nanos = 2; }\n");
    write_file("results.proto", results_text);
    write_file("shared.proto", shared_text);
}

static void files_and_names(void **state)
{
    (void)state;
    read_file("results.proto");
    assert_int_equal(schema.file_count, 4);
    for (size_t k = 1; k < schema.message_count; k++) {
        assert_true(rr_slice_compare(schema.messages[k - 1].name, schema.messages[k].name) < 0);
    }
    assert_slice(message("acme.v1.Batch")->name, "acme.v1.Batch");
    assert_slice(message("acme.v1.Batch")->file->name, "results.proto");
    assert_slice(message("acme.v1.Batch")->file->package, "acme.v1");
    assert_true(message("acme.v1.Batch")->file->proto3);
    assert_false(message("acme.shared.Origin")->file->proto3);
    assert_ptr_equal(message(".acme.v1.Batch.Pane"), message("acme.v1.Batch.Pane"));
    assert_int_equal(message("acme.shared.Empty")->field_count, 0);
    assert_null(rr_schema_find_message(&schema, RR_SLICE("acme.v1.Pane")));
    assert_null(rr_schema_find_message(&schema, RR_SLICE("")));
    assert_null(rr_schema_find_message(&schema, RR_SLICE("acme.v1.Kind")));
    assert_null(rr_schema_find_field(message("acme.v1.Batch"), RR_SLICE("nothing")));
    assert_null(rr_schema_field_numbered(message("acme.v1.Batch"), 13));
    assert_null(rr_schema_field_numbered(message("acme.shared.Empty"), 1));
}

static void fields_by_number_and_by_either_name(void **state)
{
    const rr_schema_message *batch;

    (void)state;
    read_file("results.proto");
    batch = message("acme.v1.Batch");
    assert_int_equal(batch->field_count, 13);
    for (size_t k = 1; k < batch->field_count; k++) {
        assert_true(batch->fields[k - 1].number < batch->fields[k].number);
    }
    assert_slice(field("acme.v1.Batch", "sent_at")->json_name, "sentAt");
    assert_ptr_equal(field("acme.v1.Batch", "sentAt"), field("acme.v1.Batch", "sent_at"));
    assert_ptr_equal(field("acme.v1.Batch", "Names-Of"), field("acme.v1.Batch", "names"));
    assert_int_equal(field("acme.v1.Batch.Pane", "last")->number, RR_PROTO_NUMBER_MAX);
}

static void types_are_resolved(void **state)
{
    const char *const pane = "acme.v1.Batch.Pane";
    static const struct {
        const char *name;
        rr_schema_type type;
        rr_proto_wire wire;
        const char *word;
    } rows[] = {
        {"a_double", RR_SCHEMA_DOUBLE, RR_PROTO_FIXED64, "double"},
        {"a_float", RR_SCHEMA_FLOAT, RR_PROTO_FIXED32, "float"},
        {"last", RR_SCHEMA_INT64, RR_PROTO_VARINT, "int64"},
        {"a_uint64", RR_SCHEMA_UINT64, RR_PROTO_VARINT, "uint64"},
        {"a_fixed64", RR_SCHEMA_FIXED64, RR_PROTO_FIXED64, "fixed64"},
        {"a_fixed32", RR_SCHEMA_FIXED32, RR_PROTO_FIXED32, "fixed32"},
        {"a_bool", RR_SCHEMA_BOOL, RR_PROTO_VARINT, "bool"},
        {"some_bytes", RR_SCHEMA_BYTES, RR_PROTO_BYTES, "bytes"},
        {"a_uint32", RR_SCHEMA_UINT32, RR_PROTO_VARINT, "uint32"},
        {"a_sfixed32", RR_SCHEMA_SFIXED32, RR_PROTO_FIXED32, "sfixed32"},
        {"a_sfixed64", RR_SCHEMA_SFIXED64, RR_PROTO_FIXED64, "sfixed64"},
        {"a_sint32", RR_SCHEMA_SINT32, RR_PROTO_VARINT, "sint32"},
        {"a_sint64", RR_SCHEMA_SINT64, RR_PROTO_VARINT, "sint64"},
        {"timing", RR_SCHEMA_ENUM, RR_PROTO_VARINT, "enum"},
        {"inner", RR_SCHEMA_MESSAGE, RR_PROTO_BYTES, "message"},
    };

    (void)state;
    read_file("results.proto");
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        assert_int_equal(field(pane, rows[k].name)->type, rows[k].type);
        assert_int_equal(rr_schema_wire(rows[k].type), rows[k].wire);
        assert_string_equal(rr_schema_type_word(rows[k].type), rows[k].word);
    }
    assert_ptr_equal(field(pane, "inner")->message, message(pane));
    assert_ptr_equal(field(pane, "batch")->message, message("acme.v1.Batch"));
    assert_slice(field(pane, "timing")->type_name, "acme.v1.Batch.Pane.Timing");
    assert_ptr_equal(field(pane, "timing")->enumeration,
                     rr_schema_find_enum(&schema, RR_SLICE(".acme.v1.Batch.Pane.Timing")));
    assert_null(field(pane, "timing")->message);
    assert_slice(field("acme.v1.Batch", "origin")->type_name, "acme.shared.Origin");
    assert_int_equal(field("acme.v1.Batch", "host")->type, RR_SCHEMA_STRING);
    assert_int_equal(field("acme.v1.Batch", "host")->type_name.len, 0);
    assert_int_equal(field("acme.v1.Batch", "numbers")->type, RR_SCHEMA_INT32);
    assert_int_equal(field("acme.shared.Origin", "part")->type, RR_SCHEMA_GROUP);
    assert_int_equal(rr_schema_wire(RR_SCHEMA_GROUP), RR_PROTO_GROUP);
    assert_ptr_equal(field("acme.shared.Origin", "part")->message, message("acme.shared.Origin.Part"));
}

static void presence_and_repetition(void **state)
{
    static const struct {
        const char *in, *name;
        bool has_presence, repeated, packed, required;
    } rows[] = {
        {"acme.v1.Batch", "kind", false, false, false, false},
        {"acme.v1.Batch", "attempt", true, false, false, false},
        {"acme.v1.Batch", "other_kind", true, false, false, false},
        {"acme.v1.Batch", "sent_at", true, false, false, false},
        {"acme.v1.Batch", "host", true, false, false, false},
        {"acme.v1.Batch", "panes", false, true, false, false},
        {"acme.v1.Batch", "numbers", false, true, true, false},
        {"acme.v1.Batch", "loose", false, true, false, false},
        {"acme.v1.Batch", "names", false, true, false, false},
        {"acme.v1.Batch", "counts", false, true, false, false},
        {"acme.v1.Batch.Pane", "a_bool", false, false, false, false},
        {"acme.shared.Origin", "name", true, false, false, true},
        {"acme.shared.Origin", "port", true, false, false, false},
        {"acme.shared.Origin", "plain", false, true, false, false},
        {"acme.shared.Origin", "tight", false, true, true, false},
    };

    (void)state;
    read_file("results.proto");
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const rr_schema_field *found = field(rows[k].in, rows[k].name);

        if (found->has_presence != rows[k].has_presence || found->repeated != rows[k].repeated ||
            found->packed != rows[k].packed || found->required != rows[k].required) {
            fail_msg("%s.%s: presence %d, repeated %d, packed %d, required %d", rows[k].in, rows[k].name,
                     found->has_presence, found->repeated, found->packed, found->required);
        }
    }
}

static void oneofs_and_maps(void **state)
{
    const rr_schema_message *batch;
    const rr_schema_oneof *oneof;

    (void)state;
    read_file("results.proto");
    batch = message("acme.v1.Batch");
    assert_int_equal(batch->oneof_count, 1); /* not those of `optional` */
    oneof = &batch->oneofs[0];
    assert_slice(oneof->name, "source");
    assert_int_equal(oneof->field_count, 2);
    assert_ptr_equal(oneof->fields[0], field("acme.v1.Batch", "origin"));
    assert_ptr_equal(oneof->fields[1], field("acme.v1.Batch", "host"));
    assert_ptr_equal(oneof->fields[0]->oneof, oneof);
    assert_null(field("acme.v1.Batch", "attempt")->oneof);
    assert_true(rr_schema_is_map(field("acme.v1.Batch", "counts")));
    assert_false(rr_schema_is_map(field("acme.v1.Batch", "panes")));
    assert_int_equal(rr_schema_field_numbered(field("acme.v1.Batch", "counts")->message, 1)->type, RR_SCHEMA_STRING);
    assert_int_equal(rr_schema_field_numbered(field("acme.v1.Batch", "counts")->message, 2)->type, RR_SCHEMA_SINT64);
    assert_ptr_equal(rr_schema_field_numbered(field("acme.v1.Batch", "by_number")->message, 2)->message,
                     message("acme.v1.Batch.Pane"));
}

static void values_of_enums(void **state)
{
    const rr_schema_enum *kind;

    (void)state;
    read_file("results.proto");
    kind = field("acme.v1.Batch", "kind")->enumeration;
    assert_slice(kind->name, "acme.v1.Kind");
    assert_int_equal(kind->value_count, 4);
    assert_slice(rr_schema_value_numbered(kind, 1)->name, "DATA"); /* the first of two */
    assert_int_equal(rr_schema_find_value(kind, RR_SLICE("ALSO_DATA"))->number, 1);
    assert_int_equal(rr_schema_find_value(kind, RR_SLICE("BACK"))->number, -3);
    assert_slice(rr_schema_value_numbered(kind, -3)->name, "BACK");
    assert_null(rr_schema_value_numbered(kind, 2));
    assert_null(rr_schema_find_value(kind, RR_SLICE("NOTHING")));
}

static void well_known_types(void **state)
{
    (void)state;
    read_file("results.proto");
    assert_int_equal(field("acme.v1.Batch", "sent_at")->message->known, RR_SCHEMA_KNOWN_TIMESTAMP);
    assert_int_equal(field("acme.v1.Batch", "maybe")->message->known, RR_SCHEMA_KNOWN_WRAPPER);
    assert_int_equal(message("google.protobuf.StringValue")->known, RR_SCHEMA_KNOWN_WRAPPER);
    assert_int_equal(message("google.protobuf.Duration")->known, RR_SCHEMA_KNOWN_DURATION);
    assert_int_equal(message("google.protobuf.BoolValue")->known, RR_SCHEMA_KNOWN_NONE); /* its field is no bool */
    assert_int_equal(message("acme.v1.Batch")->known, RR_SCHEMA_KNOWN_NONE);
}

static void a_missing_import_is_named(void **state)
{
    rr_buf set;

    (void)state;
    set = compile("results.proto", "");
    assert_int_equal(read_set(rr_buf_view(&set)), RR_CONFIG);
    assert_string_equal(error.text,
                        "the descriptor set lacks file 'shared.proto', which 'results.proto' imports; write "
                        "it with --include_imports (buf: without --exclude-imports)");
    assert_int_equal(schema.message_count, 0);
    rr_buf_fini(&set);
}

static void sets_joined_with_cat(void **state)
{
    rr_buf set = compile("results.proto", "--include_imports"), other = compile("shared.proto", "");
    size_t len = set.len;

    (void)state;
    rr_buf_slice(&set, rr_buf_view(&other));
    assert_int_equal(read_set(rr_buf_view(&set)), RR_OK);
    assert_int_equal(schema.file_count, 4);
    /* the same file, but not the same bytes */
    rr_buf_fini(&other);
    write_file("shared.proto", "syntax = \"proto3\"; message Other {}");
    other = compile("shared.proto", "");
    write_file("shared.proto", shared_text);
    set.len = len;
    rr_buf_slice(&set, rr_buf_view(&other));
    assert_int_equal(read_set(rr_buf_view(&set)), RR_CONFIG);
    assert_non_null(strstr(error.text, "file 'shared.proto' is in the descriptor set twice, and differs"));
    rr_buf_fini(&other);
    rr_buf_fini(&set);
}

/* ---- sets by hand ---- */

/* A message as text: a field is its number, and then `:5` for a varint, `'text'` or `{...}` for a message. */
static void encode(const char **at, rr_buf *out)
{
    for (; **at != '\0' && **at != '}'; ++*at) {
        rr_buf inner = {0};
        unsigned long number;

        if (**at == ' ') {
            continue;
        }
        number = strtoul(*at, (char **)(uintptr_t)at, 10);
        if (**at == ':') {
            rr_buf_char(out, (char)(number << 3));
            rr_buf_char(out, (char)strtoul(*at + 1, (char **)(uintptr_t)at, 10));
            --*at;
        } else {
            if (*(*at)++ == '{') {
                encode(at, &inner);
            } else {
                for (; **at != '\''; ++*at) {
                    rr_buf_char(&inner, **at);
                }
            }
            assert_true(number < 16 && inner.len < 128);
            rr_buf_char(out, (char)(number << 3 | 2));
            rr_buf_char(out, (char)inner.len);
            rr_buf_slice(out, rr_buf_view(&inner));
        }
        rr_buf_fini(&inner);
    }
}

static rr_status read_text(const char *text)
{
    rr_buf set = {0};
    rr_status status;

    encode(&text, &set);
    assert_int_equal(*text, '\0');
    status = read_set(rr_buf_view(&set));
    rr_buf_fini(&set);
    return status;
}

static void assert_reads(const char *text)
{
    if (read_text(text) != RR_OK) {
        fail_msg("%s: %s", text, error.text);
    }
}

static void json_names_are_made(void **state)
{
    (void)state;
    assert_reads("1{1'f' 4{1'M' 2{1'at_most_2' 3:1 5:5} 2{1'_a__b_' 3:2 5:5} 2{1'a_B' 3:3 5:5} 2{1'x' 3:4 "
                 "5:5 10'X-Y'}}}");
    assert_slice(schema.messages[0].fields[0].json_name, "atMost2");
    assert_slice(schema.messages[0].fields[1].json_name, "AB");
    assert_slice(schema.messages[0].fields[2].json_name, "aB");
    assert_slice(schema.messages[0].fields[3].json_name, "X-Y");
    assert_false(schema.files[0].proto3);
    assert_true(schema.messages[0].fields[0].has_presence);
}

static void types_are_found_from_inside_outwards(void **state)
{
    (void)state;
    assert_reads("1{1'f' 2'a.b' 4{1'N'} 4{1'M' 3{1'N'} 3{1'In' 2{1'x' 3:1 6'N'} 2{1'y' 3:2 6'.a.b.N'}"
                 " 2{1'z' 3:3 6'b.N'} 2{1'e' 3:4 6'E'}}} 5{1'E'}}");
    assert_slice(field("a.b.M.In", "x")->type_name, "a.b.M.N");
    assert_slice(field("a.b.M.In", "y")->type_name, "a.b.N");
    assert_slice(field("a.b.M.In", "z")->type_name, "a.b.N");
    assert_int_equal(field("a.b.M.In", "x")->type, RR_SCHEMA_MESSAGE);
    assert_true(field("a.b.M.In", "x")->has_presence);
    assert_int_equal(field("a.b.M.In", "e")->type, RR_SCHEMA_ENUM);
    assert_slice(field("a.b.M.In", "e")->type_name, "a.b.E");
    assert_reads("1{1'f' 4{1'A' 2{1'b' 3:1 6'B'}} 4{1'B' 2{1'a' 3:1 6'A'}}}"); /* each holds the other */
    assert_ptr_equal(field("A", "b")->message->fields[0].message, message("A"));
}

static void what_others_add_is_skipped(void **state)
{
    (void)state;
    assert_reads("1{1'f' 14{9'x'} 4{1'M' 14:1 2{1'n' 3:1 5:5 14'x' 8{1:1 14:2}} 7{14:1 2:1} 9{1:5}} 6{1'S'} "
                 "7{1'ext' 2'.M'}"
                 " 5{1'E' 2{1'V' 2:0 14:7} 13'x'} 8{1'x'} 9{1'y'} 3'g' 10:0} 15:3 1{1'g'} 1:9");
    assert_int_equal(schema.file_count, 2);
    assert_int_equal(message("M")->fields[0].type, RR_SCHEMA_INT32);
}

static void wrong_sets(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "there is no file in the descriptor set; write it with `protoc"},
        {"2'x'", "there is no file in the descriptor set"},
        {"1{}", "a file of the descriptor set has no name"},
        {"1{1'a\nb'}", "a file of the descriptor set has no name"},
        {"1{1'f' 2'a..b'}", "or no proper package"},
        {"1{1'f' 2'a.'}", "or no proper package"},
        {"1{1'f' 12'editions' 14:1}", "file 'f' is not written in proto2 or proto3 but in an edition of protobuf"},
        {"1{1'f' 3'gone.proto'}", "lacks file 'gone.proto', which 'f' imports"},
        {"1{1'f' 4{}}", "file 'f' of the descriptor set has a message without a proper name"},
        {"1{1'f' 4{1'1M'}}", "a message without a proper name"},
        {"1{1'f' 4{1'a.b'}}", "a message without a proper name"},
        {"1{1'f' 5{1''}}", "an enum without a proper name"},
        {"1{1'f' 5{1'E' 2{2:1}}}", "a value of an enum without a proper name"},
        {"1{1'f' 4{1'M' 2{3:1 5:5}}}", "a field without a proper name"},
        {"1{1'f' 4{1'M' 8{} 2{1'n' 3:1 5:5 9:0}}}", "a oneof without a proper name"},
        {"1{1'f' 4{1'M' 2{1'n' 5:5}}}", "field 'n' of message 'M' has a number or a type that protobuf does not know"},
        {"1{1'f' 4{1'M' 2{1'n' 3:1 5:19}}}", "a number or a type that protobuf does not know"},
        {"1{1'f' 4{1'M' 2{1'n' 3:1 5:5} 2{1'o' 3:1 5:5}}}",
         "message 'M' of the descriptor set has two fields of the number 1"},
        {"1{1'f' 4{1'M' 2{1'n' 3:1}}}",
         "field 'n' of message 'M' is of type '', which the descriptor set does not define"},
        {"1{1'f' 4{1'M' 2{1'n' 3:1 5:11 6'.a.B'}}}",
         "is of type '.a.B', which the descriptor set does not define; write it with --include_imports"},
        {"1{1'f' 4{1'M' 2{1'n' 3:1 5:14 6'.M'}}}", "is a message by its type, and an enum by the type's name"},
        {"1{1'f' 5{1'E'} 4{1'M' 2{1'n' 3:1 5:11 6'.E'}}}", "or the other way round"},
        {"1{1'f' 4{1'M'}} 1{1'g' 4{1'M'}}", "'M' is declared twice in the descriptor set, in 'f' and in 'g'"},
        {"1{1'f' 5{1'M'}} 1{1'g' 4{1'M'}}", "'M' is declared twice"},
        {"1{1'f' 5{1'M'} 5{1'M'}}", "'M' is declared twice"},
        {"1{1'f' 4{1'M' 2{1'n' 3:1 5:5 9:0}}}", "stands in a oneof that the descriptor set does not declare"},
        {"1{1'f' 4{1'M' 8{1'o'} 2{1'n' 3:1 4:3 5:5 9:0}}}", "or that it cannot stand in"},
        {"1{1'f' 4{1'M' 8{1'o'} 8{1'p'} 2{1'n' 3:1 5:5 9:1}}}", "oneof 'o' of message 'M' has no field"},
        {"1{1'f' 4{1'M' 7{7:1} 2{1'key' 3:1 5:5}}}", "'M' of the descriptor set is marked as the entry of a map"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        if (read_text(rows[k].text) != RR_CONFIG || strstr(error.text, rows[k].why) == NULL) {
            fail_msg("%s: %s", rows[k].text, error.text);
        }
        assert_int_equal(schema.message_count, 0);
    }
    assert_int_equal(read_set(RR_SLICE("syntax = \"proto3\";\n")), RR_CONFIG);
    assert_non_null(strstr(error.text, "not a descriptor set"));
}

/* A file "f" with messages inside each other. */
static rr_status nested(size_t deep)
{
    rr_buf all = {0}, inner = {0};
    rr_status status;

    for (size_t k = 0; k <= deep; k++) {
        rr_buf outer = {0};

        rr_buf_text(&outer, k == deep ? "\x0a\x01"
                                        "f"
                                      : "\x0a\x01M");
        if (k != 0) {
            rr_buf_char(&outer, k == deep ? '\x22' : '\x1a');
            rr_buf_char(&outer, (char)(inner.len & 0x7f) | '\x80');
            rr_buf_char(&outer, (char)(inner.len >> 7));
        }
        rr_buf_slice(&outer, rr_buf_view(&inner));
        rr_buf_fini(&inner);
        inner = outer;
    }
    rr_buf_text(&all, "\x0a");
    rr_buf_char(&all, (char)(inner.len & 0x7f) | '\x80');
    rr_buf_char(&all, (char)(inner.len >> 7));
    rr_buf_slice(&all, rr_buf_view(&inner));
    status = read_set(rr_buf_view(&all));
    rr_buf_fini(&inner);
    rr_buf_fini(&all);
    return status;
}

static void messages_nest_so_deep(void **state)
{
    (void)state;
    assert_int_equal(nested(RR_SCHEMA_NESTING_MAX), RR_OK);
    assert_int_equal(schema.message_count, RR_SCHEMA_NESTING_MAX);
    assert_int_equal(nested(RR_SCHEMA_NESTING_MAX + 1), RR_CONFIG);
    assert_non_null(strstr(error.text, "more than 32 deep"));
}

static void cut_off_anywhere_is_no_schema(void **state)
{
    rr_buf set = compile("results.proto", "--include_imports");

    (void)state;
    for (size_t len = 0; len < set.len; len++) {
        rr_status status = read_set((rr_slice){set.data, len});

        assert_true(status == RR_CONFIG || schema.file_count < 4);
    }
    rr_buf_fini(&set);
}

static void memory_that_ends_is_said(void **state)
{
    rr_buf set = compile("results.proto", "--include_imports");
    rr_arena small;

    (void)state;
    rr_arena_init(&small, 1000);
    assert_int_equal(rr_schema_read(rr_buf_view(&set), &small, &schema, &error), RR_MEMORY);
    assert_string_equal(error.text, "the descriptor set takes more memory than it may");
    rr_arena_fini(&small);
    rr_buf_fini(&set);
}

static int init(void **state)
{
    (void)state;
    rr_arena_init(&arena, 0);
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    write_protos();
    return 0;
}

static int fini(void **state)
{
    char command[256];

    (void)state;
    rr_arena_fini(&arena);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_and_names),
        cmocka_unit_test(fields_by_number_and_by_either_name),
        cmocka_unit_test(types_are_resolved),
        cmocka_unit_test(presence_and_repetition),
        cmocka_unit_test(oneofs_and_maps),
        cmocka_unit_test(values_of_enums),
        cmocka_unit_test(well_known_types),
        cmocka_unit_test(a_missing_import_is_named),
        cmocka_unit_test(sets_joined_with_cat),
        cmocka_unit_test(json_names_are_made),
        cmocka_unit_test(types_are_found_from_inside_outwards),
        cmocka_unit_test(what_others_add_is_skipped),
        cmocka_unit_test(wrong_sets),
        cmocka_unit_test(messages_nest_so_deep),
        cmocka_unit_test(cut_off_anywhere_is_no_schema),
        cmocka_unit_test(memory_that_ends_is_said),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s PROTOC-C\n", argv[0]);
        return 64;
    }
    protoc = argv[1];
    return cmocka_run_group_tests(tests, init, fini);
}
