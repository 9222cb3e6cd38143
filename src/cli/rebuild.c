/* `reconciler rebuild`: computes all results again from the streams, then switches readers over by one key. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "opened.h"
#include "ports.h"
#include "printable.h"

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void pause_ms(int ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&wait, NULL);
}

static void log_line(rr_log_level level, const char *text)
{
    rr_log(level, "%s", text);
}

static void log_difference(void *context, rr_verify_finding finding, rr_slice key, rr_slice expected, rr_slice found)
{
    (void)context;
    (void)finding;
    rr_log(RR_LOG_ERROR, "%.*s: expected %.*s, found %.*s", (int)key.len, key.data, (int)expected.len,
           expected.len == 0 ? "" : expected.data, (int)found.len, found.len == 0 ? "" : found.data);
}

static void print_totals(const rr_args *args, const rr_rebuild_totals *t)
{
    rr_buf line = {0};

    rr_buf_text(&line, "{\"before\":");
    rr_buf_json_printable(&line, rr_slice_of(t->before));
    rr_buf_text(&line, ",\"after\":");
    rr_buf_json_printable(&line, rr_slice_of(t->after));
    rr_buf_format(&line,
                  ",\"switched\":%s,\"records\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"cells\":%" PRIu64
                  ",\"different\":%" PRIu64 ",\"not_verifiable\":%" PRIu64 ",\"removed\":%" PRIu64 ",\"dry_run\":%s}\n",
                  t->switched ? "true" : "false", t->records, t->refused, t->equal, t->different, t->not_verifiable,
                  t->removed, rr_args_flag(args, "dry-run") ? "true" : "false");
    rr_cli_out(rr_buf_view(&line));
    rr_buf_fini(&line);
}

static rr_status open_all(rr_opened *opened, rr_error *error)
{
    rr_status status = rr_opened_store(opened, error);

    status = status == RR_OK ? rr_opened_outbox_store(opened, error) : status;
    if (status == RR_OK && opened->outbox_store == NULL) {
        return rr_fail(error, RR_CONFIG,
                       "the memory store is empty when a program starts: there is nothing to rebuild");
    }
    for (size_t k = 0; k < opened->config.source_count && status == RR_OK; k++) {
        status = rr_opened_reader(opened, k, error);
    }
    return status;
}

static rr_status rebuild(rr_opened *opened, const rr_args *args, rr_rebuild_totals *totals, rr_error *error)
{
    rr_rebuild_options options = {.store_ops = opened->store_ops,
                                  .store = opened->store,
                                  .lock_store = opened->outbox_store,
                                  .memory_ops = rr_ports_store("memory:", error),
                                  .base_prefix = rr_slice_of(opened->config.prefix),
                                  .sources = opened->sources,
                                  .source_count = opened->config.source_count,
                                  .contracts = opened->contracts,
                                  .contract_count = opened->config.contracts.count,
                                  .dry_run = rr_args_flag(args, "dry-run"),
                                  .drop_only = rr_args_flag(args, "drop-old"),
                                  .keep_old = rr_args_flag(args, "keep-old"),
                                  .from_what_is_there = rr_args_flag(args, "from-what-is-there"),
                                  .now_us = now_us,
                                  .pause_ms = pause_ms,
                                  .log = log_line,
                                  .report = log_difference};

    return rr_rebuild_run(&options, totals, error);
}

static int run(const rr_args *args)
{
    rr_opened opened;
    rr_rebuild_totals totals = {0};
    rr_error error = {0};
    rr_status status;

    if (rr_args_flag(args, "dry-run") + rr_args_flag(args, "drop-old") + rr_args_flag(args, "keep-old") > 1) {
        return rr_cli_usage(args, "--dry-run, --drop-old and --keep-old exclude each other");
    }
    signal(SIGPIPE, SIG_IGN);
    status = rr_opened_read(&opened, args, &error);
    status = status == RR_OK ? open_all(&opened, &error) : status;
    if (status == RR_OK) {
        status = rebuild(&opened, args, &totals, &error);
    }
    rr_opened_close(&opened);
    if (status != RR_OK) {
        return rr_cli_fail(args, &error);
    }
    print_totals(args, &totals);
    return totals.different == 0 ? RR_EXIT_DONE : RR_EXIT_DIFFERENCES;
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "dry-run", .help = "print what would be done, and whether it can be done; change nothing"},
    {.name = "from-what-is-there",
     .help = "rebuild even if a stream has lost its beginning; results from the lost records are lost too"},
    {.name = "keep-old", .help = "keep the old results; the next rebuild, or --drop-old, removes them"},
    {.name = "drop-old",
     .help = "only remove results that are not in force, of --keep-old or of an interrupted rebuild"},
    RR_CLI_END,
};

const rr_command rr_command_rebuild = {
    .name = "rebuild",
    .summary = "compute all results again from the streams, then switch readers over",
    .options = options,
    .details = "For a wrong mapping or a changed contract: facts are never taken back, so reading again "
               "would only meet the\n"
               "old ones. Reads the streams from their first message below a new prefix, verifies, names it "
               "in the key\n"
               "<prefix>:generation, and removes the old results. The daemon may run all the time, and goes "
               "on with the\n"
               "new ones by itself. Cut short at any moment it does no harm; run it again.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .differences = "differences found: the new results differ from those of a second reading",
    .run = run,
};
