/* Sources that are open, and the contracts that their subjects are routed to. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_BINDINGS_H
#define RR_BINDINGS_H

#include <rr/source.h>

#include "contract.h"

/* One opened source. */
typedef struct rr_bound_source {
    const rr_source_ops *ops;
    rr_source *source;
    rr_slice name, stream, consumer;
    size_t batch;             /* most records that are fetched and decided together */
    const char *dead_letters; /* subject prefix; NULL: refused records are only counted (`run --observe`) */
    /* The contract of a subject, or NULL. */
    const rr_contract *(*route)(const void *context, rr_slice subject);
    const void *context;
} rr_bound_source;

typedef struct rr_bound_contract {
    const rr_contract *contract;
    rr_slice text; /* canonical; compared with the note in the store */
    rr_eras *eras; /* of `contract`, kept equal to the note in the store; NULL: the note is not followed */
} rr_bound_contract;

#endif
