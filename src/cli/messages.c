/* Messages from a file: whole, delimited, or a line each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <errno.h>
#include <stdlib.h>

#include "mapping.h"

enum { ROOM = RR_MAPPING_MESSAGE_MAX + 1 }; /* one byte more tells that a message is too large */

rr_status rr_messages_open(rr_messages *messages, const char *path, rr_messages_form form, rr_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;

    *messages = (rr_messages){.name = is_stdin ? "standard input" : path, .form = form};
    messages->file = is_stdin ? stdin : fopen(path, "rb");
    if (messages->file == NULL) {
        return rr_fail(error, RR_IO, "%s: %s", path, strerror(errno));
    }
    messages->delimited =
        (rr_delimited){.file = messages->file, .name = messages->name, .most = RR_MAPPING_MESSAGE_MAX};
    if (form != RR_MESSAGES_DELIMITED) {
        messages->bytes = malloc(ROOM);
        return messages->bytes == NULL ? rr_fail(error, RR_MEMORY, "no memory for a message") : RR_OK;
    }
    return RR_OK;
}

void rr_messages_close(rr_messages *messages)
{
    rr_delimited_fini(&messages->delimited);
    free(messages->bytes);
    if (messages->file != NULL && messages->file != stdin) {
        fclose(messages->file);
    }
    *messages = (rr_messages){0};
}

static rr_status check_read(const rr_messages *messages, rr_error *error)
{
    return ferror(messages->file) ? rr_fail(error, RR_IO, "%s: message %llu: %s", messages->name,
                                            (unsigned long long)messages->number, strerror(errno))
                                  : RR_OK;
}

/* An empty file is an empty message. */
static rr_status next_whole(rr_messages *messages, rr_slice *message, bool *end, rr_error *error)
{
    *end = messages->number != 0;
    if (*end) {
        return RR_OK;
    }
    messages->number = 1;
    errno = 0;
    *message = (rr_slice){messages->bytes, fread(messages->bytes, 1, ROOM, messages->file)};
    return check_read(messages, error);
}

static bool is_blank(rr_slice line)
{
    for (size_t k = 0; k < line.len; k++) {
        if (strchr(" \t\r", line.data[k]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool read_line(rr_messages *messages, rr_slice *line)
{
    size_t len = 0;
    int c = EOF;

    while ((c = getc_unlocked(messages->file)) != EOF && c != '\n') {
        if (len < ROOM) {
            messages->bytes[len++] = (char)c;
        }
    }
    *line = (rr_slice){messages->bytes, len};
    messages->number++;
    return c != EOF || len != 0;
}

static rr_status next_line(rr_messages *messages, rr_slice *message, bool *end, rr_error *error)
{
    errno = 0;
    do {
        *end = !read_line(messages, message);
    } while (!*end && is_blank(*message));
    return check_read(messages, error);
}

rr_status rr_messages_next(rr_messages *messages, rr_slice *message, bool *end, rr_error *error)
{
    *end = false;
    switch (messages->form) {
    case RR_MESSAGES_WHOLE: return next_whole(messages, message, end, error);
    case RR_MESSAGES_LINES: return next_line(messages, message, end, error);
    case RR_MESSAGES_DELIMITED: break;
    }
    messages->number++;
    switch (rr_delimited_read(&messages->delimited, message, error)) {
    case RR_DELIMITED_FAILED: return error->status;
    case RR_DELIMITED_END: *end = true; return RR_OK;
    default: return RR_OK;
    }
}
