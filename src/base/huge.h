/* rr_huge: memory that is written soon and whole, in large pages.
 *
 * A page is given by the kernel when it is first written, which costs more than
 * filling it. Where the system allows (transparent huge pages), one of 2 MiB is
 * given instead of 512 small ones.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_HUGE_H
#define RR_HUGE_H

#include <stddef.h>

/* Asks for large pages in this part of the heap, if it is large enough for one. A hint: nothing else changes. */
void rr_huge(void *at, size_t bytes);

#endif
