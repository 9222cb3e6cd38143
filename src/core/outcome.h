/* What a join answers: its verdict, and whether it needs more than was loaded. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OUTCOME_H
#define RR_OUTCOME_H

#include "words.h"

typedef struct rr_outcome {
    rr_verdict verdict;
    rr_reason reason; /* REFUSED (limit_exceeded): the cell would grow beyond a limit */
    rr_alert_set alerts;
    bool grew; /* facts changed: the unit must be written */
} rr_outcome;

typedef enum rr_joined {
    RR_JOIN_DONE,
    RR_JOIN_NEEDS_PARTS /* the verdict needs all parts: load the unit again with them, and join all its records */
} rr_joined;

#endif
