/* The claims of one identity. Few windows hold the same identity, so every search is a short loop. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "delta.h"

rr_version rr_delta_cut(const rr_contract *contract, const rr_cell *cell)
{
    if (contract->corrections == RR_CORRECTIONS_NONE || !rr_version_is_set(cell->correction.version)) {
        return (rr_version){0, 0};
    }
    return cell->has_base ? cell->base : cell->correction.version;
}

/* Withdrawn by a RETRACT that is addressed to this window or to one that contains it. */
static bool is_withdrawn(const rr_part *part, rr_window window)
{
    for (size_t k = 0; k < part->claim_count; k++) {
        if (part->claims[k].withdrawn && rr_window_contains(part->claims[k].window, window)) {
            return true;
        }
    }
    return false;
}

static bool has_same_content(const rr_claim *claim, rr_version version, rr_result_status status, rr_slice values)
{
    return claim->status == status && rr_version_compare(claim->version, version) == 0 &&
           rr_slice_equal(claim->values, values);
}

rr_share rr_delta_share(const rr_part *part, rr_window window, rr_version cut)
{
    rr_share share = {0};
    const rr_claim *chosen = NULL;

    for (size_t k = 0; k < part->claim_count; k++) {
        const rr_claim *claim = &part->claims[k];

        if (!claim->held || !rr_window_contains(window, claim->window) || is_withdrawn(part, claim->window) ||
            ((cut.number | cut.epoch) != 0 && rr_version_compare(claim->version, cut) <= 0)) {
            continue;
        }
        if (chosen == NULL) {
            chosen = claim;
            share = (rr_share){true, claim->status != RR_RESULT_PROVISIONAL, claim->contradicted, claim->values};
        } else if (claim->contradicted || !has_same_content(claim, chosen->version, chosen->status, chosen->values)) {
            share.contradicted = true;
        }
    }
    return share;
}

bool rr_delta_owns(const rr_part *part, rr_window window)
{
    for (size_t k = 0; k < part->claim_count; k++) {
        if (part->claims[k].held && rr_window_equal(part->claims[k].window, window)) {
            return !is_withdrawn(part, window);
        }
    }
    return false;
}

bool rr_delta_claims(const rr_part *part, rr_window window)
{
    for (size_t k = 0; k < part->claim_count; k++) {
        if (rr_window_equal(part->claims[k].window, window)) {
            return true;
        }
    }
    return false;
}

static rr_claim *claim_of(rr_part *part, rr_window window)
{
    for (size_t k = 0; k < part->claim_count; k++) {
        if (rr_window_equal(part->claims[k].window, window)) {
            return &part->claims[k];
        }
    }
    return NULL;
}

/* The claim of a window, inserted in its place if there is none. */
static rr_claim *claim_for(rr_part *part, rr_window window)
{
    rr_claim *claim = claim_of(part, window);
    size_t at = part->claim_count;

    if (claim != NULL) {
        return claim;
    }
    for (; at > 0 && rr_window_compare(part->claims[at - 1].window, window) > 0; at--) {
        part->claims[at] = part->claims[at - 1];
    }
    part->claims[at] = (rr_claim){.window = window};
    part->claim_count++;
    return &part->claims[at];
}

/* Held by the record's own window, else by the first one inside or around it. */
static rr_claim *held_at_or_near(rr_part *part, rr_window at)
{
    rr_claim *own = claim_of(part, at);

    if (own != NULL && own->held) {
        return own;
    }
    for (size_t k = 0; k < part->claim_count; k++) {
        rr_claim *claim = &part->claims[k];

        if (claim->held && (rr_window_contains(claim->window, at) || rr_window_contains(at, claim->window))) {
            return claim;
        }
    }
    return NULL;
}

static void hold_contribution(rr_part *part, rr_window at, const rr_record *record)
{
    rr_claim *claim = claim_for(part, at);

    claim->held = true;
    claim->version = record->version;
    claim->status = record->status;
    claim->values = record->values;
}

static rr_effect take_contribution(rr_part *part, rr_window at, const rr_record *record)
{
    rr_claim *held = held_at_or_near(part, at);
    rr_effect effect = {.verdict = RR_VERDICT_DUPLICATE, .version = record->version};

    if (held == NULL) {
        hold_contribution(part, at, record);
        effect.grew = true;
        effect.is_new = !is_withdrawn(part, at);
        effect.verdict = effect.is_new ? RR_VERDICT_APPLIED : RR_VERDICT_ABSORBED;
    } else if (has_same_content(held, record->version, record->status, record->values)) {
        if (!rr_window_equal(held->window, at)) {
            hold_contribution(part, at, record); /* a duplicate, but from now on held for its own window too */
            effect.grew = true;
        }
    } else {
        effect = (rr_effect){RR_VERDICT_CONFLICT, RR_BIT(RR_ALERT_EQUIVOCATION), !held->contradicted, false, true,
                             held->version};
        held->contradicted = true;
    }
    return effect;
}

static rr_effect take_withdrawal(rr_part *part, rr_window at)
{
    rr_claim *own = claim_of(part, at);
    rr_claim *target = held_at_or_near(part, at);
    rr_effect effect = {.verdict = RR_VERDICT_DUPLICATE};

    if (own != NULL && own->withdrawn) {
        return effect;
    }
    if (target != NULL) {
        effect.version = target->version;
        effect.is_new = !is_withdrawn(part, target->window);
    }
    claim_for(part, at)->withdrawn = true;
    effect.verdict = RR_VERDICT_APPLIED;
    effect.grew = true;
    return effect;
}

rr_effect rr_delta_take(rr_part *part, rr_window at, const rr_record *record)
{
    return record->op == RR_OP_RETRACT ? take_withdrawal(part, at) : take_contribution(part, at, record);
}
