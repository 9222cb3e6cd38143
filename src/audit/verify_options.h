/* The options of a verification, its findings, and what it counts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERIFY_OPTIONS_H
#define RR_VERIFY_OPTIONS_H

#include <rr/store.h>

#include "bindings.h"

typedef enum rr_verify_finding {
    RR_VERIFY_DIFFERS,
    RR_VERIFY_MISSING, /* only the streams have it */
    RR_VERIFY_EXTRA,   /* only the store has it */
    RR_VERIFY_BROKEN   /* what the store holds cannot be read */
} rr_verify_finding;

typedef struct rr_verify_options {
    const rr_contract *contract;
    const rr_store_ops *store_ops;
    rr_store *store;
    const rr_store_ops *memory_ops; /* a store in memory, into which the streams are read */
    rr_slice prefix;
    const rr_bound_source *sources; /* those whose routes may lead to the contract */
    size_t source_count;
    const uint64_t *upto; /* of each source: the last sequence that is read; NULL: read all */
    bool repair;          /* replace what differs, by a swap guarded by its token */
    unsigned rounds;      /* how often the cells are compared until a difference counts; 0: 5 */
    int64_t (*now_us)(void);
    void (*pause)(int ms);
    /* Called for each difference that counts. expected, found: lines as of `apply --cells`; empty where there is
     * none. */
    void (*report)(void *context, rr_verify_finding finding, rr_slice key, rr_slice expected, rr_slice found);
    void *context;
} rr_verify_options;

typedef struct rr_verify_totals {
    uint64_t records, equal, different, not_verifiable, repaired;
    bool covers_all; /* no stream has lost its beginning */
} rr_verify_totals;

#endif
