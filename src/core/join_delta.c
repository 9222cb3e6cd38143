/* Deltas: one contribution or withdrawal into its identity's claims, and the sums of the windows that it changes
 * (semantics, sections 7 and 9). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "joining.h"

#include "delta.h"

static void add_share(const rr_joining *j, rr_fold *fold, const rr_share *share)
{
    if (share->counts) {
        fold->sum =
            fold->counting == 0 ? share->values : rr_values_add(j->contract, fold->sum, share->values, j->scratch);
        fold->counting++;
        fold->closed += share->closed;
        fold->contradicted += share->contradicted;
    }
}

static void subtract_share(const rr_joining *j, rr_fold *fold, const rr_share *share)
{
    if (share->counts) {
        fold->counting--;
        fold->sum = fold->counting == 0 ? rr_values_zero(j->contract, j->scratch)
                                        : rr_values_subtract(j->contract, fold->sum, share->values, j->scratch);
        fold->closed -= share->closed;
        fold->contradicted -= share->contradicted;
    }
}

void rr_fold_deltas(const rr_joining *j, rr_cell *cell)
{
    rr_version cut = rr_delta_cut(j->contract, cell);

    cell->fold = (rr_fold){.sum = rr_values_zero(j->contract, j->scratch)};
    for (size_t k = 0; k < j->unit->part_count; k++) {
        rr_share share = rr_delta_share(&j->unit->parts[k], cell->window, cut);

        add_share(j, &cell->fold, &share);
        cell->fold.own += rr_delta_owns(&j->unit->parts[k], cell->window);
    }
}

/* The one window inside `cell` that contains all others inside it; NULL if there is none, or more than one such. */
static const rr_cell *widest_inside(const rr_unit *unit, const rr_cell *cell, size_t *inside)
{
    const rr_cell *widest = NULL;

    *inside = 0;
    for (size_t k = 0; k < unit->cell_count; k++) {
        const rr_cell *inner = &unit->cells[k];

        if (inner != cell && rr_window_contains(cell->window, inner->window)) {
            ++*inside;
            if (widest == NULL || rr_window_contains(inner->window, widest->window)) {
                widest = inner;
            }
        }
    }
    for (size_t k = 0; widest != NULL && k < unit->cell_count; k++) {
        const rr_cell *inner = &unit->cells[k];

        if (inner != cell && rr_window_contains(cell->window, inner->window) &&
            !rr_window_contains(widest->window, inner->window)) {
            widest = NULL;
        }
    }
    return widest;
}

/* A new window sums what is inside it. Where one window holds all of that, its fold is the answer, and a session that
 * grows need not look at its contributions again. */
static rr_joined fold_new_window(const rr_joining *j, rr_cell *cell)
{
    size_t inside;
    const rr_cell *widest = widest_inside(j->unit, cell, &inside);

    if (inside == 0 || widest != NULL) {
        cell->fold = widest == NULL ? (rr_fold){.sum = rr_values_zero(j->contract, j->scratch)} : widest->fold;
        cell->fold.own = 0;
        return RR_JOIN_DONE;
    }
    if (!j->unit->complete) {
        return RR_JOIN_NEEDS_PARTS;
    }
    rr_fold_deltas(j, cell);
    return RR_JOIN_DONE;
}

rr_joined rr_join_delta(rr_joining *j)
{
    rr_unit *unit = j->unit;
    rr_part *part = rr_joining_part(j);
    rr_cell *cell = part == NULL ? NULL : rr_joining_cell(j);
    rr_share *shares;
    bool *owned;

    if (cell == NULL) {
        return RR_JOIN_DONE; /* refused */
    }
    if (j->new_cell && fold_new_window(j, cell) == RR_JOIN_NEEDS_PARTS) {
        return RR_JOIN_NEEDS_PARTS;
    }
    shares = rr_take_reserved(j->scratch, unit->cell_count * sizeof *shares);
    owned = rr_take_reserved(j->scratch, unit->cell_count * sizeof *owned);
    for (size_t k = 0; k < unit->cell_count; k++) {
        shares[k] = rr_delta_share(part, unit->cells[k].window, rr_delta_cut(j->contract, &unit->cells[k]));
        owned[k] = rr_delta_owns(part, unit->cells[k].window);
    }
    rr_part_reserve_claim(part, j->scratch);
    j->effect = rr_delta_take(part, j->at, j->record);
    part->dirty |= j->effect.grew;
    for (size_t k = 0; k < unit->cell_count; k++) {
        rr_share now = rr_delta_share(part, unit->cells[k].window, rr_delta_cut(j->contract, &unit->cells[k]));
        rr_fold *fold = &unit->cells[k].fold;

        if (now.counts && !shares[k].counts) {
            add_share(j, fold, &now);
        } else if (now.counts != shares[k].counts || now.contradicted != shares[k].contradicted ||
                   now.closed != shares[k].closed || !rr_slice_equal(now.values, shares[k].values)) {
            subtract_share(j, fold, &shares[k]);
            add_share(j, fold, &now);
        }
        fold->own += rr_delta_owns(part, unit->cells[k].window);
        fold->own -= owned[k];
    }
    if (j->new_cell && j->effect.verdict == RR_VERDICT_CONFLICT) {
        rr_unit_remove_cell(unit, j->at); /* contradicted by another window: nothing is held here */
        j->new_cell = false;
    }
    return RR_JOIN_DONE;
}
