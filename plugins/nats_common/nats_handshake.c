/* A connection for a feed: to the server that cnats found, as the client that it is there. */
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

#include "nats_client.h"

enum {
    URL_MAX = 1024,
    HOST_MAX = 256,
    HELLO_MAX = RR_NATS_LINE_MAX + 4096,
    CONNECT_MAX = 2 * RR_NATS_WHO_MAX,
    TEXT_MAX = 256
};

/* An address as users and servers write it: [scheme://][user[:password]@]host[:port][/path]. */
typedef struct address {
    rr_slice user, password; /* as they stand there; no data: not there */
    rr_slice host, port;
} address;

typedef struct greeting {
    rr_nats_client *feed;
    const rr_nats *nats;
    int64_t until_ms;
    char url[URL_MAX], host[HOST_MAX], port[8];
    address own, any; /* among the URLs that we were given: this server's, and the first that tells who we are */
    char *hello;      /* what the server said; up to hello_at it was heard */
    size_t hello_at, hello_len;
    rr_slice info;
    char *line; /* what we say */
    size_t line_len;
    rr_error *error;
} greeting;

static rr_status fail(const greeting *g, const char *what, const char *why)
{
    snprintf(g->feed->why, sizeof g->feed->why, "%s: %s", what, why);
    return rr_fail(g->error, RR_UNAVAILABLE, "%s: %s", g->nats->place, g->feed->why);
}

static int64_t left_ms(const greeting *g)
{
    int64_t left = g->until_ms - rr_nats_now_ms();

    return left > 0 ? left : 0;
}

/* --- the bytes --- */

void rr_nats_client_wait(const rr_nats_client *feed, bool also_write, int64_t wait_ms)
{
    struct pollfd one = {.fd = feed->fd, .events = POLLIN | (also_write ? POLLOUT : 0)};

    poll(&one, 1, (int)wait_ms);
}

static long tls_done(const rr_nats_client *feed, int done)
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

long rr_nats_client_read(rr_nats_client *feed, char *to, size_t room)
{
    ERR_clear_error();
    return feed->tls != NULL ? tls_done(feed, SSL_read(feed->tls, to, (int)(room < INT32_MAX ? room : INT32_MAX)))
                             : plain_done(recv(feed->fd, to, room, 0), true);
}

long rr_nats_client_write(rr_nats_client *feed, const char *from, size_t len)
{
    ERR_clear_error();
    return feed->tls != NULL ? tls_done(feed, SSL_write(feed->tls, from, (int)(len < INT32_MAX ? len : INT32_MAX)))
                             : plain_done(send(feed->fd, from, len, MSG_NOSIGNAL), false);
}

void rr_nats_client_disconnect(rr_nats_client *feed)
{
    SSL_free(feed->tls); /* the server sees the connection end; nothing is said to it any more */
    feed->tls = NULL;
    close(feed->fd);
}

/* --- where to --- */

static rr_slice between(const char *from, const char *to)
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
        read.user = between(from, colon == NULL ? at : colon);
        read.password = colon == NULL ? (rr_slice){NULL, 0} : between(colon + 1, at);
        from = at + 1;
    }
    path = memchr(from, '/', (size_t)(end - from));
    end = path == NULL ? end : path;
    colon = memrchr(from, ':', (size_t)(end - from));
    if (colon != NULL && memchr(colon, ']', (size_t)(end - colon)) == NULL) {
        read.port = colon + 1 == end ? read.port : between(colon + 1, end);
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
    if (from.len != 0) {
        memcpy(to, from.data, from.len);
    }
    to[from.len] = '\0';
    return true;
}

/* The addresses that we were given, one a call. */
static bool next_address(const char **urls, address *read)
{
    size_t len;

    *urls += strspn(*urls, ", ");
    len = strcspn(*urls, ", ");
    *read = read_address((rr_slice){*urls, len});
    *urls += len;
    return len != 0;
}

static const char *urls_of(const greeting *g)
{
    return g->nats->options.url == NULL ? "" : g->nats->options.url;
}

static void look_up(greeting *g)
{
    const char *urls = urls_of(g);
    address read;

    while (next_address(&urls, &read)) {
        if (g->own.host.len == 0 && rr_slice_equal(read.host, rr_slice_of(g->host)) &&
            rr_slice_equal(read.port, rr_slice_of(g->port))) {
            g->own = read;
        }
        if (g->any.user.len == 0) {
            g->any = read;
        }
    }
}

/* The server where cnats is. That one may take no more connections, while it keeps those that it has (it is about to go,
 * or full): so after each attempt that failed another one is tried, of those that cnats knows. */
static bool choose_server(greeting *g)
{
    char **servers = NULL;
    int count = 0;
    bool chosen =
        natsConnection_GetConnectedUrl(g->nats->connection, g->url, sizeof g->url) == NATS_OK && g->url[0] != '\0';

    if (chosen && g->feed->failures != 0 &&
        natsConnection_GetServers(g->nats->connection, &servers, &count) == NATS_OK) {
        unsigned which = g->feed->failures % ((unsigned)count + 1);

        if (which != 0) {
            chosen = copy_text(rr_slice_of(servers[which - 1]), g->url, sizeof g->url);
        }
        for (int k = 0; k < count; k++) {
            free(servers[k]);
        }
        free(servers);
    }
    return chosen;
}

static rr_status find_server(greeting *g)
{
    address read;

    if (!choose_server(g)) {
        return fail(g, "connect", "not connected");
    }
    read = read_address(rr_slice_of(g->url));
    if (!copy_text(read.host, g->host, sizeof g->host) || !copy_text(read.port, g->port, sizeof g->port)) {
        return fail(g, "connect", "the server's address is too long");
    }
    look_up(g);
    return RR_OK;
}

static bool connect_one(greeting *g, const struct addrinfo *to, int64_t most_ms)
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
            why = poll(&there, 1, (int)most_ms) == 1 ? 0 : ETIMEDOUT;
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
        g->feed->open = connect_one(g, one, one->ai_next == NULL ? left_ms(g) : left_ms(g) / 2);
    }
    freeaddrinfo(found);
    return g->feed->open ? RR_OK : fail(g, "connect", strerror(errno));
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

static const char *tls_words(void)
{
    const char *words = ERR_reason_error_string(ERR_peek_last_error());

    return words == NULL ? "the connection ended" : words;
}

static rr_status shake_hands(greeting *g)
{
    rr_nats_client *feed = g->feed;

    for (;;) {
        int done, why;

        ERR_clear_error(); /* what others left would be taken for our own */
        done = SSL_connect(feed->tls);
        why = SSL_get_error(feed->tls, done);
        if (done == 1) {
            return RR_OK;
        }
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
            return fail(g, "TLS", tls_words());
        }
        if (left_ms(g) == 0) {
            return fail(g, "TLS", "no answer in time");
        }
        rr_nats_client_wait(feed, why == SSL_ERROR_WANT_WRITE, left_ms(g));
    }
}

static bool is_ip(const char *host)
{
    unsigned char ip[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, ip) == 1 || inet_pton(AF_INET6, host, ip) == 1;
}

/* The server's certificate is to be for the host that it was found by. One that another server told us of, by its
 * address, is known by a name that we were given, as they are in a cluster. */
static bool expect_names(greeting *g)
{
    SSL *tls = g->feed->tls;
    const char *urls = g->own.host.len == 0 && is_ip(g->host) ? urls_of(g) : "";
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
    return SSL_set1_host(tls, g->host) == 1 && (is_ip(g->host) || SSL_set_tlsext_host_name(tls, g->host) == 1);
}

static rr_status secure(greeting *g)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    bool named;

    ERR_clear_error();
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        !load_files(context, &g->nats->options)) {
        SSL_CTX_free(context);
        return fail(g, "TLS", tls_words());
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    g->feed->tls = SSL_new(context);
    SSL_CTX_free(context);
    named = g->feed->tls != NULL && SSL_set_fd(g->feed->tls, g->feed->fd) == 1 && expect_names(g);
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

/* ,"name":"value". What stands in a URL goes as it stands there, as cnats does it. */
static void say_raw(greeting *g, const char *name, rr_slice value)
{
    say_text(g, ",\"");
    say_text(g, name);
    say_text(g, "\":\"");
    say(g, value.data, value.len);
    say_text(g, "\"");
}

static void say_field(greeting *g, const char *name, const char *value)
{
    char *escaped = rr_nats_json_text(value);

    if (escaped == NULL) {
        g->line_len = CONNECT_MAX; /* as if there were no room */
        return;
    }
    say_raw(g, name, rr_slice_of(escaped));
    explicit_bzero(escaped, strlen(escaped));
    free(escaped);
}

/* What stands in INFO behind a name. */
static bool info_text(const greeting *g, const char *name, char *text)
{
    const char *at = memmem(g->info.data, g->info.len, name, strlen(name)), *end;

    if (at == NULL) {
        return false;
    }
    at += strlen(name);
    end = memchr(at, '"', (size_t)(g->info.data + g->info.len - at));
    return end != NULL && copy_text(between(at, end), text, TEXT_MAX);
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
    say_field(g, "sig", text);
    return RR_OK;
}

static void say_login(greeting *g, const address *from)
{
    if (from->user.len != 0 && from->password.len == 0) {
        say_raw(g, "auth_token", from->user);
    } else if (from->user.len != 0) {
        say_raw(g, "user", from->user);
        say_raw(g, "pass", from->password);
    }
}

static rr_status say_who(greeting *g)
{
    const rr_nats_options *options = &g->nats->options;
    char text[RR_NATS_WHO_MAX];

    if (options->nkey_seed_file != NULL) {
        if (!rr_nats_public_key(options->nkey_seed_file, text)) {
            return fail(g, options->nkey_seed_file, "the public key is no longer there");
        }
        say_field(g, "nkey", text);
        return say_signature(g, options->nkey_seed_file);
    }
    if (options->credentials_file != NULL) {
        if (!rr_nats_user_jwt(options->credentials_file, text)) {
            return fail(g, options->credentials_file, "the user's JWT is no longer there");
        }
        say_field(g, "jwt", text);
        return say_signature(g, options->credentials_file);
    }
    /* As cnats has it: this server's URL, else the keys, else any URL. */
    if (g->own.user.len != 0 || (options->token == NULL && options->user == NULL)) {
        say_login(g, g->own.user.len != 0 ? &g->own : &g->any);
    } else if (options->token != NULL) {
        say_field(g, "auth_token", options->token);
    } else {
        say_field(g, "user", options->user);
        say_field(g, "pass", options->password == NULL ? "" : options->password);
    }
    return RR_OK;
}

static rr_status introduce(greeting *g)
{
    rr_status status;

    say_text(g, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,"
                "\"echo\":false,\"lang\":\"c\",\"version\":\"" RR_VERSION_TEXT "\"");
    say_field(g, "name", g->nats->options.name == NULL ? "result-reconciler" : g->nats->options.name);
    status = say_who(g);
    say_text(g, "}\r\nPING\r\n");
    return status == RR_OK && g->line_len >= CONNECT_MAX ? fail(g, "log in", "who we are is too long to be said")
                                                         : status;
}

/* Where it cannot be sent the server has gone, and may have said why: that is heard next. */
static rr_status send_all(greeting *g)
{
    for (size_t sent = 0; sent < g->line_len;) {
        long done = rr_nats_client_write(g->feed, g->line + sent, g->line_len - sent);

        if (done < 0) {
            return RR_OK;
        }
        if (left_ms(g) == 0) {
            return fail(g, "log in", "no answer in time");
        }
        if (done == 0) {
            rr_nats_client_wait(g->feed, true, left_ms(g));
        }
        sent += (size_t)done;
    }
    return RR_OK;
}

/* Waits for more of what the server says. */
static rr_status listen_on(greeting *g)
{
    long got = rr_nats_client_read(g->feed, g->hello + g->hello_len, HELLO_MAX - g->hello_len);

    if (got < 0 || (got == 0 && left_ms(g) == 0)) {
        return fail(g, "log in", got < 0 ? "the server closed the connection" : "no answer in time");
    }
    if (got == 0) {
        rr_nats_client_wait(g->feed, false, left_ms(g));
    }
    g->hello_len += (size_t)got;
    return RR_OK;
}

/* The next operation of that kind from the server, into *parsed. What came behind it stays. */
static rr_status hear(greeting *g, rr_nats_op wanted, rr_nats_parsed *parsed)
{
    rr_status status = RR_OK;

    while (status == RR_OK) {
        rr_nats_op op = rr_nats_parse((rr_slice){g->hello + g->hello_at, g->hello_len - g->hello_at}, parsed);
        char text[TEXT_MAX];

        if (op == RR_NATS_ERROR) {
            snprintf(text, sizeof text, "the server says%.*s", (int)parsed->payload.len, parsed->payload.data);
            status = fail(g, "log in", text);
        } else if (op == RR_NATS_BROKEN || (op == RR_NATS_MORE && g->hello_len == HELLO_MAX)) {
            status = fail(g, "log in", "what answers is not a NATS server");
        } else if (op == RR_NATS_MORE) {
            status = listen_on(g);
        } else {
            g->hello_at += parsed->used;
            if (op == wanted) {
                break;
            }
        }
    }
    return status;
}

static bool wants_tls(const greeting *g)
{
    static const char required[] = "\"tls_required\":true";

    return strncmp(g->url, "tls://", strlen("tls://")) == 0 || rr_nats_is_secure(&g->nats->options) ||
           memmem(g->info.data, g->info.len, required, sizeof required - 1) != NULL;
}

/* What came in the open before TLS is of no account, but for a server that tells why it does not take us. */
static rr_status change_to_tls(greeting *g)
{
    rr_nats_parsed parsed;

    if (rr_nats_parse((rr_slice){g->hello + g->hello_at, g->hello_len - g->hello_at}, &parsed) == RR_NATS_ERROR) {
        return hear(g, RR_NATS_PONG, &parsed);
    }
    g->hello_len = g->hello_at;
    return secure(g);
}

static rr_status negotiate(greeting *g)
{
    rr_nats_parsed parsed;
    rr_status status = hear(g, RR_NATS_INFO, &parsed);

    g->info = parsed.payload;
    if (status == RR_OK && wants_tls(g)) {
        status = change_to_tls(g);
    }
    status = status == RR_OK ? introduce(g) : status;
    status = status == RR_OK ? send_all(g) : status;
    status = status == RR_OK ? hear(g, RR_NATS_PONG, &parsed) : status;
    if (status == RR_OK && !rr_nats_client_received(g->feed, g->hello + g->hello_at, g->hello_len - g->hello_at)) {
        status = rr_fail(g->error, RR_UNAVAILABLE, "%s: %s", g->nats->place, g->feed->why);
    }
    return status;
}

rr_status rr_nats_client_handshake(rr_nats_client *feed, const rr_nats *nats, rr_error *error)
{
    int timeout_ms = nats->options.timeout_ms > 0 ? nats->options.timeout_ms : 5000;
    greeting g = {.feed = feed, .nats = nats, .until_ms = rr_nats_now_ms() + timeout_ms, .error = error};
    rr_status status;

    g.hello = malloc(HELLO_MAX);
    g.line = malloc(CONNECT_MAX);
    status = g.hello == NULL || g.line == NULL ? rr_fail(error, RR_MEMORY, "memory ran out") : find_server(&g);
    status = status == RR_OK ? reach(&g) : status;
    status = status == RR_OK ? negotiate(&g) : status;
    if (status != RR_OK) {
        rr_nats_client_close(feed);
    }
    free(g.hello);
    if (g.line != NULL) {
        explicit_bzero(g.line, CONNECT_MAX);
    }
    free(g.line);
    explicit_bzero(g.url, sizeof g.url);
    return status;
}
