/* rr_link: one connection to Redis, every op of which ends by its deadline.
 *
 * Commands are written into `out` and sent at once; replies come in order.
 * After any trouble on the wire the connection is dropped, so that a late reply
 * is never taken for the next one's; the next op connects again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_LINK_H
#define RR_STORE_REDIS_LINK_H

#include <hiredis/hiredis.h>
#include <rr/arena.h>
#include <rr/error.h>

#include "buf.h"
#include "redis_url.h"

/* Names of functions and of their library, which all end with the hash of the library's text. */
typedef struct rr_link_functions {
    char library[32], swap[32], parts[32], identity[32], note[32], log[32];
    rr_buf load; /* the command that loads them */
} rr_link_functions;

typedef struct rr_link {
    rr_redis_url url;
    int timeout_ms;
    bool surveys;          /* a connection only logs in: any server is accepted, and no functions are loaded */
    redisContext *context; /* NULL: not connected */
    int patience;          /* the op at work may take so many times the time-out; 0: 1 */
    int64_t deadline_ms;   /* of the op at work, by the monotonic clock */
    rr_buf out;            /* commands of the op at work ... */
    size_t sent;           /* ... of which so many bytes are on their way */
    bool owed;             /* an op in pieces waits for answers: another op that begins drops the connection */
    bool is_accepted;      /* a server has accepted the configuration once: a later refusal is an outage */
    rr_link_functions functions;
    rr_arena replies; /* the reply that was read last */
    size_t awaited;   /* answers of the round at work that have not come; 0: not counted */
    int wakes_at;     /* a wait ends when so many bytes have come */
    char in[65536];
} rr_link;

/* A command in `out`, and the items it is about. */
typedef struct rr_flight {
    size_t from, len;      /* its bytes in `out` */
    size_t first, count;   /* items */
    bool missed;           /* the functions were missing: nothing was done */
    bool takes_wrong_type; /* WRONGTYPE is an answer for `take`, and no error of the whole op */
} rr_flight;

/* Takes one flight's reply, which is not an error. Not OK ends the op and drops the connection. */
typedef rr_status rr_flight_take(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error);

/* Link of an URL; not connected yet. */
rr_status rr_link_open(rr_link *link, const char *url, const char *password, int timeout_ms, rr_error *error);
void rr_link_close(rr_link *link);

/* Begins an op: sets its deadline, empties `out`, and connects if need be: authentication, database, version, no
 * cluster, functions; each of these, and the op after them, has a deadline of its own. UNAVAILABLE: no connection.
 * REFUSED_BY_SERVER: the server answers, and refuses (it loads its data, is full, takes no more connections, or no
 * longer accepts the password). CONFIG: the server is unfit, and why. */
rr_status rr_link_begin(rr_link *link, rr_error *error);

/* Asks all flights in one go and takes their replies in order. Where the functions are gone they are loaded again and
 * what missed them is asked once more. An error that answers a whole flight is kept, and the rest still taken:
 * REFUSED_BY_SERVER. If it may pass the connection is dropped, too: the next one may lead to another server. */
rr_status rr_link_ask(rr_link *link, rr_flight *flights, size_t count, rr_flight_take *take, void *context,
                      rr_error *error);

/* The same for the one command in `out`. */
rr_status rr_link_ask_one(rr_link *link, rr_flight_take *take, void *context, rr_error *error);

/* Sends what is new in `out`, so that the server can begin; rr_link_ask sends the rest. */
rr_status rr_link_send(rr_link *link, rr_error *error);

/* Begins a further piece of the op at work, with a deadline of its own. */
void rr_link_go_on(rr_link *link);

/* Takes the next reply to what was sent. Whatever goes wrong, the connection is dropped. */
rr_status rr_link_take(rr_link *link, rr_flight *flight, rr_flight_take *take, void *context, rr_error *error);

/* Sends the one command in `out`, empties it, and receives its reply, which may be an error and lives until the
 * next one. */
rr_status rr_link_exchange(rr_link *link, redisReply **reply, rr_error *error);

/* Whether an error text of Redis, also one from within a function, says that the server refuses a command that is right
 * in itself: out of memory, a replica, no permission and the like. */
bool rr_link_is_refusal(const char *text);

void rr_link_drop(rr_link *link);

/* "redis at <where>: <text>"; drops the connection. */
rr_status rr_link_fail(rr_link *link, rr_status status, rr_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails: the reply has a shape that no Redis sends. */
rr_status rr_link_odd(rr_link *link, const char *what, rr_error *error);

static inline rr_slice rr_reply_bytes(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS ? (rr_slice){reply->str, reply->len}
                                                                                  : (rr_slice){NULL, 0};
}

#endif
