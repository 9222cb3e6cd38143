/* The options of a rebuild, and what it counts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_OPTIONS_H
#define RR_REBUILD_OPTIONS_H

#include "generation.h"
#include "log_level.h"
#include "verify_options.h"

typedef struct rr_rebuild_options {
    const rr_store_ops *store_ops;
    rr_store *store, *lock_store;   /* two handles of one store: a thread of its own uses the second */
    const rr_store_ops *memory_ops; /* a store in memory, to verify with */
    rr_slice base_prefix;           /* of the configuration */
    const rr_bound_source *sources;
    size_t source_count;
    const rr_bound_contract *contracts;
    size_t contract_count;
    bool dry_run;            /* check everything, change nothing */
    bool drop_only;          /* only remove the generations that are not in force */
    bool keep_old;           /* do not remove the old generation; the next rebuild removes it */
    bool from_what_is_there; /* go on where a stream has lost its beginning */
    int64_t (*now_us)(void);
    void (*pause_ms)(int ms);
    void (*log)(rr_log_level level, const char *text);
    /* As in verify.h, for what differs after the rebuild. */
    void (*report)(void *context, rr_verify_finding finding, rr_slice key, rr_slice expected, rr_slice found);
    void *context;
} rr_rebuild_options;

typedef struct rr_rebuild_totals {
    char before[RR_GENERATION_PREFIX_MAX], after[RR_GENERATION_PREFIX_MAX]; /* prefixes */
    uint64_t records, equal, different, not_verifiable;
    uint64_t refused; /* records without effect: they break the contract, or came too late */
    uint64_t removed; /* keys */
    bool switched;
} rr_rebuild_totals;

#endif
