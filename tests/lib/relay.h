/* rr_relay: a relay before a server that can stop to pass on what clients say.
 *
 * Muted, it still brings the server's words to the clients, but theirs get
 * lost: so a client does its work, and its acknowledgements never arrive.
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

#endif
