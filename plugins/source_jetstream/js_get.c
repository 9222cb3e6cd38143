/* Requests of STREAM.MSG.GET, which only the leader answers: it has every message that was confirmed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_get.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "js_json.h"
#include "time.h"

enum { FRACTION_DIGITS = 6 };

/* The server writes up to nine digits of a second; those of nanoseconds are cut off. */
static bool read_time(rr_slice json, int64_t *time_us)
{
    char text[64], *point;

    if (!rr_js_json_text(json, "time", text, sizeof text)) {
        return false;
    }
    point = strchr(text, '.');
    if (point != NULL) {
        size_t digits = strspn(point + 1, "0123456789"), kept = digits < FRACTION_DIGITS ? digits : FRACTION_DIGITS;

        memmove(point + 1 + kept, point + 1 + digits, strlen(point + 1 + digits) + 1);
    }
    return rr_time_parse(rr_slice_of(text), time_us);
}

static rr_status read_answer(const rr_source *source, rr_slice json, rr_js_stored *found, rr_error *error)
{
    uint64_t code = rr_js_json_number(json, "err_code");
    char why[256];

    if (code == JSNoMessageFoundErr) {
        return RR_OK;
    }
    if (rr_js_json_value(json, "error") != NULL) {
        rr_js_json_text(json, "description", why, sizeof why);
        return rr_fail(error, RR_REFUSED_BY_SERVER,
                       "stream %s: a message cannot be had: %s (JetStream error %" PRIu64 ")", source->options.stream,
                       why, code);
    }
    found->sequence = rr_js_json_number(json, "seq");
    return found->sequence != 0 && read_time(json, &found->stored_at_us)
               ? RR_OK
               : rr_fail(error, RR_UNAVAILABLE,
                         "stream %s: the answer to a request for a message is not one of JetStream",
                         source->options.stream);
}

rr_status rr_js_next_message(rr_source *source, uint64_t from, const char *filter, rr_js_stored *found, rr_error *error)
{
    char subject[RR_JS_SUBJECT_MAX], request[6 * RR_JS_FILTER_MAX + 64];
    char *escaped = rr_nats_json_text(filter[0] == '\0' ? ">" : filter);
    natsMsg *answer = NULL;
    natsStatus status;
    rr_status done;

    *found = (rr_js_stored){0};
    if (escaped == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    snprintf(subject, sizeof subject, "%s.STREAM.MSG.GET.%s", source->api, source->options.stream);
    snprintf(request, sizeof request, "{\"seq\":%" PRIu64 ",\"next_by_subj\":\"%s\"}", from, escaped);
    free(escaped);
    status =
        natsConnection_RequestString(&answer, source->nats->connection, subject, request, source->options.timeout_ms);
    if (status != NATS_OK) {
        return rr_nats_fail(source->nats, status, "ask for a message of the stream", error);
    }
    done = read_answer(source, rr_js_data(answer), found, error);
    natsMsg_Destroy(answer);
    return done;
}

rr_status rr_js_header_block(rr_source *source, uint64_t sequence, char **block, size_t *len, rr_error *error)
{
    char subject[RR_JS_SUBJECT_MAX], request[64];
    natsMsg *answer = NULL;
    natsStatus status;
    bool is_whole;

    snprintf(subject, sizeof subject, "%s.STREAM.MSG.GET.%s", source->api, source->options.stream);
    snprintf(request, sizeof request, "{\"seq\":%" PRIu64 "}", sequence);
    *block = NULL;
    *len = 0;
    status =
        natsConnection_RequestString(&answer, source->nats->connection, subject, request, source->options.timeout_ms);
    if (status != NATS_OK) {
        return rr_nats_fail(source->nats, status, "ask for the headers of a message", error);
    }
    *block = rr_js_json_base64(rr_js_data(answer), "hdrs", len);
    is_whole = *block != NULL || rr_js_json_value(rr_js_data(answer), "hdrs") == NULL;
    natsMsg_Destroy(answer);
    return is_whole ? RR_OK
                    : rr_fail(error, RR_UNAVAILABLE, "stream %s: the headers of message %" PRIu64 " cannot be read",
                              source->options.stream, sequence);
}
