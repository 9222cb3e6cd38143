/* The parts that the records of units name, read in one call for all units. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_internal.h"
#include "forget.h"

/* The ids of the parts that the unit's records name. */
static bool name_parts(rr_batch *batch, rr_batch_unit *u, rr_parts_read *read)
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

        /* If memory ran out, the id would be empty, and its part would be taken for absent. */
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

/* False: memory ran out. */
static bool read_answer(rr_batch *batch, rr_batch_unit *u, const rr_parts_read *read, bool *is_good)
{
    *is_good = true;
    for (size_t k = 0; *is_good && read->all && k < read->part_count; k++) {
        const rr_pair *part = &read->parts[k];

        if (!rr_stored_read_part(&u->facts, part->name, part->bytes, &batch->arena, is_good)) {
            return false;
        }
    }
    for (size_t k = 0; *is_good && !read->all && k < read->id_count; k++) {
        if (read->found[k].len != 0 && rr_unit_part(&u->facts, read->ids[k]) == NULL &&
            !rr_stored_read_part(&u->facts, read->ids[k], read->found[k], &batch->arena, is_good)) {
            return false;
        }
    }
    return true;
}

static rr_status take_parts(rr_batch *batch, rr_batch_unit *u, const rr_parts_read *read, rr_error *error)
{
    bool is_good;

    if (read->error.status != RR_OK) {
        rr_batch_give_up_unit(batch, u, &read->error);
        return RR_OK;
    }
    if (read->changed) {
        u->state = RR_BATCH_LOAD;
        return RR_OK;
    }
    if (!read_answer(batch, u, read, &is_good)) {
        return rr_batch_no_memory(error);
    }
    if (!is_good) {
        rr_error why = {0};

        rr_fail(&why, RR_INPUT,
                "key %.*s: the parts beside it are broken, or were written under a contract of another shape",
                (int)u->key.len, u->key.data);
        rr_batch_give_up_unit(batch, u, &why);
        return RR_OK;
    }
    u->facts.complete = read->all;
    if (u->forgets) {
        rr_unit_forget(&u->facts, batch->now_us);
        for (size_t k = 0; k < u->facts.part_count; k++) {
            u->facts.parts[k].dirty = true;
        }
    }
    u->state = RR_BATCH_JOIN;
    return RR_OK;
}

static size_t count_wanting(const rr_batch *batch)
{
    size_t count = 0;

    for (size_t k = 0; k < batch->unit_count; k++) {
        count += batch->units[k].state == RR_BATCH_PARTS;
    }
    return count;
}

rr_status rr_batch_read_parts(rr_batch *batch, rr_error *error)
{
    size_t wanted = count_wanting(batch), count = 0;
    rr_parts_read *reads = rr_arena_take(&batch->scratch, wanted * sizeof *reads);
    rr_batch_unit **which = rr_arena_take(&batch->scratch, wanted * sizeof *which);
    rr_status status;

    if (wanted == 0) {
        return RR_OK;
    }
    if (reads == NULL || which == NULL) {
        return rr_batch_no_memory(error);
    }
    for (size_t k = 0; k < batch->unit_count; k++) {
        if (batch->units[k].state == RR_BATCH_PARTS) {
            which[count] = &batch->units[k];
            if (!name_parts(batch, which[count], &reads[count])) {
                return rr_batch_no_memory(error);
            }
            count++;
        }
    }
    batch->confirmed = false;
    status = batch->ops->read_parts(batch->store, reads, count, &batch->arena, error);
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        status = take_parts(batch, which[k], &reads[k], error);
    }
    return status;
}
