/* rr_nats_socket: the bytes of one connection to a NATS server, with or without TLS.
 *
 * Threads: used by one. The socket is non-blocking: only `wait` blocks.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NATS_SOCKET_H
#define RR_NATS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: closed. */
typedef struct rr_nats_socket {
    int fd;
    bool is_open;
    struct ssl_st *tls; /* NULL: plain TCP */
    char why[256];      /* the server's last error, or why the connection ended; empty: neither */
} rr_nats_socket;

/* The number of bytes read or written; 0: none for now; -1: the connection ended. */
long rr_nats_socket_read(rr_nats_socket *socket, char *to, size_t room);
long rr_nats_socket_write(rr_nats_socket *socket, const char *from, size_t len);

/* Waits at most wait_ms until the socket can be read (or written, with also_write). */
void rr_nats_socket_wait(const rr_nats_socket *socket, bool also_write, int64_t wait_ms);

/* Ends the connection. `why` stays. A closed one is fine. */
void rr_nats_socket_close(rr_nats_socket *socket);

#endif
