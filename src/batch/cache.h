/* rr_cache: values of units as they were last seen, within a bound. It only saves loads: what is decided upon a cached
 * value is written against its token. A value that is behind holds fewer facts, never other ones, so what it says is
 * held is held. It must be emptied whenever the store behind it may be another one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CACHE_H
#define RR_CACHE_H

#include <rr/arena.h>

typedef struct rr_cache rr_cache;

/* `slots`: a power of two; each holds one value of at most RR_CACHE_VALUE_MAX bytes. NULL: memory ran out. */
enum { RR_CACHE_VALUE_MAX = 2048 };
rr_cache *rr_cache_new(size_t slots);
void rr_cache_free(rr_cache *cache);

/* A copy of the value in the arena; empty if it is not there. */
rr_slice rr_cache_get(const rr_cache *cache, uint64_t hash, rr_slice key, rr_arena *arena);

/* Keeps a value in the place of whatever its slot held. Larger ones, empty ones, and any when memory runs out, only
 * remove what was there. */
void rr_cache_put(rr_cache *cache, uint64_t hash, rr_slice key, rr_slice value);

void rr_cache_empty(rr_cache *cache);

#endif
