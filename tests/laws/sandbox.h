/* A sandbox takes records in, one by one, and can say what readers see.
 *
 * In a kept sandbox units stay in memory as rr_join leaves them. In a stored one
 * each record reads its unit from bytes and writes it again, as an engine does
 * with a store; spilled: parts are beside the value from the first, and only
 * those that the record names are at hand.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_LAWS_SANDBOX_H
#define RR_LAWS_SANDBOX_H

#include "history.h"
#include "join.h"

typedef enum rr_sandbox_kind { RR_SANDBOX_KEPT, RR_SANDBOX_STORED, RR_SANDBOX_SPILLED } rr_sandbox_kind;

enum { RR_SANDBOX_UNITS = 8, RR_SANDBOX_PARTS = 64 };

typedef struct rr_stored_part {
    rr_buf id, bytes;
} rr_stored_part;

/* What changes together: one cell, or the sessions of a key and metric version. */
typedef struct rr_held {
    rr_buf business_key, metric_version;
    rr_window window; /* {0, 0} of sessions */
    rr_unit unit;     /* kept: always valid; stored: as the last record left it */
    rr_buf value;     /* stored */
    rr_stored_part parts[RR_SANDBOX_PARTS];
    size_t part_count;
} rr_held;

typedef struct rr_sandbox {
    rr_sandbox_kind kind;
    const rr_contract *contract;
    rr_arena arena; /* kept: of the whole history; stored: of one record */
    rr_held *held[RR_SANDBOX_UNITS];
    size_t held_count;
    /* Of the last record: */
    rr_record record;
    rr_held *at;       /* NULL: it was not admitted */
    const char *fault; /* NULL, or what must never happen */
} rr_sandbox;

void rr_sandbox_init(rr_sandbox *sandbox, const rr_contract *contract, rr_sandbox_kind kind);
void rr_sandbox_fini(rr_sandbox *sandbox);

rr_outcome rr_sandbox_take(rr_sandbox *sandbox, const rr_line *line);

/* The lines of `apply --cells` of one unit, by window; conflicts: with them. */
void rr_held_print(rr_sandbox *sandbox, rr_held *held, bool conflicts, rr_buf *out);

/* Of all, sorted. */
void rr_sandbox_print(rr_sandbox *sandbox, bool conflicts, rr_buf *out);

#endif
