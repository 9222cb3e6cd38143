/* rr_nats_parse: what a NATS server sends to a client, one operation at a time.
 *
 * Pure: it reads bytes, touches no socket and keeps nothing. Slices lie in the
 * bytes that were given.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NATS_PROTOCOL_H
#define RR_NATS_PROTOCOL_H

#include <rr/source.h>
#include <stdint.h>

enum {
    RR_NATS_LINE_MAX = 128 * 1024,         /* INFO of a large cluster is a long one */
    RR_NATS_MESSAGE_MAX = 64 * 1024 * 1024 /* headers and payload: the most that a server can be told to allow */
};

typedef enum rr_nats_op {
    RR_NATS_MORE,    /* the bytes end before the operation does */
    RR_NATS_BROKEN,  /* this is not what a NATS server sends */
    RR_NATS_MESSAGE, /* MSG or HMSG */
    RR_NATS_PING,
    RR_NATS_PONG,
    RR_NATS_INFO,
    RR_NATS_ERROR, /* -ERR */
    RR_NATS_OTHER  /* +OK, and what may yet be invented: of no account */
} rr_nats_op;

typedef struct rr_nats_parsed {
    size_t used;             /* bytes of the operation; with MORE how many it has, 0: not known yet */
    uint64_t sid;            /* of a message: number of the subscription */
    rr_slice subject, reply; /* of a message; reply may be empty */
    rr_slice headers;        /* of a message, with the line before them; may be empty */
    rr_slice payload;        /* of a message; of INFO its JSON, of ERROR its text */
} rr_nats_parsed;

rr_nats_op rr_nats_parse(rr_slice bytes, rr_nats_parsed *parsed);

/* The status that stands in the first line of headers (`NATS/1.0 408 Request Timeout`); 0: none. */
int rr_nats_status_of(rr_slice headers);

/* The text that stands there behind it, or of a header of that name (without regard to case); empty: none. */
rr_slice rr_nats_status_text(rr_slice headers);
rr_slice rr_nats_header(rr_slice headers, const char *name);

/* The headers of these names (compared byte by byte) that the block has, in the order of the names; the first of a name
 * counts. count: at most RR_SOURCE_HEADERS_MAX; picked: as many. Names of picked are the names given, values lie in the
 * block, without spaces and tabs at their ends. Returns how many there are. One pass, whatever is in the block: a line
 * without a colon is skipped, an empty line ends it. */
size_t rr_nats_pick_headers(rr_slice headers, const char *const *names, size_t count, rr_header *picked);

#endif
