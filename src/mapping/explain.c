/* Which paths a refused record's fields came from: a wrong path shows by what the contract says of its field. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#define OF(target) (UINT64_C(1) << RR_TARGET_##target)

_Static_assert(RR_TARGET_COUNT <= 64, "a set of targets is 64 bits");

/* The targets that a reason is about. */
static uint64_t targets_of(rr_reason reason)
{
    switch (reason) {
    case RR_REASON_KEY_MISSING: return OF(BUSINESS_KEY);
    case RR_REASON_MODE_MISMATCH: return OF(MODE);
    case RR_REASON_WINDOW_UNEXPECTED:
    case RR_REASON_WINDOW_MISSING:
    case RR_REASON_WINDOW_INVERTED:
    case RR_REASON_WINDOW_IMPLAUSIBLE:
    case RR_REASON_WINDOW_IN_FUTURE:
    case RR_REASON_WINDOW_MISALIGNED:
    case RR_REASON_BEYOND_RETENTION: return OF(WINDOW_START) | OF(WINDOW_END) | OF(WINDOW_LENGTH);
    case RR_REASON_METRIC_VERSION_MISSING:
    case RR_REASON_METRIC_VERSION_UNKNOWN: return OF(METRIC_VERSION);
    case RR_REASON_OP_NOT_IN_MODE: return OF(OP);
    case RR_REASON_CORRECTION_NOT_ALLOWED: return OF(ORIGIN);
    case RR_REASON_BASE_MISSING: return OF(BASE_EPOCH) | OF(BASE_NUMBER);
    case RR_REASON_STATUS_NOT_ALLOWED: return OF(STATUS);
    case RR_REASON_IDENTITY_MISSING: return OF(DELTA_ID) | OF(PRODUCER) | OF(SEQUENCE);
    case RR_REASON_VERSION_MISSING:
    case RR_REASON_VERSION_IMPLAUSIBLE:
        return OF(VERSION_EPOCH) | OF(VERSION_NUMBER) | OF(RETRACTS_EPOCH) | OF(RETRACTS_NUMBER);
    case RR_REASON_MEASURE_UNKNOWN:
    case RR_REASON_MEASURE_TYPE:
    case RR_REASON_MEASURE_MISSING: return OF(MEASURE);
    default: return 0;
    }
}

static bool has_measure(const rr_record *record, rr_slice name)
{
    for (size_t k = 0; k < record->measure_count; k++) {
        if (rr_slice_equal(record->measures[k].name, name)) {
            return true;
        }
    }
    return false;
}

static bool is_meant(const rr_step *step, uint64_t targets, rr_reason reason, const rr_record *record)
{
    return (targets >> step->target & 1) != 0 &&
           !(reason == RR_REASON_MEASURE_MISSING && has_measure(record, step->name));
}

static void put_source(rr_text *why, const rr_ref *ref)
{
    switch (ref->from) {
    case RR_FROM_PATH:
        rr_text_put(why, "'");
        rr_text_slice(why, ref->text);
        rr_text_put(why, "'");
        break;
    case RR_FROM_HEADER:
        rr_text_put(why, "header '");
        rr_text_slice(why, ref->name);
        rr_text_put(why, "'");
        break;
    case RR_FROM_SUBJECT:
        rr_text_put(why, "subject ");
        rr_text_u64(why, ref->token);
        break;
    case RR_FROM_CONST: rr_text_put(why, "const"); break;
    case RR_FROM_STREAM: rr_text_put(why, "stream time"); break;
    }
}

static void put_step(rr_text *why, const rr_step *step, bool is_first)
{
    rr_text_put(why, is_first ? "; the mapping takes " : ", ");
    rr_text_put(why, rr_target_name(step->target));
    if (step->target == RR_TARGET_MEASURE) {
        rr_text_put(why, ".");
        rr_text_slice(why, step->name);
    }
    for (size_t k = 0; k < step->part_count; k++) {
        rr_text_put(why, k == 0 ? " from " : " and ");
        put_source(why, &step->parts[k].ref);
    }
}

void rr_mapping_explain(const rr_mapping *mapping, rr_reason reason, const rr_record *record, rr_text *why)
{
    const rr_emit *emit = &mapping->emits[0]; /* all halves have the same paths */
    uint64_t targets = targets_of(reason);
    bool is_first = true;

    for (size_t k = 0; k < emit->step_count; k++) {
        if (is_meant(&emit->steps[k], targets, reason, record)) {
            put_step(why, &emit->steps[k], is_first);
            is_first = false;
        }
    }
    if (emit->has_map && (targets & OF(MEASURE)) != 0) {
        rr_text_put(why, is_first ? "; the mapping takes measures from '" : ", measures from '");
        rr_text_slice(why, emit->map.text);
        rr_text_put(why, "'");
    }
}
