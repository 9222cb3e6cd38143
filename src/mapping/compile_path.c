/* Paths into the trie. What a schema says of presence, oneofs, maps and well-known types is settled here, so that a run
 * only follows edges. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "compiler.h"
#include "must.h"
#include "nearest.h"
#include "number.h"

enum { RESOLVED_MAX = 1024 };

/* A path half-way. */
typedef struct position {
    rr_compiler *c;
    const rr_mapping_path *path;
    rr_base at;
    size_t step; /* the next */
    char resolved[RESOLVED_MAX];
    size_t len;
} position;

static rr_slice step_of(const position *p)
{
    return p->path->steps[p->step];
}

static bool is_last(const position *p)
{
    return p->step + 1 == p->path->count;
}

#define WRONG(p, ...) rr_compile_fault((p)->c, (p)->path->place, __VA_ARGS__)

static void say(position *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(position *p, const char *format, ...)
{
    va_list arguments;
    int put;

    va_start(arguments, format);
    put = vsnprintf(p->resolved + p->len, sizeof p->resolved - p->len, format, arguments);
    va_end(arguments);
    p->len += put < 0 ? 0 : (size_t)put;
    p->len = p->len >= sizeof p->resolved ? sizeof p->resolved - 1 : p->len;
}

/* A name of JSON, or a key of a map: quoted, so that no two paths look alike. */
static void say_name(position *p, rr_slice name)
{
    rr_buf text = {0};

    rr_buf_json(&text, name);
    say(p, "%s%.*s", p->len == 0 ? "" : ".", (int)text.len, text.len == 0 ? "" : text.data);
    rr_buf_fini(&text);
}

static bool new_slot(position *p, uint16_t *slot)
{
    size_t *count = p->at.whole ? &p->c->mapping->whole_slots : &p->c->mapping->item_slots;

    if (*count == RR_MAPPING_SLOTS_MAX) {
        return WRONG(p, "the mapping reads more than %d values of a message", RR_MAPPING_SLOTS_MAX);
    }
    *slot = (uint16_t)(*count)++;
    return true;
}

/* ---- edges ---- */

static rr_edge *add_edge(rr_compiler *c, rr_node *node, uint32_t number, rr_slice name, uint64_t bits)
{
    rr_edge *edge = rr_compile_take(c, sizeof *edge), **last = &node->first;

    if (edge == NULL) {
        return NULL;
    }
    *edge = (rr_edge){.act = RR_ACT_CLEAR, .number = number, .name = name, .bits = bits, .slot = RR_SLOT_NONE};
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = edge;
    if (number != 0 && number < RR_NODE_SMALL) {
        node->small[number] = edge;
    }
    return edge;
}

static rr_edge *edge_of(rr_compiler *c, rr_node *node, uint32_t number, rr_slice name, uint64_t bits)
{
    for (rr_edge *edge = node->first; edge != NULL; edge = edge->next) {
        if (edge->number == number && edge->bits == bits && rr_slice_equal(edge->name, name)) {
            return edge;
        }
    }
    return add_edge(c, node, number, name, bits);
}

static const rr_schema_enum *closed_enum(const rr_schema_field *field)
{
    return field->enumeration != NULL && !field->enumeration->file->proto3 ? field->enumeration : NULL;
}

static void describe(rr_edge *edge, const rr_schema_field *field)
{
    if (edge->act != RR_ACT_CLEAR) {
        return; /* known already */
    }
    edge->type = field->type;
    edge->wire = rr_schema_wire(field->type);
    edge->closed = rr_schema_is_map(field) ? NULL : closed_enum(field);
    edge->is_guarded = edge->is_guarded || edge->closed != NULL;
}

/* Those of a oneof, in a circle: each clears the others. */
static bool link_oneof(position *p, const rr_schema_oneof *oneof)
{
    rr_edge *first = NULL, *before = NULL;

    for (size_t k = 0; k < oneof->field_count; k++) {
        rr_edge *edge = edge_of(p->c, p->at.node, oneof->fields[k]->number, (rr_slice){NULL, 0}, 0);

        if (edge == NULL) {
            return false;
        }
        describe(edge, oneof->fields[k]);
        edge->is_guarded = true;
        first = first == NULL ? edge : first;
        *(before == NULL ? &first->sibling : &before->sibling) = edge;
        before = edge;
    }
    RR_MUST(before != NULL); /* a oneof has fields */
    before->sibling = first;
    return true;
}

static rr_edge *field_edge(position *p, const rr_schema_field *field)
{
    rr_edge *edge = edge_of(p->c, p->at.node, field->number, (rr_slice){NULL, 0}, 0);

    if (edge == NULL) {
        return NULL;
    }
    describe(edge, field);
    return field->oneof == NULL || field->oneof->field_count == 1 || link_oneof(p, field->oneof) ? edge : NULL;
}

/* An edge gets its use; false: it has another one already. */
static bool use(position *p, rr_edge *edge, rr_act act, bool needs_slot, bool needs_node)
{
    bool map_below = (edge->act == RR_ACT_MAP && act == RR_ACT_DESCEND) ||
                     (edge->act == RR_ACT_DESCEND && act == RR_ACT_MAP); /* JSON: an object whole, and a name of it */

    if (edge->act != RR_ACT_CLEAR && edge->act != act && !map_below) {
        return WRONG(p, "'%.*s' is read as one value here, and as an object or a list elsewhere",
                     RR_SHOW(p->path->text));
    }
    edge->act = map_below ? RR_ACT_MAP : act;
    if (needs_slot && edge->slot == RR_SLOT_NONE && !new_slot(p, &edge->slot)) {
        return false;
    }
    if (needs_node && edge->to == NULL) {
        edge->to = rr_compile_take(p->c, sizeof *edge->to);
    }
    return !needs_node || edge->to != NULL;
}

static bool descend(position *p, rr_edge *edge, const rr_schema_message *message)
{
    if (!use(p, edge, RR_ACT_DESCEND, true, true)) {
        return false;
    }
    p->at.node = edge->to;
    p->at.message = message;
    p->at.there = edge->slot;
    return true;
}

/* ---- scalars ---- */

static rr_value_type value_type(rr_schema_type type)
{
    switch (type) {
    case RR_SCHEMA_UINT32:
    case RR_SCHEMA_UINT64:
    case RR_SCHEMA_FIXED32:
    case RR_SCHEMA_FIXED64: return RR_TYPE_UINT;
    case RR_SCHEMA_FLOAT:
    case RR_SCHEMA_DOUBLE: return RR_TYPE_REAL;
    case RR_SCHEMA_BOOL: return RR_TYPE_BOOL;
    case RR_SCHEMA_ENUM: return RR_TYPE_ENUM;
    case RR_SCHEMA_STRING:
    case RR_SCHEMA_BYTES: return RR_TYPE_TEXT;
    default: return RR_TYPE_INT;
    }
}

static bool capture(position *p, rr_edge *edge, const rr_schema_field *field, bool implicit, rr_ref *ref)
{
    if (edge == NULL || !use(p, edge, RR_ACT_CAPTURE, true, false)) {
        return false;
    }
    ref->slot = edge->slot;
    ref->type = value_type(field->type);
    ref->words = field->enumeration;
    ref->implicit = implicit;
    ref->parent = p->at.there;
    say(p, ":%s", rr_schema_type_word(field->type));
    return true;
}

static bool numbered(position *p, uint32_t number, bool implicit, rr_ref *ref)
{
    const rr_schema_field *field = rr_schema_field_numbered(p->at.message, number);

    return capture(p, field_edge(p, field), field, implicit, ref);
}

/* Timestamp and Duration are two slots below their message. */
static bool capture_time(position *p, rr_ref *ref)
{
    bool is_time = p->at.message->known == RR_SCHEMA_KNOWN_TIMESTAMP;
    size_t len = p->len;

    if (!numbered(p, 2, true, ref)) {
        return false;
    }
    ref->nanos = ref->slot;
    if (!numbered(p, 1, true, ref)) {
        return false;
    }
    p->len = len;
    say(p, is_time ? ":Timestamp" : ":Duration");
    ref->type = is_time ? RR_TYPE_TIMESTAMP : RR_TYPE_DURATION;
    return true;
}

static bool end_at_message(position *p, rr_want want, rr_ref *ref)
{
    rr_slice name = p->at.message->name;

    if (want == RR_WANT_MESSAGE) {
        return true;
    }
    if (want == RR_WANT_ITEMS) {
        return WRONG(p, "'%.*s' is one message, not repeated: for that, `each` is a list like [{at: %.*s}]",
                     RR_SHOW(p->path->text), RR_SHOW(p->path->text));
    }
    if (want == RR_WANT_MAP) {
        return WRONG(p, "'%.*s' is no map", RR_SHOW(p->path->text));
    }
    switch (p->at.message->known) {
    case RR_SCHEMA_KNOWN_TIMESTAMP:
    case RR_SCHEMA_KNOWN_DURATION: return capture_time(p, ref);
    case RR_SCHEMA_KNOWN_WRAPPER: say(p, ".1"); return numbered(p, 1, true, ref);
    default:
        return WRONG(p, "'%.*s' is a message, %.*s: a further step has to name one of its fields",
                     RR_SHOW(p->path->text), RR_SHOW(name));
    }
}

static bool end_at_scalar(position *p, rr_want want, rr_edge *edge, const rr_schema_field *field, bool implicit,
                          rr_ref *ref)
{
    const char *word = rr_schema_type_word(field->type);

    if (!is_last(p)) {
        return WRONG(p, "'%.*s' in '%.*s' is one %s: no step leads further", RR_SHOW(step_of(p)),
                     RR_SHOW(p->path->text), word);
    }
    if (want != RR_WANT_VALUE) {
        return WRONG(p, "'%.*s' is one %s, not %s", RR_SHOW(p->path->text), word,
                     want == RR_WANT_MAP     ? "a map"
                     : want == RR_WANT_ITEMS ? "a repeated message"
                                             : "a message");
    }
    return capture(p, edge, field, implicit, ref);
}

/* ---- maps ---- */

static bool read_key(position *p, rr_schema_type type, rr_slice text, rr_slice *name, uint64_t *bits)
{
    int64_t number;

    *name = (rr_slice){NULL, 0};
    *bits = 0;
    switch (value_type(type)) {
    case RR_TYPE_TEXT: *name = text; return true;
    case RR_TYPE_UINT:
        if (rr_number_u64(text, bits)) {
            return true;
        }
        break;
    case RR_TYPE_BOOL:
        *bits = rr_slice_equal(text, RR_SLICE("true"));
        if (*bits != 0 || rr_slice_equal(text, RR_SLICE("false"))) {
            return true;
        }
        break;
    default:
        if (rr_number_i64(text, &number)) {
            *bits = (uint64_t)number;
            return true;
        }
    }
    return WRONG(p, "'%.*s' in '%.*s' is no key of a map whose keys are %s", RR_SHOW(text), RR_SHOW(p->path->text),
                 rr_schema_type_word(type));
}

static rr_edge *map_edge(position *p, const rr_schema_field *field)
{
    rr_edge *edge = field_edge(p, field);

    if (edge == NULL || !use(p, edge, RR_ACT_MAP, false, false)) {
        return NULL;
    }
    edge->key = field->message->fields[0].type;
    return edge;
}

static bool whole_map(position *p, const rr_schema_field *field, rr_ref *ref)
{
    const rr_schema_field *key = &field->message->fields[0], *value = &field->message->fields[1];
    rr_edge *edge;

    if (key->type != RR_SCHEMA_STRING || value->message != NULL || value->type == RR_SCHEMA_ENUM ||
        value->type == RR_SCHEMA_BOOL || value->type == RR_SCHEMA_BYTES) {
        return WRONG(p, "'%.*s' is map<%s, %s>: a map of measures has texts for keys, and numbers or texts for values",
                     RR_SHOW(p->path->text), rr_schema_type_word(key->type), rr_schema_type_word(value->type));
    }
    edge = map_edge(p, field);
    if (edge == NULL || (edge->slot == RR_SLOT_NONE && !new_slot(p, &edge->slot))) {
        return false;
    }
    edge->type = value->type;
    ref->slot = edge->slot;
    ref->parent = p->at.there;
    ref->type = value_type(value->type);
    say(p, ":map<%s, %s>", rr_schema_type_word(key->type), rr_schema_type_word(value->type));
    return true;
}

/* The step behind a map is a key. */
static bool step_map(position *p, const rr_schema_field *field, rr_want want, rr_ref *ref)
{
    const rr_schema_field *value = &field->message->fields[1];
    rr_edge *map, *edge;
    rr_slice name;
    uint64_t bits;

    if (is_last(p)) {
        return want == RR_WANT_MAP
                   ? whole_map(p, field, ref)
                   : WRONG(p, "'%.*s' is a map: a further step has to name a key", RR_SHOW(p->path->text));
    }
    map = map_edge(p, field);
    p->step++;
    if (map == NULL || !read_key(p, map->key, step_of(p), &name, &bits)) {
        return false;
    }
    map->to = map->to == NULL ? rr_compile_take(p->c, sizeof *map->to) : map->to;
    edge = map->to == NULL ? NULL : edge_of(p->c, map->to, 0, name, bits);
    if (edge == NULL) {
        return false;
    }
    describe(edge, value);
    say_name(p, step_of(p));
    if (value->message == NULL) {
        return end_at_scalar(p, want, edge, value, false, ref);
    }
    return descend(p, edge, value->message) && (!is_last(p) || end_at_message(p, want, ref));
}

/* ---- steps ---- */

static bool unknown_field(position *p)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    rr_nearest_init(&nearest, step_of(p));
    for (size_t k = 0; k < p->at.message->field_count; k++) {
        rr_nearest_try(&nearest, p->at.message->fields[k].name);
    }
    return WRONG(p, "message %.*s has no field '%.*s'%s", RR_SHOW(p->at.message->name), RR_SHOW(step_of(p)),
                 rr_nearest_hint(&nearest, "", hint));
}

static bool step_repeated(position *p, const rr_schema_field *field, rr_want want, rr_base *to)
{
    rr_mapping *m = p->c->mapping;
    rr_edge *edge;

    if (!is_last(p) || want != RR_WANT_ITEMS || field->message == NULL) {
        return WRONG(p, "'%.*s' in '%.*s' is repeated%s", RR_SHOW(step_of(p)), RR_SHOW(p->path->text),
                     field->message == NULL    ? "; a record takes one value"
                     : want == RR_WANT_MESSAGE ? "; `each: PATH` makes a record of each"
                                               : "; `each` makes a record of each, and paths below begin there");
    }
    edge = field_edge(p, field);
    if (edge == NULL || !use(p, edge, RR_ACT_ITEMS, true, false)) {
        return false;
    }
    m->items_slot = edge->slot;
    *to = (rr_base){.node = m->item, .message = field->message, .there = RR_SLOT_NONE};
    return true;
}

static bool step_proto(position *p, rr_want want, rr_ref *ref, rr_base *to)
{
    const rr_schema_field *field = rr_schema_find_field(p->at.message, step_of(p));
    rr_edge *edge;

    if (field == NULL) {
        return unknown_field(p);
    }
    say(p, "%s%u", p->len == 0 ? "" : ".", field->number);
    if (rr_schema_is_map(field)) {
        return step_map(p, field, want, ref);
    }
    if (field->repeated) {
        return step_repeated(p, field, want, to);
    }
    edge = field_edge(p, field);
    if (edge == NULL) {
        return false;
    }
    if (field->message == NULL) {
        return end_at_scalar(p, want, edge, field, !field->has_presence, ref);
    }
    return descend(p, edge, field->message) && (!is_last(p) || end_at_message(p, want, ref));
}

static bool end_json(position *p, rr_edge *edge, rr_want want, rr_ref *ref, rr_base *to)
{
    static const rr_act acts[] = {RR_ACT_CAPTURE, RR_ACT_DESCEND, RR_ACT_ITEMS, RR_ACT_MAP};
    rr_mapping *m = p->c->mapping;

    if (want == RR_WANT_MESSAGE) {
        return descend(p, edge, NULL);
    }
    if (!use(p, edge, acts[want], true, false)) {
        return false;
    }
    if (want == RR_WANT_ITEMS) {
        m->items_slot = edge->slot;
        *to = (rr_base){.node = m->item, .there = RR_SLOT_NONE};
    } else {
        ref->slot = edge->slot;
        ref->parent = RR_SLOT_NONE;
        ref->type = RR_TYPE_ANY;
    }
    return true;
}

static bool step_json(position *p, rr_want want, rr_ref *ref, rr_base *to)
{
    rr_edge *edge = edge_of(p->c, p->at.node, 0, step_of(p), 0);

    say_name(p, step_of(p));
    if (edge == NULL) {
        return false;
    }
    return is_last(p) ? end_json(p, edge, want, ref, to) : descend(p, edge, NULL);
}

/* What was settled of the path; that of an item or a half stands before it. */
static bool resolved(position *p, rr_slice *text)
{
    *text = rr_arena_copy(p->c->arena, (rr_slice){p->resolved, p->len});
    if (text->data == NULL) {
        p->c->failed = true;
    }
    return text->data != NULL;
}

bool rr_compile_path(rr_compiler *c, const rr_base *base, const rr_mapping_path *path, rr_want want, rr_ref *ref,
                     rr_base *to)
{
    position p = {.c = c, .path = path, .at = *base};
    rr_slice text;

    if (path->count > RR_MAPPING_STEPS_MAX) {
        return WRONG(&p, "'%.*s' has more than %d steps", RR_SHOW(path->text), RR_MAPPING_STEPS_MAX);
    }
    say(&p, "%.*s", (int)base->resolved.len, base->resolved.len == 0 ? "" : base->resolved.data);
    for (; p.step < path->count; p.step++) {
        if (!(c->spec->is_json ? step_json : step_proto)(&p, want, ref, to)) {
            return false;
        }
    }
    if (!resolved(&p, &text)) {
        return false;
    }
    if (want == RR_WANT_MESSAGE) {
        *to = p.at;
        to->resolved = text;
    } else if (want == RR_WANT_ITEMS) {
        c->mapping->each = text;
    } else {
        ref->from = RR_FROM_PATH;
        ref->whole = base->whole;
        ref->text = path->text;
        ref->resolved = text;
    }
    return true;
}

const rr_base *rr_compile_begin(const rr_mapping_path *path, const rr_base *top, const rr_base *here)
{
    return path->whole ? top : here;
}
