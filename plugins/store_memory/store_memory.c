/* The store port over tables in memory. A swap first reserves all its memory, so that writing cannot fail. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "memory_table.h"
#include "must.h"

enum { LOG_MAX = 100000, AHEAD = 8, ID_TEXT_MAX = 24 };

struct rr_store {
    rr_table *table;
    rr_arena arena; /* of all tables */
    uint64_t seed;
    size_t log_max;
};

static rr_status memory_open(const char *url, const rr_store_options *options, rr_store **store, rr_error *error)
{
    rr_store *made;

    *store = NULL;
    if (strcmp(url, "memory") != 0 && strncmp(url, "memory:", 7) != 0) {
        return rr_fail(error, RR_CONFIG, "store %s: the memory store's URL is memory or memory:", url);
    }
    made = calloc(1, sizeof *made);
    if (made == NULL) {
        return rr_fail(error, RR_MEMORY, "store %s: memory ran out", url);
    }
    if (getrandom(&made->seed, sizeof made->seed, 0) != (ssize_t)sizeof made->seed) {
        made->seed = (uint64_t)time(NULL) ^ (uintptr_t)made;
    }
    made->log_max = options == NULL || options->log_max == 0 ? LOG_MAX : options->log_max;
    made->table = rr_table_new(made->seed, &made->arena);
    if (made->table == NULL) {
        free(made);
        return rr_fail(error, RR_MEMORY, "store %s: memory ran out", url);
    }
    *store = made;
    return RR_OK;
}

static void memory_close(rr_store *store)
{
    if (store != NULL) {
        rr_table_free(store->table);
        rr_arena_fini(&store->arena);
        free(store);
    }
}

static rr_status out_of_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory store: memory ran out, or the batch's limit was reached");
}

static rr_entry *find(const rr_table *table, rr_slice name)
{
    return rr_table_find(table, name, rr_table_hash(table, name));
}

static rr_entry *add(rr_table *table, rr_slice name)
{
    return rr_table_add(table, name, rr_table_hash(table, name));
}

/* An entry can be used as a type if it has that type, or none. */
static bool fits(const rr_entry *entry, rr_entry_type wanted)
{
    return entry == NULL || entry->type == RR_ENTRY_NONE || entry->type == wanted;
}

static rr_status misplaced(rr_error *error, rr_slice key, const rr_entry *entry, rr_entry_type wanted)
{
    static const char *const words[] = {"nothing", "string", "hash", "sorted set", "stream"};

    return rr_fail(error, RR_REFUSED_BY_SERVER,
                   "key %.*s: holds a %s, not a %s: something else is kept under this name", (int)key.len, key.data,
                   words[entry->type], words[wanted]);
}

static void clear(rr_error *error)
{
    error->status = RR_OK;
    error->text[0] = '\0';
}

/* ---- loads ---- */

/* The hashes of all names, or NULL if memory ran out. */
static uint64_t *hash_loads(const rr_store *store, const rr_load *loads, size_t count, rr_arena *arena)
{
    uint64_t *hashes = rr_arena_take(arena, count * sizeof *hashes);

    for (size_t i = 0; hashes != NULL && i < count; i++) {
        hashes[i] = rr_table_hash(store->table, loads[i].key);
    }
    return hashes;
}

static rr_status memory_load(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    uint64_t *hashes = hash_loads(store, loads, count, arena);

    if (hashes == NULL) {
        return out_of_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        const rr_entry *entry;

        if (i + AHEAD < count) {
            rr_table_prefetch(store->table, hashes[i + AHEAD]);
        }
        entry = rr_table_find(store->table, loads[i].key, hashes[i]);
        clear(&loads[i].error);
        loads[i].value = (rr_slice){NULL, 0};
        if (!fits(entry, RR_ENTRY_VALUE)) {
            misplaced(&loads[i].error, loads[i].key, entry, RR_ENTRY_VALUE);
            continue;
        }
        loads[i].value = rr_arena_copy(arena, rr_entry_value(entry));
        if (loads[i].value.len != rr_entry_value(entry).len) {
            return out_of_memory(error);
        }
    }
    return RR_OK;
}

/* ---- parts ---- */

/* <key>:parts:<birth>, as in Redis. Empty: memory ran out. */
static rr_slice parts_name(rr_arena *arena, rr_slice key, rr_slice token)
{
    static const char infix[] = ":parts:";
    size_t len = key.len + sizeof infix - 1 + RR_BIRTH_LEN;
    char *name = rr_arena_take(arena, len);

    RR_MUST(token.len >= RR_BIRTH_LEN);
    if (name == NULL) {
        return (rr_slice){NULL, 0};
    }
    memcpy(name, key.data, key.len);
    memcpy(name + key.len, infix, sizeof infix - 1);
    memcpy(name + len - RR_BIRTH_LEN, token.data, RR_BIRTH_LEN);
    return (rr_slice){name, len};
}

static bool copy_to(rr_arena *arena, rr_slice from, rr_slice *to)
{
    *to = rr_arena_copy(arena, from);
    return to->len == from.len;
}

static bool read_ids(const rr_table *fields, rr_parts_read *read, rr_arena *arena)
{
    read->found = rr_arena_zero(arena, (read->id_count + 1) * sizeof *read->found);
    if (read->found == NULL) {
        return false;
    }
    for (size_t i = 0; fields != NULL && i < read->id_count; i++) {
        if (!copy_to(arena, rr_entry_value(find(fields, read->ids[i])), &read->found[i])) {
            return false;
        }
    }
    return true;
}

static bool read_all(const rr_table *fields, rr_parts_read *read, rr_arena *arena)
{
    size_t count = fields == NULL ? 0 : rr_table_count(fields);

    read->part_count = 0;
    read->parts = rr_arena_zero(arena, (count + 1) * sizeof *read->parts);
    if (read->parts == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const rr_entry *field = rr_table_at(fields, i);
        rr_pair *pair = &read->parts[read->part_count];

        if (field->type == RR_ENTRY_NONE) {
            continue;
        }
        if (!copy_to(arena, rr_entry_name(field), &pair->name) ||
            !copy_to(arena, rr_entry_value(field), &pair->bytes)) {
            return false;
        }
        read->part_count++;
    }
    return true;
}

/* False: memory ran out. */
static bool read_one(const rr_store *store, rr_parts_read *read, rr_arena *arena)
{
    const rr_entry *unit = find(store->table, read->key), *beside;
    const rr_table *fields;
    rr_slice name;

    clear(&read->error);
    read->changed = false;
    if (!fits(unit, RR_ENTRY_VALUE)) {
        misplaced(&read->error, read->key, unit, RR_ENTRY_VALUE);
        return true;
    }
    if (read->token.len != RR_TOKEN_LEN || !rr_slice_equal(rr_value_token(rr_entry_value(unit)), read->token)) {
        read->changed = true;
        return true;
    }
    name = parts_name(arena, read->key, read->token);
    if (name.len == 0) {
        return false;
    }
    beside = find(store->table, name);
    if (!fits(beside, RR_ENTRY_PARTS)) {
        misplaced(&read->error, name, beside, RR_ENTRY_PARTS);
        return true;
    }
    fields = beside == NULL ? NULL : beside->under;
    return read->all ? read_all(fields, read, arena) : read_ids(fields, read, arena);
}

static rr_status memory_read_parts(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena,
                                   rr_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (!read_one(store, &reads[i], arena)) {
            return out_of_memory(error);
        }
    }
    return RR_OK;
}

/* ---- swaps ---- */

/* The entries that a swap writes; all have room before the first byte is written. */
typedef struct touched {
    rr_entry *unit, *parts, *open, *log;
    rr_entry **sides;
    char **entries; /* copies; the log takes them over */
} touched;

/* An entry of that name that can be used as the type. NULL: the swap's error tells why not. */
static rr_entry *claim(rr_store *store, rr_swap *swap, rr_slice name, rr_entry_type wanted)
{
    rr_entry *entry = add(store->table, name);

    if (entry == NULL) {
        out_of_memory(&swap->error);
        return NULL;
    }
    if (!fits(entry, wanted)) {
        misplaced(&swap->error, name, entry, wanted);
        return NULL;
    }
    return entry;
}

static bool enough(rr_swap *swap, bool got)
{
    if (!got) {
        out_of_memory(&swap->error);
    }
    return got;
}

/* The table under a hash or a sorted set. */
static bool with_table(rr_store *store, rr_swap *swap, rr_entry *entry)
{
    if (entry->under == NULL) {
        entry->under = rr_table_new(store->seed, &store->arena);
    }
    return enough(swap, entry->under != NULL);
}

static bool field_room(rr_swap *swap, rr_table *fields, rr_slice name, size_t len)
{
    rr_entry *field = add(fields, name);

    return enough(swap, field != NULL && rr_entry_room(fields, field, len));
}

static bool claim_parts(rr_store *store, rr_swap *swap, touched *at, rr_arena *arena)
{
    rr_slice name;

    if (swap->part_count == 0) {
        return true;
    }
    name = parts_name(arena, swap->key, rr_value_token(swap->value));
    if (!enough(swap, name.len != 0)) {
        return false;
    }
    at->parts = claim(store, swap, name, RR_ENTRY_PARTS);
    if (at->parts == NULL || !with_table(store, swap, at->parts)) {
        return false;
    }
    for (size_t i = 0; i < swap->part_count; i++) {
        if (!field_room(swap, at->parts->under, swap->parts[i].name, swap->parts[i].bytes.len)) {
            return false;
        }
    }
    return true;
}

static bool claim_sides(rr_store *store, rr_swap *swap, touched *at, rr_arena *arena)
{
    if (swap->side_count == 0) {
        return true;
    }
    at->sides = rr_arena_zero(arena, swap->side_count * sizeof *at->sides);
    if (!enough(swap, at->sides != NULL)) {
        return false;
    }
    for (size_t i = 0; i < swap->side_count; i++) {
        at->sides[i] = claim(store, swap, swap->sides[i].key, RR_ENTRY_VALUE);
        if (at->sides[i] == NULL ||
            !enough(swap, rr_entry_room(store->table, at->sides[i], swap->sides[i].value.len))) {
            return false;
        }
    }
    return true;
}

static bool claim_open(rr_store *store, rr_swap *swap, touched *at)
{
    if (swap->open == RR_OPEN_UNCHANGED) {
        return true;
    }
    at->open = claim(store, swap, swap->open_key, RR_ENTRY_OPEN);
    return at->open != NULL && with_table(store, swap, at->open) &&
           field_room(swap, at->open->under, swap->key, sizeof swap->open_score_ms);
}

static bool claim_log(rr_store *store, rr_swap *swap, touched *at, rr_arena *arena)
{
    if (swap->entry_count == 0) {
        return true;
    }
    at->log = claim(store, swap, swap->log_key, RR_ENTRY_LOG);
    if (at->log == NULL) {
        return false;
    }
    if (at->log->log == NULL) {
        at->log->log = rr_log_new(store->log_max);
    }
    at->entries = rr_arena_zero(arena, swap->entry_count * sizeof *at->entries);
    if (!enough(swap, at->log->log != NULL && at->entries != NULL && rr_log_reserve(at->log->log, swap->entry_count))) {
        return false;
    }
    for (size_t i = 0; i < swap->entry_count; i++) {
        at->entries[i] = rr_log_copy(swap->entries[i]);
        if (!enough(swap, at->entries[i] != NULL)) {
            return false;
        }
    }
    return true;
}

static bool claim_unit(rr_store *store, rr_swap *swap, touched *at)
{
    return swap->value.len == 0 || enough(swap, rr_entry_room(store->table, at->unit, swap->value.len));
}

static void let_go(const rr_swap *swap, touched *at)
{
    for (size_t i = 0; at->entries != NULL && i < swap->entry_count; i++) {
        free(at->entries[i]);
    }
}

static void write_sides(const rr_swap *swap, const touched *at)
{
    for (size_t i = 0; i < swap->side_count; i++) {
        if (swap->sides[i].value.len == 0) {
            at->sides[i]->type = RR_ENTRY_NONE;
        } else {
            rr_entry_write(at->sides[i], swap->sides[i].value);
        }
    }
}

static void write_open(const rr_swap *swap, const touched *at)
{
    rr_entry *member = find(at->open->under, swap->key);

    at->open->type = RR_ENTRY_OPEN;
    if (swap->open == RR_OPEN_REMOVE) {
        member->type = RR_ENTRY_NONE;
    } else {
        rr_entry_write(member, (rr_slice){(const char *)&swap->open_score_ms, sizeof swap->open_score_ms});
    }
}

static void write_all(const rr_swap *swap, const touched *at)
{
    if (swap->value.len != 0) {
        rr_entry_write(at->unit, swap->value);
    }
    for (size_t i = 0; i < swap->part_count; i++) {
        rr_entry_write(find(at->parts->under, swap->parts[i].name), swap->parts[i].bytes);
        at->parts->type = RR_ENTRY_PARTS;
    }
    write_sides(swap, at);
    if (at->open != NULL) {
        write_open(swap, at);
    }
    for (size_t i = 0; i < swap->entry_count; i++) {
        rr_log_push(at->log->log, at->entries[i], swap->entries[i].len);
        at->log->type = RR_ENTRY_LOG;
    }
}

/* Whether the unit has the token that the swap expects. If not, sets the answer. */
static bool as_expected(rr_swap *swap, const rr_entry *unit, rr_arena *arena)
{
    rr_slice value = rr_entry_value(unit);

    if (!fits(unit, RR_ENTRY_VALUE)) {
        misplaced(&swap->error, swap->key, unit, RR_ENTRY_VALUE);
        swap->answer = RR_SWAP_FAILED;
        return false;
    }
    if (swap->token.len == 0 ? unit == NULL || unit->type == RR_ENTRY_NONE
                             : rr_slice_equal(rr_value_token(value), swap->token)) {
        return true;
    }
    if (enough(swap, copy_to(arena, value, &swap->current))) {
        swap->answer = RR_SWAP_LOST;
    }
    return false;
}

/* Nearly every swap writes the unit's own value alone. */
static bool is_plain(const rr_swap *swap)
{
    return swap->value.len != 0 && swap->part_count == 0 && swap->side_count == 0 && swap->entry_count == 0 &&
           swap->open == RR_OPEN_UNCHANGED;
}

static void swap_unit(rr_store *store, rr_swap *swap, uint64_t hash, rr_arena *arena)
{
    touched at = {.unit = swap->key.len == 0 ? NULL : rr_table_find(store->table, swap->key, hash)};

    if (swap->key.len != 0 && !as_expected(swap, at.unit, arena)) {
        return;
    }
    if (at.unit == NULL && swap->value.len != 0) {
        at.unit = rr_table_add(store->table, swap->key, hash);
        if (!enough(swap, at.unit != NULL)) {
            return;
        }
    }
    if (!claim_unit(store, swap, &at) ||
        (!is_plain(swap) && !(claim_parts(store, swap, &at, arena) && claim_sides(store, swap, &at, arena) &&
                              claim_open(store, swap, &at) && claim_log(store, swap, &at, arena)))) {
        let_go(swap, &at);
        swap->answer = swap->error.status == RR_MEMORY ? RR_SWAP_UNKNOWN : RR_SWAP_FAILED;
        return;
    }
    write_all(swap, &at);
    swap->answer = RR_SWAP_WON;
}

static void prepare(rr_swap *swaps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *flaw = rr_swap_flaw(&swaps[i]);

        clear(&swaps[i].error);
        swaps[i].answer = RR_SWAP_UNKNOWN;
        swaps[i].current = (rr_slice){NULL, 0};
        if (flaw != NULL) {
            swaps[i].answer = RR_SWAP_FAILED;
            rr_fail(&swaps[i].error, RR_INTERNAL, "key %.*s: %s", (int)swaps[i].key.len, swaps[i].key.data, flaw);
        }
    }
}

static rr_status memory_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    uint64_t *hashes = rr_arena_take(arena, count * sizeof *hashes);

    prepare(swaps, count);
    if (hashes == NULL) {
        return out_of_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        hashes[i] = rr_table_hash(store->table, swaps[i].key);
        rr_table_prefetch(store->table, hashes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (swaps[i].answer == RR_SWAP_UNKNOWN) {
            swap_unit(store, &swaps[i], hashes[i], arena);
        }
        if (swaps[i].error.status == RR_MEMORY) {
            return out_of_memory(error);
        }
    }
    return RR_OK;
}

/* ---- logs ---- */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool hand_out(rr_log_item *item, rr_arena *arena, rr_log_entry *entry)
{
    char id[ID_TEXT_MAX];
    int len = snprintf(id, sizeof id, "%llu", (unsigned long long)item->sequence);

    return copy_to(arena, (rr_slice){id, (size_t)len}, &entry->id) &&
           copy_to(arena, (rr_slice){item->bytes, item->len}, &entry->bytes);
}

static rr_status memory_log_read(rr_store *store, rr_slice log_key, const char *consumer, int idle_ms, size_t most,
                                 rr_arena *arena, rr_log_entry **entries, size_t *count, rr_error *error)
{
    rr_entry *entry = find(store->table, log_key);
    int64_t now = now_ms();
    rr_log_item *item;
    size_t at = 0;

    (void)consumer; /* an entry is due again after its idle time, whoever holds it */
    *count = 0;
    *entries = rr_arena_take(arena, (most + 1) * sizeof **entries);
    if (*entries == NULL) {
        return out_of_memory(error);
    }
    if (!fits(entry, RR_ENTRY_LOG)) {
        return misplaced(error, log_key, entry, RR_ENTRY_LOG);
    }
    while (entry != NULL && entry->log != NULL && *count < most &&
           (item = rr_log_due(entry->log, &at, now, idle_ms)) != NULL) {
        if (!hand_out(item, arena, &(*entries)[*count])) {
            return out_of_memory(error);
        }
        item->handed_at_ms = now;
        ++*count;
    }
    return RR_OK;
}

static rr_status memory_log_done(rr_store *store, rr_slice log_key, const rr_slice *ids, size_t count, rr_error *error)
{
    rr_entry *entry = find(store->table, log_key);

    if (!fits(entry, RR_ENTRY_LOG)) {
        return misplaced(error, log_key, entry, RR_ENTRY_LOG);
    }
    for (size_t i = 0; entry != NULL && entry->log != NULL && i < count; i++) {
        char id[ID_TEXT_MAX] = {0};

        memcpy(id, ids[i].data, ids[i].len < sizeof id ? ids[i].len : sizeof id - 1);
        rr_log_done(entry->log, strtoull(id, NULL, 10));
    }
    return RR_OK;
}

/* ---- notes ---- */

static rr_status memory_note_get(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error)
{
    const rr_entry *entry = find(store->table, key);

    *value = (rr_slice){NULL, 0};
    if (!fits(entry, RR_ENTRY_VALUE)) {
        return misplaced(error, key, entry, RR_ENTRY_VALUE);
    }
    return copy_to(arena, rr_entry_value(entry), value) ? RR_OK : out_of_memory(error);
}

static rr_status memory_note_put(rr_store *store, rr_slice key, rr_slice value, int64_t ttl_ms, rr_error *error)
{
    rr_entry *entry = add(store->table, key);

    (void)ttl_ms; /* nothing expires here */
    if (entry == NULL || !rr_entry_room(store->table, entry, value.len)) {
        return out_of_memory(error);
    }
    if (!fits(entry, RR_ENTRY_VALUE)) {
        return misplaced(error, key, entry, RR_ENTRY_VALUE);
    }
    if (value.len == 0) {
        entry->type = RR_ENTRY_NONE;
    } else {
        rr_entry_write(entry, value);
    }
    return RR_OK;
}

/* There are no replicas to wait for. */
static rr_status memory_confirm(rr_store *store, rr_error *error)
{
    (void)store;
    (void)error;
    return RR_OK;
}

static rr_status memory_identity(rr_store *store, rr_store_identity *identity, rr_error *error)
{
    (void)error;
    snprintf(identity->incarnation, sizeof identity->incarnation, "memory/%016llx", (unsigned long long)store->seed);
    return RR_OK;
}

static rr_status memory_note_set(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                                 const rr_store_identity *incarnation, bool *done, rr_error *error)
{
    const rr_entry *entry = find(store->table, key);
    rr_store_identity own;

    *done = false;
    memory_identity(store, &own, error);
    if (incarnation != NULL && strcmp(incarnation->incarnation, own.incarnation) != 0) {
        return RR_OK;
    }
    if (!fits(entry, RR_ENTRY_VALUE)) {
        return misplaced(error, key, entry, RR_ENTRY_VALUE);
    }
    if (!rr_slice_equal(rr_entry_value(entry), expected)) {
        return RR_OK;
    }
    *done = true;
    return memory_note_put(store, key, value, ttl_ms, error);
}

static bool begins_with(const rr_entry *entry, rr_slice prefix)
{
    return entry->name_len >= prefix.len && (prefix.len == 0 || memcmp(entry->name, prefix.data, prefix.len) == 0);
}

static rr_status memory_scan(rr_store *store, rr_slice prefix, bool (*each)(void *context, rr_slice key), void *context,
                             rr_error *error)
{
    (void)error;
    for (size_t i = 0; i < rr_table_count(store->table); i++) {
        const rr_entry *entry = rr_table_at(store->table, i);

        if (entry->type == RR_ENTRY_VALUE && begins_with(entry, prefix) && !each(context, rr_entry_name(entry))) {
            break;
        }
    }
    return RR_OK;
}

/* The entry stays, as all removed entries do; its content is freed. */
static void empty(rr_entry *entry)
{
    for (size_t i = 0; entry->under != NULL && i < rr_table_count(entry->under); i++) {
        rr_table_at(entry->under, i)->type = RR_ENTRY_NONE;
    }
    rr_log_free(entry->log);
    entry->log = NULL;
    entry->type = RR_ENTRY_NONE;
}

static rr_status memory_sweep(rr_store *store, rr_slice prefix, bool (*gone)(void *context, rr_slice key),
                              void *context, uint64_t *removed, rr_error *error)
{
    (void)error;
    for (size_t i = 0; i < rr_table_count(store->table); i++) {
        rr_entry *entry = rr_table_at(store->table, i);

        if (entry->type != RR_ENTRY_NONE && begins_with(entry, prefix) && gone(context, rr_entry_name(entry))) {
            empty(entry);
            ++*removed;
        }
    }
    return RR_OK;
}

static rr_status memory_survey(const char *url, const rr_store_options *options, rr_slice prefix,
                               rr_store_survey *survey, rr_error *error)
{
    (void)url;
    (void)options;
    (void)prefix;
    (void)error;
    *survey = (rr_store_survey){.server = "the memory of this process",
                                .too_old = RR_NO,
                                .cluster = RR_NO,
                                .replica = RR_NO,
                                .log = RR_NO,
                                .snapshots = RR_NO,
                                .used_memory = RR_NOT_TOLD,
                                .eviction = "noeviction",
                                .lazy_expire = RR_YES,
                                .functions = RR_YES};
    return RR_OK;
}

const rr_store_ops rr_store_memory_ops = {
    .scheme = "memory",
    .open = memory_open,
    .close = memory_close,
    .load = memory_load,
    .read_parts = memory_read_parts,
    .swap = memory_swap,
    .confirm = memory_confirm,
    .log_read = memory_log_read,
    .log_done = memory_log_done,
    .note_get = memory_note_get,
    .note_set = memory_note_set,
    .note_put = memory_note_put,
    .identity = memory_identity,
    .scan = memory_scan,
    .sweep = memory_sweep,
    .survey = memory_survey,
};
