/* The state of a running service, shared by the files of this room. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SERVICE_STATE_H
#define RR_SERVICE_STATE_H

#include <pthread.h>

#include "intake.h"
#include "recovery.h"
#include "service_options.h"

/* One batch under way: filled by the service's thread, decided by the worker, ended by the service's thread. */
typedef struct rr_inflight {
    size_t source; /* index */
    rr_delivery *deliveries;
    size_t count;        /* of deliveries */
    rr_intake intake;    /* their records, in the same order; of a delivery several, or none */
    int64_t progress_us; /* when the queue last heard of these deliveries: their arrival, or that they are in work */
    rr_status status;    /* of the decision */
    rr_error error;
    bool abandoned; /* the service leaves, and this batch is not settled */
    bool done;      /* the worker has finished with it; guarded by the lock */
} rr_inflight;

/* One batch is decided while the next one waits, so that the worker never waits for a batch to be filled. */
enum { RR_INFLIGHT_MOST = 2, RR_PAUSE_MIN_MS = 50 };

/* Why a source is held. */
typedef struct rr_hold {
    rr_error why;
    bool is_new; /* its note is not written yet */
} rr_hold;

typedef struct rr_service {
    const rr_service_options *options;
    const rr_environment *env;
    rr_service_totals *totals;
    rr_batch *batch;
    rr_recovery recovery;
    char process[64];                        /* this process's name in the outbox and in the readers' status */
    rr_inflight slots[RR_INFLIGHT_MOST + 1]; /* one is filled while the others are under way */
    rr_inflight *inflight[RR_INFLIGHT_MOST]; /* with the worker, or decided and not ended; the oldest first */
    size_t inflight_count;
    rr_inflight *filling; /* behind those that are under way; NULL: none */
    rr_arena arena;       /* of the alerts, where no thread of their own hands them out */
    rr_buf text;
    rr_hold *holds;               /* one a source */
    struct rr_refusals *refusals; /* one a source and contract (hold.h) */
    atomic_int down;              /* how many servers are away */
    atomic_ulong outages;         /* so far */
    atomic_bool leaving;
    /* the worker; guarded by the lock */
    bool has_worker;
    pthread_t worker;
    pthread_mutex_t lock;
    pthread_cond_t work_waits, work_done;
    rr_inflight *waiting[RR_INFLIGHT_MOST]; /* those that the worker has not taken yet */
    bool worker_ends;
} rr_service;

/* A server that the service needs, in the words of its log. */
typedef struct rr_dependency {
    const char *name;    /* "the store" */
    const char *refusal; /* what it does when it answers and refuses: "refuses writes" */
} rr_dependency;

extern const rr_dependency rr_the_store, rr_the_queue, rr_the_dead_letters;

/* Sets *down, and writes one line of the log when an outage begins, and one when it is over. */
void rr_outage_begin(rr_service *service, bool *down, rr_dependency dependency, const rr_error *error);
void rr_outage_end(rr_service *service, bool *down, rr_dependency dependency);

/* Waits, each time a little longer. False: it is time to leave. */
bool rr_outage_wait(const rr_service *service, int *pause_ms);

rr_status rr_service_no_memory(rr_error *error);

#endif
