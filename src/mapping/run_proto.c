/* The trie over protobuf bytes. Merging is that of the wire: what comes later is written over what was captured. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

typedef struct walk {
    rr_run *run;
    const rr_mapping *mapping;
} walk;

static bool walk_message(const walk *w, const rr_node *node, rr_slot *slots, rr_slice bytes);

/* ---- oneofs ---- */

static void clear_below(const rr_node *node, rr_slot *slots);

static void clear(const rr_edge *edge, rr_slot *slots)
{
    if (edge->slot != RR_SLOT_NONE) {
        slots[edge->slot].kind = RR_SLOT_EMPTY;
    }
    if (edge->to != NULL) {
        clear_below(edge->to, slots);
    }
}

static void clear_below(const rr_node *node, rr_slot *slots)
{
    for (const rr_edge *edge = node->first; edge != NULL; edge = edge->next) {
        clear(edge, slots);
    }
}

static void clear_others(const rr_edge *now, rr_slot *slots)
{
    for (const rr_edge *edge = now->sibling; edge != now; edge = edge->sibling) {
        clear(edge, slots);
    }
}

/* ---- scalars ---- */

static void put_int(rr_slot *to, int64_t number)
{
    to->kind = RR_SLOT_INT;
    to->i = number;
}

static void put_uint(rr_slot *to, uint64_t number)
{
    to->kind = RR_SLOT_UINT;
    to->u = number;
}

static void put_real(rr_slot *to, double number)
{
    to->kind = RR_SLOT_REAL;
    to->real = number;
}

/* In place: a slot that is returned and copied costs more than the rest of a field. */
static inline __attribute__((always_inline)) void read_scalar(rr_schema_type type, const rr_proto_field *field,
                                                              rr_slot *to)
{
    switch (type) {
    case RR_SCHEMA_INT32:
    case RR_SCHEMA_ENUM:
    case RR_SCHEMA_SFIXED32: put_int(to, rr_proto_int32(field->value)); break;
    case RR_SCHEMA_INT64:
    case RR_SCHEMA_SFIXED64: put_int(to, rr_proto_int64(field->value)); break;
    case RR_SCHEMA_SINT32: put_int(to, rr_proto_sint32(field->value)); break;
    case RR_SCHEMA_SINT64: put_int(to, rr_proto_sint64(field->value)); break;
    case RR_SCHEMA_UINT32:
    case RR_SCHEMA_FIXED32: put_uint(to, rr_proto_uint32(field->value)); break;
    case RR_SCHEMA_UINT64:
    case RR_SCHEMA_FIXED64: put_uint(to, field->value); break;
    case RR_SCHEMA_BOOL:
        to->kind = RR_SLOT_BOOL;
        to->i = rr_proto_bool(field->value);
        break;
    case RR_SCHEMA_FLOAT: put_real(to, (double)rr_proto_float(field->value)); break;
    case RR_SCHEMA_DOUBLE: put_real(to, rr_proto_double(field->value)); break;
    default: to->kind = RR_SLOT_TEXT; to->text = field->bytes;
    }
}

/* A value that is nowhere on the wire though its entry is. */
static void put_zero(rr_schema_type type, rr_slot *to)
{
    const rr_proto_field none = {.bytes = {"", 0}};

    read_scalar(type, &none, to);
}

/* Of a closed enum what it does not name is an unknown field. */
static bool is_named(const rr_edge *edge, uint64_t number)
{
    return edge->closed == NULL || rr_schema_value_numbered(edge->closed, rr_proto_int32(number)) != NULL;
}

/* ---- maps: an entry is a message of a key and a value ---- */

static bool same_key(const rr_edge *edge, const rr_slot *key)
{
    return key->kind == RR_SLOT_TEXT ? rr_slice_equal(edge->name, key->text) : edge->bits == key->u;
}

/* The last key of the entry counts. */
static bool read_key(const walk *w, const rr_edge *map, rr_slice entry, rr_slot *key)
{
    rr_proto_reader in = rr_proto_over(entry);
    rr_proto_field field;

    put_zero(map->key, key);
    while (rr_proto_next(&in, &field)) {
        if (field.number == 1 && field.wire == rr_schema_wire(map->key)) {
            read_scalar(map->key, &field, key);
        }
    }
    if (key->kind == RR_SLOT_BOOL) {
        key->u = key->i != 0;
    }
    return in.why == NULL || rr_run_stop(w->run, RR_MAPPING_MALFORMED, in.why);
}

/* *known false: the value is one that a closed enum does not name, so the whole entry is an unknown field. */
static bool read_entry_value(const walk *w, const rr_edge *edge, rr_slice entry, rr_slot *value, bool *known)
{
    rr_proto_reader in = rr_proto_over(entry);
    rr_proto_field field;

    put_zero(edge->type, value);
    *known = true;
    while (rr_proto_next(&in, &field)) {
        if (field.number == 2 && field.wire == rr_schema_wire(edge->type)) {
            read_scalar(edge->type, &field, value);
        }
    }
    *known = is_named(edge, value->u);
    return in.why == NULL || rr_run_stop(w->run, RR_MAPPING_MALFORMED, in.why);
}

/* A later entry replaces the one before; only within one entry does a message merge. */
static bool enter_entry(const walk *w, const rr_edge *edge, rr_slot *slots, rr_slice entry)
{
    rr_proto_reader in = rr_proto_over(entry);
    rr_proto_field field;

    clear_below(edge->to, slots);
    slots[edge->slot].kind = RR_SLOT_THERE;
    while (rr_proto_next(&in, &field)) {
        if (field.number == 2 && field.wire == RR_PROTO_BYTES && !walk_message(w, edge->to, slots, field.bytes)) {
            return false;
        }
    }
    return in.why == NULL || rr_run_stop(w->run, RR_MAPPING_MALFORMED, in.why);
}

static bool take_pair(const walk *w, const rr_edge *map, rr_slot *slots, rr_slice key, rr_slice entry)
{
    rr_pairs *pairs = rr_run_pairs(w->run, &slots[map->slot]);
    rr_slot value;
    bool known;
    size_t at = 0;

    if (pairs == NULL || !read_entry_value(w, map, entry, &value, &known)) {
        return false;
    }
    while (at < pairs->count && !rr_slice_equal(pairs->items[at].key, key)) {
        at++;
    }
    if (!known) {
        return true;
    }
    if (at == RR_LIMIT_MEASURES) {
        pairs->too_many = true;
        return true;
    }
    pairs->items[at] = (rr_pair){key, value};
    pairs->count = at == pairs->count ? at + 1 : pairs->count;
    return true;
}

static bool take_entry(const walk *w, const rr_edge *map, rr_slot *slots, rr_slice entry)
{
    rr_slot key, value;
    bool known;

    if (!read_key(w, map, entry, &key)) {
        return false;
    }
    if (map->slot != RR_SLOT_NONE && !take_pair(w, map, slots, key.text, entry)) {
        return false;
    }
    for (const rr_edge *edge = map->to == NULL ? NULL : map->to->first; edge != NULL; edge = edge->next) {
        if (!same_key(edge, &key)) {
            continue;
        }
        if (edge->act == RR_ACT_DESCEND) {
            return enter_entry(w, edge, slots, entry);
        }
        if (!read_entry_value(w, edge, entry, &value, &known)) {
            return false;
        }
        if (known) {
            slots[edge->slot] = value;
        }
        return true;
    }
    return true;
}

/* ---- messages ---- */

static bool take_item(const walk *w, rr_slot *list, rr_slice bytes)
{
    rr_slot *slots = rr_run_item(w->run, list);

    return slots != NULL && walk_message(w, w->mapping->item, slots, bytes);
}

static const rr_edge *find(const rr_node *node, uint32_t number)
{
    const rr_edge *edge = node->first;

    if (number < RR_NODE_SMALL) {
        return node->small[number];
    }
    while (edge != NULL && edge->number != number) {
        edge = edge->next;
    }
    return edge;
}

/* False: an unknown field. */
static bool pass_guard(const rr_edge *edge, rr_slot *slots, const rr_proto_field *field)
{
    if (!is_named(edge, field->value)) {
        return false;
    }
    if (edge->sibling != NULL) {
        clear_others(edge, slots);
    }
    return true;
}

static bool take_field(const walk *w, const rr_edge *edge, rr_slot *slots, const rr_proto_field *field)
{
    if (edge->is_guarded && !pass_guard(edge, slots, field)) {
        return true;
    }
    if (edge->act == RR_ACT_CAPTURE) {
        read_scalar(edge->type, field, &slots[edge->slot]);
        return true;
    }
    switch (edge->act) {
    case RR_ACT_DESCEND: slots[edge->slot].kind = RR_SLOT_THERE; return walk_message(w, edge->to, slots, field->bytes);
    case RR_ACT_MAP: return take_entry(w, edge, slots, field->bytes);
    case RR_ACT_ITEMS: return take_item(w, &slots[edge->slot], field->bytes);
    default: return true;
    }
}

/* As deep as the paths are. */
static bool walk_message(const walk *w, const rr_node *node, rr_slot *slots, rr_slice bytes)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        const rr_edge *edge = find(node, field.number);

        if (edge != NULL && edge->wire == field.wire && !take_field(w, edge, slots, &field)) {
            return false;
        }
    }
    return in.why == NULL || rr_run_stop(w->run, RR_MAPPING_MALFORMED, in.why);
}

bool rr_run_proto(rr_run *run)
{
    const walk w = {run, run->mapping};

    return walk_message(&w, run->mapping->whole, run->whole, run->body);
}
