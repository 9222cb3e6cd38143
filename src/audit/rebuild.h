/* rr_rebuild: the results made anew from the streams, below another generation of the prefix (generation.h).
 *
 * For a wrong mapping or a changed contract, where reading again would only meet
 * its own old facts. In this order:
 *
 *   sweep    what unfinished rebuilds left
 *   read     every stream from its first message, in rounds, until little is left
 *   verify   cell by cell against a second reading, in memory
 *   pause    daemons begin no batch; the rest of the streams is read
 *   switch   the note of the generation, guarded by the note of who rebuilds
 *   drop     the old generation, a few seconds later, for readers on their way
 *
 * Until the switch readers and daemons meet nothing of it; after it only garbage
 * is left to do. So it may die anywhere. What was delivered before the switch
 * and acknowledged under the old generation is read again by the daemon that
 * starts with the new one (checkpoint.h), so nothing depends on who is faster.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_H
#define RR_REBUILD_H

#include "generation.h"
#include "log_level.h"
#include "verify.h"

typedef struct rr_rebuild_options {
    const rr_store_ops *store_ops;
    rr_store *store, *lock_store;   /* two handles of one store: the second is used by a thread of its own */
    const rr_store_ops *memory_ops; /* where it is verified */
    rr_slice base_prefix;           /* of the configuration */
    const rr_bound_source *sources;
    size_t source_count;
    const rr_bound_contract *contracts;
    size_t contract_count;
    bool dry_run;            /* look at everything, change nothing */
    bool drop_only;          /* remove what is not in force, and nothing else */
    bool keep_old;           /* leave the old generation in place; the next rebuild removes it */
    bool from_what_is_there; /* also where a stream has lost its beginning */
    int64_t (*now_us)(void);
    void (*pause_ms)(int ms);
    void (*log)(rr_log_level level, const char *text);
    /* As in verify.h: what differs after the rebuild. */
    void (*report)(void *context, rr_verify_finding finding, rr_slice key, rr_slice expected, rr_slice found);
    void *context;
} rr_rebuild_options;

typedef struct rr_rebuild_totals {
    char before[RR_GENERATION_PREFIX_MAX], after[RR_GENERATION_PREFIX_MAX]; /* prefixes */
    uint64_t records, equal, different, not_verifiable;
    uint64_t refused; /* records without an effect: they break the contract, or came too late */
    uint64_t removed; /* keys */
    bool switched;
} rr_rebuild_totals;

/* Blocks. OK also where what was rebuilt differs from what the streams say: then nothing was switched over, and the
 * differences are in the totals. INPUT: a stream has lost its beginning. CONFIG: others keep results below this prefix.
 * UNAVAILABLE: a server did not answer, or another rebuild is at work; run it again. */
rr_status rr_rebuild_run(const rr_rebuild_options *options, rr_rebuild_totals *totals, rr_error *error);

#endif
