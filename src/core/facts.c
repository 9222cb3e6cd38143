/* The arrays of a unit: cells sorted by window, parts in no order, the claims of a part. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include "packed.h"

void rr_unit_init(rr_unit *unit, const rr_contract *contract)
{
    *unit = (rr_unit){.contract = contract, .complete = true};
}

rr_cell *rr_unit_cell(rr_unit *unit, rr_window window)
{
    for (size_t k = 0; k < unit->cell_count; k++) {
        if (rr_window_equal(unit->cells[k].window, window)) {
            return &unit->cells[k];
        }
    }
    return NULL;
}

rr_part *rr_unit_part(const rr_unit *unit, rr_slice id)
{
    for (size_t k = 0; k < unit->part_count; k++) {
        if (rr_slice_equal(unit->parts[k].id, id)) {
            return &unit->parts[k];
        }
    }
    return NULL;
}

rr_slice rr_part_id(const rr_contract *contract, const rr_record *record, rr_arena *arena)
{
    char *bytes, *at;

    if (contract->mode == RR_MODE_CUMULATIVE || record->origin == RR_ORIGIN_CORRECTION) {
        return (rr_slice){NULL, 0};
    }
    if (contract->mode == RR_MODE_DELTA) {
        return record->identity;
    }
    /* A contributor may be the empty string: the part's id never is. */
    bytes = at = rr_arena_take(arena, 1 + 2 * RR_PACKED_VARINT_MAX + record->contributor.len);
    if (bytes == NULL) {
        return (rr_slice){NULL, 0};
    }
    *at++ = 'c';
    if (contract->window_kind == RR_WINDOW_SESSION) {
        rr_packed_put_window(&at, record->window);
    }
    if (record->contributor.len != 0) {
        memcpy(at, record->contributor.data, record->contributor.len);
    }
    return (rr_slice){bytes, (size_t)(at - bytes) + record->contributor.len};
}

static size_t place_of_window(const rr_unit *unit, rr_window window)
{
    size_t at = unit->cell_count;

    while (at > 0 && rr_window_compare(unit->cells[at - 1].window, window) > 0) {
        at--;
    }
    return at;
}

rr_cell *rr_unit_insert_cell(rr_unit *unit, rr_window window, rr_arena *arena)
{
    size_t at = place_of_window(unit, window);

    if (unit->cell_count == unit->cell_room) {
        size_t room = unit->cell_room == 0 ? 1 : unit->cell_room * 2;
        rr_cell *grown = rr_take_reserved(arena, room * sizeof *grown);

        if (unit->cell_count != 0) {
            memcpy(grown, unit->cells, unit->cell_count * sizeof *grown);
        }
        unit->cells = grown;
        unit->cell_room = room;
    }
    memmove(&unit->cells[at + 1], &unit->cells[at], (unit->cell_count - at) * sizeof *unit->cells);
    unit->cells[at] = (rr_cell){.window = window};
    unit->cell_count++;
    return &unit->cells[at];
}

void rr_unit_remove_cell(rr_unit *unit, rr_window window)
{
    size_t at = (size_t)(rr_unit_cell(unit, window) - unit->cells);

    unit->cell_count--;
    memmove(&unit->cells[at], &unit->cells[at + 1], (unit->cell_count - at) * sizeof *unit->cells);
}

rr_part *rr_unit_add_part(rr_unit *unit, rr_slice id, rr_arena *arena)
{
    rr_part *part;

    if (unit->part_count == unit->part_room) {
        size_t room = unit->part_room == 0 ? 1 : unit->part_room * 2;
        rr_part *grown = rr_take_reserved(arena, room * sizeof *grown);

        if (unit->part_count != 0) {
            memcpy(grown, unit->parts, unit->part_count * sizeof *grown);
        }
        unit->parts = grown;
        unit->part_room = room;
    }
    part = &unit->parts[unit->part_count++];
    *part = (rr_part){.id = id};
    unit->part_total++;
    return part;
}

void rr_part_reserve_claim(rr_part *part, rr_arena *arena)
{
    rr_claim *grown;

    if (part->claim_count < part->claim_room) {
        return;
    }
    part->claim_room = part->claim_room == 0 ? 1 : part->claim_room * 2;
    grown = rr_take_reserved(arena, part->claim_room * sizeof *grown);
    if (part->claim_count != 0) {
        memcpy(grown, part->claims, part->claim_count * sizeof *grown);
    }
    part->claims = grown;
}
