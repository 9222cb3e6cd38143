/* A message through a mapping: frame, walk, rules, records. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

/* ---- rules ---- */

static bool holds(const rr_run *run, const rr_test *test)
{
    rr_slot made;
    const rr_slot *seen = rr_run_fetch(run, &test->ref, NULL, &made);

    return seen->kind != RR_SLOT_EMPTY && seen->kind != RR_SLOT_NULL &&
           rr_choice_find(&test->ref, test->choices, test->choice_count, seen) != NULL;
}

/* ---- the frame ---- */

/* A message's indexes in its schema: how many, then each; a single 0 stands for "the first". */
static bool skip_indexes(rr_slice *body)
{
    const char *at = body->data, *end = at + body->len;
    uint64_t count, index;

    if (!rr_proto_varint(&at, end, &count)) {
        return false;
    }
    count = (uint64_t)rr_proto_sint64(count);
    for (; count != 0; count--) {
        if (!rr_proto_varint(&at, end, &index)) {
            return false;
        }
    }
    *body = (rr_slice){at, (size_t)(end - at)};
    return true;
}

static bool take_frame(rr_run *run)
{
    enum { HEAD = 5 }; /* 0, and the number of a schema */

    run->body = run->input->message.len == 0 ? RR_SLICE("") : run->input->message;
    if (run->mapping->spec->framing == RR_FRAMING_NONE) {
        return true;
    }
    if (run->body.len < HEAD || run->body.data[0] != 0) {
        return rr_run_stop(
            run, RR_MAPPING_MALFORMED,
            "the message does not begin with the frame of a schema registry: a byte 0 and four of a number");
    }
    run->body = (rr_slice){run->body.data + HEAD, run->body.len - HEAD};
    return run->mapping->spec->is_json || skip_indexes(&run->body) ||
           rr_run_stop(run, RR_MAPPING_MALFORMED, "the frame of the schema registry is cut off");
}

/* ---- records ---- */

typedef struct output {
    rr_run *run;
    rr_mapping_result *result;
} output;

static bool say_why(output *o, rr_mapped *to, const rr_text *why)
{
    rr_text *kept = rr_arena_take(o->run->arena, sizeof *kept);

    if (kept == NULL) {
        return rr_run_stop(o->run, RR_MAPPING_NO_MEMORY, "");
    }
    *kept = *why;
    to->why = kept;
    return true;
}

static bool put_record(output *o, const rr_emit *emit, const rr_slot *item)
{
    rr_mapped *to = &o->result->records[o->result->count++];
    rr_text why;

    why.len = 0;
    switch (rr_run_finish(o->run, emit, item, &to->record, &why)) {
    case RR_FINISHED: to->kind = RR_MAPPED_RECORD; return true;
    case RR_FINISHED_SKIP: to->kind = RR_MAPPED_SKIPPED; return true;
    case RR_FINISHED_MALFORMED: to->kind = RR_MAPPED_MALFORMED; return say_why(o, to, &why);
    case RR_FINISHED_TOO_LARGE: to->kind = RR_MAPPED_TOO_LARGE; return say_why(o, to, &why);
    default: return rr_run_stop(o->run, RR_MAPPING_NO_MEMORY, "");
    }
}

static bool applies(const rr_run *run, const rr_emit *emit)
{
    for (size_t k = 0; k < emit->when_count; k++) {
        if (!holds(run, &emit->when[k])) {
            return false;
        }
    }
    return emit->when_count != 0 || rr_run_there(run->whole, emit->there);
}

static bool put_missing(output *o, const rr_emit *emit)
{
    rr_mapped *to = &o->result->records[o->result->count++];
    rr_text why = {.len = 0};

    to->kind = RR_MAPPED_MALFORMED;
    rr_text_put(&why, "`each` takes '");
    rr_text_slice(&why, emit->at);
    rr_text_put(&why, "' of this message, and it is not there");
    return say_why(o, to, &why);
}

static bool put_half(output *o, const rr_emit *emit)
{
    if (!applies(o->run, emit)) {
        return true;
    }
    return rr_run_there(o->run->whole, emit->there) ? put_record(o, emit, NULL) : put_missing(o, emit);
}

static const rr_items *items_of(const rr_run *run)
{
    uint16_t slot = run->mapping->items_slot;

    return slot != RR_SLOT_NONE && run->whole[slot].kind == RR_SLOT_LIST ? run->whole[slot].items : NULL;
}

static bool put_records(output *o)
{
    const rr_mapping *m = o->run->mapping;
    const rr_items *items = items_of(o->run);
    size_t most = m->spec->has_each ? (items == NULL ? 0 : items->count) : m->emit_count;
    bool good = true;

    if (most == 0) {
        return rr_run_stop(o->run, RR_MAPPING_SKIPPED, "`each` finds no item in this message");
    }
    o->result->records = rr_arena_zero(o->run->arena, most * sizeof *o->result->records);
    if (o->result->records == NULL) {
        return rr_run_stop(o->run, RR_MAPPING_NO_MEMORY, "");
    }
    for (size_t k = 0; good && k < most; k++) {
        good = m->spec->has_each ? put_record(o, &m->emits[0], items->items[k]) : put_half(o, &m->emits[k]);
    }
    return good &&
           (o->result->count != 0 || rr_run_stop(o->run, RR_MAPPING_MALFORMED,
                                                 "no part of `each` applies to this message; `skip` can name such"));
}

/* The rule of `skip` that holds, or NULL. */
static const rr_test *find_skip(const rr_run *run)
{
    for (size_t k = 0; k < run->mapping->skip_count; k++) {
        if (holds(run, &run->mapping->skips[k])) {
            return &run->mapping->skips[k];
        }
    }
    return NULL;
}

static bool stop_skipped(rr_run *run, const rr_test *rule)
{
    rr_slot made;
    const rr_slot *seen = rr_run_fetch(run, &rule->ref, NULL, &made);
    const rr_choice *choice = rr_choice_find(&rule->ref, rule->choices, rule->choice_count, seen);

    rr_text_put(run->why, "'");
    rr_text_slice(run->why, rule->ref.text);
    rr_text_put(run->why, "' is '");
    rr_text_slice(run->why, choice->text);
    return rr_run_stop(run, RR_MAPPING_SKIPPED, "', which `skip` names");
}

static bool decode(output *o)
{
    rr_run *run = o->run;
    const rr_mapping *m = run->mapping;
    const rr_test *rule;

    if (run->input->message.len > RR_MAPPING_MESSAGE_MAX) {
        return rr_run_stop(run, RR_MAPPING_TOO_LARGE, "the message has more than 1048576 bytes");
    }
    if (run->input->message.len == 0 && m->spec->skip_empty) {
        return rr_run_stop(run, RR_MAPPING_SKIPPED, RR_SKIP_EMPTY);
    }
    run->whole = rr_run_take(run, (m->whole_slots + 1) * sizeof *run->whole);
    if (run->whole == NULL || !take_frame(run) || !(m->spec->is_json ? rr_run_json : rr_run_proto)(run)) {
        return false;
    }
    rule = find_skip(run);
    return rule != NULL ? stop_skipped(run, rule) : put_records(o);
}

bool rr_mapping_is_json(const rr_mapping *mapping)
{
    return mapping->spec->is_json;
}

void rr_mapping_run(const rr_mapping *mapping, const rr_mapping_input *input, rr_arena *arena, rr_arena *scratch,
                    rr_mapping_result *result)
{
    const rr_arena before = *arena;
    rr_run run = {.mapping = mapping,
                  .input = input,
                  .arena = arena,
                  .scratch = scratch,
                  .outcome = RR_MAPPING_RECORDS,
                  .why = &result->why};
    output o = {&run, result};

    result->records = NULL;
    result->count = 0;
    result->why.len = 0;
    rr_arena_reset(scratch);
    if (!decode(&o)) {
        /* Blocks that were got stay the arena's, for what comes next. */
        arena->at = before.at;
        arena->end = before.end;
        arena->block = before.block;
        result->records = NULL;
        result->count = 0;
    }
    result->outcome = run.outcome;
}
