/* Choosing the server, connecting, TLS, and logging in. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nats_handshake.h"
#include "nats_protocol.h"

enum {
    URL_MAX = 1024,
    HOST_MAX = 256,
    RECEIVED_MAX = RR_NATS_LINE_MAX + 4096,
    CONNECT_MAX = 2 * RR_NATS_LOGIN_MAX,
    TEXT_MAX = 256
};

/* An address as users and servers write it: [scheme://][user[:password]@]host[:port][/path]. */
typedef struct address {
    rr_slice user, password; /* as they stand there; no data: not there */
    rr_slice host, port;
} address;

typedef struct handshake {
    rr_nats_socket *socket;
    const rr_nats *nats;
    int64_t until_ms;
    char url[URL_MAX], host[HOST_MAX], port[8];
    unsigned failures;
    address own, any; /* of the configured URLs: this server's, and the first that holds a login */
    char *received;   /* bytes of the server; up to received_at they are parsed */
    size_t received_at, received_len;
    rr_slice info; /* the JSON of INFO */
    char *line;    /* CONNECT and PING */
    size_t line_len;
    rr_error *error;
} handshake;

static rr_status fail(const handshake *h, const char *what, const char *why)
{
    snprintf(h->socket->why, sizeof h->socket->why, "%s: %s", what, why);
    return rr_fail(h->error, RR_UNAVAILABLE, "%s: %s", h->nats->place, h->socket->why);
}

static int64_t left_ms(const handshake *h)
{
    int64_t left = h->until_ms - rr_nats_now_ms();

    return left > 0 ? left : 0;
}

/* --- the server --- */

static rr_slice slice_between(const char *from, const char *to)
{
    return (rr_slice){from, (size_t)(to - from)};
}

static address read_address(rr_slice url)
{
    const char *from = url.data, *end = from + url.len, *scheme = memmem(from, url.len, "://", 3), *at, *colon, *path;
    address read = {.port = RR_SLICE("4222")};

    from = scheme == NULL ? from : scheme + 3;
    at = memrchr(from, '@', (size_t)(end - from));
    if (at != NULL) {
        colon = memchr(from, ':', (size_t)(at - from));
        read.user = slice_between(from, colon == NULL ? at : colon);
        read.password = colon == NULL ? (rr_slice){NULL, 0} : slice_between(colon + 1, at);
        from = at + 1;
    }
    path = memchr(from, '/', (size_t)(end - from));
    end = path == NULL ? end : path;
    colon = memrchr(from, ':', (size_t)(end - from));
    if (colon != NULL && memchr(colon, ']', (size_t)(end - colon)) == NULL) {
        read.port = colon + 1 == end ? read.port : slice_between(colon + 1, end);
        end = colon;
    }
    read.host = end - from >= 2 && *from == '[' ? slice_between(from + 1, end - 1) : slice_between(from, end);
    return read;
}

static bool copy_text(rr_slice from, char *to, size_t room)
{
    if (from.len >= room) {
        return false;
    }
    if (from.len != 0) {
        memcpy(to, from.data, from.len);
    }
    to[from.len] = '\0';
    return true;
}

/* The configured addresses, one a call. */
static bool next_address(const char **urls, address *read)
{
    size_t len;

    *urls += strspn(*urls, ", ");
    len = strcspn(*urls, ", ");
    *read = read_address((rr_slice){*urls, len});
    *urls += len;
    return len != 0;
}

static const char *urls_of(const handshake *h)
{
    return h->nats->options.url == NULL ? "" : h->nats->options.url;
}

static void find_logins(handshake *h)
{
    const char *urls = urls_of(h);
    address read;

    while (next_address(&urls, &read)) {
        if (h->own.host.len == 0 && rr_slice_equal(read.host, rr_slice_of(h->host)) &&
            rr_slice_equal(read.port, rr_slice_of(h->port))) {
            h->own = read;
        }
        if (h->any.user.len == 0) {
            h->any = read;
        }
    }
}

/* The server where cnats is connected. It may refuse new connections while it keeps those that it has (it is shutting
 * down, or full): so after each failed attempt the next one of the servers that cnats knows is tried. */
static bool choose_server(handshake *h)
{
    char **servers = NULL;
    int count = 0;
    bool chosen =
        natsConnection_GetConnectedUrl(h->nats->connection, h->url, sizeof h->url) == NATS_OK && h->url[0] != '\0';

    if (chosen && h->failures != 0 && natsConnection_GetServers(h->nats->connection, &servers, &count) == NATS_OK) {
        unsigned which = h->failures % ((unsigned)count + 1);

        if (which != 0) {
            chosen = copy_text(rr_slice_of(servers[which - 1]), h->url, sizeof h->url);
        }
        for (int k = 0; k < count; k++) {
            free(servers[k]);
        }
        free(servers);
    }
    return chosen;
}

static rr_status find_server(handshake *h)
{
    address read;

    if (!choose_server(h)) {
        return fail(h, "connect", "not connected");
    }
    read = read_address(rr_slice_of(h->url));
    if (!copy_text(read.host, h->host, sizeof h->host) || !copy_text(read.port, h->port, sizeof h->port)) {
        return fail(h, "connect", "the server's address is too long");
    }
    find_logins(h);
    return RR_OK;
}

static bool connect_one(handshake *h, const struct addrinfo *to, int64_t most_ms)
{
    int one = 1, why = 0;
    socklen_t len = sizeof why;
    struct pollfd there;

    h->socket->fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (h->socket->fd < 0) {
        return false;
    }
    there = (struct pollfd){.fd = h->socket->fd, .events = POLLOUT};
    if (connect(h->socket->fd, to->ai_addr, to->ai_addrlen) != 0) {
        why = errno;
        if (why == EINPROGRESS) {
            why = poll(&there, 1, (int)most_ms) == 1 ? 0 : ETIMEDOUT;
        }
        if (why == 0) {
            getsockopt(h->socket->fd, SOL_SOCKET, SO_ERROR, &why, &len);
        }
    }
    if (why != 0) {
        close(h->socket->fd);
        errno = why;
        return false;
    }
    setsockopt(h->socket->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return true;
}

static rr_status connect_server(handshake *h)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int resolved = getaddrinfo(h->host, h->port, &hints, &found);

    if (resolved != 0) {
        return fail(h, h->host, gai_strerror(resolved));
    }
    for (const struct addrinfo *one = found; one != NULL && !h->socket->is_open; one = one->ai_next) {
        h->socket->is_open = connect_one(h, one, one->ai_next == NULL ? left_ms(h) : left_ms(h) / 2);
    }
    freeaddrinfo(found);
    return h->socket->is_open ? RR_OK : fail(h, "connect", strerror(errno));
}

/* --- TLS --- */

static bool load_files(SSL_CTX *context, const rr_nats_options *options)
{
    bool good =
        SSL_CTX_set_default_verify_paths(context) == 1 &&
        (options->tls_ca_file == NULL || SSL_CTX_load_verify_locations(context, options->tls_ca_file, NULL) == 1);

    if (good && options->tls_cert_file != NULL) {
        good = SSL_CTX_use_certificate_chain_file(context, options->tls_cert_file) == 1 &&
               SSL_CTX_use_PrivateKey_file(context, options->tls_key_file, SSL_FILETYPE_PEM) == 1;
    }
    return good;
}

static const char *tls_reason(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());

    return words == NULL ? "the connection ended" : words;
}

static rr_status finish_tls(handshake *h)
{
    rr_nats_socket *socket = h->socket;

    for (;;) {
        int done, why;

        ERR_clear_error(); /* SSL_get_error looks at errors that other calls left */
        done = SSL_connect(socket->tls);
        why = SSL_get_error(socket->tls, done);
        if (done == 1) {
            return RR_OK;
        }
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            return fail(h, "TLS", tls_reason());
        }
        if (left_ms(h) == 0) {
            return fail(h, "TLS", "no answer in time");
        }
        rr_nats_socket_wait(socket, why == SSL_ERROR_WANT_WRITE, left_ms(h));
    }
}

static bool is_ip(const char *host)
{
    unsigned char ip[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, ip) == 1 || inet_pton(AF_INET6, host, ip) == 1;
}

/* The certificate must name the host of the URL. In a cluster, servers tell their peers' IP addresses, which
 * certificates rarely hold: such a peer may have any of the configured names. */
static bool expect_names(handshake *h)
{
    SSL *tls = h->socket->tls;
    const char *urls = h->own.host.len == 0 && is_ip(h->host) ? urls_of(h) : "";
    bool good = true, named = false;
    char name[HOST_MAX];
    address read;

    SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    while (next_address(&urls, &read)) {
        if (copy_text(read.host, name, sizeof name) && !is_ip(name)) {
            good = good && SSL_add1_host(tls, name) == 1 && (named || SSL_set_tlsext_host_name(tls, name) == 1);
            named = true;
        }
    }
    if (named) {
        return good;
    }
    return SSL_set1_host(tls, h->host) == 1 && (is_ip(h->host) || SSL_set_tlsext_host_name(tls, h->host) == 1);
}

static rr_status start_tls(handshake *h)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    bool named;

    ERR_clear_error();
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        !load_files(context, &h->nats->options)) {
        SSL_CTX_free(context);
        return fail(h, "TLS", tls_reason());
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    h->socket->tls = SSL_new(context);
    SSL_CTX_free(context);
    named = h->socket->tls != NULL && SSL_set_fd(h->socket->tls, h->socket->fd) == 1 && expect_names(h);
    return named ? finish_tls(h) : fail(h, "TLS", tls_reason());
}

/* --- CONNECT --- */

static void put(handshake *h, const char *bytes, size_t len)
{
    if (len < CONNECT_MAX - h->line_len) {
        memcpy(h->line + h->line_len, bytes, len);
        h->line_len += len;
    } else {
        h->line_len = CONNECT_MAX;
    }
}

static void put_text(handshake *h, const char *text)
{
    put(h, text, strlen(text));
}

/* ,"name":"value". A value from a URL is not escaped, as in cnats. */
static void put_raw(handshake *h, const char *name, rr_slice value)
{
    put_text(h, ",\"");
    put_text(h, name);
    put_text(h, "\":\"");
    put(h, value.data, value.len);
    put_text(h, "\"");
}

static void put_field(handshake *h, const char *name, const char *value)
{
    char *escaped = rr_nats_json_text(value);

    if (escaped == NULL) {
        h->line_len = CONNECT_MAX; /* reported as too long */
        return;
    }
    put_raw(h, name, rr_slice_of(escaped));
    explicit_bzero(escaped, strlen(escaped));
    free(escaped);
}

/* The text behind a name in INFO. */
static bool info_text(const handshake *h, const char *name, char *text)
{
    const char *at = memmem(h->info.data, h->info.len, name, strlen(name)), *end;

    if (at == NULL) {
        return false;
    }
    at += strlen(name);
    end = memchr(at, '"', (size_t)(h->info.data + h->info.len - at));
    return end != NULL && copy_text(slice_between(at, end), text, TEXT_MAX);
}

static rr_status put_signature(handshake *h, const char *path)
{
    unsigned char *signature = NULL;
    char nonce[TEXT_MAX] = "", text[TEXT_MAX];
    int len = 0;
    natsStatus status;

    if (!info_text(h, "\"nonce\":\"", nonce)) {
        return fail(h, "log in", "the server asks for no signature");
    }
    status = rr_nats_sign(path, nonce, &signature, &len);
    if (status != NATS_OK || len > TEXT_MAX / 2) {
        free(signature);
        return fail(h, path, "the nkey seed in it cannot be used");
    }
    EVP_EncodeBlock((unsigned char *)text, signature, len);
    free(signature);
    for (char *at = text; *at != '\0'; at++) {
        *at = (char)(*at == '+' ? '-' : *at == '/' ? '_' : *at);
    }
    text[strcspn(text, "=")] = '\0';
    put_field(h, "sig", text);
    return RR_OK;
}

static void put_url_login(handshake *h, const address *from)
{
    if (from->user.len != 0 && from->password.len == 0) {
        put_raw(h, "auth_token", from->user);
    } else if (from->user.len != 0) {
        put_raw(h, "user", from->user);
        put_raw(h, "pass", from->password);
    }
}

static rr_status put_login(handshake *h)
{
    const rr_nats_options *options = &h->nats->options;
    char text[RR_NATS_LOGIN_MAX];

    if (options->nkey_seed_file != NULL) {
        if (!rr_nats_public_key(options->nkey_seed_file, text)) {
            return fail(h, options->nkey_seed_file, "the public key is no longer there");
        }
        put_field(h, "nkey", text);
        return put_signature(h, options->nkey_seed_file);
    }
    if (options->credentials_file != NULL) {
        if (!rr_nats_user_jwt(options->credentials_file, text)) {
            return fail(h, options->credentials_file, "the user's JWT is no longer there");
        }
        put_field(h, "jwt", text);
        return put_signature(h, options->credentials_file);
    }
    /* The order of cnats: this server's URL, the token or user of the options, any URL. */
    if (h->own.user.len != 0 || (options->token == NULL && options->user == NULL)) {
        put_url_login(h, h->own.user.len != 0 ? &h->own : &h->any);
    } else if (options->token != NULL) {
        put_field(h, "auth_token", options->token);
    } else {
        put_field(h, "user", options->user);
        put_field(h, "pass", options->password == NULL ? "" : options->password);
    }
    return RR_OK;
}

static rr_status write_connect(handshake *h)
{
    rr_status status;

    put_text(h, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,"
                "\"echo\":false,\"lang\":\"c\",\"version\":\"" RR_VERSION_TEXT "\"");
    put_field(h, "name", h->nats->options.name == NULL ? "result-reconciler" : h->nats->options.name);
    status = put_login(h);
    put_text(h, "}\r\nPING\r\n");
    return status == RR_OK && h->line_len >= CONNECT_MAX
               ? fail(h, "log in", "user, password, token or key are too long")
               : status;
}

/* A server that closed the connection may have sent the reason before: so a failed write is no failure, and the answer
 * is read next. */
static rr_status send_all(handshake *h)
{
    for (size_t sent = 0; sent < h->line_len;) {
        long done = rr_nats_socket_write(h->socket, h->line + sent, h->line_len - sent);

        if (done < 0) {
            return RR_OK;
        }
        if (left_ms(h) == 0) {
            return fail(h, "log in", "no answer in time");
        }
        if (done == 0) {
            rr_nats_socket_wait(h->socket, true, left_ms(h));
        }
        sent += (size_t)done;
    }
    return RR_OK;
}

/* Waits for more bytes of the server. */
static rr_status receive_more(handshake *h)
{
    long got = rr_nats_socket_read(h->socket, h->received + h->received_len, RECEIVED_MAX - h->received_len);

    if (got < 0 || (got == 0 && left_ms(h) == 0)) {
        return fail(h, "log in", got < 0 ? "the server closed the connection" : "no answer in time");
    }
    if (got == 0) {
        rr_nats_socket_wait(h->socket, false, left_ms(h));
    }
    h->received_len += (size_t)got;
    return RR_OK;
}

/* Reads operations up to one of that kind, into *parsed. The bytes behind it stay unread. */
static rr_status wait_for_op(handshake *h, rr_nats_op wanted, rr_nats_parsed *parsed)
{
    rr_status status = RR_OK;

    while (status == RR_OK) {
        rr_nats_op op =
            rr_nats_parse((rr_slice){h->received + h->received_at, h->received_len - h->received_at}, parsed);
        char text[TEXT_MAX];

        if (op == RR_NATS_ERROR) {
            snprintf(text, sizeof text, "the server says%.*s", (int)parsed->payload.len, parsed->payload.data);
            status = fail(h, "log in", text);
        } else if (op == RR_NATS_BROKEN || (op == RR_NATS_MORE && h->received_len == RECEIVED_MAX)) {
            status = fail(h, "log in", "what answers is not a NATS server");
        } else if (op == RR_NATS_MORE) {
            status = receive_more(h);
        } else {
            h->received_at += parsed->used;
            if (op == wanted) {
                break;
            }
        }
    }
    return status;
}

static bool wants_tls(const handshake *h)
{
    static const char required[] = "\"tls_required\":true";

    return strncmp(h->url, "tls://", strlen("tls://")) == 0 || rr_nats_is_secure(&h->nats->options) ||
           memmem(h->info.data, h->info.len, required, sizeof required - 1) != NULL;
}

/* Bytes that came in plain text before TLS are dropped, except an error: it tells why the server refuses the client. */
static rr_status change_to_tls(handshake *h)
{
    rr_nats_parsed parsed;

    if (rr_nats_parse((rr_slice){h->received + h->received_at, h->received_len - h->received_at}, &parsed) ==
        RR_NATS_ERROR) {
        return wait_for_op(h, RR_NATS_PONG, &parsed);
    }
    h->received_len = h->received_at;
    return start_tls(h);
}

static rr_status negotiate(handshake *h)
{
    rr_nats_parsed parsed;
    rr_status status = wait_for_op(h, RR_NATS_INFO, &parsed);

    h->info = parsed.payload;
    if (status == RR_OK && wants_tls(h)) {
        status = change_to_tls(h);
    }
    status = status == RR_OK ? write_connect(h) : status;
    status = status == RR_OK ? send_all(h) : status;
    return status == RR_OK ? wait_for_op(h, RR_NATS_PONG, &parsed) : status;
}

/* The bytes behind PONG, at the start of the buffer that was read into. */
static rr_nats_unread take_unread(handshake *h)
{
    rr_nats_unread unread = {h->received, h->received_len - h->received_at};

    memmove(unread.bytes, unread.bytes + h->received_at, unread.len);
    h->received = NULL;
    return unread;
}

rr_status rr_nats_handshake(rr_nats_socket *socket, const rr_nats *nats, unsigned failures, rr_nats_unread *unread,
                            rr_error *error)
{
    int timeout_ms = nats->options.timeout_ms > 0 ? nats->options.timeout_ms : 5000;
    handshake h = {.socket = socket,
                   .nats = nats,
                   .failures = failures,
                   .until_ms = rr_nats_now_ms() + timeout_ms,
                   .error = error};
    rr_status status;

    *unread = (rr_nats_unread){NULL, 0};
    h.received = malloc(RECEIVED_MAX);
    h.line = malloc(CONNECT_MAX);
    status = h.received == NULL || h.line == NULL ? rr_fail(error, RR_MEMORY, "memory ran out") : find_server(&h);
    status = status == RR_OK ? connect_server(&h) : status;
    status = status == RR_OK ? negotiate(&h) : status;
    if (status == RR_OK) {
        *unread = take_unread(&h);
    } else {
        rr_nats_socket_close(socket);
    }
    free(h.received);
    if (h.line != NULL) {
        explicit_bzero(h.line, CONNECT_MAX);
    }
    free(h.line);
    explicit_bzero(h.url, sizeof h.url);
    return status;
}
