/* The path of a batch. A unit goes LOAD -> PARTS -> JOIN -> SWAP -> DONE; back to OPEN where somebody else was there
 * first, and to LOAD where no answer came. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <stdlib.h>

#include "cache.h"
#include "decision.h"
#include "forget.h"
#include "hash.h"
#include "key.h"
#include "view.h"

enum {
    NONE = -1,
    SEND_FROM = 256, /* swaps that are decided before the store gets them, while it is at work on those before */
    PATIENCE = 1000, /* rounds that a unit may lose before we call it a fault of ours */
    GUESS_FROM = 64, /* units that are looked at before anything is guessed */
    GUESS_RARE = 16  /* a guess is worth it where fewer than one in so many is wrong */
};

typedef enum unit_state { UNIT_LOAD, UNIT_OPEN, UNIT_PARTS, UNIT_JOIN, UNIT_SWAP, UNIT_DONE, UNIT_STUCK } unit_state;

typedef struct unit {
    const rr_contract *contract;
    rr_slice key;
    uint64_t hash;
    size_t first_item, last_item, item_count;
    unit_state state;
    rr_slice value; /* as loaded */
    bool looked;    /* it was loaded or guessed */
    bool guessed;   /* taken for absent without a look: its swap will tell */
    rr_unit facts;
    bool all_parts; /* the join asked for them */
    bool had_parts; /* parts stand beside the value as loaded */
    bool forgets;   /* windows are gone whose parts stand beside the value: all are written anew */
    bool grew;
    char token[RR_TOKEN_LEN]; /* of the swap that is under way or was */
    bool attempted;           /* ... and there was one */
    bool unanswered;          /* its answer never came */
    unsigned lost;
    size_t suppressed; /* decisions that are only counted */
} unit;

struct rr_batch {
    const rr_store_ops *ops;
    rr_store *store;
    rr_batch_options options;
    rr_batch_counts counts;
    rr_tokens tokens;
    rr_arena keys;    /* lives from begin to begin */
    rr_arena arena;   /* ... or to a step behind one that failed */
    rr_arena scratch; /* one round of loading and swapping */
    rr_item *items;
    size_t item_count;
    unit *units;
    size_t unit_count, unit_room;
    int32_t *slots; /* hash table of units */
    size_t slot_room;
    rr_buf text;          /* keys, while they are made */
    rr_cache *cache;      /* NULL: none */
    bool guessing;        /* nearly all cells are new: their loads are left out */
    size_t seen, present; /* units looked at since that was decided, and how many were there */
    size_t logged;        /* entries of this batch that are stored ... */
    size_t logging;       /* ... and that this round tries to store */
    bool confirmed;       /* all that was seen of the store is where its replicas have to be */
    bool failed;          /* the step before this one */
    int64_t now_us;       /* of the step */
};

rr_batch *rr_batch_new(const rr_store_ops *ops, rr_store *store, const rr_batch_options *options)
{
    rr_batch *batch = calloc(1, sizeof *batch);

    if (batch == NULL || !rr_tokens_init(&batch->tokens)) {
        free(batch);
        return NULL;
    }
    batch->ops = ops;
    batch->store = store;
    batch->options = *options;
    batch->options.send_from = options->send_from == 0 ? SEND_FROM : options->send_from;
    batch->options.guess_from = options->guess_from == 0 ? GUESS_FROM : options->guess_from;
    batch->cache = options->cache_slots == 0 ? NULL : rr_cache_new(options->cache_slots);
    rr_arena_init(&batch->keys, 0);
    rr_arena_init(&batch->arena, 0);
    rr_arena_init(&batch->scratch, 0);
    return batch;
}

void rr_batch_free(rr_batch *batch)
{
    if (batch != NULL) {
        rr_arena_fini(&batch->keys);
        rr_arena_fini(&batch->arena);
        rr_arena_fini(&batch->scratch);
        rr_buf_fini(&batch->text);
        rr_cache_free(batch->cache);
        free(batch->units);
        free(batch->slots);
        free(batch);
    }
}

void rr_batch_invalidate(rr_batch *batch)
{
    if (batch->cache != NULL) {
        rr_cache_empty(batch->cache);
    }
}

const rr_batch_counts *rr_batch_totals(const rr_batch *batch)
{
    return &batch->counts;
}

static rr_status no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out while a batch was decided");
}

/* ---- begin: which records belong together ---- */

static bool make_room(rr_batch *batch, size_t count)
{
    size_t wanted = 64;

    while (wanted < count * 2) {
        wanted *= 2;
    }
    if (batch->unit_room < count) {
        unit *units = realloc(batch->units, count * sizeof *units);

        if (units == NULL) {
            return false;
        }
        batch->units = units;
        batch->unit_room = count;
    }
    if (batch->slot_room < wanted) {
        free(batch->slots);
        batch->slots = malloc(wanted * sizeof *batch->slots);
        batch->slot_room = batch->slots == NULL ? 0 : wanted;
    }
    for (size_t k = 0; k < batch->slot_room; k++) {
        batch->slots[k] = NONE;
    }
    return batch->slots != NULL;
}

static bool key_of(rr_batch *batch, const rr_item *item)
{
    const rr_record *record = item->record;

    rr_buf_clear(&batch->text);
    if (item->contract->window_kind == RR_WINDOW_SESSION) {
        rr_key_sessions(&batch->text, batch->options.prefix, item->contract, record->business_key,
                        record->metric_version);
    } else {
        rr_key_unit(&batch->text, batch->options.prefix, item->contract, record->business_key, record->metric_version,
                    record->window);
    }
    return rr_buf_ok(&batch->text);
}

static unit *unit_of(rr_batch *batch, const rr_item *item)
{
    rr_slice key = rr_buf_view(&batch->text);
    uint64_t hash = rr_hash(key);
    size_t slot = hash & (batch->slot_room - 1);
    unit *found;

    for (; batch->slots[slot] != NONE; slot = (slot + 1) & (batch->slot_room - 1)) {
        found = &batch->units[batch->slots[slot]];
        if (found->hash == hash && rr_slice_equal(found->key, key)) {
            return found;
        }
    }
    key = rr_arena_copy(&batch->keys, key);
    if (key.data == NULL) {
        return NULL;
    }
    batch->slots[slot] = (int32_t)batch->unit_count;
    found = &batch->units[batch->unit_count++];
    *found = (unit){.contract = item->contract, .key = key, .hash = hash, .first_item = SIZE_MAX};
    if (batch->cache != NULL) {
        found->value = rr_cache_get(batch->cache, hash, key, &batch->arena);
        found->state = found->value.len == 0 ? UNIT_LOAD : UNIT_OPEN;
    }
    return found;
}

static void remember(rr_batch *batch, const unit *u, rr_slice value)
{
    if (batch->cache != NULL) {
        rr_cache_put(batch->cache, u->hash, u->key, value);
    }
}

static void append_item(rr_batch *batch, unit *to, size_t index)
{
    rr_item *item = &batch->items[index];

    item->next = SIZE_MAX;
    item->unit = (size_t)(to - batch->units);
    if (to->item_count++ == 0) {
        to->first_item = index;
    } else {
        batch->items[to->last_item].next = index;
    }
    to->last_item = index;
}

rr_status rr_batch_begin(rr_batch *batch, rr_item *items, size_t count, rr_error *error)
{
    for (size_t k = 0; k < count; k++) {
        items[k].settled = false;
    }
    return rr_batch_begin_rest(batch, items, count, error);
}

rr_status rr_batch_begin_rest(rr_batch *batch, rr_item *items, size_t count, rr_error *error)
{
    rr_arena_reset(&batch->keys);
    rr_arena_reset(&batch->arena);
    batch->failed = false;
    batch->items = items;
    batch->item_count = count;
    batch->unit_count = 0;
    batch->logged = 0;
    batch->confirmed = false;
    if (!make_room(batch, count)) {
        return no_memory(error);
    }
    for (size_t k = 0; k < count; k++) {
        unit *to;

        items[k].stuck = false;
        if (items[k].refused || items[k].settled) {
            continue;
        }
        to = key_of(batch, &items[k]) ? unit_of(batch, &items[k]) : NULL;
        if (to == NULL) {
            return no_memory(error);
        }
        append_item(batch, to, k);
    }
    return RR_OK;
}

/* ---- one unit ---- */

/* now: what is stored of the unit. The cache learns it here and nowhere else, so that a value is copied once; what may be
 * another one by now was taken out before. */
static void settle_unit(rr_batch *batch, unit *u, rr_slice now)
{
    u->state = UNIT_DONE;
    if (u->looked || now.data != u->value.data) {
        remember(batch, u, now);
    }
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        batch->items[k].settled = true;
    }
}

static void give_up(rr_batch *batch, unit *u, const rr_error *error)
{
    u->state = UNIT_STUCK;
    remember(batch, u, (rr_slice){NULL, 0});
    batch->counts.failed++;
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        batch->items[k].stuck = true;
    }
    if (batch->options.complain != NULL) {
        batch->options.complain(batch->options.context, error);
    }
}

/* Reads what was loaded; decides where the unit goes from here. */
static rr_status open_unit(rr_batch *batch, unit *u, rr_error *error)
{
    rr_error why = {0};
    rr_status status;

    if (u->attempted && u->unanswered && rr_slice_equal(rr_value_token(u->value), (rr_slice){u->token, RR_TOKEN_LEN})) {
        batch->counts.won++;
        settle_unit(batch, u, u->value); /* the token is ours: it was won */
        return RR_OK;
    }
    u->unanswered = false;
    status = rr_stored_read(&u->facts, u->contract, u->value, &batch->arena, &why);
    if (status == RR_INPUT) {
        rr_error_within(&why, "key %.*s", (int)u->key.len, u->key.data);
        give_up(batch, u, &why);
        return RR_OK;
    }
    if (status != RR_OK) {
        *error = why;
        return status;
    }
    u->had_parts = u->facts.spilled;
    u->forgets = batch->options.forget && u->contract->window_kind == RR_WINDOW_SESSION &&
                 rr_unit_has_gone(&u->facts, batch->now_us);
    if (u->forgets && u->facts.complete) {
        rr_unit_forget(&u->facts, batch->now_us);
        u->forgets = false;
    }
    u->all_parts |= u->forgets;
    u->state = u->had_parts ? UNIT_PARTS : UNIT_JOIN;
    return RR_OK;
}

/* A STALE record that arrived before the held one in the same stream is not the producer's doing. */
static bool is_own_disorder(const rr_batch *batch, const unit *u, const rr_item *item)
{
    const rr_record *record = item->record;

    return item->outcome.verdict == RR_VERDICT_STALE &&
           (batch->options.again ||
            (record->stream_sequence != 0 && record->stream_sequence < u->facts.stream_sequence &&
             rr_slice_equal(record->stream, u->facts.stream)));
}

/* Joins all records of the unit. */
static rr_status join_unit(rr_batch *batch, unit *u, rr_error *error)
{
    u->grew = false;
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        rr_item *item = &batch->items[k];

        if (!rr_arena_reserve(&batch->arena, rr_join_need(&u->facts, item->record))) {
            return no_memory(error);
        }
        if (rr_join(&u->facts, item->record, &batch->arena, &item->outcome) == RR_JOIN_NEEDS_PARTS) {
            u->all_parts = true;
            u->state = UNIT_PARTS;
            return rr_stored_read(&u->facts, u->contract, u->value, &batch->arena, error);
        }
        if (item->outcome.verdict == RR_VERDICT_REFUSED) {
            item->why = rr_slice_of(rr_reason_text(item->outcome.reason));
        }
        if (is_own_disorder(batch, u, item)) {
            batch->counts.disorder++;
            item->outcome.alerts &= ~(rr_alert_set)RR_BIT(RR_ALERT_STALE_OVERWRITE);
        }
        if (item->outcome.grew) {
            u->grew = true;
            u->facts.stream = item->record->stream;
            u->facts.stream_sequence = item->record->stream_sequence;
        }
    }
    u->state = UNIT_SWAP;
    return RR_OK;
}

/* ---- rounds: what all units of a state do together ---- */

static size_t count_in(const rr_batch *batch, unit_state state)
{
    size_t count = 0;

    for (size_t k = 0; k < batch->unit_count; k++) {
        count += batch->units[k].state == state;
    }
    return count;
}

/* Where nearly every cell is a new one, loading them only shows that they are not there, which the swap finds out in any
 * case. So what was seen last decides whether the next are looked at first. */
static void learn(rr_batch *batch, bool present)
{
    batch->present += present;
    if (++batch->seen >= batch->options.guess_from) {
        batch->guessing = batch->present * GUESS_RARE < batch->seen;
        batch->seen = batch->present = 0;
    }
}

static void guess_round(rr_batch *batch)
{
    for (size_t k = 0; k < batch->unit_count && batch->guessing; k++) {
        unit *u = &batch->units[k];

        if (u->state == UNIT_LOAD && !u->looked) {
            u->looked = u->guessed = true;
            u->state = UNIT_OPEN;
        }
    }
}

/* The parts that the unit's records name, each once. */
static bool wanted_parts(rr_batch *batch, unit *u, rr_parts_read *read)
{
    rr_slice *ids = rr_arena_take(&batch->scratch, u->item_count * sizeof *ids);

    if (ids == NULL) {
        return false;
    }
    RR_STORE_ITEM_INIT(read);
    read->key = u->key;
    read->token = rr_value_token(u->value);
    read->ids = ids;
    read->all = u->all_parts;
    if (u->all_parts) {
        return true;
    }
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        const rr_record *record = batch->items[k].record;
        rr_slice id;

        /* Without room the id would be empty, and its part taken for one that is not there. */
        if (!rr_arena_reserve(&batch->arena, record->contributor.len + 64)) {
            return false;
        }
        id = rr_part_id(u->contract, record, &batch->arena);
        if (id.len != 0) {
            ids[read->id_count++] = id;
        }
    }
    return true;
}

static void take_parts(rr_batch *batch, unit *u, const rr_parts_read *read)
{
    bool good = true;

    if (read->error.status != RR_OK) {
        give_up(batch, u, &read->error);
        return;
    }
    if (read->changed) {
        u->state = UNIT_LOAD;
        return;
    }
    for (size_t k = 0; good && read->all && k < read->part_count; k++) {
        good = rr_part_read(&u->facts, read->parts[k].name, read->parts[k].bytes, &batch->arena);
    }
    for (size_t k = 0; good && !read->all && k < read->id_count; k++) {
        if (read->found[k].len != 0 && rr_unit_part(&u->facts, read->ids[k]) == NULL) {
            good = rr_part_read(&u->facts, read->ids[k], read->found[k], &batch->arena);
        }
    }
    if (!good) {
        rr_error why = {0};

        rr_fail(&why, RR_INPUT, "key %.*s: what is kept beside it is broken, or of a contract of another shape",
                (int)u->key.len, u->key.data);
        give_up(batch, u, &why);
        return;
    }
    u->facts.complete = read->all;
    if (u->forgets) {
        rr_unit_forget(&u->facts, batch->now_us);
        for (size_t k = 0; k < u->facts.part_count; k++) {
            u->facts.parts[k].dirty = true;
        }
    }
    u->state = UNIT_JOIN;
}

static rr_status parts_round(rr_batch *batch, rr_error *error)
{
    size_t wanted = count_in(batch, UNIT_PARTS), count = 0;
    rr_parts_read *reads = rr_arena_take(&batch->scratch, wanted * sizeof *reads);
    unit **which = rr_arena_take(&batch->scratch, wanted * sizeof *which);
    rr_status status;

    if (wanted == 0) {
        return RR_OK;
    }
    if (reads == NULL || which == NULL) {
        return no_memory(error);
    }
    for (size_t k = 0; k < batch->unit_count; k++) {
        if (batch->units[k].state == UNIT_PARTS) {
            which[count] = &batch->units[k];
            if (!wanted_parts(batch, which[count], &reads[count])) {
                return no_memory(error);
            }
            count++;
        }
    }
    batch->confirmed = batch->confirmed && count == 0;
    status = count == 0 ? RR_OK : batch->ops->read_parts(batch->store, reads, count, &batch->arena, error);
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        take_parts(batch, which[k], &reads[k]);
    }
    return status;
}

/* ---- what a swap carries ---- */

/* The records of a unit whose decision is to be kept. */
static bool put_entries(rr_batch *batch, unit *u, rr_swap *swap, int64_t now_us)
{
    rr_slice *entries;

    u->suppressed = 0;
    if (!batch->options.log_decisions) {
        return true;
    }
    entries = rr_arena_take(&batch->scratch, u->item_count * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    swap->entries = entries;
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        const rr_item *item = &batch->items[k];

        if (!rr_decision_due(&item->outcome) || (batch->options.again && item->outcome.alerts == 0)) {
            continue;
        }
        if (batch->logged + batch->logging >= RR_LIMIT_BATCH_ALERTS) {
            u->suppressed++;
            continue;
        }
        batch->logging++;
        entries[swap->entry_count] = rr_decision_write(item, now_us, &batch->text, &batch->scratch);
        if (entries[swap->entry_count++].data == NULL) {
            return false;
        }
    }
    if (swap->entry_count != 0) {
        swap->log_key = rr_decision_log_key(batch->options.prefix, u->contract, &batch->text, &batch->scratch);
    }
    return swap->entry_count == 0 || swap->log_key.data != NULL;
}

static bool put_parts(rr_batch *batch, unit *u, rr_swap *swap)
{
    rr_pair *parts = rr_arena_take(&batch->scratch, u->facts.part_count * sizeof *parts + 1);

    if (parts == NULL) {
        return false;
    }
    swap->parts = parts;
    for (size_t k = 0; k < u->facts.part_count; k++) {
        const rr_part *part = &u->facts.parts[k];
        char *bytes;

        if (!part->dirty) {
            continue;
        }
        bytes = rr_arena_take(&batch->scratch, rr_part_write_need(&u->facts, part));
        if (bytes == NULL) {
            return false;
        }
        parts[swap->part_count++] = (rr_pair){part->id, {bytes, rr_part_write(&u->facts, part, bytes)}};
    }
    return true;
}

static int64_t expiry_ms(const rr_batch *batch, const rr_contract *contract, int64_t end_us)
{
    return batch->options.expire ? rr_expiry_ms(contract, end_us) : 0;
}

static rr_slice written(rr_batch *batch)
{
    return rr_buf_ok(&batch->text) ? rr_arena_copy(&batch->scratch, rr_buf_view(&batch->text)) : (rr_slice){NULL, 0};
}

static bool put_session(rr_batch *batch, unit *u, const rr_cell *cell, rr_side *side, int64_t now_us)
{
    const rr_record *any = batch->items[u->first_item].record;

    rr_buf_clear(&batch->text);
    rr_key_unit(&batch->text, batch->options.prefix, u->contract, any->business_key, any->metric_version, cell->window);
    side->key = written(batch);
    rr_buf_clear(&batch->text);
    rr_stored_write_session(&batch->text, &u->facts, cell, now_us, u->token);
    side->value = written(batch);
    side->expire_at_ms = expiry_ms(batch, u->contract, rr_unit_outermost_end(&u->facts, cell->window));
    return side->key.data != NULL && side->value.data != NULL;
}

static bool put_sessions(rr_batch *batch, unit *u, rr_swap *swap, int64_t now_us)
{
    rr_side *sides = rr_arena_zero(&batch->scratch, u->facts.cell_count * sizeof *sides + 1);
    int64_t last_end = INT64_MIN;

    if (sides == NULL || !rr_arena_reserve(&batch->arena, rr_join_need(&u->facts, NULL))) {
        return false;
    }
    rr_unit_see(&u->facts, &batch->arena);
    swap->sides = sides;
    for (size_t k = 0; k < u->facts.cell_count; k++) {
        const rr_cell *cell = &u->facts.cells[k];

        last_end = cell->window.end > last_end ? cell->window.end : last_end;
        if (cell->dirty && !put_session(batch, u, cell, &sides[swap->side_count++], now_us)) {
            return false;
        }
    }
    swap->expire_at_ms = expiry_ms(batch, u->contract, last_end);
    return true;
}

static bool put_open(rr_batch *batch, unit *u, rr_swap *swap, int64_t now_us)
{
    bool is_open = rr_unit_is_open(&u->facts);

    if (!batch->options.list_open || is_open == u->facts.listed) {
        return true;
    }
    u->facts.listed = is_open;
    swap->open = is_open ? RR_OPEN_ADD : RR_OPEN_REMOVE;
    swap->open_key = rr_decision_open_key(batch->options.prefix, u->contract, &batch->text, &batch->scratch);
    swap->open_score_ms = now_us / 1000;
    return swap->open_key.data != NULL;
}

static bool put_value(rr_batch *batch, unit *u, rr_swap *swap, int64_t now_us)
{
    /* A new birth leaves the parts of the old one behind, to expire. */
    rr_tokens_next(&batch->tokens, u->forgets ? (rr_slice){NULL, 0} : swap->token, u->token);
    if (u->contract->window_kind == RR_WINDOW_SESSION) {
        if (!put_sessions(batch, u, swap, now_us)) {
            return false;
        }
    } else {
        swap->expire_at_ms = expiry_ms(batch, u->contract, batch->items[u->first_item].record->window.end);
        swap->keeps_expiry = swap->token.len != 0 && swap->expire_at_ms == u->facts.expires_ms;
    }
    if (!put_open(batch, u, swap, now_us)) {
        return false;
    }
    u->facts.expires_ms = swap->expire_at_ms;
    rr_buf_clear(&batch->text);
    rr_stored_write(&batch->text, &u->facts, now_us, u->token, &batch->scratch);
    swap->value = written(batch);
    return swap->value.data != NULL && (!u->facts.spilled || put_parts(batch, u, swap));
}

/* True if there is anything to store for the unit. */
static bool prepare_swap(rr_batch *batch, unit *u, rr_swap *swap, int64_t now_us, bool *failed)
{
    RR_STORE_ITEM_INIT(swap);
    swap->key = u->key;
    swap->token = rr_value_token(u->value);
    swap->partless = !u->had_parts;
    if (!put_entries(batch, u, swap, now_us) || (u->grew && !put_value(batch, u, swap, now_us))) {
        *failed = true;
        return false;
    }
    return u->grew || swap->entry_count != 0;
}

static void take_answer(rr_batch *batch, unit *u, rr_swap *swap)
{
    switch (swap->answer) {
    case RR_SWAP_WON:
        batch->counts.won++;
        batch->logged += swap->entry_count;
        batch->counts.suppressed += u->suppressed;
        settle_unit(batch, u, swap->value.len != 0 ? swap->value : u->value);
        break;
    case RR_SWAP_LOST:
        batch->counts.lost++;
        u->guessed = false;
        u->value = rr_arena_copy(&batch->arena, swap->current);
        u->looked = true;
        u->all_parts = false;
        u->state = UNIT_OPEN;
        if (++u->lost > PATIENCE) {
            rr_error why = {0};

            rr_fail(&why, RR_INTERNAL, "key %.*s: lost %d swaps in a row", (int)u->key.len, u->key.data, PATIENCE);
            give_up(batch, u, &why);
        }
        break;
    case RR_SWAP_UNKNOWN:
        batch->counts.unknown++;
        if (swap->error.status != RR_OK) {
            give_up(batch, u, &swap->error); /* the server began and failed: trying again will not heal it */
            break;
        }
        u->unanswered = u->grew;
        remember(batch, u, (rr_slice){NULL, 0});
        u->all_parts = false;
        u->state = UNIT_LOAD;
        break;
    case RR_SWAP_FAILED: give_up(batch, u, &swap->error); break;
    }
}

/* Units on their way to the store and back: while it is at work on some, others are decided. */
typedef struct round_trip {
    rr_batch *batch;
    rr_load *loads;
    unit **loaded;
    size_t load_count;
    size_t load_ready; /* loads that have their answers */
    rr_swap *swaps;
    unit **swapped;
    size_t swap_count;
    size_t swap_sent; /* swaps that the store has */
} round_trip;

static rr_status begin_trip(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;
    size_t loads = count_in(batch, UNIT_LOAD);
    size_t all = loads + count_in(batch, UNIT_OPEN) + count_in(batch, UNIT_JOIN);

    t->loads = rr_arena_take(&batch->scratch, loads * sizeof *t->loads);
    t->loaded = rr_arena_take(&batch->scratch, loads * sizeof(unit *));
    t->swaps = rr_arena_take(&batch->scratch, all * sizeof *t->swaps);
    t->swapped = rr_arena_take(&batch->scratch, all * sizeof(unit *));
    return t->loads == NULL || t->loaded == NULL || t->swaps == NULL || t->swapped == NULL ? no_memory(error) : RR_OK;
}

static rr_status ask_loads(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;

    for (size_t k = 0; k < batch->unit_count; k++) {
        unit *u = &batch->units[k];

        if (u->state == UNIT_LOAD) {
            u->looked = true;
            u->guessed = false;
            RR_STORE_ITEM_INIT(&t->loads[t->load_count]);
            t->loads[t->load_count].key = u->key;
            t->loaded[t->load_count++] = u;
        }
    }
    batch->confirmed = batch->confirmed && t->load_count == 0;
    batch->counts.loads += t->load_count;
    if (batch->ops->load_ahead != NULL) { /* also of none: a trip before may have been given up half-way */
        return batch->ops->load_ahead(batch->store, t->loads, t->load_count, &batch->arena, error);
    }
    t->load_ready = t->load_count;
    return t->load_count == 0 ? RR_OK : batch->ops->load(batch->store, t->loads, t->load_count, &batch->arena, error);
}

/* Waits for the answer of one load. */
static rr_status take_load(round_trip *t, size_t k, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = RR_OK;

    while (t->load_ready <= k && status == RR_OK) {
        status = batch->ops->load_next(batch->store, &t->load_ready, error);
    }
    if (status != RR_OK) {
        return status;
    }
    t->loaded[k]->value = t->loads[k].value;
    t->loaded[k]->state = UNIT_OPEN;
    learn(batch, t->loads[k].value.len != 0);
    if (t->loads[k].error.status != RR_OK) {
        give_up(batch, t->loaded[k], &t->loads[k].error);
    }
    return RR_OK;
}

/* Gives the store what is decided, if it is enough or all, to work on it while the rest is decided. */
static rr_status send_swaps(round_trip *t, bool all, rr_error *error)
{
    rr_batch *batch = t->batch;
    size_t count = t->swap_count - t->swap_sent;
    rr_swap *first = t->swaps + t->swap_sent;

    if (count == 0 || (count < batch->options.send_from && !all) || batch->ops->swap_ahead == NULL) {
        return RR_OK;
    }
    t->swap_sent = t->swap_count;
    return batch->ops->swap_ahead(batch->store, first, count, &batch->arena, error);
}

/* A unit whose value is at hand goes through all its steps at once, as long as it is in the processor's caches. */
static rr_status decide_unit(round_trip *t, unit *u, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = u->state == UNIT_OPEN ? open_unit(batch, u, error) : RR_OK;
    bool failed = false;

    if (status == RR_OK && u->state == UNIT_JOIN) {
        status = join_unit(batch, u, error);
    }
    if (status != RR_OK || u->state != UNIT_SWAP) {
        return status;
    }
    if (prepare_swap(batch, u, &t->swaps[t->swap_count], batch->now_us, &failed)) {
        u->attempted = u->grew;
        t->swapped[t->swap_count++] = u;
        return send_swaps(t, false, error);
    }
    if (failed) {
        return no_memory(error);
    }
    if (u->guessed) {
        u->state = UNIT_LOAD; /* no swap will tell whether it is absent */
    } else {
        settle_unit(batch, u, u->value);
    }
    return RR_OK;
}

/* Those whose values are at hand come first: meanwhile the others' are on their way. */
static rr_status decide_units(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = RR_OK;

    batch->logging = 0;
    for (size_t k = 0; k < batch->unit_count && status == RR_OK; k++) {
        if (batch->units[k].state == UNIT_OPEN || batch->units[k].state == UNIT_JOIN) {
            status = decide_unit(t, &batch->units[k], error);
        }
    }
    for (size_t k = 0; k < t->load_count && status == RR_OK; k++) {
        status = take_load(t, k, error);
        status = status == RR_OK ? decide_unit(t, t->loaded[k], error) : status;
    }
    return status;
}

static rr_status end_trip(round_trip *t, rr_error *error)
{
    rr_batch *batch = t->batch;
    rr_status status = send_swaps(t, true, error);

    if (t->swap_count == 0 || status != RR_OK) {
        return status;
    }
    return batch->ops->swap_ahead != NULL
               ? batch->ops->swap_end(batch->store, error)
               : batch->ops->swap(batch->store, t->swaps, t->swap_count, &batch->arena, error);
}

/* Loads, joins, and swaps all units that have what they need. */
static rr_status trip_round(rr_batch *batch, rr_error *error)
{
    round_trip t = {.batch = batch};
    rr_status status = begin_trip(&t, error);

    status = status == RR_OK ? ask_loads(&t, error) : status;
    status = status == RR_OK ? decide_units(&t, error) : status;
    status = status == RR_OK ? end_trip(&t, error) : status;
    /* A swap may be answered before the call fails. */
    batch->confirmed = t.swap_count == 0 ? batch->confirmed : status == RR_OK;
    batch->counts.swaps += t.swap_count;
    for (size_t k = 0; k < t.swap_count; k++) {
        if (t.swapped[k]->guessed) {
            learn(batch, t.swaps[k].answer == RR_SWAP_LOST);
        }
        take_answer(batch, t.swapped[k], &t.swaps[k]);
    }
    return status;
}

/* ---- refused records: they have no unit, and their alerts need no token ---- */

static bool prepare_refusal(rr_batch *batch, const rr_item *item, rr_swap *swap, int64_t now_us)
{
    rr_slice *entry = rr_arena_take(&batch->scratch, sizeof *entry);

    if (entry == NULL) {
        return false;
    }
    *entry = rr_decision_write(item, now_us, &batch->text, &batch->scratch);
    RR_STORE_ITEM_INIT(swap);
    swap->entries = entry;
    swap->entry_count = 1;
    swap->log_key = rr_decision_log_key(batch->options.prefix, item->contract, &batch->text, &batch->scratch);
    return entry->data != NULL && swap->log_key.data != NULL;
}

/* An alert that cannot be stored: nothing may be acknowledged. Those that are stored are not told at the next try. */
static rr_status log_refusals(rr_batch *batch, rr_swap *swaps, rr_item **which, size_t count, rr_error *error)
{
    rr_status status = count == 0 ? RR_OK : batch->ops->swap(batch->store, swaps, count, &batch->scratch, error);

    batch->confirmed = count == 0 ? batch->confirmed : status == RR_OK;
    for (size_t k = 0; k < count; k++) {
        if (swaps[k].answer == RR_SWAP_WON) {
            which[k]->settled = true;
            batch->logged++;
        } else if (status == RR_OK) {
            status = rr_fail(error, swaps[k].error.status == RR_OK ? RR_UNAVAILABLE : swaps[k].error.status, "%s",
                             swaps[k].error.text);
        }
    }
    return status;
}

static rr_status refusal_round(rr_batch *batch, int64_t now_us, rr_error *error)
{
    size_t room = RR_LIMIT_BATCH_ALERTS, refused = 0, count = 0;
    rr_swap *swaps;
    rr_item **which;
    rr_status status;

    for (size_t k = 0; k < batch->item_count; k++) {
        refused += batch->items[k].refused && !batch->items[k].settled;
    }
    if (refused == 0) {
        return RR_OK;
    }
    room = !batch->options.log_decisions || batch->logged >= room ? 0 : room - batch->logged;
    room = room < refused ? room : refused;
    swaps = rr_arena_take(&batch->scratch, room * sizeof *swaps);
    which = rr_arena_take(&batch->scratch, room * sizeof *which);
    for (size_t k = 0; k < batch->item_count && count < room; k++) {
        rr_item *item = &batch->items[k];

        if (!item->refused || item->settled) {
            continue;
        }
        if (swaps == NULL || which == NULL || !prepare_refusal(batch, item, &swaps[count], now_us)) {
            return no_memory(error);
        }
        which[count++] = item;
    }
    status = log_refusals(batch, swaps, which, count, error);
    if (status != RR_OK) {
        return status;
    }
    batch->counts.suppressed += batch->options.log_decisions ? refused - count : 0;
    for (size_t k = 0; k < batch->item_count; k++) {
        batch->items[k].settled |= batch->items[k].refused;
    }
    return RR_OK;
}

static bool is_unfinished(const rr_batch *batch)
{
    return count_in(batch, UNIT_LOAD) + count_in(batch, UNIT_OPEN) + count_in(batch, UNIT_PARTS) +
               count_in(batch, UNIT_JOIN) !=
           0;
}

/* Behind a step that failed all that is not settled is loaded anew, not guessed: swaps of it may have been won. What was
 * loaded before is let go of, since an outage may last, and each of its steps loads. */
static void start_over(rr_batch *batch)
{
    rr_arena_reset(&batch->arena);
    for (size_t k = 0; k < batch->unit_count; k++) {
        unit *u = &batch->units[k];

        if (u->state != UNIT_DONE && u->state != UNIT_STUCK) {
            u->value = (rr_slice){NULL, 0};
            u->looked = true;
            u->all_parts = false;
            u->state = UNIT_LOAD;
        }
    }
}

rr_status rr_batch_step(rr_batch *batch, int64_t now_us, rr_error *error)
{
    rr_status status;

    batch->now_us = now_us;
    if (batch->failed) {
        start_over(batch);
    }
    do {
        rr_arena_reset(&batch->scratch);
        guess_round(batch);
        status = parts_round(batch, error);
        if (status == RR_OK) {
            status = trip_round(batch, error);
        }
        if (status == RR_OK) {
            status = refusal_round(batch, now_us, error);
        }
    } while (status == RR_OK && is_unfinished(batch));
    /* What was decided upon a value that is nowhere but there may not be acknowledged either. */
    if (status == RR_OK && !batch->confirmed) {
        status = batch->ops->confirm(batch->store, error);
        batch->confirmed = status == RR_OK;
    }
    batch->failed = status != RR_OK;
    if (batch->failed) {
        rr_batch_invalidate(batch);
    }
    return status;
}
