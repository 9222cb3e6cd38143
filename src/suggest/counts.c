/* Times are plausible between 20 years before the message was stored and 10 years after it. The units do not overlap. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "counts.h"

#include <stdlib.h>

#include "number.h"
#include "time.h"

#define YEAR_US (INT64_C(31557600) * RR_SECOND_US)
#define EPOCH_2000_US (INT64_C(946684800) * RR_SECOND_US)
#define EPOCH_2100_US (INT64_C(4102444800) * RR_SECOND_US)

static int compare_marks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

bool rr_value_time(const rr_value_seen *value, rr_time_unit unit, int64_t *time_us)
{
    static const int64_t factors[] = {[RR_TIME_S] = 1000000, [RR_TIME_MS] = 1000, [RR_TIME_US] = 1};

    if (value == NULL) {
        return false;
    }
    if (unit == RR_TIME_RFC3339) {
        return value->kind == RR_VALUE_TEXT && rr_time_parse(value->text, time_us);
    }
    if (unit == RR_TIME_TIMESTAMP) {
        *time_us = value->number;
        return value->kind == RR_VALUE_TIME;
    }
    if (value->kind != RR_VALUE_INT || unit == RR_TIME_NONE) {
        return false;
    }
    if (unit == RR_TIME_NS) {
        *time_us = value->number / 1000;
        return true;
    }
    return !__builtin_mul_overflow(value->number, factors[unit], time_us);
}

static bool is_plausible(int64_t time_us, int64_t stored_us)
{
    if (stored_us == 0) {
        return time_us >= EPOCH_2000_US && time_us < EPOCH_2100_US;
    }
    return time_us >= stored_us - 20 * YEAR_US && time_us <= stored_us + 10 * YEAR_US;
}

static rr_time_unit unit_of(const rr_table *t, size_t column, size_t present, size_t *near)
{
    for (rr_time_unit unit = RR_TIME_S; unit <= RR_TIME_TIMESTAMP; unit++) {
        size_t plausible = 0, close = 0;

        for (size_t r = 0; r < t->row_count; r++) {
            int64_t stored = t->rows[r].message->stored_at_us, us;

            if (rr_value_time(rr_table_at(t, r, column), unit, &us) && is_plausible(us, stored)) {
                plausible++;
                close += stored != 0 && us > stored - 3600 * RR_SECOND_US && us < stored + 3600 * RR_SECOND_US ? 1 : 0;
            }
        }
        if (plausible == present && present != 0) {
            *near = close;
            return unit;
        }
    }
    return RR_TIME_NONE;
}

bool rr_counts_make(const rr_table *t, size_t column, rr_column_counts *counts)
{
    uint64_t *hashes = rr_arena_take(t->sample->arena, (t->row_count + 1) * sizeof *hashes);

    *counts = (rr_column_counts){.least = INT64_MAX, .most = INT64_MIN};
    if (hashes == NULL) {
        return false;
    }
    for (size_t r = 0; r < t->row_count; r++) {
        const rr_value_seen *value = rr_table_at(t, r, column);
        rr_number_parts parts;

        if (value == NULL) {
            continue;
        }
        hashes[counts->present++] = value->hash;
        counts->kinds[value->kind]++;
        if (value->kind == RR_VALUE_INT || value->kind == RR_VALUE_TIME) {
            counts->least = value->number < counts->least ? value->number : counts->least;
            counts->most = value->number > counts->most ? value->number : counts->most;
        }
        counts->decimals +=
            value->kind == RR_VALUE_TEXT && rr_number_scan(value->text, &parts) && parts.fraction.len != 0 ? 1 : 0;
    }
    qsort(hashes, counts->present, sizeof *hashes, compare_marks);
    for (size_t k = 0; k < counts->present; k++) {
        counts->distinct += k == 0 || hashes[k] != hashes[k - 1] ? 1 : 0;
    }
    counts->unit = unit_of(t, column, counts->present, &counts->near);
    return true;
}

/* ---- cells ---- */

bool rr_cells_init(const rr_table *t, rr_cells *cells)
{
    size_t bytes = (t->row_count + 1) * sizeof *cells->order;

    cells->marks = rr_arena_take(t->sample->arena, (t->row_count + 1) * sizeof *cells->marks);
    cells->order = rr_arena_take(t->sample->arena, bytes);
    cells->scratch = rr_arena_take(t->sample->arena, bytes);
    cells->count = 0;
    return cells->marks != NULL && cells->order != NULL && cells->scratch != NULL;
}

/* Merges two sorted halves: qsort takes no context, and the order needs the marks. */
static void sort_rows(const uint64_t *marks, size_t *rows, size_t *scratch, size_t count)
{
    size_t half = count / 2, left = 0, right = half, out = 0;

    if (count < 2) {
        return;
    }
    sort_rows(marks, rows, scratch, half);
    sort_rows(marks, rows + half, scratch, count - half);
    while (left < half || right < count) {
        bool takes_left = right == count || (left < half && marks[rows[left]] <= marks[rows[right]]);

        scratch[out++] = takes_left ? rows[left++] : rows[right++];
    }
    memcpy(rows, scratch, count * sizeof *rows);
}

void rr_cells_group(const rr_table *t, const size_t *columns, size_t count, const bool *keep, rr_cells *cells)
{
    cells->count = 0;
    for (size_t r = 0; r < t->row_count; r++) {
        uint64_t mark = 1;

        for (size_t k = 0; k < count; k++) {
            const rr_value_seen *value = rr_table_at(t, r, columns[k]);

            mark = (mark ^ (value == NULL ? 7 : value->hash)) * UINT64_C(0xff51afd7ed558ccd);
            mark ^= mark >> 29;
        }
        cells->marks[r] = mark;
        if (!t->rows[r].repeated && (keep == NULL || keep[r])) {
            cells->order[cells->count++] = r;
        }
    }
    sort_rows(cells->marks, cells->order, cells->scratch, cells->count);
}

static int compare_numbers(const rr_value_seen *a, const rr_value_seen *b)
{
    if (a->kind == RR_VALUE_TEXT || b->kind == RR_VALUE_TEXT) {
        double left = 0, right = 0;
        int64_t left_us, right_us;

        if (rr_time_parse(a->text, &left_us) && rr_time_parse(b->text, &right_us)) {
            return (left_us > right_us) - (left_us < right_us);
        }
        rr_number_double(a->text, &left);
        rr_number_double(b->text, &right);
        return (left > right) - (left < right);
    }
    if (a->kind == RR_VALUE_REAL || b->kind == RR_VALUE_REAL) {
        return (a->real > b->real) - (a->real < b->real);
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* The pair of two rows that follow each other within a cell. */
static int compare_rows(const rr_table *t, size_t a, size_t b, size_t column, size_t major)
{
    int order = 0;

    if (major != SIZE_MAX && rr_table_at(t, a, major) != NULL && rr_table_at(t, b, major) != NULL) {
        order = compare_numbers(rr_table_at(t, b, major), rr_table_at(t, a, major));
    }
    return order != 0 ? order : compare_numbers(rr_table_at(t, b, column), rr_table_at(t, a, column));
}

void rr_growth_count(const rr_table *t, const rr_cells *cells, size_t column, size_t major, rr_growth *growth)
{
    size_t last = SIZE_MAX, pairs = 0, grows = 0;

    *growth = (rr_growth){0};
    for (size_t k = 0; k <= cells->count; k++) {
        size_t row = k < cells->count ? cells->order[k] : SIZE_MAX;
        bool is_new = row == SIZE_MAX || k == 0 || cells->marks[row] != cells->marks[cells->order[k - 1]];

        if (is_new) {
            growth->cells += pairs != 0 ? 1 : 0;
            growth->cells_growing += pairs != 0 && pairs == grows ? 1 : 0;
            growth->groups += row != SIZE_MAX ? 1 : 0;
            last = SIZE_MAX;
            pairs = grows = 0;
        }
        if (row == SIZE_MAX || rr_table_at(t, row, column) == NULL) {
            continue;
        }
        if (last != SIZE_MAX) {
            int order = compare_rows(t, last, row, column, major);
            const rr_value_seen *was = rr_table_at(t, last, column), *is = rr_table_at(t, row, column);

            pairs++;
            growth->pairs++;
            grows += order > 0 ? 1 : 0;
            growth->grows += order > 0 ? 1 : 0;
            growth->falls += order < 0 ? 1 : 0;
            growth->by_one += was->kind == RR_VALUE_INT && is->kind == RR_VALUE_INT && was->number < INT64_MAX &&
                                      was->number + 1 == is->number
                                  ? 1
                                  : 0;
        }
        last = row;
    }
}
