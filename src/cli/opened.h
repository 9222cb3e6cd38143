/* The store, sources and alert channels of a configuration, opened. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OPENED_H
#define RR_OPENED_H

#include "cli.h"
#include "config.h"
#include "generation.h"
#include "service.h"

typedef struct rr_opened {
    rr_config config;
    const rr_store_ops *store_ops;
    rr_store *store, *outbox_store;
    char prefix[RR_GENERATION_PREFIX_MAX]; /* of all keys, of the generation in force; rr_opened_prefix */
    rr_bound_source *sources;              /* config.source_count; `source` is NULL before it is opened */
    rr_bound_channel *channels;
    rr_bound_contract *contracts; /* config.contracts.count */
    rr_eras *eras;                /* config.contracts.count */
} rr_opened;

/* Reads the file of --config, loads its plugins, and prints its problems on standard error. Opens nothing. Call
 * rr_opened_close after any answer. */
rr_status rr_opened_read(rr_opened *opened, const rr_args *args, rr_error *error);

/* Each of these connects. UNAVAILABLE: the server cannot be reached now; the call may be repeated. */
rr_status rr_opened_store(rr_opened *opened, rr_error *error);
rr_status rr_opened_prefix(rr_opened *opened, rr_error *error); /* reads the generation in force from the open store */
rr_status rr_opened_eras(rr_opened *opened,
                         rr_error *error); /* reads the eras below that prefix; `run` reads its own */
rr_status rr_opened_outbox_store(rr_opened *opened, rr_error *error);
rr_status rr_opened_source(rr_opened *opened, size_t which, rr_error *error);
rr_status rr_opened_reader(rr_opened *opened, size_t which,
                           rr_error *error); /* for replay, info and publish: no consumer is bound */
rr_status rr_opened_channels(rr_opened *opened, rr_error *error);

void rr_opened_close(rr_opened *opened);

#endif
