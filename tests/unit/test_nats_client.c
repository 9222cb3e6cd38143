/* A client on a pair of sockets: how it reads the bytes of a server, in whatever pieces they arrive, and how it
 * treats a server that does not read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nats_client.h"
#include "nats_protocol.h"

enum { BIG = 1024 * 1024 };

/* A client that has logged in and subscribed; *server is the other end. */
static void begin(rr_nats_client *client, int *server)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    client->socket.fd = ends[0];
    client->socket.is_open = true;
    client->sid = 1;
    *server = ends[1];
}

static void say(int server, const char *bytes, size_t len)
{
    assert_int_equal(write(server, bytes, len), len);
}

static void say_text(int server, const char *text)
{
    say(server, text, strlen(text));
}

/* All that the client has sent. */
static const char *heard(int server)
{
    static char bytes[4096];
    ssize_t got = read(server, bytes, sizeof bytes - 1);

    bytes[got > 0 ? got : 0] = '\0';
    return bytes;
}

static bool is(rr_slice slice, const char *text)
{
    return rr_slice_equal(slice, rr_slice_of(text));
}

static const char some[] = "MSG orders.a 1 $JS.ACK.S.C.1.2.3.4.5 5\r\nfirst\r\n"
                           "+OK\r\n"
                           "PING\r\n"
                           "MSG orders.a 7 2\r\nno\r\n" /* of another subscription */
                           "HMSG orders.b 1 $JS.ACK.S.C.1.3.4.5.6 20 26\r\nNATS/1.0\r\nA: b c\r\n\r\nsecond\r\n"
                           "INFO {\"ldm\":true}\r\n"
                           "MSG orders.c\t1  0\r\n\r\n"
                           "HMSG inbox.4 1 52 52\r\nNATS/1.0 408 Request Timeout\r\nNats-Pending-M: 7 \r\n\r\n\r\n";

static void expect_some(rr_nats_client *client)
{
    rr_nats_client_message message;

    assert_true(rr_nats_client_next(client, 0, &message));
    assert_true(is(message.subject, "orders.a") && is(message.reply, "$JS.ACK.S.C.1.2.3.4.5") &&
                is(message.payload, "first"));
    assert_true(message.headers.len == 0 && rr_nats_status_of(message.headers) == 0);
    rr_nats_client_release(client, message.reply.data);
    assert_true(rr_nats_client_next(client, 0, &message));
    assert_true(is(message.subject, "orders.b") && is(message.payload, "second"));
    assert_true(is(rr_nats_header(message.headers, "a"), "b c") && rr_nats_header(message.headers, "b").len == 0);
    assert_int_equal(rr_nats_status_of(message.headers), 0);
    rr_nats_client_release(client, message.reply.data);
    assert_true(rr_nats_client_next(client, 0, &message));
    assert_true(is(message.subject, "orders.c") && message.reply.len == 0 && message.payload.len == 0);
    rr_nats_client_release(client, message.subject.data);
    assert_true(rr_nats_client_next(client, 0, &message));
    assert_int_equal(rr_nats_status_of(message.headers), 408);
    assert_true(is(rr_nats_status_text(message.headers), "Request Timeout"));
    assert_true(is(rr_nats_header(message.headers, "nats-pending-m"), "7") && message.payload.len == 0);
    rr_nats_client_release(client, message.subject.data);
    assert_false(rr_nats_client_next(client, 0, &message));
    assert_true(client->socket.is_open);
}

static void messages_come_whole_wherever_they_are_cut(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof some; cut++) {
        rr_nats_client client = {0};
        int server;

        begin(&client, &server);
        say(server, some, cut);
        rr_nats_client_receive(&client);
        say(server, some + cut, sizeof some - 1 - cut);
        expect_some(&client);
        rr_nats_client_send(&client);
        assert_string_equal(heard(server), "PONG\r\n");
        rr_nats_client_fini(&client);
        close(server);
    }
}

/* More than one piece of memory, all in hand at once, and given back in another order. */
static void what_is_held_stays_as_it_came(void **state)
{
    enum { COUNT = 5000 };
    static rr_nats_client_message held[COUNT];
    rr_nats_client client = {0};
    int server;

    (void)state;
    begin(&client, &server);
    for (int k = 0, got = 0; k < COUNT; k++) {
        char text[512];
        int len = snprintf(text, sizeof text, "MSG s.%d 1 r.%d 300\r\n%-300d\r\n", k, k, k);

        say(server, text, (size_t)len);
        if (k % 100 == 99 || k == COUNT - 1) {
            while (rr_nats_client_next(&client, 0, &held[got])) {
                got++;
            }
            assert_int_equal(got, k + 1);
        }
    }
    for (int k = COUNT - 1; k >= 0; k--) {
        char reply[32], payload[304];

        snprintf(reply, sizeof reply, "r.%d", k);
        snprintf(payload, sizeof payload, "%-300d", k);
        assert_true(is(held[k].reply, reply) && is(held[k].payload, payload));
        rr_nats_client_release(&client, held[k].reply.data);
    }
    rr_nats_client_fini(&client);
    close(server);
}

/* Writes while the client reads. */
static void say_much(rr_nats_client *client, int server, const char *bytes, size_t len)
{
    while (len != 0) {
        ssize_t sent = write(server, bytes, len);

        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        }
        rr_nats_client_receive(client);
        assert_true(client->socket.is_open);
    }
}

static void a_message_may_be_larger_than_a_piece(void **state)
{
    rr_nats_client client = {0};
    rr_nats_client_message held[6];
    char *text = malloc(2 * BIG);
    int server;

    (void)state;
    begin(&client, &server);
    for (int k = 0; k < 6; k += 2) {
        int len = snprintf(text, 2 * BIG, "MSG big 1 r.%d %d\r\n", k, BIG);

        memset(text + len, 'a' + k, BIG);
        len += BIG;
        len += snprintf(text + len, 64, "\r\nMSG small 1 r.%d 3\r\nxyz\r\n", k + 1);
        say_much(&client, server, text, (size_t)len);
    }
    for (int k = 0; k < 6; k++) {
        assert_true(rr_nats_client_next(&client, 0, &held[k]));
        assert_int_equal(held[k].payload.len, k % 2 == 0 ? BIG : 3);
        assert_true(held[k].payload.data[0] == (k % 2 == 0 ? 'a' + k : 'x'));
        assert_true(held[k].payload.data[held[k].payload.len - 1] == (k % 2 == 0 ? 'a' + k : 'z'));
        assert_true(held[k].reply.data[2] == '0' + k);
    }
    for (int k = 0; k < 6; k++) {
        rr_nats_client_release(&client, held[(k * 5) % 6].reply.data);
    }
    free(text);
    rr_nats_client_fini(&client);
    close(server);
}

static void what_no_nats_server_sends_ends_it(void **state)
{
    static const char *const bad[] = {
        "HTTP/1.1 400 Bad Request\r\n",
        "MSG\r\n",
        "MSG a 1\r\n",
        "MSG a 1 x\r\n",
        "MSG a x 2\r\nab\r\n",
        "MSG a 1 -2\r\n",
        "MSG a 1 r 2 3 4\r\n",
        "MSG a 1 2\r\nabc\r\n",
        "MSG a 1 2\r\nab\n\n",
        "MSG a 1 99999999999999999999\r\n",
        "MSG a 1 67108865\r\n",
        "HMSG a 1 3 2\r\nab\r\n",
        "HMSG a 1 2\r\nab\r\n",
        "MSG a 18446744073709551616 2\r\nab\r\n",
        "\r\n",
        "\n",
        "PING\n",
        "msG a\r\n",
    };

    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        rr_nats_client client = {0};
        rr_nats_client_message message;
        int server;

        begin(&client, &server);
        say_text(server, "MSG good 1 r 2\r\nok\r\n");
        say_text(server, bad[k]);
        rr_nats_client_receive(&client);
        assert_false(client.socket.is_open);
        assert_non_null(strstr(client.socket.why, "not understood"));
        assert_true(rr_nats_client_next(&client, 0, &message) && is(message.payload, "ok"));
        assert_false(rr_nats_client_next(&client, 0, &message));
        rr_nats_client_fini(&client);
        rr_nats_client_release(&client, message.reply.data); /* it was in hand all the while */
        rr_nats_client_fini(&client);
        close(server);
    }
}

static void a_line_without_end_ends_it(void **state)
{
    rr_nats_client client = {0};
    char *text = malloc(BIG);
    int server;

    (void)state;
    memset(text, 'M', BIG);
    begin(&client, &server);
    for (int k = 0; k < 1000 && client.socket.is_open; k++) {
        say(server, text, 4096);
        rr_nats_client_receive(&client);
    }
    assert_false(client.socket.is_open);
    free(text);
    rr_nats_client_fini(&client);
    close(server);
}

static void errors_of_the_server_are_kept(void **state)
{
    rr_nats_client client = {0};
    rr_nats_client_message message;
    int server;

    (void)state;
    begin(&client, &server);
    say_text(server, "-ERR 'Permissions Violation for Publish to \"$JS.ACK\"'\r\nMSG a 1 r 2\r\nok\r\n");
    assert_true(rr_nats_client_next(&client, 0, &message));
    assert_string_equal(client.socket.why, "the server says 'Permissions Violation for Publish to \"$JS.ACK\"'");
    rr_nats_client_release(&client, message.reply.data);
    close(server);
    assert_false(rr_nats_client_next(&client, 1000, &message));
    assert_false(client.socket.is_open);
    assert_non_null(strstr(client.socket.why, "Permissions Violation")); /* the likely cause, more than that it ended */
    rr_nats_client_fini(&client);
}

/* The server stops to read for a while: nothing waits for it, nothing is lost, and all comes in order. */
static void what_does_not_go_at_once_goes_later(void **state)
{
    enum { COUNT = 40000 };
    static char got[64 * COUNT];
    rr_nats_client client = {0};
    size_t len = 0, at = 0;
    int server;

    (void)state;
    begin(&client, &server);
    for (int k = 0; k < COUNT; k++) {
        char subject[32];
        int subject_len = snprintf(subject, sizeof subject, "$JS.ACK.%d", k);

        rr_nats_client_publish(&client, (rr_slice){subject, (size_t)subject_len}, (rr_slice){NULL, 0},
                               RR_SLICE("+ACK"));
        rr_nats_client_send(&client);
    }
    assert_true(client.socket.is_open && client.out_from < client.out_to);
    while (client.out_from < client.out_to) {
        ssize_t some_bytes = read(server, got + len, sizeof got - len);

        len += some_bytes > 0 ? (size_t)some_bytes : 0;
        rr_nats_client_send(&client);
    }
    for (ssize_t rest; (rest = read(server, got + len, sizeof got - len)) > 0;) {
        len += (size_t)rest;
    }
    for (int k = 0; k < COUNT; k++) {
        char line[64];
        int line_len = snprintf(line, sizeof line, "PUB $JS.ACK.%d 4\r\n+ACK\r\n", k);

        assert_memory_equal(got + at, line, (size_t)line_len);
        at += (size_t)line_len;
    }
    assert_int_equal(at, len);
    rr_nats_client_fini(&client);
    close(server);
}

/* A server that is always a little behind: what was sent takes no room. */
static void what_was_sent_takes_no_room(void **state)
{
    static char got[32 * 1024];
    rr_nats_client client = {0};
    size_t passed = 0;
    int server;

    (void)state;
    begin(&client, &server);
    while (passed < 8 * BIG) {
        ssize_t some_bytes;

        while (client.out_to - client.out_from < BIG / 4) {
            rr_nats_client_publish(&client, RR_SLICE("$JS.ACK"), (rr_slice){NULL, 0}, RR_SLICE("+ACK"));
            rr_nats_client_send(&client);
        }
        while (client.out_to - client.out_from > BIG / 8 && (some_bytes = read(server, got, sizeof got)) > 0) {
            passed += (size_t)some_bytes;
            rr_nats_client_send(&client);
        }
    }
    assert_true(client.socket.is_open && client.out_room <= BIG);
    rr_nats_client_fini(&client);
    close(server);
}

static void a_flush_waits_for_the_answer_to_its_own_ping(void **state)
{
    rr_nats_client client = {0};
    int server;

    (void)state;
    begin(&client, &server);
    assert_false(rr_nats_client_flush(&client, 1));
    say_text(server, "PONG\r\n"); /* to the first, which did not wait for it */
    assert_false(rr_nats_client_flush(&client, 1));
    say_text(server, "PONG\r\nPONG\r\n");
    assert_true(rr_nats_client_flush(&client, 10000));
    assert_string_equal(heard(server), "PING\r\nPING\r\nPING\r\n");
    close(server);
    assert_false(rr_nats_client_flush(&client, 10000));
    rr_nats_client_fini(&client);
}

/* After the connection ended, what came can still be taken, what is said goes nowhere, and it can be opened again. */
static void an_end_is_not_a_loss(void **state)
{
    rr_nats_client client = {0};
    rr_nats_client_message message, held;
    int server;

    (void)state;
    begin(&client, &server);
    say_text(server, "MSG a 1 r.1 3\r\none\r\nMSG b 1 r.2 3\r\ntwo\r\nMSG c 1 r.3 5\r\nthr");
    close(server);
    assert_true(rr_nats_client_next(&client, 0, &held) && is(held.payload, "one"));
    rr_nats_client_receive(&client);
    assert_false(client.socket.is_open);
    rr_nats_client_publish(&client, RR_SLICE("a"), (rr_slice){NULL, 0}, RR_SLICE("x"));
    rr_nats_client_subscribe(&client, "a");
    rr_nats_client_send(&client);
    assert_true(rr_nats_client_next(&client, 0, &message) && is(message.payload, "two"));
    rr_nats_client_release(&client, message.reply.data);
    assert_false(rr_nats_client_next(&client, 0, &message));
    begin(&client, &server);
    say_text(server, "MSG d 1 r.4 4\r\nfour\r\n");
    assert_true(rr_nats_client_next(&client, 0, &message) && is(message.payload, "four"));
    assert_true(is(held.payload, "one"));
    rr_nats_client_release(&client, message.reply.data);
    rr_nats_client_release(&client, held.reply.data);
    rr_nats_client_fini(&client);
    close(server);
}

static void a_new_subscription_takes_the_place_of_the_old_one(void **state)
{
    rr_nats_client client = {0};
    rr_nats_client_message message;
    int server;

    (void)state;
    begin(&client, &server);
    rr_nats_client_subscribe(&client, "inbox.x.*");
    rr_nats_client_send(&client);
    assert_string_equal(heard(server), "UNSUB 1\r\nSUB inbox.x.* 2\r\n");
    say_text(server, "MSG a 1 r.1 3\r\nold\r\nMSG b 2 r.2 3\r\nnew\r\n");
    assert_true(rr_nats_client_next(&client, 0, &message) && is(message.payload, "new"));
    rr_nats_client_release(&client, message.reply.data);
    say_text(server, "MSG b 2 r.2 3\r\nnew\r\n");
    rr_nats_client_receive(&client);
    rr_nats_client_drop(&client);
    assert_false(rr_nats_client_next(&client, 0, &message));
    rr_nats_client_unsubscribe(&client);
    rr_nats_client_send(&client);
    assert_string_equal(heard(server), "UNSUB 2\r\n");
    rr_nats_client_fini(&client);
    close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_whole_wherever_they_are_cut),
        cmocka_unit_test(what_is_held_stays_as_it_came),
        cmocka_unit_test(a_message_may_be_larger_than_a_piece),
        cmocka_unit_test(what_no_nats_server_sends_ends_it),
        cmocka_unit_test(a_line_without_end_ends_it),
        cmocka_unit_test(errors_of_the_server_are_kept),
        cmocka_unit_test(what_does_not_go_at_once_goes_later),
        cmocka_unit_test(what_was_sent_takes_no_room),
        cmocka_unit_test(a_flush_waits_for_the_answer_to_its_own_ping),
        cmocka_unit_test(an_end_is_not_a_loss),
        cmocka_unit_test(a_new_subscription_takes_the_place_of_the_old_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
