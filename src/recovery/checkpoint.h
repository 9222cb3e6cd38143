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
    char incarnation[128]; /* empty: a rebuild wrote it, and nobody has worked with it yet */
    bool repairing;
    uint64_t first, from, to; /* the range being read again: from its beginning, what is still to do, its end */
    uint64_t acked;           /* up to here it may have been acknowledged: what is not there was lost */
    uint64_t found_lost;      /* results that turned out to be gone, so far */
    uint64_t begun;           /* a slice up to here was begun; 0: none */
    bool uncertain;           /* one was begun twice: what the first reader brought back is not in found_lost */
    bool gap;                 /* what was lost and is no longer in the stream */
    uint64_t gap_from, gap_to;
} rr_checkpoint;

/* JSON, for the store and for people. */
void rr_checkpoint_write(rr_buf *out, const rr_checkpoint *checkpoint);

/* False: not a checkpoint of ours. Slices lie in the arena. */
bool rr_checkpoint_read(rr_slice json, rr_arena *arena, rr_checkpoint *checkpoint);

/* What the checkpoint is to become, now that the server and the store say this. */
typedef enum rr_checkpoint_finding {
    RR_CHECKPOINT_FINE,
    RR_CHECKPOINT_STORE_CHANGED,      /* repair was set */
    RR_CHECKPOINT_NEVER_WRITTEN,      /* there was none, but the consumer has delivered: repair was set */
    RR_CHECKPOINT_REBUILT,            /* what was delivered while a rebuild ended may be known to the generation before
                                       * alone: repair was set */
    RR_CHECKPOINT_SOURCE_ROLLED_BACK, /* the stream's end is below the floor */
    RR_CHECKPOINT_SOURCE_REMADE       /* the stream was made anew */
} rr_checkpoint_finding;

/* Pure: from what is held (`known` false: nothing) and what is seen. Sets floor, incarnation, repair and gap. */
rr_checkpoint_finding rr_checkpoint_advance(rr_checkpoint *checkpoint, bool known, const rr_source_info *info,
                                            const char *incarnation);

/* Asks for a range to be read again (also `rewind`); joins it to one that is under way. */
void rr_checkpoint_set_repair(rr_checkpoint *checkpoint, uint64_t from, uint64_t to, uint64_t acked);

/* A digest of a message, to notice a stream that was replaced by another one. */
uint64_t rr_checkpoint_digest(rr_slice payload);

#endif
