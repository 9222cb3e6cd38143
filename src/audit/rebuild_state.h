/* The state of a rebuild, shared by its stages. Private to src/audit.
 *
 *   rebuild.c           the order of things
 *   rebuild_keys.c      which keys belong to this configuration; the removal of what is not in force
 *   rebuild_lock.c      one rebuild at a time
 *   rebuild_read.c      the streams, read into the new generation
 *   rebuild_switch.c    contracts and checkpoints of the new generation, the pause, and the switch
 *   rebuild_drop.c      alerts that are moved, and the removal of the old generation
 *
 * Functions that return a status put the text of a failure into rr_rebuild.error.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_STATE_H
#define RR_REBUILD_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "batch.h"
#include "intake.h"
#include "rebuild_options.h"

/* The last message of a stream that was read. All zero: none. */
typedef struct rr_rebuild_position {
    uint64_t sequence, digest; /* digest: as in a checkpoint */
} rr_rebuild_position;

typedef struct rr_rebuild {
    const rr_rebuild_options *options;
    rr_rebuild_totals *totals;
    rr_error *error;
    rr_arena arena;      /* lives as long as the rebuild */
    rr_arena page;       /* lives for one call of the store, or a few */
    rr_slice old;        /* the prefix in force before the switch */
    rr_slice target;     /* the prefix that is filled */
    uint64_t in_force;   /* the generation's number */
    uint64_t number;     /* of the generation that is filled */
    uint64_t highest;    /* number of a generation that has keys */
    rr_slice *contracts; /* names of this configuration's contracts, as they stand in keys */
    rr_slice *sources;   /* likewise of its sources */
    /* reading */
    rr_batch *batch;
    rr_intake intake;
    size_t source;                  /* index of the one that is being read */
    rr_rebuild_position *positions; /* one a source */
    uint64_t round_records;         /* messages that this round of reading has met */
    rr_status status;               /* of the callback that takes deliveries */
    /* the note that shuts out other rebuilds */
    rr_tokens tokens;
    char token[RR_TOKEN_LEN];
    rr_slice lock_key, lock;
    pthread_t renewer;
    atomic_bool over; /* ends the renewer */
    atomic_bool lost; /* another rebuild has the lock */
} rr_rebuild;

void rr_rebuild_log(const rr_rebuild *r, rr_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
rr_status rr_rebuild_no_memory(rr_error *error);

/* Copies the text into the arena, and ends the buffer. {NULL, 0}: memory ran out. */
rr_slice rr_rebuild_keep(rr_buf *text, rr_arena *arena);

/* `<base>:<kind>`, in the rebuild's arena. {NULL, 0}: memory ran out. */
rr_slice rr_rebuild_base_key(rr_rebuild *r, const char *kind);

#endif
