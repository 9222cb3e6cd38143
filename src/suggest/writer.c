/* Texts of messages are quoted in YAML and escaped in comments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"

#include "printable.h"
#include "time.h"

static bool is_plain(rr_slice text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", NULL};

    for (size_t k = 0; words[k] != NULL; k++) {
        if (rr_slice_equal(text, rr_slice_of(words[k]))) {
            return false;
        }
    }
    for (size_t k = 0; k < text.len; k++) {
        char c = text.data[k];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == '/' && k == 0);

        if (!letter && (k == 0 || !((c >= '0' && c <= '9') || c == '.' || c == '-'))) {
            return false;
        }
    }
    return text.len != 0;
}

void rr_write_scalar(rr_buf *out, rr_slice text)
{
    if (is_plain(text)) {
        rr_buf_slice(out, text);
    } else {
        rr_buf_json_printable(out, text);
    }
}

static void put_step(rr_buf *text, rr_slice step, bool is_first)
{
    bool quoted = step.data[0] == '/';

    for (size_t k = 0; k < step.len; k++) {
        quoted = quoted || strchr(".[\"\\", step.data[k]) != NULL;
    }
    if (!quoted) {
        rr_buf_text(text, is_first ? "" : ".");
        rr_buf_slice(text, step);
        return;
    }
    rr_buf_text(text, "[\"");
    for (size_t k = 0; k < step.len; k++) {
        if (step.data[k] == '"' || step.data[k] == '\\') {
            rr_buf_char(text, '\\');
        }
        rr_buf_char(text, step.data[k]);
    }
    rr_buf_text(text, "\"]");
}

static void put_path(rr_buf *text, const rr_sample *sample, uint16_t path, uint16_t top, bool whole)
{
    uint16_t steps[RR_SAMPLE_DEPTH_MAX];
    size_t count = 0;

    for (; path != top && path != 0; path = sample->paths[path].parent) {
        steps[count++] = path;
    }
    rr_buf_text(text, whole ? "/" : "");
    for (size_t k = count; k-- > 0;) {
        put_step(text, sample->paths[steps[k]].step, k + 1 == count);
    }
}

void rr_write_path(rr_buf *out, const rr_sample *sample, uint16_t path, uint16_t top, bool whole)
{
    rr_buf text = {0};

    put_path(&text, sample, path, top, whole);
    rr_write_scalar(out, rr_buf_view(&text));
    out->failed = out->failed || text.failed;
    rr_buf_fini(&text);
}

static void put_column(rr_buf *text, const rr_table *table, size_t column)
{
    const rr_column *c = &table->columns[column];

    put_path(text, table->sample, c->path, c->whole ? 0 : table->after != 0 ? table->after : table->list, c->whole);
}

void rr_write_column(rr_buf *out, const rr_table *table, size_t column)
{
    rr_buf text = {0};

    if (table->columns[column].token != 0) {
        rr_buf_format(out, "{subject: %u}", (unsigned)table->columns[column].token);
        return;
    }
    put_column(&text, table, column);
    rr_write_scalar(out, rr_buf_view(&text));
    out->failed = out->failed || text.failed;
    rr_buf_fini(&text);
}

void rr_write_name(rr_buf *out, const rr_table *table, size_t column)
{
    rr_buf text = {0};

    if (table->columns[column].token != 0) {
        rr_buf_format(out, "token %u of the subject", (unsigned)table->columns[column].token);
        return;
    }
    put_column(&text, table, column);
    rr_buf_printable(out, rr_buf_view(&text));
    out->failed = out->failed || text.failed;
    rr_buf_fini(&text);
}

void rr_write_duration(rr_buf *out, int64_t us)
{
    char text[RR_TIME_TEXT_MAX];

    rr_buf_put(out, text, rr_duration_print(us, text));
}

void rr_write_time(rr_buf *out, const rr_roles *roles, size_t column, int64_t inclusive_us)
{
    static const char *const units[] = {
        [RR_TIME_S] = "s", [RR_TIME_MS] = "ms", [RR_TIME_US] = "us", [RR_TIME_NS] = "ns"};
    rr_time_unit unit = roles->counts[column].unit;
    bool has_unit = unit >= RR_TIME_S && unit <= RR_TIME_NS;

    if (!has_unit && inclusive_us == 0) {
        rr_write_column(out, roles->table, column);
        return;
    }
    rr_buf_text(out, "{path: ");
    rr_write_column(out, roles->table, column);
    if (has_unit) {
        rr_buf_format(out, ", unit: %s", units[unit]);
    }
    if (inclusive_us != 0) {
        rr_buf_text(out, ", inclusive: ");
        rr_write_duration(out, inclusive_us);
    }
    rr_buf_char(out, '}');
}

size_t rr_column_values(const rr_table *table, size_t column, rr_slice *values, size_t *counts, size_t most)
{
    size_t count = 0;

    for (size_t row = 0; row < table->row_count; row++) {
        const rr_value_seen *value = rr_table_at(table, row, column);
        size_t k = 0;

        while (value != NULL && k < count && !rr_slice_equal(values[k], value->text)) {
            k++;
        }
        if (value == NULL || k == most) {
            continue;
        }
        values[k] = value->text;
        counts[k] = k == count ? 1 : counts[k] + 1;
        count += k == count ? 1 : 0;
    }
    return count;
}

void rr_write_values(rr_buf *out, const rr_table *table, size_t column)
{
    rr_slice values[RR_ROLES_VALUES_MAX];
    size_t counts[RR_ROLES_VALUES_MAX];
    size_t count = rr_column_values(table, column, values, counts, RR_ROLES_VALUES_MAX);

    for (size_t k = 0; k < count; k++) {
        rr_buf_text(out, k == 0 ? "" : ", ");
        rr_buf_printable(out, values[k]);
        rr_buf_format(out, " %zu", counts[k]);
    }
}
