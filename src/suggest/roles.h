/* rr_roles: which column is likely which field of a record, and the counts that this rests on.
 *
 * A role is given only where the rows bear it out. Names decide nothing alone;
 * where a name took part, the printed text says so. SIZE_MAX stands for "no
 * column".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ROLES_H
#define RR_ROLES_H

#include "counts.h"

enum {
    RR_ROLES_PAIRS_LEAST = 20, /* fewer pairs of rows of one cell show nothing */
    RR_ROLES_KEYS_MAX = 8,
    RR_ROLES_VALUES_MAX = 12 /* of an op */
};

typedef enum rr_role {
    RR_ROLE_NONE,
    RR_ROLE_KEY,
    RR_ROLE_START,
    RR_ROLE_END,
    RR_ROLE_VERSION,
    RR_ROLE_EPOCH,
    RR_ROLE_OP,
    RR_ROLE_CAUSE,
    RR_ROLE_ID,      /* another value in each row */
    RR_ROLE_CLOCK,   /* a time that bounds no window */
    RR_ROLE_MEASURE, /* a number that is none of these */
    RR_ROLE_ASIDE    /* constant, or of a type that a record has no place for */
} rr_role;

typedef enum rr_suggested_mode {
    RR_SUGGEST_UNKNOWN,
    RR_SUGGEST_CUMULATIVE,
    RR_SUGGEST_DELTA,
    RR_SUGGEST_RETRACTION
} rr_suggested_mode;

typedef struct rr_roles {
    const rr_table *table;
    rr_column_counts counts[RR_TABLE_COLUMNS_MAX];
    rr_role role[RR_TABLE_COLUMNS_MAX];
    rr_cells cells;
    bool *keep; /* of each row: it asserts, and does not withdraw */
    size_t asserting, withdrawing;

    size_t start, end; /* both, or neither, or `start` alone: a time that is aligned and repeats */
    int64_t length_us; /* end - start; 0: it varies */
    int64_t inclusive_us;
    int64_t step_us; /* every start is a multiple of it, behind `offset_us` */
    int64_t offset_us;
    size_t starts;             /* distinct ones */
    int64_t shortest, longest; /* where it varies */
    size_t window_rows;        /* with both bounds */

    size_t keys[RR_ROLES_KEYS_MAX + 2]; /* and the window's bounds behind them */
    size_t key_count;
    size_t keys_by_name;               /* numbers among them, taken for their name */
    size_t dropped[RR_ROLES_KEYS_MAX]; /* texts that vary within a cell */
    size_t dropped_count;

    size_t version, epoch; /* SIZE_MAX: none */
    rr_growth growth;      /* of the version */
    bool version_named;    /* its name took part */
    bool grows_over_all;   /* it grows over the whole sample, whatever the cell */

    size_t op, cause, id, emitted;
    size_t names_withdrawn,
        names_own; /* withdrawals whose version is that of the row before it in the cell; that is greater */

    rr_suggested_mode mode;
    rr_growth measures; /* over all measures */
} rr_roles;

/* Everything is in the arena of the table's sample. False: it is exhausted. */
bool rr_roles_find(const rr_table *table, rr_roles *roles);

/* What an op's text does: 1 asserts, -1 withdraws, 0: the word is not known. */
int rr_op_of(rr_slice text);

/* Columns of a role, from `after` on (0: from the first); SIZE_MAX: no more. */
size_t rr_roles_next(const rr_roles *roles, rr_role role, size_t after);

#endif
