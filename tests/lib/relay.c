/* One thread, one poll over all pairs of connections. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAIRS = 32, CHUNK = 65536, POLL_MS = 20 };

struct rr_relay {
    int listener, port, server_port;
    pthread_t thread;
    atomic_bool muted, ending;
    atomic_ullong lost;
    struct {
        int client, server; /* -1: free */
    } pairs[PAIRS];
    char bytes[CHUNK];
};

static int local_socket(int port, bool listens)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    good = fd >= 0 &&
           (listens ? bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, PAIRS) == 0
                    : connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    if (!good && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void drop_pair(rr_relay *relay, int at)
{
    if (relay->pairs[at].client >= 0) {
        close(relay->pairs[at].client);
        close(relay->pairs[at].server);
        relay->pairs[at].client = relay->pairs[at].server = -1;
    }
}

static void take_client(rr_relay *relay)
{
    int client = accept(relay->listener, NULL, NULL), server = local_socket(relay->server_port, false);

    for (int k = 0; k < PAIRS && client >= 0 && server >= 0; k++) {
        if (relay->pairs[k].client < 0) {
            relay->pairs[k].client = client;
            relay->pairs[k].server = server;
            return;
        }
    }
    if (client >= 0) {
        close(client);
    }
    if (server >= 0) {
        close(server);
    }
}

/* Passes on what is there. False: the pair is at its end. */
static bool pass(rr_relay *relay, int from, int to, bool of_client)
{
    ssize_t got = recv(from, relay->bytes, sizeof relay->bytes, MSG_DONTWAIT);

    if (got <= 0) {
        return false;
    }
    if (of_client && atomic_load(&relay->muted)) {
        atomic_fetch_add(&relay->lost, (unsigned long long)got);
        return true;
    }
    for (ssize_t done = 0; done < got;) {
        ssize_t sent = send(to, relay->bytes + done, (size_t)(got - done), MSG_NOSIGNAL);

        if (sent <= 0) {
            return false;
        }
        done += sent;
    }
    return true;
}

static void turn(rr_relay *relay)
{
    struct pollfd wait[1 + 2 * PAIRS] = {{.fd = relay->listener, .events = POLLIN}};

    for (int k = 0; k < PAIRS; k++) {
        wait[1 + 2 * k] = (struct pollfd){.fd = relay->pairs[k].client, .events = POLLIN};
        wait[2 + 2 * k] = (struct pollfd){.fd = relay->pairs[k].server, .events = POLLIN};
    }
    if (poll(wait, 1 + 2 * PAIRS, POLL_MS) <= 0) {
        return;
    }
    for (int k = 0; k < PAIRS; k++) {
        bool alive =
            (wait[1 + 2 * k].revents == 0 || pass(relay, wait[1 + 2 * k].fd, wait[2 + 2 * k].fd, true)) &&
            (wait[2 + 2 * k].revents == 0 || pass(relay, wait[2 + 2 * k].fd, wait[1 + 2 * k].fd, false));

        if (!alive) {
            drop_pair(relay, k);
        }
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
    relay->server_port = server_port;
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
        drop_pair(relay, k);
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
