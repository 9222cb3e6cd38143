/* Publishing to the world's streams, and looking at them. Everything fails the running test where it cannot. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_PUBLISH_H
#define RR_TEST_PUBLISH_H

#include "records.h"
#include "world.h"

/* A new connection, at the start and after NATS was away. */
void rr_nats_reconnect(rr_world *world);

/* most: 0, or the number of messages beyond which new ones are refused. Made anew, or changed where it is there. */
void rr_stream_make(rr_world *world, const char *stream, const char *subject, long most);
/* A work queue in its place, empty: what is acknowledged is gone. */
void rr_stream_make_queue(rr_world *world, const char *stream, const char *subject);
void rr_stream_remove(rr_world *world, const char *stream);
void rr_stream_purge(rr_world *world, const char *stream);

/* Messages that it holds; the sequence of its last one. */
uint64_t rr_stream_count(rr_world *world, const char *stream);
uint64_t rr_stream_last(rr_world *world, const char *stream);

/* A message by its sequence; the caller destroys it. */
natsMsg *rr_stream_message(rr_world *world, const char *stream, uint64_t sequence);

/* Records of a history, from index `from` on, in order, on `results.<name>` of their contracts. Returns when the stream
 * has stored them. */
void rr_publish_history(rr_world *world, const rr_history *history, size_t from, size_t count);

/* Anything on a subject of RESULTS; stored when it returns. */
void rr_publish_bytes(rr_world *world, const char *subject, const void *bytes, size_t len);

/* JSON lines, through `reconciler publish`. */
void rr_publish_json(rr_world *world, const char *config, const char *contract, const char *lines);

typedef struct rr_progress {
    uint64_t pending, ack_pending, ack_floor, delivered;
} rr_progress;

/* The program's consumer; all zero while there is none. */
rr_progress rr_consumer_progress(rr_world *world);

/* Waits until nothing is waiting or unacknowledged. */
void rr_wait_settled(rr_world *world, int within_ms);

/* Waits until exactly that many are delivered and not acknowledged, and none waits. */
void rr_wait_unacknowledged(rr_world *world, uint64_t count, int within_ms);

/* A number of the server's /varz, as "in_msgs". */
long long rr_nats_number(rr_world *world, const char *name);

#endif
