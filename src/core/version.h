/* The producer's order: epoch first, then number. Never a wall clock. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERSION_H
#define RR_VERSION_H

#include <stdbool.h>
#include <stdint.h>

/* All zero is "none": numbers start at 1, and 0 is one that was never set. */
typedef struct rr_version {
    uint64_t epoch, number;
} rr_version;

static inline int rr_version_compare(rr_version a, rr_version b)
{
    int epochs = (a.epoch > b.epoch) - (a.epoch < b.epoch);

    return epochs != 0 ? epochs : (a.number > b.number) - (a.number < b.number);
}

static inline bool rr_version_is_set(rr_version version)
{
    return version.number != 0;
}

static inline rr_version rr_version_max(rr_version a, rr_version b)
{
    return rr_version_compare(a, b) >= 0 ? a : b;
}

#endif
