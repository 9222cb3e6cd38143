/* `reconciler suggest`: reads messages of a stream, or of a file, and prints a configuration to start from. Reads only. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "number.h"
#include "ports.h"

enum {
    COUNT_DEFAULT = 1000,
    RUN_LEAST = 50,        /* consecutive messages at each place: cells repeat among neighbours */
    MESSAGE_MAX = 1 << 20, /* bytes; what is longer is passed over */
    SET_MAX = 16 << 20,    /* bytes of a descriptor set */
    ARENA_MAX = 512 << 20  /* bytes of a sample and what is made of it */
};

typedef struct suggesting {
    const rr_args *args;
    rr_arena arena;
    rr_sample sample;
    rr_suggest_origin origin;
    const rr_schema_message *schema;
    size_t count;  /* messages wanted */
    size_t left;   /* of the run being read */
    size_t read;   /* messages, readable or not */
    bool full;     /* the sample takes no more */
    bool too_long; /* at least one message was passed over */
} suggesting;

static bool take_message(suggesting *s, const rr_sample_message *message)
{
    s->read++;
    if (message->payload.len > MESSAGE_MAX) {
        s->too_long = true;
        return true;
    }
    s->full = !rr_sample_add(&s->sample, message);
    return !s->full;
}

/* ---- a stream ---- */

static bool on_delivery(void *context, const rr_delivery *delivery)
{
    suggesting *s = context;
    rr_sample_message message = {delivery->subject, delivery->payload, delivery->stream_sequence,
                                 delivery->stored_at_us};

    if (s->left == 0) {
        return false;
    }
    s->left--;
    return take_message(s, &message) && s->left != 0;
}

/* Runs of consecutive messages, spread evenly: versions show among neighbours, windows and keys over the whole. */
static rr_status read_runs(suggesting *s, const rr_source_ops *ops, rr_source *source, rr_error *error)
{
    size_t run = s->count / 20 > RUN_LEAST ? s->count / 20 : RUN_LEAST;
    size_t places = (s->count + run - 1) / run;
    rr_source_info info;
    uint64_t span, next = 0;
    rr_status status = ops->info(source, &info, error);

    if (status != RR_OK) {
        return status;
    }
    span = info.last_sequence + 1 - info.first_sequence;
    for (size_t k = 0; k < places && s->read < s->count && !s->full && info.last_sequence != 0; k++) {
        uint64_t from = info.first_sequence + (uint64_t)((double)span * (double)k / (double)places);
        size_t before = s->read;

        from = from < next ? next : from;
        s->left = s->count - s->read < run ? s->count - s->read : run;
        if (from > info.last_sequence) {
            break;
        }
        status = ops->replay(source, from, info.last_sequence, on_delivery, s, error);
        if (status != RR_OK) {
            return status;
        }
        if (s->read == before) {
            break; /* nothing from here to the end passes the filter */
        }
        next = s->sample.message_count == 0 ? from + run : s->sample.messages[s->sample.message_count - 1].sequence + 1;
    }
    return RR_OK;
}

static rr_status read_stream(suggesting *s, rr_error *error)
{
    rr_source_options options = {
        .url = s->origin.url,
        .stream = s->origin.stream,
        .consumer = "suggest",
        .read_only = true,
        .filter = s->origin.filter,
        .credentials_file = rr_args_value(s->args, "credentials"),
        .user = rr_args_value(s->args, "user"),
        .password = getenv("RECONCILER_NATS_PASSWORD"),
    };
    const rr_source_ops *ops = rr_ports_source(options.url, error);
    rr_source *source = NULL;
    rr_status status;

    if (ops == NULL) {
        return error->status;
    }
    options.password = options.user == NULL ? NULL : options.password;
    status = ops->open(&options, &source, error);
    if (status == RR_OK) {
        status = read_runs(s, ops, source, error);
        ops->close(source);
    }
    return status;
}

/* ---- a file ---- */

static bool read_length(FILE *file, uint64_t *length)
{
    int c = 0;

    *length = 0;
    for (unsigned shift = 0; shift < 35 && (c = getc(file)) != EOF; shift += 7) {
        *length |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            return true;
        }
    }
    return false;
}

static rr_status read_delimited(suggesting *s, FILE *file, const char *name, rr_error *error)
{
    char *bytes = malloc(MESSAGE_MAX);
    rr_status status = bytes == NULL ? rr_fail(error, RR_MEMORY, "no memory for a message") : RR_OK;
    int c;

    while (status == RR_OK && s->read < s->count && !s->full && (c = getc(file)) != EOF) {
        uint64_t length;

        ungetc(c, file);
        if (!read_length(file, &length) || length > MESSAGE_MAX || fread(bytes, 1, length, file) != length) {
            status = rr_fail(error, RR_INPUT,
                             "%s: message %zu is cut off, or longer than %d bytes; the file has to hold each message "
                             "behind its length as a varint",
                             name, s->read + 1, MESSAGE_MAX);
            break;
        }
        take_message(s, &(rr_sample_message){.payload = {bytes, (size_t)length}, .sequence = s->read + 1});
    }
    free(bytes);
    return status;
}

static rr_status read_lines(suggesting *s, FILE *file, rr_error *error)
{
    char *line = malloc(MESSAGE_MAX + 1);
    size_t len = 0;
    int c = 0;

    if (line == NULL) {
        return rr_fail(error, RR_MEMORY, "no memory for a line");
    }
    while (c != EOF && s->read < s->count && !s->full) {
        c = getc(file);
        if (c != '\n' && c != EOF) {
            line[len] = (char)c;
            len += len < MESSAGE_MAX ? 1 : 0;
            s->too_long = s->too_long || len == MESSAGE_MAX;
            continue;
        }
        if (len != 0) {
            take_message(s, &(rr_sample_message){.payload = {line, len}, .sequence = s->read + 1});
        }
        len = 0;
    }
    free(line);
    return RR_OK;
}

static rr_status read_file(suggesting *s, const char *name, rr_error *error)
{
    FILE *file = fopen(name, "rb");
    rr_status status;

    if (file == NULL) {
        return rr_fail(error, RR_IO, "%s: %s", name, strerror(errno));
    }
    errno = 0;
    status = s->schema != NULL ? read_delimited(s, file, name, error) : read_lines(s, file, error);
    if (ferror(file)) {
        status = rr_fail(error, RR_IO, "%s: %s", name, errno == 0 ? "cannot be read" : strerror(errno));
    }
    fclose(file);
    return status;
}

/* ---- the schema ---- */

static rr_status read_schema(suggesting *s, rr_error *error)
{
    const char *name = s->origin.descriptor_set;
    FILE *file = fopen(name, "rb");
    char *bytes = rr_arena_take(&s->arena, SET_MAX);
    rr_schema schema;
    size_t len;

    if (file == NULL) {
        return rr_fail(error, RR_IO, "%s: %s", name, strerror(errno));
    }
    len = bytes == NULL ? 0 : fread(bytes, 1, SET_MAX, file);
    if (bytes == NULL || ferror(file) || len == SET_MAX) {
        fclose(file);
        return rr_fail(error, RR_IO, "%s: cannot be read, or has more than %d bytes", name, SET_MAX);
    }
    fclose(file);
    if (rr_schema_read((rr_slice){bytes, len}, &s->arena, &schema, error) != RR_OK) {
        return rr_error_within(error, "%s", name);
    }
    s->schema = rr_schema_find_message(&schema, rr_slice_of(s->origin.message));
    return s->schema != NULL
               ? RR_OK
               : rr_fail(error, RR_CONFIG, "%s: there is no message '%s'; give its full name, as %.*s", name,
                         s->origin.message, (int)(schema.message_count == 0 ? 0 : schema.messages[0].name.len),
                         schema.message_count == 0 ? "" : schema.messages[0].name.data);
}

/* ---- the command ---- */

static rr_status gather(suggesting *s, rr_error *error)
{
    const char *file = rr_args_value(s->args, "file");
    rr_status status = s->origin.message == NULL ? RR_OK : read_schema(s, error);

    if (status == RR_OK && !rr_sample_init(&s->sample, &s->arena, s->schema)) {
        status = rr_fail(error, RR_MEMORY, "no memory for a sample");
    }
    if (status == RR_OK) {
        status = file != NULL ? read_file(s, file, error) : read_stream(s, error);
    }
    if (status == RR_OK && s->sample.message_count == 0) {
        return rr_fail(error, RR_INPUT, "%zu messages were read, and none of them %s%s%s", s->read,
                       s->schema != NULL ? "is of that protobuf type" : "is a JSON object",
                       s->sample.unreadable_why[0] == '\0' ? "" : ": the first ", s->sample.unreadable_why);
    }
    return status;
}

static rr_status print(suggesting *s, rr_error *error)
{
    rr_buf out = {0};
    rr_status status = RR_OK;

    if (rr_suggest_write(&s->sample, &s->origin, &out)) {
        rr_cli_out(rr_buf_view(&out));
    } else {
        status = rr_fail(error, RR_MEMORY, "memory ran out; a smaller --count needs less");
    }
    rr_buf_fini(&out);
    return status;
}

static int read_arguments(suggesting *s)
{
    const rr_args *args = s->args;
    const char *count = rr_args_value(args, "count");
    bool from_file = rr_args_value(args, "file") != NULL;
    uint64_t number = COUNT_DEFAULT;

    s->origin =
        (rr_suggest_origin){rr_args_value(args, "url"), rr_args_value(args, "stream"), rr_args_value(args, "subject"),
                            rr_args_value(args, "descriptor-set"), rr_args_value(args, "message")};
    if (count != NULL &&
        (!rr_number_u64(rr_slice_of(count), &number) || number == 0 || number > RR_SAMPLE_MESSAGES_MAX)) {
        return rr_cli_usage(args, "--count is a number from 1 to %d, not '%s'", RR_SAMPLE_MESSAGES_MAX, count);
    }
    s->count = (size_t)number;
    if ((s->origin.descriptor_set == NULL) != (s->origin.message == NULL)) {
        return rr_cli_usage(args, "--descriptor-set and --message belong together");
    }
    if (!from_file && (s->origin.url == NULL || s->origin.stream == NULL)) {
        return rr_cli_usage(args, "--url and --stream are needed, or --file");
    }
    return RR_EXIT_DONE;
}

static int run(const rr_args *args)
{
    suggesting s = {.args = args};
    rr_error error = {0};
    rr_status status;
    int code = read_arguments(&s);

    if (code != RR_EXIT_DONE) {
        return code;
    }
    rr_arena_init(&s.arena, ARENA_MAX);
    status = gather(&s, &error);
    if (status == RR_OK && s.full) {
        rr_cli_message("reconciler suggest: the sample ends after %zu messages: it holds no more", s.read);
    }
    if (status == RR_OK && s.too_long) {
        rr_cli_message("reconciler suggest: messages longer than %d bytes were passed over or cut", MESSAGE_MAX);
    }
    status = status == RR_OK ? print(&s, &error) : status;
    rr_arena_fini(&s.arena);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}

static const rr_cli_option options[] = {
    {.name = "url", .argument = "URL", .help = "the NATS server, nats://host:port"},
    {.name = "stream", .argument = "NAME", .help = "the JetStream stream that holds the messages"},
    {.name = "subject", .argument = "FILTER", .help = "only messages on these subjects"},
    {.name = "file", .argument = "FILE", .help = "read this file instead: JSON lines, or protobuf with lengths"},
    {.name = "descriptor-set",
     .argument = "FILE",
     .help = "messages are protobuf: what protoc --include_imports writes"},
    {.name = "message", .argument = "NAME", .help = "and their full name in it, like acme.v1.Results"},
    {.name = "count", .argument = "N", .help = "how many messages are read (default 1000, at most 10000)"},
    {.name = "user", .argument = "NAME", .help = "for the server; the password is in RECONCILER_NATS_PASSWORD"},
    {.name = "credentials", .argument = "FILE", .help = "a .creds file for the server"},
    RR_CLI_END,
};

const rr_command rr_command_suggest = {
    .name = "suggest",
    .summary = "look at messages of another form, and print a configuration to start from",
    .options = options,
    .details =
        "Reads runs of consecutive messages, spread over the stream, and changes nothing. Messages are JSON, or\n"
        "protobuf with --descriptor-set and --message; the frame of a schema registry is noticed. Prints YAML:\n"
        "each choice has a comment with the counts that it rests on. What the sample cannot show is a TODO: where\n"
        "a value is needed `check` refuses it, and elsewhere it is a comment. A sample is no proof: read each line.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .run = run,
};
