/* The words of a contract's keys, in the order of their enums: for reading and for printing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CONTRACT_WORDS_H
#define RR_CONTRACT_WORDS_H

#include "contract.h"

static const char *const mode_words[] = {"cumulative", "delta", "retraction", NULL};
static const char *const kind_words[] = {"any", "tumbling", "sliding", "session", "global", NULL};
static const char *const ends_words[] = {"last_plus_gap", "last", NULL};
static const char *const type_words[] = {"int64", "decimal", "double", NULL};
static const char *const corrections_words[] = {"none", "conditional", "coordinated", NULL};
static const char *const during_words[] = {"incumbent", "live", "correction", NULL};
static const char *const integers_words[] = {"number", "string", NULL};

_Static_assert(RR_MODE_CUMULATIVE == 1 && RR_MODE_DELTA == 2 && RR_MODE_RETRACTION == 3, "mode_words");
_Static_assert(RR_WINDOW_ANY == 0 && RR_WINDOW_TUMBLING == 1 && RR_WINDOW_SLIDING == 2 && RR_WINDOW_SESSION == 3 &&
                   RR_WINDOW_GLOBAL == 4,
               "kind_words");
_Static_assert(RR_MEASURE_INT64 == 0 && RR_MEASURE_DECIMAL == 1 && RR_MEASURE_DOUBLE == 2, "type_words");
_Static_assert(RR_CORRECTIONS_NONE == 0 && RR_CORRECTIONS_CONDITIONAL == 1 && RR_CORRECTIONS_COORDINATED == 2,
               "corrections_words");
_Static_assert(RR_DURING_INCUMBENT == 0 && RR_DURING_LIVE == 1 && RR_DURING_CORRECTION == 2, "during_words");

#endif
