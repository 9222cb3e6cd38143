/* rr_file_delivery: what a queue tells of a message and a file does not: its subject, its headers, when it was stored.
 *
 * Options of a command say it: --subject, --header, --stored-at. The command's table needs RR_CLI_FILE_DELIVERY.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_FILE_DELIVERY_H
#define RR_FILE_DELIVERY_H

#include "messages.h"
#include "opened.h"

#define RR_CLI_FILE_DELIVERY \
    {.name = "subject", \
     .argument = "SUBJECT", \
     .help = "the subject of messages of files (default: the route's, where the source has one)"}, \
        {.name = "header", \
         .argument = "NAME:VALUE", \
         .repeats = true, \
         .help = "a header of messages of files; may be given several times"}, \
    { \
        .name = "stored-at", .argument = "TIME", \
        .help = "when messages of files were stored, their clock (default: none, so that no record is too early or " \
                "too late)" \
    }

typedef struct rr_file_delivery {
    rr_slice subject;
    rr_header headers[RR_CLI_REPEATS_MAX];
    size_t header_count;
    int64_t stored_at_us; /* or RR_NEVER_STORED */
    rr_bound_route route; /* contract NULL: no route takes the subject */
} rr_file_delivery;

/* The values of --header, which point into args. headers: room for RR_CLI_REPEATS_MAX. USAGE: one is no header. */
rr_status rr_cli_headers(const rr_args *args, rr_header *headers, size_t *count, rr_error *error);

/* The source of --source; without it the only one. USAGE: there is no such source, or there are several. */
rr_status rr_file_delivery_source(const rr_opened *opened, const rr_args *args, size_t *which, rr_error *error);

/* Reads the options. USAGE: a value is wrong, or the source has several routes and --subject is missing. */
rr_status rr_file_delivery_read(rr_file_delivery *of, const rr_opened *opened, size_t which, const rr_args *args,
                                rr_error *error);

/* The form of a file whose messages stand one behind the other: lines where they are JSON, else delimited. */
rr_messages_form rr_file_delivery_form(const rr_file_delivery *of);

/* A message as if the queue had delivered it. It points into `of` and the message. */
rr_delivery rr_file_delivery_make(const rr_file_delivery *of, rr_slice message);

#endif
