/* `reconciler apply`: applies the rules to the records of a file, or to those that messages of files become, in memory
 * or on the store of --store. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "admit.h"
#include "batch.h"
#include "cell_json.h"
#include "cells.h"
#include "cli.h"
#include "contract_yaml.h"
#include "file_delivery.h"
#include "intake.h"
#include "ports.h"
#include "records.h"

enum { BATCH = 1024 };

typedef struct apply {
    const rr_args *args;
    rr_contract_list contracts;
    const rr_contract *contract; /* of --contract; NULL: the routes of a source have theirs */
    rr_opened opened;            /* --config */
    size_t source;
    rr_intake intake;
    const rr_store_ops *ops;
    rr_store *store;
    rr_batch *batch;
    rr_records records;
    rr_arena arena;
    rr_item items[BATCH];
    rr_record decoded[BATCH];
    rr_buf out;
    bool has_clock;
    int64_t clock_us;
} apply;

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Admits one record of the file. *is_record is false for a clock line and a blank line. */
static rr_status admit_record(apply *a, rr_decoded decoded, rr_item *item, int64_t clock_us, rr_text *why,
                              bool *is_record, rr_error *error)
{
    rr_record *record = item->record;
    rr_reason reason = RR_REASON_NONE;

    *is_record = decoded != RR_DECODED_NOTHING && decoded != RR_DECODED_CLOCK;
    if (decoded == RR_DECODED_CLOCK) {
        a->has_clock = true;
        a->clock_us = clock_us;
    }
    if (!*is_record) {
        return RR_OK;
    }
    record->has_arrival = a->has_clock;
    record->arrival_us = a->clock_us;
    if (decoded == RR_DECODED_RECORD) {
        if (!rr_arena_reserve(&a->arena, rr_admit_need(a->contract, record))) {
            return rr_fail(error, RR_MEMORY, "no memory for a record");
        }
        reason = rr_admit(a->contract, record, &a->arena, why);
    } else {
        reason = decoded == RR_DECODED_TOO_LARGE ? RR_REASON_LIMIT_EXCEEDED : RR_REASON_MALFORMED;
    }
    if (reason != RR_REASON_NONE) {
        rr_item_refuse(item, reason);
        item->why = rr_arena_copy(&a->arena, (rr_slice){why->bytes, why->len});
    }
    return RR_OK;
}

static void print_outcome(apply *a, const rr_item *item)
{
    rr_buf_text(&a->out, "{\"verdict\":\"");
    rr_buf_text(&a->out, rr_verdict_word(item->outcome.verdict));
    if (item->outcome.reason != RR_REASON_NONE) {
        rr_buf_text(&a->out, "\",\"reason\":\"");
        rr_buf_text(&a->out, rr_reason_word(item->outcome.reason));
    }
    rr_buf_text(&a->out, "\",\"alerts\":");
    rr_alerts_json(&a->out, item->outcome.alerts);
    if (item->why.len != 0 && rr_args_flag(a->args, "explain")) {
        rr_buf_text(&a->out, ",\"text\":");
        rr_buf_json(&a->out, item->why);
    }
    rr_buf_text(&a->out, "}\n");
}

static rr_status decide_batch(apply *a, rr_item *items, size_t count, rr_error *error)
{
    rr_status status = rr_batch_begin(a->batch, items, count, error);

    if (status == RR_OK) {
        status = rr_batch_step(a->batch, now_us(), error);
    }
    rr_buf_clear(&a->out);
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        if (items[k].stuck) {
            status = rr_fail(error, RR_REFUSED_BY_SERVER, "a cell could not be stored: the message above says why");
        } else {
            print_outcome(a, &items[k]);
        }
    }
    if (status == RR_OK && !rr_buf_ok(&a->out)) {
        status = rr_fail(error, RR_MEMORY, "no memory for the answers");
    }
    if (status == RR_OK) {
        rr_cli_out(rr_buf_view(&a->out));
    }
    rr_arena_reset(&a->arena);
    return status;
}

static rr_status apply_records(apply *a, rr_error *error)
{
    size_t count = 0;
    rr_status status = RR_OK;

    for (;;) {
        rr_decoded decoded = RR_DECODED_NOTHING;
        rr_text why;
        int64_t clock_us = 0;
        bool end, is_record;

        a->items[count] = (rr_item){.contract = a->contract, .record = &a->decoded[count]};
        status = rr_records_next(&a->records, &a->arena, &decoded, &a->decoded[count], &clock_us, &why, &end, error);
        if (status != RR_OK || end) {
            break;
        }
        status = admit_record(a, decoded, &a->items[count], clock_us, &why, &is_record, error);
        if (status != RR_OK) {
            return status;
        }
        count += is_record;
        if (count == BATCH) {
            status = decide_batch(a, a->items, count, error);
            count = 0;
        }
        if (status != RR_OK) {
            return status;
        }
    }
    if (count != 0) {
        rr_status last = decide_batch(a, a->items, count, status == RR_OK ? error : NULL);

        status = status == RR_OK ? last : status;
    }
    return status;
}

/* ---- messages of files ---- */

static rr_status decide_intake(apply *a, rr_error *error)
{
    rr_status status = a->intake.count == 0 ? RR_OK : decide_batch(a, a->intake.items, a->intake.count, error);

    rr_intake_reset(&a->intake);
    return status;
}

static rr_status apply_file(apply *a, const rr_file_delivery *of, const char *path, rr_error *error)
{
    rr_messages messages;
    rr_slice message = {NULL, 0};
    bool end = false;
    rr_status status = rr_messages_open(&messages, path, rr_file_delivery_form(of), error);

    while (status == RR_OK && !end) {
        status = rr_messages_next(&messages, &message, &end, error);
        if (status == RR_OK && !end) {
            rr_delivery delivery = rr_file_delivery_make(of, message);

            /* No wall clock, as for records: whether a cell is gone by now is not for `apply` to say. */
            if (!rr_intake_add_routed(&a->intake, of->route, (rr_slice){NULL, 0}, &delivery, INT64_MIN)) {
                status = rr_fail(error, RR_MEMORY, "no memory to decode a message");
            } else if (rr_intake_is_full(&a->intake)) {
                status = decide_intake(a, error);
            }
        }
    }
    /* What stands in front of a fault of the file is decided. */
    if (a->intake.count != 0) {
        rr_status last = decide_intake(a, status == RR_OK ? error : NULL);

        status = status == RR_OK ? last : status;
    }
    rr_messages_close(&messages);
    return status;
}

static rr_status apply_files(apply *a, rr_error *error)
{
    rr_file_delivery of;
    rr_status status = rr_file_delivery_read(&of, &a->opened, a->source, a->args, error);

    if (status == RR_OK && of.route.contract == NULL) {
        return rr_fail(error, RR_USAGE, "no route of source %s takes the subject '%.*s'",
                       a->opened.config.sources[a->source].name, (int)of.subject.len, of.subject.data);
    }
    if (status == RR_OK && a->args->operand_count == 0) {
        status = apply_file(a, &of, "-", error);
    }
    for (size_t k = 0; status == RR_OK && k < a->args->operand_count; k++) {
        status = apply_file(a, &of, a->args->operands[k], error);
    }
    return status;
}

static rr_status print_cells(apply *a, rr_error *error)
{
    const char *prefix = rr_args_value(a->args, "prefix");
    rr_slice keys = rr_slice_of(prefix == NULL ? "rr" : prefix);
    rr_status status = RR_OK;

    if (a->contract != NULL) {
        return rr_cells_print(a->ops, a->store, keys, a->contract, NULL, NULL, error);
    }
    for (size_t k = 0; status == RR_OK && k < a->opened.config.contracts.count; k++) {
        status = rr_cells_print(a->ops, a->store, keys, &a->opened.config.contracts.items[k], NULL, NULL, error);
    }
    return status;
}

/* ---- the command ---- */

static void report_stuck(void *context, const rr_error *error)
{
    rr_cli_fail(((apply *)context)->args, error);
}

static rr_status load_contract(apply *a, rr_error *error)
{
    const char *name = rr_args_value(a->args, "name");
    rr_problems problems = {0};
    rr_status status = rr_contracts_load(rr_args_value(a->args, "contract"), &a->contracts, &problems);

    if (status != RR_OK) {
        rr_problems_fail(&problems, error);
        error->status = status;
    } else if (name == NULL && a->contracts.count != 1) {
        status = rr_fail(error, RR_USAGE, "%s has %zu contracts: name one with --name",
                         rr_args_value(a->args, "contract"), a->contracts.count);
    } else {
        a->contract = name == NULL ? &a->contracts.items[0] : rr_contracts_find(&a->contracts, rr_slice_of(name));
        if (a->contract == NULL) {
            status =
                rr_fail(error, RR_USAGE, "%s has no contract named '%s'", rr_args_value(a->args, "contract"), name);
        }
    }
    rr_problems_fini(&problems);
    return status;
}

/* Reads the configuration of --config: its source, contracts and mappings. Opens nothing of it. */
static rr_status load_config(apply *a, rr_error *error)
{
    rr_status status = rr_opened_read(&a->opened, a->args, error);

    if (status == RR_OK) {
        status = rr_file_delivery_source(&a->opened, a->args, &a->source, error);
    }
    if (status == RR_OK && !rr_intake_init(&a->intake, BATCH)) {
        status = rr_fail(error, RR_MEMORY, "no memory");
    }
    return status;
}

static rr_status open_records(apply *a, rr_error *error)
{
    const char *input = rr_args_value(a->args, "input");

    return rr_records_open(&a->records, a->args->operand_count == 0 ? NULL : a->args->operands[0],
                           input == NULL ? "json" : input, error);
}

static rr_status open_all(apply *a, rr_error *error)
{
    const char *url = rr_args_value(a->args, "store");
    bool has_config = rr_args_flag(a->args, "config");
    const char *prefix = rr_args_value(a->args, "prefix");
    rr_batch_options options = {
        .prefix = rr_slice_of(prefix == NULL ? "rr" : prefix), .report_stuck = report_stuck, .context = a};
    rr_store_options store_options = {0};
    rr_status status = has_config ? load_config(a, error) : load_contract(a, error);

    if (status == RR_OK) {
        a->ops = rr_ports_store(url == NULL ? "memory:" : url, error);
        status = a->ops == NULL ? error->status
                                : a->ops->open(url == NULL ? "memory:" : url, &store_options, &a->store, error);
    }
    if (status == RR_OK) {
        a->batch = rr_batch_new(a->ops, a->store, &options);
        status = a->batch == NULL ? rr_fail(error, RR_MEMORY, "no memory") : RR_OK;
    }
    if (status == RR_OK && !has_config) {
        status = open_records(a, error);
    }
    return status;
}

static void close_all(apply *a)
{
    rr_records_close(&a->records);
    rr_batch_free(a->batch);
    if (a->store != NULL) {
        a->ops->close(a->store);
    }
    rr_contracts_fini(&a->contracts);
    rr_intake_fini(&a->intake);
    rr_opened_close(&a->opened);
    rr_arena_fini(&a->arena);
    rr_buf_fini(&a->out);
    free(a);
}

/* The first option that is of the other kind of input, or NULL. */
static const char *find_stray(const rr_args *args)
{
    static const char *const of_records[] = {"name", "input", NULL};
    static const char *const of_messages[] = {"source", "subject", "header", "stored-at", NULL};

    for (const char *const *name = rr_args_flag(args, "config") ? of_records : of_messages; *name != NULL; name++) {
        if (rr_args_flag(args, *name)) {
            return *name;
        }
    }
    return NULL;
}

static int check_options(const rr_args *args)
{
    bool has_config = rr_args_flag(args, "config");
    const char *stray = find_stray(args);

    if (has_config == rr_args_flag(args, "contract")) {
        return rr_cli_usage(args, "give either --contract FILE, for records, or --config FILE, for messages as a "
                                  "source delivers them");
    }
    if (stray != NULL) {
        return rr_cli_usage(args, "--%s does not go with --%s", stray, has_config ? "config" : "contract");
    }
    if (!has_config && args->operand_count > 1) {
        return rr_cli_usage(args, "'%s' is one operand too many", args->operands[1]);
    }
    return RR_EXIT_DONE;
}

static int run(const rr_args *args)
{
    apply *a;
    rr_error error = {0};
    rr_status status;
    int code = check_options(args);

    if (code != RR_EXIT_DONE) {
        return code;
    }
    a = calloc(1, sizeof *a);
    if (a == NULL) {
        rr_fail(&error, RR_MEMORY, "no memory");
        return rr_cli_fail(args, &error);
    }
    a->args = args;
    rr_arena_init(&a->arena, 0);
    status = open_all(a, &error);
    if (status == RR_OK) {
        status = rr_args_flag(args, "config") ? apply_files(a, &error) : apply_records(a, &error);
    }
    if (status == RR_OK && rr_args_flag(args, "cells")) {
        status = print_cells(a, &error);
    }
    code = status == RR_OK ? RR_EXIT_DONE : rr_cli_fail(args, &error);
    close_all(a);
    return code;
}

static const rr_cli_option options[] = {
    {.name = "contract", .letter = 'c', .argument = "FILE", .help = "the contract, in YAML"},
    {.name = "name", .letter = 'n', .argument = "NAME", .help = "which contract, where the file has several"},
    {.name = "cells", .help = "print the cells after the last verdict"},
    {.name = "store",
     .argument = "URL",
     .help = "where cells are kept: memory (default), redis://host:port/db, unix:///path"},
    {.name = "prefix", .argument = "TEXT", .help = "the first part of all keys in the store (default rr)"},
    {.name = "input", .argument = "KIND", .help = "json (default), or protobuf: each record after its length"},
    {.name = "explain", .help = "add to each refusal a sentence that says why"},
    {.name = "config",
     .argument = "FILE",
     .help = "instead of --contract, the configuration: the files hold messages as its source delivers them"},
    {.name = "source", .argument = "NAME", .help = "which source of the configuration (default: the only one)"},
    RR_CLI_FILE_DELIVERY,
    RR_CLI_END,
};

const rr_command rr_command_apply = {
    .name = "apply",
    .summary = "apply the rules to the records of a file, and print the verdict of each",
    .operands = "[FILE...]",
    .operands_most = SIZE_MAX,
    .options = options,
    .details =
        "Prints one JSON line for each record; with --cells, then one for each cell.\n"
        "A line {\"clock\":\"2026-01-01T10:03:01Z\"} sets the time at which the records after it arrive;\n"
        "without one no record is too early or too late.\n"
        "\n"
        "With --config, files hold messages of a source, and its routes say by which contract and mapping:\n"
        "JSON, a message a line; or protobuf, each message after its length as a varint. A message that\n"
        "becomes several records gives a line for each. What a rule of `skip`, or SKIP, passes over prints\n"
        "nothing. The store of the configuration is not opened; --cells prints the cells of all its contracts.\n",
    .ends = RR_CLI_ENDS_SERVERS,
    .run = run,
};
