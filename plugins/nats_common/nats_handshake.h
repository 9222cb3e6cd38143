/* rr_nats_handshake: opens a second connection to the server of an rr_nats, logged in as the same client.
 *
 * The server sends INFO; the client changes to TLS where the server wants it, logs in with CONNECT, sends PING and
 * waits for PONG. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NATS_HANDSHAKE_H
#define RR_NATS_HANDSHAKE_H

#include "nats_connect.h"
#include "nats_socket.h"

/* Bytes that the server sent behind PONG: at most RR_NATS_LINE_MAX and a little. */
typedef struct rr_nats_unread {
    char *bytes; /* the caller frees it */
    size_t len;
} rr_nats_unread;

/* Connects to the server where nats is connected and logs in. After failed attempts in a row (0: none) it takes the
 * next one of the servers that nats knows. Blocks up to the time-out of nats. On failure the socket is closed, its
 * `why` tells the reason, *unread is empty and the status is UNAVAILABLE, or MEMORY. */
rr_status rr_nats_handshake(rr_nats_socket *socket, const rr_nats *nats, unsigned failures, rr_nats_unread *unread,
                            rr_error *error);

#endif
