/* Streams through cnats. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "publish.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STORED_MS = 60000, REQUEST_MS = 10000 };

static void check(natsStatus status, const char *what)
{
    if (status != NATS_OK) {
        fail_msg("nats: %s: %s, %s", what, natsStatus_GetText(status), nats_GetLastError(NULL));
    }
}

void rr_nats_reconnect(rr_world *world)
{
    jsOptions options;

    natsConnection_Close(world->connection);
    jsCtx_Destroy(world->js);
    natsConnection_Destroy(world->connection);
    world->js = NULL;
    world->connection = NULL;
    check(natsConnection_ConnectTo(&world->connection, world->nats.url), "connect");
    jsOptions_Init(&options);
    options.Wait = REQUEST_MS;
    check(natsConnection_JetStream(&world->js, world->connection, &options), "JetStream");
}

void rr_stream_make(rr_world *world, const char *stream, const char *subject, long most)
{
    const char *subjects[] = {subject};
    jsStreamConfig config;
    jsErrCode code = 0;
    natsStatus status;

    jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.MaxMsgs = most == 0 ? -1 : most;
    config.Discard = most == 0 ? js_DiscardOld : js_DiscardNew;
    status = js_AddStream(NULL, world->js, &config, NULL, &code);
    if (status != NATS_OK) {
        status = js_UpdateStream(NULL, world->js, &config, NULL, &code);
    }
    check(status, stream);
}

void rr_stream_make_queue(rr_world *world, const char *stream, const char *subject)
{
    const char *subjects[] = {subject};
    jsStreamConfig config;

    rr_stream_remove(world, stream);
    jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Retention = js_WorkQueuePolicy;
    check(js_AddStream(NULL, world->js, &config, NULL, NULL), stream);
}

void rr_stream_remove(rr_world *world, const char *stream)
{
    check(js_DeleteStream(world->js, stream, NULL, NULL), stream);
}

void rr_stream_purge(rr_world *world, const char *stream)
{
    check(js_PurgeStream(world->js, stream, NULL, NULL), stream);
}

static jsStreamState state_of(rr_world *world, const char *stream)
{
    jsStreamInfo *info = NULL;
    jsStreamState state;

    check(js_GetStreamInfo(&info, world->js, stream, NULL, NULL), stream);
    state = info->State;
    jsStreamInfo_Destroy(info);
    return state;
}

uint64_t rr_stream_count(rr_world *world, const char *stream)
{
    return state_of(world, stream).Msgs;
}

uint64_t rr_stream_last(rr_world *world, const char *stream)
{
    return state_of(world, stream).LastSeq;
}

natsMsg *rr_stream_message(rr_world *world, const char *stream, uint64_t sequence)
{
    natsMsg *message = NULL;

    check(js_GetMsg(&message, world->js, stream, sequence, NULL, NULL), stream);
    return message;
}

/* Waits until the stream's last sequence is `last`. */
static void wait_stored(rr_world *world, uint64_t last)
{
    long long until = rr_now_ms() + STORED_MS;

    check(natsConnection_FlushTimeout(world->connection, REQUEST_MS), "flush");
    while (rr_stream_last(world, "RESULTS") < last) {
        if (rr_now_ms() > until) {
            fail_msg("RESULTS did not store what was published");
        }
        rr_nap_ms(5);
    }
}

void rr_publish_history(rr_world *world, const rr_history *history, size_t from, size_t count)
{
    uint64_t last = rr_stream_last(world, "RESULTS") + count;

    for (size_t k = from; k < from + count; k++) {
        const rr_message *message = &history->items[k];
        char subject[128];

        snprintf(subject, sizeof subject, "results.%s", history->names[message->contract]);
        check(natsConnection_Publish(world->connection, subject, message->payload.data, (int)message->payload.len),
              subject);
    }
    wait_stored(world, last);
}

void rr_publish_bytes(rr_world *world, const char *subject, const void *bytes, size_t len)
{
    uint64_t last = rr_stream_last(world, "RESULTS") + 1;

    check(natsConnection_Publish(world->connection, subject, bytes, (int)len), subject);
    wait_stored(world, last);
}

void rr_publish_json(rr_world *world, const char *config, const char *contract, const char *lines)
{
    char path[RR_WORLD_PATH];
    FILE *file;

    snprintf(path, sizeof path, "%s/lines.jsonl", world->folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(lines, file);
    fclose(file);
    free(rr_world_output(world, (const char *[]){"publish", "--config", config, "--contract", contract, path, NULL},
                         NULL));
}

rr_progress rr_consumer_progress(rr_world *world)
{
    jsConsumerInfo *info = NULL;
    rr_progress progress = {0};

    if (js_GetConsumerInfo(&info, world->js, "RESULTS", "reconciler", NULL, NULL) == NATS_OK) {
        progress.pending = info->NumPending;
        progress.ack_pending = (uint64_t)info->NumAckPending;
        progress.ack_floor = info->AckFloor.Stream;
        progress.delivered = info->Delivered.Stream;
        jsConsumerInfo_Destroy(info);
    }
    return progress;
}

static bool settled(rr_world *world, const void *context)
{
    rr_progress progress = rr_consumer_progress(world);

    (void)context;
    return progress.pending == 0 && progress.ack_pending == 0;
}

void rr_wait_settled(rr_world *world, int within_ms)
{
    rr_wait(world, settled, NULL, within_ms, "all records to be acknowledged");
}

static bool unacknowledged(rr_world *world, const void *context)
{
    rr_progress progress = rr_consumer_progress(world);

    return progress.pending == 0 && progress.ack_pending == *(const uint64_t *)context;
}

void rr_wait_unacknowledged(rr_world *world, uint64_t count, int within_ms)
{
    rr_wait(world, unacknowledged, &count, within_ms, "the right number of records to stay unacknowledged");
}

/* The port of the monitoring page, from the file that the server wrote when it started. */
static int monitoring_port(rr_world *world)
{
    char path[RR_WORLD_PATH], text[512] = "";
    const char *at;
    FILE *file;

    snprintf(path, sizeof path, "%s/nats-server_%d.ports", world->nats.folder, (int)world->nats.pid);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    at = strstr(text, "http://127.0.0.1:");
    assert_non_null(at);
    return atoi(at + strlen("http://127.0.0.1:"));
}

long long rr_nats_number(rr_world *world, const char *name)
{
    static const char request[] = "GET /varz HTTP/1.0\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)monitoring_port(world))};
    char page[65536], wanted[64];
    size_t len = 0;
    ssize_t got;
    const char *at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_true(send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0);
    while (len < sizeof page - 1 && (got = recv(fd, page + len, sizeof page - 1 - len, 0)) > 0) {
        len += (size_t)got;
    }
    close(fd);
    page[len] = '\0';
    snprintf(wanted, sizeof wanted, "\"%s\": ", name);
    at = strstr(page, wanted);
    assert_non_null(at);
    return strtoll(at + strlen(wanted), NULL, 10);
}
