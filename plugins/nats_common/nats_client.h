/* rr_nats_client: a connection to NATS for what comes in great numbers: the messages of one subscription, and short answers.
 *
 * cnats passes each message through a thread, two locks and memory of its own,
 * and each acknowledgement through another lock and a thread that sends it. At
 * a hundred thousand records a second that costs as much as deciding them does.
 * Here messages stay where they were received, many are received by one call,
 * and what goes out is sent by one.
 *
 * It joins the connection that cnats holds (nats_connect.h): it goes to the
 * server that this one found, or where that one takes nobody to another one
 * that it knows, and says that it is the same client. Everything but messages
 * and answers is done there. It does not connect again by itself.
 *
 * Threads: used by one. Nothing waits for the network but `open`, `next` and
 * `flush`, each within its time.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NATS_CLIENT_H
#define RR_NATS_CLIENT_H

#include "nats_connect.h"
#include "nats_protocol.h"

/* All zero: closed. Private but for what the functions below say. */
typedef struct rr_nats_client {
    int fd;
    bool open;
    struct ssl_st *tls; /* NULL: none */
    char why[256];      /* what the server last complained of, or why the connection ended; empty: nothing */
    uint64_t sid;       /* of the subscription; what comes for an earlier one is passed over */
    uint64_t pings, pongs;
    unsigned failures; /* to open, one after another */
    /* received, and not parsed yet: at..end of the piece */
    struct rr_piece *piece, *spare;
    size_t spare_count, at, end;
    size_t need; /* the operation that begins at `at` has so many bytes; 0: not known */
    /* messages that wait, a ring */
    struct rr_nats_client_message *waiting;
    size_t first, count, room;
    /* to be sent */
    char *out;
    size_t out_from, out_to, out_room;
} rr_nats_client;

/* Slices lie in what was received until the message is released. */
typedef struct rr_nats_client_message {
    rr_slice subject, reply; /* reply: empty where there is none */
    rr_slice headers, payload;
} rr_nats_client_message;

/* Connects to the server where nats is connected; after an attempt that failed, to the next one that nats knows.
 * UNAVAILABLE where that is not possible now. Messages that were not
 * released before stay valid. */
rr_status rr_nats_client_open(rr_nats_client *feed, const rr_nats *nats, rr_error *error);

/* Ends the connection. What waits can still be taken; what was handed out stays valid. */
void rr_nats_client_close(rr_nats_client *feed);

/* Closes, and frees all but what was handed out. */
void rr_nats_client_fini(rr_nats_client *feed);

/* Drops what waits. */
void rr_nats_client_drop(rr_nats_client *feed);

/* Subscribes, instead of what was subscribed to before. */
void rr_nats_client_subscribe(rr_nats_client *feed, const char *subject);

/* No more messages come than those that the server has sent by now. */
void rr_nats_client_unsubscribe(rr_nats_client *feed);

/* Puts a message among what is to be sent. Where it cannot the feed is closed. reply may be empty. */
void rr_nats_client_publish(rr_nats_client *feed, rr_slice subject, rr_slice reply, rr_slice payload);

/* Sends what the connection takes at once; the rest goes with the next call of anything here. */
void rr_nats_client_send(rr_nats_client *feed);

/* Receives what is there, without waiting, so that the server does not have to. */
void rr_nats_client_receive(rr_nats_client *feed);

/* The next message, waiting for it at most wait_ms. False: none came, or the feed is closed (`open`). */
bool rr_nats_client_next(rr_nats_client *feed, int64_t wait_ms, rr_nats_client_message *message);

/* Sends everything and waits until the server has taken it. False: not in time, or the feed is closed. */
bool rr_nats_client_flush(rr_nats_client *feed, int64_t wait_ms);

/* Done with a message. at: any byte of its subject or reply. */
void rr_nats_client_release(rr_nats_client *feed, const void *at);

/* --- nats_handshake.c: the connection itself --- */

/* Connects, agrees on TLS where the server wants it, and says who we are. */
rr_status rr_nats_client_handshake(rr_nats_client *feed, const rr_nats *nats, rr_error *error);

/* nats_client.c: takes what came behind the greeting, at most RR_NATS_LINE_MAX bytes and a little. False: it is closed. */
bool rr_nats_client_received(rr_nats_client *feed, const char *bytes, size_t len);

/* Ends it. */
void rr_nats_client_disconnect(rr_nats_client *feed);

/* Bytes read or written, 0: none now, -1: it ended. */
long rr_nats_client_read(rr_nats_client *feed, char *to, size_t room);
long rr_nats_client_write(rr_nats_client *feed, const char *from, size_t len);

/* Waits until it can be read (or written, where asked), at most so long. */
void rr_nats_client_wait(const rr_nats_client *feed, bool also_write, int64_t wait_ms);

#endif
