/* Lists the keys first, then reads the cells in pages, so that a million cells are not in memory at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cells.h"

#include "cell_json.h"
#include "cli.h"
#include "join.h"
#include "stored.h"

enum { PAGE = 512 };

typedef struct printing {
    const rr_store_ops *ops;
    rr_store *store;
    const rr_contract *contract;
    const rr_listing_filter *filter;
    uint64_t printed;
    rr_arena page;
    rr_buf out;
} printing;

static rr_status print_unit(printing *p, const rr_listed *item, rr_slice value, rr_error *error)
{
    rr_unit unit;
    rr_status status = rr_stored_read(&unit, p->contract, value, &p->page, error);

    if (status != RR_OK) {
        return rr_error_within(error, "key %.*s", (int)item->key.len, item->key.data);
    }
    if (!rr_arena_reserve(&p->page, rr_join_need(&unit, NULL))) {
        return rr_fail(error, RR_MEMORY, "no memory to print a cell");
    }
    rr_unit_see(&unit, &p->page);
    for (size_t k = 0; k < unit.cell_count; k++) {
        bool session = p->contract->window_kind == RR_WINDOW_SESSION;
        rr_window window = session ? unit.cells[k].window : item->window;

        if (p->filter == NULL || !p->filter->has_window || rr_window_equal(window, p->filter->window)) {
            p->printed++;
            rr_cell_line(&p->out, p->contract, item->business_key, item->metric_version, window, &unit.cells[k].view);
        }
    }
    return RR_OK;
}

static rr_status print_page(printing *p, const rr_listed *items, size_t count, rr_error *error)
{
    rr_load loads[PAGE] = {0};
    rr_status status;

    rr_arena_reset(&p->page);
    rr_buf_clear(&p->out);
    for (size_t k = 0; k < count; k++) {
        loads[k].key = items[k].key;
    }
    status = p->ops->load(p->store, loads, count, &p->page, error);
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        if (loads[k].error.status != RR_OK) {
            *error = loads[k].error;
            status = error->status;
        } else if (loads[k].value.len != 0) {
            status = print_unit(p, &items[k], loads[k].value, error);
        }
    }
    if (status == RR_OK && !rr_buf_ok(&p->out)) {
        status = rr_fail(error, RR_MEMORY, "no memory to print cells");
    }
    if (status == RR_OK) {
        rr_cli_out(rr_buf_view(&p->out));
    }
    return status;
}

rr_status rr_cells_print(const rr_store_ops *ops, rr_store *store, rr_slice prefix, const rr_contract *contract,
                         const rr_listing_filter *filter, uint64_t *printed, rr_error *error)
{
    printing p = {.ops = ops, .store = store, .contract = contract, .filter = filter};
    rr_listing listing;
    rr_status status = rr_listing_read(&listing, ops, store, prefix, contract, filter, error);

    rr_arena_init(&p.page, 0);
    for (size_t at = 0; at < listing.count && status == RR_OK; at += PAGE) {
        size_t left = listing.count - at;

        status = print_page(&p, listing.items + at, left < PAGE ? left : PAGE, error);
    }
    rr_listing_fini(&listing);
    rr_arena_fini(&p.page);
    rr_buf_fini(&p.out);
    if (printed != NULL) {
        *printed = p.printed;
    }
    return status;
}
