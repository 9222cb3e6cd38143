/* Length-delimited records of a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delimited.h"

#include <stdlib.h>

#include "limits.h"

enum { VARINT_MAX = 10 };

static rr_delimited_next failed(rr_delimited *reader, rr_error *error, const char *what)
{
    if (ferror(reader->file)) {
        rr_fail(error, RR_IO, "%s: cannot be read at byte %llu", reader->name, (unsigned long long)reader->offset);
    } else {
        rr_fail(error, RR_INPUT, "%s: the record at byte %llu %s", reader->name, (unsigned long long)reader->start,
                what);
    }
    return RR_DELIMITED_FAILED;
}

static rr_delimited_next read_length(rr_delimited *reader, uint64_t *length, rr_error *error)
{
    *length = 0;
    for (unsigned at = 0; at < VARINT_MAX; at++) {
        int byte = getc_unlocked(reader->file);

        if (byte == EOF) {
            return at == 0 && !ferror(reader->file) ? RR_DELIMITED_END
                                                    : failed(reader, error, "is cut off: the file ends in its length");
        }
        reader->offset++;
        if (at == VARINT_MAX - 1 && byte > 1) {
            break;
        }
        *length |= (uint64_t)(byte & 0x7f) << (7 * at);
        if (byte < 0x80) {
            return RR_DELIMITED_RECORD;
        }
    }
    return failed(reader, error, "does not begin with a length: is this a file of length-delimited messages?");
}

static bool read_exactly(rr_delimited *reader, size_t len)
{
    size_t got = len == 0 ? 0 : fread(reader->bytes, 1, len, reader->file);

    reader->offset += got;
    return got == len;
}

static rr_delimited_next skip(rr_delimited *reader, uint64_t length, rr_error *error)
{
    for (uint64_t left = length; left != 0;) {
        size_t part = left < reader->most ? (size_t)left : reader->most;

        if (!read_exactly(reader, part)) {
            return failed(reader, error, "is over the size limit, and the file ends before it does: a damaged length?");
        }
        left -= part;
    }
    return RR_DELIMITED_TOO_LARGE;
}

rr_delimited_next rr_delimited_read(rr_delimited *reader, rr_slice *record, rr_error *error)
{
    uint64_t length;
    rr_delimited_next next;

    reader->most = reader->most == 0 ? RR_LIMIT_RECORD_BYTES : reader->most;
    reader->bytes = reader->bytes == NULL ? malloc(reader->most) : reader->bytes;
    if (reader->bytes == NULL) {
        rr_fail(error, RR_MEMORY, "%s: no memory for a record", reader->name);
        return RR_DELIMITED_FAILED;
    }
    reader->start = reader->offset;
    next = read_length(reader, &length, error);
    if (next != RR_DELIMITED_RECORD) {
        return next;
    }
    if (length > reader->most) {
        *record = (rr_slice){NULL, (size_t)length};
        return skip(reader, length, error);
    }
    *record = (rr_slice){reader->bytes, (size_t)length};
    return read_exactly(reader, (size_t)length) ? RR_DELIMITED_RECORD
                                                : failed(reader, error, "is cut off: the file ends before it does");
}

void rr_delimited_fini(rr_delimited *reader)
{
    free(reader->bytes);
    reader->bytes = NULL;
}

void rr_delimited_put(rr_buf *out, rr_slice record)
{
    size_t rest = record.len;

    while (rest >= 0x80) {
        rr_buf_char(out, (char)(rest | 0x80));
        rest >>= 7;
    }
    rr_buf_char(out, (char)rest);
    rr_buf_slice(out, record);
}
