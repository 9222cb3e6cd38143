/* Publishing with requests of its own: many are under way at once, and the number at the end of its subject tells which
 * message an answer confirms. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_publish.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "js_json.h"

enum {
    FLYING_MAX = 256,
    SUBJECT_MAX = 1024,
    HEADER_NAME_MAX = 128,
    HEADER_VALUE_MAX = 64 * 1024,
    HEADER_LINE = 12, /* NATS/1.0 and two line ends */
    NUMBER_MAX = 20,
    SLICE_MS = 50,
    TOO_LARGE = 10054,
    WRONG_LAST_SEQUENCE = 10071
};

static const char once_header[] = "Nats-Expected-Last-Subject-Sequence";

/* --- one message --- */

static bool copy_subject(rr_slice subject, char *text)
{
    if (subject.len == 0 || subject.len >= SUBJECT_MAX) {
        return false;
    }
    for (size_t i = 0; i < subject.len; i++) {
        unsigned char c = (unsigned char)subject.data[i];

        if (c <= ' ' || c == 0x7f || c == '*' || c == '>') {
            return false;
        }
    }
    memcpy(text, subject.data, subject.len);
    text[subject.len] = '\0';
    return true;
}

static bool good_header_name(rr_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] <= ' ' || name.data[i] >= 0x7f || name.data[i] == ':') {
            return false;
        }
    }
    return name.len > 0 && name.len <= HEADER_NAME_MAX;
}

/* A header line cannot hold NUL and line ends; they become spaces. All other bytes stay as they are. */
static natsStatus add_header(natsMsg *message, const rr_header *header)
{
    char name[HEADER_NAME_MAX + 1];
    char *value = malloc(header->value.len + 1);
    natsStatus status;

    if (value == NULL) {
        return NATS_NO_MEMORY;
    }
    memcpy(name, header->name.data, header->name.len);
    name[header->name.len] = '\0';
    for (size_t i = 0; i < header->value.len; i++) {
        char c = header->value.data[i];

        value[i] = c == '\0' || c == '\r' || c == '\n' ? ' ' : c;
    }
    value[header->value.len] = '\0';
    status = natsMsgHeader_Add(message, name, value);
    free(value);
    return status;
}

/* The size of the header that tells that the payload was cut. */
static size_t cut_header_size(const rr_publication *item)
{
    return item->cut_header.len + NUMBER_MAX + 4;
}

/* Bytes on the wire, headers included. 0: a header cannot be sent, and the error names it. */
static size_t size_of(rr_publication *item)
{
    size_t size = item->payload.len;

    if (item->header_count > 0 || item->once || item->cut_from > 0) {
        size +=
            HEADER_LINE + (item->once ? sizeof once_header + 4 : 0) + (item->cut_from > 0 ? cut_header_size(item) : 0);
    }
    for (size_t i = 0; i < item->header_count; i++) {
        const rr_header *header = &item->headers[i];

        if (!good_header_name(header->name)) {
            rr_fail(&item->error, RR_INPUT, "header '%.*s': not a name of a header",
                    (int)(header->name.len < 64 ? header->name.len : 64), header->name.data);
            return 0;
        }
        if (header->value.len > HEADER_VALUE_MAX) {
            rr_fail(&item->error, RR_INPUT, "header %.*s: %zu bytes; at most %d", (int)header->name.len,
                    header->name.data, header->value.len, HEADER_VALUE_MAX);
            return 0;
        }
        size += header->name.len + header->value.len + 4;
    }
    return size == 0 ? 1 : size;
}

static natsStatus fill(natsMsg *message, const rr_publication *item)
{
    natsStatus status = NATS_OK;

    for (size_t i = 0; i < item->header_count && status == NATS_OK; i++) {
        status = add_header(message, &item->headers[i]);
    }
    if (status == NATS_OK && item->once) {
        status = natsMsgHeader_Set(message, once_header, "0");
    }
    if (status == NATS_OK && item->cut_from > 0) {
        char number[NUMBER_MAX + 1];
        int len = snprintf(number, sizeof number, "%zu", item->cut_from);
        rr_header header = {item->cut_header, {number, (size_t)len}};

        status = add_header(message, &header);
    }
    return status;
}

/* Cuts the payload to `len` bytes. False: it may not be cut, or is not longer. */
static bool cut_to(rr_publication *item, size_t len)
{
    if (!good_header_name(item->cut_header) || len >= item->payload.len) {
        return false;
    }
    if (item->cut_from == 0) {
        item->cut_from = item->payload.len;
    }
    item->payload.len = len;
    return true;
}

/* Cuts the payload so that the server takes it; updates *size. */
static bool cut_for_server(rr_publication *item, size_t most, size_t *size)
{
    size_t over = *size - most + (item->cut_from == 0 ? cut_header_size(item) + HEADER_LINE : 0);

    if (over > item->payload.len || !cut_to(item, item->payload.len - over)) {
        return false;
    }
    *size = size_of(item);
    return *size != 0 && *size <= most;
}

static rr_status check_item(rr_source *source, rr_publication *item, char *subject)
{
    int64_t most = natsConnection_GetMaxPayload(source->nats->connection);
    size_t size;

    item->already = false;
    item->error = (rr_error){0};
    if (!copy_subject(item->subject, subject)) {
        return rr_fail(&item->error, RR_INPUT, "subject '%.*s': not one that can be published on",
                       (int)(item->subject.len < 200 ? item->subject.len : 200), item->subject.data);
    }
    size = size_of(item);
    if (size == 0) {
        return item->error.status;
    }
    if (size > (size_t)most && !cut_for_server(item, (size_t)most, &size)) {
        return rr_fail(&item->error, RR_INPUT,
                       "subject %s: %zu bytes with headers, but the server takes at most %" PRId64 " (max_payload)",
                       subject, size, most);
    }
    return RR_OK;
}

/* False: it cannot be sent, and its error says why. */
static bool send_item(rr_source *source, rr_publication *item, uint64_t number)
{
    char subject[SUBJECT_MAX], reply[160];
    natsMsg *message = NULL;
    natsStatus status;

    if (check_item(source, item, subject) != RR_OK) {
        return false;
    }
    snprintf(reply, sizeof reply, "%s.%" PRIu64, source->confirm_inbox, number);
    status = natsMsg_Create(&message, subject, reply, item->payload.data, (int)item->payload.len);
    if (status == NATS_OK) {
        status = fill(message, item);
    }
    if (status == NATS_OK) {
        status = natsConnection_PublishMsg(source->nats->connection, message);
    }
    natsMsg_Destroy(message);
    if (status != NATS_OK) {
        rr_nats_fail(source->nats, status, subject, &item->error);
        return false;
    }
    /* Until its answer comes. */
    rr_fail(&item->error, RR_UNAVAILABLE, "subject %s: %s: no confirmation in %d ms; it may be stored or not", subject,
            source->nats->place, source->options.timeout_ms);
    return true;
}

static void fail_unbound(rr_publication *item)
{
    rr_fail(&item->error, RR_CONFIG,
            "subject %.*s: no stream keeps it; bind it to one (nats stream add, or edit its "
            "subjects)",
            (int)item->subject.len, item->subject.data);
}

static void take_confirmation(rr_publication *item, natsMsg *message)
{
    rr_slice json = rr_js_data(message);
    uint64_t code = rr_js_json_number(json, "err_code");
    char why[256];

    if (code == WRONG_LAST_SEQUENCE && item->once) {
        item->already = true;
        item->error = (rr_error){0};
    } else if (rr_js_json_value(json, "error") != NULL) {
        rr_js_json_text(json, "description", why, sizeof why);
        rr_fail(&item->error, RR_REFUSED_BY_SERVER,
                "subject %.*s: %s (JetStream error %" PRIu64 "); %zu bytes of payload", (int)item->subject.len,
                item->subject.data, why, code, item->payload.len);
    } else if (rr_js_json_value(json, "seq") == NULL) {
        rr_fail(&item->error, RR_CONFIG, "subject %.*s: answered by something that is not a stream",
                (int)item->subject.len, item->subject.data);
    } else {
        item->already = rr_js_json_value(json, "duplicate") != NULL;
        item->error = (rr_error){0};
    }
}

/* Messages under way. */
typedef struct answers {
    size_t missing; /* not answered yet */
    size_t nobody;  /* of these: no stream listens on the subject; cnats does not tell which messages they are */
} answers;

/* A stream refuses a message that is too large without telling its limit: half of it is sent, under the same number. */
static bool sent_smaller(rr_source *source, rr_publication *item, uint64_t number, natsMsg *message)
{
    return rr_js_json_number(rr_js_data(message), "err_code") == TOO_LARGE && cut_to(item, item->payload.len / 2) &&
           send_item(source, item, number);
}

/* Waiting for an answer, or not sent for want of a connection. */
static bool is_waiting(const rr_publication *item)
{
    return item->error.status == RR_UNAVAILABLE;
}

/* The error has the subject in quotes. */
static bool names_subject(const char *denial, rr_slice subject)
{
    char quoted[SUBJECT_MAX + 2];
    int len = snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)subject.len, subject.data);

    return len > 0 && (size_t)len < sizeof quoted && strstr(denial, quoted) != NULL;
}

/* A message that the user may not publish is not answered; the server sends an error that names the subject. Returns
 * how many of those that wait have met it. */
static size_t take_denials(const rr_source *source, rr_publication *items, size_t count)
{
    const char *denial = rr_nats_denial(source->nats);
    size_t denied = 0;

    for (size_t i = 0; denial[0] != '\0' && i < count; i++) {
        rr_publication *item = &items[i];

        if (is_waiting(item) && names_subject(denial, item->subject)) {
            rr_fail(&item->error, RR_REFUSED_BY_SERVER, "subject %.*s: %s: %s; the user's permissions must allow it",
                    (int)item->subject.len, item->subject.data, source->nats->place, denial);
            denied++;
        }
    }
    return denied;
}

/* Waits for the answers to `items`, whose numbers begin at `base`. */
static void collect(rr_source *source, rr_publication *items, size_t count, uint64_t base, answers *got)
{
    int64_t deadline_ms = rr_nats_now_ms() + source->options.timeout_ms;
    natsMsg *message = NULL;

    while (got->missing > got->nobody && rr_nats_now_ms() < deadline_ms) {
        natsStatus status = natsSubscription_NextMsg(&message, source->confirmations, SLICE_MS);

        if (status == NATS_OK) {
            const char *suffix = strrchr(natsMsg_GetSubject(message), '.');
            uint64_t number = suffix == NULL ? UINT64_MAX : strtoull(suffix + 1, NULL, 10);

            if (number >= base && number - base < count &&
                !sent_smaller(source, &items[number - base], number, message)) {
                take_confirmation(&items[number - base], message);
                got->missing--;
            }
            natsMsg_Destroy(message);
        } else if (status == NATS_NO_RESPONDERS) {
            got->nobody++;
        } else if (!rr_nats_connected(source->nats)) {
            return;
        }
    }
    /* Not before: the error may be an old one, and the permission granted since. */
    got->missing -= take_denials(source, items, count);
}

/* False: not all of them were answered. */
static bool publish_some(rr_source *source, rr_publication *items, size_t count)
{
    uint64_t base = source->published;
    answers got = {0};
    size_t waiting = 0;

    source->published += count;
    for (size_t i = 0; i < count; i++) {
        got.missing += send_item(source, &items[i], base + i);
    }
    collect(source, items, count, base, &got);
    for (size_t i = 0; i < count; i++) {
        waiting += is_waiting(&items[i]);
    }
    if (waiting == got.nobody) {
        for (size_t i = 0; i < count; i++) {
            if (is_waiting(&items[i])) {
                fail_unbound(&items[i]);
            }
        }
        return true;
    }
    /* Late answers must not reach the next call. */
    rr_nats_retire(source->nats, source->confirmations);
    source->confirmations = NULL;
    return false;
}

static rr_status prepare(rr_source *source, rr_error *error)
{
    if (source->nats == NULL || !rr_nats_connected(source->nats)) {
        return rr_js_unavailable(source, error);
    }
    return source->confirmations != NULL
               ? RR_OK
               : rr_js_subscribe(source, &source->confirmations, source->confirm_inbox, error);
}

rr_status rr_js_publish(rr_source *source, rr_publication *publications, size_t count, rr_error *error)
{
    rr_error why = {0};
    rr_status status = prepare(source, &why);

    for (size_t i = 0; status != RR_OK && i < count; i++) {
        publications[i].already = false;
        publications[i].error = why;
    }
    for (size_t i = 0; status == RR_OK && i < count; i += FLYING_MAX) {
        size_t some = count - i < FLYING_MAX ? count - i : FLYING_MAX;

        if (!publish_some(source, publications + i, some)) {
            status = rr_fail(&why, RR_UNAVAILABLE, "%s: not all messages were confirmed", source->nats->place);
            for (size_t j = i + some; j < count; j++) {
                publications[j].already = false;
                publications[j].error = why;
            }
        }
    }
    if (status != RR_OK && error != NULL) {
        *error = why;
    }
    return status;
}

rr_status rr_js_bound(rr_source *source, rr_slice subject, char stream[256], rr_error *error)
{
    char text[SUBJECT_MAX], request[SUBJECT_MAX + 32], api[RR_JS_SUBJECT_MAX];
    natsMsg *message = NULL;
    const char *list;
    natsStatus status;
    rr_slice json;

    stream[0] = '\0';
    if (!copy_subject(subject, text) || strpbrk(text, "\"\\") != NULL) {
        return rr_fail(error, RR_INPUT, "subject '%.*s': not one that can be published on",
                       (int)(subject.len < 200 ? subject.len : 200), subject.data);
    }
    if (source->nats == NULL || !rr_nats_connected(source->nats)) {
        return rr_js_unavailable(source, error);
    }
    snprintf(request, sizeof request, "{\"subject\":\"%s\"}", text);
    snprintf(api, sizeof api, "%s.STREAM.NAMES", source->api);
    status = natsConnection_RequestString(&message, source->nats->connection, api, request, source->options.timeout_ms);
    if (status != NATS_OK) {
        return rr_nats_js_fail(source->nats, status, 0, "ask which stream keeps a subject", error);
    }
    json = rr_js_data(message);
    list = rr_js_json_value(json, "streams");
    if (list != NULL && *list == '[') {
        size_t skipped = (size_t)(list + 1 - json.data);
        const char *open = memchr(list, '"', json.len - skipped + 1);
        const char *shut = open == NULL ? NULL : memchr(open + 1, '"', (size_t)(json.data + json.len - open - 1));

        if (shut != NULL && shut - open <= 255) {
            snprintf(stream, 256, "%.*s", (int)(shut - open - 1), open + 1);
        }
    }
    natsMsg_Destroy(message);
    return RR_OK;
}
