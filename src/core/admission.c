/* Admission: a decoded record against its contract, in the order of semantics, section 4, then section 10. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "admission.h"

#include "must.h"
#include "number.h"
#include "refusal.h"
#include "time.h"
#include "value.h"

/* Point 1, the limits: the first check after decoding. */

static rr_reason refuse_long_text(const rr_admission *a, const char *name, rr_slice text, uint64_t limit)
{
    rr_explain(a, name);
    rr_explain(a, " has ");
    rr_text_u64(a->why, text.len);
    rr_explain(a, " bytes, the limit is ");
    rr_text_u64(a->why, limit);
    return RR_REASON_LIMIT_EXCEEDED;
}

static rr_reason check_limits(const rr_admission *a)
{
    const rr_record *r = a->record;
    const struct {
        const char *name;
        rr_slice text;
    } keys[] = {{"business_key", r->business_key},
                {"metric_version", r->metric_version},
                {"delta_id", r->delta_id},
                {"producer", r->producer},
                {"contributor", r->contributor}};

    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        if (keys[k].text.len > RR_LIMIT_KEY_BYTES) {
            return refuse_long_text(a, keys[k].name, keys[k].text, RR_LIMIT_KEY_BYTES);
        }
    }
    if (r->evidence.len > RR_LIMIT_EVIDENCE_BYTES) {
        return refuse_long_text(a, "evidence", r->evidence, RR_LIMIT_EVIDENCE_BYTES);
    }
    if (r->measure_count > RR_LIMIT_MEASURES) {
        rr_explain(a, "the record has ");
        rr_text_u64(a->why, r->measure_count);
        rr_explain(a, " measures, the limit is ");
        rr_text_u64(a->why, RR_LIMIT_MEASURES);
        return RR_REASON_LIMIT_EXCEEDED;
    }
    return RR_REASON_NONE;
}

/* Point 2, without the window. */
static rr_reason check_key_and_mode(const rr_admission *a)
{
    const rr_record *r = a->record;

    if (r->business_key.len == 0) {
        return rr_refuse(a, RR_REASON_KEY_MISSING, "business_key is missing or empty");
    }
    if (r->mode != RR_MODE_UNSPECIFIED && r->mode != a->contract->mode) {
        rr_explain(a, "the record says mode ");
        rr_explain(a, rr_mode_word(r->mode));
        rr_explain(a, "; the contract says ");
        return rr_refuse(a, RR_REASON_MODE_MISMATCH, rr_mode_word(a->contract->mode));
    }
    return RR_REASON_NONE;
}

/* Point 3: metric version and op. */
static rr_reason check_metric(const rr_admission *a)
{
    const rr_contract *c = a->contract;
    const rr_record *r = a->record;
    bool known = c->metric_version_count == 0;

    if (r->metric_version.len == 0) {
        return rr_refuse(a, RR_REASON_METRIC_VERSION_MISSING, "metric_version is missing or empty");
    }
    for (size_t k = 0; k < c->metric_version_count && !known; k++) {
        known = rr_slice_equal(c->metric_versions[k], r->metric_version);
    }
    if (!known) {
        rr_explain_named(a, "metric_version '", r->metric_version, "'; the contract's metric_versions are ");
        for (size_t k = 0; k < c->metric_version_count; k++) {
            rr_explain_named(a, k == 0 ? "'" : ", '", c->metric_versions[k], "'");
        }
        return RR_REASON_METRIC_VERSION_UNKNOWN;
    }
    if (r->op == RR_OP_RETRACT && r->origin == RR_ORIGIN_CORRECTION) {
        return rr_refuse(a, RR_REASON_OP_NOT_IN_MODE, "a correction with op RETRACT; a correction can only ASSERT");
    }
    if (r->op == RR_OP_RETRACT && c->mode == RR_MODE_CUMULATIVE) {
        return rr_refuse(a, RR_REASON_OP_NOT_IN_MODE,
                         "op RETRACT; the contract's mode is CUMULATIVE, where a newer version replaces the older "
                         "one; if the stream retracts, the mode is retraction");
    }
    return RR_REASON_NONE;
}

/* Point 4: versions, identity and the lane's own fields. */

static rr_reason check_epochs(const rr_admission *a)
{
    const rr_record *r = a->record;
    const struct {
        const char *name;
        rr_version version;
    } named[] = {{"result_version", r->version},
                 {"retracts_version", r->retracts_version},
                 {"base_version", r->base_version},
                 {"the base in includes_correction", r->includes_base},
                 {"the version in includes_correction", r->includes_version}};

    for (size_t k = 0; k < sizeof named / sizeof named[0]; k++) {
        if (named[k].version.epoch <= a->contract->max_epoch) {
            continue;
        }
        rr_explain(a, named[k].name);
        rr_explain(a, " has epoch ");
        rr_text_u64(a->why, named[k].version.epoch);
        rr_explain(a, "; the contract's max_epoch is ");
        rr_text_u64(a->why, a->contract->max_epoch);
        return rr_refuse(a, RR_REASON_VERSION_IMPLAUSIBLE, "; it looks like a clock or a hash instead of an epoch");
    }
    return RR_REASON_NONE;
}

static rr_reason refuse_missing_version(const rr_admission *a)
{
    return rr_refuse(a, RR_REASON_VERSION_MISSING,
                     "result_version is missing, or its number is 0, which was never set: numbers start at 1");
}

static rr_reason check_correction(const rr_admission *a)
{
    const rr_contract *c = a->contract;
    rr_reason reason;

    if (c->corrections == RR_CORRECTIONS_NONE) {
        return rr_refuse(a, RR_REASON_CORRECTION_NOT_ALLOWED,
                         "a record of origin CORRECTION; the contract says 'corrections: none'");
    }
    if (!rr_version_is_set(a->record->version)) {
        return refuse_missing_version(a);
    }
    reason = check_epochs(a);
    if (reason == RR_REASON_NONE && c->corrections == RR_CORRECTIONS_CONDITIONAL && !a->record->has_base) {
        return rr_refuse(a, RR_REASON_BASE_MISSING,
                         "a correction without base_version; the contract says 'corrections: conditional': state the "
                         "newest live version that the correction includes, or 0 if no live result is known");
    }
    return reason;
}

/* The first byte is the kind, so that a delta id never equals a producer's name. */
static bool set_identity(const rr_admission *a)
{
    rr_record *r = a->record;
    char *from, *to;

    if (r->delta_id.len == 0 && (r->producer.len == 0 || !r->has_sequence)) {
        return false;
    }
    from = to = rr_arena_take(a->scratch, 2 + r->delta_id.len + r->producer.len + 20);
    RR_MUST(from != NULL);
    if (r->delta_id.len != 0) {
        *to++ = 'd';
        memcpy(to, r->delta_id.data, r->delta_id.len);
        to += r->delta_id.len;
    } else {
        *to++ = 'p';
        memcpy(to, r->producer.data, r->producer.len);
        to += r->producer.len;
        *to++ = '\0';
        to += rr_u64_print(r->sequence, to);
    }
    r->identity = (rr_slice){from, (size_t)(to - from)};
    return true;
}

static rr_reason check_live(const rr_admission *a)
{
    const rr_contract *c = a->contract;
    const rr_record *r = a->record;
    bool retract = r->op == RR_OP_RETRACT, needs_version;

    if (r->status == RR_RESULT_RECONCILED) {
        return rr_refuse(a, RR_REASON_STATUS_NOT_ALLOWED,
                         "a live record with status RECONCILED; only a record of origin CORRECTION may have it");
    }
    if (c->mode == RR_MODE_DELTA && !set_identity(a)) {
        return rr_refuse(a, RR_REASON_IDENTITY_MISSING,
                         "the record has neither delta_id nor both producer and sequence; the contract's mode is "
                         "DELTA, and a delta without a stable identity could count twice");
    }
    needs_version = c->mode == RR_MODE_DELTA ? c->corrections != RR_CORRECTIONS_NONE && !retract
                                             : !retract || !rr_version_is_set(r->retracts_version);
    if (needs_version && !rr_version_is_set(r->version)) {
        return refuse_missing_version(a);
    }
    return check_epochs(a);
}

/* Semantics, section 10: TOO_LATE depends on the record's arrival alone, not on what is held. */
static rr_reason check_retention(const rr_admission *a)
{
    const rr_contract *c = a->contract;
    const rr_record *r = a->record;
    int64_t retention_us = rr_retention_us(c, r->window.end);

    if (!r->has_arrival || retention_us == RR_FOREVER || r->arrival_us < rr_add_held(r->window.end, retention_us)) {
        return RR_REASON_NONE;
    }
    rr_explain(a, "the record arrived at ");
    rr_text_time(a->why, r->arrival_us);
    rr_explain(a, "; its window ended at ");
    rr_text_time(a->why, r->window.end);
    rr_explain(a, retention_us == c->retention_us ? ", and the contract's retention is "
                                                  : ", and the contract's retention for windows of that time is ");
    rr_text_duration(a->why, retention_us);
    return RR_REASON_BEYOND_RETENTION;
}

size_t rr_admit_need(const rr_contract *contract, const rr_record *record)
{
    size_t values = rr_values_need(contract) + 16, identity = 2 + record->delta_id.len + record->producer.len + 36;

    return 2 * values + identity;
}

rr_reason rr_admit(const rr_contract *contract, rr_record *record, rr_arena *scratch, rr_text *why)
{
    const rr_admission a = {contract, record, scratch, why};
    rr_reason reason;

    record->identity = record->values = (rr_slice){NULL, 0};
    record->has_values = false;
    reason = check_limits(&a);
    reason = reason != RR_REASON_NONE ? reason : check_key_and_mode(&a);
    reason = reason != RR_REASON_NONE ? reason : rr_check_window(&a);
    reason = reason != RR_REASON_NONE ? reason : check_metric(&a);
    if (record->origin == RR_ORIGIN_CORRECTION) {
        reason = reason != RR_REASON_NONE ? reason : check_correction(&a);
    } else {
        reason = reason != RR_REASON_NONE ? reason : check_live(&a);
    }
    reason = reason != RR_REASON_NONE ? reason : rr_check_measures(&a);
    return reason != RR_REASON_NONE ? reason : check_retention(&a);
}
