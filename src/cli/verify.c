/* `reconciler verify`: compares the cells in the store with those that the streams give. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "verify.h"

#include <inttypes.h>
#include <time.h>

#include "cli.h"
#include "opened.h"
#include "ports.h"

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

static void print_difference(void *context, rr_verify_finding finding, rr_slice key, rr_slice expected, rr_slice found)
{
    static const char *const words[] = {"differs", "missing", "extra", "broken"};
    rr_buf line = {0};

    (void)context;
    rr_buf_format(&line, "{\"finding\":\"%s\",\"key\":", words[finding]);
    rr_buf_json(&line, key);
    rr_buf_text(&line, ",\"expected\":");
    rr_buf_slice(&line, expected.len == 0 ? RR_SLICE("null") : expected);
    rr_buf_text(&line, ",\"found\":");
    rr_buf_slice(&line, found.len == 0 ? RR_SLICE("null") : found);
    rr_buf_text(&line, "}\n");
    rr_cli_out(rr_buf_view(&line));
    rr_buf_fini(&line);
}

static const char *explain_not_verifiable(const rr_verify_totals *totals)
{
    return totals->not_verifiable == 0 ? ""
           : totals->covers_all        ? " (their retention is over, or records of theirs are under way)"
                                       : " (the streams do not cover them whole, or records of theirs are under way)";
}

static rr_status verify_contract(rr_opened *opened, const rr_args *args, const rr_contract *contract,
                                 uint64_t *different, rr_error *error)
{
    rr_verify_options options = {.contract = contract,
                                 .store_ops = opened->store_ops,
                                 .store = opened->store,
                                 .memory_ops = rr_ports_store("memory:", error),
                                 .prefix = rr_slice_of(opened->prefix),
                                 .sources = opened->sources,
                                 .source_count = opened->config.source_count,
                                 .repair = rr_args_flag(args, "repair"),
                                 .now_us = now_us,
                                 .pause = pause_ms,
                                 .report = print_difference};
    rr_verify_totals totals;
    rr_status status = rr_verify_run(&options, &totals, error);

    if (status == RR_OK) {
        rr_log(RR_LOG_INFO,
               "%.*s: %" PRIu64 " records read, %" PRIu64 " cells equal, %" PRIu64 " differ, %" PRIu64
               " not verifiable%s, %" PRIu64 " replaced",
               (int)contract->name.len, contract->name.data, totals.records, totals.equal, totals.different,
               totals.not_verifiable, explain_not_verifiable(&totals), totals.repaired);
        *different += totals.different;
    }
    return status;
}

/* A rebuild that switches during the comparison drops the cells that were compared. */
static rr_status check_generation(rr_opened *opened, rr_error *error)
{
    char before[RR_GENERATION_PREFIX_MAX];
    rr_status status;

    memcpy(before, opened->prefix, sizeof before);
    status = rr_opened_prefix(opened, error);
    return status != RR_OK || strcmp(before, opened->prefix) == 0
               ? status
               : rr_fail(error, RR_UNAVAILABLE, "a rebuild switched from prefix %s to %s meanwhile; verify again",
                         before, opened->prefix);
}

static rr_status verify_all(rr_opened *opened, const rr_args *args, uint64_t *different, rr_error *error)
{
    const char *name = rr_args_value(args, "contract");
    rr_status status = rr_opened_store(opened, error);

    if (name != NULL && rr_contracts_find(&opened->config.contracts, rr_slice_of(name)) == NULL) {
        return rr_fail(error, RR_USAGE, "the configuration has no contract named '%s'", name);
    }
    status = status == RR_OK ? rr_opened_prefix(opened, error) : status;
    status = status == RR_OK ? rr_opened_eras(opened, error) : status;
    for (size_t k = 0; k < opened->config.source_count && status == RR_OK; k++) {
        status = rr_opened_reader(opened, k, error);
    }
    for (size_t k = 0; k < opened->config.contracts.count && status == RR_OK; k++) {
        const rr_contract *contract = &opened->config.contracts.items[k];

        if (name == NULL || rr_slice_equal(contract->name, rr_slice_of(name))) {
            status = verify_contract(opened, args, contract, different, error);
        }
    }
    return status == RR_OK ? check_generation(opened, error) : status;
}

static int run(const rr_args *args)
{
    rr_opened opened;
    rr_error error = {0};
    uint64_t different = 0;
    rr_status status = rr_opened_read(&opened, args, &error);

    if (status == RR_OK) {
        status = verify_all(&opened, args, &different, &error);
    }
    rr_opened_close(&opened);
    if (status != RR_OK) {
        return rr_cli_fail(args, &error);
    }
    return different == 0 ? RR_EXIT_DONE : RR_EXIT_DIFFERENCES;
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "contract", .letter = 'n', .argument = "NAME", .help = "one contract (default: all)"},
    {.name = "repair", .help = "replace the cells that differ, unless they changed meanwhile"},
    RR_CLI_END,
};

const rr_command rr_command_verify = {
    .name = "verify",
    .summary = "compare the stored cells with those that the streams give",
    .options = options,
    .details =
        "Reads the streams from their first message through the same rules into memory, and prints one JSON line\n"
        "for each cell that differs. Exit 1 if any does. Cells that the streams do not cover whole are not judged.\n"
        "On a live stream a difference is looked at again after reading on; what is still under way then is not\n"
        "judged either.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .differences = "differences found: stored cells are not those that the streams give",
    .run = run,
};
