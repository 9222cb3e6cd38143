/* Alerts as lines: time, level, kind, contract, text, and how many it stands for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "alert_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "time.h"

enum { SHOWN_MAX = 1536 }; /* bytes of a text; what is longer is cut */

struct rr_channel {
    rr_buf line;
};

static rr_status log_open(const rr_channel_options *options, rr_channel **channel, rr_error *error)
{
    (void)options;
    *channel = calloc(1, sizeof **channel);
    return *channel != NULL ? RR_OK : rr_fail(error, RR_MEMORY, "no memory for a log channel");
}

static void log_close(rr_channel *channel)
{
    if (channel != NULL) {
        rr_buf_fini(&channel->line);
        free(channel);
    }
}

/* Escapes control characters, so that text from outside can neither begin a line nor steer a terminal. */
static void put_shown(rr_buf *line, rr_slice text)
{
    size_t shown = text.len < SHOWN_MAX ? text.len : SHOWN_MAX;

    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)text.data[i];

        if (c < ' ' || c == 0x7f) {
            rr_buf_format(line, "\\x%02x", c);
        } else {
            rr_buf_char(line, (char)c);
        }
    }
    if (shown < text.len) {
        rr_buf_text(line, "...");
    }
}

/* The alert's own "count"; 1 where it has none. */
static uint64_t count_of(rr_slice json)
{
    static const char name[] = "\"count\":";
    const char *end = json.len == 0 ? json.data : json.data + json.len;
    const char *at = json.len == 0 ? NULL : memmem(json.data, json.len, name, sizeof name - 1);
    uint64_t count = 0;

    for (at = at == NULL ? NULL : at + sizeof name - 1; at != NULL && at < end && *at >= '0' && *at <= '9'; at++) {
        count = count < UINT64_MAX / 10 - 9 ? count * 10 + (uint64_t)(*at - '0') : count;
    }
    return count == 0 ? 1 : count;
}

static void print_line(rr_buf *line, const rr_alert_message *message)
{
    char time_text[RR_TIME_TEXT_MAX];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    rr_buf_clear(line);
    rr_buf_put(line, time_text, rr_time_print((int64_t)now.tv_sec * RR_SECOND_US + now.tv_nsec / 1000, time_text));
    rr_buf_text(line, " alert ");
    put_shown(line, message->kind);
    rr_buf_char(line, ' ');
    put_shown(line, message->contract);
    rr_buf_format(line, " count=%" PRIu64 ": ", count_of(message->json));
    put_shown(line, message->text);
    rr_buf_char(line, '\n');
}

static rr_status write_line(rr_slice line, rr_error *error)
{
    while (line.len > 0) {
        ssize_t wrote = write(STDERR_FILENO, line.data, line.len);

        if (wrote < 0 && errno != EINTR) {
            return rr_fail(error, RR_IO, "alert to standard error: %s", strerror(errno));
        }
        if (wrote > 0) {
            line.data += wrote;
            line.len -= (size_t)wrote;
        }
    }
    return RR_OK;
}

static rr_status log_send(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t i = 0; i < count && status == RR_OK; i++) {
        print_line(&channel->line, &messages[i]);
        status = rr_buf_ok(&channel->line) ? write_line(rr_buf_view(&channel->line), error)
                                           : rr_fail(error, RR_MEMORY, "no memory for a line of the log");
    }
    return status;
}

const rr_channel_ops rr_alert_log_ops = {
    .scheme = "log",
    .open = log_open,
    .close = log_close,
    .send = log_send,
};

#ifdef RR_PLUGIN_SHARED
#include <rr/plugin.h>

extern const rr_plugin rr_plugin_export __asm__("rr_plugin") __attribute__((visibility("default")));

const rr_plugin rr_plugin_export = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "alert_log",
    .help = "Writes alerts to standard error, one line each.",
    .channel = &rr_alert_log_ops,
};
#endif
