/* Making a connection from options, and errors from the codes of cnats. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nats_connect.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    RECONNECT_WAIT_MS = 250,
    PING_EVERY_MS = 5000,
    PINGS_UNANSWERED = 3,
    IO_BUFFER = 256 * 1024,
    RECONNECT_BUFFER = 16 * 1024 * 1024,
    KEY_LEN = 56, /* of a public nkey */
    SEED_LEN = 58,
    KEY_FILE_MAX = 64 * 1024,
    SERVERS_MAX = 16,
    HINT_MAX = 320,
    NONCES = 4, /* that are signed before a key counts as not accepted */
    END_MS = 1000,
    RETIRE_MS = 500 /* for the round trip */
};

static const char default_url[] = "nats://127.0.0.1:4222";

int64_t rr_nats_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void rr_nats_place(const char *url, char *place, size_t room)
{
    size_t used = 0;

    place[0] = '\0';
    while (*url != '\0' && used + 1 < room) {
        size_t part = strcspn(url, ","), scheme = 0, secret = 0;
        const char *slashes = memmem(url, part, "://", 3), *at = memrchr(url, '@', part);

        if (at != NULL) {
            scheme = slashes != NULL && slashes < at ? (size_t)(slashes - url) + 3 : 0;
            secret = (size_t)(at - url) + 1;
        }
        used += (size_t)snprintf(place + used, room - used, "%.*s%.*s%s", (int)scheme, url, (int)(part - secret),
                                 url + secret, url[part] == ',' ? "," : "");
        url += part + (url[part] == ',');
    }
}

static void drop(rr_nats *nats)
{
    if (atomic_fetch_sub(&nats->users, 1) == 1) {
        free(nats);
    }
}

/* cnats needs one where it may connect later. */
static void on_connected(natsConnection *connection, void *closure)
{
    (void)connection;
    (void)closure;
}

static void on_closed(natsConnection *connection, void *closure)
{
    (void)connection;
    drop(closure);
}

/* Without a handler cnats writes to standard error. */
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status, void *closure)
{
    (void)connection;
    (void)subscription;
    (void)status;
    (void)closure;
}

/* The first word of the file that begins so and has that length (0: any that there is room for); false: none, or no
 * such file. */
static bool read_word(const char *path, const char *begin, size_t len, char *word, size_t room)
{
    char *text = malloc(KEY_FILE_MAX + 1), *rest = NULL;
    FILE *file = text == NULL ? NULL : fopen(path, "r");
    bool found = false;

    if (file != NULL) {
        text[fread(text, 1, KEY_FILE_MAX, file)] = '\0';
        fclose(file);
        for (char *at = strtok_r(text, " \t\r\n", &rest); at != NULL && !found; at = strtok_r(NULL, " \t\r\n", &rest)) {
            found = strncmp(at, begin, strlen(begin)) == 0 && (len == 0 ? strlen(at) < room : strlen(at) == len);
            if (found) {
                memcpy(word, at, strlen(at) + 1);
            }
        }
        explicit_bzero(text, KEY_FILE_MAX + 1);
    }
    free(text);
    return found;
}

static bool read_seed(const char *path, char seed[SEED_LEN + 1])
{
    return read_word(path, "S", SEED_LEN, seed, SEED_LEN + 1);
}

natsStatus rr_nats_sign(const char *path, const char *nonce, unsigned char **signature, int *len)
{
    char seed[SEED_LEN + 1];
    natsStatus status;

    if (!read_seed(path, seed)) {
        return NATS_NOT_FOUND;
    }
    status = nats_Sign(seed, nonce, signature, len);
    explicit_bzero(seed, sizeof seed);
    return status;
}

bool rr_nats_public_key(const char *path, char *key)
{
    return read_word(path, "U", KEY_LEN, key, RR_NATS_LOGIN_MAX);
}

bool rr_nats_user_jwt(const char *path, char *jwt)
{
    return read_word(path, "eyJ", 0, jwt, RR_NATS_LOGIN_MAX);
}

char *rr_nats_json_text(const char *text)
{
    char *escaped = malloc(6 * strlen(text) + 1), *to = escaped;

    for (; escaped != NULL && *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        to += sprintf(to, c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    if (escaped != NULL) {
        *to = '\0';
    }
    return escaped;
}

static natsStatus sign(char **text, unsigned char **signature, int *len, const char *nonce, void *closure)
{
    natsStatus status = rr_nats_sign(closure, nonce, signature, len);

    if (status == NATS_NOT_FOUND) {
        *text = strdup("the file with the nkey seed can no longer be read");
        return NATS_ERR;
    }
    return status;
}

/* The library's text, without "(conn.c:733): " before it. */
static const char *words_of(const char *text)
{
    const char *end = text == NULL || text[0] != '(' ? NULL : strstr(text, "): ");

    return end == NULL ? text : end + strlen("): ");
}

/* The library's last text, or the name of the status. */
static const char *last_words(natsStatus status)
{
    const char *words = words_of(nats_GetLastError(NULL));

    return words == NULL ? natsStatus_GetText(status) : words;
}

/* The library's own errors name neither the file nor the reason. NULL is fine. */
static rr_status check_file(const char *what, const char *path, rr_error *error)
{
    return path == NULL || access(path, R_OK) == 0
               ? RR_OK
               : rr_fail(error, RR_CONFIG, "%s %s: %s", what, path, strerror(errno));
}

/* Without this check a broken seed would be noticed only when the server asks for a signature. */
static rr_status check_seed(const char *path, rr_error *error)
{
    char seed[SEED_LEN + 1];
    unsigned char *signature = NULL;
    int len = 0;
    natsStatus status;

    if (!read_seed(path, seed)) {
        return rr_fail(error, RR_CONFIG, "nkey %s: it holds no seed (a line SU...)", path);
    }
    status = nats_Sign(seed, "nonce", &signature, &len);
    explicit_bzero(seed, sizeof seed);
    free(signature);
    return status == NATS_OK ? RR_OK
                             : rr_fail(error, RR_CONFIG, "nkey %s: its seed is broken: %s", path, last_words(status));
}

static rr_status set_nkey(natsOptions *to, const char *path, rr_error *error)
{
    char key[RR_NATS_LOGIN_MAX];
    rr_status status = check_file("nkey", path, error);
    natsStatus set;

    status = status == RR_OK ? check_seed(path, error) : status;
    if (status != RR_OK) {
        return status;
    }
    if (!rr_nats_public_key(path, key)) {
        return rr_fail(error, RR_CONFIG,
                       "nkey %s: the public key (a line U...) is missing beside the seed; "
                       "add it: nk -inkey %s -pubout >> %s",
                       path, path, path);
    }
    set = natsOptions_SetNKey(to, key, sign, (void *)path);
    return set == NATS_OK ? RR_OK : rr_fail(error, RR_CONFIG, "nkey %s: %s", path, last_words(set));
}

/* cnats 3.4 does not escape these texts in its JSON. */
static natsStatus set_login(natsOptions *to, const rr_nats_options *options)
{
    char *name = rr_nats_json_text(options->token != NULL ? options->token : options->user);
    char *password = rr_nats_json_text(options->password == NULL ? "" : options->password);
    natsStatus status = NATS_NO_MEMORY;

    if (name != NULL && password != NULL) {
        status = options->token != NULL ? natsOptions_SetToken(to, name) : natsOptions_SetUserInfo(to, name, password);
    }
    free(name);
    free(password);
    return status;
}

static rr_status set_credentials(natsOptions *to, const rr_nats_options *options, rr_error *error)
{
    natsStatus status = NATS_OK;

    if (options->nkey_seed_file != NULL) {
        return set_nkey(to, options->nkey_seed_file, error);
    }
    if (options->credentials_file != NULL) {
        rr_status file_status = check_file("credentials", options->credentials_file, error);

        if (file_status != RR_OK) {
            return file_status;
        }
        status = natsOptions_SetUserCredentialsFromFiles(to, options->credentials_file, NULL);
    } else if (options->token != NULL || options->user != NULL) {
        status = set_login(to, options);
    }
    return status == NATS_OK ? RR_OK : rr_fail(error, RR_CONFIG, "credentials: %s", last_words(status));
}

static rr_status set_tls(natsOptions *to, const rr_nats_options *options, rr_error *error)
{
    const char *ca = options->tls_ca_file, *cert = options->tls_cert_file, *key = options->tls_key_file;
    rr_status status = check_file("tls: ca", ca, error);
    natsStatus set;

    status = status == RR_OK ? check_file("tls: cert", cert, error) : status;
    status = status == RR_OK ? check_file("tls: key", key, error) : status;
    if (status != RR_OK) {
        return status;
    }
    if ((cert == NULL) != (key == NULL)) {
        return rr_fail(error, RR_CONFIG, "tls: a certificate needs its key, and a key its certificate: %s is missing",
                       cert == NULL ? "cert" : "key");
    }
    set = ca != NULL || cert != NULL ? natsOptions_SetSecure(to, true) : NATS_OK;
    if (set != NATS_OK) {
        return rr_fail(error, RR_CONFIG, "tls: %s", last_words(set));
    }
    if (ca != NULL && natsOptions_LoadCATrustedCertificates(to, ca) != NATS_OK) {
        return rr_fail(error, RR_CONFIG, "tls: ca %s: it holds no certificate in PEM format", ca);
    }
    set = cert != NULL ? natsOptions_LoadCertificatesChain(to, cert, key) : NATS_OK;
    return set == NATS_OK ? RR_OK : rr_fail(error, RR_CONFIG, "tls: cert %s, key %s: %s", cert, key, last_words(set));
}

/* natsOptions_SetServers takes no list with commas. */
static natsStatus set_servers(natsOptions *to, const char *url)
{
    const char *servers[SERVERS_MAX];
    char *copy = strdup(url), *rest = NULL;
    natsStatus status = copy == NULL ? NATS_NO_MEMORY : NATS_OK;
    int count = 0;

    for (char *server = copy == NULL ? NULL : strtok_r(copy, ", ", &rest); server != NULL && count < SERVERS_MAX;
         server = strtok_r(NULL, ", ", &rest)) {
        servers[count++] = server;
        if (status == NATS_OK && strncmp(server, "tls://", strlen("tls://")) == 0) {
            status = natsOptions_SetSecure(to, true);
        }
    }
    if (status == NATS_OK) {
        status = count == 0 ? NATS_ADDRESS_MISSING : natsOptions_SetServers(to, servers, count);
    }
    free(copy);
    return status;
}

static natsStatus set_behaviour(natsOptions *to, const rr_nats_options *options, rr_nats *nats)
{
    int timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : 5000;
    natsStatus status = set_servers(to, options->url == NULL ? default_url : options->url);

#define RR_SET(call) status = status == NATS_OK ? (call) : status
    RR_SET(natsOptions_SetName(to, options->name == NULL ? "result-reconciler" : options->name));
    RR_SET(natsOptions_SetTimeout(to, timeout_ms));
    RR_SET(natsOptions_SetWriteDeadline(to, timeout_ms));
    RR_SET(natsOptions_SetMaxReconnect(to, -1));
    RR_SET(natsOptions_SetReconnectWait(to, RECONNECT_WAIT_MS));
    RR_SET(natsOptions_SetReconnectJitter(to, 0, 0));
    RR_SET(natsOptions_SetReconnectBufSize(to, RECONNECT_BUFFER));
    RR_SET(natsOptions_SetPingInterval(to, PING_EVERY_MS));
    RR_SET(natsOptions_SetMaxPingsOut(to, PINGS_UNANSWERED));
    RR_SET(natsOptions_SetIOBufSize(to, IO_BUFFER));
    RR_SET(natsOptions_SetFailRequestsOnDisconnect(to, true));
    RR_SET(natsOptions_SetClosedCB(to, on_closed, nats));
    RR_SET(natsOptions_SetErrorHandler(to, on_error, NULL));
#undef RR_SET
    return status;
}

/* Only for a server that is away: one that refuses the login is not tried again. While the library goes on trying it
 * does not tell why it fails, so the reason of the first failure is kept. */
static rr_status connect_patiently(natsOptions *to, rr_nats *nats, rr_error *error)
{
    natsStatus status = natsOptions_SetRetryOnFailedConnect(to, true, on_connected, NULL);

    snprintf(nats->why, sizeof nats->why, "%s", error->text);
    if (status == NATS_OK) {
        status = natsConnection_Connect(&nats->connection, to);
    }
    if (status == NATS_OK || status == NATS_NOT_YET_CONNECTED) {
        return RR_OK;
    }
    nats->connection = NULL;
    return rr_nats_fail(nats, status, "connect", error);
}

/* cnats 3.4 drops a signature that begins with a zero byte, as one in 256 does. Each attempt signs another nonce. */
static natsStatus connect_once(natsOptions *to, const rr_nats_options *options, rr_nats *nats)
{
    int nonces = options->nkey_seed_file != NULL || options->credentials_file != NULL ? NONCES : 1;
    natsStatus status = NATS_CONNECTION_AUTH_FAILED;

    for (; nonces > 0 && status == NATS_CONNECTION_AUTH_FAILED; nonces--) {
        status = natsConnection_Connect(&nats->connection, to);
    }
    return status;
}

static rr_status connect_with(natsOptions *to, const rr_nats_options *options, rr_nats *nats, rr_error *error)
{
    natsStatus status = set_behaviour(to, options, nats);
    rr_status done;

    if (status != NATS_OK) {
        return rr_fail(error, RR_CONFIG, "url %s: %s; expected nats://host:port", nats->place, last_words(status));
    }
    done = set_credentials(to, options, error);
    if (done == RR_OK) {
        done = set_tls(to, options, error);
    }
    if (done != RR_OK) {
        return done;
    }
    status = connect_once(to, options, nats);
    if (status == NATS_OK) {
        return RR_OK;
    }
    nats->connection = NULL;
    done = rr_nats_fail(nats, status, "connect", error);
    return options->patient && done != RR_CONFIG ? connect_patiently(to, nats, error) : done;
}

static void end_library(void)
{
    nats_CloseAndWait(END_MS);
}

static void end_library_at_exit(void)
{
    atexit(end_library);
}

rr_status rr_nats_open(const rr_nats_options *options, rr_nats **nats, rr_error *error)
{
    static pthread_once_t opened = PTHREAD_ONCE_INIT;
    rr_nats *made = calloc(1, sizeof *made);
    natsOptions *to = NULL;
    rr_error local = {0};
    rr_status status;

    *nats = NULL;
    error = error == NULL ? &local : error;
    if (made == NULL || natsOptions_Create(&to) != NATS_OK) {
        natsOptions_Destroy(to);
        free(made);
        return rr_fail(error, RR_MEMORY, "no memory for a connection to NATS");
    }
    atomic_store(&made->users, 2);
    made->options = *options;
    rr_nats_place(options->url == NULL ? default_url : options->url, made->place, sizeof made->place);
    status = connect_with(to, options, made, error);
    /* The library's threads may still work on a closed connection. At the end of the process they must end before the
     * TLS library, which was set up by now, so the handler is registered here. */
    pthread_once(&opened, end_library_at_exit);
    natsOptions_Destroy(to);
    if (status != RR_OK) {
        free(made);
        return status;
    }
    *nats = made;
    return RR_OK;
}

void rr_nats_retire(rr_nats *nats, natsSubscription *subscription)
{
    natsSubscription **grown;

    if (subscription == NULL) {
        return;
    }
    natsSubscription_Unsubscribe(subscription);
    if (natsConnection_IsClosed(nats->connection) ||
        natsConnection_FlushTimeout(nats->connection, RETIRE_MS) == NATS_OK) {
        natsSubscription_Destroy(subscription);
        return;
    }
    grown = reallocarray(nats->retired, nats->retired_count + 1, sizeof *grown);
    if (grown != NULL) {
        /* Without memory it is never freed: better than too early. */
        nats->retired = grown;
        nats->retired[nats->retired_count++] = subscription;
    }
}

void rr_nats_stop(rr_nats *nats)
{
    if (nats != NULL) {
        natsConnection_Close(nats->connection);
    }
}

void rr_nats_close(rr_nats *nats)
{
    if (nats != NULL) {
        natsConnection_Close(nats->connection);
        for (size_t i = 0; i < nats->retired_count; i++) {
            natsSubscription_Destroy(nats->retired[i]);
        }
        free(nats->retired);
        natsConnection_Destroy(nats->connection);
        drop(nats);
    }
}

bool rr_nats_connected(const rr_nats *nats)
{
    return natsConnection_Status(nats->connection) == NATS_CONN_STATUS_CONNECTED;
}

bool rr_nats_gave_up(const rr_nats *nats)
{
    return natsConnection_IsClosed(nats->connection);
}

rr_status rr_nats_status(natsStatus status)
{
    switch (status) {
    case NATS_OK: return RR_OK;
    case NATS_IO_ERROR:
    case NATS_CONNECTION_CLOSED:
    case NATS_NO_SERVER:
    case NATS_STALE_CONNECTION:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_TIMEOUT:
    case NATS_NOT_YET_CONNECTED:
    case NATS_NO_RESPONDERS:
    case NATS_INSUFFICIENT_BUFFER:
    case NATS_SYS_ERROR: return RR_UNAVAILABLE;
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_SECURE_CONNECTION_REQUIRED:
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
    case NATS_SSL_ERROR:
    case NATS_ADDRESS_MISSING:
    case NATS_INVALID_SUBJECT: return RR_CONFIG;
    case NATS_NO_MEMORY: return RR_MEMORY;
    case NATS_INVALID_ARG:
    case NATS_INVALID_SUBSCRIPTION:
    case NATS_INVALID_TIMEOUT:
    case NATS_ILLEGAL_STATE: return RR_INTERNAL;
    default: return RR_REFUSED_BY_SERVER;
    }
}

bool rr_nats_is_secure(const rr_nats_options *options)
{
    return options->tls_ca_file != NULL || options->tls_cert_file != NULL ||
           (options->url != NULL && strstr(options->url, "tls://") != NULL);
}

/* The connection ended while the server's answer was awaited. */
static bool was_cut(natsStatus status, const char *text)
{
    return status == NATS_IO_ERROR || (status == NATS_PROTOCOL_ERROR && strstr(text, "got ''") != NULL);
}

static void put_hint_of_certificate(char *hint, const rr_nats_options *options)
{
    if (options->tls_cert_file == NULL) {
        snprintf(hint, HINT_MAX, "; the server may require a client certificate: give 'cert' and 'key' of 'tls'");
    } else {
        snprintf(hint, HINT_MAX, "; the server may refuse the client certificate %s: its log tells why",
                 options->tls_cert_file);
    }
}

static void put_hint_of_server(char *hint, const rr_nats_options *options, const char *text)
{
    if (strstr(text, "expired") != NULL || strstr(text, "not yet valid") != NULL) {
        return; /* the text tells the cause */
    }
    if (strstr(text, "alert") != NULL) {
        put_hint_of_certificate(hint, options);
    } else if (strstr(text, "mismatch") != NULL) {
        snprintf(hint, HINT_MAX, "; the server's certificate is not for the host of the URL");
    } else if (options->tls_ca_file == NULL) {
        snprintf(hint, HINT_MAX, "; the issuer of the server's certificate is not trusted: give 'ca' of 'tls'");
    } else {
        snprintf(hint, HINT_MAX, "; the server's certificate is not signed by 'ca' of 'tls', %s", options->tls_ca_file);
    }
}

/* The likely cause, in the words of the configuration. With TLS 1.3 a client counts as connected before the server has
 * checked its certificate: a refused certificate looks like a closed connection. */
static void put_hint(char *hint, const rr_nats *nats, natsStatus status, const char *text)
{
    const rr_nats_options *options = &nats->options;
    bool named = options->user != NULL || options->token != NULL || options->credentials_file != NULL ||
                 options->nkey_seed_file != NULL;

    hint[0] = '\0';
    if (status == NATS_CONNECTION_AUTH_FAILED) {
        snprintf(hint, HINT_MAX,
                 named ? "; user, password, token or key are not accepted"
                       : "; the server requires a login: give 'user', 'token', 'credentials' or 'nkey'");
    } else if (status == NATS_SECURE_CONNECTION_WANTED) {
        snprintf(hint, HINT_MAX, "; the server has no TLS: use a URL with nats://, and no 'tls'");
    } else if (status == NATS_SSL_ERROR) {
        put_hint_of_server(hint, options, text);
    } else if (nats->connection == NULL && rr_nats_is_secure(options) && was_cut(status, text)) {
        put_hint_of_certificate(hint, options);
    }
}

const char *rr_nats_denial(const rr_nats *nats)
{
    const char *last = NULL;

    return nats->connection != NULL && natsConnection_GetLastError(nats->connection, &last) == NATS_NOT_PERMITTED &&
                   last != NULL
               ? last
               : "";
}

rr_status rr_nats_fail(const rr_nats *nats, natsStatus status, const char *what, rr_error *error)
{
    /* Beside a time-out the library keeps the text of an older error. */
    const char *text = status == NATS_TIMEOUT ? rr_nats_denial(nats) : last_words(status);
    bool more = text[0] != '\0' && strcmp(text, natsStatus_GetText(status)) != 0;
    char hint[HINT_MAX];

    put_hint(hint, nats, status, text);
    return rr_fail(error, was_cut(status, text) ? RR_UNAVAILABLE : rr_nats_status(status), "%s: %s: %s%s%s%s%s", what,
                   nats->place, natsStatus_GetText(status), more ? " (" : "", more ? text : "", more ? ")" : "", hint);
}

rr_status rr_nats_fail_unconnected(const rr_nats *nats, const char *what, rr_error *error)
{
    const char *last = NULL;
    natsStatus status = natsConnection_GetLastError(nats->connection, &last);

    if (status == NATS_NO_SERVER && nats->why[0] != '\0') {
        return rr_fail(error, RR_UNAVAILABLE, "%s: %s; trying again", what, nats->why);
    }
    last = last == NULL ? "" : words_of(last);
    return rr_fail(error, RR_UNAVAILABLE, "%s: %s: not connected%s%s; trying again", what, nats->place,
                   last[0] == '\0' ? "" : ": ", last);
}

rr_status rr_nats_js_fail(const rr_nats *nats, natsStatus status, int code, const char *what, rr_error *error)
{
    enum { JS_CLUSTER_NOT_READY = 10008, JS_NO_LEADER = 10009, JS_NOT_ENABLED = 10076, JS_NOT_FOR_ACCOUNT = 10039 };
    rr_status answer_status = rr_nats_status(status);

    if (status == NATS_NO_RESPONDERS) {
        return rr_fail(error, RR_UNAVAILABLE,
                       "%s: %s: JetStream does not answer; is it enabled there (jetstream {} in "
                       "the server's configuration, or -js), and for this account?",
                       what, nats->place);
    }
    if (code == 0) {
        return rr_nats_fail(nats, status, what, error);
    }
    if (code == JS_CLUSTER_NOT_READY || code == JS_NO_LEADER) {
        answer_status = RR_UNAVAILABLE;
    } else if (code == JS_NOT_ENABLED || code == JS_NOT_FOR_ACCOUNT) {
        answer_status = RR_CONFIG;
    } else if (answer_status == RR_UNAVAILABLE || answer_status == RR_INTERNAL) {
        answer_status = RR_REFUSED_BY_SERVER;
    }
    return rr_fail(error, answer_status, "%s: %s: %s (JetStream error %d)", what, nats->place, last_words(status),
                   code);
}
