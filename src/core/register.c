/* One register: the newest assertion, and the withdrawals that may undo it. Each branch is one sentence of the
 * specification, in its order. Assertion, untargeted and targeted withdrawal are each the newest of their kind,
 * whatever the others are: so which facts are held does not depend on the order of arrival. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "register.h"

#include "packed.h"

static rr_effect effect_of(rr_verdict verdict, rr_version version)
{
    return (rr_effect){.verdict = verdict, .version = version};
}

static rr_effect stale_effect(rr_version version)
{
    rr_effect effect = effect_of(RR_VERDICT_STALE, version);

    effect.alerts = RR_BIT(RR_ALERT_STALE_OVERWRITE);
    return effect;
}

static rr_effect contradiction(rr_alert alert, rr_version version)
{
    rr_effect effect = effect_of(RR_VERDICT_CONFLICT, version);

    effect.alerts = RR_BIT(alert);
    effect.contradiction = true;
    return effect;
}

static bool has_same_content(const rr_assertion *held, const rr_record *record)
{
    return held->status == record->status && rr_slice_equal(held->values, record->values);
}

static void hold_assertion(rr_register *reg, const rr_record *record)
{
    reg->newest = (rr_assertion){record->version, record->status, record->values};
}

static rr_effect note_equivocation(rr_register *reg, rr_version version)
{
    rr_effect effect = contradiction(RR_ALERT_EQUIVOCATION, version);

    effect.grew = rr_version_compare(reg->contradicted, version) < 0;
    reg->contradicted = rr_version_max(reg->contradicted, version);
    return effect;
}

rr_version rr_register_known(const rr_register *reg)
{
    return rr_version_max(reg->newest.version, rr_version_max(reg->untargeted, reg->targeted));
}

bool rr_register_equivocates(const rr_register *reg)
{
    return rr_version_is_set(reg->contradicted) && rr_version_compare(reg->contradicted, rr_register_known(reg)) == 0;
}

/* ---- semantics, section 5 ---- */

rr_effect rr_register_take_cumulative(rr_register *reg, const rr_contract *contract, const rr_record *record)
{
    const rr_assertion *held = &reg->newest;
    int order = rr_version_is_set(held->version) ? rr_version_compare(record->version, held->version) : 1;
    rr_effect effect;

    if (order < 0) {
        return stale_effect(record->version);
    }
    if (order == 0) {
        return has_same_content(held, record) ? effect_of(RR_VERDICT_DUPLICATE, record->version)
                                              : note_equivocation(reg, record->version);
    }
    effect = effect_of(RR_VERDICT_APPLIED, record->version);
    if (rr_version_is_set(held->version)) {
        if (rr_values_fell(contract, held->values, record->values)) {
            effect.alerts |= RR_BIT(RR_ALERT_VALUE_FELL);
        }
        if (held->status == RR_RESULT_STREAM_CLOSED && record->status == RR_RESULT_PROVISIONAL) {
            effect.alerts |= RR_BIT(RR_ALERT_REOPENED);
        }
    }
    hold_assertion(reg, record);
    effect.grew = effect.is_new = true;
    return effect;
}

/* ---- semantics, section 6 ---- */

/* A targeted withdrawal of this very version names these values, or none. */
static bool is_validly_named(const rr_register *reg, rr_version version, rr_slice values)
{
    rr_packed named = rr_packed_over(reg->named);

    for (unsigned k = 0; k < reg->named_count && rr_version_compare(reg->targeted, version) == 0; k++) {
        rr_slice content = rr_packed_get_slice(&named);

        if (content.len == 1 || rr_slice_equal((rr_slice){content.data + 1, content.len - 1}, values)) {
            return true;
        }
    }
    return false;
}

static bool is_named(const rr_register *reg, rr_version version)
{
    return rr_version_is_set(reg->targeted) && rr_version_compare(reg->targeted, version) == 0;
}

bool rr_register_stands(const rr_register *reg)
{
    rr_version version = reg->newest.version;

    return rr_version_is_set(version) && rr_version_compare(reg->untargeted, version) <= 0 &&
           rr_version_compare(reg->targeted, version) <= 0 && !is_validly_named(reg, version, reg->newest.values);
}

bool rr_register_mismatches(const rr_register *reg)
{
    return rr_register_stands(reg) && is_named(reg, reg->newest.version);
}

static rr_effect take_assertion(rr_register *reg, const rr_record *record)
{
    rr_version version = record->version;
    bool held = rr_version_is_set(reg->newest.version);
    int order = held ? rr_version_compare(version, reg->newest.version) : 1;
    rr_effect effect;

    if (order == 0 && has_same_content(&reg->newest, record)) {
        return effect_of(RR_VERDICT_DUPLICATE, version);
    }
    if (order == 0 || (rr_version_is_set(reg->untargeted) && rr_version_compare(version, reg->untargeted) == 0)) {
        return note_equivocation(reg, version);
    }
    if (order < 0) {
        return stale_effect(version);
    }
    if (rr_version_compare(version, reg->targeted) < 0) {
        effect = stale_effect(version); /* held all the same: it is stale only because of a withdrawal */
    } else if (rr_version_compare(version, reg->untargeted) < 0 || is_validly_named(reg, version, record->values)) {
        effect = effect_of(RR_VERDICT_ABSORBED, version);
    } else if (is_named(reg, version)) {
        effect = contradiction(RR_ALERT_RETRACTION_MISMATCH, version); /* and it stands */
        effect.is_new = true;
    } else {
        effect = effect_of(RR_VERDICT_APPLIED, version);
        effect.is_new = true;
    }
    hold_assertion(reg, record);
    effect.grew = true;
    return effect;
}

/* True if this withdrawal of reg->targeted was received before. */
static bool is_withdrawal_known(const rr_register *reg, const rr_record *record)
{
    rr_packed named = rr_packed_over(reg->named);

    for (unsigned k = 0; k < reg->named_count && is_named(reg, record->retracts_version); k++) {
        rr_slice content = rr_packed_get_slice(&named);

        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each named content has at least its status. */
        if ((uint8_t)content.data[0] == record->status &&
            rr_slice_equal((rr_slice){content.data + 1, content.len - 1}, record->values)) {
            return true;
        }
    }
    return false;
}

/* False: there are too many different ones already (limits); `valid` ones always have room. */
static bool add_withdrawal(rr_register *reg, const rr_record *record, bool valid, rr_arena *scratch)
{
    char *bytes, *at;

    if (!is_named(reg, record->retracts_version)) {
        reg->targeted = record->retracts_version;
        reg->named_count = 0;
        reg->named = (rr_slice){NULL, 0};
    }
    if (reg->named_count >= (valid ? RR_REGISTER_NAMED_MAX : RR_LIMIT_NAMED_VALUES)) {
        return false;
    }
    bytes = at = rr_arena_take(scratch, reg->named.len + RR_PACKED_VARINT_MAX + 1 + record->values.len);
    if (reg->named.len != 0) {
        memcpy(at, reg->named.data, reg->named.len);
        at += reg->named.len;
    }
    rr_packed_put_varint(&at, 1 + record->values.len);
    rr_packed_put_byte(&at, (uint8_t)record->status);
    if (record->values.len != 0) {
        memcpy(at, record->values.data, record->values.len);
        at += record->values.len;
    }
    reg->named = (rr_slice){bytes, (size_t)(at - bytes)};
    reg->named_count++;
    return true;
}

/* Of the newest assertion. */
static rr_effect withdraw_newest(rr_register *reg, const rr_record *record, rr_arena *scratch)
{
    bool is_known = is_withdrawal_known(reg, record), did_stand = rr_register_stands(reg);
    bool names_other_values = record->has_values && !rr_slice_equal(record->values, reg->newest.values);
    rr_effect effect;

    if (names_other_values) {
        effect = contradiction(RR_ALERT_RETRACTION_MISMATCH, record->retracts_version);
        effect.grew = !is_known && add_withdrawal(reg, record, false, scratch);
        return effect;
    }
    if (is_known) {
        return effect_of(RR_VERDICT_DUPLICATE, record->retracts_version);
    }
    effect = effect_of(RR_VERDICT_APPLIED, record->retracts_version);
    effect.grew = add_withdrawal(reg, record, true, scratch);
    effect.is_new = did_stand;
    return effect;
}

static rr_effect take_targeted(rr_register *reg, const rr_record *record, rr_arena *scratch)
{
    rr_version version = record->retracts_version;
    bool is_known;
    rr_effect effect;

    if (rr_version_compare(version, rr_register_known(reg)) < 0) {
        effect = effect_of(RR_VERDICT_ABSORBED, version);
        effect.grew = rr_version_compare(version, reg->targeted) >= 0 && !is_withdrawal_known(reg, record) &&
                      add_withdrawal(reg, record, !record->has_values, scratch);
        return effect;
    }
    if (rr_version_is_set(reg->newest.version) && rr_version_compare(version, reg->newest.version) == 0) {
        return withdraw_newest(reg, record, scratch);
    }
    if (is_withdrawal_known(reg, record)) {
        return effect_of(RR_VERDICT_DUPLICATE, version);
    }
    is_known = is_named(reg, version);
    if (!add_withdrawal(reg, record, !record->has_values, scratch)) {
        return contradiction(RR_ALERT_RETRACTION_MISMATCH, version);
    }
    effect = effect_of(RR_VERDICT_APPLIED, version);
    effect.grew = true;
    effect.is_new = !is_known;
    return effect;
}

/* It names other values than those of the standing assertion just before it. */
static bool names_other_values_than_held(const rr_register *reg, const rr_record *record)
{
    rr_version before = reg->newest.version;

    return record->has_values && rr_register_stands(reg) && before.epoch == record->version.epoch &&
           before.number == record->version.number - 1 && !rr_slice_equal(reg->newest.values, record->values);
}

static rr_effect take_untargeted(rr_register *reg, const rr_record *record)
{
    rr_version version = record->version;
    rr_effect effect;

    if (rr_version_is_set(reg->newest.version) && rr_version_compare(version, reg->newest.version) == 0) {
        return note_equivocation(reg, version);
    }
    if (rr_version_compare(version, reg->untargeted) == 0) {
        return effect_of(RR_VERDICT_DUPLICATE, version);
    }
    if (rr_version_compare(version, rr_register_known(reg)) < 0) {
        effect = effect_of(RR_VERDICT_ABSORBED, version);
        effect.grew = rr_version_compare(version, reg->untargeted) > 0;
        reg->untargeted = rr_version_max(reg->untargeted, version);
        return effect;
    }
    effect = effect_of(RR_VERDICT_APPLIED, version);
    if (names_other_values_than_held(reg, record)) {
        effect.alerts = RR_BIT(RR_ALERT_RETRACTION_MISMATCH);
    }
    reg->untargeted = version;
    effect.grew = effect.is_new = true;
    return effect;
}

rr_effect rr_register_take_retraction(rr_register *reg, const rr_record *record, rr_arena *scratch)
{
    if (record->op == RR_OP_ASSERT) {
        return take_assertion(reg, record);
    }
    return rr_version_is_set(record->retracts_version) ? take_targeted(reg, record, scratch)
                                                       : take_untargeted(reg, record);
}
