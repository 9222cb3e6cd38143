/* rr_allocations: counts what is got from the heap and given back, and lets one of it, or all from one on, fail.
 *
 * It takes the place of malloc, calloc, realloc and free for the whole program, its libraries included; under a
 * sanitizer, which has taken that place already, only of what the linker wraps: this project's own code. What libyajl asks for never fails: it would crash.
 * One thread.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_ALLOCATIONS_H
#define RR_TEST_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

/* From here on: the nth allocation fails (from 1; 0: none), and with `all` every one behind it too. */
void rr_allocations_begin(size_t nth, bool all);

/* The failing pauses, for a test's own look at things. Returns whether it was on, which resume takes. */
bool rr_allocations_pause(void);
void rr_allocations_resume(bool was_on);

/* Ends it. True: it was reached, so that something failed. */
bool rr_allocations_end(void);

/* Blocks got and not given back since begin; what is given back of before makes it negative. Always 0 under a
 * sanitizer, which counts itself: what a library got is not seen here, and may be given back by us. */
long rr_allocations_live(void);

#endif
