/* Counts over a table: what a column holds, and what it does within a cell. Nothing here decides anything. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_COUNTS_H
#define RR_COUNTS_H

#include "table.h"

typedef enum rr_time_unit {
    RR_TIME_NONE,
    RR_TIME_S,
    RR_TIME_MS,
    RR_TIME_US,
    RR_TIME_NS,
    RR_TIME_RFC3339,
    RR_TIME_TIMESTAMP
} rr_time_unit;

typedef struct rr_column_counts {
    size_t present; /* rows with a value */
    size_t kinds[RR_VALUE_KIND_COUNT];
    size_t distinct;
    int64_t least, most; /* of INT and TIME */
    rr_time_unit unit;   /* every value is a plausible time in this unit */
    size_t near;         /* times within an hour of the stored time */
    size_t decimals;     /* texts that are a number with a fraction */
} rr_column_counts;

/* What a number does from one row of a cell to the next. */
typedef struct rr_growth {
    size_t pairs, grows, falls; /* the rest of the pairs is equal */
    size_t by_one;              /* of those that grow */
    size_t cells;               /* with at least one pair */
    size_t cells_growing;       /* ... all of whose pairs grow */
    size_t groups;              /* cells in all */
} rr_growth;

/* The rows ordered by cell, and by the stream within a cell. */
typedef struct rr_cells {
    uint64_t *marks; /* a row's cell */
    size_t *order;   /* rows without those that are left out */
    size_t count;    /* of the order */
    size_t *scratch;
} rr_cells;

bool rr_counts_make(const rr_table *table, size_t column, rr_column_counts *counts);

/* A time in microseconds; false: the value is none in this unit. */
bool rr_value_time(const rr_value_seen *value, rr_time_unit unit, int64_t *time_us);

/* Memory for the cells of a table, from the sample's arena. False: it is exhausted. */
bool rr_cells_init(const rr_table *table, rr_cells *cells);

/* Cells are rows with equal values in these columns. Left out are rows that repeat the bytes of an earlier message, and
 * those where `keep` (of each row) is false; NULL: none. */
void rr_cells_group(const rr_table *table, const size_t *columns, size_t count, const bool *keep, rr_cells *cells);

/* major: an order before that of the column, as an epoch; SIZE_MAX: none. Rows without a value are passed over. */
void rr_growth_count(const rr_table *table, const rr_cells *cells, size_t column, size_t major, rr_growth *growth);

#endif
