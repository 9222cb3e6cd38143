/* rr_cache: the last known values of units, within a bound. It only saves loads.
 *
 * A value that is out of date does no harm. A swap is guarded by the token of the
 * value that it was decided from, so it loses. And since facts only grow, an old
 * value holds fewer facts, never other ones: a record that it calls a duplicate
 * is one. But the cache must be emptied whenever the store may be another one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CACHE_H
#define RR_CACHE_H

#include <rr/arena.h>

typedef struct rr_cache rr_cache;

/* `slots`: a power of two; each holds one value of at most RR_CACHE_VALUE_MAX bytes. NULL: memory ran out. */
enum { RR_CACHE_VALUE_MAX = 2048 };
rr_cache *rr_cache_new(size_t slots);
void rr_cache_free(rr_cache *cache);

/* A copy of the value, in the arena; empty if the cache does not hold it. */
rr_slice rr_cache_get(const rr_cache *cache, uint64_t hash, rr_slice key, rr_arena *arena);

/* Puts the value into its slot, and removes what the slot held. A value that is empty or too large, or for which
 * memory runs out, is not put. */
void rr_cache_put(rr_cache *cache, uint64_t hash, rr_slice key, rr_slice value);

void rr_cache_empty(rr_cache *cache);

#endif
