/* rr_nearest: the nearest of some names, for "did you mean". */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NEAREST_H
#define RR_NEAREST_H

#include <rr/slice.h>

typedef struct rr_nearest {
    rr_slice word;
    rr_slice best;   /* empty: none is near enough */
    size_t distance; /* of the best */
} rr_nearest;

void rr_nearest_init(rr_nearest *nearest, rr_slice word);
void rr_nearest_try(rr_nearest *nearest, rr_slice name);

/* "; did you mean 'NAME'?", or empty; `before` stands before the name ("--"). Returns text. */
enum { RR_HINT_MAX = 128 };
const char *rr_nearest_hint(const rr_nearest *nearest, const char *before, char text[RR_HINT_MAX]);

/* For "%.*s": the first 80 bytes of a slice. */
#define RR_SHOW(slice) (int)((slice).len < 80 ? (slice).len : 80), (slice).len == 0 ? "" : (slice).data

#endif
