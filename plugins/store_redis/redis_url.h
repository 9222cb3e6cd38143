/* rr_redis_url: the parts of a Redis URL: server, login and database. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_URL_H
#define RR_STORE_REDIS_URL_H

#include <rr/error.h>

typedef struct rr_redis_url {
    char host[256];
    int port;
    char path[108];     /* of a unix socket; empty: TCP */
    char user[256];     /* empty: the default user */
    char password[512]; /* empty: none */
    int db;
    char shown[320]; /* for people: host:port or path, never the password */
} rr_redis_url;

/* CONFIG: it is no such URL; the text says what was expected, and never holds the password. */
rr_status rr_redis_url_parse(const char *text, rr_redis_url *url, rr_error *error);

#endif
