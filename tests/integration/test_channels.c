/* The alert channels: a line on standard error, a message on a subject. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nats/nats.h>

#include "alert_log.h"
#include "alert_nats.h"
#include "servers.h"

static const rr_alert_message sample = {
    .contract = {"shop.orders 1", 13},
    .kind = {"stale_overwrite", 15},
    .id = {"a-1", 3},
    .json = {"{\"count\":3}", 11},
    .text = {"3 older results\nFORGED", 22},
};

/* What one send writes to standard error. */
static void capture(const rr_alert_message *messages, size_t count, char *text, size_t room)
{
    const rr_channel_ops *ops = &rr_alert_log_ops;
    rr_channel_options options = {0};
    rr_channel *channel = NULL;
    int ends[2], kept = dup(STDERR_FILENO);
    ssize_t got;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(ops->open(&options, &channel, NULL), RR_OK);
    dup2(ends[1], STDERR_FILENO);
    assert_int_equal(ops->send(channel, messages, count, NULL), RR_OK);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    got = read(ends[0], text, room - 1);
    text[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    ops->close(channel);
}

static void an_alert_is_one_line(void **state)
{
    char text[1024];

    (void)state;
    capture(&sample, 1, text, sizeof text);
    assert_non_null(strstr(text, "Z alert stale_overwrite shop.orders 1 count=3: 3 older results\\x0aFORGED\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void a_text_is_cut(void **state)
{
    static char large[4000];
    rr_alert_message message = sample;
    char text[4096];

    (void)state;
    memset(large, 'x', sizeof large);
    message.text = (rr_slice){large, sizeof large};
    message.json = (rr_slice){NULL, 0};
    capture(&message, 1, text, sizeof text);
    assert_true(strlen(text) < 2048);
    assert_non_null(strstr(text, "count=1: xxx"));
    assert_string_equal(text + strlen(text) - 4, "...\n");
}

/* --- NATS --- */

static int begin(void **state)
{
    rr_server *server = calloc(1, sizeof *server);

    *state = server;
    return server != NULL && rr_server_start_nats(server, "authorization { user: u, password: p }\n") ? 0 : -1;
}

static int end(void **state)
{
    rr_server_fini(*state);
    free(*state);
    return 0;
}

static natsConnection *listener(const rr_server *server)
{
    natsOptions *options = NULL;
    natsConnection *connection = NULL;

    natsOptions_Create(&options);
    natsOptions_SetURL(options, server->url);
    natsOptions_SetUserInfo(options, "u", "p");
    assert_int_equal(natsConnection_Connect(&connection, options), NATS_OK);
    natsOptions_Destroy(options);
    return connection;
}

static rr_status send_until(rr_channel *channel, rr_status wanted, int tries)
{
    rr_status status = rr_alert_nats_ops.send(channel, &sample, 1, NULL);

    for (; status != wanted && tries > 0; tries--) {
        usleep(50000);
        status = rr_alert_nats_ops.send(channel, &sample, 1, NULL);
    }
    return status;
}

static void an_alert_is_a_message(void **state)
{
    rr_server *server = *state;
    rr_channel_options options = {
        .url = server->url, .prefix = "rr.alerts", .user = "u", .password = "p", .timeout_ms = 1000};
    natsConnection *connection = listener(server);
    natsSubscription *sub = NULL;
    natsMsg *message = NULL;
    rr_channel *channel = NULL;
    const char *id = NULL;

    assert_int_equal(natsConnection_SubscribeSync(&sub, connection, "rr.alerts.*.*"), NATS_OK);
    natsConnection_Flush(connection);
    assert_int_equal(rr_alert_nats_ops.open(&options, &channel, NULL), RR_OK);
    assert_int_equal(rr_alert_nats_ops.send(channel, &sample, 1, NULL), RR_OK);
    assert_int_equal(natsSubscription_NextMsg(&message, sub, 1000), NATS_OK);
    assert_string_equal(natsMsg_GetSubject(message), "rr.alerts.shop%2Eorders%201.stale_overwrite");
    assert_string_equal(natsMsg_GetData(message), "{\"count\":3}");
    assert_int_equal(natsMsgHeader_Get(message, "Nats-Msg-Id", &id), NATS_OK);
    assert_string_equal(id, "a-1");
    natsMsg_Destroy(message);
    natsSubscription_Destroy(sub);
    natsConnection_Destroy(connection);
    rr_alert_nats_ops.close(channel);
}

static void the_same_alert_is_kept_once(void **state)
{
    rr_server *server = *state;
    rr_channel_options options = {.url = server->url, .user = "u", .password = "p", .timeout_ms = 1000};
    natsConnection *connection = listener(server);
    jsCtx *js = NULL;
    jsStreamInfo *info = NULL;
    jsStreamConfig config;
    const char *subject = "rr.alerts.>";
    rr_channel *channel = NULL;

    natsConnection_JetStream(&js, connection, NULL);
    jsStreamConfig_Init(&config);
    config.Name = "ALERTS";
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    assert_int_equal(js_AddStream(NULL, js, &config, NULL, NULL), NATS_OK);
    assert_int_equal(rr_alert_nats_ops.open(&options, &channel, NULL), RR_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rr_alert_nats_ops.send(channel, &sample, 1, NULL), RR_OK);
    }
    usleep(100000);
    assert_int_equal(js_GetStreamInfo(&info, js, "ALERTS", NULL, NULL), NATS_OK);
    assert_int_equal(info->State.Msgs, 1);
    jsStreamInfo_Destroy(info);
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    rr_alert_nats_ops.close(channel);
}

static void a_server_that_comes_and_goes(void **state)
{
    rr_server *server = *state;
    rr_channel_options options = {.url = server->url, .user = "u", .password = "p", .timeout_ms = 500};
    rr_channel *channel = NULL;
    rr_error error = {0};

    rr_server_kill(server);
    assert_int_equal(rr_alert_nats_ops.open(&options, &channel, NULL), RR_OK);
    assert_int_equal(rr_alert_nats_ops.send(channel, &sample, 1, &error), RR_UNAVAILABLE);
    assert_non_null(strstr(error.text, "not connected"));
    assert_true(rr_server_restart(server, true));
    assert_int_equal(send_until(channel, RR_OK, 60), RR_OK);
    rr_server_kill(server);
    assert_int_equal(send_until(channel, RR_UNAVAILABLE, 20), RR_UNAVAILABLE);
    assert_true(rr_server_restart(server, true));
    assert_int_equal(send_until(channel, RR_OK, 60), RR_OK);
    rr_alert_nats_ops.close(channel);
}

static void who_is_not_let_in_is_told(void **state)
{
    rr_server *server = *state;
    rr_channel_options options = {.url = server->url, .user = "u", .password = "wrong", .timeout_ms = 500};
    rr_channel *channel = NULL;
    rr_error error = {0};
    rr_status status = rr_alert_nats_ops.open(&options, &channel, &error);

    if (status == RR_OK) {
        status = rr_alert_nats_ops.send(channel, &sample, 1, &error);
    }
    assert_int_not_equal(status, RR_OK);
    assert_null(strstr(error.text, "wrong"));
    rr_alert_nats_ops.close(channel);
}

static void what_cannot_be_is_refused(void **state)
{
    static const struct {
        rr_channel_options options;
        const char *word;
    } rows[] = {
        {{.prefix = "a.*"}, "prefix"},
        {{.prefix = ".a"}, "prefix"},
        {{.nkey_seed_file = "/nonexistent"}, "nkey /nonexistent: No such file"},
        {{.tls_ca_file = "/nonexistent"}, "tls: ca /nonexistent: No such file"},
        {{.tls_cert_file = "/dev/null"}, "key is missing"},
        {{.tls_ca_file = "/dev/null"}, "tls: ca /dev/null: it holds no certificate"},
        {{.credentials_file = "/nonexistent"}, "credentials /nonexistent: No such file"},
        {{.nkey_seed_file = "/dev/null"}, "nkey /dev/null: it holds no seed"},
        {{.url = ","}, "url ,"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rr_channel *channel = NULL;
        rr_error error = {0};

        assert_int_equal(rr_alert_nats_ops.open(&rows[i].options, &channel, &error), RR_CONFIG);
        assert_null(channel);
        if (strstr(error.text, rows[i].word) == NULL) {
            fail_msg("'%s' does not say '%s'", error.text, rows[i].word);
        }
    }
}

int main(void)
{
#define REAL(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alert_is_one_line),
        cmocka_unit_test(a_text_is_cut),
        cmocka_unit_test(what_cannot_be_is_refused),
        REAL(an_alert_is_a_message),
        REAL(the_same_alert_is_kept_once),
        REAL(a_server_that_comes_and_goes),
        REAL(who_is_not_let_in_is_told),
    };

    if (!rr_server_installed(RR_SERVER_NATS)) {
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
