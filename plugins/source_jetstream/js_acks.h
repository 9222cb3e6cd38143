/* rr_acks: how far an `ack: all` consumer may be acknowledged.
 *
 * Under `ack: all` one acknowledgement covers every message of the consumer up
 * to its stream sequence, also those that we never saw. So it is right only if
 * we know of all that the server has delivered and that is not acknowledged.
 * Two things tell:
 *
 *   the debt   What was delivered before we began (to a process before us, or
 *              to a connection that broke) is outstanding at the server and
 *              unknown here. It comes again. Until all of it has come, nothing
 *              is acknowledged.
 *   the count  The server numbers the deliveries of a consumer without gaps,
 *              repeats included. From then on a gap means that somebody else
 *              got one: a second reader, or a dead connection of our own.
 *
 * Pure: no I/O, no clock. Memory is got only while the list of what is in
 * hand grows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_ACKS_H
#define RR_JS_ACKS_H

#include "js_reply.h"

/* One message that the server waits for, by stream sequence. */
typedef struct rr_ack_entry {
    rr_reply reply; /* of its latest delivery: an older one is void to the server */
    bool done;      /* its effect is stored */
} rr_ack_entry;

typedef struct rr_acks {
    rr_ack_entry *entries; /* by stream sequence; those in use are head..tail */
    size_t head, tail, room;
    uint64_t next_consumer; /* the consumer sequence that comes next; 0: any */
    uint64_t debt_to;       /* the debt is at or below this stream sequence */
    uint64_t debt;          /* messages that are outstanding and not yet known here */
    bool disordered;        /* consumer sequences may not rise with stream sequences */
} rr_acks;

typedef enum rr_acks_answer {
    RR_ACKS_TAKEN,
    RR_ACKS_GAP,  /* a delivery before this one went elsewhere; nothing was taken */
    RR_ACKS_BACK, /* the server counts from further back: it lost state, or another one leads; nothing was taken */
    RR_ACKS_NO_MEMORY
} rr_acks_answer;

void rr_acks_fini(rr_acks *acks);

/* Forgets what is in hand and begins anew: the next delivery has this consumer sequence. */
void rr_acks_reset(rr_acks *acks, uint64_t next_consumer);

/* The debt as it is now. */
void rr_acks_owe(rr_acks *acks, uint64_t debt, uint64_t debt_to);

/* A delivery arrived. */
rr_acks_answer rr_acks_take(rr_acks *acks, const rr_reply *reply);

/* Whether that stream sequence is in hand. */
bool rr_acks_know(const rr_acks *acks, uint64_t stream);

/* How many are in hand up to that stream sequence. */
size_t rr_acks_count(const rr_acks *acks, uint64_t to);

/* Drops what is at or below the server's floor. */
void rr_acks_floor(rr_acks *acks, uint64_t floor);

/* The effect of that stream sequence is stored. Unknown ones (of before a reset) are of no account: they come again. */
void rr_acks_done(rr_acks *acks, uint64_t stream);

/* The acknowledgement that is due now, which covers all that is dropped from the list; false: none. */
bool rr_acks_due(rr_acks *acks, rr_reply *reply);

#endif
