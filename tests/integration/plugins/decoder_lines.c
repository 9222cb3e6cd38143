/* A decoder plugin in one file. A message is records in a line, with spaces between them:
 *
 *   key;start;end;version;number      start and end in microseconds since the epoch, the others as they are
 *   # anything                        no record: skipped
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <rr/plugin.h>

enum { SEPARATOR, MEASURE };

static const rr_plugin_option options_table[] = {
    [SEPARATOR] = {"separator", RR_PLUGIN_TEXT, .preset = ";", .help = "the character between two fields"},
    [MEASURE] = {"measure", RR_PLUGIN_TEXT, .required = true, .help = "the name of the number"},
    RR_PLUGIN_OPTIONS_END,
};

struct rr_decoder {
    char separator;
    const char *measure; /* outlives the decoder */
};

enum { FIELDS = 5, KEY = 0, START, END, VERSION, NUMBER, ROOM = 2048, FIELD_MAX = 512 };

static rr_status lines_open(const rr_decoder_options *options, rr_decoder **decoder, rr_error *error)
{
    const char *separator = options->values[SEPARATOR].text;

    *decoder = NULL;
    if (strlen(separator) != 1 || *separator == ' ') {
        return rr_fail(error, RR_CONFIG, "'separator' must be one character, and no space");
    }
    if (strlen(options->values[MEASURE].text) > FIELD_MAX) {
        return rr_fail(error, RR_CONFIG, "'measure' is longer than %d bytes", FIELD_MAX);
    }
    *decoder = malloc(sizeof **decoder);
    if (*decoder == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    **decoder = (rr_decoder){*separator, options->values[MEASURE].text};
    return RR_OK;
}

static void lines_close(rr_decoder *decoder)
{
    free(decoder);
}

/* ---- protobuf: only what is needed of it ---- */

typedef struct writer {
    char bytes[ROOM];
    size_t len;
} writer;

static void put_varint(writer *w, uint64_t number)
{
    for (; number > 0x7f; number >>= 7) {
        w->bytes[w->len++] = (char)(number | 0x80);
    }
    w->bytes[w->len++] = (char)number;
}

static void put_number(writer *w, unsigned field, uint64_t number)
{
    put_varint(w, field << 3);
    put_varint(w, number);
}

static void put_bytes(writer *w, unsigned field, const char *bytes, size_t len)
{
    put_varint(w, field << 3 | 2);
    put_varint(w, len);
    memcpy(w->bytes + w->len, bytes, len);
    w->len += len;
}

/* ---- one record ---- */

/* False: there are more or fewer fields, or one is too long for the writer. */
static bool split(rr_slice text, char separator, rr_slice fields[FIELDS])
{
    size_t count = 0, from = 0;

    for (size_t at = 0; at <= text.len; at++) {
        if (at == text.len || text.data[at] == separator) {
            if (count == FIELDS || at - from > FIELD_MAX) {
                return false;
            }
            fields[count++] = (rr_slice){text.data + from, at - from};
            from = at + 1;
        }
    }
    return count == FIELDS;
}

static bool parse(rr_slice text, uint64_t *number)
{
    *number = 0;
    for (size_t k = 0; k < text.len; k++) {
        if (text.data[k] < '0' || text.data[k] > '9') {
            return false;
        }
        *number = *number * 10 + (uint64_t)(text.data[k] - '0');
    }
    return text.len != 0 && text.len < 19;
}

static bool write_result(const rr_decoder *decoder, const rr_slice fields[FIELDS], writer *result)
{
    writer window = {.len = 0}, version = {.len = 0}, measure = {.len = 0};
    uint64_t start, end, number;

    if (!parse(fields[START], &start) || !parse(fields[END], &end) || !parse(fields[VERSION], &number)) {
        return false;
    }
    put_number(&window, 1, start);
    put_number(&window, 2, end);
    put_number(&version, 2, number);
    put_bytes(&measure, 1, decoder->measure, strlen(decoder->measure));
    put_bytes(&measure, 3, fields[NUMBER].data, fields[NUMBER].len);
    result->len = 0;
    put_bytes(result, 1, fields[KEY].data, fields[KEY].len);
    put_bytes(result, 2, window.bytes, window.len);
    put_bytes(result, 3, "v1", 2);
    put_bytes(result, 4, version.bytes, version.len);
    put_bytes(result, 5, measure.bytes, measure.len);
    return true;
}

static rr_decoder_answer lines_decode(const rr_decoder *decoder, const rr_decoder_message *message,
                                      rr_decoder_emit *emit, void *context, char why[RR_DECODER_WHY_MAX])
{
    rr_slice rest = message->payload;

    if (rest.len != 0 && *rest.data == '#') {
        return RR_DECODER_SKIP;
    }
    for (size_t number = 1;; number++) {
        const char *space = rest.len == 0 ? NULL : memchr(rest.data, ' ', rest.len);
        rr_slice one = {rest.data, space == NULL ? rest.len : (size_t)(space - rest.data)}, fields[FIELDS];
        writer result;

        if (!split(one, decoder->separator, fields) || !write_result(decoder, fields, &result)) {
            snprintf(why, RR_DECODER_WHY_MAX, "record %zu is not key%cstart%cend%cversion%cnumber", number,
                     decoder->separator, decoder->separator, decoder->separator, decoder->separator);
            return RR_DECODER_MALFORMED;
        }
        if (!emit(context, (rr_slice){result.bytes, result.len}) || space == NULL) {
            return RR_DECODER_RECORDS;
        }
        rest = (rr_slice){space + 1, (size_t)(rest.data + rest.len - space) - 1};
    }
}

static const rr_decoder_ops ops = {.name = "lines",
                                   .options = options_table,
                                   .revision = "1",
                                   .open = lines_open,
                                   .close = lines_close,
                                   .decode = lines_decode};

const rr_plugin rr_plugin_export __asm__("rr_plugin") = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "decoder_lines",
    .help = "Decodes records that are fields in a line.",
    .decoder = &ops,
};
