/* From a record and the facts to new facts and one verdict: the rules of the mode say what is true first, then what
 * readers see is compared before and after, and law 7 has the last word. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "join.h"

#include "delta.h"
#include "must.h"
#include "register.h"
#include "view.h"
#include "wire.h"

/* One call of rr_join. */
typedef struct join {
    rr_unit *unit;
    const rr_contract *contract;
    const rr_record *record;
    rr_arena *scratch;
    rr_window at; /* the record's window; {0, 0} but for sessions */
    bool session;
    bool new_cell;   /* the record's cell came into being here */
    rr_lanes before; /* how the lanes of the record's cell stood */
    rr_first first;
} join;

/* ---- room ---- */

static void *take(rr_arena *arena, size_t bytes)
{
    void *taken = rr_arena_take(arena, bytes);

    RR_MUST(taken != NULL); /* the caller reserved rr_join_need bytes */
    return taken;
}

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

static size_t cell_place(const rr_unit *unit, rr_window window)
{
    size_t at = unit->cell_count;

    while (at > 0 && rr_window_compare(unit->cells[at - 1].window, window) > 0) {
        at--;
    }
    return at;
}

static rr_cell *insert_cell(rr_unit *unit, rr_window window, rr_arena *scratch)
{
    size_t at = cell_place(unit, window);

    if (unit->cell_count == unit->cell_room) {
        size_t room = unit->cell_room == 0 ? 1 : unit->cell_room * 2;
        rr_cell *grown = take(scratch, room * sizeof *grown);

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

static void remove_cell(rr_unit *unit, rr_window window)
{
    size_t at = (size_t)(rr_unit_cell(unit, window) - unit->cells);

    unit->cell_count--;
    memmove(&unit->cells[at], &unit->cells[at + 1], (unit->cell_count - at) * sizeof *unit->cells);
}

static rr_part *add_part(rr_unit *unit, rr_slice id, rr_arena *scratch)
{
    rr_part *part;

    if (unit->part_count == unit->part_room) {
        size_t room = unit->part_room == 0 ? 1 : unit->part_room * 2;
        rr_part *grown = take(scratch, room * sizeof *grown);

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

static void make_room_for_claim(rr_part *part, rr_arena *scratch)
{
    rr_claim *grown;

    if (part->claim_count < part->claim_room) {
        return;
    }
    part->claim_room = part->claim_room == 0 ? 1 : part->claim_room * 2;
    grown = take(scratch, part->claim_room * sizeof *grown);
    if (part->claim_count != 0) {
        memcpy(grown, part->claims, part->claim_count * sizeof *grown);
    }
    part->claims = grown;
}

/* ---- what the record can change ---- */

static bool is_affected(const join *j, const rr_cell *cell)
{
    return !j->session || rr_window_overlaps(cell->window, j->at);
}

static void see(const join *j, rr_cell *cell)
{
    if (!cell->view_valid) {
        cell->view = rr_cell_view(j->unit, cell, j->scratch);
        cell->view_valid = true;
    }
}

static void see_affected(const join *j)
{
    for (size_t k = 0; k < j->unit->cell_count; k++) {
        if (is_affected(j, &j->unit->cells[k])) {
            see(j, &j->unit->cells[k]);
        }
    }
}

void rr_unit_see(rr_unit *unit, rr_arena *scratch)
{
    join j = {.unit = unit, .contract = unit->contract, .scratch = scratch};

    see_affected(&j);
}

/* The record's cell, made if there is none. NULL: the group has too many windows. */
static rr_cell *cell_here(join *j)
{
    rr_cell *cell = rr_unit_cell(j->unit, j->at);

    if (cell != NULL || j->unit->cell_count == (j->session ? RR_LIMIT_WINDOWS : 1)) {
        return cell;
    }
    j->new_cell = true;
    return insert_cell(j->unit, j->at, j->scratch);
}

/* The part that the record names, made if there is none. NULL: there are too many. */
static rr_part *part_here(join *j)
{
    rr_slice id = rr_part_id(j->contract, j->record, j->scratch);
    rr_part *part = rr_unit_part(j->unit, id);

    if (part != NULL || j->unit->part_total >= RR_LIMIT_PARTS) {
        return part;
    }
    return add_part(j->unit, id, j->scratch);
}

static rr_joined refuse(rr_outcome *outcome)
{
    *outcome = (rr_outcome){RR_VERDICT_REFUSED, RR_REASON_LIMIT_EXCEEDED, RR_BIT(RR_ALERT_CONTRACT_VIOLATION), false};
    return RR_JOIN_DONE;
}

/* ---- folding deltas ---- */

static void add_share(const join *j, rr_fold *fold, const rr_share *share)
{
    if (share->counts) {
        fold->sum =
            fold->counting == 0 ? share->values : rr_values_add(j->contract, fold->sum, share->values, j->scratch);
        fold->counting++;
        fold->closed += share->closed;
        fold->contradicted += share->contradicted;
    }
}

static void take_share_out(const join *j, rr_fold *fold, const rr_share *share)
{
    if (share->counts) {
        fold->counting--;
        fold->sum = fold->counting == 0 ? rr_values_zero(j->contract, j->scratch)
                                        : rr_values_subtract(j->contract, fold->sum, share->values, j->scratch);
        fold->closed -= share->closed;
        fold->contradicted -= share->contradicted;
    }
}

static void fold_deltas_anew(const join *j, rr_cell *cell)
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
static rr_joined fold_new_window(const join *j, rr_cell *cell)
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
    fold_deltas_anew(j, cell);
    return RR_JOIN_DONE;
}

static rr_joined take_delta(join *j)
{
    rr_unit *unit = j->unit;
    rr_part *part = part_here(j);
    rr_cell *cell = part == NULL ? NULL : cell_here(j);
    rr_share *shares;
    bool *owned;

    if (cell == NULL) {
        return RR_JOIN_DONE; /* refused */
    }
    if (j->new_cell && fold_new_window(j, cell) == RR_JOIN_NEEDS_PARTS) {
        return RR_JOIN_NEEDS_PARTS;
    }
    shares = take(j->scratch, unit->cell_count * sizeof *shares);
    owned = take(j->scratch, unit->cell_count * sizeof *owned);
    for (size_t k = 0; k < unit->cell_count; k++) {
        shares[k] = rr_delta_share(part, unit->cells[k].window, rr_delta_cut(j->contract, &unit->cells[k]));
        owned[k] = rr_delta_owns(part, unit->cells[k].window);
    }
    make_room_for_claim(part, j->scratch);
    j->first = rr_delta_take(part, j->at, j->record);
    part->dirty |= j->first.grew;
    for (size_t k = 0; k < unit->cell_count; k++) {
        rr_share now = rr_delta_share(part, unit->cells[k].window, rr_delta_cut(j->contract, &unit->cells[k]));
        rr_fold *fold = &unit->cells[k].fold;

        if (now.counts && !shares[k].counts) {
            add_share(j, fold, &now);
        } else if (now.counts != shares[k].counts || now.contradicted != shares[k].contradicted ||
                   now.closed != shares[k].closed || !rr_slice_equal(now.values, shares[k].values)) {
            take_share_out(j, fold, &shares[k]);
            add_share(j, fold, &now);
        }
        fold->own += rr_delta_owns(part, unit->cells[k].window);
        fold->own -= owned[k];
    }
    if (j->new_cell && j->first.verdict == RR_VERDICT_CONFLICT) {
        remove_cell(unit, j->at); /* contradicted by another window: nothing is held here */
        j->new_cell = false;
    }
    return RR_JOIN_DONE;
}

/* ---- folding contributors ---- */

/* What one contributor's register gives to its cell. */
typedef struct standing {
    bool stands, equivocates, mismatches;
    rr_assertion newest;
    rr_version contradicted;
} standing;

static standing standing_of(const rr_register *reg)
{
    return (standing){rr_register_stands(reg), rr_register_equivocates(reg), rr_register_mismatches(reg), reg->newest,
                      reg->contradicted};
}

static void raise_top(rr_fold *fold, const standing *now, rr_slice contributor)
{
    int order = rr_version_compare(now->newest.version, fold->top.version);

    if (now->stands && (!rr_version_is_set(fold->top.version) || order > 0 ||
                        (order == 0 && rr_slice_compare(contributor, fold->top_contributor) >= 0))) {
        fold->top = now->newest;
        fold->top_contributor = contributor;
    }
}

static void count_in(rr_fold *fold, const standing *now)
{
    if (now->equivocates) {
        fold->equivocations++;
        fold->equivocation_max = rr_version_max(fold->equivocation_max, now->contradicted);
    }
    if (now->mismatches) {
        fold->mismatches++;
        fold->mismatch_max = rr_version_max(fold->mismatch_max, now->newest.version);
    }
}

/* The contributor of a part, if it is one of this cell. */
static bool contributor_of(const join *j, const rr_cell *cell, const rr_part *part, rr_slice *contributor)
{
    char prefix[1 + 2 * RR_WIRE_VARINT_MAX], *end = prefix;
    size_t len;

    *end++ = 'c';
    if (j->session) {
        rr_wire_put_window(&end, cell->window);
    }
    len = (size_t)(end - prefix);
    if (part->id.len < len || memcmp(part->id.data, prefix, len) != 0) {
        return false;
    }
    *contributor = (rr_slice){part->id.data + len, part->id.len - len};
    return true;
}

static void fold_contributors_anew(const join *j, rr_cell *cell)
{
    cell->fold = (rr_fold){0};
    for (size_t k = 0; k < j->unit->part_count; k++) {
        rr_slice contributor;

        if (contributor_of(j, cell, &j->unit->parts[k], &contributor)) {
            standing now = standing_of(&j->unit->parts[k].reg);

            raise_top(&cell->fold, &now, contributor);
            count_in(&cell->fold, &now);
        }
    }
}

/* True if the fold cannot be kept up from this contributor alone: what it gives up may be another's now. */
static bool gives_up_a_maximum(const rr_fold *fold, const standing *was, const standing *now, rr_slice contributor)
{
    if (was->stands && !now->stands && rr_slice_equal(fold->top_contributor, contributor)) {
        return true;
    }
    if (was->equivocates && (!now->equivocates || rr_version_compare(was->contradicted, now->contradicted) != 0)) {
        return true;
    }
    return was->mismatches && (!now->mismatches || rr_version_compare(was->newest.version, now->newest.version) != 0);
}

static void keep_up(rr_fold *fold, const standing *was, const standing *now, rr_slice contributor)
{
    raise_top(fold, now, contributor);
    fold->equivocations -= was->equivocates;
    fold->mismatches -= was->mismatches;
    count_in(fold, now);
}

static rr_joined take_retraction(join *j)
{
    rr_part *part = part_here(j);
    rr_cell *cell = part == NULL ? NULL : cell_here(j);
    rr_slice contributor = {NULL, 0};
    standing was, now;

    if (cell == NULL) {
        return RR_JOIN_DONE; /* refused */
    }
    was = standing_of(&part->reg);
    j->first = rr_register_take_retraction(&part->reg, j->record, j->scratch);
    part->dirty |= j->first.grew;
    now = standing_of(&part->reg);
    contributor_of(j, cell, part, &contributor);
    cell->live_max = rr_version_max(cell->live_max, rr_register_known(&part->reg));
    if (!gives_up_a_maximum(&cell->fold, &was, &now, contributor)) {
        keep_up(&cell->fold, &was, &now, contributor);
    } else if (j->unit->complete) {
        fold_contributors_anew(j, cell);
    } else {
        return RR_JOIN_NEEDS_PARTS;
    }
    return RR_JOIN_DONE;
}

/* ---- cumulative, corrections ---- */

static rr_joined take_cumulative(join *j)
{
    rr_cell *cell = cell_here(j);

    if (cell != NULL) {
        j->first = rr_register_take_cumulative(&cell->reg, j->contract, j->record);
        cell->live_max = cell->reg.newest.version;
    }
    return RR_JOIN_DONE;
}

/* Section 8: by (base, version) under conditional, by version alone under coordinated. */
static int correction_order(const join *j, const rr_cell *cell)
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

static bool same_correction(const join *j, const rr_cell *cell)
{
    const rr_record *record = j->record;
    bool same_base = record->has_base == cell->has_base && rr_version_compare(record->base_version, cell->base) == 0;

    return record->status == cell->correction.status && rr_slice_equal(record->values, cell->correction.values) &&
           (same_base || j->contract->corrections == RR_CORRECTIONS_CONDITIONAL);
}

static void hold_correction(const join *j, rr_cell *cell)
{
    cell->correction = (rr_assertion){j->record->version, j->record->status, j->record->values};
    cell->has_base = j->record->has_base;
    cell->base = j->record->base_version;
    cell->correction_contradicted = false;
}

static rr_joined take_correction(join *j)
{
    rr_cell *cell = cell_here(j);
    rr_version cut = rr_delta_cut(j->contract, cell);
    int order = correction_order(j, cell);

    if (j->new_cell && j->contract->mode == RR_MODE_DELTA) {
        cell->fold.sum = rr_values_zero(j->contract, j->scratch);
    }
    j->first = (rr_first){.verdict = RR_VERDICT_DUPLICATE, .version = j->record->version};
    if (order < 0) {
        j->first.verdict = RR_VERDICT_STALE;
        j->first.alerts = RR_BIT(RR_ALERT_STALE_OVERWRITE);
    } else if (order == 0 && !same_correction(j, cell)) {
        j->first.verdict = RR_VERDICT_CONFLICT;
        j->first.alerts = RR_BIT(RR_ALERT_EQUIVOCATION);
        j->first.contradiction = true;
        j->first.grew = !cell->correction_contradicted;
        cell->correction_contradicted = true;
    } else if (order > 0) {
        hold_correction(j, cell);
        j->first.verdict = RR_VERDICT_APPLIED;
        j->first.grew = j->first.is_new = true;
    }
    if (j->contract->mode == RR_MODE_DELTA && j->first.is_new &&
        rr_version_compare(cut, rr_delta_cut(j->contract, cell)) != 0 && j->unit->part_total != 0) {
        if (!j->unit->complete) {
            return RR_JOIN_NEEDS_PARTS;
        }
        fold_deltas_anew(j, cell);
    }
    return RR_JOIN_DONE;
}

/* ---- section 8: what live knows, and who was in effect ---- */

/* What the live lane knows is a fact too, also from an older record. */
static void learn(join *j, rr_cell *cell)
{
    const rr_record *record = j->record;
    rr_version own = rr_version_is_set(record->version) ? record->version : record->retracts_version;
    int bases;

    if (j->contract->corrections != RR_CORRECTIONS_CONDITIONAL || j->contract->mode == RR_MODE_DELTA ||
        record->origin != RR_ORIGIN_LIVE || !record->has_includes || !rr_version_is_set(record->includes_version) ||
        j->first.verdict == RR_VERDICT_CONFLICT || rr_version_compare(own, record->includes_base) <= 0) {
        return;
    }
    bases = rr_version_compare(record->includes_base, cell->known_base);
    if (!rr_version_is_set(cell->known_version) || bases > 0 ||
        (bases == 0 && rr_version_compare(record->includes_version, cell->known_version) > 0)) {
        cell->known_base = record->includes_base;
        cell->known_version = record->includes_version;
        j->first.grew = true;
    }
}

/* While the lanes diverge, the one in effect when they parted is kept. */
static void keep_incumbent(const join *j, rr_cell *cell)
{
    if (!rr_cell_lanes(j->contract, cell).diverged) {
        cell->incumbent = RR_LANE_NONE;
    } else if (!j->before.diverged) {
        cell->incumbent = j->before.shown;
    }
}

/* ---- the verdict ---- */

static rr_verdict verdict_of_correction(const join *j, const rr_cell *cell, rr_alert_set *alerts)
{
    rr_lanes lanes = rr_cell_lanes(j->contract, cell);

    if (!j->first.is_new || lanes.shown == RR_LANE_CORRECTION) {
        return j->first.verdict;
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

static rr_verdict verdict_of_live(const join *j, const rr_cell *cell, rr_alert_set *alerts)
{
    rr_lanes lanes = rr_cell_lanes(j->contract, cell);
    rr_verdict verdict = j->first.verdict;

    if ((j->first.is_new || j->first.contradiction) && rr_cell_covers(j->contract, cell, j->first.version)) {
        if (j->first.is_new) {
            *alerts |= RR_BIT(RR_ALERT_COVERED_UNSEEN);
        }
        return RR_VERDICT_ABSORBED;
    }
    if ((verdict == RR_VERDICT_APPLIED || j->first.is_new) && lanes.diverged && lanes.shown == RR_LANE_CORRECTION) {
        *alerts |= RR_BIT(RR_ALERT_CORRECTION_CONFLICT);
        verdict = RR_VERDICT_CONFLICT;
    }
    return verdict;
}

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
static bool look_again(const join *j, rr_alert_set *alerts)
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
static rr_slice contender_bytes(const join *j)
{
    const rr_record *record = j->record;
    rr_slice of = j->contract->mode == RR_MODE_DELTA ? record->identity : record->contributor;
    char *bytes = take(j->scratch, 64 + of.len + record->values.len), *at = bytes;

    rr_wire_put_byte(&at, (uint8_t)(record->op | record->origin << 1 | record->status << 2));
    rr_wire_put_version(&at, record->op == RR_OP_RETRACT ? record->retracts_version : record->version);
    rr_wire_put_slice(&at, of);
    rr_wire_put_slice(&at, record->values);
    return (rr_slice){bytes, (size_t)(at - bytes)};
}

static void keep_contender(join *j)
{
    const rr_conflict_set contradictions = RR_BIT(RR_CONFLICT_EQUIVOCATION) | RR_BIT(RR_CONFLICT_RETRACTION_MISMATCH);
    rr_slice contender = j->first.contradiction ? contender_bytes(j) : (rr_slice){NULL, 0};

    for (size_t k = 0; k < j->unit->cell_count; k++) {
        rr_cell *cell = &j->unit->cells[k];

        if (!is_affected(j, cell)) {
            continue;
        }
        if ((cell->view.conflicts & contradictions) == 0) {
            j->first.grew |= cell->contender.len != 0;
            cell->contender = (rr_slice){NULL, 0};
        } else if (contender.len != 0 && !rr_slice_equal(cell->contender, contender)) {
            cell->contender = contender;
            j->first.grew = true;
        }
    }
}

static rr_joined take_record(join *j)
{
    if (j->record->origin == RR_ORIGIN_CORRECTION) {
        return take_correction(j);
    }
    switch (j->contract->mode) {
    case RR_MODE_DELTA: return take_delta(j);
    case RR_MODE_RETRACTION: return take_retraction(j);
    default: return take_cumulative(j);
    }
}

static bool part_would_exceed(const join *j)
{
    const rr_part *part;

    if (j->contract->mode == RR_MODE_CUMULATIVE || j->record->origin == RR_ORIGIN_CORRECTION) {
        return false;
    }
    part = rr_unit_part(j->unit, rr_part_id(j->contract, j->record, j->scratch));
    return part == NULL ? j->unit->part_total >= RR_LIMIT_PARTS
                        : part->claim_count >= RR_LIMIT_CLAIMS && !rr_delta_claims(part, j->at);
}

static bool would_exceed(const join *j)
{
    return (j->session && j->unit->cell_count == RR_LIMIT_WINDOWS && rr_unit_cell(j->unit, j->at) == NULL) ||
           part_would_exceed(j);
}

rr_joined rr_join(rr_unit *unit, const rr_record *record, rr_arena *scratch, rr_outcome *outcome)
{
    bool session = unit->contract->window_kind == RR_WINDOW_SESSION;
    join j = {.unit = unit, .contract = unit->contract, .record = record, .scratch = scratch, .session = session};
    const rr_cell *known;
    rr_cell *cell;

    j.at = session ? record->window : (rr_window){0, 0};
    if (would_exceed(&j)) {
        return refuse(outcome);
    }
    see_affected(&j);
    known = rr_unit_cell(unit, j.at);
    j.before = known == NULL ? (rr_lanes){0} : rr_cell_lanes(j.contract, known);
    if (take_record(&j) == RR_JOIN_NEEDS_PARTS) {
        return RR_JOIN_NEEDS_PARTS;
    }
    *outcome = (rr_outcome){.verdict = j.first.verdict, .alerts = j.first.alerts};
    cell = rr_unit_cell(unit, j.at);
    if (cell != NULL) {
        learn(&j, cell);
        keep_incumbent(&j, cell);
        outcome->verdict = record->origin == RR_ORIGIN_CORRECTION ? verdict_of_correction(&j, cell, &outcome->alerts)
                                                                  : verdict_of_live(&j, cell, &outcome->alerts);
    }
    /* Law 7 has the last word. */
    if (look_again(&j, &outcome->alerts)) {
        outcome->verdict = RR_VERDICT_APPLIED;
    } else if (outcome->verdict == RR_VERDICT_APPLIED) {
        outcome->verdict = RR_VERDICT_ABSORBED;
    }
    keep_contender(&j);
    outcome->grew = j.first.grew;
    return RR_JOIN_DONE;
}
