/* rr_messages: messages of somebody else's, read from a file or standard input one at a time in bounded memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MESSAGES_H
#define RR_MESSAGES_H

#include <stdio.h>

#include "delimited.h"

typedef enum rr_messages_form {
    RR_MESSAGES_WHOLE,     /* the file is one message */
    RR_MESSAGES_DELIMITED, /* each message after its length as a varint */
    RR_MESSAGES_LINES      /* a message a line; blank lines are none */
} rr_messages_form;

typedef struct rr_messages {
    FILE *file;
    const char *name;
    rr_messages_form form;
    uint64_t number; /* of the newest message, from 1; LINES: its line */
    rr_delimited delimited;
    char *bytes; /* WHOLE and LINES: of the newest message */
} rr_messages;

/* path "-": standard input. Close after any answer. */
rr_status rr_messages_open(rr_messages *messages, const char *path, rr_messages_form form, rr_error *error);
void rr_messages_close(rr_messages *messages);

/* The next message, until the next call. One that is larger than a message may be keeps a length beyond
 * RR_MAPPING_MESSAGE_MAX, which every decoder refuses before it reads the bytes. *end: there is none.
 * INPUT: the file is cut off or has no lengths; IO; MEMORY. */
rr_status rr_messages_next(rr_messages *messages, rr_slice *message, bool *end, rr_error *error);

#endif
