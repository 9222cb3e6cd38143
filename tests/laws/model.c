/* Slow and plain: every question walks over all records. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <stdlib.h>

#include "cell_json.h"
#include "delta.h"
#include "must.h"
#include "number.h"
#include "register.h"
#include "packed.h"

enum { WHOLE = 140, DIGITS = 260, TEXT_MAX = DIGITS + 4, CELLS_MAX = 64, MEASURES_MAX = 2 };

/* ---- numbers: one digit a place, signed, carried only when printed ---- */

typedef struct number {
    int digit[DIGITS]; /* [WHOLE] is the first behind the point */
} number;

static void read_number(rr_slice text, number *n)
{
    rr_number_parts parts;
    int sign;
    int64_t at;

    memset(n, 0, sizeof *n);
    RR_MUST(rr_number_scan(text, &parts));
    sign = parts.negative ? -1 : 1;
    at = WHOLE - (int64_t)parts.whole.len - parts.exponent;
    for (size_t k = 0; k < parts.whole.len + parts.fraction.len; k++, at++) {
        char c = k < parts.whole.len ? parts.whole.data[k] : parts.fraction.data[k - parts.whole.len];

        RR_MUST(c == '0' || (at >= 0 && at < DIGITS));
        if (c != '0') {
            n->digit[at] = sign * (c - '0');
        }
    }
}

static void add_number(number *sum, const number *more)
{
    for (size_t k = 0; k < DIGITS; k++) {
        sum->digit[k] += more->digit[k];
    }
}

/* Every digit from 0 to 9; true if the number is below zero: then the digits are of what it lacks to zero. */
static bool carry(number *n)
{
    int over = 0;

    for (size_t k = DIGITS; k-- > 0;) {
        int digit = n->digit[k] + over;

        over = digit >= 0 ? digit / 10 : -((9 - digit) / 10);
        n->digit[k] = digit - 10 * over;
    }
    return over < 0;
}

static size_t print_number(number n, char *text)
{
    size_t first = 0, last = DIGITS, len = 0;

    if (carry(&n)) {
        for (size_t k = 0; k < DIGITS; k++) {
            n.digit[k] = -n.digit[k];
        }
        /* The digits stand for 10^WHOLE more than the number: the complement drops that, too. */
        carry(&n);
        text[len++] = '-';
    }
    while (first < WHOLE - 1 && n.digit[first] == 0) {
        first++;
    }
    while (last > WHOLE && n.digit[last - 1] == 0) {
        last--;
    }
    for (size_t k = first; k < last; k++) {
        if (k == WHOLE) {
            text[len++] = '.';
        }
        text[len++] = (char)('0' + n.digit[k]);
    }
    return len;
}

/* ---- contents ---- */

static rr_slice measure_text(const rr_record *record, rr_slice name)
{
    for (size_t k = 0; k < record->measure_count; k++) {
        if (rr_slice_equal(record->measures[k].name, name)) {
            return record->measures[k].text;
        }
    }
    return (rr_slice){NULL, 0};
}

static void print_double(rr_slice text, char *to, size_t *len)
{
    double real = 0;

    RR_MUST(rr_number_double(text, &real));
    *len = rr_double_print(real, to);
}

static void put_values(rr_buf *out, const rr_contract *contract, const rr_record *record, const number *sums)
{
    for (size_t k = 0; k < contract->measure_count; k++) {
        const rr_measure_def *def = &contract->measures[k];
        bool quoted = def->type == RR_MEASURE_DECIMAL;
        char text[TEXT_MAX];
        size_t len;

        if (sums != NULL) {
            len = print_number(sums[k], text);
        } else if (def->type == RR_MEASURE_DOUBLE) {
            print_double(measure_text(record, def->name), text, &len);
        } else {
            number n;

            read_number(measure_text(record, def->name), &n);
            len = print_number(n, text);
        }
        rr_buf_char(out, k == 0 ? '{' : ',');
        rr_buf_json(out, def->name);
        rr_buf_format(out, quoted ? ":\"%.*s\"" : ":%.*s", (int)len, text);
    }
    rr_buf_char(out, '}');
}

static bool same_content(const rr_contract *contract, const rr_record *a, const rr_record *b)
{
    rr_buf first = {0}, second = {0};
    bool same = a->op == b->op && a->status == b->status;

    if (contract->mode == RR_MODE_DELTA && a->origin == RR_ORIGIN_LIVE) {
        same = same && rr_version_compare(a->version, b->version) == 0;
    }
    if (contract->corrections == RR_CORRECTIONS_COORDINATED && a->origin == RR_ORIGIN_CORRECTION) {
        same = same && a->has_base == b->has_base && rr_version_compare(a->base_version, b->base_version) == 0;
    }
    put_values(&first, contract, a, NULL);
    put_values(&second, contract, b, NULL);
    same = same && rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second));
    rr_buf_fini(&first);
    rr_buf_fini(&second);
    return same;
}

/* ---- one cell ---- */

typedef struct shown {
    const char *state;
    const rr_record *values; /* present, and not a sum */
    number sums[MEASURES_MAX];
    bool summed;
    rr_version version;
    rr_origin origin;
    rr_result_status status;
    bool equivocation, overlapping;
    rr_window merged_into;
} shown;

typedef struct model {
    const rr_contract *contract;
    const rr_record *records;
    size_t count;
    bool session;
} model;

static bool same_group(const rr_record *a, const rr_record *b)
{
    return rr_slice_equal(a->business_key, b->business_key) && rr_slice_equal(a->metric_version, b->metric_version);
}

/* Does a record speak about the cell of `cell`? Its own window, or, for a sum of sessions, one inside. */
static bool inside(const model *m, const rr_record *cell, const rr_record *record)
{
    return same_group(cell, record) && (m->session ? rr_window_contains(cell->window, record->window)
                                                   : rr_window_equal(cell->window, record->window));
}

static void show_cumulative(const model *m, const rr_record *cell, shown *s)
{
    const rr_record *newest = NULL;

    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];

        if (!same_group(cell, record) || !rr_window_equal(cell->window, record->window)) {
            continue;
        }
        if (newest == NULL || rr_version_compare(record->version, newest->version) > 0) {
            newest = record;
            s->equivocation = false;
        } else if (rr_version_compare(record->version, newest->version) == 0) {
            s->equivocation = s->equivocation || !same_content(m->contract, record, newest);
        }
    }
    RR_MUST(newest != NULL);
    s->state = "present";
    s->values = newest;
    s->version = newest->version;
    s->status = newest->status;
}

static bool is_withdrawn(const model *m, const rr_record *contribution)
{
    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];

        if (record->op == RR_OP_RETRACT && same_group(record, contribution) &&
            rr_slice_equal(record->identity, contribution->identity) &&
            (m->session ? rr_window_contains(record->window, contribution->window)
                        : rr_window_equal(record->window, contribution->window))) {
            return true;
        }
    }
    return false;
}

/* The newest correction of the cell, the first of its order; contradicted: another content came under it. */
static const rr_record *correction_of(const model *m, const rr_record *cell, bool *contradicted)
{
    const rr_record *newest = NULL;

    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];
        int order;

        if (record->origin != RR_ORIGIN_CORRECTION || !inside(m, cell, record)) {
            continue;
        }
        order = newest == NULL ? 1 : rr_version_compare(record->version, newest->version);
        if (newest != NULL && m->contract->corrections == RR_CORRECTIONS_CONDITIONAL &&
            rr_version_compare(record->base_version, newest->base_version) != 0) {
            order = rr_version_compare(record->base_version, newest->base_version);
        }
        if (order > 0) {
            newest = record;
            *contradicted = false;
        } else if (order == 0) {
            *contradicted = *contradicted || !same_content(m->contract, record, newest);
        }
    }
    return newest;
}

static bool is_contribution(const rr_record *record)
{
    return record->origin == RR_ORIGIN_LIVE && record->op == RR_OP_ASSERT;
}

/* Is an earlier record the contribution of this identity (under sessions: of this window, too)? */
static bool was_before(const model *m, size_t at, const rr_record *cell)
{
    for (size_t k = 0; k < at; k++) {
        if (is_contribution(&m->records[k]) && inside(m, cell, &m->records[k]) &&
            rr_slice_equal(m->records[k].identity, m->records[at].identity) && !is_withdrawn(m, &m->records[k])) {
            return true;
        }
    }
    return false;
}

static bool is_contradicted(const model *m, const rr_record *contribution)
{
    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];

        if (is_contribution(record) && same_group(record, contribution) &&
            rr_window_equal(record->window, contribution->window) &&
            rr_slice_equal(record->identity, contribution->identity) &&
            !same_content(m->contract, record, contribution)) {
            return true;
        }
    }
    return false;
}

static void add_values(const model *m, shown *s, const rr_record *record)
{
    for (size_t k = 0; k < m->contract->measure_count; k++) {
        number n;

        read_number(measure_text(record, m->contract->measures[k].name), &n);
        add_number(&s->sums[k], &n);
    }
}

/* Sections 7, 8 and 9: what counts. True if anything does. */
static bool sum_deltas(const model *m, const rr_record *cell, const rr_record *correction, shown *s)
{
    bool any = false;

    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];

        if (!is_contribution(record) || !inside(m, cell, record) || is_withdrawn(m, record) || was_before(m, k, cell)) {
            continue;
        }
        if (correction != NULL &&
            rr_version_compare(record->version,
                               correction->has_base ? correction->base_version : correction->version) <= 0) {
            continue;
        }
        any = true;
        add_values(m, s, record);
        s->status = record->status > s->status ? record->status : s->status;
        s->equivocation = s->equivocation || is_contradicted(m, record);
    }
    return any;
}

static bool counts_of_its_own(const model *m, const rr_record *cell)
{
    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];

        if (is_contribution(record) && same_group(cell, record) && rr_window_equal(cell->window, record->window) &&
            !is_withdrawn(m, record)) {
            return true;
        }
    }
    return false;
}

static int64_t length(rr_window window)
{
    return window.end - window.start;
}

/* The longest present window around it (ties: the earlier start). */
static const rr_record *replaced_by(const model *m, const rr_record *cell)
{
    const rr_record *longest = NULL;

    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];

        if (same_group(cell, record) && rr_window_contains(record->window, cell->window) &&
            !rr_window_equal(record->window, cell->window) && counts_of_its_own(m, record) &&
            (longest == NULL || length(record->window) > length(longest->window) ||
             (length(record->window) == length(longest->window) && record->window.start < longest->window.start))) {
            longest = record;
        }
    }
    return longest;
}

static bool overlaps_another(const model *m, const rr_record *cell)
{
    for (size_t k = 0; k < m->count; k++) {
        const rr_record *record = &m->records[k];

        if (same_group(cell, record) && !rr_window_equal(record->window, cell->window) &&
            rr_window_overlaps(record->window, cell->window) && counts_of_its_own(m, record) &&
            replaced_by(m, record) == NULL) {
            return true;
        }
    }
    return false;
}

static void show_delta(const model *m, const rr_record *cell, shown *s)
{
    bool contradicted = false;
    const rr_record *correction = correction_of(m, cell, &contradicted);
    bool any = sum_deltas(m, cell, correction, s);

    s->summed = true;
    s->state = (m->session ? counts_of_its_own(m, cell) : any) ? "present" : "withdrawn";
    if (correction != NULL && !any) {
        *s = (shown){.state = "present",
                     .values = correction,
                     .version = correction->version,
                     .origin = RR_ORIGIN_CORRECTION,
                     .status = correction->status};
    } else if (correction != NULL) {
        add_values(m, s, correction);
    }
    s->equivocation = s->equivocation || contradicted;
    if (m->session) {
        const rr_record *outer = replaced_by(m, cell);

        s->merged_into = outer == NULL ? (rr_window){0, 0} : outer->window;
        s->overlapping = outer == NULL && counts_of_its_own(m, cell) && overlaps_another(m, cell);
    }
}

static void put_cell(const model *m, const rr_record *cell, const shown *s, rr_buf *out)
{
    bool merged = s->merged_into.end != 0;

    rr_buf_text(out, "{\"business_key\":");
    rr_buf_json(out, cell->business_key);
    rr_buf_text(out, ",\"metric_version\":");
    rr_buf_json(out, cell->metric_version);
    if (m->contract->window_kind != RR_WINDOW_GLOBAL) {
        rr_buf_text(out, ",\"window\":");
        rr_window_json(out, cell->window);
    }
    rr_buf_format(out, ",\"state\":\"%s\"", merged ? "merged" : s->state);
    if (merged) {
        rr_buf_text(out, ",\"merged_into\":");
        rr_window_json(out, s->merged_into);
    } else if (s->state[0] == 'p') {
        rr_buf_text(out, ",\"measures\":");
        put_values(out, m->contract, s->values, s->values == NULL ? s->sums : NULL);
        rr_buf_text(out, ",\"version\":");
        rr_version_json(out, s->version);
        rr_buf_format(out, ",\"origin\":\"%s\",\"status\":\"%s\"", rr_origin_word(s->origin),
                      rr_result_word(s->status));
    }
    rr_buf_format(out, ",\"conflicts\":[%s%s%s]}\n", s->equivocation && !merged ? "\"equivocation\"" : "",
                  s->equivocation && s->overlapping ? "," : "", s->overlapping ? "\"overlapping_sessions\"" : "");
}

/* ---- all cells ---- */

bool rr_model_knows(const rr_contract *contract, bool honest)
{
    if (contract->mode == RR_MODE_DELTA) {
        return contract->window_kind != RR_WINDOW_SESSION || honest;
    }
    return contract->mode == RR_MODE_CUMULATIVE && contract->corrections == RR_CORRECTIONS_NONE &&
           contract->window_kind != RR_WINDOW_SESSION;
}

static int by_place(const void *a, const void *b)
{
    const rr_record *first = *(const rr_record *const *)a, *second = *(const rr_record *const *)b;
    int order = rr_slice_compare(first->business_key, second->business_key);

    order = order != 0 ? order : rr_slice_compare(first->metric_version, second->metric_version);
    return order != 0 ? order : rr_window_compare(first->window, second->window);
}

void rr_model_print(const rr_contract *contract, const rr_record *records, size_t count, rr_buf *out)
{
    model m = {contract, records, count, contract->window_kind == RR_WINDOW_SESSION};
    const rr_record *cells[CELLS_MAX];

    RR_MUST(count <= CELLS_MAX && contract->measure_count <= MEASURES_MAX);
    for (size_t k = 0; k < count; k++) {
        cells[k] = &records[k];
    }
    qsort(cells, count, sizeof *cells, by_place);
    for (size_t k = 0; k < count; k++) {
        shown s = {0};

        if (k > 0 && by_place(&cells[k - 1], &cells[k]) == 0) {
            continue;
        }
        if (contract->mode == RR_MODE_CUMULATIVE) {
            show_cumulative(&m, cells[k], &s);
        } else {
            show_delta(&m, cells[k], &s);
        }
        put_cell(&m, cells[k], &s, out);
    }
}

/* ---- folds ---- */

static const char *delta_fault(const rr_unit *unit, const rr_cell *cell, rr_arena *scratch)
{
    rr_version cut = rr_delta_cut(unit->contract, cell);
    rr_fold fold = {.sum = rr_values_zero(unit->contract, scratch)};

    for (size_t k = 0; k < unit->part_count; k++) {
        rr_share share = rr_delta_share(&unit->parts[k], cell->window, cut);

        if (share.counts) {
            RR_MUST(rr_arena_reserve(scratch, 2 * rr_values_need(unit->contract)));
            fold.sum = rr_values_add(unit->contract, fold.sum, share.values, scratch);
        }
        fold.counting += share.counts;
        fold.closed += share.closed;
        fold.contradicted += share.contradicted;
        fold.own += rr_delta_owns(&unit->parts[k], cell->window);
    }
    if (!rr_slice_equal(fold.sum, cell->fold.sum)) {
        return "the sum that is kept is not that of all parts";
    }
    return fold.counting == cell->fold.counting && fold.closed == cell->fold.closed &&
                   fold.contradicted == cell->fold.contradicted && fold.own == cell->fold.own
               ? NULL
               : "the counts that are kept are not those of all parts";
}

/* The contributor that a part of this cell is of; data NULL: it is of another. */
static rr_slice contributor_of(const rr_unit *unit, const rr_cell *cell, const rr_part *part)
{
    rr_packed in = rr_packed_over(part->id);

    RR_MUST(rr_packed_get_byte(&in) == 'c');
    if (unit->contract->window_kind == RR_WINDOW_SESSION && !rr_window_equal(rr_packed_get_window(&in), cell->window)) {
        return (rr_slice){NULL, 0};
    }
    return (rr_slice){in.at, (size_t)(in.end - in.at)};
}

static void fold_register(rr_fold *fold, const rr_register *reg, rr_slice contributor)
{
    int order = rr_version_compare(reg->newest.version, fold->top.version);

    if (rr_register_stands(reg) &&
        (order > 0 || (order == 0 && rr_slice_compare(contributor, fold->top_contributor) > 0))) {
        fold->top = reg->newest;
        fold->top_contributor = contributor;
    }
    if (rr_register_equivocates(reg)) {
        fold->equivocations++;
        fold->equivocation_max = rr_version_max(fold->equivocation_max, reg->contradicted);
    }
    if (rr_register_mismatches(reg)) {
        fold->mismatches++;
        fold->mismatch_max = rr_version_max(fold->mismatch_max, reg->newest.version);
    }
}

static const char *retraction_fault(const rr_unit *unit, const rr_cell *cell)
{
    const rr_fold *kept = &cell->fold;
    rr_fold fold = {0};
    rr_version live_max = {0, 0};

    for (size_t k = 0; k < unit->part_count; k++) {
        rr_slice contributor = contributor_of(unit, cell, &unit->parts[k]);

        if (contributor.data != NULL) {
            fold_register(&fold, &unit->parts[k].reg, contributor);
            live_max = rr_version_max(live_max, rr_register_known(&unit->parts[k].reg));
        }
    }
    if (rr_version_compare(fold.top.version, kept->top.version) != 0 || fold.top.status != kept->top.status ||
        !rr_slice_equal(fold.top.values, kept->top.values) ||
        (rr_version_is_set(fold.top.version) && !rr_slice_equal(fold.top_contributor, kept->top_contributor))) {
        return "the newest standing that is kept is not that of all contributors";
    }
    if (fold.equivocations != kept->equivocations || fold.mismatches != kept->mismatches ||
        rr_version_compare(fold.equivocation_max, kept->equivocation_max) != 0 ||
        rr_version_compare(fold.mismatch_max, kept->mismatch_max) != 0) {
        return "the open conflicts that are kept are not those of all contributors";
    }
    return rr_version_compare(live_max, cell->live_max) == 0 ? NULL : "the newest live version that is kept is not it";
}

const char *rr_fold_fault(const rr_unit *unit, rr_arena *scratch)
{
    const char *fault = NULL;

    for (size_t k = 0; fault == NULL && k < unit->cell_count; k++) {
        if (unit->contract->mode == RR_MODE_DELTA) {
            RR_MUST(rr_arena_reserve(scratch, rr_values_need(unit->contract)));
            fault = delta_fault(unit, &unit->cells[k], scratch);
        } else if (unit->contract->mode == RR_MODE_RETRACTION) {
            fault = retraction_fault(unit, &unit->cells[k]);
        }
    }
    return fault;
}
