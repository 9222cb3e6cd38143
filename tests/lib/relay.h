/* rr_relay: a relay before a server that does to a connection what networks do.
 *
 * Muted, it still brings the server's words to the clients, but theirs get
 * lost: so a client does its work, and its acknowledgements never arrive. It
 * can also hold back, chop, freeze, forget and break connections, and lead new
 * ones to another server.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_RELAY_H
#define RR_TEST_RELAY_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct rr_relay rr_relay;

/* Listens on a port of its own on 127.0.0.1, from a thread. NULL: it cannot. */
rr_relay *rr_relay_open(int server_port);
void rr_relay_close(rr_relay *relay);

int rr_relay_port(const rr_relay *relay);

/* True: what clients say from now on is lost. */
void rr_relay_mute(rr_relay *relay, bool muted);

/* Bytes that clients said and that were lost. */
unsigned long long rr_relay_lost(const rr_relay *relay);

/* What is said from now on, by either side, arrives so much later; in order. 0: at once. */
void rr_relay_delay(rr_relay *relay, int ms);

/* True: each byte is sent alone. */
void rr_relay_chop(rr_relay *relay, bool chopped);

/* True: nothing passes and nothing is lost; it goes on when thawed, but what has piled up goes with the relay. */
void rr_relay_freeze(rr_relay *relay, bool frozen);

/* All connections of now: the server sees its end, the client never hears again. New ones work. */
void rr_relay_forget(rr_relay *relay);

/* All connections of now are reset on both sides. New ones work. */
void rr_relay_reset(rr_relay *relay);

/* New connections go to another server; those of now stay. */
void rr_relay_lead_to(rr_relay *relay, int server_port);

#endif
