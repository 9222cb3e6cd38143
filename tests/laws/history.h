/* A random history: a contract, and records as lines of JSON, each with the time at which it arrives.
 *
 * The same seed gives the same history. In an honest one nothing contradicts:
 * what a record says follows from its identity. Domains are small, so that
 * much meets; a part of the lines breaks the contract, one rule each.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_LAWS_HISTORY_H
#define RR_LAWS_HISTORY_H

#include "buf.h"
#include "contract_yaml.h"

/* splitmix64 */
typedef struct rr_dice {
    uint64_t state;
} rr_dice;

uint64_t rr_dice_roll(rr_dice *dice);
unsigned rr_dice_below(rr_dice *dice, unsigned bound);
bool rr_dice_chance(rr_dice *dice, unsigned percent);

enum { RR_LINES_MAX = 128 };

typedef struct rr_line {
    rr_slice json; /* in the history's arena */
    int64_t clock_us;
    rr_reason wanted; /* of the admission: NONE for a record that keeps the contract */
} rr_line;

typedef struct rr_history {
    uint64_t seed;
    bool honest;
    rr_buf yaml;
    rr_contract_list contracts;
    const rr_contract *contract;
    rr_arena arena;
    rr_line *lines; /* room for RR_LINES_MAX */
    size_t count;   /* RR_LINES_MAX / 2 at most: the rest is for repeats */
} rr_history;

/* Aborts where memory runs out or the contract cannot be read: both are faults of the test. */
void rr_history_make(rr_history *history, uint64_t seed);
void rr_history_fini(rr_history *history);

/* As `reconciler apply` reads them: a clock line wherever the clock changes. */
void rr_lines_print(const rr_line *lines, size_t count, rr_buf *out);

#endif
