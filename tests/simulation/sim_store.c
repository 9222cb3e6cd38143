/* The store: every write is kept as a version, so that any moment can be looked at, and a suffix can be lost. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "must.h"

static rr_sim *const sim = &rr_sim_now;
static rr_sim_store *const st = &rr_sim_now.store;

/* ---- versions ---- */

static rr_sim_item *find(const rr_sim_store *store, rr_sim_item_kind kind, rr_slice key, rr_slice field)
{
    for (size_t k = 0; k < store->item_count; k++) {
        rr_sim_item *item = &store->items[k];

        if (item->kind == kind && rr_slice_equal(item->key, key) && rr_slice_equal(item->field, field)) {
            return item;
        }
    }
    return NULL;
}

static rr_slice as_of(const rr_sim_item *item, uint64_t at)
{
    for (size_t k = item == NULL ? 0 : item->count; k-- > 0;) {
        if (item->versions[k].at <= at) {
            return item->versions[k].gone ? (rr_slice){NULL, 0} : item->versions[k].bytes;
        }
    }
    return (rr_slice){NULL, 0};
}

static void write_item(rr_sim_item_kind kind, rr_slice key, rr_slice field, rr_slice bytes)
{
    rr_sim_item *item = find(st, kind, key, field);

    if (item == NULL) {
        st->items = rr_sim_grow(st->items, st->item_count, &st->item_room, sizeof *st->items);
        item = &st->items[st->item_count++];
        *item = (rr_sim_item){.kind = kind, .key = rr_sim_keep(key), .field = rr_sim_keep(field)};
    }
    item->versions = rr_sim_grow(item->versions, item->count, &item->room, sizeof *item->versions);
    item->versions[item->count++] =
        (rr_sim_version){.at = st->now, .gone = bytes.len == 0, .bytes = rr_sim_keep(bytes)};
}

rr_slice rr_sim_value(const rr_sim_store *store, rr_slice key, uint64_t at)
{
    return as_of(find(store, RR_SIM_VALUE, key, (rr_slice){NULL, 0}), at);
}

uint64_t rr_sim_written(const rr_sim_store *store, rr_slice key)
{
    const rr_sim_item *item = find(store, RR_SIM_VALUE, key, (rr_slice){NULL, 0});

    return item == NULL || item->count == 0 ? 0 : item->versions[item->count - 1].at;
}

bool rr_sim_is_open(const rr_sim_store *store, rr_slice member)
{
    bool open = false;

    for (size_t k = 0; k < store->item_count; k++) {
        open = open || (store->items[k].kind == RR_SIM_OPEN && rr_slice_equal(store->items[k].field, member) &&
                        as_of(&store->items[k], store->now).len != 0);
    }
    return open;
}

static rr_slice current(rr_slice key)
{
    return rr_sim_value(st, key, st->now);
}

/* ---- logs ---- */

/* Which record an entry is about, and its alerts: as the engine writes them. */
static void read_entry(rr_sim_entry *entry)
{
    const char *sequence = memmem(entry->bytes.data, entry->bytes.len, "\"sequence\":", 11);
    const char *alerts = memmem(entry->bytes.data, entry->bytes.len, "\"alerts\":[", 10);
    const char *end =
        alerts == NULL ? NULL : memchr(alerts, ']', (size_t)(entry->bytes.data + entry->bytes.len - alerts));

    RR_MUST(end != NULL);
    for (int k = 0; k < RR_ALERT_COUNT; k++) {
        char word[64];
        int len = snprintf(word, sizeof word, "\"%s\"", rr_alert_word((rr_alert)k));

        if (memmem(alerts + 10, (size_t)(end - alerts - 10), word, (size_t)len) != NULL) {
            entry->alerts |= RR_BIT(k);
        }
    }
    entry->message = sequence == NULL || sequence < end ? SIZE_MAX : (size_t)strtoull(sequence + 11, NULL, 10) - 1;
    if (entry->message != SIZE_MAX) {
        RR_MUST(entry->message < sim->source.count);
        sim->source.messages[entry->message].logged |= entry->alerts;
    }
}

static void append(rr_slice key, rr_slice bytes)
{
    rr_sim_entry *entry;

    st->entries = rr_sim_grow(st->entries, st->entry_count, &st->entry_room, sizeof *st->entries);
    entry = &st->entries[st->entry_count++];
    *entry = (rr_sim_entry){.at = st->now, .id = ++st->next_id, .key = rr_sim_keep(key), .bytes = rr_sim_keep(bytes)};
    read_entry(entry);
}

/* ---- what is lost ---- */

/* What an entry said is due no more, unless it was sent or it comes again by itself: only what a record is by itself
 * does; the rest depends on what was held when it came. */
static void forget_entries(uint64_t keep)
{
    rr_alert_set certain = RR_BIT(RR_ALERT_CONTRACT_VIOLATION) | RR_BIT(RR_ALERT_TOO_LATE);
    size_t kept = 0;

    for (size_t k = 0; k < sim->source.count; k++) {
        sim->source.messages[k].logged = sim->source.messages[k].sent;
    }
    for (size_t k = 0; k < st->entry_count; k++) {
        rr_sim_entry *entry = &st->entries[k];
        rr_sim_message *message = entry->message == SIZE_MAX ? NULL : &sim->source.messages[entry->message];

        if (entry->at <= keep) {
            if (message != NULL) {
                message->logged |= entry->alerts;
            }
            if (entry->done_at > keep) {
                entry->done_at = 0;
                entry->handed_us = 0;
            }
            st->entries[kept++] = *entry;
        }
    }
    st->entry_count = kept;
    for (size_t k = 0; k < sim->source.count; k++) {
        sim->source.messages[k].due &= certain | sim->source.messages[k].logged;
    }
}

void rr_sim_lose(uint64_t keep)
{
    rr_sim_say("of %llu writes %llu are left", (unsigned long long)st->now, (unsigned long long)keep);
    for (size_t k = 0; k < st->item_count; k++) {
        rr_sim_item *item = &st->items[k];

        while (item->count != 0 && item->versions[item->count - 1].at > keep) {
            item->count--;
        }
    }
    forget_entries(keep);
    st->now = keep;
    st->confirmed = st->confirmed < keep ? st->confirmed : keep;
    st->incarnation++;
    st->late_count = 0; /* they were on a connection that is no more */
    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        sim->engines[k].cut = sim->engines[k].alive;
        sim->engines[k].base_count = 0;
    }
    rr_judge_lost();
}

/* ---- whether it answers ---- */

static rr_status away(rr_store *store, rr_error *error)
{
    if (store->engine->cut) {
        store->engine->cut = false;
        return rr_fail(error, RR_UNAVAILABLE, "simulated store: the connection broke");
    }
    if (sim->time_us < st->away_until_us) {
        sim->time_us += 1000;
        return rr_fail(error, RR_UNAVAILABLE, "simulated store: it does not answer");
    }
    return RR_OK;
}

/* What was written is where it has to be. */
static rr_status confirm(rr_error *error)
{
    if (sim->time_us < st->unconfirmed_until_us) {
        sim->time_us += 1000;
        return rr_fail(error, RR_UNAVAILABLE, "simulated store: only 0 of 1 replicas have confirmed");
    }
    st->confirmed = st->now;
    return RR_OK;
}

static rr_slice out(rr_arena *arena, rr_slice bytes)
{
    rr_slice copy = rr_arena_copy(arena, bytes);

    RR_MUST(copy.len == bytes.len);
    return copy;
}

/* ---- what an engine decided upon ---- */

static rr_sim_base *base_of(rr_sim_engine *e, rr_slice key)
{
    for (size_t k = 0; k < e->base_count; k++) {
        if (rr_slice_equal(e->bases[k].key, key)) {
            return &e->bases[k];
        }
    }
    RR_MUST(e->base_count < RR_SIM_UNITS);
    e->bases[e->base_count] = (rr_sim_base){.key = rr_sim_keep(key), .at = st->now};
    return &e->bases[e->base_count++];
}

/* It has read the unit; what it finds of its own doing was decided before that. */
static void note_read(rr_sim_engine *e, rr_slice key)
{
    rr_sim_base *base = base_of(e, key);

    if (!rr_slice_equal(rr_value_token(current(key)), (rr_slice){base->token, RR_TOKEN_LEN})) {
        base->at = st->now;
    }
}

/* ---- the calls ---- */

static rr_status no_part(rr_error *error)
{
    return rr_fail(error, RR_INTERNAL, "simulated store: the loop has no use for this call");
}

static rr_status do_store_open(const char *url, const rr_store_options *options, rr_store **store, rr_error *error)
{
    (void)url;
    (void)options;
    *store = NULL;
    return no_part(error);
}

static void do_store_close(rr_store *store)
{
    (void)store;
}

static rr_status do_store_load(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    rr_sim_engine *e = store->engine;
    rr_status status = away(store, error);

    for (size_t k = 0; status == RR_OK && k < count; k++) {
        loads[k].error.status = RR_OK;
        loads[k].value = out(arena, current(loads[k].key));
        note_read(e, loads[k].key);
    }
    return status;
}

static void read_part(rr_parts_read *read, const rr_sim_item *item, rr_arena *arena)
{
    rr_slice bytes = as_of(item, st->now), name;

    if (item->kind != RR_SIM_PART || !rr_slice_equal(item->key, read->key) || bytes.len == 0 ||
        memcmp(item->field.data, read->token.data, RR_BIRTH_LEN) != 0) {
        return;
    }
    name = (rr_slice){item->field.data + RR_BIRTH_LEN, item->field.len - RR_BIRTH_LEN};
    if (read->all) {
        read->parts[read->part_count++] = (rr_pair){out(arena, name), out(arena, bytes)};
    }
    for (size_t k = 0; !read->all && k < read->id_count; k++) {
        if (rr_slice_equal(read->ids[k], name)) {
            read->found[k] = out(arena, bytes);
        }
    }
}

static rr_status do_store_read_parts(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena,
                                     rr_error *error)
{
    rr_status status = away(store, error);

    for (size_t k = 0; status == RR_OK && k < count; k++) {
        rr_parts_read *read = &reads[k];

        read->error.status = RR_OK;
        read->part_count = 0;
        read->found = rr_arena_zero(arena, (read->id_count + 1) * sizeof *read->found);
        read->parts = rr_arena_zero(arena, (st->item_count + 1) * sizeof *read->parts);
        RR_MUST(read->found != NULL && read->parts != NULL);
        read->changed =
            read->token.len != RR_TOKEN_LEN || !rr_slice_equal(rr_value_token(current(read->key)), read->token);
        for (size_t i = 0; !read->changed && i < st->item_count; i++) {
            read_part(read, &st->items[i], arena);
        }
    }
    return status;
}

static void write_swap(const rr_swap *swap)
{
    rr_slice none = {NULL, 0};

    st->now++;
    if (swap->value.len != 0) {
        write_item(RR_SIM_VALUE, swap->key, none, swap->value);
    }
    for (size_t k = 0; k < swap->side_count; k++) {
        write_item(RR_SIM_VALUE, swap->sides[k].key, none, swap->sides[k].value);
    }
    for (size_t k = 0; k < swap->part_count; k++) {
        char field[RR_BIRTH_LEN + 1024];
        size_t len = RR_BIRTH_LEN + swap->parts[k].name.len;

        RR_MUST(len <= sizeof field);
        memcpy(field, rr_value_token(swap->value).data, RR_BIRTH_LEN);
        memcpy(field + RR_BIRTH_LEN, swap->parts[k].name.data, swap->parts[k].name.len);
        write_item(RR_SIM_PART, swap->key, (rr_slice){field, len}, swap->parts[k].bytes);
    }
    if (swap->open != RR_OPEN_UNCHANGED) {
        write_item(RR_SIM_OPEN, swap->open_key, swap->key, swap->open == RR_OPEN_ADD ? RR_SLICE("open") : none);
    }
    for (size_t k = 0; k < swap->entry_count; k++) {
        append(swap->log_key, swap->entries[k]);
    }
}

/* False: somebody else was there first. */
static bool try_swap(rr_sim_engine *e, const rr_swap *swap)
{
    uint64_t before = st->now;
    const char *flaw = rr_swap_flaw(swap);

    if (flaw != NULL) {
        rr_sim_break("a senseless swap of key %.*s: %s", (int)swap->key.len, swap->key.data, flaw);
    }
    if (swap->key.len != 0 && !rr_slice_equal(rr_value_token(current(swap->key)), swap->token)) {
        return false;
    }
    write_swap(swap);
    if (e != NULL && swap->key.len != 0) {
        rr_sim_base *base = base_of(e, swap->key);

        base->at = before;
        if (swap->value.len != 0) {
            memcpy(base->token, rr_value_token(swap->value).data, RR_TOKEN_LEN);
        }
    }
    if (swap->value.len != 0) {
        rr_judge_swapped(e, swap->key, before);
    }
    return true;
}

static void answer_swap(rr_sim_engine *e, rr_swap *swap, rr_arena *arena)
{
    if (try_swap(e, swap)) {
        swap->answer = RR_SWAP_WON;
    } else {
        swap->answer = RR_SWAP_LOST;
        swap->current = out(arena, current(swap->key));
        note_read(e, swap->key);
    }
}

static rr_swap keep_swap(const rr_swap *from)
{
    rr_swap to = *from;
    rr_side *sides = rr_sim_take((from->side_count + 1) * sizeof *sides);
    rr_pair *parts = rr_sim_take((from->part_count + 1) * sizeof *parts);
    rr_slice *entries = rr_sim_take((from->entry_count + 1) * sizeof *entries);

    for (size_t k = 0; k < from->side_count; k++) {
        sides[k] = (rr_side){rr_sim_keep(from->sides[k].key), rr_sim_keep(from->sides[k].value), 0};
    }
    for (size_t k = 0; k < from->part_count; k++) {
        parts[k] = (rr_pair){rr_sim_keep(from->parts[k].name), rr_sim_keep(from->parts[k].bytes)};
    }
    for (size_t k = 0; k < from->entry_count; k++) {
        entries[k] = rr_sim_keep(from->entries[k]);
    }
    to.key = rr_sim_keep(from->key);
    to.token = rr_sim_keep(from->token);
    to.value = rr_sim_keep(from->value);
    to.open_key = rr_sim_keep(from->open_key);
    to.log_key = rr_sim_keep(from->log_key);
    to.sides = sides;
    to.parts = parts;
    to.entries = entries;
    return to;
}

/* Carried out some time later, without an answer: the caller does not wait for it any more. */
void rr_sim_do_late(void)
{
    size_t count = st->late_count;

    st->late_count = 0;
    for (size_t k = 0; k < count; k++) {
        rr_sim_say("late: %.*s is %s", (int)st->late[k].key.len, st->late[k].key.data,
                   try_swap(NULL, &st->late[k]) ? "done" : "too late");
    }
}

static void delay_swaps(rr_sim_engine *e, const rr_swap *swaps, size_t count)
{
    rr_sim_do_late();
    for (size_t k = 0; k < count; k++) {
        if (swaps[k].value.len != 0) {
            rr_sim_base *base = base_of(e, swaps[k].key);

            base->at = st->now;
            memcpy(base->token, rr_value_token(swaps[k].value).data, RR_TOKEN_LEN);
        }
    }
    st->late = rr_sim_take((count + 1) * sizeof *st->late);
    for (size_t k = 0; k < count; k++) {
        st->late[k] = keep_swap(&swaps[k]);
    }
    st->late_count = count;
    st->late_at = sim->calls + 1 + rr_sim_below(40);
}

static rr_status do_store_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_sim_engine *e = store->engine;
    bool unanswered =
        rr_sim_is_due(RR_SIM_UNKNOWN_DONE) || rr_sim_is_due(RR_SIM_UNKNOWN_NOT) || rr_sim_is_due(RR_SIM_UNKNOWN_LATE);
    size_t good = unanswered ? rr_sim_below((unsigned)count) : count;
    rr_status status;

    for (size_t k = 0; k < count; k++) {
        swaps[k].answer = RR_SWAP_UNKNOWN;
        swaps[k].current = (rr_slice){NULL, 0};
        swaps[k].error.status = RR_OK;
    }
    status = away(store, error);
    if (status != RR_OK) {
        return status;
    }
    for (size_t k = 0; k < good; k++) {
        answer_swap(e, &swaps[k], arena);
    }
    if (good == count) {
        return confirm(error);
    }
    if (rr_sim_strikes(RR_SIM_UNKNOWN_DONE)) {
        for (size_t k = good; k < count; k++) {
            try_swap(e, &swaps[k]);
        }
    } else if (rr_sim_strikes(RR_SIM_UNKNOWN_LATE)) {
        delay_swaps(e, swaps + good, count - good);
    } else {
        rr_sim_strikes(RR_SIM_UNKNOWN_NOT);
    }
    return rr_fail(error, RR_UNAVAILABLE, "simulated store: timed out");
}

/* In pieces: the world changes between them. */
static rr_status do_store_load_ahead(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    store->ahead = loads;
    store->ahead_count = count;
    store->ahead_ready = 0;
    store->ahead_arena = arena;
    return away(store, error);
}

static rr_status answer_loads(rr_store *store, size_t count, rr_error *error)
{
    rr_status status = do_store_load(store, store->ahead + store->ahead_ready, count, store->ahead_arena, error);

    store->ahead_ready += status == RR_OK ? count : 0;
    return status;
}

/* Swaps may have brought the rest of the answers with them. */
static rr_status do_store_load_next(rr_store *store, size_t *ready, rr_error *error)
{
    size_t left = store->ahead_count - store->ahead_ready;
    rr_status status = left == 0 ? RR_OK : answer_loads(store, 1 + rr_sim_below((unsigned)left), error);

    *ready = store->ahead_ready;
    return status;
}

static rr_status do_store_swap_ahead(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    size_t left = store->ahead_count - store->ahead_ready;
    rr_status status = rr_sim_below(2) == 0 ? answer_loads(store, left, error) : RR_OK;

    return status == RR_OK ? do_store_swap(store, swaps, count, arena, error) : status;
}

static rr_status do_store_swap_end(rr_store *store, rr_error *error)
{
    rr_status status = away(store, error);

    return status == RR_OK ? confirm(error) : status;
}

static rr_status do_store_confirm(rr_store *store, rr_error *error)
{
    rr_status status = away(store, error);

    return status == RR_OK ? confirm(error) : status;
}

static rr_status do_store_log_read(rr_store *store, rr_slice key, const char *consumer, int idle_ms, size_t most,
                                   rr_arena *arena, rr_log_entry **entries, size_t *count, rr_error *error)
{
    rr_sim_engine *e = store->engine;
    rr_status status = away(store, error);

    (void)consumer;
    *count = 0;
    *entries = rr_arena_zero(arena, (st->entry_count + 1) * sizeof **entries);
    RR_MUST(*entries != NULL);
    e->handed = rr_sim_take((st->entry_count + 1) * sizeof *e->handed);
    e->handed_count = 0;
    for (size_t k = 0; status == RR_OK && k < st->entry_count && *count < most; k++) {
        rr_sim_entry *entry = &st->entries[k];
        char id[24];
        bool free = entry->handed_us == 0 || sim->time_us - entry->handed_us >= (int64_t)idle_ms * 1000;

        if (entry->done_at == 0 && free && rr_slice_equal(entry->key, key)) {
            int len = snprintf(id, sizeof id, "%llu", (unsigned long long)entry->id);

            (*entries)[(*count)++] = (rr_log_entry){out(arena, (rr_slice){id, (size_t)len}), out(arena, entry->bytes)};
            entry->handed_us = sim->time_us;
            e->handed[e->handed_count++] = *entry;
        }
    }
    return status;
}

static rr_status do_store_log_done(rr_store *store, rr_slice key, const rr_slice *ids, size_t count, rr_error *error)
{
    rr_status status = away(store, error);

    st->now += status == RR_OK;
    for (size_t k = 0; status == RR_OK && k < count; k++) {
        char id[24] = {0};

        memcpy(id, ids[k].data, ids[k].len < sizeof id ? ids[k].len : sizeof id - 1);
        for (size_t i = 0; i < st->entry_count; i++) {
            rr_sim_entry *entry = &st->entries[i];

            if (entry->id == strtoull(id, NULL, 10) && rr_slice_equal(entry->key, key)) {
                entry->done_at = st->now;
                if (entry->alerts != 0 && !entry->sent) {
                    rr_sim_break("an alert was done with before it was sent: %.*s", (int)entry->bytes.len,
                                 entry->bytes.data);
                }
            }
        }
    }
    return status;
}

static rr_status do_store_note_get(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error)
{
    rr_status status = away(store, error);

    *value = status == RR_OK ? out(arena, current(key)) : (rr_slice){NULL, 0};
    return status;
}

static void own_name(char name[128])
{
    snprintf(name, 128, "sim/%u", st->incarnation);
}

static void write_note(rr_slice key, rr_slice value)
{
    st->now++;
    write_item(RR_SIM_VALUE, key, (rr_slice){NULL, 0}, value);
}

static rr_status do_store_note_set(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                                   const rr_store_identity *incarnation, bool *done, rr_error *error)
{
    rr_status status = away(store, error);
    char name[128];

    (void)ttl_ms;
    own_name(name);
    *done = status == RR_OK && (incarnation == NULL || strcmp(incarnation->incarnation, name) == 0) &&
            rr_slice_equal(current(key), expected);
    if (*done) {
        rr_sim_say("%.*s is now %.*s", (int)key.len, key.data, (int)value.len, value.data);
        write_note(key, value);
    }
    return status;
}

static rr_status do_store_note_put(rr_store *store, rr_slice key, rr_slice value, int64_t ttl_ms, rr_error *error)
{
    rr_status status = away(store, error);

    (void)ttl_ms;
    if (status == RR_OK) {
        write_note(key, value);
    }
    return status;
}

static rr_status do_store_identity(rr_store *store, rr_store_identity *identity, rr_error *error)
{
    own_name(identity->incarnation);
    return away(store, error);
}

static rr_status do_store_scan(rr_store *store, rr_slice prefix, bool (*each)(void *context, rr_slice key),
                               void *context, rr_error *error)
{
    (void)store;
    (void)prefix;
    (void)each;
    (void)context;
    return no_part(error);
}

static rr_status do_store_sweep(rr_store *store, rr_slice prefix, bool (*gone)(void *context, rr_slice key),
                                void *context, uint64_t *removed, rr_error *error)
{
    (void)store;
    (void)prefix;
    (void)gone;
    (void)context;
    (void)removed;
    return no_part(error);
}

static rr_status do_store_survey(const char *url, const rr_store_options *options, rr_slice prefix,
                                 rr_store_survey *survey, rr_error *error)
{
    (void)url;
    (void)options;
    (void)prefix;
    (void)survey;
    return no_part(error);
}

RR_SIM_STORE_CALLS(RR_SIM_GATE, RR_SIM_GATE_VOID)
RR_SIM_HOLDS_ALL(rr_store_ops, RR_SIM_STORE_CALLS);

const rr_store_ops rr_sim_store_ops = {.scheme = "sim", RR_SIM_STORE_CALLS(RR_SIM_OP, RR_SIM_OP)};
