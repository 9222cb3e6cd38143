/* What an engine does around rr_join, without an engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox.h"

#include <stdlib.h>

#include "cell_json.h"
#include "must.h"
#include "record_json.h"
#include "view.h"

void rr_sandbox_init(rr_sandbox *sandbox, const rr_contract *contract, rr_sandbox_kind kind)
{
    *sandbox = (rr_sandbox){.kind = kind, .contract = contract};
    rr_arena_init(&sandbox->arena, 0);
}

void rr_sandbox_fini(rr_sandbox *sandbox)
{
    for (size_t k = 0; k < sandbox->held_count; k++) {
        rr_held *held = sandbox->held[k];

        for (size_t i = 0; i < held->part_count; i++) {
            rr_buf_fini(&held->parts[i].id);
            rr_buf_fini(&held->parts[i].bytes);
        }
        rr_buf_fini(&held->business_key);
        rr_buf_fini(&held->metric_version);
        rr_buf_fini(&held->value);
        free(held);
    }
    rr_arena_fini(&sandbox->arena);
}

static rr_held *held_of(rr_sandbox *sandbox, const rr_record *record)
{
    bool session = sandbox->contract->window_kind == RR_WINDOW_SESSION;
    rr_window window = session ? (rr_window){0, 0} : record->window;
    rr_held *held;

    for (size_t k = 0; k < sandbox->held_count; k++) {
        held = sandbox->held[k];
        if (rr_slice_equal(rr_buf_view(&held->business_key), record->business_key) &&
            rr_slice_equal(rr_buf_view(&held->metric_version), record->metric_version) &&
            rr_window_equal(held->window, window)) {
            return held;
        }
    }
    RR_MUST(sandbox->held_count < RR_SANDBOX_UNITS);
    held = calloc(1, sizeof *held);
    RR_MUST(held != NULL);
    rr_buf_slice(&held->business_key, record->business_key);
    rr_buf_slice(&held->metric_version, record->metric_version);
    held->window = window;
    rr_unit_init(&held->unit, sandbox->contract);
    sandbox->held[sandbox->held_count++] = held;
    return held;
}

/* ---- bytes ---- */

static rr_stored_part *stored_part(rr_held *held, rr_slice id)
{
    for (size_t k = 0; k < held->part_count; k++) {
        if (rr_slice_equal(rr_buf_view(&held->parts[k].id), id)) {
            return &held->parts[k];
        }
    }
    return NULL;
}

/* What is read points into what was loaded, which a store hands over for good. */
static rr_slice copy_of(rr_sandbox *sandbox, const rr_buf *stored)
{
    return rr_arena_copy(&sandbox->arena, rr_buf_view(stored));
}

static bool read_parts(rr_sandbox *sandbox, rr_held *held, bool all)
{
    rr_slice wanted = rr_part_id(sandbox->contract, &sandbox->record, &sandbox->arena);
    bool good = true;

    for (size_t k = 0; good && k < held->part_count; k++) {
        rr_slice id = rr_buf_view(&held->parts[k].id);

        if (all || rr_slice_equal(id, wanted)) {
            good = rr_part_read(&held->unit, copy_of(sandbox, &held->parts[k].id),
                                copy_of(sandbox, &held->parts[k].bytes), &sandbox->arena);
        }
    }
    held->unit.complete = all;
    return good;
}

static void load(rr_sandbox *sandbox, rr_held *held, bool all)
{
    rr_unit_init(&held->unit, sandbox->contract);
    if (held->value.len == 0) {
        held->unit.spilled = sandbox->kind == RR_SANDBOX_SPILLED;
    } else if (!rr_unit_read(&held->unit, sandbox->contract, copy_of(sandbox, &held->value), &sandbox->arena) ||
               (held->unit.spilled && !read_parts(sandbox, held, all))) {
        sandbox->fault = "facts that were written cannot be read";
    }
}

static rr_slice unit_bytes(rr_sandbox *sandbox, rr_unit *unit)
{
    char *to = rr_arena_take(&sandbox->arena, rr_unit_write_need(unit));
    size_t need = rr_unit_write_need(unit), len;

    RR_MUST(to != NULL);
    len = rr_unit_write(unit, to);
    if (len > need) {
        sandbox->fault = "rr_unit_write wrote more than rr_unit_write_need";
    }
    return (rr_slice){to, len};
}

static rr_slice part_bytes(rr_sandbox *sandbox, const rr_unit *unit, const rr_part *part)
{
    size_t need = rr_part_write_need(unit, part), len;
    char *to = rr_arena_take(&sandbox->arena, need);

    RR_MUST(to != NULL);
    len = rr_part_write(unit, part, to);
    if (len > need) {
        sandbox->fault = "rr_part_write wrote more than rr_part_write_need";
    }
    return (rr_slice){to, len};
}

static void store_part(rr_sandbox *sandbox, rr_held *held, const rr_part *part)
{
    rr_stored_part *stored = stored_part(held, part->id);
    rr_slice bytes = part_bytes(sandbox, &held->unit, part);

    if (stored == NULL) {
        RR_MUST(held->part_count < RR_SANDBOX_PARTS);
        stored = &held->parts[held->part_count++];
        rr_buf_slice(&stored->id, part->id);
    }
    rr_buf_clear(&stored->bytes);
    rr_buf_slice(&stored->bytes, bytes);
}

/* Nothing is lost in the bytes: what is read from them writes the same. */
static void check_bytes(rr_sandbox *sandbox, rr_held *held)
{
    rr_unit again = {0};
    bool good = rr_unit_read(&again, sandbox->contract, rr_buf_view(&held->value), &sandbox->arena);

    if (!good || !rr_slice_equal(unit_bytes(sandbox, &again), rr_buf_view(&held->value))) {
        sandbox->fault = "written, read and written again, the facts are other bytes";
        return;
    }
    for (size_t k = 0; again.spilled && k < held->part_count; k++) {
        rr_slice bytes = rr_buf_view(&held->parts[k].bytes);

        if (!rr_part_read(&again, rr_buf_view(&held->parts[k].id), bytes, &sandbox->arena) ||
            !rr_slice_equal(part_bytes(sandbox, &again, &again.parts[again.part_count - 1]), bytes)) {
            sandbox->fault = "written, read and written again, a part is other bytes";
        }
    }
}

static void store(rr_sandbox *sandbox, rr_held *held)
{
    rr_slice bytes = unit_bytes(sandbox, &held->unit);

    rr_buf_clear(&held->value);
    rr_buf_slice(&held->value, bytes);
    for (size_t k = 0; held->unit.spilled && k < held->unit.part_count; k++) {
        if (held->unit.parts[k].dirty) {
            store_part(sandbox, held, &held->unit.parts[k]);
        }
    }
    check_bytes(sandbox, held);
}

/* ---- taking a record ---- */

static rr_view *views_of(rr_sandbox *sandbox, const rr_unit *unit)
{
    rr_view *views = rr_arena_take(&sandbox->arena, (unit->cell_count + 1) * sizeof *views);

    RR_MUST(views != NULL && rr_arena_reserve(&sandbox->arena, rr_join_need(unit, NULL)));
    for (size_t k = 0; k < unit->cell_count; k++) {
        views[k] = rr_cell_view(unit, &unit->cells[k], &sandbox->arena);
    }
    return views;
}

/* An engine writes only what is said to have changed. */
static void check_dirty(rr_sandbox *sandbox, const rr_cell *before, const rr_view *seen, size_t count,
                        const rr_unit *unit, bool grew)
{
    rr_view *now = views_of(sandbox, unit);
    size_t was = 0;

    for (size_t k = 0; k < unit->cell_count; k++) {
        const rr_cell *cell = &unit->cells[k];
        bool known = was < count && rr_window_equal(before[was].window, cell->window);
        bool changed = !known || rr_view_differs(&seen[was], &now[k]) || seen[was].conflicts != now[k].conflicts;

        was += known;
        if (changed && (!cell->dirty || !grew)) {
            sandbox->fault = grew ? "a cell changed and is not dirty" : "a cell changed and nothing grew";
        }
        if (cell->view_valid && (rr_view_differs(&cell->view, &now[k]) || cell->view.conflicts != now[k].conflicts)) {
            sandbox->fault = "a view that is kept is not that of the facts";
        }
    }
}

static rr_joined join_once(rr_sandbox *sandbox, rr_held *held, rr_outcome *outcome)
{
    rr_unit *unit = &held->unit;
    size_t count = unit->cell_count;
    rr_view *seen = views_of(sandbox, unit);
    rr_cell *before = rr_arena_take(&sandbox->arena, (count + 1) * sizeof *before);
    rr_joined joined;

    RR_MUST(before != NULL && rr_arena_reserve(&sandbox->arena, rr_join_need(unit, &sandbox->record)));
    if (count != 0) {
        memcpy(before, unit->cells, count * sizeof *before);
    }
    for (size_t k = 0; k < count; k++) {
        unit->cells[k].dirty = false;
    }
    joined = rr_join(unit, &sandbox->record, &sandbox->arena, outcome);
    if (joined == RR_JOIN_DONE) {
        check_dirty(sandbox, before, seen, count, unit, outcome->grew);
    }
    return joined;
}

static rr_outcome join(rr_sandbox *sandbox, rr_held *held)
{
    rr_outcome outcome = {0};
    rr_joined joined;

    if (sandbox->kind != RR_SANDBOX_KEPT) {
        load(sandbox, held, false);
    }
    joined = join_once(sandbox, held, &outcome);
    if (joined == RR_JOIN_NEEDS_PARTS && !held->unit.complete) {
        load(sandbox, held, true);
        joined = join_once(sandbox, held, &outcome);
    }
    if (joined == RR_JOIN_NEEDS_PARTS) {
        sandbox->fault = "rr_join asks for parts that it has";
    } else if (sandbox->kind != RR_SANDBOX_KEPT && outcome.grew) {
        store(sandbox, held);
    }
    return outcome;
}

static rr_outcome refused(rr_reason reason)
{
    bool late = reason == RR_REASON_BEYOND_RETENTION;

    return (rr_outcome){.verdict = late ? RR_VERDICT_TOO_LATE : RR_VERDICT_REFUSED,
                        .reason = reason,
                        .alerts = RR_BIT(late ? RR_ALERT_TOO_LATE : RR_ALERT_CONTRACT_VIOLATION)};
}

rr_outcome rr_sandbox_take(rr_sandbox *sandbox, const rr_line *line)
{
    int64_t clock_us;
    rr_decoded decoded;
    rr_reason reason;

    if (sandbox->kind != RR_SANDBOX_KEPT) {
        rr_arena_reset(&sandbox->arena);
    }
    sandbox->at = NULL;
    sandbox->record = (rr_record){0};
    decoded = rr_record_from_json(line->json, &sandbox->arena, &sandbox->record, &clock_us, NULL);
    if (decoded != RR_DECODED_RECORD) {
        return refused(decoded == RR_DECODED_TOO_LARGE ? RR_REASON_LIMIT_EXCEEDED : RR_REASON_MALFORMED);
    }
    sandbox->record.has_arrival = true;
    sandbox->record.arrival_us = line->clock_us;
    RR_MUST(rr_arena_reserve(&sandbox->arena, rr_admit_need(sandbox->contract, &sandbox->record)));
    reason = rr_admit(sandbox->contract, &sandbox->record, &sandbox->arena, NULL);
    if (reason != RR_REASON_NONE) {
        return refused(reason);
    }
    sandbox->at = held_of(sandbox, &sandbox->record);
    return join(sandbox, sandbox->at);
}

/* ---- what readers see ---- */

static void print_cell(rr_sandbox *sandbox, const rr_held *held, const rr_cell *cell, bool conflicts, rr_buf *out)
{
    bool session = sandbox->contract->window_kind == RR_WINDOW_SESSION;
    rr_view view;

    RR_MUST(rr_arena_reserve(&sandbox->arena, rr_join_need(&held->unit, NULL)));
    view = rr_cell_view(&held->unit, cell, &sandbox->arena);
    if (!conflicts) {
        view.conflicts = 0;
    }
    rr_cell_line(out, sandbox->contract, rr_buf_view(&held->business_key), rr_buf_view(&held->metric_version),
                 session ? cell->window : held->window, &view);
}

void rr_held_print(rr_sandbox *sandbox, rr_held *held, bool conflicts, rr_buf *out)
{
    if (sandbox->kind != RR_SANDBOX_KEPT) {
        load(sandbox, held, false);
    }
    for (size_t k = 0; k < held->unit.cell_count; k++) {
        print_cell(sandbox, held, &held->unit.cells[k], conflicts, out);
    }
}

static int by_text(const void *a, const void *b)
{
    const rr_buf *first = a, *second = b;

    return rr_slice_compare(rr_buf_view(first), rr_buf_view(second));
}

void rr_sandbox_print(rr_sandbox *sandbox, bool conflicts, rr_buf *out)
{
    rr_buf texts[RR_SANDBOX_UNITS] = {{0}};

    for (size_t k = 0; k < sandbox->held_count; k++) {
        rr_held_print(sandbox, sandbox->held[k], conflicts, &texts[k]);
    }
    qsort(texts, sandbox->held_count, sizeof *texts, by_text);
    for (size_t k = 0; k < sandbox->held_count; k++) {
        rr_buf_slice(out, rr_buf_view(&texts[k]));
        rr_buf_fini(&texts[k]);
    }
}
