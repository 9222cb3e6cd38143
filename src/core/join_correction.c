/* Corrections, and how the live lane and a correction meet (semantics, section 8). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "joining.h"

#include "delta.h"

/* Semantics, section 8: by (base, version) under conditional, by version alone under coordinated. */
static int correction_order(const rr_joining *j, const rr_cell *cell)
{
    if (!rr_version_is_set(cell->correction.version)) {
        return 1;
    }
    if (j->contract->corrections == RR_CORRECTIONS_CONDITIONAL) {
        int bases = rr_version_compare(j->record->base_version, cell->base);

        if (bases != 0) {
            return bases;
        }
    }
    return rr_version_compare(j->record->version, cell->correction.version);
}

static bool is_same_correction(const rr_joining *j, const rr_cell *cell)
{
    const rr_record *record = j->record;
    bool same_base = record->has_base == cell->has_base && rr_version_compare(record->base_version, cell->base) == 0;

    return record->status == cell->correction.status && rr_slice_equal(record->values, cell->correction.values) &&
           (same_base || j->contract->corrections == RR_CORRECTIONS_CONDITIONAL);
}

static void hold_correction(const rr_joining *j, rr_cell *cell)
{
    cell->correction = (rr_assertion){j->record->version, j->record->status, j->record->values};
    cell->has_base = j->record->has_base;
    cell->base = j->record->base_version;
    cell->correction_contradicted = false;
}

rr_joined rr_join_correction(rr_joining *j)
{
    rr_cell *cell = rr_joining_cell(j);
    rr_version cut = rr_delta_cut(j->contract, cell);
    int order = correction_order(j, cell);

    if (j->new_cell && j->contract->mode == RR_MODE_DELTA) {
        cell->fold.sum = rr_values_zero(j->contract, j->scratch);
    }
    j->effect = (rr_effect){.verdict = RR_VERDICT_DUPLICATE, .version = j->record->version};
    if (order < 0) {
        j->effect.verdict = RR_VERDICT_STALE;
        j->effect.alerts = RR_BIT(RR_ALERT_STALE_OVERWRITE);
    } else if (order == 0 && !is_same_correction(j, cell)) {
        j->effect.verdict = RR_VERDICT_CONFLICT;
        j->effect.alerts = RR_BIT(RR_ALERT_EQUIVOCATION);
        j->effect.contradiction = true;
        j->effect.grew = !cell->correction_contradicted;
        cell->correction_contradicted = true;
    } else if (order > 0) {
        hold_correction(j, cell);
        j->effect.verdict = RR_VERDICT_APPLIED;
        j->effect.grew = j->effect.is_new = true;
    }
    if (j->contract->mode == RR_MODE_DELTA && j->effect.is_new &&
        rr_version_compare(cut, rr_delta_cut(j->contract, cell)) != 0 && j->unit->part_total != 0) {
        if (!j->unit->complete) {
            return RR_JOIN_NEEDS_PARTS;
        }
        rr_fold_deltas(j, cell);
    }
    return RR_JOIN_DONE;
}

/* What the live lane knows is a fact too, also from an older record. */
void rr_note_known_correction(rr_joining *j, rr_cell *cell)
{
    const rr_record *record = j->record;
    rr_version own = rr_version_is_set(record->version) ? record->version : record->retracts_version;
    int bases;

    if (j->contract->corrections != RR_CORRECTIONS_CONDITIONAL || j->contract->mode == RR_MODE_DELTA ||
        record->origin != RR_ORIGIN_LIVE || !record->has_includes || !rr_version_is_set(record->includes_version) ||
        j->effect.verdict == RR_VERDICT_CONFLICT || rr_version_compare(own, record->includes_base) <= 0) {
        return;
    }
    bases = rr_version_compare(record->includes_base, cell->known_base);
    if (!rr_version_is_set(cell->known_version) || bases > 0 ||
        (bases == 0 && rr_version_compare(record->includes_version, cell->known_version) > 0)) {
        cell->known_base = record->includes_base;
        cell->known_version = record->includes_version;
        j->effect.grew = true;
    }
}

/* While the lanes diverge, the one in effect when they parted is kept. */
void rr_note_incumbent(const rr_joining *j, rr_cell *cell)
{
    if (!rr_cell_lanes(j->contract, cell).diverged) {
        cell->incumbent = RR_LANE_NONE;
    } else if (!j->before.diverged) {
        cell->incumbent = j->before.shown;
    }
}

rr_verdict rr_correction_verdict(const rr_joining *j, const rr_cell *cell, rr_alert_set *alerts)
{
    rr_lanes lanes = rr_cell_lanes(j->contract, cell);

    if (!j->effect.is_new || lanes.shown == RR_LANE_CORRECTION) {
        return j->effect.verdict;
    }
    if (lanes.diverged) {
        *alerts |= RR_BIT(RR_ALERT_CORRECTION_CONFLICT);
        return RR_VERDICT_CONFLICT;
    }
    if (j->contract->corrections == RR_CORRECTIONS_COORDINATED) {
        *alerts |= RR_BIT(RR_ALERT_STALE_OVERWRITE);
        return RR_VERDICT_STALE;
    }
    return RR_VERDICT_ABSORBED; /* live includes it already */
}

rr_verdict rr_live_verdict(const rr_joining *j, const rr_cell *cell, rr_alert_set *alerts)
{
    rr_lanes lanes = rr_cell_lanes(j->contract, cell);
    rr_verdict verdict = j->effect.verdict;

    if ((j->effect.is_new || j->effect.contradiction) && rr_cell_covers(j->contract, cell, j->effect.version)) {
        if (j->effect.is_new) {
            *alerts |= RR_BIT(RR_ALERT_COVERED_UNSEEN);
        }
        return RR_VERDICT_ABSORBED;
    }
    if ((verdict == RR_VERDICT_APPLIED || j->effect.is_new) && lanes.diverged && lanes.shown == RR_LANE_CORRECTION) {
        *alerts |= RR_BIT(RR_ALERT_CORRECTION_CONFLICT);
        verdict = RR_VERDICT_CONFLICT;
    }
    return verdict;
}
