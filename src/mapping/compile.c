/* A specification into a program. Everything that is wrong is told, each with its place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler.h"
#include "nearest.h"

/* ---- paths as text ---- */

/* ["a.b"], from behind the bracket. */
static const char *read_quoted(const char **at, const char *end, rr_arena *arena, rr_slice *step)
{
    const char *from = *at;
    char *to = rr_arena_take(arena, (size_t)(end - from) + 1), *start = to;

    if (to == NULL) {
        return "needs more memory than there is";
    }
    if (from == end || *from++ != '"') {
        return "has a bracket that is not [\"name\"]";
    }
    while (from < end && *from != '"') {
        if (*from == '\\' && from + 1 < end) {
            from++;
        }
        *to++ = *from++;
    }
    if (end - from < 2 || from[1] != ']') {
        return "has a bracket that is not [\"name\"]";
    }
    *at = from + 2;
    *step = (rr_slice){start, (size_t)(to - start)};
    return step->len == 0 ? "has an empty step" : NULL;
}

static const char *read_step(const char **at, const char *end, rr_arena *arena, rr_slice *step)
{
    const char *from = *at;

    if (*from == '[') {
        *at = from + 1;
        return read_quoted(at, end, arena, step);
    }
    while (*at < end && **at != '.' && **at != '[') {
        ++*at;
    }
    *step = (rr_slice){from, (size_t)(*at - from)};
    return step->len == 0 ? "has an empty step" : NULL;
}

const char *rr_mapping_path_read(rr_slice text, rr_arena *arena, rr_mapping_path *path)
{
    rr_slice *steps = rr_arena_take(arena, RR_MAPPING_STEPS_MAX * sizeof *steps);
    const char *at = text.data, *end = at + text.len, *why = NULL;

    path->text = text;
    path->whole = text.len != 0 && *at == '/';
    path->steps = steps;
    path->count = 0;
    at += path->whole ? 1 : 0;
    if (steps == NULL) {
        return "needs more memory than there is";
    }
    if (at == end) {
        return "has no step";
    }
    while (why == NULL && at < end) {
        if (path->count == RR_MAPPING_STEPS_MAX) {
            return "has more than 16 steps";
        }
        why = read_step(&at, end, arena, &steps[path->count++]);
        if (why == NULL && at < end && *at == '.' && ++at == end) {
            why = "has an empty step";
        } else if (why == NULL && at < end && *at != '[' && at[-1] != '.') {
            why = "needs a dot behind a bracket";
        }
    }
    return why;
}

/* ---- the parts of a mapping ---- */

static bool find_message(rr_compiler *c, rr_base *top)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    top->message = rr_schema_find_message(c->schema, c->spec->message);
    if (top->message != NULL) {
        c->mapping->message = top->message->name;
        return true;
    }
    rr_nearest_init(&nearest, c->spec->message);
    for (size_t k = 0; k < c->schema->message_count; k++) {
        rr_nearest_try(&nearest, c->schema->messages[k].name);
    }
    return rr_compile_fault(c, c->spec->message_place, "the descriptor set has no message '%.*s'%s",
                            RR_SHOW(c->spec->message), rr_nearest_hint(&nearest, "", hint));
}

static bool add_tests(rr_compiler *c, const rr_base *top, const rr_mapping_test *said, size_t count, const rr_test **to,
                      size_t *to_count)
{
    rr_test *tests = rr_compile_take(c, (count + 1) * sizeof *tests);
    bool good = tests != NULL;

    for (size_t k = 0; tests != NULL && k < count; k++) {
        good = rr_compile_test(c, top, &said[k], &tests[k]) && good;
    }
    *to = tests;
    *to_count = count;
    return good;
}

/* `op` first: a record that it skips is not held against the other fields. */
static void op_first(rr_step *steps, size_t count)
{
    for (size_t k = 1; k < count; k++) {
        if (steps[k].target == RR_TARGET_OP) {
            rr_step op = steps[k];

            memmove(&steps[1], &steps[0], k * sizeof *steps);
            steps[0] = op;
            return;
        }
    }
}

static void add_fields(rr_compiler *c, const rr_base *top, const rr_base *here, rr_emit *emit)
{
    const rr_mapping_spec *spec = c->spec;
    rr_step *steps = rr_compile_take(c, (spec->field_count + 1) * sizeof *steps);

    for (size_t k = 0; steps != NULL && k < spec->field_count; k++) {
        const rr_mapping_field *field = &spec->fields[k];

        if (emit->has_op && field->target == RR_TARGET_OP) {
            continue;
        }
        c->mapping->retracts_mapped = c->mapping->retracts_mapped || field->target == RR_TARGET_RETRACTS_NUMBER;
        rr_compile_field(c, top, here, field, &steps[emit->step_count++]);
    }
    if (steps != NULL) {
        op_first(steps, emit->step_count);
    }
    emit->steps = steps;
    emit->has_map = spec->has_measures_map;
    if (emit->has_map) {
        rr_compile_path(c, rr_compile_begin(&spec->measures_map, top, here), &spec->measures_map, RR_WANT_MAP,
                        &emit->map, NULL);
    }
}

static void add_half(rr_compiler *c, const rr_base *top, const rr_mapping_half *half)
{
    rr_emit *emit = &c->mapping->emits[c->mapping->emit_count++];
    rr_base here;

    *emit = (rr_emit){.at = half->at.text,
                      .has_op = half->has_op,
                      .op = half->op,
                      .withdraws = half->has_withdraws ? half->withdraws : c->spec->withdraws};
    if (!rr_compile_path(c, top, &half->at, RR_WANT_MESSAGE, NULL, &here)) {
        return;
    }
    emit->there = here.there;
    emit->resolved = here.resolved;
    add_tests(c, top, half->when, half->when_count, &emit->when, &emit->when_count);
    /* Their messages are mostly of one type: a fault is told once. */
    if (!c->failed) {
        add_fields(c, top, &here, emit);
    }
}

static void add_one(rr_compiler *c, const rr_base *top, const rr_base *here)
{
    rr_emit *emit = &c->mapping->emits[c->mapping->emit_count++];

    *emit = (rr_emit){.items = c->spec->has_each, .there = RR_SLOT_NONE, .withdraws = c->spec->withdraws};
    add_fields(c, top, here, emit);
}

static void add_emits(rr_compiler *c, const rr_base *top)
{
    const rr_mapping_spec *spec = c->spec;
    rr_base here = *top;

    if (spec->has_each && !rr_compile_path(c, top, &spec->each, RR_WANT_ITEMS, NULL, &here)) {
        return;
    }
    if (spec->half_count == 0) {
        add_one(c, top, &here);
    }
    for (size_t k = 0; k < spec->half_count && k < RR_MAPPING_HALVES_MAX; k++) {
        add_half(c, top, &spec->halves[k]);
    }
}

const rr_mapping *rr_mapping_compile(const rr_mapping_spec *spec, const rr_schema *schema, const rr_contract *contract,
                                     rr_arena *arena, rr_mapping_fault *fault, void *context)
{
    rr_compiler c = {spec, schema, contract, arena, fault, context, NULL, false};
    rr_base top = {.whole = true, .there = RR_SLOT_NONE};

    c.mapping = rr_compile_take(&c, sizeof *c.mapping);
    if (c.mapping == NULL) {
        return NULL;
    }
    c.mapping->spec = spec;
    c.mapping->items_slot = RR_SLOT_NONE;
    c.mapping->whole = top.node = rr_compile_take(&c, sizeof *top.node);
    c.mapping->item = rr_compile_take(&c, sizeof *c.mapping->item);
    if (c.failed || (!spec->is_json && !find_message(&c, &top))) {
        return NULL;
    }
    add_tests(&c, &top, spec->skips, spec->skip_count, &c.mapping->skips, &c.mapping->skip_count);
    add_emits(&c, &top);
    if (contract != NULL) {
        rr_compile_against(&c);
    }
    return c.failed ? NULL : c.mapping;
}

size_t rr_mapping_headers(const rr_mapping *mapping, const rr_slice **names)
{
    *names = mapping->headers;
    return mapping->header_count;
}
