/* `reconciler decode`: shows messages of a stream or of files as the records that they become. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "decode_print.h"
#include "file_delivery.h"

enum { COUNT_USUAL = 10, COUNT_MOST = 100000 };

typedef struct decoding {
    const rr_args *args;
    rr_opened opened;
    size_t source;
    rr_intake intake;
    rr_decode_print print;
    rr_status status; /* of what a replay calls */
    rr_error *error;
} decoding;

static rr_status show(decoding *d, rr_bound_route route, const rr_decode_origin *origin, const rr_delivery *delivery,
                      rr_error *error)
{
    /* No wall clock, as in `apply`: whether the cell is gone by now is not for the contract to say. */
    if (!rr_intake_add_routed(&d->intake, route, d->opened.sources[d->source].stream, delivery, INT64_MIN)) {
        return rr_fail(error, RR_MEMORY, "no memory to decode a message");
    }
    return rr_decode_print_message(&d->print, origin, delivery, error);
}

/* ---- a stream ---- */

static bool show_delivery(void *context, const rr_delivery *delivery)
{
    decoding *d = context;
    const rr_bound_source *source = &d->opened.sources[d->source];
    rr_decode_origin origin = {.source = d->opened.config.sources[d->source].name, .number = delivery->stream_sequence};

    d->status = show(d, source->route(source->context, delivery->subject), &origin, delivery, d->error);
    return d->status == RR_OK;
}

/* The newest sequences of a part of the stream. */
typedef struct newest {
    uint64_t *ring;
    size_t room, seen;
} newest;

static bool note_sequence(void *context, const rr_delivery *delivery)
{
    newest *n = context;

    n->ring[n->seen++ % n->room] = delivery->stream_sequence;
    return true;
}

/* The sequence from which on there are `count` messages that pass the consumer's filter, or the first one. A stream is
 * read forwards alone: parts of it are, each four times as long as the one behind it, until they hold enough. */
static rr_status find_last(decoding *d, size_t count, const rr_source_info *info, uint64_t *from)
{
    const rr_bound_source *source = &d->opened.sources[d->source];
    newest n = {.ring = calloc(count, sizeof *n.ring), .room = count};
    uint64_t first = info->first_sequence == 0 ? 1 : info->first_sequence, upto = info->last_sequence, span = count;
    rr_status status = n.ring == NULL ? rr_fail(d->error, RR_MEMORY, "no memory to look for messages") : RR_OK;

    *from = upto + 1;
    while (status == RR_OK && n.room != 0 && upto >= first) {
        uint64_t start = upto - first < span ? first : upto - span + 1;

        n.seen = 0;
        status = source->ops->replay(source->source, start, upto, note_sequence, &n, d->error);
        if (n.seen != 0) {
            *from = n.ring[n.seen < n.room ? 0 : n.seen % n.room];
        }
        n.room -= n.seen < n.room ? n.seen : n.room;
        upto = start - 1;
        span *= 4;
    }
    free(n.ring);
    return status;
}

static rr_status read_count(const rr_args *args, size_t *count, rr_error *error)
{
    const char *text = rr_args_value(args, "count");
    unsigned long long number;
    char *end;

    *count = COUNT_USUAL;
    if (text == NULL) {
        return RR_OK;
    }
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || text[0] == '-' || number == 0 || number > COUNT_MOST) {
        return rr_fail(error, RR_USAGE, "--count is a number from 1 to %d, not '%s'", COUNT_MOST, text);
    }
    *count = (size_t)number;
    return RR_OK;
}

/* A, A-B, or A-: *to is 0. */
static rr_status read_range(const char *text, uint64_t *from, uint64_t *to, rr_error *error)
{
    bool good = *text >= '0' && *text <= '9';
    char *end = NULL;

    errno = 0;
    *from = *to = good ? strtoull(text, &end, 10) : 0;
    if (good && *end == '-') {
        const char *rest = end + 1;

        *to = 0;
        if (*rest != '\0') {
            good = *rest >= '0' && *rest <= '9';
            *to = good ? strtoull(rest, &end, 10) : 0;
            good = good && *to >= *from;
        } else {
            end++;
        }
    }
    good = good && errno == 0 && *end == '\0' && *from != 0;
    return good ? RR_OK : rr_fail(error, RR_USAGE, "--seq is A, A-B or A-, sequences from 1, not '%s'", text);
}

static rr_status decode_stream(decoding *d, rr_error *error)
{
    const char *range = rr_args_value(d->args, "seq");
    const rr_bound_source *source = &d->opened.sources[d->source];
    rr_source_info info = {0};
    uint64_t from = 0, to = 0;
    size_t count = 0;
    rr_status status = range == NULL ? read_count(d->args, &count, error) : read_range(range, &from, &to, error);

    if (status == RR_OK) {
        status = rr_opened_reader(&d->opened, d->source, error);
    }
    if (status == RR_OK) {
        status = source->ops->info(source->source, &info, error);
    }
    if (status == RR_OK && range == NULL) {
        to = info.last_sequence;
        status = find_last(d, count, &info, &from);
    }
    to = to == 0 || to > info.last_sequence ? info.last_sequence : to;
    if (status == RR_OK && from <= to) {
        status = source->ops->replay(source->source, from, to, show_delivery, d, error);
    }
    return status == RR_OK ? d->status : status;
}

/* ---- files ---- */

static rr_status decode_file(decoding *d, const rr_file_delivery *of, const char *path, rr_messages_form form,
                             rr_error *error)
{
    rr_messages messages;
    rr_slice message = {NULL, 0};
    bool end = false;
    rr_status status = rr_messages_open(&messages, path, form, error);

    while (status == RR_OK) {
        status = rr_messages_next(&messages, &message, &end, error);
        if (status != RR_OK || end) {
            break;
        }
        rr_delivery delivery = rr_file_delivery_make(of, message);
        rr_decode_origin origin = {.file = messages.name, .number = form == RR_MESSAGES_WHOLE ? 0 : messages.number};

        status = show(d, of->route, &origin, &delivery, error);
    }
    rr_messages_close(&messages);
    return status;
}

static rr_status decode_files(decoding *d, rr_error *error)
{
    bool delimited = rr_args_flag(d->args, "delimited"), lines = rr_args_flag(d->args, "lines");
    rr_messages_form form = lines ? RR_MESSAGES_LINES : delimited ? RR_MESSAGES_DELIMITED : RR_MESSAGES_WHOLE;
    rr_file_delivery of;
    rr_status status = rr_file_delivery_read(&of, &d->opened, d->source, d->args, error);

    if (status == RR_OK && lines && of.route.contract != NULL && rr_file_delivery_form(&of) != RR_MESSAGES_LINES) {
        status = rr_fail(error, RR_USAGE,
                         "--lines is for JSON, and the messages of this route are protobuf: give them "
                         "a file each, or --delimited");
    }
    for (size_t k = 0; status == RR_OK && k < d->args->operand_count; k++) {
        status = decode_file(d, &of, d->args->operands[k], form, error);
    }
    return status;
}

/* ---- the command ---- */

/* The first option that is of the other kind of input, or NULL. */
static const char *find_stray(const rr_args *args)
{
    static const char *const of_files[] = {"delimited", "lines", "subject", "header", "stored-at", NULL};
    static const char *const of_streams[] = {"count", "seq", NULL};

    for (const char *const *name = args->operand_count == 0 ? of_files : of_streams; *name != NULL; name++) {
        if (rr_args_flag(args, *name)) {
            return *name;
        }
    }
    return NULL;
}

static int check_options(const rr_args *args)
{
    const char *stray = find_stray(args);

    if (stray != NULL) {
        return rr_cli_usage(args, "--%s is for messages of a %s", stray, args->operand_count == 0 ? "file" : "stream");
    }
    if (rr_args_flag(args, "count") && rr_args_flag(args, "seq")) {
        return rr_cli_usage(args, "give either --count or --seq");
    }
    if (rr_args_flag(args, "delimited") && rr_args_flag(args, "lines")) {
        return rr_cli_usage(args, "give either --delimited or --lines");
    }
    if (rr_args_flag(args, "json") && rr_args_flag(args, "records")) {
        return rr_cli_usage(args, "give either --json or --records");
    }
    return RR_EXIT_DONE;
}

static rr_status decode_all(decoding *d, rr_error *error)
{
    rr_decode_form form = rr_args_flag(d->args, "json")      ? RR_DECODE_JSON
                          : rr_args_flag(d->args, "records") ? RR_DECODE_RECORDS
                                                             : RR_DECODE_PEOPLE;
    rr_status status = rr_opened_read(&d->opened, d->args, error);

    if (status == RR_OK) {
        status = rr_file_delivery_source(&d->opened, d->args, &d->source, error);
    }
    if (status == RR_OK && !rr_intake_init(&d->intake, 1)) {
        status = rr_fail(error, RR_MEMORY, "no memory");
    }
    rr_decode_print_init(&d->print, form, &d->intake);
    if (status == RR_OK) {
        status = d->args->operand_count == 0 ? decode_stream(d, error) : decode_files(d, error);
    }
    if (status == RR_OK) {
        rr_decode_print_end(&d->print);
    }
    return status;
}

static int run(const rr_args *args)
{
    decoding *d = calloc(1, sizeof *d);
    rr_error error = {0};
    rr_status status;
    int code = check_options(args);

    if (d == NULL) {
        rr_fail(&error, RR_MEMORY, "no memory");
        return rr_cli_fail(args, &error);
    }
    if (code == RR_EXIT_DONE) {
        d->args = args;
        d->error = &error;
        status = decode_all(d, &error);
        code = status != RR_OK ? rr_cli_fail(args, &error) : d->print.refused != 0 ? RR_EXIT_DIFFERENCES : RR_EXIT_DONE;
        rr_decode_print_fini(&d->print);
        rr_intake_fini(&d->intake);
        rr_opened_close(&d->opened);
    }
    free(d);
    return code;
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "source", .letter = 's', .argument = "NAME", .help = "the source (default: the only one)"},
    {.name = "count", .argument = "N", .help = "the last N messages of its stream (default 10)"},
    {.name = "seq", .argument = "A-B", .help = "messages by their sequence in the stream: A, A-B or A-"},
    {.name = "delimited", .help = "a file holds messages, each after its length as a varint (default: one message)"},
    {.name = "lines", .help = "a file holds a JSON message a line"},
    RR_CLI_FILE_DELIVERY,
    {.name = "records", .help = "print only records and clock lines, as `apply` reads them"},
    {.name = "json", .help = "print a JSON object a message, one a line"},
    RR_CLI_END,
};

const rr_command rr_command_decode = {
    .name = "decode",
    .summary = "show messages of a stream, or of files, as the records that they become",
    .operands = "[FILE...]",
    .operands_most = SIZE_MAX,
    .options = options,
    .details =
        "Prints each message, its records in the JSON that `apply` reads, and what the contract alone says of each:\n"
        "admitted, REFUSED or TOO_LATE with a sentence, or the rule that skips it. The clock of a record is the time\n"
        "at which the stream stored its message. Nothing is stored, acknowledged or moved; the store is not opened.\n"
        "Without FILE it reads the stream of the source, those messages that pass its filter. FILE `-` is standard\n"
        "input.\n"
        "\n"
        "`decode --records | apply --contract FILE` gives the verdicts in full. A record that cannot be decoded has "
        "no\n"
        "form there: it is left out and counted on standard error. Where a source feeds several contracts, use\n"
        "`apply --config`, which decides each record by its own.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .differences = "a record is refused, too late, or cannot be decoded",
    .run = run,
};
