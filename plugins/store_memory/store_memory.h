/* The memory store: cells of one process, for `apply`, for tests, and for whoever embeds the reconciler.
 *
 * It behaves as the Redis store does, types of keys included, with two differences: nothing expires, and nothing
 * outlives the close. Each open store has its own content. URL: memory:
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_MEMORY_H
#define RR_STORE_MEMORY_H

#include <rr/store.h>

extern const rr_store_ops rr_store_memory_ops;

#endif
