/* A captured value into the value of a target, exactly or not at all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decimal.h"
#include "number.h"
#include "program.h"
#include "time.h"
#include "utf8.h"

__extension__ typedef __int128 i128;

/* ---- sentences ---- */

static void say_source(rr_finishing *f, const rr_ref *ref)
{
    rr_text_put(f->why, rr_target_name(f->step->target));
    if (f->step->target == RR_TARGET_MEASURE) {
        rr_text_put(f->why, ".");
        rr_text_slice(f->why, f->step->name);
    }
    rr_text_put(f->why, ref->from == RR_FROM_HEADER ? ", from header '" : ", from '");
    if (ref->from == RR_FROM_SUBJECT) {
        rr_text_put(f->why, "subject ");
        rr_text_u64(f->why, ref->token);
    } else {
        rr_text_slice(f->why, ref->text);
    }
    rr_text_put(f->why, "': ");
}

bool rr_finish_malformed(rr_finishing *f, const rr_ref *ref, const char *what)
{
    say_source(f, ref);
    rr_text_put(f->why, what);
    f->stopped = RR_FINISHED_MALFORMED;
    return false;
}

static void say_seen(rr_text *why, const rr_ref *ref, const rr_slot *seen)
{
    switch (seen->kind) {
    case RR_SLOT_INT:
        rr_text_i64(why, seen->i);
        if (ref->type == RR_TYPE_ENUM && rr_schema_value_numbered(ref->words, (int32_t)seen->i) != NULL) {
            rr_text_put(why, " (");
            rr_text_slice(why, rr_schema_value_numbered(ref->words, (int32_t)seen->i)->name);
            rr_text_put(why, ")");
        }
        break;
    case RR_SLOT_UINT: rr_text_u64(why, seen->u); break;
    case RR_SLOT_BOOL: rr_text_put(why, seen->i != 0 ? "true" : "false"); break;
    case RR_SLOT_TIME:
        rr_text_i64(why, seen->time.seconds);
        rr_text_put(why, " s and ");
        rr_text_i64(why, seen->time.nanos);
        rr_text_put(why, " ns");
        break;
    case RR_SLOT_NUMBER: rr_text_slice(why, seen->text); break;
    default:
        rr_text_put(why, "'");
        rr_text_slice(why, seen->text);
        rr_text_put(why, "'");
    }
}

bool rr_finish_expect(rr_finishing *f, const rr_ref *ref, const rr_slot *seen, const char *wanted)
{
    say_source(f, ref);
    rr_text_put(f->why, "is ");
    say_seen(f->why, ref, seen);
    rr_text_put(f->why, "; it has to be ");
    rr_text_put(f->why, wanted);
    f->stopped = RR_FINISHED_MALFORMED;
    return false;
}

/* ---- choices ---- */

const rr_choice *rr_choice_find(const rr_ref *ref, const rr_choice *choices, size_t count, const rr_slot *seen)
{
    rr_slice text = seen->text;

    if (seen->kind == RR_SLOT_BOOL) {
        text = seen->i != 0 ? RR_SLICE("true") : RR_SLICE("false");
    }
    for (size_t k = 0; k < count; k++) {
        bool same = ref->type == RR_TYPE_INT || ref->type == RR_TYPE_UINT || ref->type == RR_TYPE_ENUM
                        ? choices[k].bits == seen->u
                        : rr_slice_equal(choices[k].text, text);

        if (same) {
            return &choices[k];
        }
    }
    return NULL;
}

/* ---- texts ---- */

bool rr_finish_text(rr_finishing *f, const rr_ref *ref, rr_slice text)
{
    if (rr_utf8_is_plain(text)) {
        return true;
    }
    if (rr_utf8_valid_len(text) != text.len) {
        return rr_finish_malformed(f, ref, "is not UTF-8");
    }
    if (memchr(text.data, '\0', text.len) != NULL) {
        return rr_finish_malformed(f, ref, "holds a NUL");
    }
    return true;
}

static bool in_scratch(rr_finishing *f, const char *text, size_t len, rr_slice *to)
{
    *to = rr_arena_copy(f->run->scratch, (rr_slice){text, len});
    f->stopped = to->data == NULL ? RR_FINISHED_NO_MEMORY : f->stopped;
    return to->data != NULL;
}

static bool to_text(rr_finishing *f, const rr_ref *ref, const rr_slot *seen, rr_slice *text)
{
    const rr_schema_enum_value *named =
        ref->type == RR_TYPE_ENUM ? rr_schema_value_numbered(ref->words, (int32_t)seen->i) : NULL;
    char digits[24];
    rr_number_parts parts;

    switch (seen->kind) {
    case RR_SLOT_INT:
        if (named != NULL) {
            *text = named->name;
            return true;
        }
        return in_scratch(f, digits, rr_i64_print(seen->i, digits), text);
    case RR_SLOT_UINT: return in_scratch(f, digits, rr_u64_print(seen->u, digits), text);
    case RR_SLOT_BOOL: *text = seen->i != 0 ? RR_SLICE("true") : RR_SLICE("false"); return true;
    case RR_SLOT_NUMBER:
        if (!rr_number_scan(seen->text, &parts) || !parts.plain) {
            return rr_finish_expect(f, ref, seen, "a text, or an integer without point and exponent");
        }
        *text = seen->text;
        return true;
    default: *text = seen->text; return rr_finish_text(f, ref, seen->text);
    }
}

static bool to_word(rr_finishing *f, const rr_ref *ref, const rr_slot *seen, int *row)
{
    const rr_schema_enum_value *named =
        ref->type == RR_TYPE_ENUM ? rr_schema_value_numbered(ref->words, (int32_t)seen->i) : NULL;
    rr_slice word = named != NULL ? named->name : seen->text;
    bool is_word = named != NULL || seen->kind == RR_SLOT_TEXT;
    rr_literal literal;
    const char *wanted =
        is_word ? rr_literal_read(f->step->target, word, &literal) : "a word of the target, or one that `values` names";

    if (wanted == NULL && literal.skip) {
        wanted = "ASSERT or RETRACT; SKIP is for `values`";
    }
    *row = wanted == NULL ? literal.value.row : 0;
    return wanted == NULL || rr_finish_expect(f, ref, seen, wanted);
}

/* ---- counts ---- */

static bool to_count(rr_finishing *f, const rr_part *part, const rr_slot *seen, uint64_t *count)
{
    bool digits = seen->kind == RR_SLOT_TEXT || seen->kind == RR_SLOT_NUMBER, good = true;
    uint64_t positive = seen->u;
    int64_t number = seen->i;
    i128 sum;

    if (digits) {
        good = rr_number_u64(seen->text, &positive);
        sum = (i128)positive;
        if (!good) {
            good = rr_number_i64(seen->text, &number);
            sum = number;
        }
    } else {
        good = seen->kind == RR_SLOT_INT || seen->kind == RR_SLOT_UINT;
        sum = seen->kind == RR_SLOT_INT ? (i128)number : (i128)positive;
    }
    sum += part->said->add;
    if (!good || sum < 0 || sum > (i128)UINT64_MAX) {
        return rr_finish_expect(f, &part->ref, seen,
                                part->said->add == 0 ? "an integer from 0 to 18446744073709551615"
                                                     : "an integer that is from 0 to 18446744073709551615 after `add`");
    }
    *count = (uint64_t)sum;
    return true;
}

/* ---- times, in nanoseconds until the end ---- */

static const int64_t unit_ns[] = {
    [RR_UNIT_S] = 1000000000, [RR_UNIT_MS] = 1000000, [RR_UNIT_US] = 1000, [RR_UNIT_NS] = 1};
static const int64_t unit_places[] = {[RR_UNIT_S] = 9, [RR_UNIT_MS] = 6, [RR_UNIT_US] = 3, [RR_UNIT_NS] = 0};

/* Digits, perhaps with a fraction, in a unit. *exact false: there is a part of a nanosecond. */
static bool digits_to_ns(rr_slice number, rr_unit_of_time unit, i128 *ns, bool *exact)
{
    enum { DIGITS_MAX = 30 };
    char text[RR_DECIMAL_TEXT_MAX];
    size_t len = rr_number_shift(number, unit_places[unit], text), at = len != 0 && text[0] == '-' ? 1 : 0, from = at;

    *ns = 0;
    *exact = true;
    for (; at < len && text[at] != '.'; at++) {
        if (at - from == DIGITS_MAX) {
            return false;
        }
        *ns = *ns * 10 + (text[at] - '0');
    }
    *exact = at == len;
    if (from == 1) {
        *ns = -*ns - (*exact ? 0 : 1); /* cut downwards, as a Timestamp is */
    }
    return len != 0;
}

/* rr_time_parse takes six digits of a fraction; here are up to nine that count. */
static bool rfc3339_to_ns(rr_slice text, i128 *ns)
{
    enum { TEXT_MAX = 64, SIX = 6, NINE = 9 };
    char shorter[TEXT_MAX];
    const char *point = text.len == 0 || text.len > TEXT_MAX ? NULL : memchr(text.data, '.', text.len);
    size_t keep = 0, digits = 0;
    int64_t us, more = 0;

    if (point != NULL) {
        size_t at = (size_t)(point - text.data) + 1;

        while (at + digits < text.len && text.data[at + digits] >= '0' && text.data[at + digits] <= '9') {
            digits++;
        }
        if (digits > SIX && digits <= NINE) {
            keep = at + SIX;
            for (size_t k = SIX; k < NINE; k++) {
                more = more * 10 + (k < digits ? text.data[at + k] - '0' : 0);
            }
            memcpy(shorter, text.data, keep);
            memcpy(shorter + keep, text.data + at + digits, text.len - at - digits);
            text = (rr_slice){shorter, keep + text.len - at - digits};
        }
    }
    if (!rr_time_parse(text, &us)) {
        return false;
    }
    *ns = (i128)us * 1000 + more;
    return true;
}

static bool text_to_ns(rr_finishing *f, const rr_part *part, const rr_slot *seen, i128 *ns, bool *exact)
{
    rr_unit_of_time unit = part->said->unit;
    bool lasting = rr_target_kind_of(f->step->target) == RR_TAKES_DURATION;
    int64_t us;

    *exact = true;
    if (unit != RR_UNIT_NONE && unit != RR_UNIT_RFC3339) {
        return digits_to_ns(seen->text, unit, ns, exact) ||
               rr_finish_expect(f, &part->ref, seen, "a number of the unit, within bounds");
    }
    if (seen->kind == RR_SLOT_NUMBER) {
        return rr_finish_expect(f, &part->ref, seen, "a text; a number needs `unit`");
    }
    if (lasting && rr_duration_parse(seen->text, false, &us)) {
        *ns = (i128)us * 1000;
        return true;
    }
    return (!lasting && rfc3339_to_ns(seen->text, ns)) ||
           rr_finish_expect(f, &part->ref, seen,
                            lasting ? "a duration like 90s; digits need `unit`"
                                    : "an RFC 3339 time of at most nine fraction digits; digits need `unit`");
}

static bool to_ns(rr_finishing *f, const rr_part *part, const rr_slot *seen, i128 *ns, bool *exact)
{
    bool lasting = rr_target_kind_of(f->step->target) == RR_TAKES_DURATION;

    *exact = true;
    switch (seen->kind) {
    case RR_SLOT_TIME:
        if (seen->time.nanos > 999999999 || seen->time.nanos < (lasting ? -999999999 : 0)) {
            return rr_finish_expect(f, &part->ref, seen, "nanoseconds below a second");
        }
        *ns = (i128)seen->time.seconds * 1000000000 + seen->time.nanos;
        return true;
    case RR_SLOT_INT: *ns = (i128)seen->i * unit_ns[part->said->unit]; return true;
    case RR_SLOT_UINT: *ns = (i128)seen->u * unit_ns[part->said->unit]; return true;
    case RR_SLOT_TEXT:
    case RR_SLOT_NUMBER: return text_to_ns(f, part, seen, ns, exact);
    default: return rr_finish_expect(f, &part->ref, seen, "a time");
    }
}

static bool to_us(rr_finishing *f, const rr_part *part, const rr_slot *seen, int64_t *us)
{
    bool lasting = rr_target_kind_of(f->step->target) == RR_TAKES_DURATION, exact;
    i128 ns = 0, whole;

    if (!to_ns(f, part, seen, &ns, &exact)) {
        return false;
    }
    whole = ns / 1000 - (ns % 1000 < 0 ? 1 : 0);
    if ((!exact || ns % 1000 != 0) && f->step->target != RR_TARGET_EMITTED_AT) {
        return rr_finish_expect(f, &part->ref, seen, "a whole number of microseconds");
    }
    whole += part->said->inclusive_us;
    if (whole < INT64_MIN || whole > INT64_MAX) {
        return rr_finish_expect(f, &part->ref, seen, "within int64 of microseconds");
    }
    if (lasting && whole < 0) {
        return rr_finish_expect(f, &part->ref, seen, "0 or longer");
    }
    *us = (int64_t)whole;
    return true;
}

/* ---- measures ---- */

static bool shifted(rr_finishing *f, const rr_ref *ref, int64_t scale, const rr_slot *seen, rr_slice digits,
                    rr_measure *measure)
{
    char text[RR_DECIMAL_TEXT_MAX];
    size_t len = rr_number_shift(digits, scale, text);

    if (len == 0) {
        return rr_finish_expect(f, ref, seen, "a number of at most 100 digits before and after the point");
    }
    measure->kind = RR_NUMBER_TEXT;
    return in_scratch(f, text, len, &measure->text);
}

bool rr_finish_number(rr_finishing *f, const rr_ref *ref, int64_t scale, const rr_slot *seen, rr_measure *measure)
{
    char digits[24];
    size_t len;

    switch (seen->kind) {
    case RR_SLOT_INT:
        measure->kind = RR_NUMBER_INT64;
        measure->integer = seen->i;
        len = scale == 0 ? 0 : rr_i64_print(seen->i, digits);
        return scale == 0 || shifted(f, ref, scale, seen, (rr_slice){digits, len}, measure);
    case RR_SLOT_UINT:
        measure->kind = seen->u <= INT64_MAX ? RR_NUMBER_INT64 : RR_NUMBER_TEXT;
        measure->integer = seen->u <= INT64_MAX ? (int64_t)seen->u : 0;
        len = scale == 0 && seen->u <= INT64_MAX ? 0 : rr_u64_print(seen->u, digits);
        return len == 0 || (scale == 0 ? in_scratch(f, digits, len, &measure->text)
                                       : shifted(f, ref, scale, seen, (rr_slice){digits, len}, measure));
    case RR_SLOT_REAL:
        measure->kind = RR_NUMBER_DOUBLE;
        measure->real = seen->real;
        return true;
    case RR_SLOT_TEXT:
    case RR_SLOT_NUMBER:
        measure->kind = RR_NUMBER_TEXT;
        measure->text = seen->text;
        return scale == 0 ? rr_finish_text(f, ref, seen->text) : shifted(f, ref, scale, seen, seen->text, measure);
    default: measure->kind = RR_NUMBER_NONE; return true; /* refused by the contract, as measure_type */
    }
}

/* ---- one part ---- */

static bool is_zero(const rr_slot *seen)
{
    rr_number_parts parts;
    char text[RR_DECIMAL_TEXT_MAX];

    switch (seen->kind) {
    case RR_SLOT_INT:
    case RR_SLOT_BOOL: return seen->i == 0;
    case RR_SLOT_UINT: return seen->u == 0;
    case RR_SLOT_REAL: return seen->real == 0;
    case RR_SLOT_TIME: return seen->time.seconds == 0 && seen->time.nanos == 0;
    case RR_SLOT_TEXT:
    case RR_SLOT_NUMBER:
        return seen->text.len == 0 ||
               (rr_number_scan(seen->text, &parts) && rr_number_shift(seen->text, 0, text) == 1 && text[0] == '0');
    default: return false;
    }
}

static bool take_literal(rr_finishing *f, const rr_literal *literal, rr_final *value, rr_measure *measure)
{
    if (literal->skip) {
        f->stopped = RR_FINISHED_SKIP;
        return false;
    }
    if (rr_target_kind_of(f->step->target) == RR_TAKES_NUMBER) {
        measure->kind = RR_NUMBER_TEXT;
        measure->text = literal->value.text;
    }
    *value = literal->value;
    return true;
}

static bool absent(rr_finishing *f, const rr_part *part, bool *there, rr_final *value, rr_measure *measure)
{
    *there = part->has_preset;
    return !part->has_preset || take_literal(f, &part->preset, value, measure);
}

static bool convert(rr_finishing *f, const rr_part *part, const rr_slot *seen, rr_final *value, rr_measure *measure)
{
    switch (rr_target_kind_of(f->step->target)) {
    case RR_TAKES_KEY:
    case RR_TAKES_TEXT: return to_text(f, &part->ref, seen, &value->text);
    case RR_TAKES_WORD: return to_word(f, &part->ref, seen, &value->row);
    case RR_TAKES_COUNT: return to_count(f, part, seen, &value->count);
    case RR_TAKES_TIME:
    case RR_TAKES_DURATION: return to_us(f, part, seen, &value->us);
    default: return rr_finish_number(f, &part->ref, part->said->scale, seen, measure);
    }
}

static bool choose(rr_finishing *f, const rr_part *part, const rr_slot *seen, bool *there, rr_final *value,
                   rr_measure *measure)
{
    const rr_choice *choice = rr_choice_find(&part->ref, part->choices, part->choice_count, seen);

    if (choice != NULL) {
        return take_literal(f, &choice->to, value, measure);
    }
    if (seen->kind == RR_SLOT_TEXT && seen->text.len == 0) {
        return absent(f, part, there, value, measure);
    }
    if (part->has_other) {
        return take_literal(f, &part->other, value, measure);
    }
    return rr_finish_expect(f, &part->ref, seen, "one that `values` names, which has no `else`");
}

bool rr_finish_part(rr_finishing *f, const rr_part *part, const rr_slot *seen, bool *there, rr_final *value,
                    rr_measure *measure)
{
    bool adds = part->said->add != 0;

    *there = true;
    if (part->has_const) {
        return take_literal(f, &part->preset, value, measure);
    }
    if (seen->kind == RR_SLOT_EMPTY || seen->kind == RR_SLOT_NULL ||
        (part->said->absent_zero && !adds && is_zero(seen))) {
        return absent(f, part, there, value, measure);
    }
    if (part->said->has_values) {
        return choose(f, part, seen, there, value, measure);
    }
    if (seen->kind == RR_SLOT_TEXT && seen->text.len == 0 && !f->step->is_list) {
        return absent(f, part, there, value, measure);
    }
    if (!convert(f, part, seen, value, measure)) {
        return false;
    }
    return part->said->absent_zero && adds && value->count == 0 ? absent(f, part, there, value, measure) : true;
}
