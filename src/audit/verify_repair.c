/* Replaces a unit of the store by that of the streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_repair.h"

#include "must.h"
#include "replacement.h"

static bool read_all_parts(rr_verify *v, const rr_listed *item, rr_slice value, rr_unit *unit)
{
    rr_parts_read read = {.key = item->key, .token = rr_value_token(value), .all = true};

    if (!unit->spilled) {
        return true;
    }
    if (v->options->memory_ops->read_parts(v->memory, &read, 1, &v->page, NULL) != RR_OK || read.changed) {
        return false;
    }
    for (size_t k = 0; k < read.part_count; k++) {
        bool is_good;

        if (!rr_stored_read_part(unit, read.parts[k].name, read.parts[k].bytes, &v->page, &is_good)) {
            return false;
        }
        RR_MUST(is_good); /* the memory store holds what this process wrote */
        unit->parts[unit->part_count - 1].dirty = true;
    }
    return true;
}

/* A value without a token cannot guard its replacement. It is removed first, if it is still the value that was read. */
static rr_status remove_tokenless(rr_verify *v, rr_slice key, rr_slice *store_value, rr_error *error)
{
    bool done = false;
    rr_status status;

    if (store_value->len == 0 || rr_value_token(*store_value).len != 0) {
        return RR_OK;
    }
    status = v->options->store_ops->note_set(v->options->store, key, *store_value, (rr_slice){NULL, 0}, 0, NULL, &done,
                                             error);
    if (status == RR_OK && done) {
        *store_value = (rr_slice){NULL, 0};
    }
    return status;
}

rr_status rr_verify_repair(rr_verify *v, rr_verify_pair *p, rr_slice expected, rr_slice found, rr_error *error)
{
    rr_replacement replacement = {.unit = &p->expected,
                                  .key = p->listed->key,
                                  .store_value = found,
                                  .business_key = p->listed->business_key,
                                  .metric_version = p->listed->metric_version,
                                  .window = p->listed->window,
                                  .prefix = v->options->prefix,
                                  .now_us = v->options->now_us(),
                                  .stale_cells = p->found.cells,
                                  .stale_cell_count = p->found.cell_count};
    rr_swap swap;
    rr_status status;

    if (p->expected.cell_count == 0) {
        return RR_OK; /* the streams may have been purged, so the store's unit may be right */
    }
    status = remove_tokenless(v, p->listed->key, &replacement.store_value, error);
    if (status != RR_OK) {
        return status;
    }
    if (!read_all_parts(v, p->listed, expected, &p->expected) ||
        !rr_replacement_prepare(&replacement, &v->tokens, &v->page, &swap)) {
        return rr_verify_no_memory(error);
    }
    status = v->options->store_ops->swap(v->options->store, &swap, 1, &v->page, error);
    if (status == RR_OK && swap.answer == RR_SWAP_FAILED) {
        *error = swap.error;
        return error->status;
    }
    v->totals->repaired += status == RR_OK && swap.answer == RR_SWAP_WON;
    return status;
}
