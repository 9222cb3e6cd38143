/* What recovery knows of the store and of each source. Private to the room; the service reads and feeds the progress of
 * its sources.
 *
 * One thread at a time: the service hands it to its worker with a batch, and uses it itself only between batches.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECOVERY_STATE_H
#define RR_RECOVERY_STATE_H

#include "batch.h"
#include "checkpoint.h"
#include "environment.h"

/* The progress of one source. */
typedef struct rr_source_progress {
    uint64_t sequence;       /* stream sequence of the newest settled delivery; 0: none yet */
    int64_t time_us;         /* when the stream stored it */
    uint64_t digest;         /* of its payload */
    int64_t starts_at_us;    /* messages that were stored before are not for this consumer; 0: all are */
    int64_t repair_after_us; /* a repair that failed is not tried again before */
    bool digest_compared;    /* since the start the message at the floor was compared with its digest */
    bool is_suspect;     /* it delivered as new what the checkpoint says is done, so the stream may be another one */
    bool is_away;        /* queue or store did not answer at the last tick */
    bool is_halted;      /* the stream was rolled back or made anew: nothing more is taken from it */
    bool is_held;        /* nearly all records of its mapping were refused: nothing more is taken from it */
    uint64_t held_by;    /* is_held: the digest of the mappings that it was held under */
    bool halt_alert_due; /* the alert about is_halted could not be stored yet */
    rr_checkpoint checkpoint; /* as it was last read or written */
} rr_source_progress;

typedef struct rr_recovery {
    const rr_environment *env;
    rr_batch *batch;              /* of the service: its cache is emptied where the store may be another one */
    rr_batch *repair_batch;       /* decides what is read again */
    rr_source_progress *progress; /* one a source of the environment */
    char incarnation[128];        /* of the store that all of this was read from; empty: none yet */
    bool store_is_suspect;        /* an op failed since then: the store may be another one now */
    atomic_bool superseded;       /* another generation of the prefix is in force: nothing more is acknowledged here */
    int64_t next_tick_us;
    rr_arena arena;      /* of one tick or one slice */
    rr_arena note_arena; /* of one note, for the thread that uses the store at the moment */
    rr_buf text;
} rr_recovery;

/* `<prefix>:<kind>:{<name>}`, in the arena of the tick; empty if memory ran out. */
rr_slice rr_recovery_key(rr_recovery *recovery, const char *kind, rr_slice name);

/* Called where an op of the store failed. Its next connection may lead to another server, so nothing that was read
 * from it is used until its identity was asked again. */
void rr_recovery_suspect_store(rr_recovery *recovery);

/* Asks the store for its identity. *is_same: it is still the store that everything here was read from; where it is
 * not, all of that is dropped. */
rr_status rr_recovery_identify_store(rr_recovery *recovery, bool *is_same, rr_error *error);

#endif
