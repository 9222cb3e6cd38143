/* Direct-mapped: a slot holds the last key and value that were hashed to it. The bytes of a slot are used again;
 * they lie in an arena, mostly in one large block of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cache.h"

#include <stdlib.h>

typedef struct slot {
    uint64_t hash;
    char *bytes;                       /* key, then value; in the arena */
    uint32_t key_len, value_len, room; /* value_len 0: empty */
} slot;

enum { USUAL_BYTES = 384, ROUND_BYTES = 64 };

struct rr_cache {
    rr_arena arena;
    size_t mask;
    slot slots[];
};

rr_cache *rr_cache_new(size_t slots)
{
    rr_cache *cache = calloc(1, sizeof *cache + slots * sizeof cache->slots[0]);

    if (cache == NULL) {
        return NULL;
    }
    rr_arena_init(&cache->arena, 0);
    if (!rr_arena_reserve(&cache->arena, slots * USUAL_BYTES)) {
        free(cache);
        return NULL;
    }
    cache->mask = slots - 1;
    return cache;
}

void rr_cache_free(rr_cache *cache)
{
    if (cache != NULL) {
        rr_arena_fini(&cache->arena);
        free(cache);
    }
}

rr_slice rr_cache_get(const rr_cache *cache, uint64_t hash, rr_slice key, rr_arena *arena)
{
    const slot *s = &cache->slots[hash & cache->mask];

    if (s->value_len == 0 || s->hash != hash || !rr_slice_equal((rr_slice){s->bytes, s->key_len}, key)) {
        return (rr_slice){NULL, 0};
    }
    return rr_arena_copy(arena, (rr_slice){s->bytes + s->key_len, s->value_len});
}

/* Bytes that have become too few are abandoned in the arena. Each time the room at least doubles, so the abandoned
 * bytes are fewer than the used ones. */
static bool make_room(rr_cache *cache, slot *s, size_t bytes)
{
    size_t room =
        2 * (size_t)s->room > bytes ? 2 * (size_t)s->room : (bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;

    if (s->room < bytes) {
        s->bytes = rr_arena_take(&cache->arena, room);
        s->room = s->bytes == NULL ? 0 : (uint32_t)room;
    }
    return s->room >= bytes;
}

void rr_cache_put(rr_cache *cache, uint64_t hash, rr_slice key, rr_slice value)
{
    slot *s = &cache->slots[hash & cache->mask];

    s->value_len = 0;
    if (value.len == 0 || value.len > RR_CACHE_VALUE_MAX || !make_room(cache, s, key.len + value.len)) {
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
