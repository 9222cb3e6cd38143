/* Which records belong to which unit: a hash table of units by key, made anew for each batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "batch_internal.h"
#include "hash.h"
#include "key.h"

enum { NONE = -1 };

static bool make_room(rr_batch *batch, size_t count)
{
    size_t wanted = 64;

    while (wanted < count * 2) {
        wanted *= 2;
    }
    if (batch->unit_room < count) {
        rr_batch_unit *units = realloc(batch->units, count * sizeof *units);

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

static bool write_key(rr_batch *batch, const rr_item *item)
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

static rr_batch_unit *find_unit(rr_batch *batch, const rr_item *item)
{
    rr_slice key = rr_buf_view(&batch->text);
    uint64_t hash = rr_hash(key);
    size_t slot = hash & (batch->slot_room - 1);
    rr_batch_unit *found;

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
    *found = (rr_batch_unit){.contract = item->contract, .key = key, .hash = hash, .first_item = SIZE_MAX};
    if (batch->cache != NULL) {
        found->value = rr_cache_get(batch->cache, hash, key, &batch->arena);
        found->state = found->value.len == 0 ? RR_BATCH_LOAD : RR_BATCH_OPEN;
    }
    return found;
}

static void append_item(rr_batch *batch, rr_batch_unit *to, size_t index)
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
    batch->step_failed = false;
    batch->items = items;
    batch->item_count = count;
    batch->unit_count = 0;
    batch->logged = 0;
    batch->confirmed = false;
    if (!make_room(batch, count)) {
        return rr_batch_no_memory(error);
    }
    for (size_t k = 0; k < count; k++) {
        rr_batch_unit *to;

        items[k].stuck = false;
        if (items[k].refused || items[k].settled) {
            continue;
        }
        to = write_key(batch, &items[k]) ? find_unit(batch, &items[k]) : NULL;
        if (to == NULL) {
            return rr_batch_no_memory(error);
        }
        append_item(batch, to, k);
    }
    return RR_OK;
}
