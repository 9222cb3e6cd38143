/* One thread polls all pairs of connections; bytes that are held back wait in a queue for their direction. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 32, CHUNK = 65536, POLL_MS = 20, DELAYED_POLL_MS = 2 };

/* Bytes that are due later. */
typedef struct held {
    struct held *next;
    long long due_ms;
    size_t len;
    char bytes[];
} held;

typedef struct direction {
    int from, to;
    bool of_client;
    held *first, *last;
} direction;

typedef struct pair {
    int client, server; /* client -1: free; server -1: forgotten */
    direction up, down;
} pair;

struct rr_relay {
    int listener, port;
    pthread_t thread;
    atomic_bool muted, ending, chopped, frozen, forget, reset;
    atomic_int server_port, delay_ms;
    atomic_ullong lost, turns;
    pair pairs[PAIRS];
    char bytes[CHUNK];
};

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int local_socket(int port, bool listens)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    good = fd >= 0 && (listens ? bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, PAIRS) == 0
                               : connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    if (!good && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void let_go(direction *way)
{
    while (way->first != NULL) {
        held *next = way->first->next;

        free(way->first);
        way->first = next;
    }
    way->last = NULL;
}

/* hard: by a reset. */
static void close_one(int fd, bool hard)
{
    struct linger at_once = {1, 0};

    if (fd < 0) {
        return;
    }
    if (hard) {
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    close(fd);
}

static void drop_pair(pair *p, bool hard)
{
    if (p->client >= 0) {
        let_go(&p->up);
        let_go(&p->down);
        close_one(p->client, hard);
        close_one(p->server, hard);
        p->client = p->server = -1;
    }
}

static void forget_pair(pair *p)
{
    if (p->client >= 0 && p->server >= 0) {
        let_go(&p->up);
        let_go(&p->down);
        close_one(p->server, false);
        p->server = -1;
    }
}

static void take_client(rr_relay *relay)
{
    int client = accept(relay->listener, NULL, NULL), on = 1;
    int server = local_socket(atomic_load(&relay->server_port), false);

    for (int k = 0; k < PAIRS && client >= 0 && server >= 0; k++) {
        if (relay->pairs[k].client < 0) {
            setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            relay->pairs[k] = (pair){.client = client, .server = server};
            relay->pairs[k].up = (direction){.from = client, .to = server, .of_client = true};
            relay->pairs[k].down = (direction){.from = server, .to = client};
            return;
        }
    }
    close_one(client, false);
    close_one(server, false);
}

static bool send_on(const rr_relay *relay, int to, const char *bytes, size_t len)
{
    size_t most = atomic_load(&relay->chopped) ? 1 : len;

    while (len != 0) {
        ssize_t sent = send(to, bytes, most < len ? most : len, MSG_NOSIGNAL);

        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static bool hold_back(direction *way, const char *bytes, size_t len, int delay_ms)
{
    held *chunk = malloc(sizeof *chunk + len);

    if (chunk == NULL) {
        return false;
    }
    *chunk = (held){.due_ms = now_ms() + delay_ms, .len = len};
    memcpy(chunk->bytes, bytes, len);
    if (way->first == NULL) {
        way->first = chunk;
    } else {
        way->last->next = chunk;
    }
    way->last = chunk;
    return true;
}

/* Sends what is due. False: the pair is at its end. */
static bool send_due(const rr_relay *relay, direction *way)
{
    while (way->first != NULL && (way->first->due_ms <= now_ms() || atomic_load(&relay->delay_ms) == 0)) {
        held *chunk = way->first;

        if (!send_on(relay, way->to, chunk->bytes, chunk->len)) {
            return false;
        }
        way->first = chunk->next;
        free(chunk);
    }
    return true;
}

/* Passes on what is there. False: the pair is at its end. */
static bool pass(rr_relay *relay, direction *way)
{
    ssize_t got = recv(way->from, relay->bytes, sizeof relay->bytes, MSG_DONTWAIT);
    int delay_ms = atomic_load(&relay->delay_ms);

    if (got <= 0) {
        return false;
    }
    if (way->of_client && atomic_load(&relay->muted)) {
        atomic_fetch_add(&relay->lost, (unsigned long long)got);
        return true;
    }
    if (delay_ms != 0 || way->first != NULL) {
        return hold_back(way, relay->bytes, (size_t)got, delay_ms);
    }
    return send_on(relay, way->to, relay->bytes, (size_t)got);
}

/* A connection whose client was forgotten: what the server sends is dropped. */
static bool pass_to_nobody(rr_relay *relay, const pair *p)
{
    return recv(p->client, relay->bytes, sizeof relay->bytes, MSG_DONTWAIT) > 0;
}

static void serve_pair(rr_relay *relay, pair *p, bool client_speaks, bool server_speaks)
{
    bool alive;

    if (p->client < 0) {
        return;
    }
    if (p->server < 0) {
        alive = !client_speaks || pass_to_nobody(relay, p);
    } else {
        alive = send_due(relay, &p->up) && send_due(relay, &p->down) && (!client_speaks || pass(relay, &p->up)) &&
                (!server_speaks || pass(relay, &p->down));
    }
    if (!alive) {
        drop_pair(p, false);
    }
}

static void obey(rr_relay *relay)
{
    bool forget = atomic_exchange(&relay->forget, false), reset = atomic_exchange(&relay->reset, false);

    for (int k = 0; k < PAIRS && (forget || reset); k++) {
        if (reset) {
            drop_pair(&relay->pairs[k], true);
        } else {
            forget_pair(&relay->pairs[k]);
        }
    }
}

static void turn(rr_relay *relay)
{
    struct pollfd wait[1 + 2 * PAIRS] = {{.fd = relay->listener, .events = POLLIN}};
    bool frozen = atomic_load(&relay->frozen);

    obey(relay);
    for (int k = 0; k < PAIRS; k++) {
        wait[1 + 2 * k] = (struct pollfd){.fd = relay->pairs[k].client, .events = POLLIN};
        wait[2 + 2 * k] = (struct pollfd){.fd = relay->pairs[k].server, .events = POLLIN};
    }
    if (frozen) {
        poll(NULL, 0, POLL_MS);
        return;
    }
    poll(wait, 1 + 2 * PAIRS, atomic_load(&relay->delay_ms) != 0 ? DELAYED_POLL_MS : POLL_MS);
    for (int k = 0; k < PAIRS; k++) {
        serve_pair(relay, &relay->pairs[k], wait[1 + 2 * k].revents != 0, wait[2 + 2 * k].revents != 0);
    }
    if (wait[0].revents != 0) {
        take_client(relay);
    }
}

static void *work(void *context)
{
    rr_relay *relay = context;

    while (!atomic_load(&relay->ending)) {
        turn(relay);
        atomic_fetch_add(&relay->turns, 1);
    }
    return NULL;
}

rr_relay *rr_relay_open(int server_port)
{
    rr_relay *relay = calloc(1, sizeof *relay);
    struct sockaddr_in address;
    socklen_t len = sizeof address;

    if (relay == NULL) {
        return NULL;
    }
    atomic_store(&relay->server_port, server_port);
    for (int k = 0; k < PAIRS; k++) {
        relay->pairs[k].client = relay->pairs[k].server = -1;
    }
    relay->listener = local_socket(0, true);
    if (relay->listener < 0 || getsockname(relay->listener, (struct sockaddr *)&address, &len) != 0 ||
        pthread_create(&relay->thread, NULL, work, relay) != 0) {
        if (relay->listener >= 0) {
            close(relay->listener);
        }
        free(relay);
        return NULL;
    }
    relay->port = ntohs(address.sin_port);
    return relay;
}

void rr_relay_close(rr_relay *relay)
{
    if (relay == NULL) {
        return;
    }
    atomic_store(&relay->ending, true);
    pthread_join(relay->thread, NULL);
    for (int k = 0; k < PAIRS; k++) {
        drop_pair(&relay->pairs[k], false);
    }
    close(relay->listener);
    free(relay);
}

int rr_relay_port(const rr_relay *relay)
{
    return relay->port;
}

void rr_relay_mute(rr_relay *relay, bool muted)
{
    atomic_store(&relay->muted, muted);
}

unsigned long long rr_relay_lost(const rr_relay *relay)
{
    return atomic_load(&relay->lost);
}

void rr_relay_delay(rr_relay *relay, int ms)
{
    atomic_store(&relay->delay_ms, ms);
}

void rr_relay_chop(rr_relay *relay, bool chopped)
{
    atomic_store(&relay->chopped, chopped);
}

/* When the thread has begun a new turn, everything that was under way in the last one is over. */
static void await_turn(rr_relay *relay)
{
    unsigned long long seen = atomic_load(&relay->turns);

    while (atomic_load(&relay->turns) < seen + 2) {
        poll(NULL, 0, 1);
    }
}

void rr_relay_freeze(rr_relay *relay, bool frozen)
{
    atomic_store(&relay->frozen, frozen);
    await_turn(relay);
}

void rr_relay_forget(rr_relay *relay)
{
    atomic_store(&relay->forget, true);
    await_turn(relay);
}

void rr_relay_reset(rr_relay *relay)
{
    atomic_store(&relay->reset, true);
    await_turn(relay);
}

void rr_relay_lead_to(rr_relay *relay, int server_port)
{
    atomic_store(&relay->server_port, server_port);
}
