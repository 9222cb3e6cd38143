/* Lanes, the fold of each mode, and the merging of sessions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include "delta.h"
#include "register.h"

/* ---- semantics, section 8 ---- */

static bool has_correction(const rr_cell *cell)
{
    return rr_version_is_set(cell->correction.version);
}

static const rr_assertion *live_shown(const rr_contract *contract, const rr_cell *cell)
{
    return contract->mode == RR_MODE_CUMULATIVE ? &cell->reg.newest : &cell->fold.top;
}

/* Live includes a correction at or above this one. */
static bool live_includes(const rr_cell *cell)
{
    int bases = rr_version_compare(cell->known_base, cell->base);

    return rr_version_is_set(cell->known_version) &&
           (bases > 0 || (bases == 0 && rr_version_compare(cell->known_version, cell->correction.version) >= 0));
}

static bool is_ahead(const rr_contract *contract, const rr_cell *cell)
{
    if (contract->corrections == RR_CORRECTIONS_COORDINATED) {
        return rr_version_compare(cell->live_max, cell->correction.version) > 0;
    }
    return rr_version_compare(cell->live_max, cell->base) > 0 && live_includes(cell);
}

/* What live shows is itself at or below the correction's base, since a newer one was withdrawn. */
static bool falls_back(const rr_contract *contract, const rr_cell *cell)
{
    const rr_assertion *shown = live_shown(contract, cell);

    return contract->corrections == RR_CORRECTIONS_CONDITIONAL && rr_version_is_set(shown->version) &&
           rr_version_compare(shown->version, cell->base) <= 0;
}

static rr_lane lane_while_diverged(const rr_contract *contract, const rr_cell *cell)
{
    switch (contract->during_conflict) {
    case RR_DURING_LIVE: return RR_LANE_LIVE;
    case RR_DURING_CORRECTION: return RR_LANE_CORRECTION;
    default: return cell->incumbent;
    }
}

rr_lanes rr_cell_lanes(const rr_contract *contract, const rr_cell *cell)
{
    rr_lanes lanes = {RR_LANE_LIVE, false, false};

    if (contract->corrections == RR_CORRECTIONS_NONE || !has_correction(cell)) {
        return lanes;
    }
    lanes.shown = RR_LANE_CORRECTION;
    if (contract->mode == RR_MODE_DELTA) {
        return lanes; /* readers see both: what it covers is left out of the sum */
    }
    if (is_ahead(contract, cell)) {
        lanes.live_ahead = true;
        lanes.shown = falls_back(contract, cell) ? RR_LANE_CORRECTION : RR_LANE_LIVE;
    } else if (cell->has_base && rr_version_is_set(cell->live_max) &&
               rr_version_compare(cell->live_max, cell->base) > 0) {
        lanes.diverged = true;
        lanes.shown = lane_while_diverged(contract, cell);
    }
    return lanes;
}

static rr_version covered_up_to(const rr_cell *cell)
{
    return cell->has_base ? cell->base : cell->correction.version;
}

bool rr_cell_covers(const rr_contract *contract, const rr_cell *cell, rr_version version)
{
    rr_lanes lanes = rr_cell_lanes(contract, cell);

    return has_correction(cell) && lanes.shown == RR_LANE_CORRECTION && !lanes.diverged && rr_version_is_set(version) &&
           rr_version_compare(version, covered_up_to(cell)) <= 0;
}

/* ---- what a cell alone shows ---- */

static void show_assertion(rr_view *view, const rr_assertion *assertion, rr_origin origin)
{
    view->state = RR_STATE_withdrawn;
    if (rr_version_is_set(assertion->version)) {
        *view = (rr_view){.state = RR_STATE_present,
                          .values = assertion->values,
                          .version = assertion->version,
                          .origin = origin,
                          .status = assertion->status};
    }
}

/* Semantics, section 7; and the correction with the deltas beyond its base. */
static void show_delta(const rr_unit *unit, const rr_cell *cell, rr_arena *scratch, rr_view *view)
{
    const rr_fold *fold = &cell->fold;
    bool session = unit->contract->window_kind == RR_WINDOW_SESSION;

    if (has_correction(cell) && fold->counting == 0) {
        show_assertion(view, &cell->correction, RR_ORIGIN_CORRECTION);
        return;
    }
    view->state = (session ? fold->own : fold->counting) == 0 ? RR_STATE_withdrawn : RR_STATE_present;
    if (view->state == RR_STATE_withdrawn) {
        return;
    }
    view->values =
        has_correction(cell) ? rr_values_add(unit->contract, cell->correction.values, fold->sum, scratch) : fold->sum;
    view->status = fold->closed != 0 ? RR_RESULT_STREAM_CLOSED : RR_RESULT_PROVISIONAL;
}

static void show_alone(const rr_unit *unit, const rr_cell *cell, rr_arena *scratch, rr_view *view)
{
    if (unit->contract->mode == RR_MODE_DELTA) {
        show_delta(unit, cell, scratch, view);
    } else if (rr_cell_lanes(unit->contract, cell).shown == RR_LANE_CORRECTION) {
        show_assertion(view, &cell->correction, RR_ORIGIN_CORRECTION);
    } else {
        show_assertion(view, live_shown(unit->contract, cell), RR_ORIGIN_LIVE);
    }
}

/* The fold leaves out what a correction covers; and a session that nothing of its own counts for sums nothing. */
static uint64_t summed_contradictions(const rr_contract *contract, const rr_cell *cell)
{
    bool sums = contract->window_kind != RR_WINDOW_SESSION || cell->fold.own != 0;

    return contract->mode == RR_MODE_DELTA && sums ? cell->fold.contradicted : 0;
}

static bool equivocates(const rr_contract *contract, const rr_cell *cell)
{
    switch (contract->mode) {
    case RR_MODE_CUMULATIVE:
        return rr_register_equivocates(&cell->reg) && !rr_cell_covers(contract, cell, cell->reg.contradicted);
    case RR_MODE_RETRACTION:
        return cell->fold.equivocations != 0 && !rr_cell_covers(contract, cell, cell->fold.equivocation_max);
    default: return summed_contradictions(contract, cell) != 0;
    }
}

static rr_conflict_set conflicts_alone(const rr_contract *contract, const rr_cell *cell)
{
    rr_lanes lanes = rr_cell_lanes(contract, cell);
    rr_conflict_set open = 0;

    if (lanes.diverged) {
        open |= RR_BIT(RR_CONFLICT_DIVERGENCE);
    }
    if (equivocates(contract, cell) || (cell->correction_contradicted && lanes.shown == RR_LANE_CORRECTION)) {
        open |= RR_BIT(RR_CONFLICT_EQUIVOCATION);
    }
    if (contract->mode == RR_MODE_RETRACTION && cell->fold.mismatches != 0 &&
        !rr_cell_covers(contract, cell, cell->fold.mismatch_max)) {
        open |= RR_BIT(RR_CONFLICT_RETRACTION_MISMATCH);
    }
    return open;
}

/* ---- semantics, section 9 ---- */

bool rr_cell_present(const rr_contract *contract, const rr_cell *cell)
{
    if (contract->mode == RR_MODE_DELTA) {
        return cell->fold.own != 0;
    }
    return rr_version_is_set(live_shown(contract, cell)->version);
}

static uint64_t window_length(rr_window window)
{
    return (uint64_t)window.end - (uint64_t)window.start;
}

/* The longest present window that contains another (ties: the earlier start), or NULL. */
static const rr_cell *merged_into(const rr_unit *unit, rr_window window)
{
    const rr_cell *longest = NULL;

    /* Sorted by start: those that contain it come first. */
    for (size_t k = 0; k < unit->cell_count && unit->cells[k].window.start <= window.start; k++) {
        const rr_cell *outer = &unit->cells[k];

        if (outer->window.end >= window.end && !rr_window_equal(outer->window, window) &&
            rr_cell_present(unit->contract, outer) &&
            (longest == NULL || window_length(outer->window) > window_length(longest->window))) {
            longest = outer;
        }
    }
    return longest;
}

static bool overlaps_another(const rr_unit *unit, const rr_cell *cell)
{
    for (size_t k = 0; k < unit->cell_count && unit->cells[k].window.start < cell->window.end; k++) {
        const rr_cell *other = &unit->cells[k];

        if (other != cell && rr_window_overlaps(other->window, cell->window) &&
            rr_cell_present(unit->contract, other) && merged_into(unit, other->window) == NULL) {
            return true;
        }
    }
    return false;
}

static void merge_sessions(const rr_unit *unit, const rr_cell *cell, rr_view *view)
{
    const rr_cell *outer = merged_into(unit, cell->window);

    if (outer != NULL) {
        *view = (rr_view){.state = RR_STATE_merged, .merged_into = outer->window};
    } else if (view->state == RR_STATE_present && overlaps_another(unit, cell)) {
        view->conflicts |= RR_BIT(RR_CONFLICT_OVERLAPPING_SESSIONS);
    }
}

rr_view rr_cell_view(const rr_unit *unit, const rr_cell *cell, rr_arena *scratch)
{
    rr_view view = {0};

    show_alone(unit, cell, scratch, &view);
    view.conflicts = conflicts_alone(unit->contract, cell);
    if (unit->contract->window_kind == RR_WINDOW_SESSION) {
        merge_sessions(unit, cell, &view);
    }
    return view;
}

bool rr_view_differs(const rr_view *a, const rr_view *b)
{
    if (a->state != b->state) {
        return true;
    }
    if (a->state == RR_STATE_merged) {
        return !rr_window_equal(a->merged_into, b->merged_into);
    }
    return a->state == RR_STATE_present &&
           (a->origin != b->origin || a->status != b->status || rr_version_compare(a->version, b->version) != 0 ||
            !rr_slice_equal(a->values, b->values));
}

bool rr_unit_is_open(const rr_unit *unit)
{
    for (size_t k = 0; k < unit->cell_count; k++) {
        if (unit->cells[k].view.conflicts != 0) {
            return true;
        }
    }
    return false;
}
