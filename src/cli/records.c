/* Records of a file, line by line or message by message. A line that is longer than the limit of a record is read to
 * its end, but not kept. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"

#include <errno.h>
#include <stdlib.h>

#include "limits.h"
#include "record_json.h"
#include "record_proto.h"

rr_status rr_records_open(rr_records *records, const char *path, const char *input, rr_error *error)
{
    bool is_stdin = path == NULL || strcmp(path, "-") == 0;

    *records = (rr_records){.name = is_stdin ? "standard input" : path, .room = RR_LIMIT_RECORD_BYTES + 2};
    if (strcmp(input, "json") != 0 && strcmp(input, "protobuf") != 0) {
        return rr_fail(error, RR_USAGE, "--input is json or protobuf, not '%s'", input);
    }
    records->protobuf = strcmp(input, "protobuf") == 0;
    records->file = is_stdin ? stdin : fopen(path, "rb");
    if (records->file == NULL) {
        return rr_fail(error, RR_IO, "%s: %s", path, strerror(errno));
    }
    records->delimited = (rr_delimited){.file = records->file, .name = records->name};
    records->bytes = malloc(records->room);
    return records->bytes == NULL ? rr_fail(error, RR_MEMORY, "no memory for a line") : RR_OK;
}

void rr_records_close(rr_records *records)
{
    rr_delimited_fini(&records->delimited);
    free(records->bytes);
    if (records->file != NULL && records->file != stdin) {
        fclose(records->file);
    }
}

/* Reads one line without its line feed. *too_large: the line is longer than the limit of a record, and was not kept. */
static bool read_line(rr_records *records, rr_slice *line, bool *too_large)
{
    size_t len = 0;
    int c = EOF;

    *too_large = false;
    while ((c = getc_unlocked(records->file)) != EOF && c != '\n') {
        if (len < records->room) {
            records->bytes[len++] = (char)c;
        }
    }
    *too_large = len > RR_LIMIT_RECORD_BYTES;
    *line = (rr_slice){records->bytes, len};
    return c != EOF || len != 0;
}

static rr_status next_line(rr_records *records, rr_arena *arena, rr_decoded *decoded, rr_record *record,
                           int64_t *clock_us, rr_text *why, bool *end, rr_error *error)
{
    rr_slice line;
    bool too_large;

    if (!read_line(records, &line, &too_large)) {
        *end = true;
        return ferror(records->file) ? rr_fail(error, RR_IO, "%s: line %llu: %s", records->name,
                                               (unsigned long long)records->line + 1, strerror(errno))
                                     : RR_OK;
    }
    records->line++;
    *decoded = too_large ? RR_DECODED_TOO_LARGE : rr_record_from_json(line, arena, record, clock_us, why);
    return RR_OK;
}

static rr_status next_message(rr_records *records, rr_arena *arena, rr_decoded *decoded, rr_record *record,
                              int64_t *clock_us, rr_text *why, bool *end, rr_error *error)
{
    rr_slice message;

    switch (rr_delimited_read(&records->delimited, &message, error)) {
    case RR_DELIMITED_END: *end = true; return RR_OK;
    case RR_DELIMITED_FAILED: return error->status;
    case RR_DELIMITED_TOO_LARGE: *decoded = RR_DECODED_TOO_LARGE; break;
    case RR_DELIMITED_RECORD: *decoded = rr_record_from_proto(message, true, arena, record, clock_us, why); break;
    }
    records->line++;
    return RR_OK;
}

rr_status rr_records_next(rr_records *records, rr_arena *arena, rr_decoded *decoded, rr_record *record,
                          int64_t *clock_us, rr_text *why, bool *end, rr_error *error)
{
    rr_status status;

    *end = false;
    *record = (rr_record){0};
    why->len = 0;
    status = records->protobuf ? next_message(records, arena, decoded, record, clock_us, why, end, error)
                               : next_line(records, arena, decoded, record, clock_us, why, end, error);
    if (status == RR_OK && !*end && *decoded == RR_DECODED_NO_MEMORY) {
        return rr_fail(error, RR_MEMORY, "%s: record %llu: no memory to decode it", records->name,
                       (unsigned long long)records->line);
    }
    return status;
}
