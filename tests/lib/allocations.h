/* rr_allocations: counts allocations, and makes the nth one, or all from it on, fail.
 *
 * It replaces malloc, calloc, realloc and free in the whole program, libraries included. A sanitizer has replaced
 * them already; then only calls of this project's own code are replaced, by the linker. Allocations of libyajl never
 * fail: it would crash. One thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_ALLOCATIONS_H
#define RR_TEST_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* From here on the nth allocation fails (from 1; 0: none), and with `all` every later one too. */
void rr_allocations_begin(size_t nth, bool all);

/* No allocation fails until resume, so that a test can look at things. Returns whether failing was on, which resume
 * takes. */
bool rr_allocations_pause(void);
void rr_allocations_resume(bool was_on);

/* Ends it. True: an allocation failed. */
bool rr_allocations_end(void);

/* Blocks allocated minus blocks freed since begin; negative where older blocks were freed. Always 0 under a
 * sanitizer, which finds leaks itself: blocks that a library allocated are not seen here, and may be freed by this
 * project's code. */
long rr_allocations_live(void);

#endif
