/* Direct-mapped: a slot holds the key and value that hashed to it last, in one buffer that is used again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <stdlib.h>

typedef struct slot {
    uint64_t hash;
    char *bytes; /* key, then value */
    uint32_t key_len, value_len, room; /* value_len 0: empty */
} slot;

struct rr_cache {
    size_t mask;
    slot slots[];
};

rr_cache *rr_cache_new(size_t slots)
{
    rr_cache *cache = calloc(1, sizeof *cache + slots * sizeof cache->slots[0]);

    if (cache != NULL) {
        cache->mask = slots - 1;
    }
    return cache;
}

void rr_cache_free(rr_cache *cache)
{
    for (size_t k = 0; cache != NULL && k <= cache->mask; k++) {
        free(cache->slots[k].bytes);
    }
    free(cache);
}

rr_slice rr_cache_get(const rr_cache *cache, uint64_t hash, rr_slice key, rr_arena *arena)
{
    const slot *s = &cache->slots[hash & cache->mask];

    if (s->value_len == 0 || s->hash != hash || !rr_slice_equal((rr_slice){s->bytes, s->key_len}, key)) {
        return (rr_slice){NULL, 0};
    }
    return rr_arena_copy(arena, (rr_slice){s->bytes + s->key_len, s->value_len});
}

static bool make_room(slot *s, size_t bytes)
{
    char *grown;

    if (s->room >= bytes) {
        return true;
    }
    grown = realloc(s->bytes, bytes);
    if (grown == NULL) {
        return false;
    }
    s->bytes = grown;
    s->room = (uint32_t)bytes;
    return true;
}

void rr_cache_put(rr_cache *cache, uint64_t hash, rr_slice key, rr_slice value)
{
    slot *s = &cache->slots[hash & cache->mask];

    s->value_len = 0;
    if (value.len == 0 || value.len > RR_CACHE_VALUE_MAX || !make_room(s, key.len + value.len)) {
        return;
    }
    memcpy(s->bytes, key.data, key.len);
    memcpy(s->bytes + key.len, value.data, value.len);
    s->hash = hash;
    s->key_len = (uint32_t)key.len;
    s->value_len = (uint32_t)value.len;
}

void rr_cache_empty(rr_cache *cache)
{
    for (size_t k = 0; k <= cache->mask; k++) {
        cache->slots[k].value_len = 0;
    }
}
