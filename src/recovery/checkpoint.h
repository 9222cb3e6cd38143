/* rr_checkpoint: how far a source's effects are known to be in this very store.
 *
 * Every acknowledgement follows its effect, so the consumer's acknowledgement
 * floor covers only what is done, whichever process did it. It is written
 * together with the store's incarnation. Where the store turns out to be another
 * one, what lies above the floor may be gone although it was acknowledged: that
 * range is read again (`repair`).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CHECKPOINT_H
#define RR_CHECKPOINT_H

#include <rr/source.h>
#include <rr/store.h>

#include "buf.h"

typedef struct rr_checkpoint {
    rr_slice stream, consumer;
    int64_t created_at_us; /* of the stream */
    uint64_t floor;        /* effects up to this stream sequence are in the store */
    uint64_t digest_of;    /* the sequence that the digest is of; 0: none */
    uint64_t digest;
    char incarnation[128]; /* of the store; empty: a rebuild wrote the checkpoint, and no process has used it yet */
    bool repairing;
    uint64_t first, from, to; /* the range being read again: from its beginning, what is still to do, its end */
    uint64_t acked;           /* may be acknowledged up to here: results that the store does not have were lost */
    uint64_t found_lost;      /* number of lost results that were found so far */
    uint64_t begun;           /* a slice up to here was begun; 0: none */
    bool uncertain; /* a slice was begun twice: results that the first reader restored are not in found_lost */
    bool gap;       /* results of gap_from to gap_to may be lost, and the stream no longer has these sequences */
    uint64_t gap_from, gap_to;
} rr_checkpoint;

/* JSON, for the store and for people. */
void rr_checkpoint_write(rr_buf *out, const rr_checkpoint *checkpoint);

/* False: this program has not written it. Slices lie in the arena. */
bool rr_checkpoint_read(rr_slice json, rr_arena *arena, rr_checkpoint *checkpoint);

/* What became of the stream and the store since the checkpoint was written. */
typedef enum rr_checkpoint_finding {
    RR_CHECKPOINT_FINE,
    RR_CHECKPOINT_STORE_CHANGED, /* the store is another one: repair was set */
    RR_CHECKPOINT_NEVER_WRITTEN, /* there was no checkpoint, but the consumer has delivered: repair was set */
    RR_CHECKPOINT_REBUILT, /* deliveries while a rebuild ended may be in the old generation alone: repair was set */
    RR_CHECKPOINT_SOURCE_ROLLED_BACK, /* the stream's end is below the floor */
    RR_CHECKPOINT_SOURCE_REMADE       /* the stream was made anew */
} rr_checkpoint_finding;

/* Compares the stored checkpoint (is_known false: there is none) with the stream and the store. Sets floor,
 * incarnation, repair and gap. Pure. */
rr_checkpoint_finding rr_checkpoint_advance(rr_checkpoint *checkpoint, bool is_known, const rr_source_info *info,
                                            const char *incarnation);

/* Sets a range to be read again (also for `rewind`). A repair that is under way is extended by it. */
void rr_checkpoint_set_repair(rr_checkpoint *checkpoint, uint64_t from, uint64_t to, uint64_t acked);

/* A digest of a message, to notice a stream that was replaced by another one. */
uint64_t rr_checkpoint_digest(rr_slice payload);

#endif
