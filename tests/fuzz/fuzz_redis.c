/* Replies of Redis: whatever a server says, each op of the store ends in time, with an error or with items that can be
 * used. The first byte chooses the op; the rest is what the server says, before it closes the connection or, for some,
 * leaves it open and says no more. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "kit.h"
#include "redis_reply.h"
#include "redis_store.h"
#include "store_redis.h"

enum { ITEMS = 3, REPLY_MAX = 64 * 1024, PATIENCE_MS = 20 };

static const char token[] = "abcdefghijklmnopqrstuvwxyz0";
static char value[] = "{\"token\":\"abcdefghijklmnopqrstuvwxyz0\"}";

/* Reads all bytes, so that a sanitizer sees those that are not there. */
static void touch(rr_slice bytes)
{
    static volatile char sum;

    for (size_t k = 0; k < bytes.len; k++) {
        sum = (char)(sum + bytes.data[k]);
    }
}

static void check_status(rr_status status, const rr_error *error)
{
    RR_MUST(status == RR_OK || status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER || status == RR_CONFIG ||
            status == RR_MEMORY);
    RR_MUST(status == RR_OK || error->text[0] != '\0');
}

static rr_status load(rr_store *store, rr_arena *arena, rr_error *error)
{
    rr_load loads[ITEMS] = {{.key = RR_SLICE("a")}, {.key = RR_SLICE("b")}, {.key = RR_SLICE("c")}};
    rr_status status = rr_store_redis_ops.load(store, loads, ITEMS, arena, error);

    for (size_t k = 0; k < ITEMS && status == RR_OK; k++) {
        touch(loads[k].value);
    }
    return status;
}

static rr_status swap(rr_store *store, rr_arena *arena, rr_error *error)
{
    rr_slice entry = RR_SLICE("{}");
    rr_swap swaps[ITEMS + 1] = {
        {.key = RR_SLICE("a"), .value = {value, sizeof value - 1}},
        {.key = RR_SLICE("b"), .token = {token, RR_TOKEN_LEN}, .value = {value, sizeof value - 1}},
        {.key = RR_SLICE("c"), .value = {value, sizeof value - 1}, .expire_at_ms = 1000},
        {.log_key = RR_SLICE("l"), .entries = &entry, .entry_count = 1}};
    rr_status status = rr_store_redis_ops.swap(store, swaps, ITEMS + 1, arena, error);

    for (size_t k = 0; k <= ITEMS; k++) {
        RR_MUST(swaps[k].answer == RR_SWAP_WON || swaps[k].answer == RR_SWAP_LOST ||
                swaps[k].answer == RR_SWAP_UNKNOWN || swaps[k].answer == RR_SWAP_FAILED);
        RR_MUST(status != RR_OK || swaps[k].answer != RR_SWAP_UNKNOWN || swaps[k].error.status != RR_OK);
        RR_MUST(swaps[k].answer != RR_SWAP_FAILED || swaps[k].error.status != RR_OK);
        touch(swaps[k].current);
    }
    return status;
}

static rr_status read_parts(rr_store *store, rr_arena *arena, rr_error *error)
{
    rr_slice ids[] = {RR_SLICE("x"), RR_SLICE("y")}, t = {token, RR_TOKEN_LEN};
    rr_parts_read reads[ITEMS] = {{.key = RR_SLICE("a"), .token = t, .ids = ids, .id_count = 2},
                                  {.key = RR_SLICE("b"), .token = t, .all = true},
                                  {.key = RR_SLICE("c"), .token = t, .ids = ids, .id_count = 1}};
    rr_status status = rr_store_redis_ops.read_parts(store, reads, ITEMS, arena, error);

    for (size_t k = 0; k < ITEMS && status == RR_OK; k++) {
        bool usable = reads[k].error.status == RR_OK && !reads[k].changed;

        for (size_t i = 0; usable && !reads[k].all && i < reads[k].id_count; i++) {
            touch(reads[k].found[i]);
        }
        for (size_t i = 0; usable && reads[k].all && i < reads[k].part_count; i++) {
            touch(reads[k].parts[i].name);
            touch(reads[k].parts[i].bytes);
        }
    }
    return status;
}

static rr_status log_read(rr_store *store, rr_arena *arena, rr_error *error)
{
    rr_log_entry *entries;
    size_t count;
    rr_status status = rr_store_redis_ops.log_read(store, RR_SLICE("l"), "d", 100, 10, arena, &entries, &count, error);

    for (size_t k = 0; k < count && status == RR_OK; k++) {
        touch(entries[k].id);
        touch(entries[k].bytes);
    }
    return status;
}

static rr_status notes(rr_store *store, rr_arena *arena, rr_error *error)
{
    rr_store_identity identity;
    rr_slice held;
    bool done;
    rr_status status = rr_store_redis_ops.note_get(store, RR_SLICE("n"), arena, &held, error);

    if (status == RR_OK) {
        touch(held);
        status = rr_store_redis_ops.note_set(store, RR_SLICE("n"), held, RR_SLICE("x"), 0, NULL, &done, error);
    }
    if (status == RR_OK) {
        status = rr_store_redis_ops.identity(store, &identity, error);
    }
    RR_MUST(status != RR_OK || memchr(identity.incarnation, '\0', sizeof identity.incarnation) != NULL);
    return status;
}

static bool take_key(void *context, rr_slice key)
{
    size_t *keys = context;

    touch(key);
    return ++*keys < 1000;
}

static rr_status scan(rr_store *store, rr_arena *arena, rr_error *error)
{
    size_t keys = 0;

    (void)arena;
    return rr_store_redis_ops.scan(store, RR_SLICE("rr"), take_key, &keys, error);
}

static rr_status (*const ops[])(rr_store *, rr_arena *, rr_error *) = {load, swap, read_parts, log_read, notes, scan};
enum { OPS = sizeof ops / sizeof ops[0] };

/* A store whose connection is one end of a pair of sockets. Its address leads nowhere: it cannot connect again. */
static rr_store *store_of(int fd)
{
    static rr_store *store;
    rr_error error = {0};

    if (store == NULL) {
        store = calloc(1, sizeof *store);
        RR_MUST(store != NULL &&
                rr_link_open(&store->link, "unix:///nowhere/redis", NULL, PATIENCE_MS, &error) == RR_OK);
        store->log_max = 10;
    }
    store->link.context = redisConnectFd(fd);
    RR_MUST(store->link.context != NULL);
    rr_replies_into(store->link.context->reader, &store->link.replies);
    return store;
}

static void say(int fd, rr_slice reply, bool stays_open)
{
    RR_MUST(send(fd, reply.data, reply.len, MSG_NOSIGNAL) == (ssize_t)reply.len);
    if (!stays_open) {
        shutdown(fd, SHUT_WR);
    }
}

static void run_op(unsigned op, rr_slice reply, bool stays_open)
{
    rr_error error = {0};
    int pair[2];
    rr_store *store;

    RR_MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    if (reply.len != 0) {
        say(pair[1], reply, stays_open);
    } else {
        shutdown(pair[1], SHUT_WR);
    }
    store = store_of(pair[0]);
    check_status(ops[op](store, fuzz_arena(0), &error), &error);
    rr_link_drop(&store->link);
    close(pair[1]);
}

/* ---- opening and surveying: over a server of one connection ---- */

static struct {
    char folder[64], path[96], url[128];
    int listener;
    rr_slice reply;
} server;

static void remove_folder(void)
{
    unlink(server.path);
    rmdir(server.folder);
}

static void listen_once(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (server.url[0] != '\0') {
        return;
    }
    snprintf(server.folder, sizeof server.folder, "%s", "/tmp/rr-fuzz-XXXXXX");
    RR_MUST(mkdtemp(server.folder) != NULL);
    snprintf(server.path, sizeof server.path, "%s/s", server.folder);
    snprintf(server.url, sizeof server.url, "unix://%s", server.path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", server.path);
    server.listener = socket(AF_UNIX, SOCK_STREAM, 0);
    RR_MUST(server.listener >= 0 && bind(server.listener, (struct sockaddr *)&address, sizeof address) == 0 &&
            listen(server.listener, 1) == 0);
    atexit(remove_folder);
}

static void *serve(void *nothing)
{
    int fd = accept(server.listener, NULL, NULL);
    char heard[4096];

    (void)nothing;
    RR_MUST(fd >= 0);
    if (server.reply.len != 0) {
        send(fd, server.reply.data, server.reply.len, MSG_NOSIGNAL);
    }
    shutdown(fd, SHUT_WR);
    while (recv(fd, heard, sizeof heard, 0) > 0) {
        /* until the other side closes */
    }
    close(fd);
    return NULL;
}

static void run_open(bool survey, rr_slice reply)
{
    rr_store_options options = {.timeout_ms = 1000};
    rr_store_survey found = {0};
    rr_store *store = NULL;
    rr_error error = {0};
    pthread_t thread;
    rr_status status;

    listen_once();
    server.reply = reply;
    RR_MUST(pthread_create(&thread, NULL, serve, NULL) == 0);
    if (survey) {
        status = rr_store_redis_ops.survey(server.url, &options, RR_SLICE("rr"), &found, &error);
        RR_MUST(memchr(found.server, '\0', sizeof found.server) != NULL);
    } else {
        status = rr_store_redis_ops.open(server.url, &options, &store, &error);
        RR_MUST((status == RR_OK) == (store != NULL));
        rr_store_redis_ops.close(store);
    }
    check_status(status, &error);
    pthread_join(thread, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    uint8_t selector = fuzz_byte(&in);
    unsigned op = (selector & 0x7f) % (OPS + 2);
    rr_slice reply = fuzz_bytes(&in, REPLY_MAX);

    if (op < OPS) {
        run_op(op, reply, (selector & 0x80) != 0);
    } else {
        run_open(op == OPS, reply);
    }
    return 0;
}
