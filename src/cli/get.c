/* `reconciler get`: prints the cells of a business key as readers see them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cells.h"
#include "opened.h"
#include "time.h"

/* START/END, RFC 3339 or microseconds. */
static bool parse_window(const char *text, rr_window *window)
{
    const char *slash = strchr(text, '/');
    rr_slice start = {text, slash == NULL ? 0 : (size_t)(slash - text)};

    return slash != NULL && rr_time_parse(start, &window->start) && rr_time_parse(rr_slice_of(slash + 1), &window->end);
}

static rr_status get(rr_opened *opened, const rr_args *args, rr_error *error)
{
    const char *window = rr_args_value(args, "window"), *version = rr_args_value(args, "metric-version");
    rr_listing_filter filter = {.business_key = rr_slice_of(args->operands[1]), .has_key = true};
    const rr_contract *contract = rr_contracts_find(&opened->config.contracts, rr_slice_of(args->operands[0]));
    uint64_t printed = 0;
    rr_status status;

    if (contract == NULL) {
        return rr_fail(error, RR_USAGE, "the configuration has no contract named '%s'", args->operands[0]);
    }
    if (version != NULL) {
        filter.metric_version = rr_slice_of(version);
        filter.has_metric_version = true;
    }
    if (window != NULL) {
        filter.has_window = true;
        if (!parse_window(window, &filter.window)) {
            return rr_fail(error, RR_USAGE,
                           "--window is START/END, e.g. 2026-01-01T10:00:00Z/2026-01-01T10:01:00Z, not '%s'", window);
        }
    }
    status = rr_opened_store(opened, error);
    status = status == RR_OK ? rr_opened_prefix(opened, error) : status;
    if (status == RR_OK) {
        status = rr_cells_print(opened->store_ops, opened->store, rr_slice_of(opened->prefix), contract, &filter,
                                &printed, error);
    }
    if (status == RR_OK && printed == 0) {
        status = rr_fail(error, RR_INPUT, "there is no such cell: contract %s, business key %s", args->operands[0],
                         args->operands[1]);
    }
    return status;
}

static int run(const rr_args *args)
{
    rr_opened opened;
    rr_error error = {0};
    rr_status status = rr_opened_read(&opened, args, &error);

    if (status == RR_OK) {
        status = get(&opened, args, &error);
    }
    rr_opened_close(&opened);
    return status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "window", .letter = 'w', .argument = "START/END", .help = "one window (default: all)"},
    {.name = "metric-version", .letter = 'm', .argument = "V", .help = "one metric version (default: all)"},
    RR_CLI_END,
};

const rr_command rr_command_get = {
    .name = "get",
    .summary = "print the cells of a business key as readers see them",
    .operands = "CONTRACT KEY",
    .operands_least = 2,
    .operands_most = 2,
    .options = options,
    .details =
        "Prints one JSON line for each cell, as `apply --cells` does. Applications do not need it: they GET the key\n"
        "from Redis (see the README).\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .run = run,
};
