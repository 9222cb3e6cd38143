/* rr_log: a capped log of the memory store; each entry knows when it was handed out.
 *
 * New entries replace the oldest ones, done or not. An entry is handed out
 * again after its idle time, until it is done.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_MEMORY_LOG_H
#define RR_STORE_MEMORY_LOG_H

#include <rr/slice.h>

typedef struct rr_log rr_log;

typedef struct rr_log_item {
    uint64_t sequence;    /* counts from 1 */
    int64_t handed_at_ms; /* 0: never */
    bool done;
    size_t len;
    char *bytes;
} rr_log_item;

/* most: entries kept. NULL: memory ran out. */
rr_log *rr_log_new(size_t most);
void rr_log_free(rr_log *log);

/* Makes room for `count` more entries. False: memory ran out. */
bool rr_log_reserve(rr_log *log, size_t count);

/* A copy on the heap, to be handed to `push` or freed. NULL: memory ran out. */
char *rr_log_copy(rr_slice bytes);

/* Appends bytes from rr_log_copy, which it takes over, into room that was reserved. Drops the oldest beyond the cap. */
void rr_log_push(rr_log *log, char *bytes, size_t len);

/* The next item at or after *at that is due: not done, and not handed out within idle_ms before now. Moves *at behind
 * it. NULL: no more. Start with *at = 0. The item is valid until the next push. */
rr_log_item *rr_log_due(rr_log *log, size_t *at, int64_t now_ms, int idle_ms);

/* Marks one as done; nothing if it is not there any more. */
void rr_log_done(rr_log *log, uint64_t sequence);

#endif
