/* Any bytes as a sample: each line a message, of JSON or of protobuf. What is printed holds its bounds, and no line of it
 * begins with what a message says. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "suggest.h"

enum { CAP = 64 * 1024 * 1024 };

/* message M { string s = 1; int64 i = 2; M m = 3; repeated M l = 4; map<string, int64> p = 5; double d = 6; } */
static const rr_schema_message *make_schema(void)
{
    static rr_schema_file file = {.name = {"m", 1}, .proto3 = true};
    static rr_schema_field pair[] = {
        {.name = {"key", 3}, .number = 1, .type = RR_SCHEMA_STRING},
        {.name = {"value", 5}, .number = 2, .type = RR_SCHEMA_INT64},
    };
    static rr_schema_message entry = {
        .name = {"e", 1}, .file = &file, .fields = pair, .field_count = 2, .map_entry = true};
    static rr_schema_field fields[] = {
        {.name = {"s", 1}, .number = 1, .type = RR_SCHEMA_STRING},
        {.name = {"i", 1}, .number = 2, .type = RR_SCHEMA_INT64},
        {.name = {"m", 1}, .number = 3, .type = RR_SCHEMA_MESSAGE, .has_presence = true},
        {.name = {"l", 1}, .number = 4, .type = RR_SCHEMA_MESSAGE, .repeated = true},
        {.name = {"p", 1}, .number = 5, .type = RR_SCHEMA_MESSAGE, .repeated = true, .message = &entry},
        {.name = {"d", 1}, .number = 6, .type = RR_SCHEMA_DOUBLE},
    };
    static rr_schema_message message = {.name = {"M", 1}, .file = &file, .fields = fields, .field_count = 6};

    fields[2].message = fields[3].message = &message;
    return &message;
}

static void check_output(rr_slice out)
{
    static const char beginnings[] = "# \nsc";

    RR_MUST(out.len != 0 && out.data[out.len - 1] == '\n');
    for (size_t k = 0; k + 1 < out.len; k++) {
        RR_MUST((unsigned char)out.data[k] >= ' ' || out.data[k] == '\n');
        RR_MUST(out.data[k] != '\n' || strchr(beginnings, out.data[k + 1]) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rr_arena *arena = fuzz_arena(0);
    rr_suggest_origin origin = {"nats://a:1", "S", NULL, NULL, NULL};
    fuzz_input in = {data, size};
    bool is_proto = fuzz_byte(&in) % 2 != 0;
    const char *at = (const char *)in.at, *end = at + in.left;
    rr_buf out = {0};
    rr_sample sample;

    arena->cap = CAP;
    RR_MUST(rr_sample_init(&sample, arena, is_proto ? make_schema() : NULL));
    for (uint64_t sequence = 1; at < end; sequence++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        rr_slice payload = {at, (size_t)((line == NULL ? end : line) - at)};

        if (!rr_sample_add(&sample, &(rr_sample_message){RR_SLICE("a.b"), payload, sequence, (int64_t)sequence})) {
            break;
        }
        at = line == NULL ? end : line + 1;
    }
    RR_MUST(sample.path_count <= RR_SAMPLE_PATHS_MAX && sample.message_count <= RR_SAMPLE_MESSAGES_MAX);
    if (sample.message_count != 0 && rr_suggest_write(&sample, &origin, &out)) {
        check_output(rr_buf_view(&out));
    }
    rr_buf_fini(&out);
    return 0;
}
