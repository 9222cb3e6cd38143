/* Lines, and the bytes that a line announces. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nats_protocol.h"

#include <string.h>
#include <strings.h>

enum { FIELDS_MAX = 6 };

/* The fields of a line, which spaces or tabs part. More than there is room for is none. */
static size_t split(rr_slice line, rr_slice *fields)
{
    const char *at = line.data, *end = at + line.len;
    size_t count = 0;

    for (;;) {
        const char *from;

        while (at < end && (*at == ' ' || *at == '\t')) {
            at++;
        }
        if (at == end) {
            return count;
        }
        if (count == FIELDS_MAX) {
            return 0;
        }
        for (from = at; at < end && *at != ' ' && *at != '\t';) {
            at++;
        }
        fields[count++] = (rr_slice){from, (size_t)(at - from)};
    }
}

static bool read_number(rr_slice text, uint64_t most, uint64_t *number)
{
    uint64_t value = 0;

    for (size_t k = 0; k < text.len; k++) {
        unsigned digit = (unsigned)(text.data[k] - '0');

        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *number = value;
    return text.len != 0 && value <= most;
}

/* MSG <subject> <sid> [reply] <bytes>, HMSG <subject> <sid> [reply] <header bytes> <bytes>; the bytes follow. */
static rr_nats_op read_message(rr_slice bytes, rr_slice line, bool headed, rr_nats_parsed *parsed)
{
    rr_slice fields[FIELDS_MAX];
    size_t count = split(line, fields), plain = headed ? 5 : 4;
    uint64_t total = 0, head = 0;
    const char *body = bytes.data + parsed->used;

    if ((count != plain && count != plain + 1) || !read_number(fields[2], UINT64_MAX, &parsed->sid) ||
        !read_number(fields[count - 1], RR_NATS_MESSAGE_MAX, &total) ||
        (headed && !read_number(fields[count - 2], total, &head))) {
        return RR_NATS_BROKEN;
    }
    parsed->used += total + 2;
    if (parsed->used > bytes.len) {
        return RR_NATS_MORE;
    }
    parsed->subject = fields[1];
    parsed->reply = count == plain ? (rr_slice){NULL, 0} : fields[3];
    parsed->headers = (rr_slice){body, head};
    parsed->payload = (rr_slice){body + head, total - head};
    return body[total] == '\r' && body[total + 1] == '\n' ? RR_NATS_MESSAGE : RR_NATS_BROKEN;
}

static bool begins_with(rr_slice line, const char *word)
{
    size_t len = strlen(word);

    return line.len >= len && strncasecmp(line.data, word, len) == 0;
}

rr_nats_op rr_nats_parse(rr_slice bytes, rr_nats_parsed *parsed)
{
    const char *newline = bytes.len == 0 ? NULL : memchr(bytes.data, '\n', bytes.len);
    rr_slice line;

    *parsed = (rr_nats_parsed){0};
    if (newline == NULL) {
        return bytes.len > RR_NATS_LINE_MAX ? RR_NATS_BROKEN : RR_NATS_MORE;
    }
    parsed->used = (size_t)(newline - bytes.data) + 1;
    if (parsed->used < 2 || newline[-1] != '\r') {
        return RR_NATS_BROKEN;
    }
    line = (rr_slice){bytes.data, parsed->used - 2};
    if (begins_with(line, "MSG ")) {
        return read_message(bytes, line, false, parsed);
    }
    if (begins_with(line, "HMSG ")) {
        return read_message(bytes, line, true, parsed);
    }
    if (begins_with(line, "PING")) {
        return RR_NATS_PING;
    }
    if (begins_with(line, "PONG")) {
        return RR_NATS_PONG;
    }
    if (begins_with(line, "INFO ")) {
        parsed->payload = (rr_slice){line.data + 5, line.len - 5};
        return RR_NATS_INFO;
    }
    if (begins_with(line, "-ERR")) {
        parsed->payload = (rr_slice){line.data + 4, line.len - 4};
        return RR_NATS_ERROR;
    }
    return begins_with(line, "+") ? RR_NATS_OTHER : RR_NATS_BROKEN;
}

/* --- headers --- */

/* The line at *at, which moves behind it; false: no more. */
static bool next_line(rr_slice text, size_t *at, rr_slice *line)
{
    const char *from, *end;

    if (*at >= text.len) {
        return false;
    }
    from = text.data + *at;
    end = memchr(from, '\n', text.len - *at);
    end = end == NULL ? text.data + text.len : end;
    *at = (size_t)(end - text.data) + 1;
    *line = (rr_slice){from, (size_t)(end - from)};
    while (line->len != 0 && (line->data[line->len - 1] == '\r' || line->data[line->len - 1] == ' ')) {
        line->len--;
    }
    return true;
}

static rr_slice without_spaces(rr_slice text)
{
    while (text.len != 0 && *text.data == ' ') {
        text = (rr_slice){text.data + 1, text.len - 1};
    }
    return text;
}

static const char version[] = "NATS/1.0";

static rr_slice status_line(rr_slice headers)
{
    size_t at = 0;
    rr_slice line;

    return next_line(headers, &at, &line) && begins_with(line, version)
               ? without_spaces((rr_slice){line.data + sizeof version - 1, line.len - (sizeof version - 1)})
               : (rr_slice){NULL, 0};
}

int rr_nats_status_of(rr_slice headers)
{
    rr_slice line = status_line(headers);
    uint64_t status = 0;

    return line.len >= 3 && read_number((rr_slice){line.data, 3}, 999, &status) ? (int)status : 0;
}

rr_slice rr_nats_status_text(rr_slice headers)
{
    rr_slice line = status_line(headers);

    return line.len > 3 ? without_spaces((rr_slice){line.data + 3, line.len - 3}) : (rr_slice){NULL, 0};
}

rr_slice rr_nats_header(rr_slice headers, const char *name)
{
    size_t at = 0, len = strlen(name);
    rr_slice line;

    while (next_line(headers, &at, &line)) {
        if (line.len > len && line.data[len] == ':' && begins_with(line, name)) {
            return without_spaces((rr_slice){line.data + len + 1, line.len - len - 1});
        }
    }
    return (rr_slice){NULL, 0};
}

static rr_slice trimmed(rr_slice text)
{
    while (text.len != 0 && (*text.data == ' ' || *text.data == '\t')) {
        text = (rr_slice){text.data + 1, text.len - 1};
    }
    while (text.len != 0 && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t')) {
        text.len--;
    }
    return text;
}

static void pick_line(rr_slice line, const char *const *names, size_t count, rr_header *picked)
{
    const char *colon = memchr(line.data, ':', line.len);
    size_t len = colon == NULL ? 0 : (size_t)(colon - line.data);

    for (size_t k = 0; k < count && len != 0; k++) {
        if (picked[k].name.len == 0 && strlen(names[k]) == len && memcmp(names[k], line.data, len) == 0) {
            picked[k] = (rr_header){{names[k], len}, trimmed((rr_slice){colon + 1, line.len - len - 1})};
            return;
        }
    }
}

size_t rr_nats_pick_headers(rr_slice headers, const char *const *names, size_t count, rr_header *picked)
{
    size_t at = 0, found = 0;
    rr_slice line;

    for (size_t k = 0; k < count; k++) {
        picked[k] = (rr_header){{NULL, 0}, {NULL, 0}};
    }
    if (!next_line(headers, &at, &line) || !begins_with(line, version)) {
        return 0;
    }
    while (next_line(headers, &at, &line) && line.len != 0) {
        pick_line(line, names, count, picked);
    }
    for (size_t k = 0; k < count; k++) {
        if (picked[k].name.len != 0) {
            picked[found++] = picked[k];
        }
    }
    return found;
}
