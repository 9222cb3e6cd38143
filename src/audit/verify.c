/* The order of a verification: the streams are read, then both stores are compared in rounds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <stdlib.h>

#include "verify_compare.h"
#include "verify_read.h"
#include "verify_repair.h"

enum {
    BATCH = 1024,
    PAGE = 256, /* units that are loaded at once */
    ROUNDS = 5,
    PAUSE_MS = 500,
    QUICK_ROUNDS = 10, /* further rounds, for cells that change all the time */
    QUICK_PAUSE_MS = 20
};

static rr_status compare_page(rr_verify *v, rr_listed *items, size_t count, bool last, size_t *kept, rr_error *error)
{
    rr_load expected[PAGE] = {0}, found[PAGE] = {0};
    rr_status status;

    rr_arena_reset(&v->page);
    for (size_t k = 0; k < count; k++) {
        expected[k].key = found[k].key = items[k].key;
    }
    status = rr_verify_ask_acked(v, error);
    status = status == RR_OK ? v->options->store_ops->load(v->options->store, found, count, &v->page, error) : status;
    /* Before a repair the store is read first and the streams after it. So the streams' side includes all that the
     * store's value holds, and the token that guards the swap is not newer than what was compared. */
    status = status == RR_OK && last && v->options->repair ? rr_verify_read_on(v) : status;
    status = status == RR_OK ? v->options->memory_ops->load(v->memory, expected, count, &v->page, error) : status;
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        rr_verify_pair p = {.listed = &items[k]};

        status = rr_verify_read_pair(v, &p, expected[k].value, found[k].value, error);
        if (status == RR_OK && rr_verify_compare_pair(v, &p, last)) {
            if (last && v->options->repair) {
                status = rr_verify_repair(v, &p, expected[k].value, found[k].value, error);
            }
            v->suspects.items[(*kept)++] = items[k];
        }
    }
    return status;
}

/* Keeps the suspects that differ. The last round keeps all, and reports and counts the differences. */
static rr_status compare_suspects(rr_verify *v, bool last, rr_error *error)
{
    size_t kept = 0, count = v->suspects.count;
    rr_status status = RR_OK;

    for (size_t at = 0; at < count && status == RR_OK; at += PAGE) {
        rr_listed page[PAGE];
        size_t n = count - at < PAGE ? count - at : PAGE;

        memcpy(page, v->suspects.items + at, n * sizeof *page);
        status = compare_page(v, page, n, last, &kept, error);
    }
    v->suspects.count = last ? count : kept;
    return status;
}

/* Lists the units of both stores. */
static rr_status list_all(rr_verify *v, rr_listing *all, rr_error *error)
{
    rr_listing more;
    rr_status status =
        rr_listing_read(all, v->options->memory_ops, v->memory, v->options->prefix, v->options->contract, NULL, error);

    if (status != RR_OK) {
        return status;
    }
    status = rr_listing_read(&more, v->options->store_ops, v->options->store, v->options->prefix, v->options->contract,
                             NULL, error);
    if (status == RR_OK && !rr_listing_merge(all, &more)) {
        status = rr_verify_no_memory(error);
    }
    rr_listing_fini(&more);
    return status;
}

static rr_status compare_all(rr_verify *v, rr_error *error)
{
    unsigned slow = v->options->rounds == 0 ? ROUNDS : v->options->rounds;
    unsigned rounds =
        slow == 1
            ? 1
            : slow + QUICK_ROUNDS; /* a cell that changes all the time rarely stays the same during a slow round */
    rr_status status = list_all(v, &v->suspects, error);

    for (unsigned k = 0; k + 1 < rounds && status == RR_OK; k++) {
        status = compare_suspects(v, false, error);
        if (status != RR_OK || v->suspects.count == 0) {
            break;
        }
        v->options->pause(k < slow ? PAUSE_MS : QUICK_PAUSE_MS);
        status = rr_verify_read_on(v);
    }
    if (status == RR_OK) {
        status = compare_suspects(v, true, error);
    }
    rr_listing_fini(&v->suspects);
    return status;
}

rr_status rr_verify_run(const rr_verify_options *options, rr_verify_totals *totals, rr_error *error)
{
    rr_batch_options batch = {.prefix = options->prefix};
    rr_store_options store_options = {0};
    rr_verify *v = calloc(1, sizeof *v);
    rr_status status;

    if (v == NULL) {
        return rr_verify_no_memory(error);
    }
    *totals = (rr_verify_totals){0};
    v->options = options;
    v->totals = totals;
    v->error = error;
    rr_arena_init(&v->page, 0);
    v->coverage = calloc(options->source_count + 1, sizeof *v->coverage);
    status = options->memory_ops->open("memory:", &store_options, &v->memory, error);
    v->batch = status == RR_OK ? rr_batch_new(options->memory_ops, v->memory, &batch) : NULL;
    if (status == RR_OK && (v->batch == NULL || v->coverage == NULL || !rr_tokens_init(&v->tokens) ||
                            !rr_intake_init(&v->intake, BATCH))) {
        status = rr_verify_no_memory(error);
    }
    status = status == RR_OK ? rr_verify_ask_coverage(v) : status;
    status = status == RR_OK ? rr_verify_read_on(v) : status;
    status = status == RR_OK ? compare_all(v, error) : status;
    rr_batch_free(v->batch);
    if (v->memory != NULL) {
        options->memory_ops->close(v->memory);
    }
    rr_intake_fini(&v->intake);
    rr_arena_fini(&v->page);
    free(v->coverage);
    free(v);
    return status;
}
