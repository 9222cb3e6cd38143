/* Blocks of the arena: the only place where a batch allocates. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/arena.h>

#include <stdlib.h>

#include "huge.h"

enum {
    BLOCK_BYTES = 256 * 1024,
    BLOCK_SHARE = 8, /* a new block is at least an eighth of what the arena holds, so a growing arena needs few */
    BLOCK_MOST = 32 * 1024 * 1024
};

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

/* The first of the blocks behind the current one that is large enough, moved to stand right behind it. */
static rr_arena_block *next_that_fits(rr_arena *arena, size_t bytes)
{
    rr_arena_block *before = arena->block, *found = before == NULL ? NULL : before->next;

    while (found != NULL && found->bytes < bytes) {
        before = found;
        found = found->next;
    }
    if (found != NULL && before != arena->block) {
        before->next = found->next;
        found->next = arena->block->next;
        arena->block->next = found;
    }
    return found;
}

static size_t usual_bytes(const rr_arena *arena)
{
    size_t bytes = arena->held / BLOCK_SHARE, left = arena->cap - arena->held;

    bytes = bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes > BLOCK_MOST ? BLOCK_MOST : bytes;
    return arena->cap != 0 && bytes > BLOCK_BYTES && bytes > left ? BLOCK_BYTES : bytes;
}

/* A new block right behind the current one. */
static rr_arena_block *add_block(rr_arena *arena, size_t bytes)
{
    rr_arena_block *block;

    if (bytes > SIZE_MAX - sizeof *block || (arena->cap != 0 && bytes > arena->cap - arena->held)) {
        return NULL;
    }
    block = malloc(sizeof *block + bytes);
    if (block == NULL) {
        return NULL;
    }
    rr_huge(block, sizeof *block + bytes);
    *block = (rr_arena_block){.next = arena->block == NULL ? NULL : arena->block->next, .bytes = bytes};
    arena->held += bytes;
    if (arena->block == NULL) {
        arena->first = block;
    } else {
        arena->block->next = block;
    }
    return block;
}

bool rr_arena_reserve(rr_arena *arena, size_t bytes)
{
    rr_arena_block *block;

    if ((size_t)(arena->end - arena->at) >= bytes) {
        return true;
    }
    block = next_that_fits(arena, bytes);
    if (block == NULL) {
        size_t usual = usual_bytes(arena);

        block = add_block(arena, bytes > usual ? bytes : usual);
    }
    if (block == NULL) {
        return false;
    }
    enter(arena, block);
    return true;
}
