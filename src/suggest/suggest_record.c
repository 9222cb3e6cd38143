/* Each field with the counts it rests on. Where none bears a choice out, a TODO stands in its place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "suggest_record.h"

#include "limits.h"
#include "printable.h"
#include "writer.h"

#define NONE SIZE_MAX
#define INDENT "            "

/* "a, b" of all columns of a role. Returns how many. */
static size_t put_names(rr_buf *out, const rr_roles *r, rr_role role)
{
    size_t count = 0;

    for (size_t c = rr_roles_next(r, role, 0); c != NONE; c = rr_roles_next(r, role, c + 1)) {
        rr_buf_text(out, count++ == 0 ? "" : ", ");
        rr_write_name(out, r->table, c);
    }
    return count;
}

static void write_role_comment(rr_buf *out, const rr_roles *r, rr_role role, const char *what)
{
    if (rr_roles_next(r, role, 0) != NONE) {
        rr_buf_format(out, INDENT "# %s: ", what);
        put_names(out, r, role);
        rr_buf_char(out, '\n');
    }
}

/* ---- key ---- */

static void write_key(rr_buf *out, const rr_roles *r)
{
    if (r->key_count == 0) {
        rr_buf_text(out,
                    INDENT "business_key: {TODO: what names a cell}   # no text has more than one value and stands in "
                           "every record\n");
        return;
    }
    rr_buf_text(out, INDENT "business_key: [");
    for (size_t k = 0; k < r->key_count; k++) {
        rr_buf_text(out, k == 0 ? "" : ", ");
        rr_write_column(out, r->table, r->keys[k]);
    }
    rr_buf_format(out, "]   # with the window: %zu cells in %zu records. Check that each names a result\n",
                  r->measures.groups != 0 ? r->measures.groups : r->growth.groups, r->asserting);
    for (size_t k = 0; k < r->key_count; k++) {
        rr_buf_text(out, INDENT "# ");
        rr_write_name(out, r->table, r->keys[k]);
        rr_buf_format(out, ": %zu values in %zu records%s\n", r->counts[r->keys[k]].distinct,
                      r->counts[r->keys[k]].present,
                      r->counts[r->keys[k]].kinds[RR_VALUE_INT] != 0 ? "; a number: it could be a measure" : "");
    }
    for (size_t k = 0; k < r->dropped_count; k++) {
        rr_buf_text(out, INDENT "# left out: ");
        rr_write_name(out, r->table, r->dropped[k]);
        rr_buf_format(out, ", %zu values; the version grows in %zu of %zu repeats without it\n",
                      r->counts[r->dropped[k]].distinct, r->growth.grows, r->growth.pairs);
    }
}

/* ---- window ---- */

static void write_no_window(rr_buf *out, const rr_roles *r)
{
    rr_buf_text(out,
                INDENT "window: {TODO: start and end}   # no two times keep one distance. Without windows leave this "
                       "out, and write {kind: global} below\n");
    write_role_comment(out, r, RR_ROLE_CLOCK, "times that were seen");
}

static void write_half_window(rr_buf *out, const rr_roles *r)
{
    rr_buf_text(out, INDENT "window:\n" INDENT "  # ");
    rr_write_name(out, r->table, r->start);
    rr_buf_format(out, ": %zu values in %zu records, all of them whole multiples of ", r->starts,
                  r->counts[r->start].present);
    rr_write_duration(out, r->step_us);
    rr_buf_text(out, " apart. It may be the start, or the end\n" INDENT "  start: ");
    rr_write_time(out, r, r->start, 0);
    rr_buf_text(out, "\n" INDENT "  length: {TODO: how long a window is}   # like 1m\n");
}

static void write_window(rr_buf *out, const rr_roles *r)
{
    if (r->start == NONE) {
        write_no_window(out, r);
        return;
    }
    if (r->end == NONE) {
        write_half_window(out, r);
        return;
    }
    rr_buf_text(out, INDENT "window:\n" INDENT "  start: ");
    rr_write_time(out, r, r->start, 0);
    rr_buf_format(out, "   # %zu values\n" INDENT "  end: ", r->starts);
    rr_write_time(out, r, r->end, r->inclusive_us);
    if (r->length_us != 0) {
        rr_buf_format(out, "   # %zu of %zu records: ", r->window_rows, r->window_rows);
        rr_write_duration(out, r->length_us - r->inclusive_us);
        rr_buf_text(out, " behind the start\n");
    } else {
        rr_buf_format(out, "   # %zu of %zu records: from ", r->window_rows, r->window_rows);
        rr_write_duration(out, r->shortest);
        rr_buf_text(out, " to ");
        rr_write_duration(out, r->longest);
        rr_buf_text(out, " behind the start; taken for their names\n");
    }
    if (r->inclusive_us != 0) {
        rr_buf_text(out, INDENT "  # the end is short of a whole second by ");
        rr_write_duration(out, r->inclusive_us);
        rr_buf_text(out, ", as of an end that belongs to the window\n");
    }
}

/* ---- version ---- */

/* Clocks and totals that grow: named, and not taken. */
static void write_growing(rr_buf *out, const rr_roles *r)
{
    static const rr_role roles[] = {RR_ROLE_CLOCK, RR_ROLE_MEASURE};

    for (size_t k = 0; k < 2; k++) {
        for (size_t c = rr_roles_next(r, roles[k], 0); c != NONE; c = rr_roles_next(r, roles[k], c + 1)) {
            rr_growth g;

            rr_growth_count(r->table, &r->cells, c, NONE, &g);
            if (g.pairs < RR_ROLES_PAIRS_LEAST || g.grows * 100 < g.pairs * 99) {
                continue;
            }
            rr_buf_text(out, INDENT "# ");
            rr_write_name(out, r->table, c);
            rr_buf_format(out, " grows in %zu of %zu repeats, %s\n", g.grows, g.pairs,
                          roles[k] == RR_ROLE_CLOCK
                              ? "but is a wall clock: two results can carry one time, and clocks are set back"
                              : "as a total does; it is a version only if the producer counts with it");
        }
    }
}

static void write_no_version(rr_buf *out, const rr_roles *r)
{
    if (r->mode == RR_SUGGEST_DELTA) {
        rr_buf_text(out, INDENT "# version: none is needed for amounts without corrections\n");
        return;
    }
    rr_buf_text(out,
                INDENT "version: {TODO: what the producer counts up with each result of a cell}   # none was seen\n");
    if (r->measures.pairs < RR_ROLES_PAIRS_LEAST) {
        rr_buf_format(out, INDENT "# too few cells repeat to show one: %zu repeats in %zu cells\n", r->measures.pairs,
                      r->measures.groups);
    }
    write_growing(out, r);
}

static void write_number(rr_buf *out, const rr_roles *r, size_t column)
{
    bool from_zero = r->counts[column].least == 0;

    rr_buf_text(out, from_zero ? "{path: " : "");
    rr_write_column(out, r->table, column);
    rr_buf_text(out, from_zero ? ", add: 1}" : "");
}

static void write_version(rr_buf *out, const rr_roles *r)
{
    const rr_growth *g = &r->growth;

    if (r->version == NONE) {
        write_no_version(out, r);
        return;
    }
    rr_buf_text(out, INDENT "version:\n");
    if (r->epoch != NONE) {
        rr_buf_text(out, INDENT "  epoch: ");
        write_number(out, r, r->epoch);
        rr_buf_format(out, "   # never falls in a cell; %zu values\n", r->counts[r->epoch].distinct);
    } else {
        rr_buf_text(out,
                    INDENT "  # TODO epoch: needed if a restart of the producer counts anew: a field or a header that "
                           "each restart raises\n");
    }
    rr_buf_text(out, INDENT "  number: ");
    write_number(out, r, r->version);
    rr_buf_format(out, "   # %zu of %zu cells with repeats: grows with each repeat\n", g->cells_growing, g->cells);
    rr_buf_format(out, INDENT "  # %zu of %zu repeats grow, %zu fall, %zu grow by 1; the least is %lld%s\n", g->grows,
                  g->pairs, g->falls, g->by_one, (long long)r->counts[r->version].least,
                  r->version_named ? "; its name took part" : "");
    if (r->grows_over_all) {
        rr_buf_text(out, INDENT
                    "  # it also grows over the whole sample, so the sample does not show which texts of the key "
                    "are needed\n");
    }
}

/* ---- op, cause, identity ---- */

static void write_op(rr_buf *out, const rr_roles *r)
{
    rr_slice values[RR_ROLES_VALUES_MAX];
    size_t counts[RR_ROLES_VALUES_MAX], count;

    if (r->op == NONE) {
        return;
    }
    count = rr_column_values(r->table, r->op, values, counts, RR_ROLES_VALUES_MAX);
    rr_buf_text(out, INDENT "op: {path: ");
    rr_write_column(out, r->table, r->op);
    rr_buf_text(out, ", values: {");
    for (size_t k = 0; k < count; k++) {
        rr_buf_text(out, k == 0 ? "" : ", ");
        rr_buf_json_printable(out, values[k]);
        rr_buf_text(out, rr_op_of(values[k]) > 0 ? ": ASSERT" : ": RETRACT");
    }
    rr_buf_text(out, "}}   # seen: ");
    rr_write_values(out, r->table, r->op);
    rr_buf_char(out, '\n');
}

static void write_withdraws(rr_buf *out, const rr_roles *r)
{
    if (r->op == NONE || r->withdrawing == 0) {
        return;
    }
    if (r->names_own > r->names_withdrawn) {
        rr_buf_format(out,
                      INDENT
                      "withdraws: older             # %zu withdrawals have a greater version than the row before "
                      "them in the cell, %zu the same\n",
                      r->names_own, r->names_withdrawn);
    } else if (r->names_withdrawn != 0) {
        rr_buf_format(out,
                      INDENT
                      "# %zu withdrawals have the version of the row before them in the cell, %zu a greater one: "
                      "they name what they withdraw\n",
                      r->names_withdrawn, r->names_own);
    } else {
        rr_buf_format(out,
                      INDENT "# TODO withdraws: of %zu withdrawals none shows which version it names. If it is one of "
                             "its own, write withdraws: older\n",
                      r->withdrawing);
    }
}

static void write_cause(rr_buf *out, const rr_roles *r)
{
    rr_slice values[RR_ROLES_VALUES_MAX];
    size_t counts[RR_ROLES_VALUES_MAX], count, put = 0;
    bool other = false;

    if (r->cause == NONE) {
        return;
    }
    count = rr_column_values(r->table, r->cause, values, counts, RR_ROLES_VALUES_MAX);
    for (size_t k = 0; k < count; k++) {
        other = other || rr_slice_equal(values[k], RR_SLICE("UNKNOWN"));
    }
    rr_buf_text(out, other ? INDENT "# cause: {path: " : INDENT "cause: {path: ");
    rr_write_column(out, r->table, r->cause);
    rr_buf_text(out, ", values: {");
    for (size_t k = 0; k < count; k++) {
        if (!rr_slice_equal(values[k], RR_SLICE("UNKNOWN"))) {
            rr_buf_format(out, "%s%.*s: %.*s", put++ == 0 ? "" : ", ", (int)values[k].len, values[k].data,
                          (int)values[k].len, values[k].data);
        }
    }
    rr_buf_text(out, "}}   # seen: ");
    rr_write_values(out, r->table, r->cause);
    rr_buf_char(out, '\n');
}

static void write_identity(rr_buf *out, const rr_roles *r)
{
    if (r->id == NONE) {
        return;
    }
    rr_buf_text(out, r->mode == RR_SUGGEST_DELTA ? INDENT "delta_id: " : INDENT "# delta_id, were these amounts: ");
    rr_write_column(out, r->table, r->id);
    rr_buf_format(out, "   # %zu values in %zu records, %zu of which repeat a message\n", r->counts[r->id].distinct,
                  r->counts[r->id].present, r->table->repeated);
}

static void write_emitted(rr_buf *out, const rr_roles *r)
{
    if (r->emitted == NONE) {
        rr_buf_text(out, INDENT "# emitted_at: {stream: time}   # for people; never used for order\n");
    } else {
        rr_buf_text(out, INDENT "emitted_at: ");
        rr_write_time(out, r, r->emitted, 0);
        rr_buf_format(out, "   # %zu of %zu lie within an hour of the time of storing. A clock: never used for order\n",
                      r->counts[r->emitted].near, r->counts[r->emitted].present);
    }
}

/* ---- measures ---- */

/* A name of a measure has letters, digits and a few more; whatever else a message says becomes _. */
static char name_byte(char c)
{
    bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';

    return fits ? c : '_';
}

static rr_slice step_of(const rr_roles *r, size_t column)
{
    return r->table->sample->paths[r->table->columns[column].path].step;
}

static bool share_name(rr_slice a, rr_slice b)
{
    size_t k = 0;

    while (a.len == b.len && k < a.len && name_byte(a.data[k]) == name_byte(b.data[k])) {
        k++;
    }
    return a.len == b.len && k == a.len;
}

void rr_suggest_measure_name(rr_buf *out, const rr_roles *r, size_t column)
{
    rr_slice name = step_of(r, column);
    rr_buf text = {0};
    bool shared = false;

    for (size_t c = rr_roles_next(r, RR_ROLE_MEASURE, 0); c < column; c = rr_roles_next(r, RR_ROLE_MEASURE, c + 1)) {
        shared = shared || share_name(step_of(r, c), name);
    }
    for (size_t k = 0; k < name.len; k++) {
        rr_buf_char(&text, name_byte(name.data[k]));
    }
    if (shared) {
        rr_buf_format(&text, "_%zu", column);
    }
    rr_write_scalar(out, rr_buf_view(&text));
    out->failed = out->failed || text.failed;
    rr_buf_fini(&text);
}

static void write_measures(rr_buf *out, const rr_roles *r)
{
    size_t put = 0;

    if (rr_roles_next(r, RR_ROLE_MEASURE, 0) == NONE) {
        rr_buf_text(out, INDENT "measures: {TODO: the numbers}   # no number was seen that is not used above\n");
        return;
    }
    rr_buf_text(out, INDENT "measures:\n");
    for (size_t c = rr_roles_next(r, RR_ROLE_MEASURE, 0); c != NONE; c = rr_roles_next(r, RR_ROLE_MEASURE, c + 1)) {
        rr_growth g;

        rr_growth_count(r->table, &r->cells, c, NONE, &g);
        rr_buf_text(out, put++ < RR_LIMIT_MEASURES ? INDENT "  " : INDENT "  # too many: ");
        rr_suggest_measure_name(out, r, c);
        rr_buf_text(out, ": ");
        rr_write_column(out, r->table, c);
        rr_buf_format(out, "   # of %zu repeats in a cell %zu grow, %zu are equal, %zu fall\n", g.pairs, g.grows,
                      g.pairs - g.grows - g.falls, g.falls);
    }
}

void rr_suggest_record(rr_buf *out, const rr_roles *r)
{
    rr_buf_text(out, "          record:\n");
    write_key(out, r);
    rr_buf_text(out, INDENT
                "metric_version: {const: v1}   # a name of yours for the metric's definition; a new one makes new "
                "cells\n");
    write_window(out, r);
    write_version(out, r);
    write_op(out, r);
    write_withdraws(out, r);
    write_identity(out, r);
    write_cause(out, r);
    write_emitted(out, r);
    write_measures(out, r);
    if (r->start != NONE) {
        write_role_comment(out, r, RR_ROLE_CLOCK, "other times that were seen");
    }
    write_role_comment(out, r, RR_ROLE_ASIDE, "not used (constant, yes or no, a list, bytes, or not in every record)");
}
