/* A source plugin in one file: the messages of a file, as a stream with one consumer.
 *
 * A message is a line, or (framing) as `reconciler encode` writes records: its length as a varint, then its bytes. What was
 * acknowledged is forgotten when the source is closed. Dead letters are appended to a file.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rr/plugin.h>

enum { FILE_OPTION, SUBJECT, LINES, FIRST_AT, SPACING, LETTERS };

static const rr_plugin_option options_table[] = {
    [FILE_OPTION] = {"file", RR_PLUGIN_PATH, .required = true, .help = "the file with the messages"},
    [SUBJECT] = {"subject", RR_PLUGIN_TEXT, .preset = "results", .help = "of each message"},
    [LINES] = {"lines", RR_PLUGIN_BOOL, .preset = "false", .help = "a message is a line"},
    [FIRST_AT] = {"first_at", RR_PLUGIN_INTEGER, .preset = "1704103200",
                  .help = "when the first message was stored, in seconds since the epoch"},
    [SPACING] = {"spacing", RR_PLUGIN_DURATION, .preset = "1s", .help = "the time between two messages"},
    [LETTERS] = {"letters", RR_PLUGIN_PATH, .required = true, .help = "the file that dead letters are appended to"},
    RR_PLUGIN_OPTIONS_END,
};

typedef enum state { WAITING, DELIVERED, ACKED } state;

typedef struct message {
    rr_slice bytes;
    state state;
    uint64_t times;
} message;

struct rr_source {
    char *bytes;
    size_t len;
    message *messages;
    size_t count, room;
    uint64_t consumed;
    const rr_plugin_value *values;
};

/* ---- the file ---- */

static bool add_message(rr_source *source, const char *data, size_t len)
{
    if (source->count == source->room) {
        size_t room = source->room == 0 ? 64 : source->room * 2;
        message *grown = realloc(source->messages, room * sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        source->messages = grown;
        source->room = room;
    }
    source->messages[source->count++] = (message){.bytes = {data, len}};
    return true;
}

static bool split_lines(rr_source *source)
{
    const char *at = source->bytes, *end = at + source->len;

    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));

        line_end = line_end == NULL ? end : line_end;
        if (!add_message(source, at, (size_t)(line_end - at))) {
            return false;
        }
        at = line_end + (line_end == end ? 0 : 1);
    }
    return true;
}

static bool split_delimited(rr_source *source)
{
    const char *at = source->bytes, *end = at + source->len;

    while (at < end) {
        size_t len = 0;
        unsigned shift = 0;
        bool more = true;

        for (; more && at < end && shift < 35; shift += 7) {
            more = (*at & 0x80) != 0;
            len |= (size_t)(*at++ & 0x7f) << shift;
        }
        if (more || len > (size_t)(end - at) || !add_message(source, at, len)) {
            return false;
        }
        at += len;
    }
    return true;
}

static rr_status read_file(rr_source *source, const char *path, rr_error *error)
{
    FILE *file = fopen(path, "r");
    long len = file == NULL || fseek(file, 0, SEEK_END) != 0 ? -1 : ftell(file);
    bool good = len >= 0 && (source->bytes = malloc((size_t)len + 1)) != NULL;

    if (good) {
        rewind(file);
        source->len = fread(source->bytes, 1, (size_t)len, file);
        good = source->len == (size_t)len;
    }
    if (file != NULL) {
        fclose(file);
    }
    if (!good) {
        return rr_fail(error, RR_CONFIG, "source file: %s cannot be read", path);
    }
    return (source->values[LINES].boolean ? split_lines : split_delimited)(source)
               ? RR_OK
               : rr_fail(error, RR_CONFIG, "source file: %s is cut off, or memory ran out", path);
}

static void file_close(rr_source *source)
{
    free(source->bytes);
    free(source->messages);
    free(source);
}

static rr_status file_open(const rr_source_options *options, rr_source **source, rr_error *error)
{
    rr_source *made = calloc(1, sizeof *made);

    *source = NULL;
    if (made == NULL) {
        return rr_fail(error, RR_MEMORY, "source file: memory ran out");
    }
    made->values = options->values;
    if (read_file(made, options->values[FILE_OPTION].text, error) != RR_OK) {
        file_close(made);
        return error->status;
    }
    *source = made;
    return RR_OK;
}

/* ---- deliveries ---- */

static rr_delivery delivery_of(const rr_source *source, size_t k)
{
    return (rr_delivery){.subject = rr_slice_of(source->values[SUBJECT].text),
                         .payload = source->messages[k].bytes,
                         .stream_sequence = k + 1,
                         .consumer_sequence = source->consumed,
                         .times_delivered = source->messages[k].times,
                         .stored_at_us =
                             source->values[FIRST_AT].number * 1000000 + (int64_t)k * source->values[SPACING].number};
}

static rr_status file_fetch(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                            rr_error *error)
{
    struct timespec wait = {wait_ms / 1000, (long)(wait_ms % 1000) * 1000000};

    (void)error;
    *count = 0;
    for (size_t k = 0; k < source->count && *count < most; k++) {
        if (source->messages[k].state == WAITING) {
            source->messages[k].state = DELIVERED;
            source->messages[k].times++;
            source->consumed++;
            deliveries[(*count)++] = delivery_of(source, k);
        }
    }
    if (*count == 0) {
        nanosleep(&wait, NULL);
    }
    return RR_OK;
}

static void set_states(rr_source *source, const rr_delivery *deliveries, size_t count, state to)
{
    for (size_t k = 0; k < count; k++) {
        source->messages[deliveries[k].stream_sequence - 1].state = to;
    }
}

static rr_status file_ack(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    (void)error;
    set_states(source, deliveries, count, ACKED);
    return RR_OK;
}

static rr_status file_progress(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    (void)source;
    (void)deliveries;
    (void)count;
    (void)error;
    return RR_OK;
}

static void file_release(rr_source *source, const rr_delivery *deliveries, size_t count, bool leaving)
{
    (void)leaving;
    set_states(source, deliveries, count, WAITING);
}

static rr_status file_flush(rr_source *source, int timeout_ms, rr_error *error)
{
    (void)source;
    (void)timeout_ms;
    (void)error;
    return RR_OK;
}

/* ---- dead letters ---- */

static rr_status file_publish(rr_source *source, rr_publication *publications, size_t count, rr_error *error)
{
    const char *path = source->values[LETTERS].text;
    FILE *file = fopen(path, "a");

    if (file == NULL) {
        return rr_fail(error, RR_UNAVAILABLE, "source file: %s cannot be written", path);
    }
    for (size_t k = 0; k < count; k++) {
        const rr_publication *p = &publications[k];

        publications[k].error.status = RR_OK;
        fprintf(file, "%.*s %zu bytes\n", (int)p->subject.len, p->subject.data, p->payload.len);
    }
    return fclose(file) == 0 ? RR_OK : rr_fail(error, RR_UNAVAILABLE, "source file: %s is full", path);
}

static rr_status file_bound(rr_source *source, rr_slice subject, char stream[256], rr_error *error)
{
    (void)subject;
    (void)error;
    snprintf(stream, 256, "%s", source->values[LETTERS].text);
    return RR_OK;
}

/* ---- the stream ---- */

static rr_status file_info(rr_source *source, rr_source_info *info, rr_error *error)
{
    (void)error;
    *info = (rr_source_info){.first_sequence = 1,
                             .last_sequence = source->count,
                             .created_at_us = source->values[FIRST_AT].number * 1000000,
                             .deliveries = source->consumed,
                             .retention = "limits",
                             .storage = "file",
                             .replicas = 1};
    for (size_t k = 0; k < source->count; k++) {
        info->delivered = source->messages[k].times != 0 ? k + 1 : info->delivered;
        info->pending += source->messages[k].state == WAITING;
        info->ack_pending += source->messages[k].state == DELIVERED;
    }
    while (info->ack_floor < source->count && source->messages[info->ack_floor].state == ACKED) {
        info->ack_floor++;
    }
    return RR_OK;
}

static rr_status file_replay(rr_source *source, uint64_t from, uint64_t to,
                             bool (*each)(void *context, const rr_delivery *), void *context, rr_error *error)
{
    (void)error;
    for (uint64_t k = from == 0 ? 1 : from; k <= source->count && (to == 0 || k <= to); k++) {
        rr_delivery delivery = delivery_of(source, (size_t)k - 1);

        if (!each(context, &delivery)) {
            break;
        }
    }
    return RR_OK;
}

static rr_status file_find_time(rr_source *source, int64_t time_us, uint64_t *sequence, rr_error *error)
{
    (void)error;
    *sequence = 0;
    for (size_t k = 0; k < source->count && *sequence == 0; k++) {
        *sequence = delivery_of(source, k).stored_at_us >= time_us ? k + 1 : 0;
    }
    return RR_OK;
}

static const rr_source_ops ops = {
    .scheme = "file",
    .options = options_table,
    .open = file_open,
    .close = file_close,
    .fetch = file_fetch,
    .ack = file_ack,
    .progress = file_progress,
    .release = file_release,
    .publish = file_publish,
    .bound = file_bound,
    .info = file_info,
    .flush = file_flush,
    .replay = file_replay,
    .find_time = file_find_time,
};

const rr_plugin rr_plugin_export __asm__("rr_plugin") = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "source_file",
    .help = "Reads the messages of a file.",
    .source = &ops,
};
