/* The options of the service, and the totals that it returns. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SERVICE_OPTIONS_H
#define RR_SERVICE_OPTIONS_H

#include <rr/channel.h>

#include "batch.h"
#include "environment.h"

typedef struct rr_bound_channel {
    const rr_channel_ops *ops;
    rr_channel *channel;
} rr_bound_channel;

typedef struct rr_service_options {
    rr_environment env;
    rr_store
        *outbox_store; /* a second handle of the store, for the thread that hands out alerts. NULL: everything is done
                             * by one thread, with env.store */
    const rr_bound_channel *channels;
    size_t channel_count;
    bool observe; /* store nothing, acknowledge nothing */
    /* A contract whose text changed: NULL: refused; else accepted (contract_check.h says what it reads). */
    bool (*accept_contract)(rr_slice text, rr_contract *contract);
    bool accept_refusals;           /* continue the sources that are held, and hold none */
    bool until_idle;                /* leave when nothing more comes (for tests and demos) */
    int drain_timeout_ms;           /* SIGTERM waits so long for batches that have begun */
    size_t predict_from, send_from; /* as in rr_batch_options */
} rr_service_options;

typedef struct rr_service_totals {
    uint64_t verdicts[RR_VERDICT_COUNT];
    uint64_t deliveries, redeliveries, acknowledged, dead_letters, stuck, outages, alerts_sent;
    uint64_t skipped; /* records and messages that a mapping skips by its rules: acknowledged, without a verdict */
    rr_batch_counts batch;
    bool superseded; /* it left because another generation of the prefix came into force: run again, with that one */
} rr_service_totals;

#endif
