/* A mapping in canonical text: what it does, not how it was written. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler.h"

static const char *const unit_words[] = {"", " s", " ms", " us", " ns", ""};

static void put_path(rr_buf *out, const rr_ref *ref)
{
    rr_buf_text(out, ref->whole ? "/" : "");
    rr_buf_slice(out, ref->resolved);
}

static void put_source(rr_buf *out, const rr_ref *ref)
{
    switch (ref->from) {
    case RR_FROM_HEADER:
        rr_buf_text(out, "header ");
        rr_buf_json(out, ref->name);
        break;
    case RR_FROM_SUBJECT: rr_buf_format(out, "subject %llu", (unsigned long long)ref->token); break;
    case RR_FROM_STREAM: rr_buf_text(out, "stream time"); break;
    case RR_FROM_CONST: rr_buf_text(out, "const"); break;
    default: put_path(out, ref);
    }
}

static void put_literal(rr_buf *out, rr_target target, const rr_literal *literal)
{
    switch (literal->skip ? RR_TAKES_TEXT : rr_target_kind_of(target)) {
    case RR_TAKES_COUNT: rr_buf_u64(out, literal->value.count); break;
    case RR_TAKES_TIME:
    case RR_TAKES_DURATION: rr_buf_i64(out, literal->value.us); break;
    case RR_TAKES_WORD: rr_buf_slice(out, literal->text); break;
    default: rr_buf_json(out, literal->text);
    }
}

static void put_key(rr_buf *out, const rr_ref *ref, const rr_choice *choice)
{
    if (ref->type == RR_TYPE_UINT) {
        rr_buf_u64(out, choice->bits);
    } else if (ref->type == RR_TYPE_INT || ref->type == RR_TYPE_ENUM) {
        rr_buf_i64(out, (int64_t)choice->bits);
    } else {
        rr_buf_json(out, choice->text);
    }
}

/* Where an enum's own names become the value, they are a part of what the mapping does. */
static void put_names(rr_buf *out, rr_target target, const rr_part *part)
{
    const rr_schema_enum *words = part->ref.words;
    rr_target_kind kind = rr_target_kind_of(target);
    rr_literal literal;

    if (words == NULL || part->said->has_values || kind == RR_TAKES_NUMBER || kind == RR_TAKES_COUNT) {
        return;
    }
    for (size_t k = 0; k < words->value_count; k++) {
        if (kind != RR_TAKES_WORD || rr_literal_read(target, words->values[k].name, &literal) == NULL) {
            rr_buf_format(out, " %d=", words->values[k].number);
            rr_buf_slice(out, words->values[k].name);
        }
    }
}

static void put_part(rr_buf *out, rr_target target, const rr_part *part)
{
    const rr_mapping_part *said = part->said;

    put_source(out, &part->ref);
    rr_buf_text(out, unit_words[said->unit]);
    put_names(out, target, part);
    for (size_t k = 0; k < part->choice_count; k++) {
        rr_buf_text(out, k == 0 ? " values " : ", ");
        put_key(out, &part->ref, &part->choices[k]);
        rr_buf_char(out, '=');
        put_literal(out, target, &part->choices[k].to);
    }
    if (part->has_other) {
        rr_buf_text(out, " else ");
        put_literal(out, target, &part->other);
    }
    if (said->scale != 0 || said->add != 0 || said->inclusive_us != 0) {
        rr_buf_format(out, " scale %lld add %lld inclusive %lld", (long long)said->scale, (long long)said->add,
                      (long long)said->inclusive_us);
    }
    rr_buf_text(out, said->absent_zero ? " absent zero" : "");
    if (part->has_preset || part->has_const) {
        rr_buf_text(out, part->has_const ? " " : " default ");
        put_literal(out, target, &part->preset);
    }
}

static void put_step(rr_buf *out, const rr_step *step)
{
    rr_buf_text(out, "  ");
    rr_buf_text(out, rr_target_name(step->target));
    if (step->target == RR_TARGET_MEASURE) {
        rr_buf_char(out, ' ');
        rr_buf_json(out, step->name);
    }
    rr_buf_text(out, step->is_list ? ": [" : ": ");
    for (size_t k = 0; k < step->part_count; k++) {
        rr_buf_text(out, k == 0 ? "" : "; ");
        put_part(out, step->target, &step->parts[k]);
    }
    rr_buf_text(out, step->is_list ? "]\n" : "\n");
}

static void put_test(rr_buf *out, const char *word, const rr_test *test)
{
    rr_buf_text(out, word);
    put_path(out, &test->ref);
    for (size_t k = 0; k < test->choice_count; k++) {
        rr_buf_text(out, k == 0 ? " in " : ", ");
        put_key(out, &test->ref, &test->choices[k]);
    }
    rr_buf_char(out, '\n');
}

/* Steps in the order of the targets, measures by name, whatever the order of the file was. */
static const rr_step *next_step(const rr_emit *emit, const rr_step *before)
{
    const rr_step *next = NULL;

    for (size_t k = 0; k < emit->step_count; k++) {
        const rr_step *step = &emit->steps[k];
        const rr_step *const others[] = {before, next};
        int order[2];

        for (size_t i = 0; i < 2; i++) {
            order[i] = others[i] == NULL                   ? 0
                       : step->target != others[i]->target ? (step->target < others[i]->target ? -1 : 1)
                                                           : rr_slice_compare(step->name, others[i]->name);
        }
        if ((before == NULL || order[0] > 0) && (next == NULL || order[1] < 0)) {
            next = step;
        }
    }
    return next;
}

static void put_emit(rr_buf *out, const rr_mapping *mapping, const rr_emit *emit)
{
    rr_buf_text(out, "record");
    if (emit->items) {
        rr_buf_text(out, " each /");
        rr_buf_slice(out, mapping->each);
    } else if (emit->there != RR_SLOT_NONE) {
        rr_buf_text(out, " at /");
        rr_buf_slice(out, emit->resolved);
    }
    rr_buf_text(out, emit->has_op ? (emit->op == RR_OP_RETRACT ? " RETRACT" : " ASSERT") : "");
    rr_buf_text(out, emit->withdraws == RR_WITHDRAWS_OLDER ? " withdraws older\n" : "\n");
    for (size_t k = 0; k < emit->when_count; k++) {
        put_test(out, "  when ", &emit->when[k]);
    }
    for (const rr_step *step = next_step(emit, NULL); step != NULL; step = next_step(emit, step)) {
        put_step(out, step);
    }
    if (emit->has_map) {
        rr_buf_text(out, "  measures: map ");
        put_path(out, &emit->map);
        rr_buf_char(out, '\n');
    }
}

void rr_mapping_print(const rr_mapping *mapping, rr_buf *out)
{
    const rr_mapping_spec *spec = mapping->spec;

    rr_buf_text(out, spec->is_json ? "json" : "protobuf ");
    rr_buf_slice(out, mapping->message);
    rr_buf_text(out, spec->framing == RR_FRAMING_CONFLUENT ? " framing confluent\n" : "\n");
    rr_buf_text(out, spec->skip_empty ? "skip empty\n" : "");
    for (size_t k = 0; k < mapping->skip_count; k++) {
        put_test(out, "skip ", &mapping->skips[k]);
    }
    for (size_t k = 0; k < mapping->emit_count; k++) {
        put_emit(out, mapping, &mapping->emits[k]);
    }
}
