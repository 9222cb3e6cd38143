/* Rows of another kind than most: heartbeats, schemas, markers. They are no records, and hide what the others show. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

/* Whether a column stands in most rows. */
static size_t find_common(const rr_table *t, bool *common)
{
    size_t count = 0;

    for (size_t c = 0; c < t->column_count; c++) {
        size_t present = 0;

        for (size_t row = 0; row < t->row_count; row++) {
            present += rr_table_at(t, row, c) != NULL ? 1 : 0;
        }
        common[c] = t->columns[c].token == 0 && present * 2 > t->row_count;
        count += common[c] ? 1 : 0;
    }
    return count;
}

/* A row that lacks more than half of what most rows have. */
static bool is_apart(const rr_table *t, size_t row, const bool *common, size_t count)
{
    size_t present = 0;

    for (size_t c = 0; c < t->column_count; c++) {
        present += common[c] && rr_table_at(t, row, c) != NULL ? 1 : 0;
    }
    return present * 2 < count;
}

/* A text that rows apart have, all of them, and no other row with such a value. */
static bool tells_apart(rr_table *t, const bool *apart, size_t column)
{
    t->apart_value_count = 0;
    for (size_t row = 0; row < t->row_count; row++) {
        const rr_value_seen *value = rr_table_at(t, row, column);
        size_t k = 0;

        if (!apart[row]) {
            continue;
        }
        if (value == NULL || (value->kind != RR_VALUE_TEXT && value->kind != RR_VALUE_ENUM)) {
            return false;
        }
        while (k < t->apart_value_count && t->apart_values[k]->hash != value->hash) {
            k++;
        }
        if (k == RR_TABLE_APART_MAX) {
            return false;
        }
        t->apart_values[k] = value;
        t->apart_value_count += k == t->apart_value_count ? 1 : 0;
    }
    for (size_t row = 0; row < t->row_count; row++) {
        const rr_value_seen *value = rr_table_at(t, row, column);

        for (size_t k = 0; !apart[row] && value != NULL && k < t->apart_value_count; k++) {
            if (t->apart_values[k]->hash == value->hash) {
                return false;
            }
        }
    }
    return true;
}

static void remove_rows(rr_table *t, const bool *apart)
{
    size_t kept = 0;

    t->repeated = 0;
    for (size_t row = 0; row < t->row_count; row++) {
        if (!apart[row]) {
            t->rows[kept] = t->rows[row];
            t->repeated += t->rows[kept].repeated ? 1 : 0;
            memmove(&t->values[kept * t->column_count], &t->values[row * t->column_count],
                    t->column_count * sizeof(void *));
            kept++;
        }
    }
    t->row_count = kept;
}

bool rr_table_set_apart(rr_table *t)
{
    bool common[RR_TABLE_COLUMNS_MAX];
    size_t count = find_common(t, common);
    bool *apart = rr_arena_zero(t->sample->arena, t->row_count + 1);

    t->apart_column = SIZE_MAX;
    if (apart == NULL) {
        return false;
    }
    for (size_t row = 0; row < t->row_count; row++) {
        apart[row] = is_apart(t, row, common, count);
        t->apart += apart[row] ? 1 : 0;
    }
    if (t->apart == 0) {
        return true;
    }
    for (size_t c = 0; c < t->column_count && t->apart_column == SIZE_MAX; c++) {
        bool usable = t->columns[c].token == 0 && t->list == 0 && t->after == 0;

        t->apart_column = usable && tells_apart(t, apart, c) ? c : SIZE_MAX;
    }
    remove_rows(t, apart);
    return true;
}
