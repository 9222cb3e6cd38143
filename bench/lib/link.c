/* Reading a durable consumer, by the library's fetch or by pulls of our own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSTANDING = 3, WAIT_MS = 2000 };

void bench_nats_check(natsStatus status, const char *what)
{
    if (status != NATS_OK) {
        bench_fail(what, natsStatus_GetText(status));
    }
}

void bench_link_connect(bench_link *link, const bench_options *options)
{
    *link = (bench_link){.options = options};
    bench_nats_check(natsConnection_ConnectTo(&link->connection, options->nats), "connect");
    bench_nats_check(natsConnection_JetStream(&link->js, link->connection, NULL), "JetStream");
}

void bench_link_bind(bench_link *link, bool pulls)
{
    const bench_options *options = link->options;
    natsInbox *inbox = NULL;
    jsSubOptions with;
    jsErrCode code = 0;

    link->pulls = pulls;
    if (!pulls) {
        jsSubOptions_Init(&with);
        with.Stream = options->stream;
        with.Consumer = options->consumer;
        bench_nats_check(js_PullSubscribe(&link->sub, link->js, "bench.>", NULL, NULL, &with, &code), "subscribe");
        return;
    }
    bench_nats_check(natsInbox_Create(&inbox), "inbox");
    snprintf(link->inbox, sizeof link->inbox, "%s", inbox);
    natsInbox_Destroy(inbox);
    snprintf(link->pull_subject, sizeof link->pull_subject, "$JS.API.CONSUMER.MSG.NEXT.%s.%s", options->stream,
             options->consumer);
    bench_nats_check(natsConnection_SubscribeSync(&link->sub, link->connection, link->inbox), "subscribe");
    natsSubscription_SetPendingLimits(link->sub, -1, -1);
}

static void top_up(bench_link *link)
{
    size_t batch = link->options->batch;
    char request[64];
    int len = snprintf(request, sizeof request, "{\"batch\":%zu,\"expires\":5000000000}", batch);

    while (link->owed + batch <= OUTSTANDING * batch) {
        bench_nats_check(natsConnection_PublishRequest(link->connection, link->pull_subject, link->inbox, request, len),
                         "pull");
        link->owed += batch;
    }
}

/* A pull that ended with so many messages not delivered. */
static void end_pull(bench_link *link, natsMsg *status)
{
    const char *text = NULL;
    size_t left = link->options->batch;

    if (natsMsgHeader_Get(status, "Nats-Pending-Messages", &text) == NATS_OK) {
        left = strtoull(text, NULL, 10);
    }
    link->owed -= left < link->owed ? left : link->owed;
}

static size_t fetch_by_pulls(bench_link *link, natsMsg **messages)
{
    size_t count = 0;
    natsMsg *message = NULL;

    top_up(link);
    while (count < link->options->batch &&
           natsSubscription_NextMsg(&message, link->sub, count == 0 ? WAIT_MS : 0) == NATS_OK) {
        if (natsMsg_GetReply(message) == NULL) {
            end_pull(link, message);
            natsMsg_Destroy(message);
            continue;
        }
        messages[count++] = message;
        link->owed--;
    }
    top_up(link);
    return count;
}

static size_t fetch_by_library(bench_link *link, natsMsg **messages)
{
    natsMsgList list = {0};
    jsErrCode code = 0;
    size_t count = 0;
    natsStatus status = natsSubscription_Fetch(&list, link->sub, (int)link->options->batch, WAIT_MS, &code);

    if (status != NATS_TIMEOUT) {
        bench_nats_check(status, "fetch");
    }
    for (int i = 0; i < list.Count; i++) {
        messages[count++] = list.Msgs[i];
        list.Msgs[i] = NULL;
    }
    natsMsgList_Destroy(&list);
    return count;
}

size_t bench_link_fetch(bench_link *link, natsMsg **messages)
{
    return link->pulls ? fetch_by_pulls(link, messages) : fetch_by_library(link, messages);
}

void bench_link_ack(bench_link *link, natsMsg **messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!link->options->ack_all || i + 1 == count) {
            bench_nats_check(natsConnection_PublishString(link->connection, natsMsg_GetReply(messages[i]), "+ACK"),
                             "acknowledge");
        }
        natsMsg_Destroy(messages[i]);
    }
}

void bench_link_close(bench_link *link)
{
    natsConnection_FlushTimeout(link->connection, WAIT_MS);
    natsSubscription_Destroy(link->sub);
    jsCtx_Destroy(link->js);
    natsConnection_Destroy(link->connection);
}
