/* Keys are gathered page by page, then sorted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "listing.h"

#include <stdlib.h>

#include "key.h"

enum { ROUNDING = 128 }; /* an arena rounds each of a few copies up to 16 bytes */

typedef struct walk {
    rr_listing *listing;
    const rr_contract *contract;
    const rr_listing_filter *filter;
    rr_slice prefix;
    bool failed;
} walk;

static bool matches(const rr_listing_filter *filter, const rr_key_parts *parts)
{
    return filter == NULL ||
           ((!filter->has_key || rr_slice_equal(filter->business_key, parts->business_key)) &&
            (!filter->has_metric_version || rr_slice_equal(filter->metric_version, parts->metric_version)) &&
            (!filter->has_window || !parts->has_window || rr_window_equal(filter->window, parts->window)));
}

static bool make_room(rr_listing *listing)
{
    size_t room = listing->room == 0 ? 1024 : listing->room * 2;
    rr_listed *grown;

    if (listing->count < listing->room) {
        return true;
    }
    grown = realloc(listing->items, room * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    listing->items = grown;
    listing->room = room;
    return true;
}

static bool note_key(void *context, rr_slice key)
{
    walk *w = context;
    rr_key_parts parts;
    rr_slice kept;

    /* rr_key_parse takes room for the rest of the key for each of its three names. */
    if (!rr_arena_reserve(&w->listing->arena, 4 * key.len + ROUNDING) || !make_room(w->listing)) {
        w->failed = true;
        return false;
    }
    kept = rr_arena_copy(&w->listing->arena, key);
    if (rr_key_parse(kept, w->prefix, &w->listing->arena, &parts) &&
        rr_slice_equal(parts.contract, w->contract->name) &&
        parts.is_sessions == (w->contract->window_kind == RR_WINDOW_SESSION) && matches(w->filter, &parts)) {
        w->listing->items[w->listing->count++] =
            (rr_listed){kept, parts.business_key, parts.metric_version, parts.window};
    }
    return true;
}

int rr_listed_compare(const rr_listed *a, const rr_listed *b)
{
    int keys = rr_slice_compare(a->business_key, b->business_key);
    int versions = keys != 0 ? keys : rr_slice_compare(a->metric_version, b->metric_version);

    return versions != 0 ? versions : rr_window_compare(a->window, b->window);
}

static int by_identity(const void *a, const void *b)
{
    return rr_listed_compare(a, b);
}

/* A scan may return a key twice. */
static void drop_repeats(rr_listing *listing)
{
    size_t kept = 0;

    for (size_t k = 0; k < listing->count; k++) {
        if (k == 0 || !rr_slice_equal(listing->items[k].key, listing->items[kept - 1].key)) {
            listing->items[kept++] = listing->items[k];
        }
    }
    listing->count = kept;
}

rr_status rr_listing_read(rr_listing *listing, const rr_store_ops *ops, rr_store *store, rr_slice prefix,
                          const rr_contract *contract, const rr_listing_filter *filter, rr_error *error)
{
    walk w = {.listing = listing, .contract = contract, .filter = filter, .prefix = prefix};
    rr_buf start = {0};
    rr_status status;

    *listing = (rr_listing){0};
    rr_arena_init(&listing->arena, 0);
    rr_buf_slice(&start, prefix);
    rr_buf_text(&start, ":{");
    rr_key_escape(&start, contract->name);
    rr_buf_char(&start, ':');
    if (filter != NULL && filter->has_key) {
        rr_key_escape(&start, filter->business_key);
        rr_buf_char(&start, '}');
    }
    status = rr_buf_ok(&start) ? ops->scan(store, rr_buf_view(&start), note_key, &w, error) : RR_MEMORY;
    rr_buf_fini(&start);
    if (w.failed || status == RR_MEMORY) {
        return rr_fail(error, RR_MEMORY, "no memory for the keys of the cells");
    }
    if (status == RR_OK && listing->count != 0) {
        qsort(listing->items, listing->count, sizeof *listing->items, by_identity);
        drop_repeats(listing);
    }
    return status;
}

bool rr_listing_merge(rr_listing *listing, const rr_listing *more)
{
    for (size_t k = 0; k < more->count; k++) {
        const rr_listed *from = &more->items[k];

        if (!make_room(listing) || !rr_arena_reserve(&listing->arena, from->key.len + from->business_key.len +
                                                                          from->metric_version.len + ROUNDING)) {
            return false;
        }
        listing->items[listing->count++] =
            (rr_listed){rr_arena_copy(&listing->arena, from->key), rr_arena_copy(&listing->arena, from->business_key),
                        rr_arena_copy(&listing->arena, from->metric_version), from->window};
    }
    if (listing->count != 0) {
        qsort(listing->items, listing->count, sizeof *listing->items, by_identity);
        drop_repeats(listing);
    }
    return true;
}

void rr_listing_fini(rr_listing *listing)
{
    rr_arena_fini(&listing->arena);
    free(listing->items);
    *listing = (rr_listing){0};
}
