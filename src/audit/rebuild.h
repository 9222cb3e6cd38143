/* rr_rebuild: makes all results anew from the streams, in another generation of keys (generation.h).
 *
 * For a wrong mapping or a changed contract: reading the streams again into the
 * same keys would only find the old facts. In this order:
 *
 *   sweep    remove what unfinished rebuilds left
 *   read     every stream from its first message, in rounds, until little is left
 *   verify   cell by cell against a second reading, in memory
 *   pause    the daemons begin no batch, and the rest of the streams is read
 *   switch   name the new generation, by a swap guarded by the lock of the rebuild
 *   drop     remove the old generation, a few seconds later: readers may be at it
 *
 * Until the switch readers and daemons see nothing of the new generation. After it
 * only garbage is left to remove. So a rebuild may die at any moment. The daemon
 * that starts with the new generation reads again what was delivered before the
 * switch (checkpoint.h). So no record is lost that was acknowledged meanwhile.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_H
#define RR_REBUILD_H

#include "generation.h"
#include "log_level.h"
#include "verify.h"

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

/* Blocks. OK also where what was rebuilt differs from what the streams say: then nothing was switched over, and the
 * differences are in the totals. INPUT: a stream has lost its beginning. CONFIG: others keep results below this prefix.
 * UNAVAILABLE: a server did not answer, or another rebuild is at work; run it again. */
rr_status rr_rebuild_run(const rr_rebuild_options *options, rr_rebuild_totals *totals, rr_error *error);

#endif
