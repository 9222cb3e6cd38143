/* A stream behind a JetStream domain or another API prefix, on real servers: a hub with a leaf node that holds the stream,
 * and a server where requests have another name. */
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

#include "servers.h"
#include "source_jetstream.h"

enum { MESSAGES = 20, PATIENCE_MS = 60000 };

static const rr_source_ops *const ops = &rr_source_jetstream_ops;

typedef struct world {
    rr_server hub, leaf;
    char hub_config[128], leaf_config[128];
} world;

/* "hello" on s.0, s.1, ..., each with a header, at the server that holds the stream. */
static void fill(const rr_server *server)
{
    static const char *const subjects[] = {"s.>", "dead.>"};
    natsConnection *connection;
    jsStreamConfig config;
    jsCtx *js;

    assert_int_equal(natsConnection_ConnectTo(&connection, server->url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&js, connection, NULL), NATS_OK);
    jsStreamConfig_Init(&config);
    config.Name = "S";
    config.Subjects = (const char **)subjects;
    config.SubjectsLen = 2;
    assert_int_equal(js_AddStream(NULL, js, &config, NULL, NULL), NATS_OK);
    for (int k = 0; k < MESSAGES; k++) {
        natsMsg *message = NULL;
        char subject[16];

        snprintf(subject, sizeof subject, "s.%d", k);
        assert_int_equal(natsMsg_Create(&message, subject, NULL, "hello", 5), NATS_OK);
        assert_int_equal(natsMsgHeader_Add(message, "X-Job", subject), NATS_OK);
        assert_int_equal(js_PublishMsg(NULL, js, message, NULL, NULL), NATS_OK);
        natsMsg_Destroy(message);
    }
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The leaf node joins the hub some time after it has started. */
static rr_source *open_when_joined(const rr_source_options *options)
{
    int64_t deadline = now_ms() + PATIENCE_MS;
    rr_source *source = NULL;
    rr_error error = {0};

    while (ops->open(options, &source, &error) != RR_OK && now_ms() < deadline) {
        nats_Sleep(100);
    }
    if (source == NULL) {
        fail_msg("open: %s", error.text);
    }
    return source;
}

static bool hear(void *context, const rr_delivery *delivery)
{
    size_t *heard = context;

    assert_int_equal(delivery->header_count, 1);
    assert_true(rr_slice_equal(delivery->headers[0].value, delivery->subject));
    ++*heard;
    return true;
}

static size_t read_most(rr_source *source, size_t most)
{
    rr_delivery deliveries[MESSAGES];
    int64_t deadline = now_ms() + PATIENCE_MS;
    size_t count = 0, got;
    rr_error error = {0};

    while (count < most && now_ms() < deadline) {
        rr_status status = ops->fetch(source, deliveries, most - count, &got, 100, &error);

        if (status != RR_OK && status != RR_UNAVAILABLE) {
            fail_msg("fetch: %s", error.text);
        }
        for (size_t k = 0, heard = 0; k < got; k++) {
            hear(&heard, &deliveries[k]);
        }
        assert_int_equal(ops->ack(source, deliveries, got, NULL), RR_OK);
        count += got;
    }
    return count;
}

/* A server may repeat a message, so what comes meanwhile is acknowledged too. */
static void assert_floor(rr_source *source, uint64_t floor, size_t most)
{
    rr_delivery deliveries[MESSAGES];
    size_t got;
    int64_t deadline = now_ms() + PATIENCE_MS;
    rr_source_info info = {0};

    while (info.ack_floor < floor && now_ms() < deadline) {
        assert_int_equal(ops->flush(source, 2000, NULL), RR_OK);
        assert_int_equal(ops->info(source, &info, NULL), RR_OK);
        if (most != 0 && ops->fetch(source, deliveries, most, &got, 50, NULL) == RR_OK) {
            ops->ack(source, deliveries, got, NULL);
        }
    }
    assert_true(info.ack_floor >= floor); /* it passes what the filter leaves out */
}

static void assert_others(rr_source *source)
{
    rr_publication letter = {.subject = RR_SLICE("dead.1"), .payload = RR_SLICE("x"), .once = true};
    uint64_t sequence = 0;
    size_t heard = 0;
    char stream[256];

    assert_int_equal(ops->replay(source, 1, MESSAGES, hear, &heard, NULL), RR_OK);
    assert_int_equal(heard, MESSAGES);
    assert_int_equal(ops->find_time(source, 0, &sequence, NULL), RR_OK);
    assert_int_equal(sequence, 1);
    assert_int_equal(ops->bound(source, RR_SLICE("dead.1"), stream, NULL), RR_OK);
    assert_string_equal(stream, "S");
    assert_int_equal(ops->publish(source, &letter, 1, NULL), RR_OK);
    assert_int_equal(letter.error.status, RR_OK);
}

static void assert_survey(const rr_source_options *options)
{
    rr_source_survey survey;

    assert_int_equal(ops->survey(options, RR_SLICE("dead.1"), &survey, NULL), RR_OK);
    assert_int_equal(survey.stream.there, RR_YES);
    assert_int_equal(survey.consumer.there, RR_YES);
    assert_string_equal(survey.dead_letters.name, "S");
}

/* Half, then, where `hands_over`, another process reads on. */
static void a_stream_is_read_through(const rr_server *server, const char *domain, const char *prefix, rr_ack_mode ack,
                                     bool hands_over)
{
    static const char *const wanted[] = {"X-Job", NULL};
    rr_source_options options = {.url = server->url,
                                 .stream = "S",
                                 .consumer = ack == RR_ACK_ALL ? "all"
                                             : prefix == NULL  ? "explicit"
                                                               : "prefixed",
                                 .filter = "s.>",
                                 .ack = ack,
                                 .create = true,
                                 .timeout_ms = 2000,
                                 .ack_wait_s = 30,
                                 .headers = wanted,
                                 .domain = domain,
                                 .api_prefix = prefix};
    rr_source *source = open_when_joined(&options);

    assert_int_equal(read_most(source, MESSAGES / 2), MESSAGES / 2);
    assert_floor(source, MESSAGES / 2, 0);
    if (hands_over) {
        ops->close(source);
        source = open_when_joined(&options);
    }
    assert_int_equal(read_most(source, MESSAGES / 2), MESSAGES / 2);
    assert_floor(source, MESSAGES, MESSAGES);
    assert_others(source);
    ops->close(source);
    assert_survey(&options);
}

static void a_leaf_node_is_read_from_the_hub(void **state)
{
    world *w = calloc(1, sizeof *w);
    int port = rr_server_free_port();
    rr_source_options plain;
    rr_source *source = NULL;

    (void)state;
    assert_non_null(w);
    snprintf(w->hub_config, sizeof w->hub_config, "leafnodes { listen: \"127.0.0.1:%d\" }\n", port);
    snprintf(w->leaf_config, sizeof w->leaf_config,
             "leafnodes { reconnect: 1, remotes: [ { url: \"nats-leaf://127.0.0.1:%d\" } ] }\n", port);
    assert_true(rr_server_start_nats_domain(&w->hub, "hub", w->hub_config));
    assert_true(rr_server_start_nats_domain(&w->leaf, "leaf", w->leaf_config));
    fill(&w->leaf);
    a_stream_is_read_through(&w->hub, "leaf", NULL, RR_ACK_EXPLICIT, true);
    a_stream_is_read_through(&w->hub, "leaf", NULL, RR_ACK_ALL, false);
    a_stream_is_read_through(&w->hub, NULL, "$JS.leaf.API", RR_ACK_EXPLICIT, true);

    /* Without the domain the hub's own JetStream is asked, which has no such stream. */
    plain = (rr_source_options){.url = w->hub.url, .stream = "S", .consumer = "C", .create = true, .timeout_ms = 2000};
    assert_int_equal(ops->open(&plain, &source, NULL), RR_CONFIG);
    rr_server_fini(&w->leaf);
    rr_server_fini(&w->hub);
    free(w);
}

static void requests_may_have_another_name(void **state)
{
    rr_server server;

    (void)state;
    assert_true(rr_server_start_nats(&server, "mappings = { \"orders.api.>\": \"$JS.API.>\" }\n"));
    fill(&server);
    a_stream_is_read_through(&server, NULL, "orders.api", RR_ACK_EXPLICIT, true);
    a_stream_is_read_through(&server, NULL, "orders.api", RR_ACK_ALL, true);
    rr_server_fini(&server);
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        const char *domain, *prefix, *word;
    } rows[] = {{"a", "b", "only one"},  {"a.b", NULL, "domain"}, {"", NULL, "domain"},
                {NULL, "a.*", "prefix"}, {NULL, "a.", "prefix"},  {NULL, "", "prefix"}};

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rr_source_options options = {
            .stream = "S", .consumer = "C", .domain = rows[k].domain, .api_prefix = rows[k].prefix};
        rr_source *source = NULL;
        rr_error error = {0};

        assert_int_equal(ops->open(&options, &source, &error), RR_CONFIG);
        assert_non_null(strstr(error.text, rows[k].word));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(requests_may_have_another_name),
        cmocka_unit_test(a_leaf_node_is_read_from_the_hub),
    };

    if (!rr_server_installed(RR_SERVER_NATS)) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
