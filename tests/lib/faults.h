/* rr_run: the program at work on a history while something breaks, and what must be true afterwards.
 *
 * What is published is remembered. In the end every cell, as readers and as `apply` see it, is what `apply` makes of
 * those records in memory, so nothing was lost and nothing counted twice; `verify` finds no difference; and no record
 * became a dead letter. Everything fails the running test where that is not so.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_FAULTS_H
#define RR_TEST_FAULTS_H

#include "publish.h"
#include "relay.h"

enum { RR_LEAVE_MS = 15000, RR_SETTLE_MS = 60000 };

typedef struct rr_run {
    rr_world *world;
    rr_child *program; /* the one that runs now */
    rr_history history;
    size_t published;
    uint64_t letters; /* dead letters that are due; 0 at first */
    char config[RR_WORLD_PATH];
} rr_run;

/* Contracts of every mode (rr_mixed_contracts) or, plain, of deltas alone: each record of rr_run_add_plain is one that
 * readers see. setup: NULL, or what is not usual; contracts and names are set here. Starts the program. */
void rr_run_begin(rr_run *run, rr_world *world, const rr_setup *setup, bool plain);

/* Records that are not published yet: of all kinds, or plain ones, whose effects can be counted. */
void rr_run_add(rr_run *run, size_t count);
void rr_run_add_plain(rr_run *run, size_t count);
void rr_run_publish(rr_run *run);

/* Adds what fits the run's contracts, and publishes. */
void rr_run_load(rr_run *run, size_t count);

/* How many records a test publishes at once. */
size_t rr_run_portion(void);

/* So many times: publishes a portion, waits a moment (drawn, below `most_ms`) and calls break_it. */
void rr_run_break_under_load(rr_run *run, size_t times, size_t most_ms, void (*break_it)(rr_run *run));

/* Starts it again. */
void rr_run_again(rr_run *run);

/* All is acknowledged, nothing is being repaired and nothing halted: the program is told to leave, and everything is
 * compared. */
void rr_run_end(rr_run *run);

/* The same, but the program has ended or is stopped by the caller: only compares. */
void rr_run_compare(rr_run *run);
void rr_run_fini(rr_run *run);

/* `verify`: its exit code. */
int rr_run_verify(rr_run *run);

/* Waits until the checkpoint's floor is the last sequence of the stream, so that it was written after all of it. */
void rr_run_wait_checkpoint(rr_run *run);
uint64_t rr_run_floor(rr_run *run);

/* Waits until it says that sequences were read again, and all that is left is done. */
void rr_run_wait_repaired(rr_run *run);

/* An alert about a source, as it lies in the log; the first that has all of `kind` and the words. */
typedef struct rr_notice {
    bool there;
    unsigned long long lost, from, to;
} rr_notice;

/* sink_rolled_back: "lost N results of sequences FROM to TO". unrepairable_gap: "of sequences FROM to TO". The last one
 * of that kind. */
rr_notice rr_run_notice(rr_run *run, const char *kind);

/* A run whose program reaches one of the servers only through a relay. */
typedef struct rr_way {
    rr_relay *relay;
    rr_run run;
} rr_way;

typedef enum rr_way_to { RR_WAY_TO_NATS, RR_WAY_TO_REDIS } rr_way_to;

/* As rr_run_begin and rr_run_end. */
void rr_way_begin(rr_way *way, rr_world *world, rr_way_to to, const rr_setup *setup, bool plain);
void rr_way_end(rr_way *way);

/* Whole tests of the way, from begin to end: `count` records whose bytes arrive one by one; connections that are half open
 * after a while, so many times; connections that are reset within most_ms after each tenth of a portion. */
void rr_way_chopped(rr_world *world, rr_way_to to, size_t count);
void rr_way_half_open(rr_world *world, rr_way_to to, const rr_setup *setup, size_t times);
void rr_way_reset(rr_world *world, rr_way_to to, const rr_setup *setup, size_t times, size_t most_ms);

/* A test with a world of its own; lasting: Redis keeps its data. */
#define RR_FLEETING(test) cmocka_unit_test_setup_teardown(test, rr_world_begin, rr_world_end)
#define RR_LASTING(test) cmocka_unit_test_setup_teardown(test, rr_world_begin_lasting, rr_world_end)

#endif
