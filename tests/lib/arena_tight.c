/* rr_arena with a block for each reservation, which every reset frees. Linked into a test in place of the program's
 * arena, it lets each single allocation fail, and lets a sanitizer see overruns that a large block would hide. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/arena.h>

#include <stdlib.h>

struct rr_arena_block {
    rr_arena_block *next;
    _Alignas(16) char data[];
};

void rr_arena_init(rr_arena *arena, size_t cap)
{
    *arena = (rr_arena){.cap = cap};
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

void rr_arena_reset(rr_arena *arena)
{
    rr_arena_fini(arena);
}

bool rr_arena_reserve(rr_arena *arena, size_t bytes)
{
    rr_arena_block *block;

    if ((size_t)(arena->end - arena->at) >= bytes) {
        return true;
    }
    if (bytes > SIZE_MAX - sizeof *block || (arena->cap != 0 && bytes > arena->cap - arena->held)) {
        return false;
    }
    block = malloc(sizeof *block + bytes);
    if (block == NULL) {
        return false;
    }
    *block = (rr_arena_block){.next = arena->first};
    arena->first = arena->block = block;
    arena->held += bytes;
    arena->at = block->data;
    arena->end = block->data + bytes;
    return true;
}
