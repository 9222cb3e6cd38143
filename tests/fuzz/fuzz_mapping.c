/* Foreign messages under a fixed set of mappings: whatever the bytes, each record is one that its own JSON gives back,
 * decoding again gives the same, and what is refused says why. The first byte chooses the mapping.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "kit.h"
#include "mapping_yaml.h"
#include "record_json.h"

/* FileDescriptorSet of:
 *   syntax = "proto2"; package f; enum E { A = 0; B = 1; }
 *   message M { optional string s = 1; optional int64 i = 2; optional sint32 z = 3; optional bool b = 4;
 *     optional E e = 5; optional double d = 6; optional M m = 7; repeated M r = 8; map<string, int64> c = 9;
 *     map<int32, M> n = 10; oneof o { string os = 11; M om = 12; } optional fixed64 x = 16; }
 * written as bytes of its own by the functions below, so that no other tool is needed. */
static void put_varint(rr_buf *out, uint64_t number)
{
    for (; number > 127; number >>= 7) {
        rr_buf_char(out, (char)((number & 127) | 128));
    }
    rr_buf_char(out, (char)number);
}

static void put_text(rr_buf *out, unsigned number, const char *text, size_t len)
{
    put_varint(out, number << 3 | 2);
    put_varint(out, len);
    rr_buf_put(out, text, len);
}

static void put_number(rr_buf *out, unsigned number, uint64_t value)
{
    put_varint(out, number << 3);
    put_varint(out, value);
}

typedef struct field {
    const char *name;
    unsigned number, label, type; /* label 3: repeated */
    const char *type_name;        /* NULL: none */
    bool in_oneof;
} field;

static void put_field(rr_buf *message, const field *f)
{
    rr_buf inside = {0};

    put_text(&inside, 1, f->name, strlen(f->name));
    put_number(&inside, 3, f->number);
    put_number(&inside, 4, f->label);
    put_number(&inside, 5, f->type);
    if (f->type_name != NULL) {
        put_text(&inside, 6, f->type_name, strlen(f->type_name));
    }
    if (f->in_oneof) {
        put_number(&inside, 9, 0);
    }
    put_text(message, 2, inside.data, inside.len);
    rr_buf_fini(&inside);
}

static void put_entry(rr_buf *message, const char *name, const field *key, const field *value)
{
    rr_buf inside = {0};

    put_text(&inside, 1, name, strlen(name));
    put_field(&inside, key);
    put_field(&inside, value);
    put_text(&inside, 7, "\x38\x01", 2); /* options: map_entry */
    put_text(message, 3, inside.data, inside.len);
    rr_buf_fini(&inside);
}

static void put_message(rr_buf *file)
{
    static const field fields[] = {
        {"s", 1, 1, RR_SCHEMA_STRING, NULL, false},           {"i", 2, 1, RR_SCHEMA_INT64, NULL, false},
        {"z", 3, 1, RR_SCHEMA_SINT32, NULL, false},           {"b", 4, 1, RR_SCHEMA_BOOL, NULL, false},
        {"e", 5, 1, RR_SCHEMA_ENUM, ".f.E", false},           {"d", 6, 1, RR_SCHEMA_DOUBLE, NULL, false},
        {"m", 7, 1, RR_SCHEMA_MESSAGE, ".f.M", false},        {"r", 8, 3, RR_SCHEMA_MESSAGE, ".f.M", false},
        {"c", 9, 3, RR_SCHEMA_MESSAGE, ".f.M.CEntry", false}, {"n", 10, 3, RR_SCHEMA_MESSAGE, ".f.M.NEntry", false},
        {"os", 11, 1, RR_SCHEMA_STRING, NULL, true},          {"om", 12, 1, RR_SCHEMA_MESSAGE, ".f.M", true},
        {"x", 16, 1, RR_SCHEMA_FIXED64, NULL, false},
    };
    static const field text_key = {"key", 1, 1, RR_SCHEMA_STRING, NULL, false},
                       int_key = {"key", 1, 1, RR_SCHEMA_INT32, NULL, false},
                       int_value = {"value", 2, 1, RR_SCHEMA_INT64, NULL, false},
                       message_value = {"value", 2, 1, RR_SCHEMA_MESSAGE, ".f.M", false};
    rr_buf inside = {0};

    put_text(&inside, 1, "M", 1);
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        put_field(&inside, &fields[k]);
    }
    put_entry(&inside, "CEntry", &text_key, &int_value);
    put_entry(&inside, "NEntry", &int_key, &message_value);
    put_text(&inside, 8, "\x0a\x01o", 3);
    put_text(file, 4, inside.data, inside.len);
    rr_buf_fini(&inside);
}

static void put_set(rr_buf *out)
{
    rr_buf file = {0};

    put_text(&file, 1, "f.proto", 7);
    put_text(&file, 2, "f", 1);
    put_message(&file);
    put_text(&file, 5,
             "\x0a\x01"
             "E\x12\x05\x0a\x01"
             "A\x10\x00\x12\x05\x0a\x01"
             "B\x10\x01",
             17);
    put_text(out, 1, file.data, file.len);
    rr_buf_fini(&file);
}

#define RECORD \
    "business_key: [s, {path: m.s, default: ''}, {header: H}], contributor: os," \
    "window: {start: {path: i, unit: ms}, end: {path: x, unit: ns, inclusive: 1us}}," \
    "version: {epoch: {path: z, absent: zero}, number: {path: m.i, add: 1}}," \
    "status: {path: b, values: {true: STREAM_CLOSED}, else: PROVISIONAL}, op: {path: e, values: {A: " \
    "ASSERT, B: SKIP}," \
    "else: RETRACT}, emitted_at: {path: om.i, unit: us}, base_version: c.a," \
    "includes_correction: {base: om.z, version: om.x}, evidence: n.1.s"

static const char *const decodes[] = {
    "{protobuf: {}, skip: {s: skip, empty: true}, record: {" RECORD ", measures: {d: d, i: {path: i, scale: -3}}}}",
    "{protobuf: {}, each: r, record: {" RECORD ", measures: {map: c}}}",
    "{protobuf: {}, each: [{at: m, when: {b: true}}, {at: om, op: RETRACT, withdraws: older}],"
    " record: {" RECORD ", measures: {map: m.c}}}",
    "{protobuf: {framing: confluent}, each: m.r, record: {business_key: [/n.0.s, os], value: c.a}}",
    "{json: {}, skip: {s: skip, empty: true}, record: {" RECORD ", measures: {d: d, i: {path: i, scale: -3}}}}",
    "{json: {}, each: r, record: {" RECORD ", measures: {map: c}}}",
    ("{json: {framing: confluent}, each: [{at: m, when: {b: true}}, {at: om, op: RETRACT}],"
     " record: {window: {start: s, length: {path: d, unit: s}}, value: {path: i, values: {\"1\": 2}}}}"),
};

enum { MAPPINGS = sizeof decodes / sizeof *decodes };

/* `protobuf: {...}` gets the set, which is written to a file of this process and removed again. */
static const rr_mapping *load(const char *decode, const char *set, rr_arena *arena)
{
    static rr_problems problems;
    rr_reading reading = {"fuzz.yaml", arena, &problems};
    rr_schema_files files = {NULL};
    rr_decode loaded;
    rr_buf text = {0};
    const char *at = strstr(decode, "protobuf: {");
    size_t head = at == NULL ? 0 : (size_t)(at - decode) + strlen("protobuf: {");

    rr_buf_put(&text, decode, head);
    if (at != NULL) {
        rr_buf_format(&text, "descriptor_set: %s, message: f.M%s", set, decode[head] == '}' ? "" : ", ");
    }
    rr_buf_text(&text, decode + head);
    rr_mapping_load(&reading, rr_yaml_parse(&reading, rr_arena_copy(arena, rr_buf_view(&text))), NULL, NULL, &files,
                    &loaded);
    rr_buf_fini(&text);
    RR_MUST(loaded.mapping != NULL);
    return loaded.mapping;
}

static const rr_mapping *mapping_of(uint8_t selector)
{
    static const rr_mapping *mappings[MAPPINGS];
    static rr_arena arena;
    char path[] = "/tmp/fuzz_mapping.XXXXXX";
    rr_buf set = {0};
    int file;

    if (mappings[0] == NULL) {
        file = mkstemp(path);
        put_set(&set);
        RR_MUST(file >= 0 && write(file, set.data, set.len) == (ssize_t)set.len);
        close(file);
        for (size_t k = 0; k < MAPPINGS; k++) {
            mappings[k] = load(decodes[k], path, &arena);
        }
        unlink(path);
        rr_buf_fini(&set);
    }
    return mappings[selector % MAPPINGS];
}

static void print(const rr_mapping_result *result, rr_buf *out)
{
    rr_buf_format(out, "%d %.*s\n", (int)result->outcome, (int)result->why.len, result->why.bytes);
    for (size_t k = 0; k < result->count; k++) {
        const rr_mapped *one = &result->records[k];
        bool refused = one->kind == RR_MAPPED_MALFORMED || one->kind == RR_MAPPED_TOO_LARGE;

        RR_MUST(refused == (one->why != NULL) && (!refused || one->why->len != 0));
        rr_buf_format(out, "%d ", (int)one->kind);
        if (one->kind == RR_MAPPED_RECORD) {
            RR_MUST(rr_record_to_json(&one->record, out));
        }
        rr_buf_char(out, '\n');
    }
}

/* Its JSON is a record too, and the same one; names and texts of measures may be what no line can hold. */
static void check_record(const rr_record *record, rr_arena *arena)
{
    static rr_buf first, second;
    rr_record again;
    int64_t clock_us;

    rr_buf_clear(&first);
    rr_buf_clear(&second);
    RR_MUST(rr_record_to_json(record, &first));
    if (first.len <= RR_LIMIT_RECORD_BYTES) {
        RR_MUST(rr_record_from_json(rr_buf_view(&first), arena, &again, &clock_us, NULL) == RR_DECODED_RECORD);
        RR_MUST(rr_record_to_json(&again, &second));
        RR_MUST(first.len != 0 && second.len != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const rr_header header = {{"H", 1}, {"h", 1}};
    static rr_arena scratch;
    static rr_buf first, second;
    fuzz_input in = {data, size};
    const rr_mapping *mapping = mapping_of(fuzz_byte(&in));
    rr_mapping_input input = {.message = fuzz_rest(&in), .subject = {"a.b", 3}, .headers = &header, .header_count = 1};
    rr_mapping_result result;

    rr_buf_clear(&first);
    rr_buf_clear(&second);
    rr_mapping_run(mapping, &input, fuzz_arena(0), &scratch, &result);
    RR_MUST(result.outcome != RR_MAPPING_NO_MEMORY);
    RR_MUST((result.outcome == RR_MAPPING_RECORDS) == (result.count != 0) && result.count <= RR_MAPPING_RECORDS_MAX);
    RR_MUST((result.outcome != RR_MAPPING_MALFORMED && result.outcome != RR_MAPPING_TOO_LARGE) || result.why.len != 0);
    print(&result, &first);
    for (size_t k = 0; k < result.count; k++) {
        if (result.records[k].kind == RR_MAPPED_RECORD) {
            check_record(&result.records[k].record, fuzz_arena(1));
        }
    }
    rr_mapping_run(mapping, &input, fuzz_arena(0), &scratch, &result);
    print(&result, &second);
    RR_MUST(rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second)));
    return 0;
}
