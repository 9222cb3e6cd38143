/* Reads records from a file or standard input, JSON lines or delimited protobuf, one at a time in bounded memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECORDS_H
#define RR_RECORDS_H

#include <stdio.h>

#include "delimited.h"
#include "record.h"

typedef struct rr_records {
    FILE *file;
    const char *name;
    bool protobuf;
    uint64_t line; /* JSON: the line of the newest record; protobuf: its number, from 1 */
    rr_delimited delimited;
    char *bytes; /* of the newest line */
    size_t room;
} rr_records;

/* path NULL or "-": standard input. input: "json" or "protobuf". */
rr_status rr_records_open(rr_records *records, const char *path, const char *input, rr_error *error);
void rr_records_close(rr_records *records);

/* The next record, decoded into the arena. *end: there is none. An error is of the file; a record that cannot be
 * decoded is an answer. */
rr_status rr_records_next(rr_records *records, rr_arena *arena, rr_decoded *decoded, rr_record *record,
                          int64_t *clock_us, rr_text *why, bool *end, rr_error *error);

#endif
