/* rr_nats_client: a connection to NATS for high rates: the messages of one subscription, and short answers.
 *
 * cnats passes each message through a thread, two locks and memory of its own,
 * and each acknowledgement through another lock and a thread that sends it. At
 * a hundred thousand records a second that costs as much as deciding them does.
 * Here messages stay where they were received, one call receives many, and one
 * call sends many.
 *
 * It joins the connection of cnats (nats_connect.h): it connects to the same
 * server, or to another one that cnats knows if that server refuses it, and
 * logs in as the same client (nats_handshake.h). cnats does everything but
 * messages and answers. It does not reconnect by itself.
 *
 * Threads: used by one. Only `open`, `next` and `flush` wait for the network,
 * each within its time.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NATS_CLIENT_H
#define RR_NATS_CLIENT_H

#include <rr/slice.h>

#include "nats_connect.h"
#include "nats_socket.h"

/* All zero: closed. Private, except socket.is_open and socket.why. */
typedef struct rr_nats_client {
    rr_nats_socket socket;
    uint64_t sid; /* of the subscription; messages of an earlier one are dropped */
    uint64_t pings, pongs;
    unsigned failures; /* to open, one after another */
    /* received and not parsed yet: at..end of the piece */
    struct rr_piece *piece, *spare;
    size_t spare_count, at, end;
    size_t need; /* bytes of the operation that begins at `at`; 0: not known */
    /* messages that wait for `next`: a ring */
    struct rr_nats_client_message *waiting;
    size_t first, count, room;
    /* to be sent */
    char *out;
    size_t out_from, out_to, out_room;
} rr_nats_client;

/* The slices lie in the received bytes until the message is released. */
typedef struct rr_nats_client_message {
    rr_slice subject, reply; /* reply: empty where there is none */
    rr_slice headers, payload;
} rr_nats_client_message;

/* Connects to the server where nats is connected; after a failed attempt, to the next one that nats knows. UNAVAILABLE:
 * not possible now. Messages that were not released before stay valid. */
rr_status rr_nats_client_open(rr_nats_client *client, const rr_nats *nats, rr_error *error);

/* Ends the connection. Waiting messages can still be taken, and messages that were taken stay valid. */
void rr_nats_client_close(rr_nats_client *client);

/* Closes, and frees everything except messages that were taken and not released. */
void rr_nats_client_fini(rr_nats_client *client);

/* Drops the waiting messages. */
void rr_nats_client_drop(rr_nats_client *client);

/* Subscribes; an earlier subscription ends. */
void rr_nats_client_subscribe(rr_nats_client *client, const char *subject);

/* Ends the subscription: only messages that the server has sent before still arrive. */
void rr_nats_client_unsubscribe(rr_nats_client *client);

/* Queues a message to be sent. The client is closed where memory runs out. reply may be empty. */
void rr_nats_client_publish(rr_nats_client *client, rr_slice subject, rr_slice reply, rr_slice payload);

/* Sends what the connection takes at once; the next call of any function here sends the rest. */
void rr_nats_client_send(rr_nats_client *client);

/* Receives what is there, without waiting, so that the server never waits for a slow client. */
void rr_nats_client_receive(rr_nats_client *client);

/* The next message, waiting for it at most wait_ms. False: none came, or the client is closed. */
bool rr_nats_client_next(rr_nats_client *client, int64_t wait_ms, rr_nats_client_message *message);

/* Sends everything and waits until the server has taken it. False: not in time, or the client is closed. */
bool rr_nats_client_flush(rr_nats_client *client, int64_t wait_ms);

/* Gives a message back. at: any byte of its subject or reply. */
void rr_nats_client_release(rr_nats_client *client, const void *at);

#endif
