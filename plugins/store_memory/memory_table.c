/* Open addressing with linear probing over pointers to entries that never move. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_table.h"

#include <stdlib.h>

#include "huge.h"

enum { FIRST_SLOTS = 16 };

typedef struct slot {
    uint64_t hash;
    rr_entry *entry; /* NULL: free */
} slot;

struct rr_table {
    uint64_t seed;
    rr_arena *arena;
    slot *slots;
    size_t mask; /* slots - 1 */
    rr_entry **all;
    size_t count, room;
};

rr_table *rr_table_new(uint64_t seed, rr_arena *arena)
{
    rr_table *table = calloc(1, sizeof *table);

    if (table == NULL) {
        return NULL;
    }
    table->seed = seed;
    table->arena = arena;
    table->mask = FIRST_SLOTS - 1;
    table->slots = calloc(FIRST_SLOTS, sizeof *table->slots);
    if (table->slots == NULL) {
        free(table);
        return NULL;
    }
    return table;
}

void rr_table_free(rr_table *table)
{
    if (table == NULL) {
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        rr_table_free(table->all[i]->under);
        rr_log_free(table->all[i]->log);
    }
    free(table->all);
    free(table->slots);
    free(table);
}

size_t rr_table_count(const rr_table *table)
{
    return table->count;
}

rr_entry *rr_table_at(const rr_table *table, size_t index)
{
    return table->all[index];
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const char *at, size_t len)
{
    uint64_t bytes = 0;

    memcpy(&bytes, at, len);
    return bytes;
}

uint64_t rr_table_hash(const rr_table *table, rr_slice name)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), odd2 = UINT64_C(0xe7037ed1a0b428db);
    uint64_t state = table->seed ^ mix(name.len ^ odd, odd2);
    const char *at = name.data;
    size_t left = name.len;

    for (; left > 8; at += 8, left -= 8) {
        state = mix(word(at, 8) ^ odd, state ^ odd2);
    }
    if (left != 0) {
        state = mix(word(at, left) ^ odd, state ^ odd2);
    }
    return mix(state ^ odd, odd2);
}

void rr_table_prefetch(const rr_table *table, uint64_t hash)
{
    __builtin_prefetch(&table->slots[hash & table->mask]);
}

rr_entry *rr_table_find(const rr_table *table, rr_slice name, uint64_t hash)
{
    for (size_t i = hash & table->mask; table->slots[i].entry != NULL; i = (i + 1) & table->mask) {
        if (table->slots[i].hash == hash && rr_slice_equal(rr_entry_name(table->slots[i].entry), name)) {
            return table->slots[i].entry;
        }
    }
    return NULL;
}

static void place(slot *slots, size_t mask, slot placed)
{
    size_t i = placed.hash & mask;

    while (slots[i].entry != NULL) {
        i = (i + 1) & mask;
    }
    slots[i] = placed;
}

static bool grow_slots(rr_table *table)
{
    size_t mask = table->mask * 2 + 1;
    slot *slots;

    if (table->count * 2 <= table->mask) {
        return true;
    }
    slots = calloc(mask + 1, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    rr_huge(slots, (mask + 1) * sizeof *slots);
    for (size_t i = 0; i <= table->mask; i++) {
        if (table->slots[i].entry != NULL) {
            place(slots, mask, table->slots[i]);
        }
    }
    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    return true;
}

static bool grow_list(rr_table *table)
{
    size_t room = table->room == 0 ? FIRST_SLOTS : table->room * 2;
    rr_entry **all;

    if (table->count < table->room) {
        return true;
    }
    all = realloc(table->all, room * sizeof *all);
    if (all == NULL) {
        return false;
    }
    table->all = all;
    table->room = room;
    return true;
}

rr_entry *rr_table_add(rr_table *table, rr_slice name, uint64_t hash)
{
    rr_entry *entry = rr_table_find(table, name, hash);

    if (entry != NULL) {
        return entry;
    }
    if (!grow_slots(table) || !grow_list(table)) {
        return NULL;
    }
    entry = rr_arena_take(table->arena, sizeof *entry + name.len);
    if (entry == NULL) {
        return NULL;
    }
    *entry = (rr_entry){.name_len = name.len};
    if (name.len != 0) {
        memcpy(entry->name, name.data, name.len);
    }
    place(table->slots, table->mask, (slot){hash, entry});
    table->all[table->count++] = entry;
    return entry;
}

/* The room that becomes too small is lost until the arena goes. Each next one is twice as large, so all that one entry
 * loses is no more than it has. */
bool rr_entry_room(rr_table *table, rr_entry *entry, size_t len)
{
    size_t room = len + len / 8 > entry->room * 2 ? len + len / 8 : entry->room * 2;
    char *data;

    if (len <= entry->room) {
        return true;
    }
    data = room < len ? NULL : rr_arena_take(table->arena, room);
    if (data == NULL) {
        return false;
    }
    if (entry->len != 0) {
        memcpy(data, entry->data, entry->len);
    }
    entry->data = data;
    entry->room = room;
    return true;
}

void rr_entry_write(rr_entry *entry, rr_slice value)
{
    if (value.len != 0) {
        memcpy(entry->data, value.data, value.len);
    }
    entry->len = value.len;
    entry->type = RR_ENTRY_VALUE;
}
