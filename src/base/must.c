/* Ends the program when one of its assertions does not hold. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "must.h"

#include <stdio.h>
#include <stdlib.h>

void rr_must_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "reconciler: internal error at %s:%d: '%s' does not hold\n", file, line, condition);
    abort();
}
