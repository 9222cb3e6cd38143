/* Received bytes lie in pieces of memory that begin at a multiple of their size. So the piece of a message is found
 * from any address in its first line, and a message needs no memory of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nats_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nats_handshake.h"
#include "nats_protocol.h"

enum {
    PIECE = 256 * 1024,
    READ_LEAST = 16 * 1024, /* a piece with less room than that is left, and the next one is begun */
    SPARE_MOST = 8,
    OUT_MOST = 64 * 1024 * 1024 /* unsent bytes: a connection that has more of them is dead */
};

struct rr_piece {
    size_t users; /* messages in it, and the client while it receives there */
    size_t size;  /* with this head; more than PIECE only for one larger message */
    struct rr_piece *next;
};

static char *base_of(struct rr_piece *piece)
{
    return (char *)piece;
}

static struct rr_piece *piece_at(const void *at)
{
    return (struct rr_piece *)((uintptr_t)at & ~((uintptr_t)PIECE - 1));
}

static void release_piece(rr_nats_client *client, struct rr_piece *piece)
{
    if (piece == NULL || --piece->users != 0) {
        return;
    }
    if (piece->size == PIECE && client->spare_count < SPARE_MOST) {
        piece->next = client->spare;
        client->spare = piece;
        client->spare_count++;
    } else {
        free(piece);
    }
}

static struct rr_piece *take_piece(rr_nats_client *client, size_t bytes)
{
    size_t size = (sizeof(struct rr_piece) + bytes + PIECE - 1) / PIECE * PIECE;
    struct rr_piece *piece = client->spare;

    if (size == PIECE && piece != NULL) {
        client->spare = piece->next;
        client->spare_count--;
    } else {
        piece = aligned_alloc(PIECE, size);
    }
    if (piece != NULL) {
        *piece = (struct rr_piece){.users = 1, .size = size};
    }
    return piece;
}

/* --- ending --- */

void rr_nats_client_drop(rr_nats_client *client)
{
    for (; client->count > 0; client->count--) {
        rr_nats_client_release(client, client->waiting[client->first].subject.data);
        client->first = (client->first + 1) % client->room;
    }
}

static void fail(rr_nats_client *client, const char *why)
{
    if (client->socket.is_open && client->socket.why[0] == '\0') {
        snprintf(client->socket.why, sizeof client->socket.why, "%s", why);
    }
    rr_nats_client_close(client);
}

void rr_nats_client_release(rr_nats_client *client, const void *at)
{
    release_piece(client, piece_at(at));
}

void rr_nats_client_fini(rr_nats_client *client)
{
    rr_nats_client_close(client);
    rr_nats_client_drop(client);
    for (struct rr_piece *piece = client->spare, *next; piece != NULL; piece = next) {
        next = piece->next;
        free(piece);
    }
    free(client->waiting);
    free(client->out);
    *client = (rr_nats_client){0};
}

/* --- sending --- */

static bool reserve_out(rr_nats_client *client, size_t bytes)
{
    size_t wanted = client->out_room == 0 ? READ_LEAST : client->out_room, rest = client->out_to - client->out_from;
    char *grown;

    if (client->out_from != 0 && client->out_from >= rest) { /* never moves more than was sent */
        memmove(client->out, client->out + client->out_from, rest);
        client->out_from = 0;
        client->out_to = rest;
    }
    while (wanted < client->out_to + bytes) {
        wanted *= 2;
    }
    if (wanted == client->out_room) {
        return true;
    }
    grown = wanted > OUT_MOST ? NULL : realloc(client->out, wanted);
    if (grown == NULL) {
        return false;
    }
    client->out = grown;
    client->out_room = wanted;
    return true;
}

static void put(rr_nats_client *client, const char *bytes, size_t len)
{
    if (len != 0) {
        memcpy(client->out + client->out_to, bytes, len);
        client->out_to += len;
    }
}

static void queue_line(rr_nats_client *client, const char *line)
{
    if (client->socket.is_open && !reserve_out(client, strlen(line))) {
        fail(client, "memory ran out for messages to be sent");
    }
    if (client->socket.is_open) {
        put(client, line, strlen(line));
    }
}

void rr_nats_client_publish(rr_nats_client *client, rr_slice subject, rr_slice reply, rr_slice payload)
{
    char size[32];
    int len = snprintf(size, sizeof size, " %zu\r\n", payload.len);

    if (!client->socket.is_open) {
        return;
    }
    if (!reserve_out(client, 4 + subject.len + 1 + reply.len + (size_t)len + payload.len + 2)) {
        fail(client, "memory ran out for messages to be sent");
        return;
    }
    put(client, "PUB ", 4);
    put(client, subject.data, subject.len);
    put(client, " ", reply.len == 0 ? 0 : 1);
    put(client, reply.data, reply.len);
    put(client, size, (size_t)len);
    put(client, payload.data, payload.len);
    put(client, "\r\n", 2);
}

void rr_nats_client_send(rr_nats_client *client)
{
    while (client->socket.is_open && client->out_from < client->out_to) {
        long sent =
            rr_nats_socket_write(&client->socket, client->out + client->out_from, client->out_to - client->out_from);

        if (sent < 0) {
            fail(client, "the connection ended");
        }
        if (sent <= 0) {
            return;
        }
        client->out_from += (size_t)sent;
    }
}

void rr_nats_client_subscribe(rr_nats_client *client, const char *subject)
{
    char line[256];

    rr_nats_client_unsubscribe(client);
    snprintf(line, sizeof line, "SUB %s %llu\r\n", subject, (unsigned long long)++client->sid);
    queue_line(client, line);
}

void rr_nats_client_unsubscribe(rr_nats_client *client)
{
    char line[64];

    if (client->sid != 0) {
        snprintf(line, sizeof line, "UNSUB %llu\r\n", (unsigned long long)client->sid);
        queue_line(client, line);
    }
}

/* --- receiving --- */

static bool enqueue(rr_nats_client *client, const rr_nats_parsed *parsed)
{
    if (client->count == client->room) {
        size_t room = client->room == 0 ? 1024 : client->room * 2;
        rr_nats_client_message *grown = calloc(room, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        for (size_t k = 0; k < client->count; k++) {
            grown[k] = client->waiting[(client->first + k) % client->room];
        }
        free(client->waiting);
        client->waiting = grown;
        client->first = 0;
        client->room = room;
    }
    client->waiting[(client->first + client->count++) % client->room] =
        (rr_nats_client_message){parsed->subject, parsed->reply, parsed->headers, parsed->payload};
    client->piece->users++;
    return true;
}

static void keep_error(rr_nats_client *client, rr_slice text)
{
    snprintf(client->socket.why, sizeof client->socket.why, "the server says%.*s", (int)text.len, text.data);
}

static void handle_op(rr_nats_client *client, rr_nats_op op, const rr_nats_parsed *parsed)
{
    switch (op) {
    case RR_NATS_MESSAGE:
        if (parsed->sid == client->sid && !enqueue(client, parsed)) {
            fail(client, "memory ran out for received messages");
        }
        break;
    case RR_NATS_PING: queue_line(client, "PONG\r\n"); break;
    case RR_NATS_PONG: client->pongs++; break;
    case RR_NATS_ERROR: keep_error(client, parsed->payload); break;
    case RR_NATS_BROKEN: fail(client, "what the server sends is not understood"); break;
    default: break;
    }
}

static void parse(rr_nats_client *client)
{
    while (client->socket.is_open && client->at < client->end &&
           (client->need == 0 || client->end - client->at >= client->need)) {
        rr_nats_parsed parsed;
        rr_nats_op op =
            rr_nats_parse((rr_slice){base_of(client->piece) + client->at, client->end - client->at}, &parsed);

        if (op == RR_NATS_MORE) {
            client->need = parsed.used;
            return;
        }
        client->need = 0;
        client->at += parsed.used;
        handle_op(client, op, &parsed);
    }
}

/* Whether the piece has room for what is received next. In a piece of more than the usual size only one operation
 * begins. */
static bool has_room(const rr_nats_client *client)
{
    const struct rr_piece *piece = client->piece;
    bool begun = client->need > client->end - client->at;

    if (piece == NULL || piece->size > PIECE) {
        return piece != NULL && begun;
    }
    return begun ? piece->size - client->at >= client->need : piece->size - client->end >= READ_LEAST;
}

/* Without room: takes a fresh piece, to which the incomplete operation moves. */
static bool make_room(rr_nats_client *client)
{
    size_t rest = client->end - client->at;
    struct rr_piece *fresh;

    if (has_room(client)) {
        return true;
    }
    fresh = take_piece(client, client->need > rest ? client->need : rest + READ_LEAST);
    if (fresh == NULL) {
        return false;
    }
    if (rest != 0) {
        memcpy(base_of(fresh) + sizeof *fresh, base_of(client->piece) + client->at, rest);
    }
    release_piece(client, client->piece);
    client->piece = fresh;
    client->at = sizeof *fresh;
    client->end = client->at + rest;
    return true;
}

static size_t room_left(const rr_nats_client *client)
{
    return (client->piece->size > PIECE ? client->at + client->need : client->piece->size) - client->end;
}

/* Reads once. False: nothing was there. */
static bool receive_once(rr_nats_client *client)
{
    long got;

    if (!make_room(client)) {
        fail(client, "memory ran out for received messages");
        return false;
    }
    got = rr_nats_socket_read(&client->socket, base_of(client->piece) + client->end, room_left(client));
    if (got < 0) {
        fail(client, "the connection ended");
    }
    if (got <= 0) {
        return false;
    }
    client->end += (size_t)got;
    parse(client);
    return true;
}

void rr_nats_client_receive(rr_nats_client *client)
{
    rr_nats_client_send(client);
    while (client->socket.is_open && receive_once(client)) {}
    rr_nats_client_send(client);
}

static bool take_first(rr_nats_client *client, rr_nats_client_message *message)
{
    if (client->count == 0) {
        return false;
    }
    *message = client->waiting[client->first];
    client->first = (client->first + 1) % client->room;
    client->count--;
    return true;
}

bool rr_nats_client_next(rr_nats_client *client, int64_t wait_ms, rr_nats_client_message *message)
{
    int64_t until_ms = wait_ms > 0 ? rr_nats_now_ms() + wait_ms : 0;

    while (!take_first(client, message)) {
        int64_t left_ms;

        rr_nats_client_send(client);
        if (!client->socket.is_open) {
            return false;
        }
        if (receive_once(client)) {
            continue;
        }
        left_ms = until_ms == 0 ? 0 : until_ms - rr_nats_now_ms();
        if (left_ms <= 0 || !client->socket.is_open) {
            return false;
        }
        rr_nats_socket_wait(&client->socket, client->out_from < client->out_to, left_ms);
    }
    return true;
}

bool rr_nats_client_flush(rr_nats_client *client, int64_t wait_ms)
{
    int64_t until_ms = rr_nats_now_ms() + wait_ms, left_ms = wait_ms;
    uint64_t wanted = ++client->pings;

    queue_line(client, "PING\r\n");
    for (;;) {
        rr_nats_client_receive(client);
        if (!client->socket.is_open || client->pongs >= wanted) {
            return client->socket.is_open;
        }
        left_ms = until_ms - rr_nats_now_ms();
        if (left_ms <= 0) {
            return false;
        }
        rr_nats_socket_wait(&client->socket, client->out_from < client->out_to, left_ms);
    }
}

/* --- opening and closing --- */

void rr_nats_client_close(rr_nats_client *client)
{
    rr_nats_socket_close(&client->socket);
    release_piece(client, client->piece);
    client->piece = NULL;
    client->at = client->end = client->need = 0;
    client->out_from = client->out_to = 0;
}

/* Parses the bytes that came behind the handshake. False: the client is closed. */
static bool take_unread(rr_nats_client *client, const rr_nats_unread *unread)
{
    if (unread->len != 0 && !make_room(client)) {
        fail(client, "memory ran out for received messages");
    } else if (unread->len != 0) {
        memcpy(base_of(client->piece) + client->end, unread->bytes, unread->len);
        client->end += unread->len;
        parse(client);
    }
    return client->socket.is_open;
}

rr_status rr_nats_client_open(rr_nats_client *client, const rr_nats *nats, rr_error *error)
{
    rr_nats_unread unread;
    rr_status status;

    rr_nats_client_close(client);
    client->socket.why[0] = '\0';
    client->sid = client->pings = client->pongs = 0;
    status = rr_nats_handshake(&client->socket, nats, client->failures, &unread, error);
    if (status == RR_OK && !take_unread(client, &unread)) {
        status = rr_fail(error, RR_UNAVAILABLE, "%s: %s", nats->place, client->socket.why);
    }
    free(unread.bytes);
    client->failures = status == RR_OK ? 0 : client->failures + 1;
    return status;
}
