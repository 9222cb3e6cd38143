/* Loads: MGET commands, also ones that are sent ahead of the calls that follow them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_LOAD_H
#define RR_STORE_REDIS_LOAD_H

#include "redis_store.h"

/* Begins a trip of loads and swaps in pieces: connects if need be, and forgets an earlier trip. */
rr_status rr_redis_begin_trip(rr_store *store, rr_error *error);

/* The store's ops `load_ahead` and `load_next`. A round of swaps that was full may have taken answers before
 * `load_next` does. */
rr_status rr_redis_load_ahead(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error);
rr_status rr_redis_load_next(rr_store *store, size_t *ready, rr_error *error);

/* Loads without an answer yet; `put` and `take` (an rr_call_put and an rr_flight_take) have it as their context. */
rr_loading rr_redis_begin_loads(rr_store *store, rr_load *loads, size_t count, rr_arena *arena);
size_t rr_redis_put_loads(void *context, size_t first);
rr_status rr_redis_take_loads(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error);

#endif
