/* Reading a range again in a cluster where the reader's server is behind the stream's leader. What cnats does is played
 * here: the functions below take the place of its own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "js_replay.h"

/* The stream has the messages 1 to there; the reader's server has those up to `here`. */
static uint64_t there, here, at;
static bool in_a_cluster, may_ask;

natsConnStatus natsConnection_Status(natsConnection *connection)
{
    (void)connection;
    return NATS_CONN_STATUS_CONNECTED;
}

natsStatus natsConnection_SubscribeSync(natsSubscription **sub, natsConnection *connection, const char *subject)
{
    (void)connection;
    (void)subject;
    *sub = NULL;
    return NATS_OK;
}

natsStatus natsSubscription_SetPendingLimits(natsSubscription *sub, int messages, int bytes)
{
    (void)sub;
    (void)messages;
    (void)bytes;
    return NATS_OK;
}

natsStatus natsConnection_PublishRequest(natsConnection *connection, const char *subject, const char *reply,
                                         const void *data, int len)
{
    (void)connection;
    (void)subject;
    (void)reply;
    (void)data;
    (void)len;
    return NATS_OK;
}

natsStatus js_AddConsumer(jsConsumerInfo **info, jsCtx *js, const char *stream, jsConsumerConfig *config,
                          jsOptions *options, jsErrCode *code)
{
    static jsClusterInfo cluster;

    (void)js;
    (void)stream;
    (void)options;
    (void)code;
    at = config->OptStartSeq;
    *info = calloc(1, sizeof **info);
    (*info)->Name = strdup("reader");
    (*info)->NumPending = at > here ? 0 : here - at + 1;
    (*info)->Cluster = in_a_cluster ? &cluster : NULL;
    return NATS_OK;
}

natsStatus js_DeleteConsumer(jsCtx *js, const char *stream, const char *consumer, jsOptions *options, jsErrCode *code)
{
    (void)js;
    (void)stream;
    (void)consumer;
    (void)options;
    (void)code;
    return NATS_OK;
}

void jsConsumerInfo_Destroy(jsConsumerInfo *info)
{
    free(info->Name);
    free(info);
}

natsStatus natsSubscription_NextMsg(natsMsg **message, natsSubscription *sub, int64_t timeout)
{
    char reply[128];

    (void)sub;
    (void)timeout;
    if (at > here) {
        return natsMsg_Create(message, "inbox", NULL, NULL, 0); /* a status: there is no more */
    }
    snprintf(reply, sizeof reply, "$JS.ACK.S.reader.1.%llu.%llu.5.%llu", (unsigned long long)at, (unsigned long long)at,
             (unsigned long long)(here - at));
    at++;
    return natsMsg_Create(message, "orders", reply, "x", 1);
}

natsStatus natsConnection_RequestString(natsMsg **answer, natsConnection *connection, const char *subject,
                                        const char *request, int64_t timeout)
{
    unsigned long long from;
    char *rest, text[192] = "{\"error\":{\"code\":404,\"err_code\":10037,\"description\":\"no message found\"}}";

    (void)connection;
    (void)timeout;
    assert_true(may_ask);
    assert_string_equal(subject, "$JS.API.STREAM.MSG.GET.S");
    assert_int_equal(strncmp(request, "{\"seq\":", strlen("{\"seq\":")), 0);
    from = strtoull(request + strlen("{\"seq\":"), &rest, 10);
    assert_string_equal(rest, ",\"next_by_subj\":\"orders\"}");
    if (from <= there) {
        snprintf(text, sizeof text,
                 "{\"message\":{\"subject\":\"orders\",\"seq\":%llu,\"data\":\"eA==\",\"time\":\"2026-01-01T10:00:00."
                 "123456789Z\"}}",
                 from);
    }
    return natsMsg_Create(answer, "inbox", NULL, text, (int)strlen(text));
}

static bool count(void *context, const rr_delivery *delivery)
{
    uint64_t *last = context;

    assert_int_equal(delivery->stream_sequence, *last + 1);
    *last = delivery->stream_sequence;
    return *last != 77; /* enough */
}

static rr_status replay(uint64_t from, uint64_t to, uint64_t *last)
{
    rr_nats nats = {.place = "nats://there"};
    rr_source source = {
        .options = {.stream = "S", .timeout_ms = 1000}, .nats = &nats, .filter = "orders", .api = "$JS.API"};

    *last = from - 1;
    return rr_js_replay(&source, from, to, count, last, NULL);
}

static void an_end_that_is_none_is_no_end(void **state)
{
    static const struct {
        uint64_t there, here, from, to;
        bool cluster, asks;
        rr_status status;
        uint64_t last;
    } rows[] = {
        {600, 600, 1, 600, true, false, RR_OK, 77},
        {600, 600, 100, 600, true, false, RR_OK, 600},
        {600, 700, 100, 600, true, false, RR_OK, 600},
        {600, 256, 100, 600, true, true, RR_UNAVAILABLE, 256}, /* one that acknowledges goes by what it saw */
        {600, 599, 100, 600, true, true, RR_UNAVAILABLE, 599},
        {600, 50, 100, 600, true, true, RR_UNAVAILABLE, 99},
        {599, 599, 100, 600, true, true, RR_OK, 599}, /* the last one was removed */
        {99, 99, 100, 600, true, true, RR_OK, 99},
        {600, 256, 100, 0, true, false, RR_OK, 256}, /* what there is */
        {599, 599, 100, 600, false, false, RR_OK, 599},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        uint64_t last;

        there = rows[k].there;
        here = rows[k].here;
        in_a_cluster = rows[k].cluster;
        may_ask = rows[k].asks;
        assert_int_equal(replay(rows[k].from, rows[k].to, &last), rows[k].status);
        assert_int_equal(last, rows[k].last);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_end_that_is_none_is_no_end)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
