/* Admission: the measures of a record, read into canonical bytes (semantics, section 4, point 5). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "refusal.h"

#include "must.h"
#include "value.h"

static size_t find_measure(const rr_contract *contract, rr_slice name)
{
    size_t low = 0, high = contract->measure_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = rr_slice_compare(name, contract->measures[middle].name);

        if (order == 0) {
            return middle;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return contract->measure_count;
}

static void explain_seen_value(const rr_admission *a, const rr_measure *measure)
{
    switch (measure->kind) {
    case RR_NUMBER_TEXT: rr_explain_named(a, "'", measure->text, "'"); break;
    case RR_NUMBER_INT64: rr_text_i64(a->why, measure->integer); break;
    case RR_NUMBER_DOUBLE:
        rr_explain(a, __builtin_isfinite(measure->real) ? "a double" : "a double that is infinite or not a number");
        break;
    case RR_NUMBER_NONE: rr_explain(a, "something that is no number"); break;
    }
}

static rr_reason refuse_measure_type(const rr_admission *a, const rr_measure *measure, rr_measure_type type)
{
    static const char *const wanted[] = {
        "int64: a whole number from -9223372036854775808 to 9223372036854775807, without point and exponent",
        "decimal: a number, or one as text, with at most 100 digits before and 100 after the point",
        "double: a finite number",
    };

    rr_explain_named(a, "measure '", measure->name, "' is ");
    explain_seen_value(a, measure);
    rr_explain(a, "; the contract says ");
    return rr_refuse(a, RR_REASON_MEASURE_TYPE, wanted[type]);
}

static rr_reason refuse_unknown_measure(const rr_admission *a, rr_slice name)
{
    const rr_contract *c = a->contract;

    rr_explain_named(a, "measure '", name, "'; the contract's measures are ");
    for (size_t k = 0; k < c->measure_count; k++) {
        rr_explain_named(a, k == 0 ? "'" : ", '", c->measures[k].name, "'");
    }
    return RR_REASON_MEASURE_UNKNOWN;
}

/* The values of a record, each in canonical bytes. */
typedef struct measure_values {
    rr_slice of[RR_LIMIT_MEASURES]; /* by the contract's order; data NULL: not there */
    bool in_order;                  /* they came in the contract's order */
} measure_values;

static rr_reason read_measures(const rr_admission *a, char *to, measure_values *out)
{
    const rr_contract *c = a->contract;
    size_t next = 0;

    out->in_order = true;
    memset(out->of, 0, c->measure_count * sizeof out->of[0]);
    for (size_t k = 0; k < a->record->measure_count; k++) {
        const rr_measure *measure = &a->record->measures[k];
        size_t at = find_measure(c, measure->name);
        char *from = to;

        if (at == c->measure_count) {
            return refuse_unknown_measure(a, measure->name);
        }
        if (out->of[at].data != NULL) {
            rr_explain_named(a, "measure '", measure->name, "' is there twice");
            return RR_REASON_MALFORMED;
        }
        if (!rr_value_read(c->measures[at].type, measure, &to)) {
            return refuse_measure_type(a, measure, c->measures[at].type);
        }
        out->of[at] = (rr_slice){from, (size_t)(to - from)};
        out->in_order = out->in_order && at == next++;
    }
    return RR_REASON_NONE;
}

static rr_slice concatenate_values(const rr_admission *a, const measure_values *in)
{
    size_t count = a->contract->measure_count, len = 0;
    char *to;

    for (size_t k = 0; k < count; k++) {
        len += in->of[k].len;
    }
    if (in->in_order) {
        return (rr_slice){in->of[0].data, len};
    }
    to = rr_arena_take(a->scratch, len);
    RR_MUST(to != NULL);
    len = 0;
    for (size_t k = 0; k < count; k++) {
        memcpy(to + len, in->of[k].data, in->of[k].len);
        len += in->of[k].len;
    }
    return (rr_slice){to, len};
}

rr_reason rr_check_measures(const rr_admission *a)
{
    const rr_contract *c = a->contract;
    rr_record *r = a->record;
    char *to;
    measure_values read;
    rr_reason reason;

    if (r->measure_count == 0) {
        return r->op == RR_OP_RETRACT
                   ? RR_REASON_NONE
                   : rr_refuse(a, RR_REASON_MEASURE_MISSING, "the record has no value and no measures");
    }
    to = rr_arena_take(a->scratch, rr_values_need(c));
    RR_MUST(to != NULL);
    reason = read_measures(a, to, &read);
    for (size_t k = 0; reason == RR_REASON_NONE && k < c->measure_count; k++) {
        if (read.of[k].data == NULL) {
            rr_explain_named(a, "measure '", c->measures[k].name,
                             "' is missing; the contract wants all of its measures in one record");
            reason = RR_REASON_MEASURE_MISSING;
        }
    }
    if (reason == RR_REASON_NONE) {
        r->values = concatenate_values(a, &read);
        r->has_values = true;
    }
    return reason;
}
