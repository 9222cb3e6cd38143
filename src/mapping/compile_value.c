/* Words of a field into steps: what can carry what, and the literals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "compiler.h"
#include "nearest.h"
#include "number.h"

const char *rr_value_type_word(rr_value_type type)
{
    static const char *const words[] = {
        [RR_TYPE_ANY] = "a JSON value", [RR_TYPE_INT] = "an integer",        [RR_TYPE_UINT] = "an integer",
        [RR_TYPE_REAL] = "a double",    [RR_TYPE_BOOL] = "a bool",           [RR_TYPE_ENUM] = "an enum",
        [RR_TYPE_TEXT] = "a text",      [RR_TYPE_TIMESTAMP] = "a Timestamp", [RR_TYPE_DURATION] = "a Duration",
    };

    return words[type];
}

static bool is_integer(rr_value_type type)
{
    return type == RR_TYPE_INT || type == RR_TYPE_UINT;
}

/* ---- what can carry what ---- */

static bool enum_has_word(rr_target target, const rr_schema_enum *words)
{
    rr_literal literal;

    for (size_t k = 0; k < words->value_count; k++) {
        if (rr_literal_read(target, words->values[k].name, &literal) == NULL) {
            return true;
        }
    }
    return false;
}

/* Without `values`. NULL: it can. */
static const char *cannot_carry(rr_target target, const rr_ref *ref, rr_unit_of_time unit)
{
    rr_value_type type = ref->type;
    bool text = type == RR_TYPE_TEXT || type == RR_TYPE_ANY;

    switch (rr_target_kind_of(target)) {
    case RR_TAKES_KEY:
    case RR_TAKES_TEXT:
        return text || is_integer(type) || type == RR_TYPE_BOOL || type == RR_TYPE_ENUM
                   ? NULL
                   : "a text is wanted, and this has no one exact text";
    case RR_TAKES_WORD:
        if (type == RR_TYPE_ENUM) {
            return enum_has_word(target, ref->words) ? NULL
                                                     : "none of its names is a word of the target: it needs `values`";
        }
        return text ? NULL : "it needs `values`";
    case RR_TAKES_COUNT: return text || is_integer(type) ? NULL : "an integer is wanted";
    case RR_TAKES_TIME:
        if (is_integer(type)) {
            return unit == RR_UNIT_NONE || unit == RR_UNIT_RFC3339 ? "it needs `unit`: s, ms, us or ns" : NULL;
        }
        return text || type == RR_TYPE_TIMESTAMP ? NULL : "a time is wanted";
    case RR_TAKES_DURATION:
        if (is_integer(type)) {
            return unit == RR_UNIT_NONE || unit == RR_UNIT_RFC3339 ? "it needs `unit`: s, ms, us or ns" : NULL;
        }
        return text || type == RR_TYPE_DURATION ? NULL : "a duration is wanted";
    default: return text || is_integer(type) || type == RR_TYPE_REAL ? NULL : "a number is wanted";
    }
}

/* Words that a part has, and that its target or source has no use for. */
static bool check_words(rr_compiler *c, rr_target target, const rr_mapping_part *said, const rr_ref *ref)
{
    rr_target_kind kind = rr_target_kind_of(target);
    bool timely = kind == RR_TAKES_TIME || kind == RR_TAKES_DURATION, fixed = said->from == RR_FROM_CONST;
    const char *name = rr_target_name(target);
    bool good = true;

    if (said->unit != RR_UNIT_NONE &&
        (!timely || fixed || said->from == RR_FROM_STREAM || ref->type == RR_TYPE_TIMESTAMP ||
         ref->type == RR_TYPE_DURATION || (kind == RR_TAKES_DURATION && said->unit == RR_UNIT_RFC3339))) {
        good = rr_compile_fault(c, said->place, "'unit' has no meaning for %s from this source", name);
    }
    if (said->inclusive_us != 0 && target != RR_TARGET_WINDOW_END) {
        good = rr_compile_fault(c, said->place, "'inclusive' has a meaning for window.end alone, not for %s", name);
    }
    if (said->add != 0 && (kind != RR_TAKES_COUNT || fixed)) {
        good = rr_compile_fault(c, said->place,
                                "'add' has a meaning for epochs, numbers and sequences alone, not for %s", name);
    }
    if (said->scale != 0 && (kind != RR_TAKES_NUMBER || fixed || ref->type == RR_TYPE_REAL)) {
        good = rr_compile_fault(c, said->place, "'scale' has a meaning for exact measures alone, not for %s%s", name,
                                ref->type == RR_TYPE_REAL ? " from a double" : "");
    }
    if (fixed && (said->has_values || said->preset != NULL || said->absent_zero)) {
        good = rr_compile_fault(c, said->place, "'const' stands alone: nothing is left to choose");
    }
    return good;
}

/* ---- literals ---- */

static bool read_literal(rr_compiler *c, rr_target target, const rr_mapping_literal *said, rr_literal *to)
{
    char hint[RR_HINT_MAX] = "";
    const char *wanted = rr_literal_read(target, said->text, to);
    rr_nearest nearest;

    if (wanted == NULL) {
        return true;
    }
    if (rr_target_kind_of(target) == RR_TAKES_WORD) {
        rr_nearest_init(&nearest, said->text);
#define RR_X(name) rr_nearest_try(&nearest, RR_SLICE(#name));
        switch (target) {
        case RR_TARGET_MODE: RR_MODE_TABLE(RR_X) break;
        case RR_TARGET_OP: RR_OP_TABLE(RR_X) break;
        case RR_TARGET_ORIGIN: RR_ORIGIN_TABLE(RR_X) break;
        case RR_TARGET_STATUS: RR_RESULT_STATUS_TABLE(RR_X) break;
        default: RR_CAUSE_TABLE(RR_X) break;
        }
#undef RR_X
        rr_nearest_hint(&nearest, "", hint);
    }
    return rr_compile_fault(c, said->place, "'%.*s' is no value of %s: it has to be %s%s%s", RR_SHOW(said->text),
                            rr_target_name(target), wanted, target == RR_TARGET_OP ? ", or SKIP" : "", hint);
}

/* ---- values ---- */

static bool enum_key(rr_compiler *c, const rr_schema_enum *words, const rr_mapping_literal *said, rr_choice *choice)
{
    const rr_schema_enum_value *value = rr_schema_find_value(words, said->text);
    char hint[RR_HINT_MAX];
    rr_nearest nearest;
    int64_t number;

    if (value != NULL || (rr_number_i64(said->text, &number) && number >= INT32_MIN && number <= INT32_MAX)) {
        choice->bits = (uint64_t)(value != NULL ? value->number : number);
        return true;
    }
    rr_nearest_init(&nearest, said->text);
    for (size_t k = 0; k < words->value_count; k++) {
        rr_nearest_try(&nearest, words->values[k].name);
    }
    return rr_compile_fault(c, said->place, "enum %.*s has no value '%.*s'%s", RR_SHOW(words->name),
                            RR_SHOW(said->text), rr_nearest_hint(&nearest, "", hint));
}

static bool choice_key(rr_compiler *c, const rr_ref *ref, const rr_mapping_literal *said, rr_choice *choice)
{
    int64_t number = 0;
    bool good = true;

    choice->text = said->text;
    choice->bits = 0;
    switch (ref->type) {
    case RR_TYPE_ENUM: return enum_key(c, ref->words, said, choice);
    case RR_TYPE_BOOL:
        good = rr_slice_equal(said->text, RR_SLICE("true")) || rr_slice_equal(said->text, RR_SLICE("false"));
        break;
    case RR_TYPE_INT:
        good = rr_number_i64(said->text, &number);
        choice->bits = (uint64_t)number;
        break;
    case RR_TYPE_UINT: good = rr_number_u64(said->text, &choice->bits); break;
    case RR_TYPE_TEXT:
    case RR_TYPE_ANY: break;
    default:
        return rr_compile_fault(c, said->place, "'%.*s' is %s: its values cannot be listed", RR_SHOW(ref->text),
                                rr_value_type_word(ref->type));
    }
    return good || rr_compile_fault(c, said->place, "'%.*s' is no value of '%.*s', which is %s", RR_SHOW(said->text),
                                    RR_SHOW(ref->text), rr_value_type_word(ref->type));
}

static bool same_key(const rr_ref *ref, const rr_choice *a, const rr_choice *b)
{
    return ref->type == RR_TYPE_ENUM || is_integer(ref->type) ? a->bits == b->bits : rr_slice_equal(a->text, b->text);
}

static int by_key(const void *a, const void *b)
{
    const rr_choice *left = a, *right = b;

    if (left->bits != right->bits) {
        return left->bits < right->bits ? -1 : 1;
    }
    return rr_slice_compare(left->text, right->text);
}

static bool add_choice(rr_compiler *c, const rr_ref *ref, const rr_mapping_literal *said, rr_choice *choices,
                       size_t *count)
{
    rr_choice *choice = &choices[*count];

    if (!choice_key(c, ref, said, choice)) {
        return false;
    }
    for (size_t k = 0; k < *count; k++) {
        if (same_key(ref, &choices[k], choice)) {
            return rr_compile_fault(c, said->place, "'%.*s' stands there twice, also as '%.*s'", RR_SHOW(said->text),
                                    RR_SHOW(choices[k].text));
        }
    }
    ++*count;
    return true;
}

static bool read_values(rr_compiler *c, rr_target target, const rr_mapping_part *said, rr_part *part)
{
    rr_choice *choices = rr_compile_take(c, (said->value_count + 1) * sizeof *choices);
    bool good = choices != NULL;

    for (size_t k = 0; choices != NULL && k < said->value_count; k++) {
        rr_literal to;

        good = read_literal(c, target, &said->values[k].to, &to) && good;
        if (!add_choice(c, &part->ref, &said->values[k].from, choices, &part->choice_count)) {
            good = false;
        } else {
            choices[part->choice_count - 1].to = to;
        }
    }
    if (good) {
        qsort(choices, part->choice_count, sizeof *choices, by_key);
    }
    part->choices = choices;
    return good;
}

bool rr_compile_test(rr_compiler *c, const rr_base *top, const rr_mapping_test *test, rr_test *compiled)
{
    rr_choice *choices = rr_compile_take(c, (test->value_count + 1) * sizeof *choices);
    bool good = choices != NULL;

    if (!rr_compile_path(c, top, &test->path, RR_WANT_VALUE, &compiled->ref, NULL)) {
        return false;
    }
    for (size_t k = 0; choices != NULL && k < test->value_count; k++) {
        good = add_choice(c, &compiled->ref, &test->values[k], choices, &compiled->choice_count) && good;
    }
    if (good) {
        qsort(choices, compiled->choice_count, sizeof *choices, by_key);
    }
    compiled->choices = choices;
    return good;
}

/* ---- fields ---- */

static bool add_header(rr_compiler *c, rr_slice name)
{
    rr_mapping *m = c->mapping;
    rr_slice *headers = (rr_slice *)(uintptr_t)m->headers;

    for (size_t k = 0; k < m->header_count; k++) {
        if (rr_slice_equal(headers[k], name)) {
            return true;
        }
    }
    if (headers == NULL) {
        headers = rr_compile_take(c, RR_MAPPING_FIELDS_MAX * RR_MAPPING_PARTS_MAX * sizeof *headers);
        m->headers = headers;
    }
    if (headers != NULL) {
        headers[m->header_count++] = name;
    }
    return headers != NULL;
}

static bool find_source(rr_compiler *c, const rr_base *top, const rr_base *here, rr_target target,
                        const rr_mapping_part *said, rr_ref *ref)
{
    *ref = (rr_ref){.from = said->from,
                    .type = RR_TYPE_TEXT,
                    .name = said->name,
                    .token = said->token,
                    .text = said->name,
                    .slot = RR_SLOT_NONE,
                    .parent = RR_SLOT_NONE};
    switch (said->from) {
    case RR_FROM_PATH:
        return rr_compile_path(c, rr_compile_begin(&said->path, top, here), &said->path, RR_WANT_VALUE, ref, NULL);
    case RR_FROM_HEADER: return add_header(c, said->name);
    case RR_FROM_STREAM:
        ref->type = RR_TYPE_TIMESTAMP;
        return target == RR_TARGET_EMITTED_AT ||
               rr_compile_fault(c, said->place,
                                "'stream: time' is for emitted_at alone: when a message is stored says nothing of the "
                                "order of results, and a message sent again is stored at another time");
    default: return true;
    }
}

static rr_quick quick_of(rr_target target, const rr_part *part)
{
    const rr_mapping_part *said = part->said;
    bool integer = is_integer(part->ref.type) || part->ref.type == RR_TYPE_ENUM;

    if (said->from != RR_FROM_PATH || said->add != 0 || said->scale != 0) {
        return RR_QUICK_NOT;
    }
    if (said->has_values) {
        return integer && rr_target_kind_of(target) == RR_TAKES_WORD ? RR_QUICK_CHOICE : RR_QUICK_NOT;
    }
    if (said->absent_zero) {
        return RR_QUICK_NOT;
    }
    switch (rr_target_kind_of(target)) {
    case RR_TAKES_KEY:
    case RR_TAKES_TEXT: return RR_QUICK_TEXT;
    case RR_TAKES_COUNT: return RR_QUICK_COUNT;
    case RR_TAKES_TIME:
        if (part->ref.type == RR_TYPE_TIMESTAMP) {
            return RR_QUICK_TIMESTAMP;
        }
        return said->unit >= RR_UNIT_S && said->unit <= RR_UNIT_US ? RR_QUICK_TIME : RR_QUICK_NOT;
    case RR_TAKES_NUMBER: return RR_QUICK_NUMBER;
    default: return RR_QUICK_NOT;
    }
}

static void add_quick(rr_step *step)
{
    const rr_part *part = step->parts;

    step->quick = quick_of(step->target, part);
    step->slot = part->ref.slot;
    step->whole = part->ref.whole;
    step->empty_is_value = part->ref.implicit || part->has_preset;
}

static bool read_part(rr_compiler *c, const rr_base *top, const rr_base *here, rr_target target,
                      const rr_mapping_part *said, rr_part *part)
{
    const char *why;
    bool good;

    part->said = said;
    if (!find_source(c, top, here, target, said, &part->ref)) {
        return false;
    }
    good = check_words(c, target, said, &part->ref);
    if (said->from == RR_FROM_CONST) {
        const rr_mapping_literal text = {said->name, said->place};

        part->has_const = true;
        return read_literal(c, target, &text, &part->preset) && good;
    }
    why = said->has_values ? NULL : cannot_carry(target, &part->ref, said->unit);
    if (why != NULL) {
        good = rr_compile_fault(c, said->place, "'%.*s' is %s, and %s takes it not: %s", RR_SHOW(part->ref.text),
                                rr_value_type_word(part->ref.type), rr_target_name(target), why);
    }
    part->factor_us = said->unit == RR_UNIT_S ? 1000000 : said->unit == RR_UNIT_MS ? 1000 : 1;
    part->has_other = said->other != NULL;
    part->has_preset = said->preset != NULL;
    good = (!said->has_values || read_values(c, target, said, part)) && good;
    good = (!part->has_other || read_literal(c, target, said->other, &part->other)) && good;
    return (!part->has_preset || read_literal(c, target, said->preset, &part->preset)) && good;
}

bool rr_compile_field(rr_compiler *c, const rr_base *top, const rr_base *here, const rr_mapping_field *field,
                      rr_step *step)
{
    rr_part *parts = rr_compile_take(c, (field->part_count + 1) * sizeof *parts);
    bool good = parts != NULL;

    if (field->is_list && rr_target_kind_of(field->target) != RR_TAKES_KEY) {
        return rr_compile_fault(c, field->place, "a list of paths makes a key; %s takes one value",
                                rr_target_name(field->target));
    }
    for (size_t k = 0; parts != NULL && k < field->part_count; k++) {
        good = read_part(c, top, here, field->target, &field->parts[k], &parts[k]) && good;
    }
    *step = (rr_step){.target = field->target,
                      .name = field->name,
                      .is_list = field->is_list,
                      .parts = parts,
                      .part_count = field->part_count};
    if (good && !field->is_list) {
        add_quick(step);
    }
    return good;
}
