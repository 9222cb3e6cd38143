/* rr_keep: the part of a decoder's memory that stays in the arena.
 *
 * Decoding takes scratch memory, which a hostile record can make large. Room
 * for what stays (never more than the delivery's own bytes) is taken first, the
 * scratch after it; when the record is decoded the scratch is released. So a
 * batch of records needs about as much memory as the records have bytes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_KEEP_H
#define RR_KEEP_H

#include <rr/arena.h>

#include "must.h"

typedef struct rr_keep {
    rr_arena *arena;
    rr_arena mark; /* the arena after the room was taken */
    char *room;
    size_t used, size;
} rr_keep;

/* False: the arena is exhausted. */
static inline bool rr_keep_open(rr_keep *keep, rr_arena *arena, size_t size)
{
    *keep = (rr_keep){.arena = arena, .room = rr_arena_take(arena, size + 1), .size = size};
    keep->mark = *arena;
    return keep->room != NULL;
}

/* A copy that stays. */
static inline rr_slice rr_keep_copy(rr_keep *keep, rr_slice from)
{
    char *to = keep->room + keep->used;

    RR_MUST(from.len <= keep->size - keep->used);
    if (from.len == 0) {
        return (rr_slice){NULL, 0};
    }
    memcpy(to, from.data, from.len);
    keep->used += from.len;
    return (rr_slice){to, from.len};
}

/* Releases everything that was taken since rr_keep_open, except the copies. */
static inline void rr_keep_close(rr_keep *keep)
{
    keep->arena->block = keep->mark.block;
    keep->arena->end = keep->mark.end;
    keep->arena->at = keep->room + ((keep->used + 15) & ~(size_t)15);
}

/* Releases everything that was taken since rr_keep_open. */
static inline void rr_keep_drop(rr_keep *keep)
{
    keep->used = 0;
    rr_keep_close(keep);
}

#endif
