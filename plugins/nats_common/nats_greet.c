/* A connection for a feed: to the server that cnats found, as the client that it is there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nats_feed.h"

enum { URL_MAX = 1024, HOST_MAX = 256, HELLO_MAX = RR_NATS_LINE_MAX + 4096, CONNECT_MAX = 16 * 1024, TEXT_MAX = 256 };

typedef struct greeting {
    rr_feed *feed;
    const rr_nats *nats;
    int64_t until_ms;
    char url[URL_MAX], host[HOST_MAX], port[8];
    char name[HOST_MAX];      /* that the certificate is to be for */
    rr_slice user, password;  /* of the URL; no data: none there */
    char *hello;              /* what the server said, ended with a NUL */
    size_t hello_len;
    rr_slice info;
    char *line;               /* what we say */
    size_t line_len;
    rr_error *error;
} greeting;

static rr_status fail(const greeting *g, const char *what, const char *why)
{
    return rr_fail(g->error, RR_UNAVAILABLE, "%s: %s: %s", g->nats->place, what, why);
}

static int64_t left_ms(const greeting *g)
{
    int64_t left = g->until_ms - rr_nats_now_ms();

    return left > 0 ? left : 0;
}

/* --- the bytes --- */

void rr_feed_wait(const rr_feed *feed, bool also_write, int64_t wait_ms)
{
    struct pollfd one = {.fd = feed->fd, .events = POLLIN | (also_write ? POLLOUT : 0)};

    poll(&one, 1, (int)wait_ms);
}

static long tls_done(const rr_feed *feed, int done)
{
    int why = done > 0 ? SSL_ERROR_NONE : SSL_get_error(feed->tls, done);

    return why == SSL_ERROR_NONE ? done : why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static long plain_done(ssize_t done, bool zero_ends)
{
    if (done < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
    }
    return done == 0 && zero_ends ? -1 : done;
}

long rr_feed_read(rr_feed *feed, char *to, size_t room)
{
    ERR_clear_error();
    return feed->tls != NULL ? tls_done(feed, SSL_read(feed->tls, to, (int)(room < INT32_MAX ? room : INT32_MAX)))
                             : plain_done(recv(feed->fd, to, room, 0), true);
}

long rr_feed_write(rr_feed *feed, const char *from, size_t len)
{
    ERR_clear_error();
    return feed->tls != NULL ? tls_done(feed, SSL_write(feed->tls, from, (int)(len < INT32_MAX ? len : INT32_MAX)))
                             : plain_done(send(feed->fd, from, len, MSG_NOSIGNAL), false);
}

void rr_feed_part(rr_feed *feed)
{
    SSL_free(feed->tls); /* the server sees the connection end; nothing is said to it any more */
    feed->tls = NULL;
    close(feed->fd);
}

/* --- where to --- */

/* An address as users and servers write it: [scheme://][user[:password]@]host[:port]. */
typedef struct address {
    rr_slice user, password; /* no data: not there */
    rr_slice host, port;
} address;

static rr_slice between(const char *from, const char *to)
{
    return (rr_slice){from, (size_t)(to - from)};
}

static address read_address(rr_slice url)
{
    const char *from = url.data, *end = from + url.len, *scheme = memmem(from, url.len, "://", 3), *at, *colon;
    address read = {.user = {NULL, 0}};

    from = scheme == NULL ? from : scheme + 3;
    at = memrchr(from, '@', (size_t)(end - from));
    if (at != NULL) {
        colon = memchr(from, ':', (size_t)(at - from));
        read.user = between(from, colon == NULL ? at : colon);
        read.password = colon == NULL ? (rr_slice){NULL, 0} : between(colon + 1, at);
        from = at + 1;
    }
    colon = memrchr(from, ':', (size_t)(end - from));
    if (colon != NULL && memchr(colon, ']', (size_t)(end - colon)) == NULL) {
        read.port = between(colon + 1, end);
        end = colon;
    }
    read.host = end - from >= 2 && *from == '[' ? between(from + 1, end - 1) : between(from, end);
    return read;
}

static bool copy_text(rr_slice from, char *to, size_t room)
{
    if (from.len >= room) {
        return false;
    }
    snprintf(to, room, "%.*s", (int)from.len, from.data == NULL ? "" : from.data);
    return true;
}

/* The server's certificate is to be for the host that it was found by. One that another server told us of is known by the
 * name that we were given, as they are in a cluster. */
static void choose_name(greeting *g)
{
    const char *urls = g->nats->options.url == NULL ? "" : g->nats->options.url;

    snprintf(g->name, sizeof g->name, "%s", g->host);
    for (const char *at = urls; *at != '\0'; at += strspn(at, ", ")) {
        size_t len = strcspn(at, ", ");
        rr_slice host = read_address((rr_slice){at, len}).host;

        if (rr_slice_equal(host, rr_slice_of(g->host))) {
            snprintf(g->name, sizeof g->name, "%s", g->host);
            return;
        }
        if (at == urls) {
            copy_text(host, g->name, sizeof g->name);
        }
        at += len;
    }
}

static rr_status find_server(greeting *g)
{
    address read;

    if (natsConnection_GetConnectedUrl(g->nats->connection, g->url, sizeof g->url) != NATS_OK || g->url[0] == '\0') {
        return fail(g, "connect", "not connected");
    }
    read = read_address(rr_slice_of(g->url));
    g->user = read.user;
    g->password = read.password;
    if (!copy_text(read.host, g->host, sizeof g->host)
        || !copy_text(read.port.len == 0 ? RR_SLICE("4222") : read.port, g->port, sizeof g->port)) {
        return fail(g, "connect", "the server's address is too long");
    }
    choose_name(g);
    return RR_OK;
}

static bool connect_one(greeting *g, const struct addrinfo *to)
{
    int one = 1, why = 0;
    socklen_t len = sizeof why;
    struct pollfd there;

    g->feed->fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (g->feed->fd < 0) {
        return false;
    }
    there = (struct pollfd){.fd = g->feed->fd, .events = POLLOUT};
    if (connect(g->feed->fd, to->ai_addr, to->ai_addrlen) != 0) {
        why = errno;
        if (why == EINPROGRESS) {
            why = poll(&there, 1, (int)left_ms(g)) == 1 ? 0 : ETIMEDOUT;
        }
        if (why == 0) {
            getsockopt(g->feed->fd, SOL_SOCKET, SO_ERROR, &why, &len);
        }
    }
    if (why != 0) {
        close(g->feed->fd);
        errno = why;
        return false;
    }
    setsockopt(g->feed->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return true;
}

static rr_status reach(greeting *g)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int resolved = getaddrinfo(g->host, g->port, &hints, &found);

    if (resolved != 0) {
        return fail(g, g->host, gai_strerror(resolved));
    }
    for (const struct addrinfo *one = found; one != NULL && !g->feed->open; one = one->ai_next) {
        g->feed->open = connect_one(g, one);
    }
    freeaddrinfo(found);
    return g->feed->open ? RR_OK : fail(g, "connect", strerror(errno));
}

/* --- TLS --- */

static bool load_files(SSL_CTX *context, const rr_nats_options *options)
{
    bool good = options->tls_ca_file != NULL ? SSL_CTX_load_verify_locations(context, options->tls_ca_file, NULL) == 1
                                             : SSL_CTX_set_default_verify_paths(context) == 1;

    if (good && options->tls_cert_file != NULL) {
        good = SSL_CTX_use_certificate_chain_file(context, options->tls_cert_file) == 1
               && SSL_CTX_use_PrivateKey_file(context, options->tls_key_file, SSL_FILETYPE_PEM) == 1;
    }
    return good;
}

static const char *tls_words(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());

    return words == NULL ? "the connection ended" : words;
}

static rr_status shake_hands(greeting *g)
{
    rr_feed *feed = g->feed;

    for (;;) {
        int done = SSL_connect(feed->tls), why = SSL_get_error(feed->tls, done);

        if (done == 1) {
            return RR_OK;
        }
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            return fail(g, "TLS", tls_words());
        }
        if (left_ms(g) == 0) {
            return fail(g, "TLS", "no answer in time");
        }
        rr_feed_wait(feed, why == SSL_ERROR_WANT_WRITE, left_ms(g));
    }
}

static rr_status secure(greeting *g)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    unsigned char ip[sizeof(struct in6_addr)];
    bool named;

    ERR_clear_error();
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1
        || !load_files(context, &g->nats->options)) {
        SSL_CTX_free(context);
        return fail(g, "TLS", tls_words());
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    g->feed->tls = SSL_new(context);
    SSL_CTX_free(context);
    named = g->feed->tls != NULL && SSL_set_fd(g->feed->tls, g->feed->fd) == 1
            && SSL_set1_host(g->feed->tls, g->name) == 1;
    if (named && inet_pton(AF_INET, g->name, ip) != 1 && inet_pton(AF_INET6, g->name, ip) != 1) {
        named = SSL_set_tlsext_host_name(g->feed->tls, g->name) == 1;
    }
    return named ? shake_hands(g) : fail(g, "TLS", tls_words());
}

/* --- who we are --- */

static void say(greeting *g, const char *bytes, size_t len)
{
    if (len < CONNECT_MAX - g->line_len) {
        memcpy(g->line + g->line_len, bytes, len);
        g->line_len += len;
    } else {
        g->line_len = CONNECT_MAX;
    }
}

static void say_text(greeting *g, const char *text)
{
    say(g, text, strlen(text));
}

/* ,"name":"value" */
static void say_field(greeting *g, const char *name, rr_slice value)
{
    say_text(g, ",\"");
    say_text(g, name);
    say_text(g, "\":\"");
    for (size_t k = 0; k < value.len; k++) {
        char escaped[8];
        unsigned char c = (unsigned char)value.data[k];

        snprintf(escaped, sizeof escaped, c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
        say_text(g, escaped);
    }
    say_text(g, "\"");
}

/* What stands in INFO behind a name. */
static bool info_text(const greeting *g, const char *name, char *text)
{
    const char *at = memmem(g->info.data, g->info.len, name, strlen(name));
    size_t len;

    if (at == NULL) {
        return false;
    }
    at += strlen(name);
    len = strcspn(at, "\"");
    snprintf(text, TEXT_MAX, "%.*s", (int)len, at);
    return len < TEXT_MAX;
}

static rr_status say_signature(greeting *g, const char *path)
{
    unsigned char *signature = NULL;
    char nonce[TEXT_MAX] = "", text[TEXT_MAX];
    int len = 0;
    natsStatus status;

    if (!info_text(g, "\"nonce\":\"", nonce)) {
        return fail(g, "log in", "the server asks for no signature");
    }
    status = rr_nats_sign(path, nonce, &signature, &len);
    if (status != NATS_OK || len > TEXT_MAX / 2) {
        free(signature);
        return fail(g, path, "the nkey seed in it cannot be used");
    }
    EVP_EncodeBlock((unsigned char *)text, signature, len);
    free(signature);
    for (char *at = text; *at != '\0'; at++) {
        *at = (char)(*at == '+' ? '-' : *at == '/' ? '_' : *at);
    }
    text[strcspn(text, "=")] = '\0';
    say_field(g, "sig", rr_slice_of(text));
    return RR_OK;
}

static rr_status say_who(greeting *g)
{
    const rr_nats_options *options = &g->nats->options;
    char text[RR_NATS_WHO_MAX];

    if (options->nkey_seed_file != NULL) {
        if (!rr_nats_public_key(options->nkey_seed_file, text)) {
            return fail(g, options->nkey_seed_file, "the public key is no longer there");
        }
        say_field(g, "nkey", rr_slice_of(text));
        return say_signature(g, options->nkey_seed_file);
    }
    if (options->credentials_file != NULL) {
        if (!rr_nats_user_jwt(options->credentials_file, text)) {
            return fail(g, options->credentials_file, "the user's JWT is no longer there");
        }
        say_field(g, "jwt", rr_slice_of(text));
        return say_signature(g, options->credentials_file);
    }
    if (g->user.len != 0 && g->password.data == NULL) {
        say_field(g, "auth_token", g->user);
    } else if (g->user.len != 0) {
        say_field(g, "user", g->user);
        say_field(g, "pass", g->password);
    } else if (options->token != NULL) {
        say_field(g, "auth_token", rr_slice_of(options->token));
    } else if (options->user != NULL) {
        say_field(g, "user", rr_slice_of(options->user));
        say_field(g, "pass", rr_slice_of(options->password == NULL ? "" : options->password));
    }
    return RR_OK;
}

static rr_status introduce(greeting *g)
{
    rr_status status;

    say_text(g, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,"
                "\"echo\":false,\"lang\":\"c\",\"version\":\"" RR_VERSION_TEXT "\"");
    say_field(g, "name", rr_slice_of(g->nats->options.name == NULL ? "result-reconciler" : g->nats->options.name));
    status = say_who(g);
    say_text(g, "}\r\nPING\r\n");
    return status == RR_OK && g->line_len >= CONNECT_MAX ? fail(g, "log in", "who we are is too long to be said") : status;
}

static rr_status send_all(greeting *g)
{
    for (size_t sent = 0; sent < g->line_len;) {
        long done = rr_feed_write(g->feed, g->line + sent, g->line_len - sent);

        if (done < 0 || left_ms(g) == 0) {
            return fail(g, "log in", done < 0 ? "the server closed the connection" : "no answer in time");
        }
        if (done == 0) {
            rr_feed_wait(g->feed, true, left_ms(g));
        }
        sent += (size_t)done;
    }
    return RR_OK;
}

/* The next operation from the server, into *parsed. Nothing comes behind INFO and PONG before we have said something, so
 * all that was received is this one. */
static rr_status hear(greeting *g, rr_nats_op wanted, rr_nats_parsed *parsed)
{
    size_t at = 0;

    g->hello_len = 0;
    for (;;) {
        rr_nats_op op = rr_nats_parse((rr_slice){g->hello + at, g->hello_len - at}, parsed);
        long got;

        if (op == wanted) {
            return RR_OK;
        }
        if (op == RR_NATS_ERROR) {
            return rr_fail(g->error, RR_UNAVAILABLE, "%s: log in: the server says%.*s", g->nats->place,
                           (int)parsed->payload.len, parsed->payload.data);
        }
        if (op == RR_NATS_BROKEN || g->hello_len == HELLO_MAX) {
            return fail(g, "log in", "what answers is not a NATS server");
        }
        if (op != RR_NATS_MORE) {
            at += parsed->used;
            continue;
        }
        got = rr_feed_read(g->feed, g->hello + g->hello_len, HELLO_MAX - g->hello_len);
        if (got < 0 || (got == 0 && left_ms(g) == 0)) {
            return fail(g, "log in", got < 0 ? "the server closed the connection" : "no answer in time");
        }
        if (got == 0) {
            rr_feed_wait(g->feed, false, left_ms(g));
        }
        g->hello_len += (size_t)got;
        g->hello[g->hello_len] = '\0';
    }
}

static bool wants_tls(const greeting *g)
{
    static const char required[] = "\"tls_required\":true";

    return strncmp(g->url, "tls://", strlen("tls://")) == 0 || rr_nats_is_secure(&g->nats->options)
           || memmem(g->info.data, g->info.len, required, sizeof required - 1) != NULL;
}

static rr_status talk(greeting *g)
{
    rr_nats_parsed parsed;
    rr_status status = hear(g, RR_NATS_INFO, &parsed);

    g->info = parsed.payload;
    if (status == RR_OK && wants_tls(g)) {
        status = secure(g);
    }
    status = status == RR_OK ? introduce(g) : status;
    status = status == RR_OK ? send_all(g) : status;
    return status == RR_OK ? hear(g, RR_NATS_PONG, &parsed) : status;
}

rr_status rr_feed_greet(rr_feed *feed, const rr_nats *nats, rr_error *error)
{
    int timeout_ms = nats->options.timeout_ms > 0 ? nats->options.timeout_ms : 5000;
    greeting g = {.feed = feed, .nats = nats, .until_ms = rr_nats_now_ms() + timeout_ms, .error = error};
    rr_status status;

    g.hello = malloc(HELLO_MAX + 1);
    g.line = malloc(CONNECT_MAX);
    status = g.hello == NULL || g.line == NULL ? rr_fail(error, RR_MEMORY, "memory ran out") : find_server(&g);
    status = status == RR_OK ? reach(&g) : status;
    status = status == RR_OK ? talk(&g) : status;
    if (status != RR_OK) {
        rr_feed_close(feed);
    }
    free(g.hello);
    if (g.line != NULL) {
        explicit_bzero(g.line, CONNECT_MAX);
    }
    free(g.line);
    explicit_bzero(g.url, sizeof g.url);
    return status;
}
