/* bench_workload: the records of one row, the same in every run.
 *
 *   create       each record its own cell, version 1
 *   update       the same cells, version 2
 *   zipf         10,000 cells (fewer where the count is small), their frequencies as 1/rank; versions rise
 *   hot          one cell; versions rise
 *   delta        one cell; each record its own identity
 *   sessions     sessions that grow: ten windows each, the next contains the last
 *   corrections  1 % are corrections of a cell; the live results after it include it
 *   refused      as create, but every tenth has a window off the grid
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "buf.h"
#include "record.h"

typedef struct bench_workload bench_workload;

/* start_us: where windows start; on a full minute. Exits where there is no such workload. */
bench_workload *bench_workload_new(const char *name, uint64_t count, int64_t start_us);
void bench_workload_free(bench_workload *workload);

/* The next record; what it points to lives until the next call. */
void bench_workload_next(bench_workload *workload, rr_record *record);

#endif
