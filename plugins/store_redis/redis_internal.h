/* What the files of the Redis store share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_INTERNAL_H
#define RR_STORE_REDIS_INTERNAL_H

#include <rr/store.h>

#include "redis_link.h"
#include "redis_resp.h"

enum {
    RR_CALL_UNITS = 128,        /* units of one call; fewer redis.call()s each, but others wait for the whole */
    RR_CALL_KEYS = 256,         /* keys of one MGET: those of the next are found while these are read */
    RR_CALL_BYTES = 512 * 1024, /* a call ends behind the unit that reaches this */
    RR_ROUND_BYTES = 8 << 20,   /* calls that are asked at once */
    RR_ROUND_FLIGHTS = 1024
};

/* The calls of one op, in rounds. `put` writes one call for items from `first` on into link.out, and says how many of
 * them it covers (at least one; writing nothing is fine); `take` takes the answers. */
typedef size_t rr_call_put(void *context, size_t first);

typedef struct rr_calls {
    rr_call_put *put;
    rr_flight_take *take;
    void *context;
    size_t first;   /* item that no call covers yet */
    size_t flights; /* of the round */
} rr_calls;

/* Swaps on their way. */
typedef struct rr_swapping {
    rr_store *store;
    rr_swap **swaps; /* of those handed over at once, the ones that make a value alone come first */
    size_t count, room;
    rr_arena *arena;
    size_t wrong_type; /* keys that hold another type: the function says which */
    bool by_function;  /* no SET */
    rr_calls calls;
} rr_swapping;

/* Loads that were asked ahead. */
typedef struct rr_loading {
    rr_store *store;
    rr_load *loads;
    size_t count, ready; /* so many of them have their answers */
    rr_arena *arena;
} rr_loading;

struct rr_store {
    rr_link link;
    rr_loading loading;
    rr_swapping swapping;
    size_t log_max;
    bool next_takes_wrong_type; /* of the flight that `put` is writing */
    size_t wait_replicas;       /* 0: nothing is waited for */
    rr_buf confirm;             /* a write, of so many bytes, and WAIT */
    size_t confirm_write;
    rr_flight flights[RR_ROUND_FLIGHTS];
};

/* Writes calls for all items before `count`; asks only where a round is full. */
rr_status rr_store_call(rr_store *store, rr_calls *calls, size_t count, rr_error *error);

/* Asks what was written, and takes the answers; before them those of loads that were asked ahead. */
rr_status rr_store_finish(rr_store *store, rr_calls *calls, rr_error *error);

/* Begins an op in pieces, or goes on with it. */
rr_status rr_store_go_on(rr_store *store, rr_error *error);

/* A whole op about `count` items: begins it, writes, asks. */
rr_status rr_store_ask(rr_store *store, size_t count, rr_call_put *put, rr_flight_take *take, void *context,
                       rr_error *error);

rr_status rr_redis_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error);
rr_status rr_redis_swap_ahead(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error);
rr_status rr_redis_swap_end(rr_store *store, rr_error *error);
rr_status rr_redis_read_parts(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena, rr_error *error);

/* redis_confirm.c. False: memory ran out. */
bool rr_redis_confirm_init(rr_store *store, const rr_store_options *options);
rr_status rr_redis_confirm(rr_store *store, rr_error *error);

/* redis_survey.c */
rr_status rr_redis_survey(const char *url, const rr_store_options *options, rr_slice prefix, rr_store_survey *survey,
                          rr_error *error);

/* Writes the head of a call to a function: its name and how many keys follow; `args` come behind the keys. */
void rr_call_head(rr_buf *out, const char *function, size_t keys, size_t args);

/* Writes <key>:parts:<birth> as one string. */
void rr_call_parts_key(rr_buf *out, rr_slice key, rr_slice token);

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

#endif
