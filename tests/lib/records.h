/* Random histories of records, encoded as producers send them, and the cells that follow from them.
 *
 * A random history never contradicts itself: what a record says follows from its identity. So its cells depend
 * neither on the order in which the records are taken nor on how often (semantics, law 1). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_RECORDS_H
#define RR_TEST_RECORDS_H

#include <rr/arena.h>

#include "record.h"
#include "world.h"

/* 2024-01-01T00:00:00Z: where windows of tests begin. */
#define RR_TEST_START INT64_C(1704067200000000)

typedef struct rr_message {
    size_t contract; /* index into the names */
    rr_slice payload;
} rr_message;

typedef struct rr_history {
    const char *const *names; /* of the contracts */
    rr_message *items;        /* in the order of the stream */
    size_t count, room;
    uint64_t random;
    rr_arena arena;
} rr_history;

void rr_history_init(rr_history *history, const char *const *names, uint64_t seed);
void rr_history_fini(rr_history *history);

/* Appends a record; the call copies what it points to. */
void rr_history_add(rr_history *history, size_t contract, const rr_record *record);

/* Appends something that is no record, or was encoded elsewhere. */
void rr_history_add_bytes(rr_history *history, size_t contract, rr_slice payload);

/* Appends copies of random records, so many in a hundred of those there are. */
void rr_history_repeat(rr_history *history, unsigned percent);
void rr_history_shuffle(rr_history *history);

/* A number below `below`, the same for the same seed. */
uint64_t rr_history_draw(rr_history *history, uint64_t below);

/* Contracts of every mode and of most kinds of windows and corrections, and random records for them: half of them for
 * few cells, which are hot, the others spread over `cells`. */
extern const char rr_mixed_contracts[];
extern const char *const rr_mixed_names[];
void rr_history_mixed(rr_history *history, size_t count, size_t cells);

/* A delta of 1 minute's window with a delta_id and a value: the plain record of many tests. text: 64 bytes. */
rr_record rr_delta_record(const char *business_key, uint64_t id, const rr_measure *value, char *text);
rr_measure rr_value_measure(int64_t value);

/* The cells of a contract as lines, sorted; the caller frees the text.
 * applied: what `apply` makes of the history's records, in memory.
 * stored: what `apply` finds in Redis, made of the facts.
 * readers: what GET answers, made of the keys and values alone. */
char *rr_cells_applied(rr_world *world, const rr_history *history, size_t contract);
char *rr_cells_stored(rr_world *world, const char *contract);
char *rr_cells_readers(rr_world *world, const char *contract);

/* Fails with the first lines that differ. */
void rr_assert_same_lines(const char *what, const char *expected, const char *found);

/* All three are the same for each contract of the history. Returns the number of cells. */
size_t rr_assert_cells(rr_world *world, const rr_history *history);

#endif
