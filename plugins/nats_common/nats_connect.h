/* rr_nats: a connection to NATS by cnats, with one set of options for all plugins.
 *
 * It reconnects by itself for ever, every quarter of a second.
 *
 * Threads: cnats calls back on threads of its own; they touch only an
 * atomic here. Everything else is for the one thread that uses the connection.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NATS_CONNECT_H
#define RR_NATS_CONNECT_H

#include <rr/error.h>
#include <stdatomic.h>
#include <stdint.h>

#include <nats/nats.h>

/* Texts must live as long as the connection. NULL: not given. */
typedef struct rr_nats_options {
    const char *url;  /* nats://host:port or tls://host:port, several with commas; NULL: nats://127.0.0.1:4222 */
    const char *name; /* shown by the server; NULL: result-reconciler */
    const char *user, *password, *token, *credentials_file;
    const char *nkey_seed_file; /* its lines: the seed (S...) and the public key (U...) that belongs to it */
    const char *tls_ca_file, *tls_cert_file, *tls_key_file;
    int timeout_ms; /* to connect, and of a write; 0: 5000 */
    bool patient;   /* rr_nats_open: where no server can be reached, goes on trying in the background */
} rr_nats_options;

typedef struct rr_nats {
    rr_nats_options options; /* texts are the caller's */
    natsConnection *connection;
    natsSubscription **retired; /* unsubscribed; freed with the connection */
    size_t retired_count;
    atomic_int users; /* the caller, and cnats until its last callback */
    char place[256];  /* the URL without user and password, for texts */
    char why[512];    /* patient: why the first attempt failed; empty: it did not */
} rr_nats;

/* Connects. UNAVAILABLE: no server there, or one that closes the connection (not if patient); CONFIG: a file cannot be
 * used, or the server does not accept the login. *nats is NULL on failure. Blocks up to the time-out for each server,
 * twice if patient. The options' texts live as long as the connection. */
rr_status rr_nats_open(const rr_nats_options *options, rr_nats **nats, rr_error *error);

/* Ends a subscription; NULL is fine. Use it instead of natsSubscription_Destroy: the reader thread of cnats 3.4 looks a
 * subscription up and locks it without a reference. So it uses a subscription that is freed while a message for it
 * arrives. Here a subscription is freed after a round trip, or else with the connection. */
void rr_nats_retire(rr_nats *nats, natsSubscription *subscription);

/* Ends the connection and its threads without waiting for what is buffered; nothing arrives any more. Before contexts
 * are freed and rr_nats_close is called. NULL is fine. */
void rr_nats_stop(rr_nats *nats);

/* Frees it. Subscriptions are retired and contexts are gone by then. NULL is fine. */
void rr_nats_close(rr_nats *nats);

/* An URL, or several with commas, without user and password, for messages; cut if longer than the room. */
void rr_nats_place(const char *url, char *place, size_t room);

bool rr_nats_connected(const rr_nats *nats);

/* Closed for good: cnats gave up, as it does after two refused logins. Open a new connection. */
bool rr_nats_gave_up(const rr_nats *nats);

/* The status for a code of cnats: UNAVAILABLE where waiting may help. */
rr_status rr_nats_status(natsStatus status);

/* The last error about a permission that the server sent; empty: none since the connection began. The server does not
 * answer a request that the client may not send, so this tells why it is silent. */
const char *rr_nats_denial(const rr_nats *nats);

/* Fails with "what: place: the library's text; the likely cause". */
rr_status rr_nats_fail(const rr_nats *nats, natsStatus status, const char *what, rr_error *error);

/* Fails with UNAVAILABLE: not connected, and why the last attempt failed. */
rr_status rr_nats_fail_unconnected(const rr_nats *nats, const char *what, rr_error *error);

/* As rr_nats_fail, for JetStream, whose answers have a code of their own (0: none). */
rr_status rr_nats_js_fail(const rr_nats *nats, natsStatus status, int code, const char *what, rr_error *error);

/* Whether the options ask for TLS. */
bool rr_nats_is_secure(const rr_nats_options *options);

/* What the files of keys hold: the public key beside a seed, the JWT of credentials (rr_nats_options). False: none.
 * key, jwt: RR_NATS_LOGIN_MAX bytes. rr_nats_sign: NATS_NOT_FOUND where there is no seed; the caller frees *signature.
 * */
enum { RR_NATS_LOGIN_MAX = 32 * 1024 };
bool rr_nats_public_key(const char *path, char *key);
bool rr_nats_user_jwt(const char *path, char *jwt);
natsStatus rr_nats_sign(const char *path, const char *nonce, unsigned char **signature, int *len);

/* A text as it stands between the quotes of JSON; the caller frees it. NULL: no memory. */
char *rr_nats_json_text(const char *text);

/* A clock that only goes forward, in milliseconds. */
int64_t rr_nats_now_ms(void);

#endif
