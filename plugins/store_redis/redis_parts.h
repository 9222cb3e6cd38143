/* Reads of parts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_PARTS_H
#define RR_STORE_REDIS_PARTS_H

#include "redis_store.h"

/* The store's op `read_parts`. */
rr_status rr_redis_read_parts(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena, rr_error *error);

#endif
