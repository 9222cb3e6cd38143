/* Calls of the store's functions, and rounds of calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_CALL_H
#define RR_STORE_REDIS_CALL_H

#include "redis_store.h"

/* Begins a trip in pieces, or goes on with it. */
rr_status rr_calls_go_on(rr_store *store, rr_error *error);

/* Writes calls for all items before `count`; sends and takes answers only where a round is full. */
rr_status rr_calls_write(rr_store *store, rr_calls *calls, size_t count, rr_error *error);

/* Sends what was written and takes the answers; before them those of loads that were sent ahead. */
rr_status rr_calls_finish(rr_store *store, rr_calls *calls, rr_error *error);

/* A whole op about `count` items: begins it, writes its calls, takes their answers. */
rr_status rr_calls_ask(rr_store *store, size_t count, rr_call_put *put, rr_flight_take *take, void *context,
                       rr_error *error);

/* Writes the head of a call of a function: its name and how many keys follow; `args` come behind the keys. */
void rr_call_head(rr_buf *out, const char *function, size_t keys, size_t args);

/* Writes <key>:parts:<birth> as one string. */
void rr_call_parts_key(rr_buf *out, rr_slice key, rr_slice token);

#endif
