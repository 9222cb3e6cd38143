/* Swaps: compare-and-swap of units. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_SWAP_H
#define RR_STORE_REDIS_SWAP_H

#include "redis_store.h"

/* The store's ops `swap`, `swap_ahead` and `swap_end`. */
rr_status rr_redis_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error);
rr_status rr_redis_swap_ahead(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error);
rr_status rr_redis_swap_end(rr_store *store, rr_error *error);

#endif
