/* Blocks of the arena: the only place where a batch's memory meets the heap. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/arena.h>

#include <stdlib.h>

enum { BLOCK_BYTES = 256 * 1024 };

struct rr_arena_block {
    rr_arena_block *next;
    size_t bytes; /* behind this header */
    _Alignas(16) char data[];
};

void rr_arena_init(rr_arena *arena, size_t cap)
{
    *arena = (rr_arena){.cap = cap};
}

static void enter(rr_arena *arena, rr_arena_block *block)
{
    arena->block = block;
    arena->at = block->data;
    arena->end = block->data + block->bytes;
}

void rr_arena_reset(rr_arena *arena)
{
    if (arena->first != NULL) {
        enter(arena, arena->first);
    }
}

void rr_arena_fini(rr_arena *arena)
{
    rr_arena_block *block = arena->first;

    while (block != NULL) {
        rr_arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (rr_arena){.cap = arena->cap};
}

bool rr_arena_reserve(rr_arena *arena, size_t bytes)
{
    size_t wanted = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    rr_arena_block *block, *rest;

    if ((size_t)(arena->end - arena->at) >= bytes) {
        return true;
    }
    rest = arena->block == NULL ? NULL : arena->block->next;
    if (rest != NULL && rest->bytes >= bytes) {
        enter(arena, rest);
        return true;
    }
    if (wanted > SIZE_MAX - sizeof *block || (arena->cap != 0 && wanted > arena->cap - arena->held)) {
        return false;
    }
    block = malloc(sizeof *block + wanted);
    if (block == NULL) {
        return false;
    }
    /* In front of the blocks that are too small, so that these are used again later. */
    *block = (rr_arena_block){.next = rest, .bytes = wanted};
    arena->held += wanted;
    if (arena->block == NULL) {
        arena->first = block;
    } else {
        arena->block->next = block;
    }
    enter(arena, block);
    return true;
}
