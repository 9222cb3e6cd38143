/* rr_relay: a relay in front of a server, which does to connections what networks do.
 *
 * Muted, it passes on what the server sends and drops what clients send: so a client does its work, and its
 * acknowledgements never arrive. It can also hold back, chop, freeze, forget and reset connections, and connect new
 * ones to another server. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_RELAY_H
#define RR_TEST_RELAY_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct rr_relay rr_relay;

/* Listens on a port of its own on 127.0.0.1, in a thread. NULL: it cannot. */
rr_relay *rr_relay_open(int server_port);
void rr_relay_close(rr_relay *relay);

int rr_relay_port(const rr_relay *relay);

/* True: what clients send from now on is dropped. */
void rr_relay_mute(rr_relay *relay, bool muted);

/* Bytes of clients that were dropped. */
unsigned long long rr_relay_lost(const rr_relay *relay);

/* What either side sends from now on arrives so much later; in order. 0: at once. */
void rr_relay_delay(rr_relay *relay, int ms);

/* True: each byte is sent alone. */
void rr_relay_chop(rr_relay *relay, bool chopped);

/* True: nothing is passed on and nothing is lost. It goes on when thawed; bytes that wait when the relay is closed
 * are lost. */
void rr_relay_freeze(rr_relay *relay, bool frozen);

/* Forgets the present connections: the server sees them end, and the client gets no more bytes and no end. New ones
 * work. */
void rr_relay_forget(rr_relay *relay);

/* Resets the present connections on both sides. New ones work. */
void rr_relay_reset(rr_relay *relay);

/* New connections go to another server; the present ones stay. */
void rr_relay_lead_to(rr_relay *relay, int server_port);

#endif
