/* rr_arena: memory of one batch, released all at once.
 *
 * Taking memory advances a pointer. The arena allocates blocks only until it
 * holds as many as a batch needs, because a reset keeps them. Not thread-safe.
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
    size_t held;           /* bytes allocated from the heap */
    size_t cap;            /* never hold more than this; 0: no cap */
} rr_arena;

/* cap in bytes, 0 for none. Allocates nothing yet. */
void rr_arena_init(rr_arena *arena, size_t cap);

/* Releases everything that was taken. The blocks stay for the next batch. */
void rr_arena_reset(rr_arena *arena);

/* Frees the blocks. */
void rr_arena_fini(rr_arena *arena);

/* Makes sure that the next takes of `bytes` in all succeed without the heap. False: the heap or the cap is
 * exhausted. */
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
