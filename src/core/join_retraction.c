/* Retractions: one assertion or withdrawal into its contributor's register, and the newest assertion that stands
 * over all contributors (semantics, section 6). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "joining.h"

#include "packed.h"

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

static void add_conflicts(rr_fold *fold, const standing *now)
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
static bool find_contributor(const rr_joining *j, const rr_cell *cell, const rr_part *part, rr_slice *contributor)
{
    char prefix[1 + 2 * RR_PACKED_VARINT_MAX], *end = prefix;
    size_t len;

    *end++ = 'c';
    if (j->session) {
        rr_packed_put_window(&end, cell->window);
    }
    len = (size_t)(end - prefix);
    if (part->id.len < len || memcmp(part->id.data, prefix, len) != 0) {
        return false;
    }
    *contributor = (rr_slice){part->id.data + len, part->id.len - len};
    return true;
}

static void fold_contributors(const rr_joining *j, rr_cell *cell)
{
    cell->fold = (rr_fold){0};
    for (size_t k = 0; k < j->unit->part_count; k++) {
        rr_slice contributor;

        if (find_contributor(j, cell, &j->unit->parts[k], &contributor)) {
            standing now = standing_of(&j->unit->parts[k].reg);

            raise_top(&cell->fold, &now, contributor);
            add_conflicts(&cell->fold, &now);
        }
    }
}

/* True if the fold cannot be kept up from this contributor alone: what it gives up may be another's now. */
static bool loses_maximum(const rr_fold *fold, const standing *was, const standing *now, rr_slice contributor)
{
    if (was->stands && !now->stands && rr_slice_equal(fold->top_contributor, contributor)) {
        return true;
    }
    if (was->equivocates && (!now->equivocates || rr_version_compare(was->contradicted, now->contradicted) != 0)) {
        return true;
    }
    return was->mismatches && (!now->mismatches || rr_version_compare(was->newest.version, now->newest.version) != 0);
}

static void update_fold(rr_fold *fold, const standing *was, const standing *now, rr_slice contributor)
{
    raise_top(fold, now, contributor);
    fold->equivocations -= was->equivocates;
    fold->mismatches -= was->mismatches;
    add_conflicts(fold, now);
}

rr_joined rr_join_retraction(rr_joining *j)
{
    rr_part *part = rr_joining_part(j);
    rr_cell *cell = part == NULL ? NULL : rr_joining_cell(j);
    rr_slice contributor = {NULL, 0};
    standing was, now;

    if (cell == NULL) {
        return RR_JOIN_DONE; /* refused */
    }
    was = standing_of(&part->reg);
    j->effect = rr_register_take_retraction(&part->reg, j->record, j->scratch);
    part->dirty |= j->effect.grew;
    now = standing_of(&part->reg);
    find_contributor(j, cell, part, &contributor);
    cell->live_max = rr_version_max(cell->live_max, rr_register_known(&part->reg));
    if (!loses_maximum(&cell->fold, &was, &now, contributor)) {
        update_fold(&cell->fold, &was, &now, contributor);
    } else if (j->unit->complete) {
        fold_contributors(j, cell);
    } else {
        return RR_JOIN_NEEDS_PARTS;
    }
    return RR_JOIN_DONE;
}
