/* rr_delimited: length-delimited records in a file. Each record follows its length as a varint. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DELIMITED_H
#define RR_DELIMITED_H

#include <stdio.h>

#include <rr/error.h>

#include "buf.h"

/* Owns its buffer, not the file. All zero but file and name is a fresh reader. */
typedef struct rr_delimited {
    FILE *file;
    const char *name; /* of the file, for errors */
    size_t most;      /* bytes of a record; 0: RR_LIMIT_RECORD_BYTES */
    uint64_t offset;  /* bytes read so far */
    uint64_t start;   /* offset of the length of the record that was read last */
    char *bytes;
} rr_delimited;

typedef enum rr_delimited_next {
    RR_DELIMITED_RECORD,    /* the slice holds it until the next call */
    RR_DELIMITED_TOO_LARGE, /* over the limit, and skipped; the slice has its length but no data */
    RR_DELIMITED_END,
    RR_DELIMITED_FAILED /* error says what and where: cut off, no varint, not readable, no memory */
} rr_delimited_next;

/* Blocks on the file. */
rr_delimited_next rr_delimited_read(rr_delimited *reader, rr_slice *record, rr_error *error);

void rr_delimited_fini(rr_delimited *reader);

/* Appends the record's length, then the record. */
void rr_delimited_put(rr_buf *out, rr_slice record);

#endif
