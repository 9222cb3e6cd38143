/* rr_table: the entries of the memory store, found by the bytes of their name.
 *
 * Like Redis, one table holds things of several types under one set of names. A
 * thing that was removed stays as RR_ENTRY_NONE, so pointers to entries stay
 * valid as long as the table, and a walk by index may be interleaved with
 * changes. Every `add` and `room` may fail; writing into room that is there
 * cannot, which is how a swap is all or nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_MEMORY_TABLE_H
#define RR_STORE_MEMORY_TABLE_H

#include <rr/arena.h>

#include "memory_log.h"

typedef struct rr_table rr_table;

typedef enum rr_entry_type { RR_ENTRY_NONE, RR_ENTRY_VALUE, RR_ENTRY_PARTS, RR_ENTRY_OPEN, RR_ENTRY_LOG } rr_entry_type;

typedef struct rr_entry {
    rr_entry_type type;
    char *data; /* VALUE; the room is kept when it is removed */
    size_t len, room;
    rr_table *under; /* PARTS: the fields. OPEN: the members */
    rr_log *log;     /* LOG */
    size_t name_len;
    char name[];
} rr_entry;

/* Names are hashed with a seed of the table's own. Entries and values are in the arena, which the table does not own
 * and which outlives it. NULL: memory ran out. */
rr_table *rr_table_new(uint64_t seed, rr_arena *arena);
void rr_table_free(rr_table *table);

/* How many entries there are, removed ones included, and the one at an index below that. */
size_t rr_table_count(const rr_table *table);
rr_entry *rr_table_at(const rr_table *table, size_t index);

/* For walks over many names: prefetches the place of a name before its use. */
uint64_t rr_table_hash(const rr_table *table, rr_slice name);
void rr_table_prefetch(const rr_table *table, uint64_t hash);

/* NULL: there is none by that name. `add` makes one of type NONE where there is none; NULL: memory ran out. */
rr_entry *rr_table_find(const rr_table *table, rr_slice name, uint64_t hash);
rr_entry *rr_table_add(rr_table *table, rr_slice name, uint64_t hash);

/* Makes room for a value of `len` bytes without changing the one that is there. False: memory ran out. */
bool rr_entry_room(rr_table *table, rr_entry *entry, size_t len);

/* Writes a value into room that is there. */
void rr_entry_write(rr_entry *entry, rr_slice value);

/* The value; empty where there is none. */
static inline rr_slice rr_entry_value(const rr_entry *entry)
{
    return entry == NULL || entry->type != RR_ENTRY_VALUE ? (rr_slice){NULL, 0} : (rr_slice){entry->data, entry->len};
}

static inline rr_slice rr_entry_name(const rr_entry *entry)
{
    return (rr_slice){entry->name, entry->name_len};
}

#endif
