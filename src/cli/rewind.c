/* `reconciler rewind`: asks the running daemon to read a part of a stream again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "checkpoint.h"
#include "decision.h"
#include "opened.h"
#include "printable.h"
#include "time.h"

typedef struct rewinding {
    const rr_args *args;
    rr_opened opened;
    size_t source;
    rr_arena arena;
} rewinding;

static rr_status find_source(rewinding *r, rr_error *error)
{
    const char *name = rr_args_value(r->args, "source");

    if (name == NULL && r->opened.config.source_count != 1) {
        return rr_fail(error, RR_USAGE, "the configuration has %zu sources: say which with --source",
                       r->opened.config.source_count);
    }
    for (size_t k = 0; k < r->opened.config.source_count; k++) {
        if (name == NULL || strcmp(r->opened.config.sources[k].name, name) == 0) {
            r->source = k;
            return RR_OK;
        }
    }
    return rr_fail(error, RR_USAGE, "the configuration has no source named '%s'", name);
}

/* The first sequence to be read again. */
static rr_status find_start(rewinding *r, const rr_source_info *info, uint64_t *from, rr_error *error)
{
    const char *sequence = rr_args_value(r->args, "to-seq"), *time = rr_args_value(r->args, "to-time");
    const rr_bound_source *source = &r->opened.sources[r->source];
    int64_t time_us;
    rr_status status;
    char *end;

    if ((sequence != NULL) + (time != NULL) + rr_args_flag(r->args, "to-start") != 1) {
        return rr_fail(error, RR_USAGE, "say one of --to-seq, --to-time and --to-start");
    }
    if (time != NULL) {
        if (!rr_time_parse(rr_slice_of(time), &time_us)) {
            return rr_fail(error, RR_USAGE, "--to-time is a time like 2026-01-01T10:00:00Z, not '%s'", time);
        }
        status = source->ops->find_time(source->source, time_us, from, error);
        *from = *from == 0 ? info->last_sequence + 1 : *from;
        return status;
    }
    *from = info->first_sequence;
    if (sequence != NULL) {
        errno = 0;
        *from = strtoull(sequence, &end, 10);
        if (errno != 0 || *end != '\0' || end == sequence || sequence[0] == '-' || *from == 0) {
            return rr_fail(error, RR_USAGE, "--to-seq is a sequence of the stream, from 1, not '%s'", sequence);
        }
        if (*from < info->first_sequence) {
            return rr_fail(error, RR_INPUT, "sequence %" PRIu64 " is no longer in the stream, which begins at %" PRIu64,
                           *from, info->first_sequence);
        }
    }
    return RR_OK;
}

/* Sets the repair in the checkpoint, by compare and swap against the daemon. */
static rr_status ask(rewinding *r, uint64_t from, uint64_t to, rr_error *error)
{
    rr_opened *o = &r->opened;
    rr_buf text = {0};
    rr_slice key = rr_store_key(rr_slice_of(o->prefix), "checkpoint", o->sources[r->source].name, &text, &r->arena);
    rr_status status = RR_OK;
    bool done = false;

    for (int tries = 0; tries < 10 && status == RR_OK && !done; tries++) {
        rr_store_identity identity;
        rr_checkpoint checkpoint;
        rr_slice held = {NULL, 0};

        status = o->store_ops->note_get(o->store, key, &r->arena, &held, error);
        if (status == RR_OK && (held.len == 0 || !rr_checkpoint_read(held, &r->arena, &checkpoint))) {
            status = rr_fail(error, RR_INPUT, "there is no checkpoint of source %s yet: start the daemon first",
                             o->config.sources[r->source].name);
        }
        if (status != RR_OK) {
            break;
        }
        rr_checkpoint_set_repair(&checkpoint, from, checkpoint.repairing && checkpoint.to > to ? checkpoint.to : to, 0);
        checkpoint.gap = false;
        snprintf(identity.incarnation, sizeof identity.incarnation, "%s", checkpoint.incarnation);
        rr_buf_clear(&text);
        rr_checkpoint_write(&text, &checkpoint);
        status = o->store_ops->note_set(o->store, key, held, rr_buf_view(&text), 0, &identity, &done, error);
    }
    rr_buf_fini(&text);
    if (status == RR_OK && !done) {
        return rr_fail(error, RR_UNAVAILABLE, "the checkpoint changes all the time; try again");
    }
    return status;
}

static void print_range(const rewinding *r, uint64_t from, uint64_t to)
{
    rr_buf line = {0};

    rr_buf_text(&line, "{\"source\":");
    rr_buf_json_printable(&line, rr_slice_of(r->opened.config.sources[r->source].name));
    rr_buf_format(&line, ",\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"dry_run\":%s}\n", from, to,
                  rr_args_flag(r->args, "dry-run") ? "true" : "false");
    rr_cli_out(rr_buf_view(&line));
    rr_buf_fini(&line);
}

static rr_status rewind_source(rewinding *r, rr_error *error)
{
    const rr_bound_source *source;
    rr_source_info info;
    uint64_t from = 0;
    rr_status status = find_source(r, error);

    status = status == RR_OK ? rr_opened_store(&r->opened, error) : status;
    status = status == RR_OK ? rr_opened_prefix(&r->opened, error) : status;
    status = status == RR_OK ? rr_opened_reader(&r->opened, r->source, error) : status;
    if (status != RR_OK) {
        return status;
    }
    source = &r->opened.sources[r->source];
    status = source->ops->info(source->source, &info, error);
    status = status == RR_OK ? find_start(r, &info, &from, error) : status;
    if (status != RR_OK) {
        return status;
    }
    if (from > info.last_sequence) {
        return rr_fail(error, RR_INPUT, "there is nothing to read again: the stream ends at sequence %" PRIu64,
                       info.last_sequence);
    }
    print_range(r, from, info.last_sequence);
    return rr_args_flag(r->args, "dry-run") ? RR_OK : ask(r, from, info.last_sequence, error);
}

static int run(const rr_args *args)
{
    rewinding r = {.args = args};
    rr_error error = {0};
    rr_status status = rr_opened_read(&r.opened, args, &error);

    rr_arena_init(&r.arena, 0);
    if (status == RR_OK) {
        status = rewind_source(&r, &error);
    }
    rr_opened_close(&r.opened);
    rr_arena_fini(&r.arena);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "source", .letter = 's', .argument = "NAME", .help = "which source (default: the only one)"},
    {.name = "to-seq", .argument = "N", .help = "from this sequence of the stream on"},
    {.name = "to-time", .argument = "T", .help = "from what was stored at this time on"},
    {.name = "to-start", .help = "from the first message that the stream still has"},
    {.name = "dry-run", .help = "say what would be read again, and ask for nothing"},
    RR_CLI_END,
};

const rr_command rr_command_rewind = {
    .name = "rewind",
    .summary = "have the running daemon read a part of a stream again",
    .options = options,
    .details = "Sets `repair` in the checkpoint; the daemon reads the range beside new records. The consumer is not\n"
               "moved. Reading again changes nothing where nothing was lost.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .run = run,
};
