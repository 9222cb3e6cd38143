/* rr_table: a sample as rows and columns, a row for each record that a mapping would make of it.
 *
 * Without a list a message is a row. With one, each of its items is a row, and
 * what stands beside the list belongs to every row of the message. Of an
 * envelope the half that its op chooses is the row.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TABLE_H
#define RR_TABLE_H

#include "sample.h"

enum {
    RR_TABLE_COLUMNS_MAX = 256,
    RR_TABLE_ROWS_MAX = 20000,
    RR_TABLE_TOKENS_MAX = 16, /* tokens of a subject that become columns */
    RR_TABLE_APART_MAX = 8    /* values that tell rows of another kind */
};

typedef struct rr_column {
    uint16_t path;   /* 0: a token of the subject */
    uint16_t before; /* the same path of an envelope's other half; 0: none */
    uint16_t token;  /* from 1 */
    bool whole;      /* stands at the message, though rows are items or halves */
} rr_column;

typedef struct rr_row {
    const rr_message_seen *message;
    bool is_before; /* of an envelope: the record is gone, and this is what it was */
    bool repeated;  /* the same bytes came before in the sample */
} rr_row;

typedef struct rr_table {
    const rr_sample *sample;
    uint16_t list;          /* what `each` would name; 0: none */
    uint16_t before, after; /* of an envelope; 0: none */
    uint16_t envelope_op;
    size_t no_half; /* messages to which no half applies */
    rr_column columns[RR_TABLE_COLUMNS_MAX];
    size_t column_count;
    rr_row *rows;
    size_t row_count;
    const rr_value_seen **values; /* row * column_count + column; NULL: absent */
    size_t repeated;              /* rows */
    size_t left_out;              /* rows and columns beyond the bounds */

    size_t apart;        /* rows of another kind, which were removed */
    size_t apart_column; /* the text that tells them from the others; SIZE_MAX: none does */
    const rr_value_seen *apart_values[RR_TABLE_APART_MAX];
    size_t apart_value_count;
    size_t without_item; /* messages whose list is not there or empty */
} rr_table;

/* Everything is in the sample's arena. False: it is exhausted. */
bool rr_table_make(const rr_sample *sample, rr_table *table);

/* Removes rows that lack more than half of what most rows have. False: the arena is exhausted. */
bool rr_table_set_apart(rr_table *table);

static inline const rr_value_seen *rr_table_at(const rr_table *table, size_t row, size_t column)
{
    return table->values[row * table->column_count + column];
}

#endif
