/* rr_environment: what the rooms of a running reconciler share: the store and the prefix in force, the sources, the
 * contracts, the clock, the log, and the flag that stops it. All of it outlives its users. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ENVIRONMENT_H
#define RR_ENVIRONMENT_H

#include <stdatomic.h>

#include <rr/store.h>

#include "bindings.h"
#include "log_level.h"

typedef struct rr_environment {
    const rr_store_ops *store_ops;
    rr_store *store;
    rr_slice prefix; /* of keys: the one in force (generation.h) */
    rr_slice
        base_prefix; /* the prefix of the configuration; empty: there are no generations, and `prefix` never changes */
    const rr_bound_source *sources;
    size_t source_count;
    const rr_bound_contract *contracts;
    size_t contract_count;
    const atomic_int *stop;                            /* not 0: finish what is under way, and leave */
    int64_t (*now_us)(void);                           /* the wall clock */
    void (*pause_ms)(int ms);                          /* waits; NULL: nanosleep */
    void (*log)(rr_log_level level, const char *text); /* may be called from several threads at once */
} rr_environment;

bool rr_environment_is_stopping(const rr_environment *env);

void rr_environment_pause(const rr_environment *env, int ms);

/* One line of the log; longer ones are cut. */
void rr_environment_log(const rr_environment *env, rr_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
