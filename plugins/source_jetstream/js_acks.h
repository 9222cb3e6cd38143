/* rr_acks: how far an `ack: all` consumer may be acknowledged.
 *
 * Under `ack: all` one acknowledgement covers every message of the consumer up
 * to its stream sequence, also messages that this process never received. So it
 * is right only if every delivery that the server counts as outstanding is known
 * here. Two things make sure of that:
 *
 *   the debt   Messages that were delivered earlier (to another process, or over
 *              a connection that broke) are outstanding at the server and
 *              unknown here. The server repeats them. Until all of them have
 *              come, nothing is acknowledged.
 *   the count  The server numbers the deliveries of a consumer without gaps,
 *              repeats included. A gap means that a delivery went elsewhere: to
 *              a second reader, or to a dead connection of this process.
 *
 * Pure: no I/O, no clock. Memory is allocated only while the list of known
 * deliveries grows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_ACKS_H
#define RR_JS_ACKS_H

#include "js_reply.h"

/* One message that the server waits for, by stream sequence. */
typedef struct rr_ack_entry {
    rr_reply reply; /* of its latest delivery: the server ignores an older one */
    bool done;      /* its effect is stored */
} rr_ack_entry;

typedef struct rr_acks {
    rr_ack_entry *entries; /* by stream sequence; those in use are head..tail */
    size_t head, tail, room;
    uint64_t next_consumer; /* the consumer sequence that comes next; 0: any */
    uint64_t debt_to;       /* the debt is at or below this stream sequence */
    uint64_t debt;          /* messages that are outstanding and not yet known here */
    bool is_reordered;      /* consumer sequences may not rise with stream sequences */
} rr_acks;

typedef enum rr_acks_answer {
    RR_ACKS_TAKEN,
    RR_ACKS_GAP,  /* a delivery before this one went elsewhere; nothing was taken */
    RR_ACKS_BACK, /* the server counts from further back: it lost state, or has another leader; nothing was taken */
    RR_ACKS_NO_MEMORY
} rr_acks_answer;

void rr_acks_fini(rr_acks *acks);

/* Forgets all known deliveries. The next delivery has this consumer sequence. */
void rr_acks_reset(rr_acks *acks, uint64_t next_consumer);

/* The debt as it is now. */
void rr_acks_owe(rr_acks *acks, uint64_t debt, uint64_t debt_to);

/* A delivery arrived. */
rr_acks_answer rr_acks_take(rr_acks *acks, const rr_reply *reply);

/* Whether that stream sequence was received and is not acknowledged. */
bool rr_acks_know(const rr_acks *acks, uint64_t stream);

/* How many such there are up to that stream sequence. */
size_t rr_acks_count(const rr_acks *acks, uint64_t to);

/* Drops what is at or below the server's floor. */
void rr_acks_floor(rr_acks *acks, uint64_t floor);

/* The effect of that stream sequence is stored. A sequence that is unknown since a reset is
 * ignored: it comes again. */
void rr_acks_done(rr_acks *acks, uint64_t stream);

/* The acknowledgement that is due now, which covers all that is dropped from the list; false: none. */
bool rr_acks_due(rr_acks *acks, rr_reply *reply);

#endif
