/* A line is put together on the stack and written by one call, so lines of several threads do not mix. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "printable.h"

static const char *const words[] = {"error", "warning", "info", "debug"};
static _Atomic int threshold = RR_LOG_INFO;
static _Atomic int out = -1;

void rr_log_set_level(rr_log_level level)
{
    threshold = level;
}

rr_log_level rr_log_get_level(void)
{
    return (rr_log_level)threshold;
}

const char *rr_log_level_word(rr_log_level level)
{
    return words[level];
}

void rr_log_set_fd(int fd)
{
    out = fd;
}

static size_t put_time(char *line, size_t room)
{
    struct timespec now;
    struct tm parts;
    size_t len;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    len = strftime(line, room, "%Y-%m-%dT%H:%M:%S", &parts);
    return len + (size_t)snprintf(line + len, room - len, ".%03ldZ ", now.tv_nsec / 1000000);
}

/* Copies text as it may be shown; returns the new end. Leaves room for "...\n". */
static char *put_printable(char *at, const char *end, const char *text)
{
    rr_slice rest = rr_slice_of(text);

    while (rest.len != 0) {
        char form[RR_PRINTABLE_MAX];
        size_t len = rr_printable_next(&rest, form);

        if ((size_t)(end - at) < len + 4) {
            return stpcpy(at, "...");
        }
        memcpy(at, form, len);
        at += len;
    }
    return at;
}

static void write_line(rr_log_level level, const char *text)
{
    char line[RR_LOG_LINE_MAX], *at = line;
    int fd = out < 0 ? STDERR_FILENO : out;
    ssize_t written;

    at += put_time(at, 64);
    at += sprintf(at, "%s ", words[level]);
    at = put_printable(at, line + sizeof line, text);
    *at++ = '\n';
    written = write(fd, line, (size_t)(at - line));
    (void)written; /* There is nowhere to report that the log cannot be written. */
}

void rr_log(rr_log_level level, const char *format, ...)
{
    char text[RR_LOG_LINE_MAX];
    va_list arguments;

    if ((int)level > threshold) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    write_line(level, text);
}

static int64_t monotonic_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void rr_log_limited(rr_log_limit *limit, rr_log_level level, const char *format, ...)
{
    int64_t now = monotonic_ms(), next = limit->next_ms;
    int interval = limit->interval_ms == 0 ? 10000 : limit->interval_ms;
    char text[RR_LOG_LINE_MAX];
    uint64_t held;
    va_list arguments;
    int len;

    if ((int)level > threshold) {
        return;
    }
    if (now < next || !atomic_compare_exchange_strong(&limit->next_ms, &next, now + interval)) {
        limit->held++;
        return;
    }
    va_start(arguments, format);
    len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    held = atomic_exchange(&limit->held, 0);
    if (held != 0 && len >= 0 && (size_t)len < sizeof text) {
        snprintf(text + len, sizeof text - (size_t)len, " (and %llu more like it, not shown)",
                 (unsigned long long)held);
    }
    write_line(level, text);
}
