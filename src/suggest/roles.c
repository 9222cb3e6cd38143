/* Roles, each found from what the ones before it leave: times, window, op, key and version, identity, measures, mode. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "roles.h"

#include <strings.h>

#include "time.h"

#define NONE SIZE_MAX
#define HOUR_US (3600 * RR_SECOND_US)

static rr_slice name_of(const rr_roles *r, size_t column)
{
    uint16_t path = r->table->columns[column].path;

    return path == 0 ? RR_SLICE("") : r->table->sample->paths[path].step;
}

static bool has_kind(const rr_roles *r, size_t column, rr_value_kind kind)
{
    return r->counts[column].present != 0 && r->counts[column].kinds[kind] == r->counts[column].present;
}

static bool is_text(const rr_roles *r, size_t column)
{
    const rr_column_counts *c = &r->counts[column];

    return c->present != 0 && c->kinds[RR_VALUE_TEXT] + c->kinds[RR_VALUE_ENUM] == c->present;
}

static bool is_always(const rr_roles *r, size_t column)
{
    return r->counts[column].present == r->table->row_count;
}

static bool contains(rr_slice text, const char *word)
{
    size_t len = strlen(word);

    for (size_t at = 0; at + len <= text.len; at++) {
        if (strncasecmp(text.data + at, word, len) == 0) {
            return true;
        }
    }
    return false;
}

static bool ends_with(rr_slice text, const char *word)
{
    size_t len = strlen(word);

    return text.len >= len && memcmp(text.data + text.len - len, word, len) == 0;
}

static bool is_named_id(rr_slice name)
{
    return rr_slice_equal(name, RR_SLICE("id")) || ends_with(name, "_id") || ends_with(name, "Id") ||
           ends_with(name, "_key") || rr_slice_equal(name, RR_SLICE("key"));
}

static bool is_named_version(rr_slice name)
{
    static const char *const words[] = {"version", "ver", "rev", "index", "seq", "pane", "lsn", "offset", "generation"};

    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        if (contains(name, words[k])) {
            return true;
        }
    }
    return false;
}

/* ---- window ---- */

static int64_t divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

typedef struct pair_counts {
    size_t rows, ordered, constant;
    int64_t length, shortest, longest;
} pair_counts;

static pair_counts count_pair(const rr_roles *r, size_t start, size_t end)
{
    pair_counts p = {.shortest = INT64_MAX, .longest = INT64_MIN};

    for (size_t row = 0; row < r->table->row_count; row++) {
        int64_t from, to, length;

        if (!rr_value_time(rr_table_at(r->table, row, start), r->counts[start].unit, &from) ||
            !rr_value_time(rr_table_at(r->table, row, end), r->counts[end].unit, &to)) {
            continue;
        }
        length = to - from;
        p.length = p.rows++ == 0 ? length : p.length;
        p.constant += length == p.length ? 1 : 0;
        p.ordered += length > 0 ? 1 : 0;
        p.shortest = length < p.shortest ? length : p.shortest;
        p.longest = length > p.longest ? length : p.longest;
    }
    return p;
}

/* The greatest step that all starts are a multiple of, seen from the first one. */
static void count_starts(rr_roles *r)
{
    int64_t first = 0, step = 0;
    bool is_first = true;

    for (size_t row = 0; row < r->table->row_count; row++) {
        int64_t us;

        if (rr_value_time(rr_table_at(r->table, row, r->start), r->counts[r->start].unit, &us)) {
            step = is_first ? 0 : divisor(step, us - first);
            first = is_first ? us : first;
            is_first = false;
        }
    }
    r->step_us = step;
    r->offset_us = step == 0 ? 0 : (first % step + step) % step;
    r->starts = r->counts[r->start].distinct;
}

/* An end that belongs to the window is one unit of the producer's clock short of a round length. */
static void settle_length(rr_roles *r, const pair_counts *pair)
{
    static const int64_t units[] = {1000, 1, RR_SECOND_US};

    r->window_rows = pair->rows;
    r->shortest = pair->shortest;
    r->longest = pair->longest;
    r->length_us = pair->constant == pair->rows ? pair->length : 0;
    for (size_t k = 0; k < 3 && r->length_us != 0 && r->length_us % RR_SECOND_US != 0; k++) {
        if ((r->length_us + units[k]) % RR_SECOND_US == 0) {
            r->inclusive_us = units[k];
            r->length_us += units[k];
        }
    }
    if (r->length_us % (60 * RR_SECOND_US) == 59 * RR_SECOND_US) {
        r->inclusive_us = RR_SECOND_US;
        r->length_us += RR_SECOND_US;
    }
}

static bool is_bound(const rr_roles *r, size_t column)
{
    const rr_column_counts *c = &r->counts[column];

    return c->unit != RR_TIME_NONE && c->distinct > 1 && c->present * 10 >= r->table->row_count * 9;
}

/* A start and an end whose distance never changes; the pair of the fewest starts, which the windows repeat most. */
static void find_constant_pair(rr_roles *r)
{
    size_t n = r->table->column_count, fewest = SIZE_MAX;
    pair_counts best = {0};

    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; is_bound(r, a) && b < n; b++) {
            pair_counts pair;

            if (a == b || !is_bound(r, b) || r->counts[a].distinct >= fewest) {
                continue;
            }
            pair = count_pair(r, a, b);
            if (pair.rows >= RR_ROLES_PAIRS_LEAST && pair.constant == pair.rows && pair.length >= 1000) {
                fewest = r->counts[a].distinct;
                r->start = a;
                r->end = b;
                best = pair;
            }
        }
    }
    if (r->start != NONE) {
        settle_length(r, &best);
        count_starts(r);
    }
}

/* Where no distance is constant: bounds of which one is named as a start and one as an end, and that are never inverted. */
static void find_varying_pair(rr_roles *r)
{
    size_t n = r->table->column_count;

    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; is_bound(r, a) && b < n; b++) {
            bool named = (contains(name_of(r, a), "start") || contains(name_of(r, a), "open")) &&
                         (contains(name_of(r, b), "end") || contains(name_of(r, b), "close"));
            pair_counts pair;

            if (a == b || !named || !is_bound(r, b)) {
                continue;
            }
            pair = count_pair(r, a, b);
            if (pair.rows >= RR_ROLES_PAIRS_LEAST && pair.ordered == pair.rows) {
                r->start = a;
                r->end = b;
                settle_length(r, &pair);
                count_starts(r);
                return;
            }
        }
    }
}

/* A time alone whose values repeat and are whole minutes: one bound, of which the other is not known. */
static void find_single_bound(rr_roles *r)
{
    for (size_t c = 0; c < r->table->column_count && r->start == NONE; c++) {
        if (is_bound(r, c) && r->counts[c].distinct * 2 <= r->counts[c].present) {
            r->start = c;
            count_starts(r);
            if (r->step_us % (60 * RR_SECOND_US) != 0 || r->offset_us % (60 * RR_SECOND_US) != 0) {
                r->start = NONE;
            }
        }
    }
}

static void find_window(rr_roles *r)
{
    find_constant_pair(r);
    if (r->start == NONE) {
        find_varying_pair(r);
    }
    if (r->start == NONE) {
        find_single_bound(r);
    }
    if (r->start != NONE) {
        r->role[r->start] = RR_ROLE_START;
    }
    if (r->end != NONE) {
        r->role[r->end] = RR_ROLE_END;
    }
}

/* ---- op and cause ---- */

int rr_op_of(rr_slice text)
{
    static const char *const asserts[] = {"+I",     "+U",           "I", "U", "c", "u", "r", "INSERT",
                                          "UPDATE", "UPDATE_AFTER", NULL};
    static const char *const withdraws[] = {"-U", "-D", "D", "d", "DELETE", "UPDATE_BEFORE", NULL};

    for (size_t k = 0; asserts[k] != NULL; k++) {
        if (rr_slice_equal(text, rr_slice_of(asserts[k]))) {
            return 1;
        }
    }
    for (size_t k = 0; withdraws[k] != NULL; k++) {
        if (rr_slice_equal(text, rr_slice_of(withdraws[k]))) {
            return -1;
        }
    }
    return 0;
}

static bool is_cause(rr_slice text)
{
    static const char *const words[] = {"EARLY", "ON_TIME", "LATE", "UNKNOWN", NULL};

    for (size_t k = 0; words[k] != NULL; k++) {
        if (rr_slice_equal(text, rr_slice_of(words[k]))) {
            return true;
        }
    }
    return false;
}

static bool has_only(const rr_roles *r, size_t column, bool (*fits)(rr_slice))
{
    for (size_t row = 0; row < r->table->row_count; row++) {
        const rr_value_seen *value = rr_table_at(r->table, row, column);

        if (value != NULL && !fits(value->text)) {
            return false;
        }
    }
    return true;
}

static bool is_op(rr_slice text)
{
    return rr_op_of(text) != 0;
}

static void find_words(rr_roles *r)
{
    for (size_t c = 0; c < r->table->column_count; c++) {
        if (r->role[c] != RR_ROLE_NONE || !is_text(r, c) || r->counts[c].distinct > RR_ROLES_VALUES_MAX) {
            continue;
        }
        if (r->table->after != 0 && r->table->columns[c].path == r->table->envelope_op) {
            r->role[c] = RR_ROLE_ASIDE; /* `each` reads it */
        } else if (r->op == NONE && r->counts[c].distinct > 1 && has_only(r, c, is_op)) {
            r->op = c;
            r->role[c] = RR_ROLE_OP;
        } else if (r->cause == NONE && r->counts[c].distinct > 1 && has_only(r, c, is_cause)) {
            r->cause = c;
            r->role[c] = RR_ROLE_CAUSE;
        }
    }
    for (size_t row = 0; row < r->table->row_count; row++) {
        const rr_value_seen *value = r->op == NONE ? NULL : rr_table_at(r->table, row, r->op);

        r->keep[row] = !r->table->rows[row].is_before && (value == NULL || rr_op_of(value->text) >= 0);
        r->asserting += r->keep[row] ? 1 : 0;
        r->withdrawing += r->keep[row] ? 0 : 1;
    }
}

/* ---- times, identities, what no record takes ---- */

static void set_aside(rr_roles *r)
{
    for (size_t c = 0; c < r->table->column_count; c++) {
        const rr_column_counts *counts = &r->counts[c];

        if (r->role[c] != RR_ROLE_NONE) {
            continue;
        }
        if (counts->present == 0 || counts->kinds[RR_VALUE_OTHER] != 0 || (counts->distinct == 1 && is_text(r, c)) ||
            has_kind(r, c, RR_VALUE_BOOL)) {
            r->role[c] = RR_ROLE_ASIDE;
        } else if (counts->unit != RR_TIME_NONE) {
            r->role[c] = RR_ROLE_CLOCK;
        } else if (counts->distinct == r->table->row_count - r->table->repeated && is_always(r, c) &&
                   counts->distinct >= RR_ROLES_PAIRS_LEAST &&
                   (is_text(r, c) || (has_kind(r, c, RR_VALUE_INT) && is_named_id(name_of(r, c))))) {
            r->role[c] = RR_ROLE_ID;
            r->id = r->id == NONE ? c : r->id;
        }
    }
    for (size_t c = 0; c < r->table->column_count && r->emitted == NONE; c++) {
        if (r->role[c] == RR_ROLE_CLOCK && is_always(r, c) && r->counts[c].near * 20 >= r->counts[c].present * 19) {
            r->emitted = c;
        }
    }
}

/* ---- key and version ---- */

static void group(rr_roles *r, size_t without)
{
    size_t columns[RR_ROLES_KEYS_MAX + 2], count = 0;

    for (size_t k = 0; k < r->key_count; k++) {
        if (k != without) {
            columns[count++] = r->keys[k];
        }
    }
    if (r->start != NONE) {
        columns[count++] = r->start;
    }
    if (r->end != NONE && r->length_us == 0) {
        columns[count++] = r->end;
    }
    rr_cells_group(r->table, columns, count, r->keep, &r->cells);
}

/* All but one pair of a hundred: a message that was published late does not hide what the others show. */
static bool is_growing(const rr_growth *g)
{
    return g->pairs >= RR_ROLES_PAIRS_LEAST && g->grows * 100 >= g->pairs * 99;
}

static int score_of(const rr_roles *r, size_t column, const rr_growth *g)
{
    return (is_named_version(name_of(r, column)) ? 4 : 0) + (g->by_one * 10 >= g->pairs * 9 ? 3 : 0) +
           (r->counts[column].least == 0 || r->counts[column].least == 1 ? 1 : 0);
}

static bool may_count(const rr_roles *r, size_t column)
{
    return r->role[column] == RR_ROLE_NONE && has_kind(r, column, RR_VALUE_INT) && is_always(r, column) &&
           r->counts[column].distinct > 1 && r->counts[column].least >= 0;
}

/* The number that grows in the cells as they are grouped. A total grows too: without a name, steps of one, or a
 * beginning that speaks for it, it is none. */
static size_t find_counter(const rr_roles *r, rr_growth *growth)
{
    size_t best = NONE;
    int most = 2;

    for (size_t c = 0; c < r->table->column_count; c++) {
        rr_growth g;

        if (!may_count(r, c)) {
            continue;
        }
        rr_growth_count(r->table, &r->cells, c, NONE, &g);
        if (is_growing(&g) && score_of(r, c, &g) > most) {
            most = score_of(r, c, &g);
            best = c;
            *growth = g;
        }
    }
    return best;
}

static bool take_counter(rr_roles *r, size_t without)
{
    rr_growth growth;
    size_t counter;

    group(r, without);
    counter = find_counter(r, &growth);
    if (counter == NONE || growth.pairs <= r->growth.pairs) {
        return false;
    }
    r->version = counter;
    r->growth = growth;
    return true;
}

static void drop_key(rr_roles *r, size_t which)
{
    r->dropped[r->dropped_count++] = r->keys[which];
    r->role[r->keys[which]] = RR_ROLE_ASIDE;
    memmove(&r->keys[which], &r->keys[which + 1], (r->key_count - which - 1) * sizeof *r->keys);
    r->key_count--;
}

static bool grows_everywhere(rr_roles *r)
{
    rr_growth g;

    rr_cells_group(r->table, NULL, 0, r->keep, &r->cells);
    rr_growth_count(r->table, &r->cells, r->version, NONE, &g);
    return is_growing(&g);
}

/* A text without which the version still grows, over more pairs, does not tell cells apart. That shows nothing where
 * the version grows over the whole stream. */
static void drop_attributes(rr_roles *r)
{
    for (size_t k = 0; k < r->key_count && r->key_count > 1;) {
        size_t before = r->version;

        if (take_counter(r, k)) {
            if (grows_everywhere(r)) {
                r->version = before;
                return;
            }
            drop_key(r, k);
        } else {
            k++;
        }
    }
}

static void add_number_key(rr_roles *r)
{
    size_t best = NONE;

    if (r->key_count == RR_ROLES_KEYS_MAX) {
        return;
    }
    for (size_t c = 0; c < r->table->column_count; c++) {
        if (may_count(r, c) && r->counts[c].distinct * 3 <= r->table->row_count) {
            rr_role was = r->role[c];

            r->keys[r->key_count++] = c;
            r->role[c] = RR_ROLE_KEY;
            best = take_counter(r, NONE) ? c : best;
            r->role[c] = was;
            r->key_count--;
        }
    }
    if (best != NONE) {
        r->keys[r->key_count++] = best;
        r->role[best] = RR_ROLE_KEY;
    }
}

/* A counter that falls where an attempt grows. */
static void find_epoch(rr_roles *r)
{
    group(r, NONE);
    for (size_t e = 0; e < r->table->column_count; e++) {
        for (size_t v = 0; may_count(r, e) && v < r->table->column_count; v++) {
            rr_growth alone, both, epoch;

            if (v == e || !may_count(r, v) || r->counts[e].distinct > 50) {
                continue;
            }
            rr_growth_count(r->table, &r->cells, v, NONE, &alone);
            rr_growth_count(r->table, &r->cells, e, NONE, &epoch);
            rr_growth_count(r->table, &r->cells, v, e, &both);
            if (is_growing(&both) && alone.falls != 0 && epoch.falls == 0 && epoch.grows * 2 < epoch.pairs &&
                is_named_version(name_of(r, v))) {
                r->version = v;
                r->epoch = e;
                r->growth = both;
                return;
            }
        }
    }
}

static void find_key_and_version(rr_roles *r)
{
    for (size_t c = 0; c < r->table->column_count; c++) {
        bool named = has_kind(r, c, RR_VALUE_INT) && is_named_id(name_of(r, c));

        if (r->role[c] == RR_ROLE_NONE && (is_text(r, c) || named) && is_always(r, c) && r->counts[c].decimals == 0 &&
            r->counts[c].distinct > 1 && r->key_count < RR_ROLES_KEYS_MAX) {
            r->keys[r->key_count++] = c;
            r->keys_by_name += named ? 1 : 0;
            r->role[c] = RR_ROLE_KEY;
        }
    }
    take_counter(r, NONE);
    drop_attributes(r);
    if (r->version == NONE) {
        find_epoch(r); /* a number that never falls in a cell tells runs apart, and not cells */
    }
    if (r->version == NONE) {
        add_number_key(r);
    }
    if (r->version == NONE) {
        return;
    }
    r->role[r->version] = RR_ROLE_VERSION;
    r->version_named = is_named_version(name_of(r, r->version));
    r->grows_over_all = r->epoch == NONE && grows_everywhere(r);
    if (r->epoch != NONE) {
        r->role[r->epoch] = RR_ROLE_EPOCH;
    }
}

/* ---- withdrawals ---- */

/* Of each withdrawal: whether its version is that of the row before it in the cell. */
static void count_withdrawals(rr_roles *r)
{
    const bool *keep = r->keep;

    if (r->version == NONE || r->withdrawing == 0) {
        return;
    }
    r->keep = NULL;
    group(r, NONE);
    r->keep = (bool *)keep;
    for (size_t k = 1; k < r->cells.count; k++) {
        size_t row = r->cells.order[k], before = r->cells.order[k - 1];
        const rr_value_seen *is = rr_table_at(r->table, row, r->version);
        const rr_value_seen *was = rr_table_at(r->table, before, r->version);

        if (keep[row] || !keep[before] || r->cells.marks[row] != r->cells.marks[before] || is == NULL || was == NULL) {
            continue;
        }
        r->names_withdrawn += is->number == was->number ? 1 : 0;
        r->names_own += is->number > was->number ? 1 : 0;
    }
}

/* ---- measures and mode ---- */

static void find_measures(rr_roles *r)
{
    group(r, NONE);
    for (size_t c = 0; c < r->table->column_count; c++) {
        const rr_column_counts *counts = &r->counts[c];
        bool is_number = counts->kinds[RR_VALUE_INT] + counts->kinds[RR_VALUE_REAL] == counts->present;
        rr_growth g;

        if (r->role[c] != RR_ROLE_NONE) {
            continue;
        }
        if ((!is_number && counts->decimals != counts->present) || counts->distinct < 2) {
            r->role[c] = RR_ROLE_ASIDE;
            continue;
        }
        r->role[c] = RR_ROLE_MEASURE;
        rr_growth_count(r->table, &r->cells, c, NONE, &g);
        r->measures.pairs += g.pairs;
        r->measures.grows += g.grows;
        r->measures.falls += g.falls;
        r->measures.cells = g.cells > r->measures.cells ? g.cells : r->measures.cells;
        r->measures.groups = g.groups > r->measures.groups ? g.groups : r->measures.groups;
    }
}

static void find_mode(rr_roles *r)
{
    const rr_growth *m = &r->measures;

    if (r->withdrawing != 0 && r->version != NONE) {
        r->mode = RR_SUGGEST_RETRACTION;
    } else if (r->withdrawing != 0) {
        r->mode = RR_SUGGEST_UNKNOWN;
    } else if (r->version != NONE) {
        r->mode = RR_SUGGEST_CUMULATIVE;
    } else if (r->id != NONE && m->pairs >= RR_ROLES_PAIRS_LEAST && m->falls * 10 >= m->pairs) {
        r->mode = RR_SUGGEST_DELTA;
    } else if (m->pairs >= RR_ROLES_PAIRS_LEAST && m->grows * 2 >= m->pairs && m->falls * 100 <= m->pairs) {
        r->mode = RR_SUGGEST_CUMULATIVE;
    }
}

size_t rr_roles_next(const rr_roles *roles, rr_role role, size_t after)
{
    for (size_t c = after; c < roles->table->column_count; c++) {
        if (roles->role[c] == role) {
            return c;
        }
    }
    return NONE;
}

bool rr_roles_find(const rr_table *table, rr_roles *r)
{
    *r = (rr_roles){.table = table,
                    .start = NONE,
                    .end = NONE,
                    .version = NONE,
                    .epoch = NONE,
                    .op = NONE,
                    .cause = NONE,
                    .id = NONE,
                    .emitted = NONE};
    r->keep = rr_arena_zero(table->sample->arena, table->row_count + 1);
    if (r->keep == NULL || !rr_cells_init(table, &r->cells)) {
        return false;
    }
    for (size_t c = 0; c < table->column_count; c++) {
        if (!rr_counts_make(table, c, &r->counts[c])) {
            return false;
        }
    }
    find_window(r);
    find_words(r);
    set_aside(r);
    find_key_and_version(r);
    count_withdrawals(r);
    find_measures(r);
    find_mode(r);
    return true;
}
