/* rr_run: the program processes a history while something breaks; then the outcome is checked.
 *
 * What is published is remembered. In the end every cell, as readers and as `apply` see it, is what `apply` makes of
 * those records in memory, so nothing was lost and nothing counted twice; `verify` finds no difference; and no
 * record became a dead letter. A check that does not hold fails the running test. */
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

/* Repeats `times` times: publishes a portion, waits for a random time below `most_ms`, and calls break_it. */
void rr_run_break_under_load(rr_run *run, size_t times, size_t most_ms, void (*break_it)(rr_run *run));

/* Starts the program again. */
void rr_run_restart(rr_run *run);

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

/* An alert about a source, read from the log: the first line that has all of `kind` and the words. */
typedef struct rr_notice {
    bool there;
    unsigned long long lost, from, to;
} rr_notice;

/* sink_rolled_back: "lost N results of sequences FROM to TO". unrepairable_gap: "of sequences FROM to TO". The last one
 * of that kind. */
rr_notice rr_run_notice(rr_run *run, const char *kind);

/* A run whose program reaches one of the servers only through a relay. */
typedef struct rr_relayed {
    rr_relay *relay;
    rr_run run;
} rr_relayed;

typedef enum rr_relayed_server { RR_RELAYED_NATS, RR_RELAYED_REDIS } rr_relayed_server;

/* As rr_run_begin and rr_run_end. */
void rr_relayed_begin(rr_relayed *relayed, rr_world *world, rr_relayed_server to, const rr_setup *setup, bool plain);
void rr_relayed_end(rr_relayed *relayed);

/* Whole tests over a relay, from begin to end: `count` records whose bytes arrive one by one; connections that
 * become half open, so many times; connections that are reset within most_ms after each tenth of a portion. */
void rr_relayed_chopped(rr_world *world, rr_relayed_server to, size_t count);
void rr_relayed_half_open(rr_world *world, rr_relayed_server to, const rr_setup *setup, size_t times);
void rr_relayed_reset(rr_world *world, rr_relayed_server to, const rr_setup *setup, size_t times, size_t most_ms);

/* A test with a world of its own; lasting: Redis keeps its data. */
#define RR_FLEETING(test) cmocka_unit_test_setup_teardown(test, rr_world_begin, rr_world_end)
#define RR_LASTING(test) cmocka_unit_test_setup_teardown(test, rr_world_begin_lasting, rr_world_end)

#endif
