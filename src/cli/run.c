/* `reconciler run`: the daemon. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "opened.h"
#include "preflight.h"

static atomic_int stop;

static void on_signal(int signal)
{
    (void)signal;
    atomic_store(&stop, 1);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void log_line(rr_log_level level, const char *text)
{
    rr_log(level, "%s", text);
}

static rr_status open_channels(rr_opened *opened, size_t which, rr_error *error)
{
    (void)which;
    return rr_opened_channels(opened, error);
}

/* At the start a server may not be there yet, and a store may refuse while it loads its data: say so once, and try again
 * until it is there. A queue that refuses its consumer does not come to take it. */
static rr_status patiently(rr_opened *opened, rr_status (*open)(rr_opened *, size_t, rr_error *), size_t which,
                           rr_error *error)
{
    bool told = false, refusal_passes = open != rr_opened_source && open != rr_opened_reader && open != open_channels;

    for (;;) {
        rr_status status = open(opened, which, error);
        struct timespec wait = {0, 250000000};

        if ((status != RR_UNAVAILABLE && !(status == RR_REFUSED_BY_SERVER && refusal_passes)) ||
            atomic_load(&stop) != 0) {
            return status;
        }
        if (!told) {
            rr_log(RR_LOG_WARNING, "waiting for a server: %s", error->text);
            told = true;
        }
        nanosleep(&wait, NULL);
    }
}

static rr_status open_store(rr_opened *opened, size_t which, rr_error *error)
{
    (void)which;
    return rr_opened_store(opened, error);
}

static rr_status ask_prefix(rr_opened *opened, size_t which, rr_error *error)
{
    (void)which;
    return rr_opened_prefix(opened, error);
}

static rr_status open_outbox_store(rr_opened *opened, size_t which, rr_error *error)
{
    (void)which;
    return rr_opened_outbox_store(opened, error);
}

static void tell_finding(rr_preflight_severity severity, const char *text)
{
    rr_log(severity == RR_PREFLIGHT_NOTE ? RR_LOG_DEBUG : RR_LOG_WARNING, "%s", text);
}

/* A refusal of the preflight stops the start. The other findings are logged. */
static rr_status check_servers(rr_opened *opened, size_t which, rr_error *error)
{
    (void)which;
    return rr_preflight_check(&opened->config, tell_finding, error);
}

static rr_status open_all(rr_opened *opened, bool observe, rr_error *error)
{
    rr_status status;

    if (observe) {
        opened->config.store_url = "memory:";
    }
    status = patiently(opened, open_store, 0, error);
    if (status == RR_OK && !observe) {
        status = patiently(opened, open_outbox_store, 0, error);
    }
    if (status == RR_OK && !observe) {
        status = patiently(opened, open_channels, 0, error);
    }
    for (size_t k = 0; k < opened->config.source_count && status == RR_OK; k++) {
        status = patiently(opened, observe ? rr_opened_reader : rr_opened_source, k, error);
    }
    return status == RR_OK && !observe ? patiently(opened, check_servers, 0, error) : status;
}

static void say_totals(const rr_service_totals *totals)
{
    rr_buf text = {0};

    rr_buf_format(
        &text,
        "left: %llu delivered (%llu again), %llu acknowledged, %llu skipped, %llu dead letters, %llu alerts sent;",
        (unsigned long long)totals->deliveries, (unsigned long long)totals->redeliveries,
        (unsigned long long)totals->acknowledged, (unsigned long long)totals->skipped,
        (unsigned long long)totals->dead_letters, (unsigned long long)totals->alerts_sent);
    for (int k = 0; k < RR_VERDICT_COUNT; k++) {
        rr_buf_format(&text, " %s %llu", rr_verdict_word((rr_verdict)k), (unsigned long long)totals->verdicts[k]);
    }
    rr_buf_format(&text, "; swaps won %llu, lost %llu, mispredicted %llu, unknown %llu, failed %llu",
                  (unsigned long long)totals->batch.won, (unsigned long long)totals->batch.lost,
                  (unsigned long long)totals->batch.mispredicted, (unsigned long long)totals->batch.unknown,
                  (unsigned long long)totals->batch.failed);
    rr_buf_format(&text, "; reordered %llu; outages %llu", (unsigned long long)totals->batch.reordered,
                  (unsigned long long)totals->outages);
    rr_log(RR_LOG_INFO, "%.*s", (int)text.len, text.data == NULL ? "" : text.data);
    rr_buf_fini(&text);
}

/* accept: contracts whose text differs from the stored one are taken. *moved: a rebuild switched to another generation. */
static rr_status serve(rr_opened *opened, const rr_args *args, bool accept, bool *moved, rr_error *error)
{
    bool observe = rr_args_flag(args, "observe");
    rr_service_options options = {.env.store_ops = opened->store_ops,
                                  .env.store = opened->store,
                                  .outbox_store = opened->outbox_store,
                                  .env.prefix = rr_slice_of(opened->prefix),
                                  .env.base_prefix = rr_slice_of(observe ? "" : opened->config.prefix),
                                  .env.sources = opened->sources,
                                  .env.source_count = opened->config.source_count,
                                  .env.contracts = opened->contracts,
                                  .env.contract_count = opened->config.contracts.count,
                                  .channels = opened->channels,
                                  .channel_count = observe ? 0 : opened->config.channel_count,
                                  .observe = observe,
                                  .accept_contract = accept ? rr_contract_reread : NULL,
                                  .accept_refusals = rr_args_flag(args, "accept-refusals"),
                                  .until_idle = rr_args_flag(args, "until-idle"),
                                  .drain_timeout_ms = opened->config.drain_timeout_ms,
                                  .env.stop = &stop,
                                  .env.now_us = now_us,
                                  .env.log = log_line};
    rr_service_totals totals = {0};
    rr_status status;

    rr_log(RR_LOG_INFO, "running: contracts %zu, sources %zu", options.env.contract_count, options.env.source_count);
    status = rr_service_run(&options, &totals, error);
    say_totals(&totals);
    *moved = totals.superseded;
    return status;
}

/* When a rebuild has switched readers to a new generation, serves that one. --accept-contracts does not count there: the
 * contracts that a rebuild stored are newer than these. */
static rr_status serve_generations(rr_opened *opened, const rr_args *args, rr_error *error)
{
    bool accept = rr_args_flag(args, "accept-contracts"), moved = false;
    rr_status status;

    do {
        status = patiently(opened, ask_prefix, 0, error);
        if (status == RR_OK && moved) {
            rr_log(RR_LOG_INFO, "a rebuild has switched to new results: going on with prefix %s", opened->prefix);
        }
        status = status == RR_OK           ? serve(opened, args, accept, &moved, error)
                 : atomic_load(&stop) != 0 ? RR_OK
                                           : status;
        accept = false;
    } while (status == RR_OK && moved && atomic_load(&stop) == 0);
    return status;
}

static int run(const rr_args *args)
{
    rr_opened opened;
    rr_error error = {0};
    rr_status status = rr_opened_read(&opened, args, &error);

    catch_signals();
    if (status == RR_OK) {
        status = open_all(&opened, rr_args_flag(args, "observe"), &error);
    }
    if (status == RR_OK) {
        status = serve_generations(&opened, args, &error);
    } else if (atomic_load(&stop) != 0) {
        status = RR_OK; /* A signal came while it waited for a server. */
    }
    rr_opened_close(&opened);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "accept-contracts", .help = "take contracts and mappings whose text differs from the stored text"},
    {.name = "accept-refusals", .help = "hold no source although nearly all records of a mapping are refused"},
    {.name = "observe", .help = "decide in memory; store nothing and acknowledge nothing"},
    {.name = "until-idle", .help = "end when all records of the streams are settled"},
    RR_CLI_END,
};

const rr_command rr_command_run = {
    .name = "run",
    .summary = "read the streams and keep the right value of every cell",
    .options = options,
    .details = "On SIGTERM or SIGINT it finishes the batches that it has begun, and ends with 0.\n"
               "While a server cannot be reached it waits, and then goes on by itself.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .run = run,
};
