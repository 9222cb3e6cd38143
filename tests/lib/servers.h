/* rr_server: a private nats-server or redis-server for one test.
 *
 * Each has a random port on 127.0.0.1 and a temporary folder of its own. It is
 * told from others by its pid, dies with the thread that started it, and can
 * be killed, paused and started again on the same port, with its data or
 * without.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_SERVERS_H
#define RR_TEST_SERVERS_H

#include <stdbool.h>
#include <sys/types.h>

enum { RR_SERVER_EXTRA_MAX = 16 };

typedef enum rr_server_kind { RR_SERVER_NATS, RR_SERVER_REDIS } rr_server_kind;

typedef struct rr_server {
    rr_server_kind kind;
    pid_t pid; /* 0: not running */
    int port;
    char folder[64];                        /* holds data/, log and the configuration */
    char url[64];                           /* nats://127.0.0.1:PORT or redis://127.0.0.1:PORT */
    const char *domain;                     /* nats: of its JetStream, or NULL */
    const char *config;                     /* nats: more lines of configuration, or NULL */
    const char *extra[RR_SERVER_EXTRA_MAX]; /* redis: more arguments */
} rr_server;

/* Starts nats-server with JetStream (files). config: more lines for its configuration file, such as
 * "max_payload: 64KB\n", or NULL; must outlive the server. False: it did not come up; says why on stderr. */
bool rr_server_start_nats(rr_server *server, const char *config);

/* The same, with a JetStream domain. */
bool rr_server_start_nats_domain(rr_server *server, const char *domain, const char *config);

/* A port on 127.0.0.1 that nobody listens on now, for what else a server listens on. */
int rr_server_free_port(void);

/* Starts redis-server without persistence. extra: NULL, or arguments ended by NULL that come after these and so
 * override them, such as "--appendonly", "yes"; the texts must outlive the server. */
bool rr_server_start_redis(rr_server *server, const char *const *extra);

/* SIGTERM, and waits for the end. */
void rr_server_stop(rr_server *server);

/* SIGKILL, and waits for the end. */
void rr_server_kill(rr_server *server);

/* SIGSTOP and SIGCONT: the server keeps its connections and does not answer. */
void rr_server_pause(rr_server *server);
void rr_server_resume(rr_server *server);

/* Starts it again on the same port, after stop or kill. keep_data false: with an empty folder. */
bool rr_server_restart(rr_server *server, bool keep_data);

/* Stops it if it runs, and removes its folder. */
void rr_server_fini(rr_server *server);

/* The binary is there (nats-server, redis-server), so that a test can be skipped where it is not. */
bool rr_server_installed(rr_server_kind kind);

#endif
