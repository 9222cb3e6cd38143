/* The heap with a counter in front of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "allocations.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static volatile bool counting, failing, all_behind, reached;
static volatile size_t nth_fails, count;
static volatile long live;

#ifdef RR_ALLOCATIONS_WRAPPED
#define OURS(name) __wrap_##name
#define HEAP(name) __real_##name
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void __wrap_free(void *block);
#else
#define OURS(name) name
#define HEAP(name) __libc_##name
#endif
extern void *HEAP(malloc)(size_t bytes);
extern void *HEAP(calloc)(size_t items, size_t bytes);
extern void *HEAP(realloc)(void *block, size_t bytes);
extern void HEAP(free)(void *block);

/* libyajl does not check whether it got memory; that it then crashes is not tested here. */
static bool is_careless(void *caller)
{
    Dl_info about;

    return dladdr(caller, &about) != 0 && about.dli_fname != NULL && strstr(about.dli_fname, "libyajl") != NULL;
}

static bool fails(void *caller)
{
    if (!counting || !failing || nth_fails == 0 || is_careless(caller)) {
        return false;
    }
    count++;
    if (count == nth_fails || (all_behind && count > nth_fails)) {
        reached = true;
        errno = ENOMEM;
        return true;
    }
    return false;
}

static void *got(void *block)
{
    live += counting && block != NULL;
    return block;
}

void *OURS(malloc)(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : got(HEAP(malloc)(bytes));
}

void *OURS(calloc)(size_t items, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : got(HEAP(calloc)(items, bytes));
}

void *OURS(realloc)(void *block, size_t bytes)
{
    void *grown;

    if (fails(__builtin_return_address(0))) {
        return NULL;
    }
    grown = HEAP(realloc)(block, bytes);
    return block == NULL ? got(grown) : grown;
}

void OURS(free)(void *block)
{
    live -= counting && block != NULL;
    HEAP(free)(block);
}

void rr_allocations_begin(size_t nth, bool all)
{
    nth_fails = nth;
    all_behind = all;
    count = 0;
    live = 0;
    reached = false;
    failing = counting = true;
}

bool rr_allocations_pause(void)
{
    bool was_on = failing;

    failing = false;
    return was_on;
}

void rr_allocations_resume(bool was_on)
{
    failing = was_on;
}

bool rr_allocations_end(void)
{
    failing = counting = false;
    return reached;
}

long rr_allocations_live(void)
{
#ifdef RR_ALLOCATIONS_WRAPPED
    return 0;
#else
    return live;
#endif
}
