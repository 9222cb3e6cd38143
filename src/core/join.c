/* From a record and the facts to new facts and one verdict: the rules of the mode decide first, then what readers
 * saw is compared with what they see now, and law 7 has the last word. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "joining.h"

#include "delta.h"
#include "must.h"
#include "packed.h"

size_t rr_join_need(const rr_unit *unit, const rr_record *record)
{
    size_t values = rr_values_need(unit->contract) + 32;
    size_t need = 1024 + (unit->cell_count + 2) * (2 * values + 2 * sizeof(rr_share) + 64);

    need += (unit->cell_count + 2) * 2 * sizeof(rr_cell) + (unit->part_count + 8) * 2 * sizeof(rr_part);
    need += unit->part_count * values; /* folding anew */
    if (record != NULL) {
        need += (unit->cell_count + 2) * 2 * sizeof(rr_claim) + 3 * record->values.len + record->contributor.len +
                record->identity.len + RR_LIMIT_NAMED_VALUES * values;
    }
    return need;
}

/* ---- what the record can change ---- */

static bool is_affected(const rr_joining *j, const rr_cell *cell)
{
    return !j->session || rr_window_overlaps(cell->window, j->at);
}

static void refresh_view(const rr_joining *j, rr_cell *cell)
{
    if (!cell->view_valid) {
        cell->view = rr_cell_view(j->unit, cell, j->scratch);
        cell->view_valid = true;
    }
}

static void refresh_affected_views(const rr_joining *j)
{
    for (size_t k = 0; k < j->unit->cell_count; k++) {
        if (is_affected(j, &j->unit->cells[k])) {
            refresh_view(j, &j->unit->cells[k]);
        }
    }
}

void rr_unit_see(rr_unit *unit, rr_arena *scratch)
{
    rr_joining j = {.unit = unit, .contract = unit->contract, .scratch = scratch};

    refresh_affected_views(&j);
}

static rr_joined refuse_growth(rr_outcome *outcome)
{
    *outcome = (rr_outcome){RR_VERDICT_REFUSED, RR_REASON_LIMIT_EXCEEDED, RR_BIT(RR_ALERT_CONTRACT_VIOLATION), false};
    return RR_JOIN_DONE;
}

static rr_joined join_cumulative(rr_joining *j)
{
    rr_cell *cell = rr_joining_cell(j);

    if (cell != NULL) {
        j->effect = rr_register_take_cumulative(&cell->reg, j->contract, j->record);
        cell->live_max = cell->reg.newest.version;
    }
    return RR_JOIN_DONE;
}

/* ---- what readers see ---- */

static rr_alert_set alerts_of_opened(const rr_view *before, const rr_view *after)
{
    rr_conflict_set opened = after->conflicts & (rr_conflict_set)~before->conflicts;
    rr_alert_set alerts = 0;

    for (unsigned k = 0; k < RR_CONFLICT_COUNT; k++) {
        if ((opened & RR_BIT(k)) != 0) {
            alerts |= RR_BIT(rr_conflict_alert((rr_conflict)k));
        }
    }
    return alerts;
}

/* Compares what readers saw with what they see; true if it changed. */
static bool update_views(const rr_joining *j, rr_alert_set *alerts)
{
    bool changed = false;

    for (size_t k = 0; k < j->unit->cell_count; k++) {
        rr_cell *cell = &j->unit->cells[k];
        rr_view before = cell->view;
        bool is_new = j->new_cell && rr_window_equal(cell->window, j->at);

        if (!is_affected(j, cell)) {
            continue;
        }
        cell->view = rr_cell_view(j->unit, cell, j->scratch);
        cell->view_valid = true;
        *alerts |= alerts_of_opened(&before, &cell->view);
        if (is_new || rr_view_differs(&before, &cell->view)) {
            changed = cell->dirty = true;
        }
        cell->dirty |= before.conflicts != cell->view.conflicts;
    }
    return changed;
}

/* The latest contender of an open conflict is kept with the cell: op, origin and status, version, what it was of,
 * and the values. */
static rr_slice contender_bytes(const rr_joining *j)
{
    const rr_record *record = j->record;
    rr_slice of = j->contract->mode == RR_MODE_DELTA ? record->identity : record->contributor;
    char *bytes = rr_take_reserved(j->scratch, 64 + of.len + record->values.len), *at = bytes;

    rr_packed_put_byte(&at, (uint8_t)(record->op | record->origin << 1 | record->status << 2));
    rr_packed_put_version(&at, record->op == RR_OP_RETRACT ? record->retracts_version : record->version);
    rr_packed_put_slice(&at, of);
    rr_packed_put_slice(&at, record->values);
    return (rr_slice){bytes, (size_t)(at - bytes)};
}

static void note_contender(rr_joining *j)
{
    const rr_conflict_set contradictions = RR_BIT(RR_CONFLICT_EQUIVOCATION) | RR_BIT(RR_CONFLICT_RETRACTION_MISMATCH);
    rr_slice contender = j->effect.contradiction ? contender_bytes(j) : (rr_slice){NULL, 0};

    for (size_t k = 0; k < j->unit->cell_count; k++) {
        rr_cell *cell = &j->unit->cells[k];

        if (!is_affected(j, cell)) {
            continue;
        }
        if ((cell->view.conflicts & contradictions) == 0) {
            j->effect.grew |= cell->contender.len != 0;
            cell->contender = (rr_slice){NULL, 0};
        } else if (contender.len != 0 && !rr_slice_equal(cell->contender, contender)) {
            cell->contender = contender;
            j->effect.grew = true;
        }
    }
}

static rr_joined join_by_mode(rr_joining *j)
{
    if (j->record->origin == RR_ORIGIN_CORRECTION) {
        return rr_join_correction(j);
    }
    switch (j->contract->mode) {
    case RR_MODE_DELTA: return rr_join_delta(j);
    case RR_MODE_RETRACTION: return rr_join_retraction(j);
    default: return join_cumulative(j);
    }
}

static bool exceeds_part_limits(const rr_joining *j)
{
    const rr_part *part;

    if (j->contract->mode == RR_MODE_CUMULATIVE || j->record->origin == RR_ORIGIN_CORRECTION) {
        return false;
    }
    part = rr_unit_part(j->unit, rr_part_id(j->contract, j->record, j->scratch));
    return part == NULL ? j->unit->part_total >= RR_LIMIT_PARTS
                        : part->claim_count >= RR_LIMIT_CLAIMS && !rr_delta_claims(part, j->at);
}

static bool exceeds_limits(const rr_joining *j)
{
    return (j->session && j->unit->cell_count == RR_LIMIT_WINDOWS && rr_unit_cell(j->unit, j->at) == NULL) ||
           exceeds_part_limits(j);
}

rr_joined rr_join(rr_unit *unit, const rr_record *record, rr_arena *scratch, rr_outcome *outcome)
{
    bool session = unit->contract->window_kind == RR_WINDOW_SESSION;
    rr_joining j = {.unit = unit, .contract = unit->contract, .record = record, .scratch = scratch, .session = session};
    const rr_cell *known;
    rr_cell *cell;

    j.at = session ? record->window : (rr_window){0, 0};
    if (exceeds_limits(&j)) {
        return refuse_growth(outcome);
    }
    refresh_affected_views(&j);
    known = rr_unit_cell(unit, j.at);
    j.before = known == NULL ? (rr_lanes){0} : rr_cell_lanes(j.contract, known);
    if (join_by_mode(&j) == RR_JOIN_NEEDS_PARTS) {
        return RR_JOIN_NEEDS_PARTS;
    }
    *outcome = (rr_outcome){.verdict = j.effect.verdict, .alerts = j.effect.alerts};
    cell = rr_unit_cell(unit, j.at);
    if (cell != NULL && j.contract->corrections != RR_CORRECTIONS_NONE) {
        rr_note_known_correction(&j, cell);
        rr_note_incumbent(&j, cell);
        outcome->verdict = record->origin == RR_ORIGIN_CORRECTION ? rr_correction_verdict(&j, cell, &outcome->alerts)
                                                                  : rr_live_verdict(&j, cell, &outcome->alerts);
    }
    /* Law 7 has the last word. */
    if (update_views(&j, &outcome->alerts)) {
        outcome->verdict = RR_VERDICT_APPLIED;
    } else if (outcome->verdict == RR_VERDICT_APPLIED) {
        outcome->verdict = RR_VERDICT_ABSORBED;
    }
    note_contender(&j);
    outcome->grew = j.effect.grew;
    return RR_JOIN_DONE;
}
