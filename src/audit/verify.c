/* Two stores, one contract, compared unit by unit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <stdlib.h>

#include "admit.h"
#include "cell_json.h"
#include "key.h"
#include "listing.h"
#include "replacement.h"
#include "view.h"

enum { BATCH = 1024, PAGE = 256, LOOKS = 5, LOOK_PAUSE_MS = 500, QUICK_LOOKS = 10, QUICK_PAUSE_MS = 20 };

typedef struct covered {
    uint64_t first, reached; /* sequences */
    uint64_t settled;        /* what was acknowledged up to here must be in the store; UINT64_MAX: all of it */
    int64_t since_us;        /* when the first message was stored; only later windows are covered whole */
    bool whole;              /* the stream still has its first message */
    uint64_t starts_at;      /* what was stored before was never meant for us: by sequence, ... */
    int64_t starts_at_us;    /* ... or by time */
} covered;

typedef struct verify {
    const rr_verify_options *options;
    rr_verify_totals *totals;
    rr_store *memory;
    rr_batch *batch;
    rr_arena records, page;
    rr_item items[BATCH];
    rr_record decoded[BATCH];
    size_t count, taken; /* records in the arena: to be decided, and all */
    size_t source;       /* that is being read */
    covered *covered;
    rr_listing suspects; /* units to be compared */
    rr_tokens tokens;
    rr_status status;
    rr_error *error;
} verify;

static rr_status no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out while the streams were verified");
}

/* ---- reading the streams ---- */

static void decide(verify *v)
{
    v->status = v->count == 0 ? RR_OK : rr_batch_begin(v->batch, v->items, v->count, v->error);
    if (v->status == RR_OK && v->count != 0) {
        v->status = rr_batch_step(v->batch, v->options->now_us(), v->error);
    }
    v->totals->records += v->count;
    v->count = v->taken = 0;
    rr_arena_reset(&v->records);
}

static bool take(void *context, const rr_delivery *delivery)
{
    verify *v = context;
    const rr_bound_source *source = &v->options->sources[v->source];
    covered *c = &v->covered[v->source];

    if (c->reached == 0) {
        c->since_us = delivery->stored_at_us;
    }
    c->reached = delivery->stream_sequence;
    if (delivery->stream_sequence < c->starts_at || delivery->stored_at_us < c->starts_at_us ||
        source->route(source->context, delivery->subject) != v->options->contract) {
        return true;
    }
    /* No clock of ours: what was accepted then is judged as it was then. */
    if (!rr_admit_delivery(source, delivery, INT64_MIN, &v->records, &v->items[v->count], &v->decoded[v->count])) {
        v->status = no_memory(v->error);
        return false;
    }
    v->count += !v->items[v->count].refused;
    if (++v->taken == BATCH) {
        decide(v);
    }
    return v->status == RR_OK;
}

static rr_status read_on(verify *v)
{
    rr_status status = RR_OK;

    for (v->source = 0; v->source < v->options->source_count && status == RR_OK; v->source++) {
        const rr_bound_source *source = &v->options->sources[v->source];
        uint64_t upto = v->options->upto == NULL ? 0 : v->options->upto[v->source];

        if (v->options->upto != NULL && upto <= v->covered[v->source].reached) {
            continue;
        }
        status = source->ops->replay(source->source, v->covered[v->source].reached + 1, upto, take, v, v->error);
        if (status == RR_OK && v->status == RR_OK) {
            decide(v);
        }
        status = status == RR_OK ? v->status : status;
    }
    return status;
}

static rr_status see_coverage(verify *v)
{
    rr_status status = RR_OK;

    v->totals->covers_all = true;
    for (size_t k = 0; k < v->options->source_count && status == RR_OK; k++) {
        rr_source_info info;

        status = v->options->sources[k].ops->info(v->options->sources[k].source, &info, v->error);
        v->covered[k].first = info.first_sequence;
        v->covered[k].whole = info.first_sequence <= 1;
        v->covered[k].starts_at = info.starts_at;
        v->covered[k].starts_at_us = info.starts_at_us;
        v->totals->covers_all &= v->covered[k].whole;
    }
    return status;
}

/* A result cannot be older than its window's start. */
static bool is_covered(const verify *v, rr_window window)
{
    for (size_t k = 0; k < v->options->source_count; k++) {
        if (!v->covered[k].whole &&
            (v->options->contract->window_kind == RR_WINDOW_GLOBAL || window.start < v->covered[k].since_us)) {
            return false;
        }
    }
    return true;
}

/* ---- comparing ---- */

static rr_status read_unit(verify *v, rr_slice value, rr_unit *unit, rr_error *error)
{
    rr_status status = rr_stored_read(unit, v->options->contract, value, &v->page, error);

    if (status != RR_OK) {
        return status;
    }
    if (!rr_arena_reserve(&v->page, rr_join_need(unit, NULL))) {
        return no_memory(error);
    }
    rr_unit_see(unit, &v->page);
    return RR_OK;
}

/* While a conflict is open, which of two contents is held, or which lane is seen, depends on the order of arrival:
 * then it is compared what is known, not what is seen. */
static bool same_facts(const rr_cell *a, const rr_cell *b)
{
    return rr_version_compare(a->live_max, b->live_max) == 0 &&
           rr_version_compare(a->correction.version, b->correction.version) == 0 &&
           rr_version_compare(a->base, b->base) == 0 && a->fold.counting == b->fold.counting;
}

static bool same_cell(const rr_cell *a, const rr_cell *b)
{
    if (a->view.conflicts != b->view.conflicts) {
        return false;
    }
    return !rr_view_differs(&a->view, &b->view) || (a->view.conflicts != 0 && same_facts(a, b));
}

/* What readers are shown of a cell, where that is not what its facts give: somebody else wrote or removed it. */
typedef struct shown {
    bool wrong;
    rr_slice text; /* empty: nothing */
} shown;

typedef struct pair {
    const rr_listed *item;
    rr_unit expected, found;
    shown *shown; /* of each found cell */
    bool broken;
} pair;

static shown check_shown(rr_slice value, rr_buf *facts_give)
{
    static const char behind[] = ",\"updated_at\":";
    const char *end = value.len == 0 ? NULL : memmem(value.data, value.len, behind, sizeof behind - 1);
    rr_slice expected;
    bool same;

    rr_buf_text(facts_give, behind);
    expected = rr_buf_view(facts_give);
    same = value.len >= expected.len && memcmp(value.data, expected.data, expected.len) == 0;
    return (shown){!same, {value.data, end == NULL ? value.len : (size_t)(end - value.data)}};
}

/* The windows stand under keys of their own; read in one call with the group, so that they belong together. */
static rr_status see_sessions(verify *v, pair *p, rr_slice value, rr_error *error)
{
    const rr_unit *unit = &p->found;
    rr_load *loads = rr_arena_zero(&v->page, (unit->cell_count + 1) * sizeof *loads);
    rr_buf text = {0};
    rr_status status;

    if (loads == NULL) {
        return no_memory(error);
    }
    loads[0].key = p->item->key;
    for (size_t k = 0; k < unit->cell_count; k++) {
        rr_buf_clear(&text);
        rr_key_unit(&text, v->options->prefix, unit->contract, p->item->business_key, p->item->metric_version,
                    unit->cells[k].window);
        loads[k + 1].key = rr_arena_copy(&v->page, rr_buf_view(&text));
    }
    status = v->options->store_ops->load(v->options->store, loads, unit->cell_count + 1, &v->page, error);
    /* One that changed in between is looked at another time. */
    for (size_t k = 0; k < unit->cell_count && status == RR_OK && rr_slice_equal(loads[0].value, value); k++) {
        rr_buf_clear(&text);
        rr_stored_put_shown_session(&text, unit, &unit->cells[k]);
        p->shown[k] = check_shown(loads[k + 1].value, &text);
    }
    rr_buf_fini(&text);
    return status;
}

/* Readers see the value's text, not the facts behind it. */
static rr_status see_shown(verify *v, pair *p, rr_slice value, rr_error *error)
{
    rr_buf text = {0};
    rr_status status = RR_OK;

    p->shown = rr_arena_zero(&v->page, (p->found.cell_count + 1) * sizeof *p->shown);
    if (p->shown == NULL) {
        return no_memory(error);
    }
    if (p->found.cell_count == 0) {
        return RR_OK;
    }
    rr_stored_put_shown(&text, &p->found);
    if (v->options->contract->window_kind == RR_WINDOW_SESSION) {
        status = see_sessions(v, p, value, error);
    }
    if (status == RR_OK && !p->shown[0].wrong) {
        p->shown[0] = check_shown(value, &text);
    }
    rr_buf_fini(&text);
    return status;
}

/* Where the text is not what the facts give, the text. */
static rr_slice found_line(const rr_cell *cell, rr_slice line, const shown *as, rr_buf *text)
{
    if (cell == NULL || !as->wrong) {
        return line;
    }
    rr_buf_clear(text);
    if (as->text.len != 0) {
        rr_buf_json(text, as->text); /* it may be anything */
    }
    return rr_buf_view(text);
}

static rr_slice line_of(const verify *v, const pair *p, const rr_cell *cell, rr_buf *text)
{
    bool session = v->options->contract->window_kind == RR_WINDOW_SESSION;

    rr_buf_clear(text);
    if (cell != NULL) {
        rr_cell_line(text, v->options->contract, p->item->business_key, p->item->metric_version,
                     session ? cell->window : p->item->window, &cell->view);
        text->len -= text->len != 0; /* the newline */
    }
    return rr_buf_view(text);
}

static void report(const verify *v, const pair *p, const rr_cell *expected, const rr_cell *found, const shown *as)
{
    rr_buf a = {0}, b = {0};
    bool nothing = found == NULL || (as->wrong && as->text.len == 0);
    rr_verify_finding finding = p->broken          ? RR_VERIFY_BROKEN
                                : nothing          ? RR_VERIFY_MISSING
                                : expected == NULL ? RR_VERIFY_EXTRA
                                                   : RR_VERIFY_DIFFERS;

    v->options->report(v->options->context, finding, p->item->key, line_of(v, p, expected, &a),
                       found_line(found, line_of(v, p, found, &b), as, &b));
    rr_buf_fini(&a);
    rr_buf_fini(&b);
}

/* On a live stream: the store holds what came behind the end of our reading, or lacks what is still under way to it. */
static bool is_moving(const verify *v, const pair *p)
{
    for (size_t k = 0; k < v->options->source_count; k++) {
        rr_slice stream = v->options->sources[k].stream;

        if ((rr_slice_equal(stream, p->found.stream) && p->found.stream_sequence > v->covered[k].reached) ||
            (rr_slice_equal(stream, p->expected.stream) && p->expected.stream_sequence > v->covered[k].settled)) {
            return true;
        }
    }
    return false;
}

/* Asked before the store is: what is acknowledged by now is in it. Without a consumer nothing is under way. */
static rr_status see_settled(verify *v, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < v->options->source_count && status == RR_OK; k++) {
        rr_source_info info = {0};

        v->covered[k].settled = UINT64_MAX;
        if (v->options->upto == NULL) {
            status = v->options->sources[k].ops->info(v->options->sources[k].source, &info, error);
        }
        if (info.delivered != 0) {
            v->covered[k].settled = info.ack_floor;
        }
    }
    return status;
}

/* Walks the cells of both units by window. What differs is said and counted in the last look; a unit that does not
 * differ is counted, and not looked at again. True: something differs. */
static bool compare_units(verify *v, pair *p, bool last)
{
    bool session = v->options->contract->window_kind == RR_WINDOW_SESSION, differs = false, moving = is_moving(v, p);
    uint64_t equal = 0, not_verifiable = 0;
    size_t a = 0, b = 0;

    while (a < p->expected.cell_count || b < p->found.cell_count) {
        const rr_cell *expected = a < p->expected.cell_count ? &p->expected.cells[a] : NULL;
        const rr_cell *found = b < p->found.cell_count ? &p->found.cells[b] : NULL;
        int order = expected == NULL ? 1 : found == NULL ? -1 : rr_window_compare(expected->window, found->window);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): `order` says which of the two is there. */
        rr_window window = session ? (order <= 0 ? expected->window : found->window) : p->item->window;
        bool gone = rr_cell_may_be_gone(v->options->contract, window, v->options->now_us());
        const shown *as = &p->shown[b]; /* of `found`; there is one more than cells */

        expected = order <= 0 ? expected : NULL;
        found = order >= 0 ? found : NULL;
        a += order <= 0;
        b += order >= 0;
        if (gone || !is_covered(v, window)) {
            not_verifiable++;
        } else if (expected != NULL && found != NULL && !as->wrong && same_cell(expected, found)) {
            equal++;
        } else if (last && moving) {
            not_verifiable++; /* and what we know must not replace it */
        } else {
            differs = true;
            if (last) {
                v->totals->different++;
                report(v, p, expected, found, as);
            }
        }
    }
    if (!differs || last) {
        v->totals->equal += equal;
        v->totals->not_verifiable += not_verifiable;
    }
    return differs;
}

/* ---- repair ---- */

static bool all_parts(verify *v, const rr_listed *item, rr_slice value, rr_unit *unit)
{
    rr_parts_read read = {.key = item->key, .token = rr_value_token(value), .all = true};

    if (!unit->spilled) {
        return true;
    }
    if (v->options->memory_ops->read_parts(v->memory, &read, 1, &v->page, NULL) != RR_OK || read.changed) {
        return false;
    }
    for (size_t k = 0; k < read.part_count; k++) {
        if (!rr_part_read(unit, read.parts[k].name, read.parts[k].bytes, &v->page)) {
            return false;
        }
        unit->parts[unit->part_count - 1].dirty = true;
    }
    return true;
}

/* Something too short to have a token, that could guard its replacement: it goes first, if it is still what was seen. */
static rr_status clear_way(verify *v, rr_slice key, rr_slice *store_value, rr_error *error)
{
    bool done = false;
    rr_status status;

    if (store_value->len == 0 || rr_value_token(*store_value).len != 0) {
        return RR_OK;
    }
    status = v->options->store_ops->note_set(v->options->store, key, *store_value, (rr_slice){NULL, 0}, 0, NULL, &done,
                                             error);
    if (status == RR_OK && done) {
        *store_value = (rr_slice){NULL, 0};
    }
    return status;
}

/* Puts what the streams say in the place of what the store holds, unless that has changed meanwhile. */
static rr_status replace(verify *v, pair *p, rr_slice memory_value, rr_slice store_value, rr_error *error)
{
    rr_replacement replacement = {.unit = &p->expected,
                                  .key = p->item->key,
                                  .store_value = store_value,
                                  .business_key = p->item->business_key,
                                  .metric_version = p->item->metric_version,
                                  .window = p->item->window,
                                  .prefix = v->options->prefix,
                                  .now_us = v->options->now_us(),
                                  .stale_cells = p->found.cells,
                                  .stale_cell_count = p->found.cell_count};
    rr_swap swap;
    rr_status status;

    if (p->expected.cell_count == 0) {
        return RR_OK; /* nothing says that it should be removed: the streams may have been purged */
    }
    status = clear_way(v, p->item->key, &replacement.store_value, error);
    if (status != RR_OK) {
        return status;
    }
    if (!all_parts(v, p->item, memory_value, &p->expected) ||
        !rr_replacement_prepare(&replacement, &v->tokens, &v->page, &swap)) {
        return no_memory(error);
    }
    status = v->options->store_ops->swap(v->options->store, &swap, 1, &v->page, error);
    if (status == RR_OK && swap.answer == RR_SWAP_FAILED) {
        *error = swap.error;
        return error->status;
    }
    v->totals->repaired += status == RR_OK && swap.answer == RR_SWAP_WON;
    return status;
}

/* ---- one look at all suspects ---- */

static rr_status look_at_page(verify *v, rr_listed *items, size_t count, bool last, size_t *kept, rr_error *error)
{
    rr_load expected[PAGE] = {0}, found[PAGE] = {0};
    rr_status status;

    rr_arena_reset(&v->page);
    for (size_t k = 0; k < count; k++) {
        expected[k].key = found[k].key = items[k].key;
    }
    status = see_settled(v, error);
    status = status == RR_OK ? v->options->store_ops->load(v->options->store, found, count, &v->page, error) : status;
    /* What is to be replaced is read first and the streams behind it: so what they say includes all that it holds, and
     * its token, which guards the swap, is from before. */
    status = status == RR_OK && last && v->options->repair ? read_on(v) : status;
    status = status == RR_OK ? v->options->memory_ops->load(v->memory, expected, count, &v->page, error) : status;
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        pair p = {.item = &items[k]};
        rr_error why = {0};

        status = read_unit(v, expected[k].value, &p.expected, error);
        if (status == RR_OK && read_unit(v, found[k].value, &p.found, &why) == RR_INPUT) {
            p.broken = true;
            rr_unit_init(&p.found, v->options->contract);
        }
        status = status == RR_OK ? see_shown(v, &p, found[k].value, error) : status;
        if (status == RR_OK && compare_units(v, &p, last)) {
            if (last && v->options->repair) {
                status = replace(v, &p, expected[k].value, found[k].value, error);
            }
            v->suspects.items[(*kept)++] = items[k];
        }
    }
    return status;
}

/* Keeps the suspects that differ, but for the last look, which counts. */
static rr_status look(verify *v, bool last, rr_error *error)
{
    size_t kept = 0, count = v->suspects.count;
    rr_status status = RR_OK;

    for (size_t at = 0; at < count && status == RR_OK; at += PAGE) {
        rr_listed page[PAGE];
        size_t n = count - at < PAGE ? count - at : PAGE;

        memcpy(page, v->suspects.items + at, n * sizeof *page);
        status = look_at_page(v, page, n, last, &kept, error);
    }
    v->suspects.count = last ? count : kept;
    return status;
}

/* The units of both stores. */
static rr_status list_all(verify *v, rr_listing *all, rr_error *error)
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
        status = no_memory(error);
    }
    rr_listing_fini(&more);
    return status;
}

static rr_status compare_all(verify *v, rr_error *error)
{
    unsigned slow = v->options->looks == 0 ? LOOKS : v->options->looks;
    unsigned looks = slow == 1 ? 1 : slow + QUICK_LOOKS; /* between two changes of a cell that is hot */
    rr_status status = list_all(v, &v->suspects, error);

    for (unsigned k = 0; k + 1 < looks && status == RR_OK; k++) {
        status = look(v, false, error);
        if (status != RR_OK || v->suspects.count == 0) {
            break;
        }
        v->options->pause(k < slow ? LOOK_PAUSE_MS : QUICK_PAUSE_MS);
        status = read_on(v);
    }
    if (status == RR_OK) {
        status = look(v, true, error);
    }
    rr_listing_fini(&v->suspects);
    return status;
}

rr_status rr_verify_run(const rr_verify_options *options, rr_verify_totals *totals, rr_error *error)
{
    rr_batch_options batch = {.prefix = options->prefix};
    rr_store_options store_options = {0};
    verify *v = calloc(1, sizeof *v);
    rr_status status;

    if (v == NULL) {
        return no_memory(error);
    }
    *totals = (rr_verify_totals){0};
    v->options = options;
    v->totals = totals;
    v->error = error;
    rr_arena_init(&v->records, 0);
    rr_arena_init(&v->page, 0);
    v->covered = calloc(options->source_count + 1, sizeof *v->covered);
    status = options->memory_ops->open("memory:", &store_options, &v->memory, error);
    v->batch = status == RR_OK ? rr_batch_new(options->memory_ops, v->memory, &batch) : NULL;
    if (status == RR_OK && (v->batch == NULL || v->covered == NULL || !rr_tokens_init(&v->tokens))) {
        status = no_memory(error);
    }
    status = status == RR_OK ? see_coverage(v) : status;
    status = status == RR_OK ? read_on(v) : status;
    status = status == RR_OK ? compare_all(v, error) : status;
    rr_batch_free(v->batch);
    if (v->memory != NULL) {
        options->memory_ops->close(v->memory);
    }
    rr_arena_fini(&v->records);
    rr_arena_fini(&v->page);
    free(v->covered);
    free(v);
    return status;
}
