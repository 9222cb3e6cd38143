/* rr_huge: large pages for memory that is soon written as a whole.
 *
 * The kernel maps a page when it is first written, which costs more than
 * filling it. With transparent huge pages it maps one page of 2 MiB instead of
 * 512 small ones.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_HUGE_H
#define RR_HUGE_H

#include <stddef.h>

/* Asks for large pages in this part of the heap, if it is large enough for one. Only a hint: a refusal has no
 * effect. */
void rr_huge(void *at, size_t bytes);

#endif
