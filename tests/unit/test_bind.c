/* How a source binds again after its connection broke. The server of the client is a thread; what cnats does is played here:
 * the functions below take the place of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "js_consumer.h"
#include "js_pull.h"
#include "source_jetstream.h"

enum { HEARD = 8192 };

static struct {
    int listener, port, fd;
    pthread_t thread;
    pthread_mutex_t lock;
    char heard[HEARD];
    size_t heard_len, answered; /* of what was heard, up to where each PING has its PONG */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static rr_nats nats = {.place = "nats://there"};
static rr_source source;

/* What the consumer's info is. */
static bool answers;
static uint64_t delivered, floor_of, waiting;
static bool heard_before; /* when it was asked for, the server had heard of the subscription */

static bool has_heard(const char *text)
{
    bool found;

    pthread_mutex_lock(&server.lock);
    found = strstr(server.heard, text) != NULL;
    pthread_mutex_unlock(&server.lock);
    return found;
}

natsConnStatus natsConnection_Status(natsConnection *connection)
{
    (void)connection;
    return NATS_CONN_STATUS_CONNECTED;
}

bool natsConnection_IsClosed(natsConnection *connection)
{
    (void)connection;
    return false;
}

natsStatus natsConnection_GetConnectedUrl(natsConnection *connection, char *buffer, size_t room)
{
    (void)connection;
    snprintf(buffer, room, "nats://127.0.0.1:%d", server.port);
    return NATS_OK;
}

natsStatus js_GetConsumerInfo(jsConsumerInfo **info, jsCtx *js, const char *stream, const char *consumer,
                              jsOptions *options, jsErrCode *code)
{
    char line[256];

    (void)js;
    (void)stream;
    (void)consumer;
    (void)options;
    (void)code;
    snprintf(line, sizeof line, "SUB %s.* %llu\r\n", source.inbox, (unsigned long long)source.client.sid);
    heard_before = has_heard(line);
    *info = answers ? calloc(1, sizeof **info) : NULL;
    if (*info != NULL) {
        (*info)->Delivered.Consumer = (*info)->Delivered.Stream = delivered;
        (*info)->AckFloor.Stream = floor_of;
        (*info)->NumAckPending = (int64_t)waiting;
    }
    return answers ? NATS_OK : NATS_TIMEOUT;
}

/* Nobody can be asked what is outstanding. */
natsStatus js_AddConsumer(jsConsumerInfo **info, jsCtx *js, const char *stream, jsConsumerConfig *config,
                          jsOptions *options, jsErrCode *code)
{
    (void)js;
    (void)stream;
    (void)config;
    (void)options;
    (void)code;
    *info = NULL;
    return NATS_TIMEOUT;
}

void jsConsumerInfo_Destroy(jsConsumerInfo *info)
{
    free(info);
}

natsStatus js_GetStreamInfo(jsStreamInfo **info, jsCtx *js, const char *stream, jsOptions *options, jsErrCode *code)
{
    (void)js;
    (void)stream;
    (void)options;
    *info = NULL;
    *code = JSStreamNotFoundErr;
    return NATS_NOT_FOUND;
}

static void answer_pings(int fd)
{
    const char *ping;

    while ((ping = strstr(server.heard + server.answered, "PING\r\n")) != NULL) {
        server.answered = (size_t)(ping - server.heard) + strlen("PING\r\n");
        send(fd, "PONG\r\n", strlen("PONG\r\n"), MSG_NOSIGNAL);
    }
}

static void serve_one(int fd)
{
    static const char info[] = "INFO {\"server_id\":\"s\",\"headers\":true}\r\n";
    char bytes[1024];
    ssize_t got;

    server.fd = fd;
    send(fd, info, sizeof info - 1, MSG_NOSIGNAL);
    while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0) {
        pthread_mutex_lock(&server.lock);
        got = (size_t)got < HEARD - 1 - server.heard_len ? got : (ssize_t)(HEARD - 1 - server.heard_len);
        memcpy(server.heard + server.heard_len, bytes, (size_t)got);
        server.heard_len += (size_t)got;
        server.heard[server.heard_len] = '\0';
        answer_pings(fd);
        pthread_mutex_unlock(&server.lock);
    }
    close(fd);
}

static void *serve(void *context)
{
    int fd;

    (void)context;
    while ((fd = accept(server.listener, NULL, NULL)) >= 0) {
        serve_one(fd);
    }
    return NULL;
}

static int begin(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    (void)state;
    server.listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(server.listener, 1), 0);
    getsockname(server.listener, (struct sockaddr *)&address, &len);
    server.port = ntohs(address.sin_port);
    server.heard_len = server.answered = 0;
    server.heard[0] = '\0';
    answers = true;
    delivered = floor_of = waiting = 0;
    source = (rr_source){
        .options = {.stream = "S", .consumer = "C", .ack = RR_ACK_ALL, .batch = 10, .pulls = 1, .timeout_ms = 60000},
        .nats = &nats,
        .api = "$JS.API",
        .pull_subject = "$JS.API.CONSUMER.MSG.NEXT.S.C",
    };
    return pthread_create(&server.thread, NULL, serve, NULL);
}

static int end(void **state)
{
    (void)state;
    rr_nats_client_fini(&source.client);
    rr_acks_fini(&source.acks);
    shutdown(server.listener, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    close(server.listener);
    return 0;
}

/* As far as it comes at once, without the pause between two attempts. */
static rr_status fetch(void)
{
    rr_delivery delivery;
    size_t count;

    source.rebind_at_ms = 0;
    return rr_js_fetch(&source, &delivery, 1, &count, 0, NULL);
}

/* The server is back before its JetStream is. What was counted on the connection that broke does not count on this one,
 * where other deliveries come next; and that some went there is not the doing of a second reader. */
static void a_connection_alone_is_not_bound(void **state)
{
    (void)state;
    delivered = floor_of = 3;
    assert_int_equal(fetch(), RR_OK);
    assert_true(rr_js_is_bound(&source) && source.acks.next_consumer == 4);
    rr_nats_client_close(&source.client);
    source.excuse_gaps_until_ms = 0;
    answers = false;
    assert_int_equal(fetch(), RR_UNAVAILABLE);
    assert_true(source.client.socket.is_open && !rr_js_is_bound(&source));
    answers = true;
    delivered = floor_of = 7;
    assert_int_equal(fetch(), RR_OK);
    assert_true(rr_js_is_bound(&source) && source.acks.next_consumer == 8);
    assert_true(source.excuse_gaps_until_ms > rr_nats_now_ms());
}

/* Of 4 to 7 nothing is known here: one acknowledgement beyond them would lose them. */
static void what_is_outstanding_is_known_before_anything_is_acknowledged(void **state)
{
    (void)state;
    delivered = floor_of = 3;
    assert_int_equal(fetch(), RR_OK);
    rr_nats_client_close(&source.client);
    delivered = 7;
    waiting = 4;
    assert_int_equal(fetch(), RR_UNAVAILABLE);
    assert_false(rr_js_is_bound(&source));
}

/* Else what the server gives to the subscription of before, after it said how much it has delivered, looks like a delivery
 * to a second reader. */
static void deliveries_are_counted_when_none_goes_elsewhere_any_more(void **state)
{
    (void)state;
    assert_int_equal(fetch(), RR_OK);
    source.is_bound = false; /* as where the server counted back */
    source.excuse_gaps_until_ms = 0;
    heard_before = false;
    assert_int_equal(fetch(), RR_OK);
    assert_true(heard_before);
    assert_true(has_heard("UNSUB 1\r\n"));
    assert_int_equal(source.excuse_gaps_until_ms, 0); /* on the same connection nothing is to be forgiven */
}

/* The server says for itself that nobody answers our pulls. */
static void where_jetstream_is_away_that_is_told(void **state)
{
    char line[256];
    int len;

    (void)state;
    assert_int_equal(fetch(), RR_OK);
    len = snprintf(line, sizeof line, "HMSG %s.0 %llu 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", source.inbox,
                   (unsigned long long)source.client.sid);
    assert_int_equal(send(server.fd, line, (size_t)len, MSG_NOSIGNAL), len);
    rr_nats_socket_wait(&source.client.socket, false, 60000);
    source.heard_ms = rr_nats_now_ms() - 60000;
    assert_int_equal(fetch(), RR_UNAVAILABLE);
    assert_true(source.pause_until_ms > 0); /* and it was heard */
}

/* What a cluster that has just started does not know yet is not gone. */
static void a_stream_is_gone_when_a_cluster_goes_on_to_say_it(void **state)
{
    const rr_source_ops *ops = &rr_source_jetstream_ops;
    rr_source_info info;

    (void)state;
    source.is_clustered = true;
    assert_int_equal(ops->info(&source, &info, NULL), RR_UNAVAILABLE);
    source.missing_since_ms = rr_nats_now_ms() - 60000;
    assert_int_equal(ops->info(&source, &info, NULL), RR_CONFIG);
    source.missing_since_ms = 0;
    source.is_clustered = false;
    assert_int_equal(ops->info(&source, &info, NULL), RR_CONFIG);
}

/* While no connection could be made yet, messages name the servers, never their passwords. */
static void a_secret_is_not_told_while_there_is_no_connection(void **state)
{
    rr_source alone = {.options = {.url = "nats://me:secret@there:1,tls://token@elsewhere", .stream = "S"}};
    rr_source_info info;
    rr_error error = {0};

    (void)state;
    assert_int_equal(rr_source_jetstream_ops.info(&alone, &info, &error), RR_UNAVAILABLE);
    assert_string_equal(error.text, "nats://there:1,tls://elsewhere: not connected; trying again");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_connection_alone_is_not_bound, begin, end),
        cmocka_unit_test_setup_teardown(what_is_outstanding_is_known_before_anything_is_acknowledged, begin, end),
        cmocka_unit_test_setup_teardown(deliveries_are_counted_when_none_goes_elsewhere_any_more, begin, end),
        cmocka_unit_test_setup_teardown(where_jetstream_is_away_that_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_stream_is_gone_when_a_cluster_goes_on_to_say_it, begin, end),
        cmocka_unit_test(a_secret_is_not_told_while_there_is_no_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
