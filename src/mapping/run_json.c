/* The trie over JSON: yajl finds the tokens, names take the place of field numbers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_text.h"
#include "program.h"

enum { DEPTH_MAX = 64 }; /* objects and lists inside each other, also where nobody looks */

typedef enum level_kind {
    LEVEL_OBJECT, /* with a node */
    LEVEL_PAIRS,  /* an object that is captured whole; its node may be NULL */
    LEVEL_ITEMS   /* the list that `each` names */
} level_kind;

typedef struct level {
    level_kind kind;
    const rr_node *node;
    rr_slot *slots;
    rr_slot *list;       /* ITEMS, PAIRS */
    const rr_edge *edge; /* of the name last read; NULL: nobody asks for it */
    rr_slice name;       /* PAIRS: it */
} level;

typedef struct walk {
    rr_run *run;
    yajl_handle yajl;
    level levels[DEPTH_MAX];
    size_t depth;   /* levels open */
    size_t skipped; /* objects and lists open that nobody asks for */
} walk;

static int stop(walk *w, rr_slice name, const char *what)
{
    rr_text *why = w->run->why;

    if (name.len != 0) {
        rr_text_put(why, "name '");
        rr_text_slice(why, name);
        rr_text_put(why, "' ");
    }
    rr_text_put(why, what);
    rr_run_stop(w->run, RR_MAPPING_MALFORMED, "");
    return 0;
}

static level *now(walk *w)
{
    return w->depth == 0 ? NULL : &w->levels[w->depth - 1];
}

/* yajl's text, kept: it stands in the message, or (where it had escapes) in a buffer that is used again. */
static bool keep(walk *w, const char *text, size_t len, rr_slice *kept)
{
    rr_slice body = w->run->body;

    if (len == 0 || (text >= body.data && text < body.data + body.len)) {
        *kept = (rr_slice){text, len};
        return true;
    }
    *kept = rr_arena_copy(w->run->scratch, (rr_slice){text, len});
    return kept->len == len || rr_run_stop(w->run, RR_MAPPING_NO_MEMORY, "");
}

/* ---- values ---- */

static int take_pair(walk *w, level *at, rr_slot value)
{
    rr_pairs *pairs = rr_run_pairs(w->run, at->list);

    if (pairs == NULL) {
        return 0;
    }
    for (size_t k = 0; k < pairs->count; k++) {
        if (rr_slice_equal(pairs->items[k].key, at->name)) {
            return stop(w, at->name, "is there twice");
        }
    }
    if (pairs->count == RR_LIMIT_MEASURES) {
        pairs->too_many = true;
        return 1;
    }
    pairs->items[pairs->count++] = (rr_pair){at->name, value};
    return 1;
}

static int take_value(walk *w, const rr_edge *edge, rr_slot *slots, rr_slot value)
{
    rr_slot *slot = &slots[edge->slot];

    if (edge->act == RR_ACT_CAPTURE || value.kind == RR_SLOT_NULL) {
        *slot = value;
        return 1;
    }
    return stop(w, edge->name, edge->act == RR_ACT_ITEMS ? "has to be a list of objects" : "has to be an object");
}

static int on_scalar(walk *w, rr_slot value)
{
    level *at = now(w);

    if (w->skipped != 0) {
        return 1;
    }
    if (at == NULL) {
        if (value.kind == RR_SLOT_NULL && w->run->mapping->spec->skip_empty) {
            rr_run_stop(w->run, RR_MAPPING_SKIPPED, RR_SKIP_EMPTY);
            return 0;
        }
        return stop(w, (rr_slice){NULL, 0}, "the message is JSON, but not an object");
    }
    if (at->kind == LEVEL_ITEMS) {
        return stop(w, (rr_slice){NULL, 0}, "a list that `each` names holds something that is no object");
    }
    if (at->kind == LEVEL_PAIRS && !take_pair(w, at, value)) {
        return 0;
    }
    return at->edge == NULL ? 1 : take_value(w, at->edge, at->slots, value);
}

/* ---- objects and lists ---- */

static int skip(walk *w)
{
    w->skipped++;
    return w->depth + w->skipped <= DEPTH_MAX ? 1 : stop(w, (rr_slice){NULL, 0}, "the message is nested too deeply");
}

static int enter(walk *w, level next)
{
    if (w->depth == DEPTH_MAX) {
        return stop(w, (rr_slice){NULL, 0}, "the message is nested too deeply");
    }
    w->levels[w->depth++] = next;
    return 1;
}

static int enter_item(walk *w, rr_slot *list)
{
    rr_slot *slots = rr_run_item(w->run, list);

    return slots == NULL ? 0 : enter(w, (level){LEVEL_OBJECT, w->run->mapping->item, slots});
}

static int enter_edge(walk *w, level *at, bool is_object)
{
    const rr_edge *edge = at->edge;
    rr_slot *slot = &at->slots[edge->slot]; /* in JSON each has one */

    if (edge->act == RR_ACT_ITEMS && !is_object) {
        /* The list is there, also where it is empty. */
        slot->kind = RR_SLOT_LIST;
        return enter(w, (level){LEVEL_ITEMS, NULL, at->slots, slot});
    }
    if (edge->act == RR_ACT_MAP && is_object) {
        return rr_run_pairs(w->run, slot) == NULL ? 0 : enter(w, (level){LEVEL_PAIRS, edge->to, at->slots, slot});
    }
    if (edge->act == RR_ACT_DESCEND && is_object) {
        slot->kind = RR_SLOT_THERE;
        return enter(w, (level){LEVEL_OBJECT, edge->to, at->slots});
    }
    if (edge->act == RR_ACT_CAPTURE) {
        return stop(w, edge->name,
                    is_object ? "is an object; it has to be one value" : "is a list; it has to be one value");
    }
    return stop(w, edge->name, edge->act == RR_ACT_ITEMS ? "has to be a list of objects" : "has to be an object");
}

static int on_open(walk *w, bool is_object)
{
    level *at = now(w);

    if (w->skipped != 0) {
        return skip(w);
    }
    if (at == NULL) {
        return is_object ? enter(w, (level){LEVEL_OBJECT, w->run->mapping->whole, w->run->whole})
                         : stop(w, (rr_slice){NULL, 0}, "the message is a JSON list; a mapping begins at an object");
    }
    if (at->kind == LEVEL_ITEMS) {
        return is_object ? enter_item(w, at->list)
                         : stop(w, (rr_slice){NULL, 0}, "a list that `each` names holds something that is no object");
    }
    if (at->kind == LEVEL_PAIRS && !take_pair(w, at, (rr_slot){.kind = RR_SLOT_THERE})) {
        return 0;
    }
    return at->edge == NULL ? skip(w) : enter_edge(w, at, is_object);
}

static int on_close(walk *w)
{
    if (w->skipped != 0) {
        w->skipped--;
    } else {
        w->depth--;
    }
    return 1;
}

static int on_name(walk *w, const char *text, size_t len)
{
    level *at = now(w);
    rr_slice name = {text, len};
    const rr_edge *edge = at->node == NULL ? NULL : at->node->first;

    if (w->skipped != 0) {
        return 1;
    }
    while (edge != NULL && !rr_slice_equal(edge->name, name)) {
        edge = edge->next;
    }
    at->edge = edge;
    if (edge != NULL && at->slots[edge->slot].kind != RR_SLOT_EMPTY) {
        return stop(w, name, "is there twice");
    }
    return at->kind != LEVEL_PAIRS || keep(w, text, len, &at->name) ? 1 : 0;
}

/* ---- yajl's side ---- */

static int yajl_on_null(void *context)
{
    return on_scalar(context, (rr_slot){.kind = RR_SLOT_NULL});
}

static int yajl_on_boolean(void *context, int value)
{
    return on_scalar(context, (rr_slot){.kind = RR_SLOT_BOOL, .i = value != 0});
}

static int yajl_on_number(void *context, const char *text, size_t len)
{
    rr_slot value = {.kind = RR_SLOT_NUMBER};
    walk *w = context;

    return keep(w, text, len, &value.text) ? on_scalar(w, value) : 0;
}

static int yajl_on_string(void *context, const unsigned char *text, size_t len)
{
    rr_slot value = {.kind = RR_SLOT_TEXT};
    walk *w = context;

    return keep(w, (const char *)text, len, &value.text) ? on_scalar(w, value) : 0;
}

static int yajl_on_map_key(void *context, const unsigned char *text, size_t len)
{
    return on_name(context, (const char *)text, len);
}

static int yajl_on_start_map(void *context)
{
    return on_open(context, true);
}

static int yajl_on_start_array(void *context)
{
    return on_open(context, false);
}

static int yajl_on_end(void *context)
{
    return on_close(context);
}

static const yajl_callbacks callbacks = {
    .yajl_null = yajl_on_null,
    .yajl_boolean = yajl_on_boolean,
    .yajl_number = yajl_on_number,
    .yajl_string = yajl_on_string,
    .yajl_start_map = yajl_on_start_map,
    .yajl_map_key = yajl_on_map_key,
    .yajl_end_map = yajl_on_end,
    .yajl_start_array = yajl_on_start_array,
    .yajl_end_array = yajl_on_end,
};

static void say_yajl(walk *w, size_t at)
{
    rr_slice body = w->run->body;
    unsigned char *text = yajl_get_error(w->yajl, 0, (const unsigned char *)body.data, body.len);
    rr_slice line = rr_slice_of(text == NULL ? "" : (const char *)text);
    const char *end = line.len == 0 ? NULL : memchr(line.data, '\n', line.len);

    line.len = end == NULL ? line.len : (size_t)(end - line.data);
    rr_text_put(w->run->why, "not JSON (byte ");
    rr_text_u64(w->run->why, at);
    rr_text_put(w->run->why, "): ");
    rr_text_slice(w->run->why, line);
    rr_run_stop(w->run, RR_MAPPING_MALFORMED, "");
}

static void parse(walk *w, rr_json_memory *memory)
{
    yajl_alloc_funcs functions = rr_json_memory_funcs(memory);
    rr_slice body = w->run->body;
    yajl_status status;
    size_t at;

    w->yajl = yajl_alloc(&callbacks, &functions, w);
    status = yajl_parse(w->yajl, (const unsigned char *)body.data, body.len);
    at = yajl_get_bytes_consumed(w->yajl);
    if (status == yajl_status_ok) {
        status = yajl_complete_parse(w->yajl);
    }
    if (status == yajl_status_error && w->run->outcome == RR_MAPPING_RECORDS) {
        say_yajl(w, at);
    }
    yajl_free(w->yajl);
}

static bool is_blank(rr_slice text)
{
    for (size_t at = 0; at < text.len; at++) {
        if (memchr(" \t\r\n", text.data[at], 4) == NULL) {
            return false;
        }
    }
    return true;
}

static bool check_bytes(rr_run *run)
{
    size_t column;
    const char *fault = rr_json_fault(run->body, &column);

    if (is_blank(run->body)) {
        return rr_run_stop(run, RR_MAPPING_MALFORMED, "the message is empty; `skip: {empty: true}` passes over such");
    }

    if (fault == NULL) {
        return true;
    }
    rr_text_put(run->why, "the message (byte ");
    rr_text_u64(run->why, column);
    rr_text_put(run->why, ") ");
    return rr_run_stop(run, RR_MAPPING_MALFORMED, fault);
}

bool rr_run_json(rr_run *run)
{
    size_t need = rr_json_need(run->body.len);
    rr_json_memory memory;
    walk w;

    w.run = run;
    w.depth = w.skipped = 0;
    if (!check_bytes(run)) {
        return false;
    }
    memory.at = rr_arena_take(run->scratch, need);
    if (memory.at == NULL) {
        return rr_run_stop(run, RR_MAPPING_NO_MEMORY, "");
    }
    memory.end = memory.at + need;
    parse(&w, &memory);
    return run->outcome == RR_MAPPING_RECORDS;
}
