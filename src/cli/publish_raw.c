/* `reconciler publish --raw`: bytes of files as they are, one message a file, a line or a length-delimited piece. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "publish_raw.h"

#include <errno.h>
#include <stdlib.h>

#include "delimited.h"

enum { MESSAGE_MAX = 1024 * 1024, HEADERS_MAX = 64 };

typedef struct raw {
    const rr_args *args;
    rr_opened opened;
    size_t source; /* index in the configuration */
    const char *subject;
    rr_header headers[HEADERS_MAX];
    size_t header_count;
    FILE *file;
    const char *name; /* of the file */
    char *bytes;      /* MESSAGE_MAX + 1 */
    uint64_t published;
} raw;

static rr_status read_header(raw *r, const char *text, rr_error *error)
{
    const char *colon = strchr(text, ':');
    rr_slice name = {text, colon == NULL ? 0 : (size_t)(colon - text)}, value;

    if (name.len == 0 || memchr(name.data, ' ', name.len) != NULL || strpbrk(text, "\r\n") != NULL) {
        return rr_fail(error, RR_USAGE, "--header is NAME:VALUE in one line, not '%s'", text);
    }
    if (r->header_count == HEADERS_MAX) {
        return rr_fail(error, RR_USAGE, "--header: more than %d", HEADERS_MAX);
    }
    value = rr_slice_of(colon + 1 + strspn(colon + 1, " "));
    r->headers[r->header_count++] = (rr_header){name, value};
    return RR_OK;
}

static rr_status read_options(raw *r, rr_error *error)
{
    const char *subject = rr_args_value(r->args, "subject"), *text;
    rr_status status = RR_OK;

    if (rr_args_flag(r->args, "contract")) {
        return rr_fail(error, RR_USAGE, "--raw takes no --contract: name the subject with --subject");
    }
    if (rr_args_flag(r->args, "lines") && rr_args_flag(r->args, "delimited")) {
        return rr_fail(error, RR_USAGE, "--lines or --delimited, not both");
    }
    if (subject == NULL || *subject == '\0' || strpbrk(subject, "*> \t\r\n") != NULL) {
        return rr_fail(error, RR_USAGE, "--raw needs --subject SUBJECT, without wildcards");
    }
    r->subject = subject;
    for (size_t k = 0; status == RR_OK && (text = rr_args_repeated(r->args, "header", k)) != NULL; k++) {
        status = read_header(r, text, error);
    }
    return status;
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

static rr_status fail_read(const raw *r, rr_error *error)
{
    return rr_fail(error, RR_IO, "%s: %s", r->name, strerror(errno));
}

static rr_status fail_large(const raw *r, rr_error *error)
{
    return rr_fail(error, RR_INPUT, "%s: a message has more than %d bytes; the %llu messages before it are published",
                   r->name, MESSAGE_MAX, (unsigned long long)r->published);
}

static rr_status publish_whole(raw *r, rr_error *error)
{
    size_t len = fread(r->bytes, 1, MESSAGE_MAX + 1, r->file);

    if (ferror(r->file)) {
        return fail_read(r, error);
    }
    return len > MESSAGE_MAX ? fail_large(r, error) : publish_one(r, (rr_slice){r->bytes, len}, error);
}

/* A line ends with a line feed, which is not part of the message. */
static rr_status publish_lines(raw *r, rr_error *error)
{
    rr_status status = RR_OK;
    size_t len = 0;
    int c;

    while (status == RR_OK && (c = getc_unlocked(r->file)) != EOF) {
        if (c == '\n') {
            status = publish_one(r, (rr_slice){r->bytes, len}, error);
            len = 0;
        } else if (len == MESSAGE_MAX) {
            status = fail_large(r, error);
        } else {
            r->bytes[len++] = (char)c;
        }
    }
    if (status == RR_OK && ferror(r->file)) {
        return fail_read(r, error);
    }
    return status == RR_OK && len != 0 ? publish_one(r, (rr_slice){r->bytes, len}, error) : status;
}

static rr_status publish_delimited(raw *r, rr_error *error)
{
    rr_delimited reader = {.file = r->file, .name = r->name};
    rr_status status = RR_OK;

    while (status == RR_OK) {
        rr_slice piece;
        rr_delimited_next next = rr_delimited_read(&reader, &piece, error);

        if (next == RR_DELIMITED_END) {
            break;
        }
        status = next == RR_DELIMITED_RECORD ? publish_one(r, piece, error)
                 : next == RR_DELIMITED_TOO_LARGE
                     ? rr_fail(error, RR_INPUT,
                               "%s: the piece at byte %llu is larger than a piece may be; publish it as a file "
                               "of its own",
                               r->name, (unsigned long long)reader.start)
                     : error->status;
    }
    rr_delimited_fini(&reader);
    return status;
}

/* path NULL or "-": standard input. */
static rr_status publish_file(raw *r, const char *path, rr_error *error)
{
    bool is_stdin = path == NULL || strcmp(path, "-") == 0;
    rr_status status;

    r->name = is_stdin ? "standard input" : path;
    r->file = is_stdin ? stdin : fopen(path, "rb");
    if (r->file == NULL) {
        return fail_read(r, error);
    }
    status = rr_args_flag(r->args, "lines")       ? publish_lines(r, error)
             : rr_args_flag(r->args, "delimited") ? publish_delimited(r, error)
                                                  : publish_whole(r, error);
    if (!is_stdin) {
        fclose(r->file);
    }
    return status;
}

static rr_status publish_files(raw *r, rr_error *error)
{
    size_t count = r->args->operand_count;
    rr_status status = count == 0 ? publish_file(r, NULL, error) : RR_OK;

    for (size_t k = 0; k < count && status == RR_OK; k++) {
        status = publish_file(r, r->args->operands[k], error);
    }
    return status;
}

int rr_publish_raw(const rr_args *args)
{
    raw r = {.args = args, .bytes = malloc(MESSAGE_MAX + 1)};
    rr_error error = {0};
    rr_status status = r.bytes == NULL ? rr_fail(&error, RR_MEMORY, "no memory for a message") : RR_OK;

    status = status == RR_OK ? read_options(&r, &error) : status;
    status = status == RR_OK ? rr_opened_read(&r.opened, args, &error) : status;
    status = status == RR_OK ? find_source(&r, &error) : status;
    status = status == RR_OK ? rr_opened_reader(&r.opened, r.source, &error) : status;
    status = status == RR_OK ? publish_files(&r, &error) : status;
    if (status == RR_OK) {
        rr_log(RR_LOG_INFO, "published %llu messages on %s", (unsigned long long)r.published, r.subject);
    }
    rr_opened_close(&r.opened);
    free(r.bytes);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}
