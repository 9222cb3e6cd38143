/* What is received stands in pieces of memory that begin at a multiple of their size. So the piece of a message is found
 * from any address in its first line, and a message needs no memory of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nats_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 256 * 1024,
    READ_LEAST = 16 * 1024, /* less room than that, and the next piece is begun */
    SPARE_MOST = 8,
    OUT_MOST = 64 * 1024 * 1024 /* what a connection does not take for so long is a dead one */
};

struct rr_piece {
    size_t users; /* messages in it, and the feed while it receives there */
    size_t size;  /* with this head; more than PIECE for one message that needs it */
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

static void let_go(rr_nats_client *feed, struct rr_piece *piece)
{
    if (piece == NULL || --piece->users != 0) {
        return;
    }
    if (piece->size == PIECE && feed->spare_count < SPARE_MOST) {
        piece->next = feed->spare;
        feed->spare = piece;
        feed->spare_count++;
    } else {
        free(piece);
    }
}

static struct rr_piece *take_piece(rr_nats_client *feed, size_t bytes)
{
    size_t size = (sizeof(struct rr_piece) + bytes + PIECE - 1) / PIECE * PIECE;
    struct rr_piece *piece = feed->spare;

    if (size == PIECE && piece != NULL) {
        feed->spare = piece->next;
        feed->spare_count--;
    } else {
        piece = aligned_alloc(PIECE, size);
    }
    if (piece != NULL) {
        *piece = (struct rr_piece){.users = 1, .size = size};
    }
    return piece;
}

/* --- ending --- */

void rr_nats_client_drop(rr_nats_client *feed)
{
    for (; feed->count > 0; feed->count--) {
        rr_nats_client_release(feed, feed->waiting[feed->first].subject.data);
        feed->first = (feed->first + 1) % feed->room;
    }
}

static void fail(rr_nats_client *feed, const char *why)
{
    if (feed->open && feed->why[0] == '\0') {
        snprintf(feed->why, sizeof feed->why, "%s", why);
    }
    rr_nats_client_close(feed);
}

void rr_nats_client_release(rr_nats_client *feed, const void *at)
{
    let_go(feed, piece_at(at));
}

void rr_nats_client_fini(rr_nats_client *feed)
{
    rr_nats_client_close(feed);
    rr_nats_client_drop(feed);
    for (struct rr_piece *piece = feed->spare, *next; piece != NULL; piece = next) {
        next = piece->next;
        free(piece);
    }
    free(feed->waiting);
    free(feed->out);
    *feed = (rr_nats_client){0};
}

/* --- sending --- */

static bool out_room(rr_nats_client *feed, size_t bytes)
{
    size_t wanted = feed->out_room == 0 ? READ_LEAST : feed->out_room, rest = feed->out_to - feed->out_from;
    char *grown;

    if (feed->out_from != 0 && feed->out_from >= rest) { /* not more is moved than was sent */
        memmove(feed->out, feed->out + feed->out_from, rest);
        feed->out_from = 0;
        feed->out_to = rest;
    }
    while (wanted < feed->out_to + bytes) {
        wanted *= 2;
    }
    if (wanted == feed->out_room) {
        return true;
    }
    grown = wanted > OUT_MOST ? NULL : realloc(feed->out, wanted);
    if (grown == NULL) {
        return false;
    }
    feed->out = grown;
    feed->out_room = wanted;
    return true;
}

static void put(rr_nats_client *feed, const char *bytes, size_t len)
{
    if (len != 0) {
        memcpy(feed->out + feed->out_to, bytes, len);
        feed->out_to += len;
    }
}

static void put_line(rr_nats_client *feed, const char *line)
{
    if (feed->open && !out_room(feed, strlen(line))) {
        fail(feed, "memory ran out for what is to be sent");
    }
    if (feed->open) {
        put(feed, line, strlen(line));
    }
}

void rr_nats_client_publish(rr_nats_client *feed, rr_slice subject, rr_slice reply, rr_slice payload)
{
    char size[32];
    int len = snprintf(size, sizeof size, " %zu\r\n", payload.len);

    if (!feed->open) {
        return;
    }
    if (!out_room(feed, 4 + subject.len + 1 + reply.len + (size_t)len + payload.len + 2)) {
        fail(feed, "memory ran out for what is to be sent");
        return;
    }
    put(feed, "PUB ", 4);
    put(feed, subject.data, subject.len);
    put(feed, " ", reply.len == 0 ? 0 : 1);
    put(feed, reply.data, reply.len);
    put(feed, size, (size_t)len);
    put(feed, payload.data, payload.len);
    put(feed, "\r\n", 2);
}

void rr_nats_client_send(rr_nats_client *feed)
{
    while (feed->open && feed->out_from < feed->out_to) {
        long sent = rr_nats_client_write(feed, feed->out + feed->out_from, feed->out_to - feed->out_from);

        if (sent < 0) {
            fail(feed, "the connection ended");
        }
        if (sent <= 0) {
            return;
        }
        feed->out_from += (size_t)sent;
    }
}

void rr_nats_client_subscribe(rr_nats_client *feed, const char *subject)
{
    char line[256];

    rr_nats_client_unsubscribe(feed);
    snprintf(line, sizeof line, "SUB %s %llu\r\n", subject, (unsigned long long)++feed->sid);
    put_line(feed, line);
}

void rr_nats_client_unsubscribe(rr_nats_client *feed)
{
    char line[64];

    if (feed->sid != 0) {
        snprintf(line, sizeof line, "UNSUB %llu\r\n", (unsigned long long)feed->sid);
        put_line(feed, line);
    }
}

/* --- receiving --- */

static bool keep(rr_nats_client *feed, const rr_nats_parsed *parsed)
{
    if (feed->count == feed->room) {
        size_t room = feed->room == 0 ? 1024 : feed->room * 2;
        rr_nats_client_message *grown = calloc(room, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        for (size_t k = 0; k < feed->count; k++) {
            grown[k] = feed->waiting[(feed->first + k) % feed->room];
        }
        free(feed->waiting);
        feed->waiting = grown;
        feed->first = 0;
        feed->room = room;
    }
    feed->waiting[(feed->first + feed->count++) % feed->room] =
        (rr_nats_client_message){parsed->subject, parsed->reply, parsed->headers, parsed->payload};
    feed->piece->users++;
    return true;
}

static void take_error(rr_nats_client *feed, rr_slice text)
{
    snprintf(feed->why, sizeof feed->why, "the server says%.*s", (int)text.len, text.data);
}

static void take_op(rr_nats_client *feed, rr_nats_op op, const rr_nats_parsed *parsed)
{
    switch (op) {
    case RR_NATS_MESSAGE:
        if (parsed->sid == feed->sid && !keep(feed, parsed)) {
            fail(feed, "memory ran out for what came");
        }
        break;
    case RR_NATS_PING: put_line(feed, "PONG\r\n"); break;
    case RR_NATS_PONG: feed->pongs++; break;
    case RR_NATS_ERROR: take_error(feed, parsed->payload); break;
    case RR_NATS_BROKEN: fail(feed, "what the server sends is not understood"); break;
    default: break;
    }
}

static void parse(rr_nats_client *feed)
{
    while (feed->open && feed->at < feed->end && (feed->need == 0 || feed->end - feed->at >= feed->need)) {
        rr_nats_parsed parsed;
        rr_nats_op op = rr_nats_parse((rr_slice){base_of(feed->piece) + feed->at, feed->end - feed->at}, &parsed);

        if (op == RR_NATS_MORE) {
            feed->need = parsed.used;
            return;
        }
        feed->need = 0;
        feed->at += parsed.used;
        take_op(feed, op, &parsed);
    }
}

/* Whether what is received next may stand behind what is there. In a piece of more than the usual size only one
 * operation begins. */
static bool has_room(const rr_nats_client *feed)
{
    const struct rr_piece *piece = feed->piece;
    bool begun = feed->need > feed->end - feed->at;

    if (piece == NULL || piece->size > PIECE) {
        return piece != NULL && begun;
    }
    return begun ? piece->size - feed->at >= feed->need : piece->size - feed->end >= READ_LEAST;
}

/* Else a fresh piece, to which the operation that is not whole yet moves. */
static bool make_room(rr_nats_client *feed)
{
    size_t rest = feed->end - feed->at;
    struct rr_piece *fresh;

    if (has_room(feed)) {
        return true;
    }
    fresh = take_piece(feed, feed->need > rest ? feed->need : rest + READ_LEAST);
    if (fresh == NULL) {
        return false;
    }
    if (rest != 0) {
        memcpy(base_of(fresh) + sizeof *fresh, base_of(feed->piece) + feed->at, rest);
    }
    let_go(feed, feed->piece);
    feed->piece = fresh;
    feed->at = sizeof *fresh;
    feed->end = feed->at + rest;
    return true;
}

static size_t room_left(const rr_nats_client *feed)
{
    return (feed->piece->size > PIECE ? feed->at + feed->need : feed->piece->size) - feed->end;
}

/* One turn. False: nothing was there. */
static bool receive_some(rr_nats_client *feed)
{
    long got;

    if (!make_room(feed)) {
        fail(feed, "memory ran out for what came");
        return false;
    }
    got = rr_nats_client_read(feed, base_of(feed->piece) + feed->end, room_left(feed));
    if (got < 0) {
        fail(feed, "the connection ended");
    }
    if (got <= 0) {
        return false;
    }
    feed->end += (size_t)got;
    parse(feed);
    return true;
}

bool rr_nats_client_received(rr_nats_client *feed, const char *bytes, size_t len)
{
    if (len != 0 && !make_room(feed)) {
        fail(feed, "memory ran out for what came");
    } else if (len != 0) {
        memcpy(base_of(feed->piece) + feed->end, bytes, len);
        feed->end += len;
        parse(feed);
    }
    return feed->open;
}

void rr_nats_client_receive(rr_nats_client *feed)
{
    rr_nats_client_send(feed);
    while (feed->open && receive_some(feed)) {}
    rr_nats_client_send(feed);
}

static bool pop(rr_nats_client *feed, rr_nats_client_message *message)
{
    if (feed->count == 0) {
        return false;
    }
    *message = feed->waiting[feed->first];
    feed->first = (feed->first + 1) % feed->room;
    feed->count--;
    return true;
}

bool rr_nats_client_next(rr_nats_client *feed, int64_t wait_ms, rr_nats_client_message *message)
{
    int64_t until_ms = wait_ms > 0 ? rr_nats_now_ms() + wait_ms : 0;

    while (!pop(feed, message)) {
        int64_t left_ms;

        rr_nats_client_send(feed);
        if (!feed->open) {
            return false;
        }
        if (receive_some(feed)) {
            continue;
        }
        left_ms = until_ms == 0 ? 0 : until_ms - rr_nats_now_ms();
        if (left_ms <= 0 || !feed->open) {
            return false;
        }
        rr_nats_client_wait(feed, feed->out_from < feed->out_to, left_ms);
    }
    return true;
}

bool rr_nats_client_flush(rr_nats_client *feed, int64_t wait_ms)
{
    int64_t until_ms = rr_nats_now_ms() + wait_ms, left_ms = wait_ms;
    uint64_t wanted = ++feed->pings;

    put_line(feed, "PING\r\n");
    for (;;) {
        rr_nats_client_receive(feed);
        if (!feed->open || feed->pongs >= wanted) {
            return feed->open;
        }
        left_ms = until_ms - rr_nats_now_ms();
        if (left_ms <= 0) {
            return false;
        }
        rr_nats_client_wait(feed, feed->out_from < feed->out_to, left_ms);
    }
}

/* --- opening and closing --- */

void rr_nats_client_close(rr_nats_client *feed)
{
    if (feed->open) {
        rr_nats_client_disconnect(feed);
    }
    feed->open = false;
    let_go(feed, feed->piece);
    feed->piece = NULL;
    feed->at = feed->end = feed->need = 0;
    feed->out_from = feed->out_to = 0;
}

rr_status rr_nats_client_open(rr_nats_client *feed, const rr_nats *nats, rr_error *error)
{
    rr_status status;

    rr_nats_client_close(feed);
    feed->why[0] = '\0';
    feed->sid = feed->pings = feed->pongs = 0;
    status = rr_nats_client_handshake(feed, nats, error);
    feed->failures = status == RR_OK ? 0 : feed->failures + 1;
    return status;
}
