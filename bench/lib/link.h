/* bench_link: a durable pull consumer, read in one of two ways.
 *
 *   fetch   natsSubscription_Fetch of cnats: ask, wait, work, ask again
 *   pulls   requests of our own on an inbox, three of them outstanding, so that
 *           the next records are there when the last are done
 *
 * One thread.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <nats/nats.h>

#include "options.h"

typedef struct bench_link {
    const bench_options *options;
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *sub;
    bool pulls;
    char inbox[128], pull_subject[256];
    size_t owed; /* messages that outstanding pulls may still bring */
} bench_link;

/* Connects. Exits on failure, as all below do. */
void bench_link_connect(bench_link *link, const bench_options *options);

/* Binds to the consumer, which must be there. */
void bench_link_bind(bench_link *link, bool pulls);

/* Up to options->batch messages; waits for the first. Says how many; 0 after two seconds without any. */
size_t bench_link_fetch(bench_link *link, natsMsg **messages);

/* Acknowledges each, or, under `ack all`, the last; frees them. */
void bench_link_ack(bench_link *link, natsMsg **messages, size_t count);

void bench_link_close(bench_link *link);

/* Exits with the library's text unless all is well. */
void bench_nats_check(natsStatus status, const char *what);

#endif
