/* `reconciler publish --raw`: bytes of files as they are, one message a file, a line or a length-delimited piece. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "publish_raw.h"

#include "file_delivery.h"
#include "mapping.h"

typedef struct raw {
    const rr_args *args;
    rr_opened opened;
    size_t source; /* index in the configuration */
    const char *subject;
    rr_messages_form form;
    rr_header headers[RR_CLI_REPEATS_MAX];
    size_t header_count;
    uint64_t published;
} raw;

static rr_status read_headers(raw *r, rr_error *error)
{
    rr_status status = rr_cli_headers(r->args, r->headers, &r->header_count, error);

    for (size_t k = 0; k < r->header_count && status == RR_OK; k++) {
        const char *text = r->headers[k].name.data; /* the whole header */

        if (memchr(text, ' ', r->headers[k].name.len) != NULL || strpbrk(text, "\r\n") != NULL) {
            status = rr_fail(error, RR_USAGE, "--header: '%s' has a blank in its name or a line break", text);
        }
    }
    return status;
}

static rr_status read_options(raw *r, rr_error *error)
{
    const char *subject = rr_args_value(r->args, "subject");
    bool lines = rr_args_flag(r->args, "lines"), delimited = rr_args_flag(r->args, "delimited");

    if (rr_args_flag(r->args, "contract")) {
        return rr_fail(error, RR_USAGE, "--raw takes no --contract: name the subject with --subject");
    }
    if (lines && delimited) {
        return rr_fail(error, RR_USAGE, "--lines or --delimited, not both");
    }
    if (subject == NULL || *subject == '\0' || strpbrk(subject, "*> \t\r\n") != NULL) {
        return rr_fail(error, RR_USAGE, "--raw needs --subject SUBJECT, without wildcards");
    }
    r->subject = subject;
    r->form = lines ? RR_MESSAGES_LINES : delimited ? RR_MESSAGES_DELIMITED : RR_MESSAGES_WHOLE;
    return read_headers(r, error);
}

/* The consumer delivers the subject, and a route takes it. */
static bool takes(const rr_source_config *source, const char *subject)
{
    const char *filter = source->options.filter;

    return (filter == NULL || rr_subject_matches(filter, rr_slice_of(subject))) &&
           rr_source_route(source, rr_slice_of(subject)) != NULL;
}

/* The first source that takes the subject, else the first: what no route takes may be meant to become a dead letter. */
static rr_status find_source(raw *r, rr_error *error)
{
    const rr_config *config = &r->opened.config;
    const char *name = rr_args_value(r->args, "source");
    size_t first = SIZE_MAX;

    for (size_t k = 0; k < config->source_count; k++) {
        if (name != NULL && strcmp(config->sources[k].name, name) != 0) {
            continue;
        }
        first = first == SIZE_MAX ? k : first;
        if (takes(&config->sources[k], r->subject)) {
            r->source = k;
            return RR_OK;
        }
    }
    if (first == SIZE_MAX) {
        return rr_fail(error, RR_USAGE, "the configuration has no source named '%s'", name == NULL ? "" : name);
    }
    r->source = first;
    rr_log(RR_LOG_WARNING,
           "no route of %s%s takes subject '%s': where its consumer delivers the message, it becomes a dead letter",
           name == NULL ? "any source" : "source ", name == NULL ? "" : name, r->subject);
    return RR_OK;
}

static rr_status publish_one(raw *r, rr_slice payload, rr_error *error)
{
    rr_bound_source *source = &r->opened.sources[r->source];
    rr_publication message = {
        .subject = rr_slice_of(r->subject), .payload = payload, .headers = r->headers, .header_count = r->header_count};
    rr_status status = source->ops->publish(source->source, &message, 1, error);

    if (status == RR_OK && message.error.status != RR_OK) {
        *error = message.error;
        status = error->status;
    }
    r->published += status == RR_OK;
    return status;
}

static rr_status publish_messages(raw *r, rr_messages *messages, rr_error *error)
{
    rr_status status = RR_OK;
    rr_slice message;
    bool end = false;

    while (status == RR_OK) {
        status = rr_messages_next(messages, &message, &end, error);
        if (status != RR_OK || end) {
            break;
        }
        status =
            message.len <= RR_MAPPING_MESSAGE_MAX
                ? publish_one(r, message, error)
                : rr_fail(error, RR_INPUT, "%s: message %llu has more than %d bytes; the %llu before it are published",
                          messages->name, (unsigned long long)messages->number, RR_MAPPING_MESSAGE_MAX,
                          (unsigned long long)r->published);
    }
    return status;
}

static rr_status publish_file(raw *r, const char *path, rr_error *error)
{
    rr_messages messages;
    rr_status status = rr_messages_open(&messages, path, r->form, error);

    status = status == RR_OK ? publish_messages(r, &messages, error) : status;
    rr_messages_close(&messages);
    return status;
}

static rr_status publish_files(raw *r, rr_error *error)
{
    size_t count = r->args->operand_count;
    rr_status status = count == 0 ? publish_file(r, "-", error) : RR_OK;

    for (size_t k = 0; k < count && status == RR_OK; k++) {
        status = publish_file(r, r->args->operands[k], error);
    }
    return status;
}

int rr_publish_raw(const rr_args *args)
{
    raw r = {.args = args};
    rr_error error = {0};
    rr_status status = read_options(&r, &error);

    status = status == RR_OK ? rr_opened_read(&r.opened, args, &error) : status;
    status = status == RR_OK ? find_source(&r, &error) : status;
    status = status == RR_OK ? rr_opened_reader(&r.opened, r.source, &error) : status;
    status = status == RR_OK ? publish_files(&r, &error) : status;
    if (status == RR_OK) {
        rr_log(RR_LOG_INFO, "published %llu messages on %s", (unsigned long long)r.published, r.subject);
    }
    rr_opened_close(&r.opened);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}
