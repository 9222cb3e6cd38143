/* What a source promises, on a real nats-server: nothing is lost, whatever breaks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nats/nats.h>

#include "js_acks.h"
#include "servers.h"
#include "source_jetstream.h"

/* PATIENCE only bounds a hang: it is far above what the slowest machine needs. */
enum { MOST = 1024, SEEN_MAX = 20001, PATIENCE_MS = 60000 };

static const rr_source_ops *const ops = &rr_source_jetstream_ops;

/* --- a server and a second client for the test's own needs --- */

typedef struct world {
    rr_server server;
    natsConnection *connection;
    jsCtx *js;
    unsigned char seen[SEEN_MAX]; /* how often each stream sequence was handed out */
} world;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void dial(world *w)
{
    assert_int_equal(natsConnection_ConnectTo(&w->connection, w->server.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&w->js, w->connection, NULL), NATS_OK);
}

static void hang_up(world *w)
{
    jsCtx_Destroy(w->js);
    natsConnection_Destroy(w->connection);
    w->js = NULL;
    w->connection = NULL;
}

static void redial(world *w)
{
    hang_up(w);
    dial(w);
}

static const char settings[] =
    "max_payload: 128KB\n"
    "no_auth_user: all\n"
    "authorization { users: [\n"
    "  {user: all, password: all}\n"
    "  {user: limited, password: limited, permissions: {publish: {deny: [\"forbidden.>\"]}}} ] }\n";

static int begin(void **state)
{
    world *w = calloc(1, sizeof *w);

    if (w == NULL || !rr_server_start_nats(&w->server, settings)) {
        return -1;
    }
    dial(w);
    *state = w;
    return 0;
}

static int end(void **state)
{
    world *w = *state;

    hang_up(w);
    rr_server_fini(&w->server);
    free(w);
    return 0;
}

static void make_stream(world *w, const char *name, const char *subject, jsRetentionPolicy retention)
{
    jsStreamConfig config;

    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Retention = retention;
    assert_int_equal(js_AddStream(NULL, w->js, &config, NULL, NULL), NATS_OK);
}

/* Messages "0", "1", ... on <subject>.<number mod 2>. */
static void put(world *w, const char *subject, int count)
{
    for (int i = 0; i < count; i++) {
        char full[64], text[16];
        int len = snprintf(text, sizeof text, "%d", i);

        snprintf(full, sizeof full, "%s.%d", subject, i % 2);
        assert_int_equal(js_PublishAsync(w->js, full, text, len, NULL), NATS_OK);
    }
    assert_int_equal(js_PublishAsyncComplete(w->js, NULL), NATS_OK);
}

static void make_consumer(world *w, jsConsumerConfig config)
{
    jsErrCode code = 0;

    if (js_AddConsumer(NULL, w->js, "S", &config, NULL, &code) != NATS_OK) {
        fail_msg("consumer: %d %s", (int)code, nats_GetLastError(NULL));
    }
}

static rr_source_options options_of(world *w, rr_ack_mode ack)
{
    return (rr_source_options){.url = w->server.url,
                               .stream = "S",
                               .consumer = "C",
                               .ack = ack,
                               .create = true,
                               .timeout_ms = 2000,
                               .ack_wait_s = 30};
}

static rr_source *open_source(const rr_source_options *options)
{
    rr_source *source = NULL;
    rr_error error = {0};

    if (ops->open(options, &source, &error) != RR_OK) {
        fail_msg("open: %s", error.text);
    }
    return source;
}

static void refused(const rr_source_options *options, rr_status status, const char *word)
{
    rr_source *source = NULL;
    rr_error error = {0};

    assert_int_equal(ops->open(options, &source, &error), status);
    assert_null(source);
    if (strstr(error.text, word) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, word);
    }
}

/* --- reading --- */

static size_t some(world *w, rr_source *source, rr_delivery *deliveries, int wait_ms)
{
    rr_error error = {0};
    size_t count = 0;
    rr_status status = ops->fetch(source, deliveries, MOST, &count, wait_ms, &error);

    if (status != RR_OK && status != RR_UNAVAILABLE) {
        fail_msg("fetch: %s", error.text);
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(deliveries[i].stream_sequence < SEEN_MAX);
        w->seen[deliveries[i].stream_sequence]++;
    }
    return count;
}

/* Reads and acknowledges until all of `to` messages but so many were each seen once at least; false: they do not come. */
static bool read_all_but(world *w, rr_source *source, size_t to, size_t but)
{
    rr_delivery deliveries[MOST];
    int64_t deadline = now_ms() + PATIENCE_MS;
    size_t missing = to;

    while (missing > but && now_ms() < deadline) {
        size_t count = some(w, source, deliveries, 100);

        ops->ack(source, deliveries, count, NULL);
        missing = 0;
        for (size_t i = 1; i <= to; i++) {
            missing += w->seen[i] == 0;
        }
    }
    return missing <= but;
}

static bool read_all(world *w, rr_source *source, size_t to)
{
    return read_all_but(w, source, to, 0);
}

/* Waits until the server has taken all acknowledgements up to `floor`. (Not until nothing is pending: nats-server 2.9
 * may deliver its last message once more beside a repeat, and then keeps that below its floor until ack_wait ends.) */
static bool acknowledged(rr_source *source, uint64_t floor)
{
    rr_delivery deliveries[MOST];
    int64_t deadline = now_ms() + PATIENCE_MS;
    rr_source_info info = {0};
    size_t count;

    do {
        ops->flush(source, 1000, NULL);
        if (ops->info(source, &info, NULL) == RR_OK && info.ack_floor >= floor) {
            return true;
        }
        if (ops->fetch(source, deliveries, MOST, &count, 50, NULL) == RR_OK) {
            ops->ack(source, deliveries, count, NULL);
        }
    } while (now_ms() < deadline);
    print_message("floor %llu of %llu, %llu waiting\n", (unsigned long long)info.ack_floor, (unsigned long long)floor,
                  (unsigned long long)info.ack_pending);
    return false;
}

static size_t twice(const world *w, size_t to)
{
    size_t count = 0;

    for (size_t i = 1; i <= to; i++) {
        count += w->seen[i] > 1;
    }
    return count;
}

/* --- binding --- */

static void a_missing_stream_is_named(void **state)
{
    rr_source_options options = options_of(*state, RR_ACK_EXPLICIT);

    refused(&options, RR_CONFIG, "there is no stream S");
}

static void a_missing_consumer_is_made_only_if_told(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_ALL);
    jsConsumerInfo *info = NULL;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    options.create = false;
    refused(&options, RR_CONFIG, "create: true");
    refused(&options, RR_CONFIG, "nats consumer add S C --pull");
    options.create = true;
    options.filter = "s.1";
    ops->close(open_source(&options));
    assert_int_equal(js_GetConsumerInfo(&info, w->js, "S", "C", NULL, NULL), NATS_OK);
    assert_int_equal(info->Config->AckPolicy, js_AckAll);
    assert_int_equal(info->Config->MaxAckPending, 20000);
    assert_string_equal(info->Config->FilterSubject, "s.1");
    jsConsumerInfo_Destroy(info);
    options.create = false;
    ops->close(open_source(&options));
}

static void a_consumer_that_does_not_fit_is_refused_in_words(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    jsConsumerConfig base;

    jsConsumerConfig_Init(&base);
    base.AckWait = 30 * INT64_C(1000000000);
    base.MaxAckPending = 5000;
    base.MaxDeliver = -1;
    make_stream(w, "S", "s.>", js_LimitsPolicy);
    struct {
        const char *name, *word;
        jsConsumerConfig config;
    } rows[] = {
        {"push", "push", base},
        {"all", "ack: explicit", base},
        {"deliver", "max_deliver is 3", base},
        {"filter", "its filter", base},
        {"pending", "max_ack_pending is 10", base},
        {"wait", "ack_wait is 1000 ms", base},
    };
    rows[0].config.DeliverSubject = "somewhere";
    rows[1].config.AckPolicy = js_AckAll;
    rows[2].config.MaxDeliver = 3;
    rows[3].config.FilterSubject = "s.2";
    rows[4].config.MaxAckPending = 10;
    rows[5].config.AckWait = 1000000000;
    options.filter = "s.1";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rows[i].config.Durable = rows[i].name;
        rows[i].config.FilterSubject = rows[i].config.FilterSubject == NULL ? "s.1" : rows[i].config.FilterSubject;
        make_consumer(w, rows[i].config);
        options.consumer = rows[i].name;
        refused(&options, RR_CONFIG, rows[i].word);
    }
}

static void a_work_queue_is_read_explicitly_only(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_ALL);

    make_stream(w, "S", "s.>", js_WorkQueuePolicy);
    refused(&options, RR_CONFIG, "ack: explicit");
    options.ack = RR_ACK_EXPLICIT;
    ops->close(open_source(&options));
}

static void no_server_is_unavailable_and_a_secret_is_not_told(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_source *source = NULL;
    rr_error error = {0};

    options.url = "nats://me:secret@127.0.0.1:1";
    options.timeout_ms = 500;
    assert_int_equal(ops->open(&options, &source, &error), RR_UNAVAILABLE);
    assert_null(strstr(error.text, "secret"));
    assert_non_null(strstr(error.text, "127.0.0.1:1"));
}

static void a_stream_that_removes_out_of_order_is_read_explicitly_only(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_ALL);
    jsStreamConfig config;

    jsStreamConfig_Init(&config);
    config.Name = "S";
    config.MaxMsgsPerSubject = 1;
    assert_int_equal(js_AddStream(NULL, w->js, &config, NULL, NULL), NATS_OK);
    refused(&options, RR_CONFIG, "max_msgs_per_subject");
    options.ack = RR_ACK_EXPLICIT;
    ops->close(open_source(&options));
}

/* --- reading --- */

static void all_come_once_and_are_acknowledged(world *w, rr_ack_mode ack)
{
    rr_source_options options = options_of(w, ack);
    rr_source_info info;
    rr_source *source;
    rr_delivery one[1];
    size_t count = 0;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 5000);
    source = open_source(&options);
    assert_int_equal(ops->fetch(source, one, 1, &count, 2000, NULL), RR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(one->stream_sequence, 1);
    assert_int_equal(one->times_delivered, 1);
    assert_true(rr_slice_equal(one->payload, RR_SLICE("0")));
    assert_true(rr_slice_equal(one->subject, RR_SLICE("s.0")));
    assert_true(one->stored_at_us / 1000000 - (int64_t)time(NULL) < 60);
    assert_true((int64_t)time(NULL) - one->stored_at_us / 1000000 < 60);
    w->seen[1]++;
    assert_int_equal(ops->ack(source, one, 1, NULL), RR_OK);
    assert_true(read_all(w, source, 5000));
    assert_int_equal(twice(w, 5000), 0);
    assert_true(acknowledged(source, 5000));
    assert_int_equal(ops->info(source, &info, NULL), RR_OK);
    assert_int_equal(info.last_sequence, 5000);
    assert_int_equal(info.delivered, 5000);
    assert_int_equal(info.pending, 0);
    assert_int_equal(info.ack_pending, 0);
    assert_string_equal(info.retention, "limits");
    assert_string_equal(info.storage, "file");
    ops->close(source);
}

static void all_come_once_explicit(void **state)
{
    all_come_once_and_are_acknowledged(*state, RR_ACK_EXPLICIT);
}

static void all_come_once_all(void **state)
{
    all_come_once_and_are_acknowledged(*state, RR_ACK_ALL);
}

static void an_empty_queue_waits_no_longer_than_told(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_delivery deliveries[MOST];
    rr_source *source;
    size_t count = 1;
    int64_t start;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    source = open_source(&options);
    start = now_ms();
    assert_int_equal(ops->fetch(source, deliveries, MOST, &count, 300, NULL), RR_OK);
    assert_int_equal(count, 0);
    assert_true(now_ms() - start >= 290);
    /* The pulls outstanding bring a new message, also after they were renewed. */
    assert_int_equal(ops->fetch(source, deliveries, MOST, &count, 6000, NULL), RR_OK);
    put(w, "s", 1);
    assert_int_equal(ops->fetch(source, deliveries, MOST, &count, PATIENCE_MS, NULL), RR_OK);
    assert_int_equal(count, 1);
    ops->ack(source, deliveries, 1, NULL);
    ops->close(source);
}

/* Out of order, some late: under `all` nothing above the first that is not done may be acknowledged. */
static void all_is_acknowledged_only_up_to_the_first_not_done(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_ALL);
    rr_delivery deliveries[MOST];
    rr_source_info info;
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 10);
    source = open_source(&options);
    for (size_t got = 0; got < 10;) {
        got += some(w, source, deliveries + got, 500);
    }
    ops->ack(source, deliveries + 5, 5, NULL);
    ops->ack(source, deliveries, 3, NULL);
    ops->flush(source, 1000, NULL);
    ops->info(source, &info, NULL);
    assert_int_equal(info.ack_floor, 3);
    assert_int_equal(info.ack_pending, 7);
    ops->ack(source, deliveries + 3, 2, NULL);
    assert_true(acknowledged(source, 10));
    ops->close(source);
}

static void what_is_not_acknowledged_comes_again(world *w, rr_ack_mode ack)
{
    rr_source_options options = options_of(w, ack);
    rr_delivery deliveries[MOST];
    rr_source *source;
    size_t count;

    options.ack_wait_s = 2;
    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 100);
    source = open_source(&options);
    for (count = 0; count < 100;) {
        count += some(w, source, deliveries + count, 500);
    }
    ops->ack(source, deliveries, 50, NULL);
    ops->release(source, deliveries + 50, 50, false);
    memset(w->seen, 0, sizeof w->seen);
    memset(w->seen, 1, 51);
    assert_true(read_all(w, source, 100));
    assert_true(acknowledged(source, 100));
    ops->close(source);
}

static void explicit_comes_again(void **state)
{
    what_is_not_acknowledged_comes_again(*state, RR_ACK_EXPLICIT);
}

static void all_comes_again(void **state)
{
    what_is_not_acknowledged_comes_again(*state, RR_ACK_ALL);
}

static void progress_holds_off_the_repeat(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_delivery held[MOST], other[MOST];
    rr_source *source;

    options.ack_wait_s = 4;
    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 1);
    source = open_source(&options);
    assert_int_equal(some(w, source, held, 1000), 1);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(some(w, source, other, 1000), 0);
        assert_int_equal(ops->progress(source, held, 1, NULL), RR_OK);
    }
    ops->ack(source, held, 1, NULL);
    assert_true(acknowledged(source, 1));
    ops->close(source);
}

/* Waits until the server has given out this many. */
static bool given_out(rr_source *source, uint64_t count)
{
    int64_t deadline = now_ms() + PATIENCE_MS;
    rr_source_info info = {0};

    while (info.delivered < count && now_ms() < deadline) {
        ops->info(source, &info, NULL);
    }
    return info.delivered >= count;
}

/* A server closes a connection that 64 MB wait for. Nobody receives while a batch is at work, so of large messages fewer
 * are asked for; all of them come in the end. */
static void no_more_is_asked_for_than_a_server_holds(void **state)
{
    enum { COUNT = 90, BYTES = 60 * 1000, AT_ONCE = 64 };
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_delivery deliveries[MOST];
    rr_source_info info = {0};
    size_t count = 0, total = 0;
    char *text = calloc(1, BYTES);
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    for (int k = 0; k < COUNT; k++) {
        assert_int_equal(js_Publish(NULL, w->js, "s.a", text, BYTES, NULL, NULL), NATS_OK);
    }
    source = open_source(&options);
    assert_int_equal(ops->fetch(source, deliveries, 1, &count, PATIENCE_MS, NULL), RR_OK);
    assert_int_equal(count, 1);
    given_out(source, 32);
    assert_int_equal(ops->flush(source, PATIENCE_MS, NULL), RR_OK);
    assert_int_equal(ops->info(source, &info, NULL), RR_OK);
    assert_true(info.ack_pending <= AT_ONCE);
    for (total = 1; total < COUNT; total += count) {
        ops->ack(source, deliveries, count, NULL);
        assert_int_equal(ops->fetch(source, deliveries, MOST, &count, PATIENCE_MS, NULL), RR_OK);
        assert_true(count > 0 && deliveries[0].times_delivered == 1);
    }
    ops->ack(source, deliveries, count, NULL);
    ops->close(source);
    free(text);
}

/* One process leaves; what it had, handed out or not, is with the next one without waiting for ack_wait. All but one:
 * where nats-server 2.9 takes a message up again for a pull whose inbox is gone, it forgets it until ack_wait is over. */
static void what_one_leaves_the_next_has_at_once(world *w, rr_ack_mode ack)
{
    rr_source_options options = options_of(w, ack);
    rr_delivery deliveries[100];
    rr_source *source;
    size_t count = 0;

    options.ack_wait_s = 600;
    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 200);
    source = open_source(&options);
    while (count < 100) {
        size_t got = 0;

        assert_int_equal(ops->fetch(source, deliveries + count, 100 - count, &got, 1000, NULL), RR_OK);
        count += got;
    }
    assert_true(given_out(source, 200));
    ops->ack(source, deliveries, 5, NULL);
    ops->release(source, deliveries + 5, 95, true);
    ops->close(source);
    memset(w->seen, 0, sizeof w->seen);
    memset(w->seen, 1, 6);
    source = open_source(&options);
    assert_true(read_all_but(w, source, 200, 1));
    ops->close(source);
}

static void explicit_leaves_at_once(void **state)
{
    what_one_leaves_the_next_has_at_once(*state, RR_ACK_EXPLICIT);
}

static void all_leaves_at_once(void **state)
{
    what_one_leaves_the_next_has_at_once(*state, RR_ACK_ALL);
}

/* The danger of `ack: all`: a process died with messages in hand, and the next one acknowledges newer ones. */
static void a_successor_never_acknowledges_what_it_has_not_seen(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_ALL);
    rr_delivery first[MOST + 50], second[MOST + 2];
    rr_source *dead, *next;
    rr_source_info info;
    size_t count;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 100);
    options.filter = "s.1";
    dead = open_source(&options);
    for (count = 0; count < 50;) {
        count += some(w, dead, first + count, 1000);
    }
    ops->release(dead, first, 50, false);
    ops->close(dead);
    next = open_source(&options);
    memset(w->seen, 0, sizeof w->seen);
    put(w, "s", 10);
    for (count = 0; count < 2;) {
        count += some(w, next, second + count, 1000);
    }
    ops->ack(next, second + count - 1, 1, NULL);
    ops->flush(next, 1000, NULL);
    ops->info(next, &info, NULL);
    assert_int_equal(info.ack_floor, 0);
    ops->ack(next, second, count - 1, NULL);
    for (size_t i = 1; i < 110; i += 2) {
        w->seen[i] = 1;
    }
    assert_true(read_all(w, next, 110));
    assert_true(acknowledged(next, 110));
    ops->close(next);
}

/* --- trouble --- */

static void a_killed_server_loses_nothing(world *w, rr_ack_mode ack)
{
    rr_source_options options = options_of(w, ack);
    rr_delivery held[MOST], none[1];
    rr_source *source;
    rr_error error = {0};
    size_t count, nothing = 0;

    options.ack_wait_s = 5;
    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 5000);
    source = open_source(&options);
    for (int i = 0; i < 2; i++) {
        count = some(w, source, held, 1000);
        ops->ack(source, held, count, NULL);
    }
    count = some(w, source, held, 1000);
    rr_server_kill(&w->server);
    while (ops->fetch(source, none, 1, &nothing, 20, &error) == RR_OK) {
        ops->release(source, none, nothing, false);
    }
    assert_int_equal(error.status, RR_UNAVAILABLE);
    ops->ack(source, held, count, NULL);
    assert_true(rr_server_restart(&w->server, true));
    assert_true(read_all(w, source, 5000));
    assert_true(acknowledged(source, 5000));
    ops->close(source);
    redial(w);
}

static void a_killed_server_explicit(void **state)
{
    a_killed_server_loses_nothing(*state, RR_ACK_EXPLICIT);
}

static void a_killed_server_all(void **state)
{
    a_killed_server_loses_nothing(*state, RR_ACK_ALL);
}

static void a_silent_server_is_waited_for(world *w, rr_ack_mode ack)
{
    rr_source_options options = options_of(w, ack);
    rr_delivery deliveries[MOST];
    rr_source *source;
    int64_t until;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    put(w, "s", 1000);
    source = open_source(&options);
    assert_true(read_all(w, source, 1000));
    rr_server_pause(&w->server);
    until = now_ms() + 3000;
    while (now_ms() < until) {
        assert_int_equal(some(w, source, deliveries, 100), 0);
    }
    rr_server_resume(&w->server);
    put(w, "s", 1000);
    assert_true(read_all(w, source, 2000));
    assert_true(acknowledged(source, 2000));
    ops->close(source);
}

static void a_silent_server_explicit(void **state)
{
    a_silent_server_is_waited_for(*state, RR_ACK_EXPLICIT);
}

static void a_silent_server_all(void **state)
{
    a_silent_server_is_waited_for(*state, RR_ACK_ALL);
}

static void expect_gone(rr_source *source, const char *word)
{
    rr_delivery deliveries[MOST];
    int64_t deadline = now_ms() + PATIENCE_MS;
    rr_error error = {0};
    size_t count = 0;

    while (ops->fetch(source, deliveries, MOST, &count, 100, &error) != RR_CONFIG && now_ms() < deadline) {
        ops->release(source, deliveries, count, false);
    }
    assert_int_equal(error.status, RR_CONFIG);
    if (strstr(error.text, word) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, word);
    }
    /* And it stays so. */
    assert_int_equal(ops->fetch(source, deliveries, MOST, &count, 0, &error), RR_CONFIG);
    assert_int_equal(count, 0);
}

static void a_deleted_consumer_is_told(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_delivery deliveries[MOST];
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    source = open_source(&options);
    assert_int_equal(some(w, source, deliveries, 100), 0);
    assert_int_equal(js_DeleteConsumer(w->js, "S", "C", NULL, NULL), NATS_OK);
    expect_gone(source, "consumer is gone");
    ops->close(source);
}

/* Nobody is told when there was no pull outstanding; then the silence is what tells. */
static void a_consumer_deleted_unseen_is_found_out(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    source = open_source(&options);
    assert_int_equal(js_DeleteConsumer(w->js, "S", "C", NULL, NULL), NATS_OK);
    expect_gone(source, "consumer is gone");
    ops->close(source);
}

static void an_emptied_server_is_told(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_ALL);
    rr_delivery deliveries[MOST];
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    source = open_source(&options);
    assert_int_equal(some(w, source, deliveries, 100), 0);
    rr_server_kill(&w->server);
    assert_true(rr_server_restart(&w->server, false));
    expect_gone(source, "stream is gone");
    ops->close(source);
    redial(w);
}

static void a_second_reader_under_all_is_found_out(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_ALL);
    rr_delivery deliveries[MOST];
    rr_source *first, *second;
    rr_error error = {0};
    int64_t deadline = now_ms() + PATIENCE_MS;
    bool found = false;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    first = open_source(&options);
    second = open_source(&options);
    while (!found && now_ms() < deadline) {
        rr_source *both[] = {first, second};

        put(w, "s", 20);
        for (int i = 0; i < 2 && !found; i++) {
            size_t count = 0;

            found = ops->fetch(both[i], deliveries, 10, &count, 50, &error) == RR_CONFIG;
            ops->ack(both[i], deliveries, count, NULL);
        }
    }
    assert_true(found);
    assert_non_null(strstr(error.text, "somebody else reads this consumer"));
    ops->close(first);
    ops->close(second);
}

static void two_readers_share_under_explicit(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_delivery deliveries[MOST];
    rr_source *first, *second;
    size_t got = 0;

    options.batch = 50;
    make_stream(w, "S", "s.>", js_LimitsPolicy);
    first = open_source(&options);
    second = open_source(&options);
    some(w, first, deliveries, 50);
    some(w, second, deliveries, 50);
    put(w, "s", 2000);
    for (int i = 0; i < 200 && got < 2000; i++) {
        rr_source *one = i % 2 == 0 ? first : second;
        size_t count = some(w, one, deliveries, 50);

        ops->ack(one, deliveries, count, NULL);
        got += count;
    }
    assert_int_equal(got, 2000);
    assert_int_equal(twice(w, 2000), 0);
    assert_true(acknowledged(first, 2000));
    ops->close(first);
    ops->close(second);
}

/* --- publishing --- */

static void what_is_published_is_kept_and_once_is_once(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    static const char bytes[] = "a\0b\xff\r\n\xc3\xa4 z";
    rr_header headers[] = {{RR_SLICE("Rr-Reason"), RR_SLICE("malformed")},
                           {RR_SLICE("Rr-Text"), {bytes, sizeof bytes - 1}}};
    rr_publication item = {.subject = RR_SLICE("dead.S.7"),
                           .payload = {bytes, sizeof bytes - 1},
                           .headers = headers,
                           .header_count = 2,
                           .once = true};
    natsMsg *message = NULL;
    const char *value = NULL;
    char stream[256];
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    make_stream(w, "DEAD", "dead.>", js_LimitsPolicy);
    source = open_source(&options);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ops->publish(source, &item, 1, NULL), RR_OK);
        assert_int_equal(item.error.status, RR_OK);
        assert_int_equal(item.already, i == 1);
    }
    assert_int_equal(js_GetMsg(&message, w->js, "DEAD", 1, NULL, NULL), NATS_OK);
    assert_int_equal(natsMsg_GetDataLength(message), sizeof bytes - 1);
    assert_memory_equal(natsMsg_GetData(message), bytes, sizeof bytes - 1);
    assert_int_equal(natsMsgHeader_Get(message, "Rr-Text", &value), NATS_OK);
    assert_string_equal(value, "a b\xff  \xc3\xa4 z");
    assert_int_equal(natsMsgHeader_Get(message, "Rr-Reason", &value), NATS_OK);
    assert_string_equal(value, "malformed");
    natsMsg_Destroy(message);
    assert_int_equal(js_GetMsg(&message, w->js, "DEAD", 2, NULL, NULL), NATS_NOT_FOUND);
    assert_int_equal(ops->bound(source, RR_SLICE("dead.S.7"), stream, NULL), RR_OK);
    assert_string_equal(stream, "DEAD");
    assert_int_equal(ops->bound(source, RR_SLICE("nowhere.S.7"), stream, NULL), RR_OK);
    assert_string_equal(stream, "");
    ops->close(source);
}

static void each_publication_fails_for_itself(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_header bad = {RR_SLICE("not a name"), RR_SLICE("x")};
    char *large = calloc(1, 200000);
    rr_publication items[] = {
        {.subject = RR_SLICE("s.1"), .payload = RR_SLICE("fine")},
        {.subject = RR_SLICE("nowhere.1"), .payload = RR_SLICE("lost")},
        {.subject = RR_SLICE("s.2"), .payload = {large, 200000}},
        {.subject = RR_SLICE("s.*"), .payload = RR_SLICE("wild")},
        {.subject = RR_SLICE("s.3"), .payload = RR_SLICE("x"), .headers = &bad, .header_count = 1},
        {.subject = RR_SLICE("s.4"), .payload = {NULL, 0}},
    };
    static const struct {
        rr_status status;
        const char *word;
    } wanted[] = {{RR_OK, ""},
                  {RR_CONFIG, "nowhere.1: no stream keeps it"},
                  {RR_INPUT, "at most 131072"},
                  {RR_INPUT, "s.*"},
                  {RR_INPUT, "not a name"},
                  {RR_OK, ""}};
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    source = open_source(&options);
    assert_int_equal(ops->publish(source, items, 6, NULL), RR_OK);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(items[i].error.status, wanted[i].status);
        assert_non_null(strstr(items[i].error.text, wanted[i].word));
    }
    rr_server_kill(&w->server);
    assert_int_equal(ops->publish(source, items, 6, NULL), RR_UNAVAILABLE);
    assert_int_equal(items[0].error.status, RR_UNAVAILABLE);
    assert_true(rr_server_restart(&w->server, true));
    ops->close(source);
    redial(w);
    free(large);
}

/* A stream that is full, and a subject that the user may not publish on: the server answers, so it is one that refuses. */
static void a_refusal_to_store_is_told_as_one(void **state)
{
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_publication items[] = {
        {.subject = RR_SLICE("full.1"), .payload = RR_SLICE("more than that")},
        {.subject = RR_SLICE("forbidden.1"), .payload = RR_SLICE("x")},
        {.subject = RR_SLICE("s.1"), .payload = RR_SLICE("fine")},
    };
    static const char *const words[] = {"maximum bytes exceeded",
                                        "Permissions Violation for Publish to \"forbidden.1\"", ""};
    jsStreamConfig config;
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    make_stream(w, "FORBIDDEN", "forbidden.>", js_LimitsPolicy);
    jsStreamConfig_Init(&config);
    config.Name = "FULL";
    config.Subjects = (const char *[]){"full.>"};
    config.SubjectsLen = 1;
    config.MaxBytes = 10;
    config.Discard = js_DiscardNew;
    assert_int_equal(js_AddStream(NULL, w->js, &config, NULL, NULL), NATS_OK);
    options.user = options.password = "limited";
    source = open_source(&options);
    for (int times = 0; times < 2; times++) {
        assert_int_equal(ops->publish(source, items, 3, NULL), RR_OK);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(items[k].error.status, words[k][0] == '\0' ? RR_OK : RR_REFUSED_BY_SERVER);
            if (strstr(items[k].error.text, words[k]) == NULL) {
                fail_msg("'%s' does not say '%s'", items[k].error.text, words[k]);
            }
        }
    }
    ops->close(source);
}

static void many_are_published_at_once(void **state)
{
    enum { MANY = 1000 };
    world *w = *state;
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_publication *items = calloc(MANY, sizeof *items);
    rr_source_info info;
    rr_source *source;

    make_stream(w, "S", "s.>", js_LimitsPolicy);
    source = open_source(&options);
    for (size_t i = 0; i < MANY; i++) {
        items[i] = (rr_publication){.subject = RR_SLICE("s.1"), .payload = RR_SLICE("x")};
    }
    assert_int_equal(ops->publish(source, items, MANY, NULL), RR_OK);
    assert_int_equal(ops->info(source, &info, NULL), RR_OK);
    assert_int_equal(info.last_sequence, MANY);
    ops->close(source);
    free(items);
}

/* --- reading again --- */

typedef struct heard {
    uint64_t sequences[2048];
    size_t count, stop_after;
} heard;

static bool hear(void *context, const rr_delivery *delivery)
{
    heard *h = context;

    h->sequences[h->count++] = delivery->stream_sequence;
    assert_true(delivery->stored_at_us > 0);
    assert_true(delivery->payload.len > 0);
    return h->stop_after == 0 || h->count < h->stop_after;
}

static size_t again(rr_source *source, heard *h, uint64_t from, uint64_t to, size_t stop_after)
{
    rr_error error = {0};

    *h = (heard){.stop_after = stop_after};
    if (ops->replay(source, from, to, hear, h, &error) != RR_OK) {
        fail_msg("replay: %s", error.text);
    }
    return h->count;
}

static void ranges_are_read_again(world *w, jsRetentionPolicy retention)
{
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_source_info info;
    rr_source *source;
    heard h;

    make_stream(w, "S", "s.>", retention);
    put(w, "s", 1000);
    assert_int_equal(js_DeleteMsg(w->js, "S", 10, NULL, NULL), NATS_OK);
    options.filter = "s.1"; /* even sequences */
    source = open_source(&options);
    assert_int_equal(again(source, &h, 1, 0, 0), 499);
    assert_int_equal(h.sequences[0], 2);
    assert_int_equal(h.sequences[498], 1000);
    assert_int_equal(again(source, &h, 8, 12, 0), 2);
    assert_int_equal(h.sequences[0], 8);
    assert_int_equal(h.sequences[1], 12);
    assert_int_equal(again(source, &h, 10, 10, 0), 0);
    assert_int_equal(again(source, &h, 3, 3, 0), 0);
    assert_int_equal(again(source, &h, 1001, 0, 0), 0);
    assert_int_equal(again(source, &h, 1, 0, 3), 3);
    assert_int_equal(again(source, &h, 5, 4, 0), 0);
    assert_int_equal(ops->info(source, &info, NULL), RR_OK);
    assert_int_equal(info.delivered, 0);
    ops->close(source);
}

static void ranges_of_a_stream(void **state)
{
    ranges_are_read_again(*state, js_LimitsPolicy);
}

static void ranges_of_a_work_queue(void **state)
{
    ranges_are_read_again(*state, js_WorkQueuePolicy);
}

/* --- headers --- */

enum { LONG_VALUE = 40000 };

static const char *const wanted[] = {"X-Job", "Empty", "Long", NULL};

/* Headers of one message, and what of them is wanted: names as they are published, name and value alternate. */
typedef struct header_row {
    const char *put[8];
    const char *seen[6];
} header_row;

static char long_value[LONG_VALUE + 1];

static const header_row header_rows[] = {
    {{"X-Job", "a b", "Other", "x"}, {"X-Job", "a b"}},
    {{NULL}, {NULL}},
    {{"Other", "x"}, {NULL}},
    {{"X-Job", "first", "X-Job", "second"}, {"X-Job", "first"}},
    {{"Empty", "", "X-Job", "1"}, {"X-Job", "1", "Empty", ""}},
    {{"Empty", ""}, {"Empty", ""}},
    {{"x-job", "small", "X-Jobs", "more", "X-Jo", "less"}, {NULL}},
    {{"Long", long_value}, {"Long", long_value}},
    {{"X-Job", "a: b, c:d"}, {"X-Job", "a: b, c:d"}},
    {{"Long", "X-Job: no", "Empty", "\x01 \x7f"}, {"Empty", "\x01 \x7f", "Long", "X-Job: no"}},
};

enum { HEADER_ROWS = sizeof header_rows / sizeof *header_rows };

static void put_headers(world *w, const char *const *pairs)
{
    natsMsg *message = NULL;

    assert_int_equal(natsMsg_Create(&message, "s.1", NULL, "x", 1), NATS_OK);
    for (size_t k = 0; pairs[k] != NULL; k += 2) {
        assert_int_equal(natsMsgHeader_Add(message, pairs[k], pairs[k + 1]), NATS_OK);
    }
    assert_int_equal(js_PublishMsg(NULL, w->js, message, NULL, NULL), NATS_OK);
    natsMsg_Destroy(message);
}

static void assert_headers(const rr_delivery *delivery, bool are_wanted)
{
    const char *const *seen = header_rows[(delivery->stream_sequence - 1) % HEADER_ROWS].seen;
    size_t count = 0;

    for (; are_wanted && seen[2 * count] != NULL; count++) {
        assert_true(count < delivery->header_count);
        assert_true(rr_slice_equal(delivery->headers[count].name, rr_slice_of(seen[2 * count])));
        assert_true(rr_slice_equal(delivery->headers[count].value, rr_slice_of(seen[2 * count + 1])));
    }
    assert_int_equal(delivery->header_count, count);
    assert_true((delivery->headers == NULL) == (count == 0));
}

static bool hear_headers(void *context, const rr_delivery *delivery)
{
    size_t *count = context;

    assert_headers(delivery, true);
    assert_true(rr_slice_equal(delivery->payload, RR_SLICE("x")));
    ++*count;
    return true;
}

static bool hear_no_headers(void *context, const rr_delivery *delivery)
{
    size_t *count = context;

    assert_headers(delivery, false);
    ++*count;
    return true;
}

/* All are held at once, so that each has headers of its own; more than one slab of them. */
static void headers_come_and_come_again(world *w, jsRetentionPolicy retention, rr_ack_mode ack, bool are_wanted)
{
    rr_source_options options = options_of(w, ack);
    rr_delivery deliveries[MOST];
    size_t count = 0, all = 10 * HEADER_ROWS, got, again_count = 0;
    int64_t deadline = now_ms() + PATIENCE_MS;
    rr_source *source;

    memset(long_value, 'v', LONG_VALUE);
    options.headers = are_wanted ? wanted : NULL;
    make_stream(w, "S", "s.>", retention);
    for (size_t k = 0; k < all; k++) {
        put_headers(w, header_rows[k % HEADER_ROWS].put);
    }
    source = open_source(&options);
    while (count < all && now_ms() < deadline) {
        assert_int_equal(ops->fetch(source, deliveries + count, MOST - count, &got, 100, NULL), RR_OK);
        count += got;
    }
    assert_int_equal(count, all);
    for (size_t k = 0; k < all; k++) {
        assert_headers(&deliveries[k], are_wanted);
    }
    assert_int_equal(ops->replay(source, 1, 0, are_wanted ? hear_headers : hear_no_headers, &again_count, NULL), RR_OK);
    assert_int_equal(again_count, all);
    for (size_t k = 0; k < all; k++) {
        assert_headers(&deliveries[k], are_wanted);
    }
    ops->ack(source, deliveries, count, NULL);
    ops->close(source);
}

static void wanted_headers_come_explicit(void **state)
{
    headers_come_and_come_again(*state, js_LimitsPolicy, RR_ACK_EXPLICIT, true);
}

static void wanted_headers_come_all(void **state)
{
    headers_come_and_come_again(*state, js_LimitsPolicy, RR_ACK_ALL, true);
}

static void wanted_headers_come_from_a_work_queue(void **state)
{
    headers_come_and_come_again(*state, js_WorkQueuePolicy, RR_ACK_EXPLICIT, true);
}

static void no_header_comes_where_none_is_wanted(void **state)
{
    headers_come_and_come_again(*state, js_LimitsPolicy, RR_ACK_EXPLICIT, false);
}

static void names_of_headers_that_cannot_be_are_refused(void **state)
{
    static const char *const bad[] = {"a", "b c", NULL}, *const empty[] = {"", NULL};
    const char *many[RR_SOURCE_HEADERS_MAX + 2] = {NULL};
    rr_source_options options = options_of(*state, RR_ACK_EXPLICIT);

    options.headers = bad;
    refused(&options, RR_CONFIG, "'b c' is not a name");
    options.headers = empty;
    refused(&options, RR_CONFIG, "'' is not a name");
    for (size_t k = 0; k <= RR_SOURCE_HEADERS_MAX; k++) {
        many[k] = "X";
    }
    options.headers = many;
    refused(&options, RR_CONFIG, "more than 32");
}

/* --- a place by time --- */

typedef struct stored {
    uint64_t sequences[2048];
    int64_t times[2048];
    size_t count;
} stored;

static bool note_time(void *context, const rr_delivery *delivery)
{
    stored *all = context;

    all->sequences[all->count] = delivery->stream_sequence;
    all->times[all->count++] = delivery->stored_at_us;
    return true;
}

static uint64_t find(rr_source *source, int64_t time_us)
{
    rr_error error = {0};
    uint64_t sequence = UINT64_MAX;

    if (ops->find_time(source, time_us, &sequence, &error) != RR_OK) {
        fail_msg("find_time: %s", error.text);
    }
    return sequence;
}

/* As a look at every message finds it; equal times are told apart by nobody, so the first of them counts. */
static uint64_t find_slowly(const stored *all, int64_t time_us)
{
    for (size_t k = 0; k < all->count; k++) {
        if (all->times[k] >= time_us) {
            return all->sequences[k];
        }
    }
    return 0;
}

static void check_places(rr_source *source)
{
    stored *all = calloc(1, sizeof *all);

    assert_non_null(all);
    assert_int_equal(ops->replay(source, 1, 0, note_time, all, NULL), RR_OK);
    for (size_t k = 0; k < all->count; k += 7) {
        for (int64_t by = -1; by <= 1; by++) {
            assert_int_equal(find(source, all->times[k] + by), find_slowly(all, all->times[k] + by));
        }
    }
    assert_int_equal(find(source, 0), all->count == 0 ? 0 : all->sequences[0]);
    assert_int_equal(find(source, INT64_MIN), all->count == 0 ? 0 : all->sequences[0]);
    assert_int_equal(find(source, INT64_MAX), 0);
    assert_int_equal(find(source, INT64_C(4000000000000000)), 0); /* a time that is to come */
    if (all->count != 0) {
        assert_int_equal(find(source, all->times[all->count - 1] + 1), 0);
    }
    free(all);
}

static void delete_messages(world *w, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at <= to; at++) {
        assert_int_equal(js_DeleteMsg(w->js, "S", at, NULL, NULL), NATS_OK);
    }
}

static void places_are_found_by_time(world *w, jsRetentionPolicy retention, const char *filter)
{
    rr_source_options options = options_of(w, RR_ACK_EXPLICIT);
    rr_source_info info;
    rr_source *source;
    jsOptions purge;

    options.filter = filter;
    make_stream(w, "S", "s.>", retention);
    source = open_source(&options);
    check_places(source); /* it is empty, and always was */
    put(w, "s", 700);
    check_places(source);
    delete_messages(w, 1, 3);
    delete_messages(w, 100, 180);
    delete_messages(w, 690, 700); /* also the last ones */
    check_places(source);
    jsOptions_Init(&purge);
    purge.Stream.Purge.Sequence = 300;
    assert_int_equal(js_PurgeStream(w->js, "S", &purge, NULL), NATS_OK);
    put(w, "s", 50);
    check_places(source);
    assert_int_equal(js_PurgeStream(w->js, "S", NULL, NULL), NATS_OK);
    check_places(source); /* empty again, with sequences behind it */
    assert_int_equal(ops->info(source, &info, NULL), RR_OK);
    assert_int_equal(info.deliveries, 0);
    ops->close(source);
}

static void places_of_a_stream(void **state)
{
    places_are_found_by_time(*state, js_LimitsPolicy, NULL);
}

static void places_of_some_subjects(void **state)
{
    places_are_found_by_time(*state, js_LimitsPolicy, "s.1");
}

static void places_of_a_work_queue(void **state)
{
    places_are_found_by_time(*state, js_WorkQueuePolicy, NULL);
}

/* --- the parts without a server --- */

static void reply_subjects_are_read_and_written(void **state)
{
    static const char short_form[] = "$JS.ACK.S.C.3.12.15.1700000000123456789.7";
    static const char long_form[] = "$JS.ACK.hub.ACCOUNT.S.C.1.18446744073709551615.15.1700000000123456789.7.token";
    static const char *const bad[] = {"",
                                      "$JS.ACK.S.C.3.12.15.1.",
                                      "$JS.ACK.S.C.3.12.15.1",
                                      "$JS.ACK.S.C.x.12.15.1.2",
                                      "$JS.ACK.S.C.3.18446744073709551616.15.1.2",
                                      "_INBOX.a.b.c.1.2.3.4.5"};
    char text[RR_REPLY_MAX];
    rr_slice head;
    rr_reply reply;

    (void)state;
    assert_true(rr_reply_parse(RR_SLICE(short_form), &reply, &head));
    assert_int_equal(reply.delivered, 3);
    assert_int_equal(reply.stream, 12);
    assert_int_equal(reply.consumer, 15);
    assert_int_equal(reply.pending, 7);
    rr_reply_print(head, &reply, text);
    assert_string_equal(text, short_form);
    assert_true(rr_reply_parse(RR_SLICE(long_form), &reply, &head));
    assert_true(reply.stream == UINT64_MAX);
    assert_true(rr_slice_equal(head, RR_SLICE("$JS.ACK.hub.ACCOUNT.S.C.")));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(rr_reply_parse(rr_slice_of(bad[i]), &reply, &head));
    }
    assert_false(rr_reply_parse((rr_slice){NULL, 0}, &reply, &head));
    assert_false(rr_reply_parse(RR_SLICE("$JS.ACK.S.\0C.3.12.15.1.2"), &reply, &head));
}

static rr_acks_answer arrive(rr_acks *acks, uint64_t stream, uint64_t consumer)
{
    return rr_acks_take(acks, &(rr_reply){.delivered = 1, .stream = stream, .consumer = consumer});
}

static uint64_t due(rr_acks *acks)
{
    rr_reply reply = {0};

    return rr_acks_due(acks, &reply) ? reply.stream : 0;
}

static void only_what_is_known_whole_is_due(void **state)
{
    rr_acks acks = {0};

    (void)state;
    rr_acks_reset(&acks, 21);
    rr_acks_owe(&acks, 2, 12);
    assert_int_equal(arrive(&acks, 13, 21), RR_ACKS_TAKEN);
    rr_acks_done(&acks, 13);
    assert_int_equal(due(&acks), 0);
    assert_int_equal(arrive(&acks, 11, 22), RR_ACKS_TAKEN);
    assert_int_equal(arrive(&acks, 12, 23), RR_ACKS_TAKEN);
    rr_acks_done(&acks, 11);
    rr_acks_done(&acks, 12);
    assert_int_equal(due(&acks), 13);
    assert_int_equal(due(&acks), 0);
    assert_int_equal(arrive(&acks, 15, 25), RR_ACKS_GAP);
    assert_int_equal(arrive(&acks, 15, 20), RR_ACKS_BACK);
    rr_acks_fini(&acks);
}

static void no_acknowledgement_makes_the_server_deaf_to_the_next(void **state)
{
    rr_acks acks = {0};

    (void)state;
    rr_acks_reset(&acks, 1);
    for (uint64_t i = 1; i <= 4; i++) {
        arrive(&acks, i, i);
    }
    /* 1 comes again as the fifth delivery; acknowledging it now would void those of 2 to 4. */
    arrive(&acks, 1, 5);
    rr_acks_done(&acks, 1);
    assert_int_equal(due(&acks), 0);
    rr_acks_done(&acks, 2);
    rr_acks_done(&acks, 3);
    assert_int_equal(due(&acks), 3);
    rr_acks_done(&acks, 4);
    assert_int_equal(due(&acks), 4);
    rr_acks_fini(&acks);
}

static void the_list_grows_and_moves(void **state)
{
    rr_acks acks = {0};

    (void)state;
    for (uint64_t i = 1; i <= 10000; i++) {
        assert_int_equal(arrive(&acks, i, i), RR_ACKS_TAKEN);
        if (i > 3000) {
            rr_acks_done(&acks, i - 3000);
            assert_int_equal(due(&acks), i - 3000);
        }
    }
    assert_true(acks.room <= 8192);
    rr_acks_fini(&acks);
}

/* An argument picks tests by a pattern, such as '*killed*'. */
int main(int argc, char **argv)
{
#define REAL(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply_subjects_are_read_and_written),
        cmocka_unit_test(only_what_is_known_whole_is_due),
        cmocka_unit_test(no_acknowledgement_makes_the_server_deaf_to_the_next),
        cmocka_unit_test(the_list_grows_and_moves),
        REAL(a_missing_stream_is_named),
        REAL(a_missing_consumer_is_made_only_if_told),
        REAL(a_consumer_that_does_not_fit_is_refused_in_words),
        REAL(a_work_queue_is_read_explicitly_only),
        REAL(a_stream_that_removes_out_of_order_is_read_explicitly_only),
        REAL(no_server_is_unavailable_and_a_secret_is_not_told),
        REAL(all_come_once_explicit),
        REAL(all_come_once_all),
        REAL(an_empty_queue_waits_no_longer_than_told),
        REAL(no_more_is_asked_for_than_a_server_holds),
        REAL(all_is_acknowledged_only_up_to_the_first_not_done),
        REAL(explicit_comes_again),
        REAL(all_comes_again),
        REAL(progress_holds_off_the_repeat),
        REAL(explicit_leaves_at_once),
        REAL(all_leaves_at_once),
        REAL(a_successor_never_acknowledges_what_it_has_not_seen),
        REAL(a_killed_server_explicit),
        REAL(a_killed_server_all),
        REAL(a_silent_server_explicit),
        REAL(a_silent_server_all),
        REAL(a_deleted_consumer_is_told),
        REAL(a_consumer_deleted_unseen_is_found_out),
        REAL(an_emptied_server_is_told),
        REAL(a_second_reader_under_all_is_found_out),
        REAL(two_readers_share_under_explicit),
        REAL(what_is_published_is_kept_and_once_is_once),
        REAL(each_publication_fails_for_itself),
        REAL(a_refusal_to_store_is_told_as_one),
        REAL(many_are_published_at_once),
        REAL(ranges_of_a_stream),
        REAL(ranges_of_a_work_queue),
        REAL(wanted_headers_come_explicit),
        REAL(wanted_headers_come_all),
        REAL(wanted_headers_come_from_a_work_queue),
        REAL(no_header_comes_where_none_is_wanted),
        REAL(names_of_headers_that_cannot_be_are_refused),
        REAL(places_of_a_stream),
        REAL(places_of_some_subjects),
        REAL(places_of_a_work_queue),
    };

    if (!rr_server_installed(RR_SERVER_NATS)) {
        return 77;
    }
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
