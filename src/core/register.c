/* One register: the newest assertion, and the withdrawals that may undo it. Each branch is one sentence of the
 * specification, in its order. Assertion, untargeted and targeted withdrawal are each the newest of their kind,
 * whatever the others are: so which facts are held does not depend on the order of arrival. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "register.h"

#include "wire.h"

static rr_first say(rr_verdict verdict, rr_version version)
{
    return (rr_first){.verdict = verdict, .version = version};
}

static rr_first stale(rr_version version)
{
    rr_first first = say(RR_VERDICT_STALE, version);

    first.alerts = RR_BIT(RR_ALERT_STALE_OVERWRITE);
    return first;
}

static rr_first contradicts(rr_alert alert, rr_version version)
{
    rr_first first = say(RR_VERDICT_CONFLICT, version);

    first.alerts = RR_BIT(alert);
    first.contradiction = true;
    return first;
}

static bool same_content(const rr_assertion *held, const rr_record *record)
{
    return held->status == record->status && rr_slice_equal(held->values, record->values);
}

static void hold(rr_register *reg, const rr_record *record)
{
    reg->newest = (rr_assertion){record->version, record->status, record->values};
}

static rr_first equivocation(rr_register *reg, rr_version version)
{
    rr_first first = contradicts(RR_ALERT_EQUIVOCATION, version);

    first.grew = rr_version_compare(reg->contradicted, version) < 0;
    reg->contradicted = rr_version_max(reg->contradicted, version);
    return first;
}

rr_version rr_register_known(const rr_register *reg)
{
    return rr_version_max(reg->newest.version, rr_version_max(reg->untargeted, reg->targeted));
}

bool rr_register_equivocates(const rr_register *reg)
{
    return rr_version_is_set(reg->contradicted) && rr_version_compare(reg->contradicted, rr_register_known(reg)) == 0;
}

/* ---- section 5 ---- */

rr_first rr_register_take_cumulative(rr_register *reg, const rr_contract *contract, const rr_record *record)
{
    const rr_assertion *held = &reg->newest;
    int order = rr_version_is_set(held->version) ? rr_version_compare(record->version, held->version) : 1;
    rr_first first;

    if (order < 0) {
        return stale(record->version);
    }
    if (order == 0) {
        return same_content(held, record) ? say(RR_VERDICT_DUPLICATE, record->version)
                                          : equivocation(reg, record->version);
    }
    first = say(RR_VERDICT_APPLIED, record->version);
    if (rr_version_is_set(held->version)) {
        if (rr_values_fell(contract, held->values, record->values)) {
            first.alerts |= RR_BIT(RR_ALERT_VALUE_FELL);
        }
        if (held->status == RR_RESULT_STREAM_CLOSED && record->status == RR_RESULT_PROVISIONAL) {
            first.alerts |= RR_BIT(RR_ALERT_REOPENED);
        }
    }
    hold(reg, record);
    first.grew = first.is_new = true;
    return first;
}

/* ---- section 6 ---- */

/* A targeted withdrawal of this very version names these values, or none. */
static bool validly_named(const rr_register *reg, rr_version version, rr_slice values)
{
    rr_wire named = rr_wire_over(reg->named);

    for (unsigned k = 0; k < reg->named_count && rr_version_compare(reg->targeted, version) == 0; k++) {
        rr_slice content = rr_wire_get_slice(&named);

        if (content.len == 1 || rr_slice_equal((rr_slice){content.data + 1, content.len - 1}, values)) {
            return true;
        }
    }
    return false;
}

static bool named_at_all(const rr_register *reg, rr_version version)
{
    return rr_version_is_set(reg->targeted) && rr_version_compare(reg->targeted, version) == 0;
}

bool rr_register_stands(const rr_register *reg)
{
    rr_version version = reg->newest.version;

    return rr_version_is_set(version) && rr_version_compare(reg->untargeted, version) <= 0 &&
           rr_version_compare(reg->targeted, version) <= 0 && !validly_named(reg, version, reg->newest.values);
}

bool rr_register_mismatches(const rr_register *reg)
{
    return rr_register_stands(reg) && named_at_all(reg, reg->newest.version);
}

static rr_first take_assertion(rr_register *reg, const rr_record *record)
{
    rr_version version = record->version;
    bool held = rr_version_is_set(reg->newest.version);
    int order = held ? rr_version_compare(version, reg->newest.version) : 1;
    rr_first first;

    if (order == 0 && same_content(&reg->newest, record)) {
        return say(RR_VERDICT_DUPLICATE, version);
    }
    if (order == 0 || (rr_version_is_set(reg->untargeted) && rr_version_compare(version, reg->untargeted) == 0)) {
        return equivocation(reg, version);
    }
    if (order < 0) {
        return stale(version);
    }
    if (rr_version_compare(version, reg->targeted) < 0) {
        first = stale(version); /* held all the same: it is stale only because of a withdrawal */
    } else if (rr_version_compare(version, reg->untargeted) < 0 || validly_named(reg, version, record->values)) {
        first = say(RR_VERDICT_ABSORBED, version);
    } else if (named_at_all(reg, version)) {
        first = contradicts(RR_ALERT_RETRACTION_MISMATCH, version); /* and it stands */
        first.is_new = true;
    } else {
        first = say(RR_VERDICT_APPLIED, version);
        first.is_new = true;
    }
    hold(reg, record);
    first.grew = true;
    return first;
}

/* True if this withdrawal of reg->targeted was received before. */
static bool withdrawal_seen(const rr_register *reg, const rr_record *record)
{
    rr_wire named = rr_wire_over(reg->named);

    for (unsigned k = 0; k < reg->named_count && named_at_all(reg, record->retracts_version); k++) {
        rr_slice content = rr_wire_get_slice(&named);

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

    if (!named_at_all(reg, record->retracts_version)) {
        reg->targeted = record->retracts_version;
        reg->named_count = 0;
        reg->named = (rr_slice){NULL, 0};
    }
    if (reg->named_count >= (valid ? RR_REGISTER_NAMED_MAX : RR_LIMIT_NAMED_VALUES)) {
        return false;
    }
    bytes = at = rr_arena_take(scratch, reg->named.len + RR_WIRE_VARINT_MAX + 1 + record->values.len);
    if (reg->named.len != 0) {
        memcpy(at, reg->named.data, reg->named.len);
        at += reg->named.len;
    }
    rr_wire_put_varint(&at, 1 + record->values.len);
    rr_wire_put_byte(&at, (uint8_t)record->status);
    if (record->values.len != 0) {
        memcpy(at, record->values.data, record->values.len);
        at += record->values.len;
    }
    reg->named = (rr_slice){bytes, (size_t)(at - bytes)};
    reg->named_count++;
    return true;
}

/* Of the newest assertion. */
static rr_first withdraw_newest(rr_register *reg, const rr_record *record, rr_arena *scratch)
{
    bool seen = withdrawal_seen(reg, record), stood = rr_register_stands(reg);
    bool names_others = record->has_values && !rr_slice_equal(record->values, reg->newest.values);
    rr_first first;

    if (names_others) {
        first = contradicts(RR_ALERT_RETRACTION_MISMATCH, record->retracts_version);
        first.grew = !seen && add_withdrawal(reg, record, false, scratch);
        return first;
    }
    if (seen) {
        return say(RR_VERDICT_DUPLICATE, record->retracts_version);
    }
    first = say(RR_VERDICT_APPLIED, record->retracts_version);
    first.grew = add_withdrawal(reg, record, true, scratch);
    first.is_new = stood;
    return first;
}

static rr_first take_targeted(rr_register *reg, const rr_record *record, rr_arena *scratch)
{
    rr_version version = record->retracts_version;
    bool again;
    rr_first first;

    if (rr_version_compare(version, rr_register_known(reg)) < 0) {
        first = say(RR_VERDICT_ABSORBED, version);
        first.grew = rr_version_compare(version, reg->targeted) >= 0 && !withdrawal_seen(reg, record) &&
                     add_withdrawal(reg, record, !record->has_values, scratch);
        return first;
    }
    if (rr_version_is_set(reg->newest.version) && rr_version_compare(version, reg->newest.version) == 0) {
        return withdraw_newest(reg, record, scratch);
    }
    if (withdrawal_seen(reg, record)) {
        return say(RR_VERDICT_DUPLICATE, version);
    }
    again = named_at_all(reg, version);
    if (!add_withdrawal(reg, record, !record->has_values, scratch)) {
        return contradicts(RR_ALERT_RETRACTION_MISMATCH, version);
    }
    first = say(RR_VERDICT_APPLIED, version);
    first.grew = true;
    first.is_new = !again;
    return first;
}

/* It names other values than those of the standing assertion just before it. */
static bool names_other_than_predecessor(const rr_register *reg, const rr_record *record)
{
    rr_version before = reg->newest.version;

    return record->has_values && rr_register_stands(reg) && before.epoch == record->version.epoch &&
           before.number == record->version.number - 1 && !rr_slice_equal(reg->newest.values, record->values);
}

static rr_first take_untargeted(rr_register *reg, const rr_record *record)
{
    rr_version version = record->version;
    rr_first first;

    if (rr_version_is_set(reg->newest.version) && rr_version_compare(version, reg->newest.version) == 0) {
        return equivocation(reg, version);
    }
    if (rr_version_compare(version, reg->untargeted) == 0) {
        return say(RR_VERDICT_DUPLICATE, version);
    }
    if (rr_version_compare(version, rr_register_known(reg)) < 0) {
        first = say(RR_VERDICT_ABSORBED, version);
        first.grew = rr_version_compare(version, reg->untargeted) > 0;
        reg->untargeted = rr_version_max(reg->untargeted, version);
        return first;
    }
    first = say(RR_VERDICT_APPLIED, version);
    if (names_other_than_predecessor(reg, record)) {
        first.alerts = RR_BIT(RR_ALERT_RETRACTION_MISMATCH);
    }
    reg->untargeted = version;
    first.grew = first.is_new = true;
    return first;
}

rr_first rr_register_take_retraction(rr_register *reg, const rr_record *record, rr_arena *scratch)
{
    if (record->op == RR_OP_ASSERT) {
        return take_assertion(reg, record);
    }
    return rr_version_is_set(record->retracts_version) ? take_targeted(reg, record, scratch)
                                                       : take_untargeted(reg, record);
}
