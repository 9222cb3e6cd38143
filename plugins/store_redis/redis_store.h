/* rr_store of Redis: its state, which all parts of the store share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_STORE_H
#define RR_STORE_REDIS_STORE_H

#include <rr/store.h>

#include "redis_link.h"

enum {
    RR_CALL_UNITS =
        128, /* units of one call: more would need fewer redis.call()s each, but other clients would wait longer */
    RR_CALL_KEYS = 256,         /* keys of one MGET: the server looks up the next ones while these are read */
    RR_CALL_BYTES = 512 * 1024, /* a call ends behind the unit that reaches this */
    RR_ROUND_BYTES = 8 << 20,   /* calls of one round */
    RR_ROUND_FLIGHTS = 1024
};

/* Writes one call for items from `first` on into link.out, and returns how many of them it covers (at least one;
 * it may write nothing). */
typedef size_t rr_call_put(void *context, size_t first);

/* The calls of one op, in rounds: `put` writes them, `take` takes the answers. */
typedef struct rr_calls {
    rr_call_put *put;
    rr_flight_take *take;
    void *context;
    size_t first;   /* item that no call covers yet */
    size_t flights; /* of the round */
} rr_calls;

/* Swaps under way. */
typedef struct rr_swapping {
    rr_store *store;
    rr_swap **swaps; /* of the swaps of one op, those that create a value alone come first */
    size_t count, room;
    rr_arena *arena;
    size_t
        wrong_type; /* swaps whose key holds another type: they are asked again by the function, which tells the type */
    bool by_function; /* without SET */
    rr_calls calls;
} rr_swapping;

/* Loads that were sent ahead. */
typedef struct rr_loading {
    rr_store *store;
    rr_load *loads;
    size_t count, ready; /* the first `ready` have their answers */
    rr_arena *arena;
} rr_loading;

struct rr_store {
    rr_link link;
    rr_loading loading;
    rr_swapping swapping;
    size_t log_max;
    bool next_takes_wrong_type; /* of the flight that `put` writes */
    size_t wait_replicas;       /* 0: no replica is waited for */
    rr_buf confirm;             /* a write of confirm_write bytes, then WAIT */
    size_t confirm_write;
    rr_flight flights[RR_ROUND_FLIGHTS];
};

static inline void rr_error_clear(rr_error *error)
{
    error->status = RR_OK;
    error->text[0] = '\0';
}

/* A copy in the arena. False: memory ran out. */
static inline bool rr_keep(rr_arena *arena, rr_slice from, rr_slice *to)
{
    *to = rr_arena_copy(arena, from);
    return to->len == from.len;
}

static inline rr_status rr_store_no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "redis store: memory ran out, or the batch's limit was reached");
}

#endif
