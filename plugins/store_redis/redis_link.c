/* The socket, the deadline and the handshake. hiredis connects and parses; reading and writing are done here,
 * since its own time-out starts anew with every byte and its writes raise SIGPIPE. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "redis_library.h"
#include "redis_reply.h"
#include "redis_resp.h"

enum { OLDEST_MAJOR = 7, ANSWER_LEAST = 4 /* ":1\r\n" */ };

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void rr_link_drop(rr_link *link)
{
    link->owed = false;
    if (link->context != NULL) {
        redisFree(link->context);
        link->context = NULL;
    }
}

rr_status rr_link_fail(rr_link *link, rr_status status, rr_error *error, const char *format, ...)
{
    char text[RR_ERROR_TEXT_MAX / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rr_link_drop(link);
    return rr_fail(error, status, "redis at %s: %s", link->url.shown, text);
}

rr_status rr_link_odd(rr_link *link, const char *what, rr_error *error)
{
    return rr_link_fail(link, RR_UNAVAILABLE, error,
                        "the answer to %s has another shape than Redis gives it: is this "
                        "a Redis server?",
                        what);
}

/* Each command of the handshake has the whole time-out for its answer, and so has the op behind it. Over a slow
 * connection one time-out for all of them would always be too short. */
void rr_link_go_on(rr_link *link)
{
    link->deadline_ms = now_ms() + (int64_t)link->timeout_ms * (link->patience == 0 ? 1 : link->patience);
}

static rr_status wait_for(rr_link *link, short events, rr_error *error)
{
    struct pollfd ready = {.fd = link->context->fd, .events = events};
    int64_t left = link->deadline_ms - now_ms();
    int got = left <= 0 ? 0 : poll(&ready, 1, (int)left);

    if (got > 0 || (got < 0 && errno == EINTR)) {
        return RR_OK;
    }
    if (got == 0) {
        return rr_link_fail(link, RR_UNAVAILABLE, error, "timed out after %d ms", link->timeout_ms);
    }
    return rr_link_fail(link, RR_UNAVAILABLE, error, "%s", strerror(errno));
}

/* Does not wake for each answer of many: together they have at least so many bytes, less the part of the first answer
 * that may have come. */
static rr_status wait_for_answers(rr_link *link, rr_error *error)
{
    int bytes = link->awaited == 0 ? 1 : (int)(link->awaited - 1) * ANSWER_LEAST + 1;

    if (bytes != link->wakes_at) {
        setsockopt(link->context->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
        link->wakes_at = bytes;
    }
    return wait_for(link, POLLIN, error);
}

static rr_status send_all(rr_link *link, rr_slice bytes, rr_error *error)
{
    while (bytes.len != 0) {
        ssize_t sent = send(link->context->fd, bytes.data, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        rr_status status = RR_OK;

        if (sent >= 0) {
            bytes = (rr_slice){bytes.data + sent, bytes.len - (size_t)sent};
        } else if (errno == EAGAIN) {
            status = wait_for(link, POLLOUT, error);
        } else if (errno != EINTR) {
            status = rr_link_fail(link, RR_UNAVAILABLE, error, "the connection broke: %s", strerror(errno));
        }
        if (status != RR_OK) {
            return status;
        }
    }
    return RR_OK;
}

static rr_status read_more(rr_link *link, rr_error *error)
{
    ssize_t got = recv(link->context->fd, link->in, sizeof link->in, MSG_DONTWAIT);

    if (got > 0) {
        return redisReaderFeed(link->context->reader, link->in, (size_t)got) == REDIS_OK
                   ? RR_OK
                   : rr_link_fail(link, RR_MEMORY, error, "memory ran out");
    }
    if (got == 0) {
        return rr_link_fail(link, RR_UNAVAILABLE, error, "the server closed the connection");
    }
    if (errno == EAGAIN) {
        return wait_for_answers(link, error);
    }
    return errno == EINTR ? RR_OK
                          : rr_link_fail(link, RR_UNAVAILABLE, error, "the connection broke: %s", strerror(errno));
}

/* The next reply, which lives until the one after it. */
static rr_status receive(rr_link *link, redisReply **reply, rr_error *error)
{
    rr_replies_next(&link->replies);
    for (;;) {
        void *got = NULL;
        rr_status status;

        if (redisReaderGetReply(link->context->reader, &got) != REDIS_OK) {
            return rr_link_fail(link, RR_UNAVAILABLE, error, "the answer cannot be read (%s): is this a Redis server?",
                                link->context->reader->errstr);
        }
        if (got != NULL) {
            *reply = got;
            return RR_OK;
        }
        status = read_more(link, error);
        if (status != RR_OK) {
            return status;
        }
    }
}

/* ---- errors that answer a whole call ---- */

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool misses_function(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "Function not found") != NULL;
}

/* Refused before it began; the same command may work later, or at another server. */
static bool may_pass(const char *text)
{
    /* clang-format off */
    static const char *const words[] = {
        "LOADING", "OOM", "READONLY", "MISCONF", "NOREPLICAS", "BUSY", "MASTERDOWN", "CLUSTERDOWN",
        "TRYAGAIN", "UNKILLABLE", "UNBLOCKED", "ERR max number of clients", "ERR Function not found",
    };
    /* clang-format on */

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (begins(text, words[i])) {
            return true;
        }
    }
    return false;
}

/* Within a function Redis 7.0 reports a missing permission without the word NOPERM. */
bool rr_link_is_refusal(const char *text)
{
    return may_pass(text) || begins(text, "NOPERM") || begins(text, "NOAUTH") || begins(text, "WRONGPASS") ||
           begins(text, "ERR The user executing the script") || begins(text, "The user executing the script");
}

/* A configuration that a server has accepted before is not wrong. */
static rr_status status_of_refusal(const rr_link *link, const char *text)
{
    return link->is_accepted || may_pass(text) ? RR_REFUSED_BY_SERVER : RR_CONFIG;
}

/* ---- handshake ---- */

static void command(rr_buf *out, size_t count, ...)
{
    va_list words;

    va_start(words, count);
    rr_resp_command(out, count);
    for (size_t i = 0; i < count; i++) {
        rr_resp_text(out, va_arg(words, const char *));
    }
    va_end(words);
}

rr_status rr_link_exchange(rr_link *link, redisReply **reply, rr_error *error)
{
    rr_status status;

    *reply = NULL;
    status = rr_buf_ok(&link->out) ? send_all(link, rr_buf_view(&link->out), error)
                                   : rr_link_fail(link, RR_MEMORY, error, "memory ran out");
    rr_buf_clear(&link->out);
    return status == RR_OK ? receive(link, reply, error) : status;
}

/* The same where an error is a failure. */
static rr_status exchange(rr_link *link, redisReply **reply, rr_error *error)
{
    rr_status status;

    rr_link_go_on(link);
    status = rr_link_exchange(link, reply, error);
    if (status == RR_OK && (*reply)->type == REDIS_REPLY_ERROR) {
        status = rr_link_fail(link, status_of_refusal(link, (*reply)->str), error, "%s", (*reply)->str);
        *reply = NULL;
    }
    return status;
}

static rr_status exchange_plain(rr_link *link, rr_error *error)
{
    redisReply *reply;

    return exchange(link, &reply, error);
}

static rr_status log_in(rr_link *link, rr_error *error)
{
    if (link->url.password[0] == '\0') {
        return RR_OK;
    }
    if (link->url.user[0] != '\0') {
        command(&link->out, 3, "AUTH", link->url.user, link->url.password);
    } else {
        command(&link->out, 2, "AUTH", link->url.password);
    }
    return exchange_plain(link, error);
}

static rr_status choose_db(rr_link *link, rr_error *error)
{
    char db[16];

    if (link->url.db == 0) {
        return RR_OK;
    }
    snprintf(db, sizeof db, "%d", link->url.db);
    command(&link->out, 2, "SELECT", db);
    return exchange_plain(link, error);
}

/* What follows `name:` in a section of INFO; empty if it is not there. */
static rr_status ask_info(rr_link *link, const char *section, const char *name, char *value, size_t room,
                          rr_error *error)
{
    redisReply *reply;
    const char *found;
    rr_status status;

    command(&link->out, 2, "INFO", section);
    status = exchange(link, &reply, error);
    if (status != RR_OK) {
        return status;
    }
    value[0] = '\0';
    found = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    if (found != NULL) {
        found += strlen(name);
        snprintf(value, room, "%.*s", (int)strcspn(found, "\r\n"), found);
    }
    return RR_OK;
}

static rr_status check_server(rr_link *link, rr_error *error)
{
    char version[64], cluster[16];
    rr_status status = ask_info(link, "server", "redis_version:", version, sizeof version, error);

    if (status == RR_OK && version[0] == '\0') {
        return rr_link_odd(link, "INFO server", error);
    }
    if (status == RR_OK && strtol(version, NULL, 10) < OLDEST_MAJOR) {
        return rr_link_fail(link, RR_CONFIG, error,
                            "this is version %s; functions, which keep cells from being "
                            "overwritten unseen, need 7.0 or newer",
                            version);
    }
    status = status == RR_OK ? ask_info(link, "cluster", "cluster_enabled:", cluster, sizeof cluster, error) : status;
    if (status == RR_OK && cluster[0] == '1') {
        return rr_link_fail(link, RR_CONFIG, error,
                            "this is a node of a cluster, where the cells of one call may be "
                            "on several nodes; use a server, or a master with replicas, without cluster mode");
    }
    return status;
}

static rr_status load_functions(rr_link *link, rr_error *error)
{
    redisReply *reply = NULL;
    rr_status status;

    rr_link_go_on(link);
    status = send_all(link, rr_buf_view(&link->functions.load), error);
    status = status == RR_OK ? receive(link, &reply, error) : status;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): OK comes with a reply. */
    if (status == RR_OK && reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "already exists") == NULL) {
        status = rr_link_fail(link, status_of_refusal(link, reply->str), error,
                              "the function library cannot be loaded: %s", reply->str);
    }
    rr_link_go_on(link);
    return status;
}

static rr_status log_in_and_check(rr_link *link, rr_error *error)
{
    rr_status status = log_in(link, error);

    status = status == RR_OK ? choose_db(link, error) : status;
    if (link->surveys) {
        return status;
    }
    status = status == RR_OK ? check_server(link, error) : status;
    status = status == RR_OK ? load_functions(link, error) : status;
    link->is_accepted = link->is_accepted || status == RR_OK;
    return status;
}

static void tune(rr_link *link)
{
    redisContext *context = link->context;
    int on = 1;

    link->wakes_at = 1;
    context->reader->maxbuf = 0; /* keep the buffer between batches */
    rr_replies_into(context->reader, &link->replies);
    if (context->connection_type == REDIS_CONN_TCP) {
        setsockopt(context->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        redisEnableKeepAlive(context);
    }
}

static rr_status connect_link(rr_link *link, rr_error *error)
{
    struct timeval within = {.tv_sec = link->timeout_ms / 1000, .tv_usec = link->timeout_ms % 1000 * 1000};

    link->context = link->url.path[0] != '\0' ? redisConnectUnixWithTimeout(link->url.path, within)
                                              : redisConnectWithTimeout(link->url.host, link->url.port, within);
    if (link->context == NULL) {
        return rr_fail(error, RR_MEMORY, "redis at %s: memory ran out", link->url.shown);
    }
    if (link->context->err != 0) {
        char why[128];

        snprintf(why, sizeof why, "%s", link->context->errstr);
        return rr_link_fail(link, RR_UNAVAILABLE, error, "cannot connect: %s", why);
    }
    tune(link);
    return log_in_and_check(link, error);
}

/* ---- the library ---- */

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static void name_functions(rr_link_functions *functions)
{
    unsigned long long hash = hash_text(rr_redis_library);
    rr_buf text = {0};

    snprintf(functions->library, sizeof functions->library, "rr_%016llx", hash);
    snprintf(functions->swap, sizeof functions->swap, "rr_swap_%016llx", hash);
    snprintf(functions->parts, sizeof functions->parts, "rr_parts_%016llx", hash);
    snprintf(functions->identity, sizeof functions->identity, "rr_identity_%016llx", hash);
    snprintf(functions->note, sizeof functions->note, "rr_note_%016llx", hash);
    snprintf(functions->log, sizeof functions->log, "rr_log_%016llx", hash);
    rr_buf_format(&text, "#!lua name=%s\nlocal suffix = '%016llx'\n", functions->library, hash);
    rr_buf_text(&text, rr_redis_library);
    rr_resp_command(&functions->load, 3);
    rr_resp_text(&functions->load, "FUNCTION");
    rr_resp_text(&functions->load, "LOAD");
    rr_resp_bytes(&functions->load, rr_buf_view(&text));
    functions->load.failed |= text.failed;
    rr_buf_fini(&text);
}

/* ---- ops ---- */

rr_status rr_link_open(rr_link *link, const char *url, const char *password, int timeout_ms, rr_error *error)
{
    rr_status status = rr_redis_url_parse(url, &link->url, error);

    if (status != RR_OK) {
        return status;
    }
    if (password != NULL && strlen(password) >= sizeof link->url.password) {
        return rr_fail(error, RR_CONFIG, "redis at %s: the password is longer than %zu bytes", link->url.shown,
                       sizeof link->url.password - 1);
    }
    if (password != NULL) {
        memcpy(link->url.password, password, strlen(password) + 1);
    }
    link->timeout_ms = timeout_ms;
    name_functions(&link->functions);
    return rr_buf_ok(&link->functions.load) ? RR_OK
                                            : rr_fail(error, RR_MEMORY, "redis at %s: memory ran out", link->url.shown);
}

void rr_link_close(rr_link *link)
{
    rr_link_drop(link);
    rr_arena_fini(&link->replies);
    rr_buf_fini(&link->out);
    rr_buf_fini(&link->functions.load);
}

rr_status rr_link_begin(rr_link *link, rr_error *error)
{
    rr_status status = RR_OK;

    if (link->owed) {
        rr_link_drop(link); /* an op was abandoned in pieces: nobody takes its answers */
    }
    rr_link_go_on(link);
    rr_buf_clear(&link->out);
    link->sent = 0;
    if (link->context == NULL) {
        status = connect_link(link, error);
    }
    if (status != RR_OK) {
        rr_link_drop(link);
    }
    return status;
}

rr_status rr_link_send(rr_link *link, rr_error *error)
{
    size_t from = link->sent;

    if (!rr_buf_ok(&link->out)) {
        return rr_link_fail(link, RR_MEMORY, error, "memory ran out");
    }
    link->sent = link->out.len;
    return from == link->out.len ? RR_OK
                                 : send_all(link, (rr_slice){link->out.data + from, link->out.len - from}, error);
}

typedef struct asking {
    rr_link *link;
    rr_flight_take *take;
    void *context;
    size_t missed;
    bool is_repeat;
    rr_status refused; /* REFUSED_BY_SERVER: an error answered a whole flight */
    bool drops;        /* and one of them may pass */
} asking;

static rr_status take_reply(asking *a, rr_flight *flight, const redisReply *reply, rr_error *error)
{
    if (!a->is_repeat && misses_function(reply)) {
        flight->missed = true;
        a->missed++;
        return RR_OK;
    }
    if (reply->type != REDIS_REPLY_ERROR || (flight->takes_wrong_type && strncmp(reply->str, "WRONGTYPE", 9) == 0)) {
        return a->take(a->context, flight, reply, error);
    }
    a->drops = a->drops || may_pass(reply->str);
    if (a->refused == RR_OK) {
        a->refused = rr_fail(error, RR_REFUSED_BY_SERVER, "redis at %s: %s", a->link->url.shown, reply->str);
    }
    return RR_OK;
}

static rr_status send_flights(asking *a, rr_flight *flights, size_t count, rr_error *error)
{
    rr_link *link = a->link;

    if (!a->is_repeat) {
        return rr_link_send(link, error);
    }
    for (size_t i = 0; i < count; i++) {
        rr_slice bytes = {link->out.data + flights[i].from, flights[i].missed ? flights[i].len : 0};
        rr_status status = send_all(link, bytes, error);

        if (status != RR_OK) {
            return status;
        }
    }
    return RR_OK;
}

static rr_status ask_round(asking *a, rr_flight *flights, size_t count, rr_error *error)
{
    rr_status status = send_flights(a, flights, count, error);

    a->link->awaited = a->is_repeat ? a->missed : count;
    for (size_t i = 0; status == RR_OK && i < count; i++) {
        redisReply *reply;

        if (a->is_repeat && !flights[i].missed) {
            continue;
        }
        status = receive(a->link, &reply, error);
        if (status == RR_OK) {
            a->link->awaited--;
            /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): OK comes with a reply. */
            status = take_reply(a, &flights[i], reply, error);
        }
    }
    a->link->awaited = 0;
    return status;
}

rr_status rr_link_ask(rr_link *link, rr_flight *flights, size_t count, rr_flight_take *take, void *context,
                      rr_error *error)
{
    asking asked = {.link = link, .take = take, .context = context, .refused = RR_OK};
    rr_error kept = {0};
    rr_status status;

    for (size_t i = 0; i < count; i++) {
        flights[i].missed = false;
    }
    status = ask_round(&asked, flights, count, &kept);
    if (status == RR_OK && asked.missed != 0) {
        asked.is_repeat = true;
        status = load_functions(link, &kept);
        status = status == RR_OK ? ask_round(&asked, flights, count, &kept) : status;
    }
    status = status == RR_OK ? asked.refused : status;
    if (status != asked.refused || asked.drops) {
        rr_link_drop(link);
    }
    return status == RR_OK ? RR_OK : rr_fail(error, status, "%s", kept.text);
}

rr_status rr_link_take(rr_link *link, rr_flight *flight, rr_flight_take *take, void *context, rr_error *error)
{
    asking a = {.link = link, .take = take, .context = context, .is_repeat = true, .refused = RR_OK};
    rr_error kept = {0};
    redisReply *reply;
    rr_status status;

    rr_link_go_on(link);
    link->awaited = 1;
    status = receive(link, &reply, &kept);
    link->awaited = 0;
    status = status == RR_OK ? take_reply(&a, flight, reply, &kept) : status;
    status = status == RR_OK ? a.refused : status;
    if (status != RR_OK) {
        rr_link_drop(link);
        return rr_fail(error, status, "%s", kept.text);
    }
    return RR_OK;
}

rr_status rr_link_ask_one(rr_link *link, rr_flight_take *take, void *context, rr_error *error)
{
    rr_flight flight = {.from = 0, .len = link->out.len, .count = 1};

    return rr_link_ask(link, &flight, 1, take, context, error);
}
