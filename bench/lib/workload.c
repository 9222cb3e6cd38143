/* Records from a counter and a small generator. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>

#include "options.h"

enum { ZIPF_CELLS = 10000, MINUTE_US = 60000000, SESSION_STEPS = 10, PER_CELL = 10 };

typedef void fill(bench_workload *workload, rr_record *record);

typedef struct cell {
    uint64_t version, correction_base, correction;
} cell;

struct bench_workload {
    fill *fill;
    uint64_t count, at;
    int64_t start_us;
    uint64_t random;
    size_t cell_count;
    cell *cells;
    double *shares; /* zipf: up to and with each cell */
    char key[32], id[32];
    rr_measure measure;
};

/* splitmix64 */
static uint64_t next_random(bench_workload *w)
{
    uint64_t z = w->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void name_cell(bench_workload *w, rr_record *record, uint64_t number)
{
    snprintf(w->key, sizeof w->key, "line-%07llu", (unsigned long long)number);
    record->business_key = rr_slice_of(w->key);
    record->window = (rr_window){w->start_us, w->start_us + MINUTE_US};
}

static void fill_create(bench_workload *w, rr_record *record)
{
    name_cell(w, record, w->at);
    record->version.number = 1;
}

static void fill_update(bench_workload *w, rr_record *record)
{
    name_cell(w, record, w->at);
    record->version.number = 2;
}

static void fill_zipf(bench_workload *w, rr_record *record)
{
    double point = (double)(next_random(w) >> 11) / 9007199254740992.0 * w->shares[w->cell_count - 1];
    size_t low = 0, high = w->cell_count - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (w->shares[middle] < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    name_cell(w, record, low);
    record->version.number = ++w->cells[low].version;
}

static void fill_hot(bench_workload *w, rr_record *record)
{
    name_cell(w, record, 0);
    record->version.number = w->at + 1;
}

static void fill_delta(bench_workload *w, rr_record *record)
{
    name_cell(w, record, 0);
    snprintf(w->id, sizeof w->id, "event-%08llu", (unsigned long long)w->at);
    record->delta_id = rr_slice_of(w->id);
    record->mode = RR_MODE_DELTA;
}

static void fill_sessions(bench_workload *w, rr_record *record)
{
    uint64_t group = w->at / (1024 * SESSION_STEPS), in_group = w->at % (1024 * SESSION_STEPS);
    int64_t step = (int64_t)(in_group / 1024);

    /* A thousand sessions grow at a time. */
    name_cell(w, record, group * 1024 + in_group % 1024);
    record->window.end = record->window.start + 30000000 + step * 10000000;
    record->version.number = 1;
}

static void fill_corrections(bench_workload *w, rr_record *record)
{
    size_t number = next_random(w) % w->cell_count;
    cell *to = &w->cells[number];

    name_cell(w, record, number);
    if (w->at % 100 == 99 && to->version != 0) {
        to->correction_base = to->version;
        record->origin = RR_ORIGIN_CORRECTION;
        record->has_base = true;
        record->base_version.number = to->correction_base;
        record->version.number = ++to->correction;
        return;
    }
    record->version.number = ++to->version;
    if (to->correction != 0) {
        record->has_includes = true;
        record->includes_base.number = to->correction_base;
        record->includes_version.number = to->correction;
    }
}

static void fill_refused(bench_workload *w, rr_record *record)
{
    fill_create(w, record);
    if (w->at % 10 == 9) {
        record->window.end -= 1000;
    }
}

static const struct {
    const char *name;
    fill *fill;
} known[] = {
    {"create", fill_create}, {"update", fill_update},     {"zipf", fill_zipf},       {"hot", fill_hot},
    {"delta", fill_delta},   {"sessions", fill_sessions}, {"refused", fill_refused}, {"corrections", fill_corrections},
};

static fill *find(const char *name)
{
    for (size_t k = 0; name != NULL && k < sizeof known / sizeof known[0]; k++) {
        if (strcmp(name, known[k].name) == 0) {
            return known[k].fill;
        }
    }
    bench_fail("no such workload", name == NULL ? "(none)" : name);
}

static void make_cells(bench_workload *w)
{
    double sum = 0;

    w->cell_count = w->fill == fill_zipf ? ZIPF_CELLS : w->count / PER_CELL + 1;
    w->cells = calloc(w->cell_count, sizeof *w->cells);
    w->shares = calloc(w->cell_count, sizeof *w->shares);
    if (w->cells == NULL || w->shares == NULL) {
        bench_fail("workload", "no memory");
    }
    for (size_t k = 0; k < w->cell_count; k++) {
        sum += 1.0 / (double)(k + 1);
        w->shares[k] = sum;
    }
}

bench_workload *bench_workload_new(const char *name, uint64_t count, int64_t start_us)
{
    bench_workload *w = calloc(1, sizeof *w);

    if (w == NULL) {
        bench_fail("workload", "no memory");
    }
    w->fill = find(name);
    w->count = count;
    w->start_us = start_us - start_us % MINUTE_US;
    make_cells(w);
    return w;
}

void bench_workload_free(bench_workload *workload)
{
    free(workload->cells);
    free(workload->shares);
    free(workload);
}

void bench_workload_next(bench_workload *workload, rr_record *record)
{
    *record = (rr_record){.metric_version = RR_SLICE("v1"),
                          .has_window = true,
                          .mode = RR_MODE_CUMULATIVE,
                          .status = RR_RESULT_PROVISIONAL,
                          .cause = RR_CAUSE_ON_TIME,
                          .has_emitted_at = true,
                          .measures = &workload->measure,
                          .measure_count = 1};
    workload->measure = (rr_measure){
        .name = RR_SLICE("value"), .kind = RR_NUMBER_INT64, .integer = (int64_t)(workload->at * 7 % 1000003)};
    workload->fill(workload, record);
    record->emitted_at_us = record->window.end + (int64_t)workload->at;
    workload->at++;
}
