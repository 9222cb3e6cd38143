/* Large pages by madvise, a hint to the kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "huge.h"

#include <stdint.h>
#include <sys/mman.h>

enum { SMALL_PAGE = 4096, HUGE_PAGE = 2 * 1024 * 1024 };

void rr_huge(void *at, size_t bytes)
{
    uintptr_t from = ((uintptr_t)at + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE, to = (uintptr_t)at + bytes;

    if (bytes >= HUGE_PAGE) {
        madvise((void *)from, (to - from) / SMALL_PAGE * SMALL_PAGE, MADV_HUGEPAGE);
    }
}
