/* Messages of the stream by their sequence, asked of the stream's leader. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_GET_H
#define RR_JS_GET_H

#include "js_source.h"

typedef struct rr_js_stored {
    uint64_t sequence; /* 0: there is none */
    int64_t stored_at_us;
} rr_js_stored;

/* The first message at or after a sequence that passes the filter (as in the consumer; empty: all). OK with sequence 0:
 * there is none. Waits for the answer up to the time-out. */
rr_status rr_js_next_message(rr_source *source, uint64_t from, const char *filter, rr_js_stored *found,
                             rr_error *error);

/* The header block of a message, in memory that the caller frees; NULL: the message has none, or is gone. */
rr_status rr_js_header_block(rr_source *source, uint64_t sequence, char **block, size_t *len, rr_error *error);

#endif
