/* Which list or envelope makes the rows, and what stands in each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>

#include "hash.h"

static uint16_t child_of(const rr_sample *sample, uint16_t parent, rr_slice step)
{
    for (size_t k = 1; k < sample->path_count; k++) {
        if (sample->paths[k].parent == parent && rr_slice_equal(sample->paths[k].step, step)) {
            return (uint16_t)k;
        }
    }
    return 0;
}

/* The same path below another top; 0: there is none. */
static uint16_t moved_path(const rr_sample *sample, uint16_t path, uint16_t from, uint16_t to)
{
    uint16_t parent;

    if (path == from) {
        return to;
    }
    if (path == 0) {
        return 0;
    }
    parent = moved_path(sample, sample->paths[path].parent, from, to);
    return parent == 0 ? 0 : child_of(sample, parent, sample->paths[path].step);
}

static bool is_below(const rr_sample *sample, uint16_t path, uint16_t top)
{
    while (path != 0 && path != top) {
        path = sample->paths[path].parent;
    }
    return path == top;
}

/* ---- envelopes ---- */

static bool is_envelope_op(rr_slice text)
{
    return text.len == 1 && strchr("crudtm", text.data[0]) != NULL;
}

/* Every value of the path is one of the letters of an envelope, and some of each of two messages at least are there. */
static bool has_envelope_ops(const rr_sample *sample, uint16_t op)
{
    size_t count = 0;

    for (size_t k = 0; k < sample->message_count; k++) {
        const rr_message_seen *message = &sample->messages[k];

        for (size_t i = 0; i < message->value_count; i++) {
            if (message->values[i].path == op) {
                if (!is_envelope_op(message->values[i].text)) {
                    return false;
                }
                count++;
            }
        }
    }
    return count != 0;
}

static void find_envelope(rr_table *t)
{
    const rr_sample *s = t->sample;

    for (size_t k = 1; k < s->path_count; k++) {
        uint16_t parent = s->paths[k].parent;
        uint16_t after = child_of(s, parent, RR_SLICE("after")), op = child_of(s, parent, RR_SLICE("op"));

        if (rr_slice_equal(s->paths[k].step, RR_SLICE("before")) && s->paths[k].list == 0 && after != 0 && op != 0 &&
            has_envelope_ops(s, op)) {
            t->before = (uint16_t)k;
            t->after = after;
            t->envelope_op = op;
            return;
        }
    }
}

/* ---- lists ---- */

/* How many values below a list differ from the one of the same path that came before. */
static size_t changes_below(const rr_sample *sample, uint16_t list)
{
    uint64_t last[RR_SAMPLE_PATHS_MAX] = {0};
    size_t changes = 0;

    for (size_t k = 0; k < sample->message_count; k++) {
        const rr_message_seen *message = &sample->messages[k];

        for (size_t i = 0; i < message->value_count; i++) {
            const rr_value_seen *value = &message->values[i];
            bool is_number = value->kind == RR_VALUE_INT || value->kind == RR_VALUE_REAL;

            if (sample->paths[value->path].list == list && is_number) {
                changes += last[value->path] != value->hash ? 1 : 0;
                last[value->path] = value->hash;
            }
        }
    }
    return changes;
}

static void find_list(rr_table *t)
{
    size_t most = 1; /* numbers that never change, as in a schema that every message repeats, are no records */

    for (size_t k = 1; k < t->sample->path_count; k++) {
        size_t changes = t->sample->paths[k].is_list ? changes_below(t->sample, (uint16_t)k) : 0;

        if (changes > most) {
            most = changes;
            t->list = (uint16_t)k;
        }
    }
}

/* ---- columns ---- */

static rr_slice token_of(rr_slice subject, size_t nth)
{
    const char *at = subject.len == 0 ? "" : subject.data, *end = at + subject.len, *dot;

    for (; nth > 1; nth--) {
        dot = at == end ? NULL : memchr(at, '.', (size_t)(end - at));
        if (dot == NULL) {
            return (rr_slice){NULL, 0};
        }
        at = dot + 1;
    }
    dot = at == end ? NULL : memchr(at, '.', (size_t)(end - at));
    return (rr_slice){at, (size_t)((dot == NULL ? end : dot) - at)};
}

static bool token_varies(const rr_sample *sample, size_t nth)
{
    for (size_t k = 1; k < sample->message_count; k++) {
        if (!rr_slice_equal(token_of(sample->messages[k].subject, nth), token_of(sample->messages[0].subject, nth))) {
            return true;
        }
    }
    return false;
}

static void add_column(rr_table *t, rr_column column)
{
    if (t->column_count == RR_TABLE_COLUMNS_MAX) {
        t->left_out++;
        return;
    }
    t->columns[t->column_count++] = column;
}

static void find_columns(rr_table *t)
{
    const rr_sample *s = t->sample;

    for (size_t nth = 1; nth <= RR_TABLE_TOKENS_MAX; nth++) {
        if (s->message_count != 0 && token_varies(s, nth)) {
            add_column(t, (rr_column){.token = (uint16_t)nth});
        }
    }
    for (size_t k = 1; k < s->path_count; k++) {
        const rr_path_seen *path = &s->paths[k];
        rr_column column = {.path = (uint16_t)k, .whole = t->list != 0 && path->list == 0};

        if (!path->has_value || path->is_list || (path->list != 0 && path->list != t->list)) {
            continue;
        }
        if (t->after != 0) {
            if (is_below(s, column.path, t->before)) {
                continue; /* the other half of a column of `after` */
            }
            column.whole = !is_below(s, column.path, t->after);
            column.before = column.whole ? 0 : moved_path(s, column.path, t->after, t->before);
        }
        add_column(t, column);
    }
}

/* ---- rows ---- */

static const rr_value_seen *find_value(const rr_message_seen *message, uint16_t path)
{
    for (size_t k = 0; k < message->value_count; k++) {
        if (message->values[k].path == path) {
            return &message->values[k];
        }
    }
    return NULL;
}

static bool has_below(const rr_sample *sample, const rr_message_seen *message, uint16_t top)
{
    for (size_t k = 0; k < message->value_count; k++) {
        if (is_below(sample, message->values[k].path, top)) {
            return true;
        }
    }
    return false;
}

/* The rows that a message gives, of an envelope 0 or 1. */
static size_t rows_of(rr_table *t, const rr_message_seen *message, bool *is_before)
{
    size_t items = 0;
    const rr_value_seen *op;

    *is_before = false;
    if (t->after != 0) {
        op = find_value(message, t->envelope_op);
        *is_before = op != NULL && rr_slice_equal(op->text, RR_SLICE("d"));
        return op != NULL && strchr("crud", op->text.data[0]) != NULL &&
                       has_below(t->sample, message, *is_before ? t->before : t->after)
                   ? 1
                   : 0;
    }
    if (t->list == 0) {
        return 1;
    }
    for (size_t k = 0; k < message->value_count; k++) {
        if (t->sample->paths[message->values[k].path].list == t->list && message->values[k].item >= items) {
            items = message->values[k].item + (size_t)1;
        }
    }
    return items;
}

/* Which column the values of a path belong to, plus one; 0: none. */
static void index_columns(const rr_table *t, bool is_before, uint16_t column_of[RR_SAMPLE_PATHS_MAX])
{
    memset(column_of, 0, RR_SAMPLE_PATHS_MAX * sizeof *column_of);
    for (size_t c = 0; c < t->column_count; c++) {
        const rr_column *column = &t->columns[c];

        column_of[is_before && !column->whole ? column->before : column->path] = (uint16_t)(c + 1);
    }
    column_of[0] = 0;
}

static bool fill_row(rr_table *t, const rr_message_seen *message, const uint16_t *column_of, size_t item)
{
    const rr_value_seen **row = &t->values[t->row_count * t->column_count];

    memset(row, 0, t->column_count * sizeof *row);
    for (size_t c = 0; c < t->column_count && t->columns[c].token != 0; c++) {
        rr_value_seen *made = rr_arena_zero(t->sample->arena, sizeof *made);

        if (made == NULL) {
            return false;
        }
        made->kind = RR_VALUE_TEXT;
        made->text = token_of(message->subject, t->columns[c].token);
        made->hash = rr_hash(made->text);
        row[c] = made->text.len == 0 ? NULL : made;
    }
    for (size_t k = 0; k < message->value_count; k++) {
        const rr_value_seen *value = &message->values[k];

        if (column_of[value->path] != 0 && (value->item == RR_SAMPLE_NO_ITEM || value->item == item)) {
            row[column_of[value->path] - 1] = value;
        }
    }
    return true;
}

static int compare_hashes(const void *left, const void *right)
{
    const rr_message_seen *a = *(const rr_message_seen *const *)left, *b = *(const rr_message_seen *const *)right;

    return a->hash != b->hash ? (a->hash > b->hash) - (a->hash < b->hash) : (a > b) - (a < b);
}

/* Marks each message whose bytes came before. */
static bool *find_repeats(const rr_sample *s)
{
    const rr_message_seen **sorted = rr_arena_take(s->arena, (s->message_count + 1) * sizeof(void *));
    bool *repeats = rr_arena_zero(s->arena, s->message_count + 1);

    if (sorted == NULL || repeats == NULL) {
        return NULL;
    }
    for (size_t k = 0; k < s->message_count; k++) {
        sorted[k] = &s->messages[k];
    }
    qsort(sorted, s->message_count, sizeof(void *), compare_hashes);
    for (size_t k = 1; k < s->message_count; k++) {
        repeats[sorted[k] - s->messages] = sorted[k]->hash == sorted[k - 1]->hash;
    }
    return repeats;
}

static bool fill(rr_table *t, size_t rows)
{
    const rr_sample *s = t->sample;
    const bool *repeats = find_repeats(s);
    uint16_t of_row[RR_SAMPLE_PATHS_MAX], of_before[RR_SAMPLE_PATHS_MAX];

    index_columns(t, false, of_row);
    index_columns(t, true, of_before);
    t->rows = rr_arena_zero(s->arena, (rows + 1) * sizeof *t->rows);
    t->values = rr_arena_take(s->arena, (rows * t->column_count + 1) * sizeof(void *));
    if (repeats == NULL || t->rows == NULL || t->values == NULL) {
        return false;
    }
    for (size_t k = 0; k < s->message_count; k++) {
        bool is_before;
        size_t count = rows_of(t, &s->messages[k], &is_before);

        t->no_half += t->after != 0 && count == 0 ? 1 : 0;
        t->without_item += t->list != 0 && count == 0 ? 1 : 0;
        for (size_t item = 0; item < count; item++) {
            if (t->row_count == rows) {
                t->left_out++;
                continue;
            }
            t->rows[t->row_count] = (rr_row){&s->messages[k], is_before, repeats[k]};
            t->repeated += repeats[k] ? 1 : 0;
            if (!fill_row(t, &s->messages[k], is_before ? of_before : of_row, item)) {
                return false;
            }
            t->row_count++;
        }
    }
    return true;
}

bool rr_table_make(const rr_sample *sample, rr_table *table)
{
    size_t rows = 0;
    bool is_before;

    *table = (rr_table){.sample = sample};
    find_envelope(table);
    if (table->after == 0) {
        find_list(table);
    }
    find_columns(table);
    for (size_t k = 0; k < sample->message_count; k++) {
        rows += rows_of(table, &sample->messages[k], &is_before);
    }
    return fill(table, rows < RR_TABLE_ROWS_MAX ? rows : RR_TABLE_ROWS_MAX) && rr_table_set_apart(table);
}
