/* Keys are gathered and sorted, then read in pages: a million cells do not lie in memory at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include <stdlib.h>

#include "cell_json.h"
#include "cli.h"
#include "join.h"
#include "key.h"
#include "stored.h"

enum { PAGE = 512 };

typedef struct found {
    rr_slice key, business_key, metric_version;
    rr_window window;
} found;

typedef struct walk {
    const rr_store_ops *ops;
    rr_store *store;
    const rr_contract *contract;
    rr_slice prefix;
    rr_cells_filter filter;
    uint64_t printed;
    rr_arena keys, page;
    found *items;
    size_t count, room;
    bool failed;
    rr_buf out;
} walk;

/* Of sessions the window is not in the unit's key. */
static bool matches(const rr_cells_filter *filter, const rr_key_parts *parts)
{
    return (!filter->has_key || rr_slice_equal(filter->business_key, parts->business_key)) &&
           (!filter->has_metric_version || rr_slice_equal(filter->metric_version, parts->metric_version)) &&
           (!filter->has_window || !parts->has_window || rr_window_equal(filter->window, parts->window));
}

static bool note_key(void *context, rr_slice key)
{
    walk *w = context;
    rr_key_parts parts;
    found *item;
    bool session = w->contract->window_kind == RR_WINDOW_SESSION;

    if (w->count == w->room) {
        size_t room = w->room == 0 ? 1024 : w->room * 2;
        found *grown = realloc(w->items, room * sizeof *grown);

        if (grown == NULL) {
            w->failed = true;
            return false;
        }
        w->items = grown;
        w->room = room;
    }
    key = rr_arena_copy(&w->keys, key);
    if (key.data == NULL) {
        w->failed = true;
        return false;
    }
    if (!rr_key_parse(key, w->prefix, &w->keys, &parts) ||
        !rr_slice_equal(parts.contract, w->contract->name) || parts.is_sessions != session || !matches(&w->filter, &parts)) {
        return true;
    }
    item = &w->items[w->count++];
    *item = (found){key, parts.business_key, parts.metric_version, parts.window};
    return true;
}

static int by_identity(const void *left, const void *right)
{
    const found *a = left, *b = right;
    int keys = rr_slice_compare(a->business_key, b->business_key);
    int versions = keys != 0 ? keys : rr_slice_compare(a->metric_version, b->metric_version);

    return versions != 0 ? versions : rr_window_compare(a->window, b->window);
}

static rr_status print_unit(walk *w, const found *item, rr_slice value, rr_error *error)
{
    rr_unit unit;
    rr_status status = rr_stored_read(&unit, w->contract, value, &w->page, error);

    if (status != RR_OK) {
        return rr_error_within(error, "key %.*s", (int)item->key.len, item->key.data);
    }
    if (!rr_arena_reserve(&w->page, rr_join_need(&unit, NULL))) {
        return rr_fail(error, RR_MEMORY, "no memory to print a cell");
    }
    rr_unit_see(&unit, &w->page);
    for (size_t k = 0; k < unit.cell_count; k++) {
        bool session = w->contract->window_kind == RR_WINDOW_SESSION;
        rr_window window = session ? unit.cells[k].window : item->window;

        if (w->filter.has_window && !rr_window_equal(window, w->filter.window)) {
            continue;
        }
        w->printed++;
        rr_cell_line(&w->out, w->contract, item->business_key, item->metric_version, window, &unit.cells[k].view);
    }
    return RR_OK;
}

static rr_status print_page(walk *w, const found *items, size_t count, rr_error *error)
{
    rr_load loads[PAGE] = {0};
    rr_status status;

    rr_arena_reset(&w->page);
    rr_buf_clear(&w->out);
    for (size_t k = 0; k < count; k++) {
        loads[k].key = items[k].key;
    }
    status = w->ops->load(w->store, loads, count, &w->page, error);
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        if (loads[k].error.status != RR_OK) {
            *error = loads[k].error;
            status = error->status;
        } else if (loads[k].value.len != 0) {
            status = print_unit(w, &items[k], loads[k].value, error);
        }
    }
    if (status == RR_OK && !rr_buf_ok(&w->out)) {
        status = rr_fail(error, RR_MEMORY, "no memory to print cells");
    }
    if (status == RR_OK) {
        rr_cli_out(rr_buf_view(&w->out));
    }
    return status;
}

/* A scan may name a key twice. */
static void drop_repeats(walk *w)
{
    size_t kept = 0;

    for (size_t k = 0; k < w->count; k++) {
        if (k == 0 || !rr_slice_equal(w->items[k].key, w->items[kept - 1].key)) {
            w->items[kept++] = w->items[k];
        }
    }
    w->count = kept;
}

static rr_status print_all(walk *w, rr_error *error)
{
    rr_buf start = {0};
    rr_status status;

    rr_buf_slice(&start, w->prefix);
    rr_buf_text(&start, ":{");
    rr_key_escape(&start, w->contract->name);
    rr_buf_char(&start, ':');
    if (w->filter.has_key) {
        rr_key_escape(&start, w->filter.business_key);
        rr_buf_char(&start, '}');
    }
    status = rr_buf_ok(&start) ? w->ops->scan(w->store, rr_buf_view(&start), note_key, w, error)
                               : rr_fail(error, RR_MEMORY, "no memory for a key");
    rr_buf_fini(&start);
    if (status == RR_OK && w->failed) {
        status = rr_fail(error, RR_MEMORY, "no memory for the keys of the cells");
    }
    if (status != RR_OK || w->count == 0) {
        return status;
    }
    qsort(w->items, w->count, sizeof *w->items, by_identity);
    drop_repeats(w);
    for (size_t at = 0; at < w->count && status == RR_OK; at += PAGE) {
        status = print_page(w, w->items + at, w->count - at < PAGE ? w->count - at : PAGE, error);
    }
    return status;
}

rr_status rr_cells_print(const rr_store_ops *ops, rr_store *store, rr_slice prefix, const rr_contract *contract,
                         const rr_cells_filter *filter, uint64_t *printed, rr_error *error)
{
    walk w = {.ops = ops, .store = store, .contract = contract, .prefix = prefix};
    rr_status status;

    if (filter != NULL) {
        w.filter = *filter;
    }
    rr_arena_init(&w.keys, 0);
    rr_arena_init(&w.page, 0);
    status = print_all(&w, error);
    rr_arena_fini(&w.keys);
    rr_arena_fini(&w.page);
    rr_buf_fini(&w.out);
    free(w.items);
    if (printed != NULL) {
        *printed = w.printed;
    }
    return status;
}
