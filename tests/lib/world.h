/* rr_world: private servers, and the program itself as children, for one test.
 *
 * A world has a NATS server with the stream RESULTS on `results.>` and the
 * stream DEAD on `dead.>`, a Redis server, and a folder for configurations and
 * logs. Children are known by their pid and die with the test; what they say
 * on standard error is in a file of their own, shown when a test fails.
 *
 * Everything here fails the running cmocka test where it cannot do its work.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_WORLD_H
#define RR_TEST_WORLD_H

#include <hiredis/hiredis.h>
#include <nats/nats.h>

#include "servers.h"

enum { RR_WORLD_CHILDREN = 256, RR_WORLD_PATH = 160 };

typedef struct rr_child {
    pid_t pid;     /* 0: not running */
    int exit_code; /* when it is over; -1: by a signal */
    int ended_by;  /* which */
    char log[RR_WORLD_PATH];
} rr_child;

typedef struct rr_world {
    rr_server nats, redis;
    char folder[64];
    char contracts[RR_WORLD_PATH]; /* the file of contracts, for `apply` */
    natsConnection *connection;
    jsCtx *js;
    redisContext *link;
    rr_child children[RR_WORLD_CHILDREN];
    size_t child_count;
} rr_world;

/* What main was told: the program to test, and how much to do. */
extern const char *rr_world_program;
extern bool rr_world_full; /* --full: the long version */
extern unsigned long long rr_world_seed;

/* PROGRAM [--full] [--seed N] [--only PATTERN]. Returns 77, the exit code of a skipped test, where a server is not
 * installed; else 0. */
int rr_world_main(int argc, char **argv);

/* How much: `full` under --full, else `usual`. */
static inline size_t rr_world_scaled(size_t usual, size_t full)
{
    return rr_world_full ? full : usual;
}

/* Setup and teardown of a cmocka test: *state is the world. rr_world_lasting: Redis keeps its data (AOF). */
int rr_world_begin(void **state);
int rr_world_begin_lasting(void **state);
int rr_world_end(void **state);

/* How the program is to be set up; all zero but `contracts` and `names` is a good start. */
typedef struct rr_setup {
    const char *contracts;    /* YAML, the items of `contracts:` */
    const char *const *names; /* of the contracts that are fed, each from `results.<name>`, ended by NULL */
    const char *nats_url;     /* NULL: the world's server */
    const char *redis_url;    /* NULL: the world's server */
    const char *alerts;       /* NULL: [log] */
    const char *dead_letters; /* NULL: dead */
    const char *source;       /* its name; NULL: results */
    const char *consumer;     /* NULL: reconciler, the one that publish.h looks at */
    size_t batch, pulls;      /* 0: the program's own */
    int ack_wait_s;           /* 0: 2, so that what is not acknowledged comes again soon */
    int redis_timeout_ms;     /* 0: the program's own */
    bool ack_all;
    int wait_replicas;
} rr_setup;

/* Writes NAME.yaml and NAME-contracts.yaml into the world's folder, and notes the latter as world->contracts.
 * path: RR_WORLD_PATH bytes, gets the configuration's. */
void rr_world_configure(rr_world *world, const char *name, const rr_setup *setup, char *path);

/* Starts the program: words after the program's name, ended by NULL. */
rr_child *rr_child_start(rr_world *world, const char *const *words);

/* `run --config PATH`, and waits until it says that it runs. more: one more word, or NULL. */
rr_child *rr_child_run(rr_world *world, const char *config, const char *more);

void rr_child_signal(const rr_child *child, int number);

/* Waits for its end, and fails the test if it takes far longer than `within_ms`, as all waits here do. Returns the
 * exit code, -1 if a signal killed it. */
int rr_child_wait(rr_child *child, int within_ms);

/* SIGTERM, and its exit code. */
int rr_child_stop(rr_child *child, int within_ms);
void rr_child_kill(rr_child *child);

/* Its standard error so far; the caller frees it. */
char *rr_child_said(const rr_child *child);
bool rr_child_has_said(const rr_child *child, const char *text);
void rr_child_wait_for(const rr_child *child, const char *text, int within_ms);

/* A number of the line with which the program leaves: the one before " delivered", " again", " acknowledged" or
 * " dead letters"; the one after "lost ", "DUPLICATE " and the like. Fails if there is no such line. */
unsigned long long rr_child_count_before(const rr_child *child, const char *word);
unsigned long long rr_child_count_after(const rr_child *child, const char *word);

/* Runs the program to its end: its standard output, which the caller frees. exit_code may be NULL: then it must be
 * 0. */
char *rr_world_output(rr_world *world, const char *const *words, int *exit_code);

/* ---- Redis ---- */

/* One command by words ended by NULL; the caller frees the reply, which is never an error. */
redisReply *rr_redis_ask(rr_world *world, const char *const *words);

/* The value of a key, which the caller frees; NULL: there is none. */
char *rr_redis_get(rr_world *world, const char *key);
long long rr_redis_integer(rr_world *world, const char *const *words);

/* A number of INFO, e.g. "stats", "total_net_input_bytes". */
long long rr_redis_info(rr_world *world, const char *section, const char *name);

/* Calls of a command since the start or CONFIG RESETSTAT; "" : of all commands. */
long long rr_redis_calls(rr_world *world, const char *command);

/* A new connection, after Redis was away. */
void rr_redis_reconnect(rr_world *world);

/* ---- the rest ---- */

void rr_nap_ms(long ms);
long long rr_now_ms(void); /* monotonic */

/* Polls until `true_now` returns true, or fails the test with the name of what it waited for. Returns the
 * milliseconds. */
long long rr_wait(rr_world *world, bool (*true_now)(rr_world *, const void *), const void *context, int within_ms,
                  const char *what);

#endif
