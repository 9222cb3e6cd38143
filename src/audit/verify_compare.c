/* Compares a unit of the streams with that of the store: its facts, and the text that readers see. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_compare.h"

#include "cell_json.h"
#include "key.h"
#include "printable.h"
#include "verify_read.h"
#include "view.h"

static rr_status read_unit(rr_verify *v, rr_slice value, rr_unit *unit, rr_error *error)
{
    rr_status status = rr_stored_read(unit, v->options->contract, value, &v->page, error);

    if (status != RR_OK) {
        return status;
    }
    if (!rr_arena_reserve(&v->page, rr_join_need(unit, NULL))) {
        return rr_verify_no_memory(error);
    }
    rr_unit_see(unit, &v->page);
    return RR_OK;
}

/* facts_give: the text that follows from the facts, with the brace at its start. */
static rr_verify_shown check_shown(rr_slice value, rr_buf *facts_give)
{
    static const char behind[] = ",\"updated_at\":";
    const char *end = value.len == 0 ? NULL : memmem(value.data, value.len, behind, sizeof behind - 1);
    rr_slice expected;
    bool is_same;

    rr_buf_text(facts_give, behind);
    expected = rr_buf_view(facts_give);
    is_same = value.len >= expected.len && memcmp(value.data, expected.data, expected.len) == 0;
    return (rr_verify_shown){!is_same, {value.data, end == NULL ? value.len : (size_t)(end - value.data)}};
}

/* Each window of a session group has a key of its own. One call loads the windows and the group, so that they belong
 * together. */
static rr_status check_sessions_shown(rr_verify *v, rr_verify_pair *p, rr_slice value, rr_error *error)
{
    const rr_unit *unit = &p->found;
    rr_load *loads = rr_arena_zero(&v->page, (unit->cell_count + 1) * sizeof *loads);
    rr_buf text = {0};
    rr_status status;

    if (loads == NULL) {
        return rr_verify_no_memory(error);
    }
    loads[0].key = p->listed->key;
    for (size_t k = 0; k < unit->cell_count; k++) {
        rr_buf_clear(&text);
        rr_key_unit(&text, v->options->prefix, unit->contract, p->listed->business_key, p->listed->metric_version,
                    unit->cells[k].window);
        loads[k + 1].key = rr_buf_ok(&text) ? rr_arena_copy(&v->page, rr_buf_view(&text)) : (rr_slice){NULL, 0};
        if (loads[k + 1].key.data == NULL) {
            rr_buf_fini(&text);
            return rr_verify_no_memory(error);
        }
    }
    status = v->options->store_ops->load(v->options->store, loads, unit->cell_count + 1, &v->page, error);
    /* A group that changed since it was read is compared in a later round. */
    for (size_t k = 0; k < unit->cell_count && status == RR_OK && rr_slice_equal(loads[0].value, value); k++) {
        rr_buf_clear(&text);
        rr_stored_put_shown_session(&text, unit, &unit->cells[k]);
        p->shown[k] = check_shown(loads[k + 1].value, &text);
        status = rr_buf_ok(&text) ? RR_OK : rr_verify_no_memory(error);
    }
    rr_buf_fini(&text);
    return status;
}

/* Readers see the value's text, so the text is compared too, and not only the facts behind it. */
static rr_status check_all_shown(rr_verify *v, rr_verify_pair *p, rr_slice value, rr_error *error)
{
    rr_buf text = {0};
    rr_status status = RR_OK;

    p->shown = rr_arena_zero(&v->page, (p->found.cell_count + 1) * sizeof *p->shown);
    if (p->shown == NULL) {
        return rr_verify_no_memory(error);
    }
    if (p->found.cell_count == 0) {
        return RR_OK;
    }
    rr_stored_put_shown(&text, &p->found);
    if (v->options->contract->window_kind == RR_WINDOW_SESSION) {
        status = check_sessions_shown(v, p, value, error);
    }
    if (status == RR_OK && !p->shown[0].wrong) {
        p->shown[0] = check_shown(value, &text);
        status = rr_buf_ok(&text) ? RR_OK : rr_verify_no_memory(error);
    }
    rr_buf_fini(&text);
    return status;
}

rr_status rr_verify_read_pair(rr_verify *v, rr_verify_pair *p, rr_slice expected, rr_slice found, rr_error *error)
{
    rr_error why = {0};
    rr_status status = read_unit(v, expected, &p->expected, error);

    if (status != RR_OK) {
        return status;
    }
    status = read_unit(v, found, &p->found, &why);
    if (status == RR_INPUT) {
        p->broken = true;
        rr_unit_init(&p->found, v->options->contract);
    } else if (status != RR_OK) {
        *error = why;
        return status;
    }
    return check_all_shown(v, p, found, error);
}

/* While a conflict is open, the order of arrival decides which of two contents is held and which lane readers see
 * (semantics, law 1). Then the facts that do not depend on the order are compared. */
static bool is_same_facts(const rr_cell *a, const rr_cell *b)
{
    return rr_version_compare(a->live_max, b->live_max) == 0 &&
           rr_version_compare(a->correction.version, b->correction.version) == 0 &&
           rr_version_compare(a->base, b->base) == 0 && a->fold.counting == b->fold.counting;
}

static bool is_same_cell(const rr_cell *a, const rr_cell *b)
{
    if (a->view.conflicts != b->view.conflicts) {
        return false;
    }
    return !rr_view_differs(&a->view, &b->view) || (a->view.conflicts != 0 && is_same_facts(a, b));
}

/* The cell as a line, or the text that readers see, where somebody else wrote that. */
static rr_slice found_line(const rr_cell *cell, rr_slice line, const rr_verify_shown *shown, rr_buf *text)
{
    if (cell == NULL || !shown->wrong) {
        return line;
    }
    rr_buf_clear(text);
    if (shown->text.len != 0) {
        rr_buf_json_printable(text, shown->text); /* as a string, since it may hold any bytes */
    }
    return rr_buf_view(text);
}

static rr_slice line_of(const rr_verify *v, const rr_verify_pair *p, const rr_cell *cell, rr_buf *text)
{
    bool session = v->options->contract->window_kind == RR_WINDOW_SESSION;

    rr_buf_clear(text);
    if (cell != NULL) {
        rr_cell_line(text, v->options->contract, p->listed->business_key, p->listed->metric_version,
                     session ? cell->window : p->listed->window, &cell->view);
        text->len -= text->len != 0; /* the newline */
    }
    return rr_buf_view(text);
}

static void report(const rr_verify *v, const rr_verify_pair *p, const rr_cell *expected, const rr_cell *found,
                   const rr_verify_shown *shown)
{
    rr_buf a = {0}, b = {0};
    bool nothing = found == NULL || (shown->wrong && shown->text.len == 0);
    rr_verify_finding finding = p->broken          ? RR_VERIFY_BROKEN
                                : nothing          ? RR_VERIFY_MISSING
                                : expected == NULL ? RR_VERIFY_EXTRA
                                                   : RR_VERIFY_DIFFERS;

    v->options->report(v->options->context, finding, p->listed->key, line_of(v, p, expected, &a),
                       found_line(found, line_of(v, p, found, &b), shown, &b));
    rr_buf_fini(&a);
    rr_buf_fini(&b);
}

/* Both lists of cells are sorted by window. */
bool rr_verify_compare_pair(rr_verify *v, rr_verify_pair *p, bool last)
{
    bool session = v->options->contract->window_kind == RR_WINDOW_SESSION, differs = false,
         moving = rr_verify_is_moving(v, p);
    uint64_t equal = 0, not_verifiable = 0;
    size_t a = 0, b = 0;

    while (a < p->expected.cell_count || b < p->found.cell_count) {
        const rr_cell *expected = a < p->expected.cell_count ? &p->expected.cells[a] : NULL;
        const rr_cell *found = b < p->found.cell_count ? &p->found.cells[b] : NULL;
        int order = expected == NULL ? 1 : found == NULL ? -1 : rr_window_compare(expected->window, found->window);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): `order` says which of the two is there. */
        rr_window window = session ? (order <= 0 ? expected->window : found->window) : p->listed->window;
        bool gone = rr_cell_may_be_gone(v->options->contract, window, v->options->now_us());
        const rr_verify_shown *shown = &p->shown[b]; /* of `found`; the array has one more than there are cells */

        expected = order <= 0 ? expected : NULL;
        found = order >= 0 ? found : NULL;
        a += order <= 0;
        b += order >= 0;
        if (gone || !rr_verify_covers(v, window)) {
            not_verifiable++;
        } else if (expected != NULL && found != NULL && !shown->wrong && is_same_cell(expected, found)) {
            equal++;
        } else if (last && moving) {
            not_verifiable++; /* and a repair must not replace the cell */
        } else {
            differs = true;
            if (last) {
                v->totals->different++;
                report(v, p, expected, found, shown);
            }
        }
    }
    if (!differs || last) {
        v->totals->equal += equal;
        v->totals->not_verifiable += not_verifiable;
    }
    return differs;
}
