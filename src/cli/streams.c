/* `reconciler streams`: lists the streams that a configuration needs; with --create, makes those that are missing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dead_letter.h"
#include "opened.h"
#include "ports.h"
#include "printable.h"

enum { SUBJECTS_MAX = 64, SUBJECT_MAX = 512, NAME_MAX_LEN = 255 };

typedef struct streams {
    const rr_args *args;
    rr_opened opened;
    size_t missing;
} streams;

/* One stream that a source needs. */
typedef struct needed {
    const rr_source_config *source;
    const rr_source_ops *ops;
    const char *role; /* "records", "dead letters" */
    const char *name; /* of the stream, or of the one that would be made */
    const char *subjects[SUBJECTS_MAX];
    size_t subject_count;
    bool there;
} needed;

static void print_stream(const needed *stream, const char *state)
{
    rr_buf line = {0};

    rr_buf_text(&line, "{\"source\":");
    rr_buf_json_printable(&line, rr_slice_of(stream->source->name));
    rr_buf_format(&line, ",\"keeps\":\"%s\",\"stream\":", stream->role);
    rr_buf_json_printable(&line, rr_slice_of(stream->name));
    rr_buf_text(&line, ",\"subjects\":[");
    for (size_t k = 0; k < stream->subject_count; k++) {
        rr_buf_text(&line, k == 0 ? "" : ",");
        rr_buf_json_printable(&line, rr_slice_of(stream->subjects[k]));
    }
    rr_buf_format(&line, "],\"state\":\"%s\"}\n", state);
    rr_cli_out(rr_buf_view(&line));
    rr_buf_fini(&line);
}

static rr_status check_stream(streams *s, const needed *stream, rr_error *error)
{
    rr_status status;

    if (stream->there || !rr_args_flag(s->args, "create")) {
        s->missing += !stream->there;
        print_stream(stream, stream->there ? "there" : "missing");
        return RR_OK;
    }
    if (stream->source->route_count > SUBJECTS_MAX) {
        return rr_fail(
            error, RR_CONFIG,
            "source %s: %zu routes, but this command makes a stream of at most %d subjects: make stream %s by hand",
            stream->source->name, stream->source->route_count, SUBJECTS_MAX, stream->name);
    }
    if (stream->subject_count == 0) {
        return rr_fail(error, RR_CONFIG,
                       "source %s: the subjects of stream %s are not known: write `routes` with subjects, or `filter`",
                       stream->source->name, stream->name);
    }
    status = stream->ops->make_stream(&stream->source->options, stream->name, stream->subjects, stream->subject_count,
                                      error);
    if (status != RR_OK) {
        return rr_error_within(error, "source %s", stream->source->name);
    }
    print_stream(stream, "made");
    return RR_OK;
}

/* The subjects of a stream that is made: those of the routes; the filter instead of a route that takes all. */
static void find_subjects(needed *stream)
{
    const rr_source_config *source = stream->source;

    for (size_t k = 0; k < source->route_count && k < SUBJECTS_MAX; k++) {
        const char *subject = source->routes[k].subject;

        subject = strcmp(subject, ">") == 0 ? source->options.filter : subject;
        if (subject != NULL) {
            stream->subjects[stream->subject_count++] = subject;
        }
    }
}

/* dead.parts becomes DEAD_PARTS. Other characters than letters, digits and - are written as _. */
static void make_name(const char *prefix, char name[NAME_MAX_LEN + 1])
{
    size_t len = 0;

    for (; prefix[len] != '\0' && len < NAME_MAX_LEN; len++) {
        char c = prefix[len];

        if (c >= 'a' && c <= 'z') {
            c = (char)(c - 'a' + 'A');
        }
        name[len] = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ? c : '_';
    }
    name[len] = '\0';
}

static rr_status check_source(streams *s, const rr_source_config *source, rr_error *error)
{
    char letter[SUBJECT_MAX], all_letters[SUBJECT_MAX], name[NAME_MAX_LEN + 1];
    needed records = {.source = source, .role = "records", .name = source->options.stream};
    needed letters = {.source = source, .role = "dead letters"};
    rr_source_survey told;
    rr_status status;

    records.ops = letters.ops = rr_ports_source(source->options.url, error);
    if (records.ops == NULL) {
        return error->status;
    }
    if (records.ops->survey == NULL || records.ops->make_stream == NULL) {
        return rr_fail(error, RR_CONFIG, "source %s: a source of this kind has no streams to make", source->name);
    }
    snprintf(letter, sizeof letter, "%s" RR_DEAD_LETTER_EXAMPLE, source->dead_letters);
    status = records.ops->survey(&source->options, rr_slice_of(letter), &told, error);
    if (status != RR_OK) {
        return rr_error_within(error, "source %s", source->name);
    }
    if (told.stream.there == RR_UNKNOWN || told.dead_letters.there == RR_UNKNOWN) {
        return rr_fail(error, RR_REFUSED_BY_SERVER, "source %s: %s", source->name, told.hidden);
    }
    records.there = told.stream.there == RR_YES;
    if (records.there) {
        records.subjects[records.subject_count++] = told.stream.subjects;
    } else {
        find_subjects(&records);
    }
    letters.there = told.dead_letters.there == RR_YES;
    make_name(source->dead_letters, name);
    letters.name = letters.there ? told.dead_letters.name : name;
    snprintf(all_letters, sizeof all_letters, "%s.>", source->dead_letters);
    letters.subjects[letters.subject_count++] = all_letters;
    status = check_stream(s, &records, error);
    return status == RR_OK ? check_stream(s, &letters, error) : status;
}

static int run(const rr_args *args)
{
    streams s = {.args = args};
    rr_error error = {0};
    rr_status status = rr_opened_read(&s.opened, args, &error);

    for (size_t k = 0; status == RR_OK && k < s.opened.config.source_count; k++) {
        status = check_source(&s, &s.opened.config.sources[k], &error);
    }
    rr_opened_close(&s.opened);
    if (status != RR_OK) {
        return rr_cli_fail(args, &error);
    }
    return s.missing == 0 ? RR_EXIT_DONE : RR_EXIT_DIFFERENCES;
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "create", .help = "make what is missing"},
    RR_CLI_END,
};

const rr_command rr_command_streams = {
    .name = "streams",
    .summary = "list the streams of records and dead letters, and make those that are missing",
    .options = options,
    .details = "Prints one JSON line a stream. Exit 1 if one is missing. A stream that is made is kept in "
               "files, without\n"
               "any limit, on one server; one that is there is never changed. For replicas and limits make "
               "it by hand.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .differences = "differences found: a stream is missing",
    .run = run,
};
