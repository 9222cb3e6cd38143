/* Deliveries made of messages of files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "file_delivery.h"

#include "admit.h"
#include "time.h"

rr_status rr_file_delivery_source(const rr_opened *opened, const rr_args *args, size_t *which, rr_error *error)
{
    const char *name = rr_args_value(args, "source");
    const rr_config *config = &opened->config;

    *which = 0;
    if (name == NULL) {
        return config->source_count == 1
                   ? RR_OK
                   : rr_fail(error, RR_USAGE, "the configuration has %zu sources: name one with --source",
                             config->source_count);
    }
    while (*which < config->source_count && strcmp(config->sources[*which].name, name) != 0) {
        ++*which;
    }
    return *which < config->source_count ? RR_OK
                                         : rr_fail(error, RR_USAGE, "the configuration has no source named '%s'", name);
}

rr_status rr_cli_headers(const rr_args *args, rr_header *headers, size_t *count, rr_error *error)
{
    const char *text;

    for (*count = 0; (text = rr_args_repeated(args, "header", *count)) != NULL; ++*count) {
        const char *colon = strchr(text, ':');

        if (colon == NULL || colon == text) {
            return rr_fail(error, RR_USAGE, "--header is NAME:VALUE, not '%s'", text);
        }
        headers[*count].name = (rr_slice){text, (size_t)(colon - text)};
        headers[*count].value = rr_slice_of(colon + 1 + strspn(colon + 1, " "));
    }
    return RR_OK;
}

static rr_status read_time(rr_file_delivery *of, const rr_args *args, rr_error *error)
{
    const char *text = rr_args_value(args, "stored-at");

    if (text != NULL && !rr_time_parse(rr_slice_of(text), &of->stored_at_us)) {
        return rr_fail(error, RR_USAGE, "--stored-at is a time like 2026-01-01T10:00:00Z, not '%s'", text);
    }
    return RR_OK;
}

/* The route of a pattern: that of a subject that matches it. */
static rr_status take_route(rr_file_delivery *of, const rr_bound_source *bound, const char *pattern, rr_error *error)
{
    rr_buf example = {0};
    rr_status status = RR_OK;

    for (; *pattern != '\0'; pattern++) {
        rr_buf_char(&example, *pattern == '*' || *pattern == '>' ? 'x' : *pattern);
    }
    if (rr_buf_ok(&example)) {
        of->route = bound->route(bound->context, rr_buf_view(&example));
    } else {
        status = rr_fail(error, RR_MEMORY, "no memory for a subject");
    }
    rr_buf_fini(&example);
    return status;
}

/* A pattern with wildcards is no subject: then the subject is empty, and the only route is taken all the same. */
static rr_status find_route(rr_file_delivery *of, const rr_opened *opened, size_t which, const char *subject,
                            rr_error *error)
{
    const rr_source_config *source = &opened->config.sources[which];
    const rr_bound_source *bound = &opened->sources[which];
    const char *only = source->routes[0].subject;

    if (subject == NULL && source->route_count != 1) {
        return rr_fail(error, RR_USAGE, "source %s has %zu routes: say the subject of the messages with --subject",
                       source->name, source->route_count);
    }
    if (subject != NULL) {
        of->subject = rr_slice_of(subject);
        of->route = bound->route(bound->context, of->subject);
        return RR_OK;
    }
    of->subject = strpbrk(only, "*>") == NULL ? rr_slice_of(only) : RR_SLICE("");
    return take_route(of, bound, only, error);
}

rr_status rr_file_delivery_read(rr_file_delivery *of, const rr_opened *opened, size_t which, const rr_args *args,
                                rr_error *error)
{
    rr_status status;

    *of = (rr_file_delivery){.stored_at_us = RR_NEVER_STORED};
    status = rr_cli_headers(args, of->headers, &of->header_count, error);
    if (status == RR_OK) {
        status = read_time(of, args, error);
    }
    return status == RR_OK ? find_route(of, opened, which, rr_args_value(args, "subject"), error) : status;
}

rr_messages_form rr_file_delivery_form(const rr_file_delivery *of)
{
    return of->route.mapping != NULL && rr_mapping_is_json(of->route.mapping) ? RR_MESSAGES_LINES
                                                                              : RR_MESSAGES_DELIMITED;
}

rr_delivery rr_file_delivery_make(const rr_file_delivery *of, rr_slice message)
{
    return (rr_delivery){.subject = of->subject,
                         .payload = message,
                         .headers = of->headers,
                         .header_count = of->header_count,
                         .times_delivered = 1,
                         .stored_at_us = of->stored_at_us};
}
