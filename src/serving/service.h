/* rr_live: the daemon's loop.
 *
 *   fetch -> decode -> admit -> join and swap -> dead letters -> acknowledge
 *
 * A record is acknowledged only when its effect and its alerts, or its dead
 * letter, are stored. Where Redis or the dead letters cannot be reached nothing
 * is acknowledged, fetching pauses, and the server is told that we are at work;
 * then it goes on by itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SERVICE_H
#define RR_SERVICE_H

#include <stdatomic.h>

#include <rr/channel.h>
#include <rr/source.h>
#include <rr/store.h>

#include "batch.h"
#include "bindings.h"
#include "log_level.h"

typedef struct rr_bound_channel {
    const rr_channel_ops *ops;
    rr_channel *channel;
} rr_bound_channel;

typedef struct rr_service_options {
    const rr_store_ops *store_ops;
    rr_store *store;
    rr_store *outbox_store; /* a second handle for the thread that hands out alerts; NULL: `store`, from the loop */
    rr_slice prefix;        /* of keys: the one in force (generation.h) */
    rr_slice base_prefix;   /* the one of the configuration; empty: there are no generations, `prefix` is for ever */
    const rr_bound_source *sources;
    size_t source_count;
    const rr_bound_contract *contracts;
    size_t contract_count;
    const rr_bound_channel *channels;
    size_t channel_count;
    bool observe;          /* store nothing, acknowledge nothing */
    bool accept_contracts; /* a contract whose text changed is taken, not refused */
    /* Of a contract's text all that rr_eras_advance looks at. False: it cannot be read. Needed by accept_contracts. */
    bool (*read_contract)(rr_slice text, rr_contract *contract);
    bool until_idle; /* leave when nothing more comes (for tests and demos) */
    int drain_timeout_ms;
    size_t guess_from, send_from; /* as in rr_batch_options */
    const atomic_int *stop;       /* not 0: drain and leave */
    int64_t (*now_us)(void);
    void (*pause_ms)(int ms);                          /* how the loop waits; NULL: it sleeps */
    void (*log)(rr_log_level level, const char *text); /* called from up to three threads at once */
} rr_service_options;

typedef struct rr_service_totals {
    uint64_t verdicts[RR_VERDICT_COUNT];
    uint64_t deliveries, redeliveries, acknowledged, dead_letters, stuck, outages, alerts_sent;
    rr_batch_counts batch;
    bool moved; /* it left because another generation of the prefix came into force: run again, with that one */
} rr_service_totals;

/* Blocks until stopped, or until it cannot go on: CONFIG (a contract of another text, a consumer that is gone, a
 * second reader), MEMORY. OK: it drained and left. */
rr_status rr_service_run(const rr_service_options *options, rr_service_totals *totals, rr_error *error);

#endif
