/* Random histories, and three ways to read cells. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cell_json.h"
#include "delimited.h"
#include "key.h"
#include "record_proto.h"

enum { TEXT = 64, SECOND = 1000000, MINUTE = 60 * SECOND };

/* ---- numbers ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t rr_history_draw(rr_history *history, uint64_t below)
{
    history->random++;
    return mix(history->random, 77) % below;
}

/* ---- a history ---- */

void rr_history_init(rr_history *history, const char *const *names, uint64_t seed)
{
    *history = (rr_history){.names = names, .random = mix(seed, 1)};
    rr_arena_init(&history->arena, 0);
}

void rr_history_fini(rr_history *history)
{
    rr_arena_fini(&history->arena);
    free(history->items);
}

static void append(rr_history *history, rr_message message)
{
    if (history->count == history->room) {
        history->room = history->room == 0 ? 1024 : history->room * 2;
        history->items = reallocarray(history->items, history->room, sizeof *history->items);
        assert_non_null(history->items);
    }
    history->items[history->count++] = message;
}

void rr_history_add_bytes(rr_history *history, size_t contract, rr_slice payload)
{
    append(history, (rr_message){contract, rr_arena_copy(&history->arena, payload)});
}

void rr_history_add(rr_history *history, size_t contract, const rr_record *record)
{
    rr_buf message = {0};

    assert_true(rr_record_to_proto(record, &message));
    rr_history_add_bytes(history, contract, rr_buf_view(&message));
    rr_buf_fini(&message);
}

void rr_history_repeat(rr_history *history, unsigned percent)
{
    size_t count = history->count, more = count * percent / 100;

    for (size_t k = 0; k < more; k++) {
        append(history, history->items[rr_history_draw(history, count)]);
    }
}

void rr_history_shuffle(rr_history *history)
{
    for (size_t k = history->count; k > 1; k--) {
        size_t other = rr_history_draw(history, k);
        rr_message swapped = history->items[k - 1];

        history->items[k - 1] = history->items[other];
        history->items[other] = swapped;
    }
}

/* ---- records of all kinds ---- */

const char rr_mixed_contracts[] =
    "  - {name: counts, mode: cumulative, window: {kind: tumbling, size: 1m}}\n"
    "  - {name: rates, mode: cumulative, window: {kind: sliding, size: 10m, slide: 1m}, corrections: "
    "conditional,\n"
    "     during_conflict: live, measures: {count: {type: int64}, revenue: {type: decimal}}}\n"
    "  - {name: ledger, mode: cumulative, window: {kind: global}, corrections: coordinated,\n"
    "     during_conflict: correction}\n"
    "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}}\n"
    "  - {name: drifts, mode: delta, corrections: conditional, during_conflict: correction}\n"
    "  - {name: rows, mode: retraction, window: {kind: tumbling, size: 1m}}\n"
    "  - {name: amended, mode: retraction, window: {kind: tumbling, size: 1m}, corrections: conditional,\n"
    "     during_conflict: live}\n"
    "  - {name: visits, mode: delta, window: {kind: session, gap: 30s, max: 1h, ends: last}}\n"
    "  - {name: streaks, mode: cumulative, window: {kind: session, gap: 30s, max: 1h, ends: last}}\n";

enum { COUNTS, RATES, LEDGER, SUMS, DRIFTS, ROWS, AMENDED, VISITS, STREAKS, KINDS, HOT = 6 };

const char *const rr_mixed_names[] = {"counts", "rates",   "ledger", "sums",    "drifts",
                                      "rows",   "amended", "visits", "streaks", NULL};

/* A record under way, with the texts that it points to. */
typedef struct draft {
    rr_record record;
    uint64_t cell;
    char key[TEXT], id[TEXT], contributor[TEXT], decimal[TEXT];
    rr_measure measures[2];
} draft;

static rr_version version_of(uint64_t number)
{
    return (rr_version){.epoch = number / 16, .number = number};
}

/* The content of a record follows from its cell and its identity. */
static void say(draft *d, size_t kind, uint64_t identity)
{
    int64_t value = (int64_t)(mix(d->cell, identity) % 2001) - 1000;

    if (kind == RATES) {
        snprintf(d->decimal, sizeof d->decimal, "%lld.%03llu", (long long)value,
                 (unsigned long long)(mix(identity, d->cell) % 1000));
        d->measures[0] = (rr_measure){.name = RR_SLICE("count"), .kind = RR_NUMBER_INT64, .integer = value};
        d->measures[1] =
            (rr_measure){.name = RR_SLICE("revenue"), .kind = RR_NUMBER_TEXT, .text = rr_slice_of(d->decimal)};
        d->record.measure_count = 2;
    } else {
        d->measures[0] = rr_value_measure(value);
        d->record.measure_count = 1;
    }
    d->record.measures = d->measures;
}

static void place(rr_history *history, draft *d, size_t kind, size_t cells)
{
    bool session = kind == VISITS || kind == STREAKS;
    int64_t minute;

    *d = (draft){.cell = rr_history_draw(history, 2) == 0 ? rr_history_draw(history, HOT)
                                                          : rr_history_draw(history, session ? cells / 8 + 1 : cells)};
    minute = RR_TEST_START + (int64_t)(mix(d->cell, 3) % 1000) * MINUTE;
    snprintf(d->key, sizeof d->key, d->cell % 5 == 0 ? "caf\xc3\xa9/%llu {x}:%%" : "key-%llu",
             (unsigned long long)d->cell);
    d->record.business_key = rr_slice_of(d->key);
    d->record.metric_version = d->cell % 3 == 0 ? RR_SLICE("v2") : RR_SLICE("v1");
    d->record.has_window = kind != LEDGER;
    d->record.window = (rr_window){minute, minute + MINUTE};
    if (kind == RATES) {
        d->record.window.end = minute + 10 * MINUTE;
    } else if (session) {
        d->record.window.start += (int64_t)rr_history_draw(history, 8) * 20 * SECOND;
        d->record.window.end = d->record.window.start + (int64_t)(10 + 25 * rr_history_draw(history, 3)) * SECOND;
    }
}

static void correct(rr_history *history, draft *d, size_t kind)
{
    uint64_t base = rr_history_draw(history, 20), version = 1 + rr_history_draw(history, kind == LEDGER ? 20 : 3);

    if (kind == LEDGER) {
        base = mix(d->cell, version) % version;
    }
    d->record.origin = RR_ORIGIN_CORRECTION;
    d->record.status = RR_RESULT_RECONCILED;
    d->record.has_base = true;
    d->record.base_version = base == 0 ? (rr_version){0, 0} : version_of(base);
    d->record.version = version_of(version);
    say(d, kind, 1000 + base * 100 + version);
}

static void revise(rr_history *history, draft *d, size_t kind)
{
    uint64_t version = 1 + rr_history_draw(history, 24), identity = version;

    if (kind == STREAKS) {
        identity = mix((uint64_t)d->record.window.start, mix((uint64_t)d->record.window.end, version));
    }
    d->record.version = version_of(version);
    d->record.status = version % 7 == 0 ? RR_RESULT_STREAM_CLOSED : RR_RESULT_PROVISIONAL;
    say(d, kind, identity);
    if (kind == RATES && version > 2 && version % 3 == 0) {
        d->record.has_includes = true;
        d->record.includes_base = version_of(version - 2);
        d->record.includes_version = version_of(1 + version % 2);
    }
}

static void contribute(rr_history *history, draft *d, size_t kind)
{
    uint64_t id = 1 + rr_history_draw(history, kind == VISITS ? 40 : 200);

    snprintf(d->id, sizeof d->id, "part/%llu", (unsigned long long)id);
    if (id % 3 == 0) {
        d->record.producer = RR_SLICE("press");
        d->record.has_sequence = true;
        d->record.sequence = id;
    } else {
        d->record.delta_id = rr_slice_of(d->id);
    }
    if (id % 10 == 0 && rr_history_draw(history, 2) == 0) {
        d->record.op = RR_OP_RETRACT;
        return;
    }
    if (kind == DRIFTS) {
        d->record.version = version_of(1 + id % 20);
    }
    d->record.status = id % 13 == 0 ? RR_RESULT_STREAM_CLOSED : RR_RESULT_PROVISIONAL;
    say(d, kind, id);
}

/* Every sixth version is an untargeted withdrawal; of the others some are withdrawn by name. */
static void assert_or_withdraw(rr_history *history, draft *d, size_t kind)
{
    uint64_t contributor = rr_history_draw(history, kind == ROWS ? 30 : 2), version = 1 + rr_history_draw(history, 12);
    uint64_t identity = contributor * 100 + version;

    snprintf(d->contributor, sizeof d->contributor, "upstream row %llu", (unsigned long long)contributor);
    d->record.contributor = contributor == 0 ? (rr_slice){NULL, 0} : rr_slice_of(d->contributor);
    if (version % 6 == 5) {
        d->record.op = RR_OP_RETRACT;
        d->record.version = version_of(version);
    } else if (rr_history_draw(history, 10) < 3) {
        d->record.op = RR_OP_RETRACT;
        d->record.retracts_version = version_of(version);
        if (rr_history_draw(history, 2) == 0) {
            say(d, kind, identity);
        }
    } else {
        d->record.version = version_of(version);
        say(d, kind, identity);
    }
}

static void draft_one(rr_history *history, draft *d, size_t kind, size_t cells)
{
    bool corrected = kind == RATES || kind == LEDGER || kind == DRIFTS || kind == AMENDED;

    place(history, d, kind, cells);
    if (corrected && rr_history_draw(history, 8) == 0) {
        correct(history, d, kind);
    } else if (kind == SUMS || kind == DRIFTS || kind == VISITS) {
        contribute(history, d, kind);
    } else if (kind == ROWS || kind == AMENDED) {
        assert_or_withdraw(history, d, kind);
    } else {
        revise(history, d, kind);
    }
}

void rr_history_mixed(rr_history *history, size_t count, size_t cells)
{
    for (size_t k = 0; k < count; k++) {
        size_t kind = rr_history_draw(history, KINDS);
        draft d;

        draft_one(history, &d, kind, cells);
        rr_history_add(history, kind, &d.record);
    }
}

rr_measure rr_value_measure(int64_t value)
{
    return (rr_measure){.name = RR_SLICE("value"), .kind = RR_NUMBER_INT64, .integer = value};
}

rr_record rr_delta_record(const char *business_key, uint64_t id, const rr_measure *value, char *text)
{
    snprintf(text, TEXT, "id-%llu", (unsigned long long)id);
    return (rr_record){.business_key = rr_slice_of(business_key),
                       .metric_version = RR_SLICE("v1"),
                       .has_window = true,
                       .window = {RR_TEST_START, RR_TEST_START + MINUTE},
                       .delta_id = rr_slice_of(text),
                       .measures = value,
                       .measure_count = 1};
}

/* ---- cells ---- */

static void save(const rr_history *history, size_t contract, const char *path)
{
    FILE *file = fopen(path, "w");
    rr_buf out = {0};

    assert_non_null(file);
    for (size_t k = 0; k < history->count; k++) {
        if (history->items[k].contract == contract) {
            rr_delimited_put(&out, history->items[k].payload);
        }
    }
    assert_true(rr_buf_ok(&out));
    assert_int_equal(fwrite(out.data, 1, out.len, file), out.len);
    assert_int_equal(fclose(file), 0);
    rr_buf_fini(&out);
}

/* Takes out the lines that are verdicts. */
static char *cells_only(char *text)
{
    char *to = text;

    for (char *line = text, *end; *line != '\0'; line = end) {
        end = strchrnul(line, '\n');
        end += *end == '\n';
        if (strncmp(line, "{\"verdict\"", strlen("{\"verdict\"")) != 0) {
            memmove(to, line, (size_t)(end - line));
            to += end - line;
        }
    }
    *to = '\0';
    return text;
}

char *rr_cells_applied(rr_world *world, const rr_history *history, size_t contract)
{
    const char *name = history->names[contract];
    char path[RR_WORLD_PATH];

    snprintf(path, sizeof path, "%s/%s.records", world->folder, name);
    save(history, contract, path);
    return cells_only(rr_world_output(world,
                                      (const char *[]){"apply", "--contract", world->contracts, "--name", name,
                                                       "--input", "protobuf", "--cells", path, NULL},
                                      NULL));
}

char *rr_cells_stored(rr_world *world, const char *contract)
{
    char url[96];

    snprintf(url, sizeof url, "%s/0", world->redis.url);
    return cells_only(rr_world_output(world,
                                      (const char *[]){"apply", "--contract", world->contracts, "--name", contract,
                                                       "--store", url, "--cells", "/dev/null", NULL},
                                      NULL));
}

/* One cell as a reader finds it. */
typedef struct found {
    rr_key_parts parts;
    rr_slice value; /* from "state" to the conflicts */
} found;

static int by_identity(const void *left, const void *right)
{
    const found *a = left, *b = right;
    int keys = rr_slice_compare(a->parts.business_key, b->parts.business_key);
    int versions = keys != 0 ? keys : rr_slice_compare(a->parts.metric_version, b->parts.metric_version);

    return versions != 0 ? versions : rr_window_compare(a->parts.window, b->parts.window);
}

static bool take_cell(rr_world *world, const char *contract, const char *key, found *cell, rr_arena *arena)
{
    char *value = NULL, *end;

    /* Parts of a cell and the index of sessions stand under other names. */
    if (!rr_key_parse(rr_slice_of(key), RR_SLICE("rr"), arena, &cell->parts) || cell->parts.is_sessions ||
        !rr_slice_equal(cell->parts.contract, rr_slice_of(contract))) {
        return false;
    }
    value = rr_redis_get(world, key);
    assert_non_null(value);
    assert_true(strncmp(value, "{\"state\":", strlen("{\"state\":")) == 0);
    end = strstr(value, ",\"updated_at\":");
    assert_non_null(end);
    cell->value = rr_arena_copy(arena, (rr_slice){value + 1, (size_t)(end - value - 1)});
    free(value);
    return true;
}

static void put_cell(rr_buf *out, const found *cell)
{
    rr_buf_text(out, "{\"business_key\":");
    rr_buf_json(out, cell->parts.business_key);
    rr_buf_text(out, ",\"metric_version\":");
    rr_buf_json(out, cell->parts.metric_version);
    if (cell->parts.has_window) {
        rr_buf_text(out, ",\"window\":");
        rr_window_json(out, cell->parts.window);
    }
    rr_buf_char(out, ',');
    rr_buf_slice(out, cell->value);
    rr_buf_text(out, "}\n");
}

char *rr_cells_readers(rr_world *world, const char *contract)
{
    char pattern[128];
    redisReply *keys;
    rr_buf out = {0};
    rr_arena arena;
    size_t count = 0;
    found *cells;

    snprintf(pattern, sizeof pattern, "rr:{%s:*", contract);
    keys = rr_redis_ask(world, (const char *[]){"KEYS", pattern, NULL});
    cells = calloc(keys->elements + 1, sizeof *cells);
    assert_non_null(cells);
    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < keys->elements; k++) {
        count += take_cell(world, contract, keys->element[k]->str, &cells[count], &arena);
    }
    qsort(cells, count, sizeof *cells, by_identity);
    for (size_t k = 0; k < count; k++) {
        put_cell(&out, &cells[k]);
    }
    rr_buf_char(&out, '\0');
    assert_true(rr_buf_ok(&out));
    freeReplyObject(keys);
    free(cells);
    rr_arena_fini(&arena);
    return out.data;
}

void rr_assert_same_lines(const char *what, const char *expected, const char *found_text)
{
    const char *a = expected, *b = found_text;

    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b) {
        return;
    }
    while (a > expected && a[-1] != '\n') {
        a--;
        b--;
    }
    fail_msg("%s:\n  expected %.*s\n  found    %.*s", what, (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}

size_t rr_assert_cells(rr_world *world, const rr_history *history)
{
    size_t count = 0;

    for (size_t k = 0; history->names[k] != NULL; k++) {
        char *expected = rr_cells_applied(world, history, k);
        char *readers = rr_cells_readers(world, history->names[k]);
        char *stored = rr_cells_stored(world, history->names[k]);
        char what[128];

        snprintf(what, sizeof what, "%s: what readers see is not what apply gives", history->names[k]);
        rr_assert_same_lines(what, expected, readers);
        snprintf(what, sizeof what, "%s: what the facts give is not what apply gives", history->names[k]);
        rr_assert_same_lines(what, expected, stored);
        for (const char *at = expected; *at != '\0'; at++) {
            count += *at == '\n';
        }
        free(expected);
        free(readers);
        free(stored);
    }
    return count;
}
