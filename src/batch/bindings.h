/* What a running reconciler works with: sources that are open, with the routes that their subjects take. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_BINDINGS_H
#define RR_BINDINGS_H

#include <rr/decoder.h>
#include <rr/source.h>

#include "contract.h"
#include "mapping.h"

/* Where the messages of a subject lead. */
typedef struct rr_bound_route {
    const rr_contract *contract;       /* NULL: the subject is not routed */
    const rr_mapping *mapping;         /* how messages of another form become records, or ... */
    const rr_decoder_ops *decoder_ops; /* ... a plugin's decoder for them. Both NULL: messages are rr.v1.Result */
    const rr_decoder *decoder;
} rr_bound_route;

static inline bool rr_route_is_own_form(rr_bound_route route)
{
    return route.mapping == NULL && route.decoder_ops == NULL;
}

/* One opened source. */
typedef struct rr_bound_source {
    const rr_source_ops *ops;
    rr_source *source;
    rr_slice name, stream, consumer;
    size_t batch;             /* deliveries taken at once */
    const char *dead_letters; /* subject prefix; NULL: refused records are counted and dropped (observe only) */
    rr_slice mappings;        /* canonical text of all its mappings and decoders; empty: it has none */
    rr_bound_route (*route)(const void *context, rr_slice subject);
    const void *context;
} rr_bound_source;

typedef struct rr_bound_contract {
    const rr_contract *contract;
    rr_slice text; /* canonical, for the fingerprint */
    rr_eras *eras; /* those of `contract`, kept as the note in the store says; NULL: not followed */
} rr_bound_contract;

#endif
