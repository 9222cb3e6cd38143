/* rr_arena: memory of one batch, given back all at once.
 *
 * Taking is a pointer bump. Blocks are got from the heap only while the arena
 * warms up: a reset keeps them. Not thread-safe; one owner.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ARENA_H
#define RR_ARENA_H

#include <rr/slice.h>

typedef struct rr_arena_block rr_arena_block;

typedef struct rr_arena {
    char *at, *end;        /* the free rest of the current block */
    rr_arena_block *first; /* all blocks, in order of use */
    rr_arena_block *block; /* the current one */
    size_t held;           /* bytes got from the heap */
    size_t cap;            /* never hold more than this; 0: no cap */
} rr_arena;

/* cap in bytes, 0 for none. Gets nothing yet. */
void rr_arena_init(rr_arena *arena, size_t cap);

/* Forgets all that was taken; the blocks stay for the next batch. */
void rr_arena_reset(rr_arena *arena);

/* Gives the blocks back to the heap. */
void rr_arena_fini(rr_arena *arena);

/* Makes sure that the next takes of `bytes` in all succeed without the heap. False: the heap or the cap is exhausted. */
bool rr_arena_reserve(rr_arena *arena, size_t bytes);

/* Takes `bytes`, aligned for any type, not cleared. NULL: the heap or the cap is exhausted. */
static inline void *rr_arena_take(rr_arena *arena, size_t bytes)
{
    size_t rounded = bytes == 0 ? 16 : (bytes + 15) & ~(size_t)15;
    char *taken;

    if (rounded < bytes) {
        return NULL;
    }
    if ((size_t)(arena->end - arena->at) < rounded && !rr_arena_reserve(arena, rounded)) {
        return NULL;
    }
    taken = arena->at;
    arena->at += rounded;
    return taken;
}

/* The same, cleared. */
static inline void *rr_arena_zero(rr_arena *arena, size_t bytes)
{
    void *taken = rr_arena_take(arena, bytes);

    return taken == NULL ? NULL : memset(taken, 0, bytes);
}

/* A copy of the bytes in the arena; {NULL, 0} if memory ran out (len 0 also gives {NULL, 0}). */
static inline rr_slice rr_arena_copy(rr_arena *arena, rr_slice from)
{
    char *to = from.len == 0 ? NULL : rr_arena_take(arena, from.len);

    if (to == NULL) {
        return (rr_slice){NULL, 0};
    }
    memcpy(to, from.data, from.len);
    return (rr_slice){to, from.len};
}

#endif
