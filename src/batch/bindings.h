/* What a running reconciler works with: sources that are open, with the contracts that their subjects lead to. */
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
    size_t batch;             /* records taken at once */
    const char *dead_letters; /* subject prefix; NULL: refused records are counted and dropped (observe only) */
    /* The contract of a subject, or NULL. */
    const rr_contract *(*route)(const void *context, rr_slice subject);
    const void *context;
} rr_bound_source;

typedef struct rr_bound_contract {
    const rr_contract *contract;
    rr_slice text; /* canonical, for the fingerprint */
    rr_eras *eras; /* those of `contract`, kept as the note in the store says; NULL: not followed */
} rr_bound_contract;

#endif
