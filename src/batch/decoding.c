/* Holds a plugin's decoder to its port. Records are gathered first, and read when the decoder's answer is known: those of a
 * message that is refused as a whole take nothing of the arena. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decoding.h"

#include "limits.h"
#include "record_proto.h"
#include "utf8.h"

_Static_assert((int)RR_DECODER_RECORDS_MAX == (int)RR_MAPPING_RECORDS_MAX, "rr/decoder.h says the limit");

typedef struct emitted {
    rr_slice bytes; /* in the scratch; empty where it is too long */
    size_t len;     /* as emitted */
} emitted;

typedef struct gathering {
    rr_arena *scratch;
    emitted records[RR_MAPPING_RECORDS_MAX];
    size_t count;
    bool too_many, no_memory;
} gathering;

static bool gather(void *context, rr_slice result)
{
    gathering *g = context;
    emitted *next = &g->records[g->count];

    if (g->too_many || g->no_memory || g->count == RR_MAPPING_RECORDS_MAX) {
        g->too_many = !g->no_memory;
        return false;
    }
    *next = (emitted){.len = result.len};
    if (result.len != 0 && result.len <= RR_LIMIT_RECORD_BYTES) {
        next->bytes = rr_arena_copy(g->scratch, result);
        g->no_memory = next->bytes.data == NULL;
    }
    g->count += g->no_memory ? 0 : 1;
    return !g->no_memory;
}

static void refuse(rr_mapping_result *result, rr_mapping_outcome outcome, const char *why)
{
    result->outcome = outcome;
    result->records = NULL;
    result->count = 0;
    result->why.len = 0;
    rr_text_put(&result->why, why);
}

/* It ends up in message headers and on terminals, and may quote the message. */
static void clean_text(char *text)
{
    rr_slice rest = rr_slice_of(text);

    while (rest.len != 0) {
        size_t len = rr_utf8_char_len(rest);

        if (len == 0 || (len == 1 && ((unsigned char)*rest.data < 0x20 || *rest.data == 0x7f))) {
            text[rest.data - text] = '?';
            len = 1;
        }
        rest.data += len;
        rest.len -= len;
    }
}

static rr_mapped_kind kind_of(rr_decoded decoded)
{
    return decoded == RR_DECODED_RECORD      ? RR_MAPPED_RECORD
           : decoded == RR_DECODED_TOO_LARGE ? RR_MAPPED_TOO_LARGE
                                             : RR_MAPPED_MALFORMED;
}

/* False: memory ran out. */
static bool read_record(const emitted *from, rr_arena *arena, rr_mapped *to)
{
    rr_text why = {.len = 0};
    rr_text *kept;
    /* What is too long was not copied: its length alone is looked at. */
    rr_slice bytes = {from->bytes.data, from->len};
    rr_decoded decoded = rr_record_from_proto(bytes, false, arena, &to->record, NULL, &why);

    to->kind = kind_of(decoded);
    if (decoded == RR_DECODED_NO_MEMORY || decoded == RR_DECODED_RECORD) {
        return decoded == RR_DECODED_RECORD;
    }
    kept = rr_arena_take(arena, sizeof *kept);
    if (kept != NULL) {
        *kept = why;
    }
    to->why = kept;
    return kept != NULL;
}

static void read_records(const gathering *g, rr_arena *arena, rr_mapping_result *result)
{
    rr_mapped *records = rr_arena_zero(arena, g->count * sizeof *records);

    for (size_t k = 0; k < g->count; k++) {
        if (records == NULL || !read_record(&g->records[k], arena, &records[k])) {
            refuse(result, RR_MAPPING_NO_MEMORY, "");
            return;
        }
    }
    *result = (rr_mapping_result){.outcome = RR_MAPPING_RECORDS, .records = records, .count = g->count};
}

static void take_answer(const gathering *g, rr_decoder_answer answer, const char *why, rr_arena *arena,
                        rr_mapping_result *result)
{
    if (g->no_memory || answer == RR_DECODER_NO_MEMORY) {
        refuse(result, RR_MAPPING_NO_MEMORY, "");
    } else if (g->too_many) {
        refuse(result, RR_MAPPING_TOO_LARGE, "the message has more than 256 records");
    } else if (answer == RR_DECODER_MALFORMED) {
        refuse(result, RR_MAPPING_MALFORMED, *why == '\0' ? "the decoder gives no reason" : why);
    } else if (answer == RR_DECODER_SKIP && g->count == 0) {
        refuse(result, RR_MAPPING_SKIPPED, "");
    } else if (answer == RR_DECODER_SKIP) {
        refuse(result, RR_MAPPING_MALFORMED, "the decoder emitted records and then skipped the message");
    } else if (answer == RR_DECODER_RECORDS && g->count == 0) {
        refuse(result, RR_MAPPING_MALFORMED, "the decoder emitted no record and did not skip the message");
    } else if (answer == RR_DECODER_RECORDS) {
        read_records(g, arena, result);
    } else {
        refuse(result, RR_MAPPING_MALFORMED, "the decoder gave an answer that does not exist");
    }
}

void rr_decoder_run(const rr_decoder_ops *ops, const rr_decoder *decoder, const rr_decoder_message *message,
                    rr_arena *arena, rr_arena *scratch, rr_mapping_result *result)
{
    char why[RR_DECODER_WHY_MAX] = "";
    gathering g;
    rr_decoder_answer answer;

    rr_arena_reset(scratch);
    g.scratch = scratch;
    g.count = 0;
    g.too_many = g.no_memory = false;
    answer = ops->decode(decoder, message, gather, &g, why);
    why[sizeof why - 1] = '\0';
    clean_text(why);
    take_answer(&g, answer, why, arena, result);
}

static void print_value(const rr_plugin_value *value, rr_buf *out)
{
    rr_buf_json(out, rr_slice_of(value->name));
    rr_buf_char(out, ':');
    if (value->text == NULL) {
        rr_buf_text(out, "null");
    } else if (value->type == RR_PLUGIN_BOOL) {
        rr_buf_text(out, value->boolean ? "true" : "false");
    } else if (value->type == RR_PLUGIN_INTEGER || value->type == RR_PLUGIN_DURATION) {
        rr_buf_i64(out, value->number);
    } else {
        rr_buf_json(out, rr_slice_of(value->text));
    }
}

void rr_decoder_print(const rr_decoder_ops *ops, const rr_decoder_options *options, rr_buf *out)
{
    rr_buf_text(out, "{\"decoder\":");
    rr_buf_json(out, rr_slice_of(ops->name));
    rr_buf_text(out, ",\"revision\":");
    rr_buf_json(out, rr_slice_of(ops->revision));
    rr_buf_text(out, ",\"options\":{");
    for (size_t k = 0; k < options->value_count; k++) {
        rr_buf_text(out, k == 0 ? "" : ",");
        print_value(&options->values[k], out);
    }
    rr_buf_text(out, "}}");
}
