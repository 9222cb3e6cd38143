/* rr_decode_print: one message and the records that it became, printed by `reconciler decode`.
 *
 *   init      once; the intake then tells of every record that it decodes
 *   message   after a delivery was added to the intake: prints it, and empties the intake
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DECODE_PRINT_H
#define RR_DECODE_PRINT_H

#include "intake.h"

typedef enum rr_decode_form {
    RR_DECODE_PEOPLE,  /* a block a message */
    RR_DECODE_RECORDS, /* what `apply` reads: records and clock lines */
    RR_DECODE_JSON     /* an object a message, one a line */
} rr_decode_form;

typedef enum rr_decode_kind { RR_DECODE_RECORD, RR_DECODE_SKIPPED, RR_DECODE_BROKEN } rr_decode_kind;

/* A record as the decoder gave it: a range of the text. */
typedef struct rr_decode_seen {
    rr_decode_kind kind;
    size_t from, len; /* RECORD: its JSON; SKIPPED: the rule; BROKEN: empty */
} rr_decode_seen;

typedef struct rr_decode_print {
    rr_decode_form form;
    rr_intake *intake;
    rr_buf text, out;
    rr_decode_seen seen[RR_MAPPING_RECORDS_MAX];
    size_t count;
    int64_t clock_us; /* of the newest clock line; RR_NEVER_STORED: none */
    uint64_t messages, admitted, refused, skipped;
    uint64_t left_out; /* RECORDS: refused ones that have no form as a record */
} rr_decode_print;

/* Where a message comes from. */
typedef struct rr_decode_origin {
    const char *source, *file; /* one of them is NULL */
    uint64_t number;           /* the sequence in the stream; the message of the file, 0: it is the whole file */
} rr_decode_origin;

void rr_decode_print_init(rr_decode_print *print, rr_decode_form form, rr_intake *intake);
void rr_decode_print_fini(rr_decode_print *print);

/* MEMORY, or OK. */
rr_status rr_decode_print_message(rr_decode_print *print, const rr_decode_origin *origin, const rr_delivery *delivery,
                                  rr_error *error);

/* PEOPLE: a line with the counts. */
void rr_decode_print_end(rr_decode_print *print);

#endif
