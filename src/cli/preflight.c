/* `reconciler preflight`: checks the settings of the real servers before anything depends on them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight.h"

#include <stdlib.h>

#include "number.h"
#include "opened.h"
#include "printable.h"

static int read_expected(const rr_args *args, const char *name, uint64_t *number)
{
    const char *text = rr_args_value(args, name);

    if (text != NULL && (!rr_number_u64(rr_slice_of(text), number) || *number == 0)) {
        return rr_cli_usage(args, "--%s must be a whole number above 0, not '%.80s'", name, text);
    }
    return RR_EXIT_DONE;
}

static int exit_code(const rr_preflight *preflight)
{
    if (preflight->refused != 0) {
        return rr_status_exit_code(RR_CONFIG);
    }
    if (preflight->store_status != RR_OK) {
        return rr_status_exit_code(preflight->store_status);
    }
    for (size_t k = 0; k < preflight->config->source_count; k++) {
        if (preflight->sources[k].status != RR_OK) {
            return rr_status_exit_code(preflight->sources[k].status);
        }
    }
    return RR_EXIT_DONE;
}

/* Names of the configuration and texts of servers are among the findings. */
static void print_lines(rr_slice text)
{
    rr_buf line = {0};

    while (text.len != 0) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.data);

        rr_buf_clear(&line);
        rr_buf_printable(&line, (rr_slice){text.data, len});
        rr_buf_char(&line, '\n');
        rr_cli_out(rr_buf_view(&line));
        len += end != NULL;
        text = (rr_slice){text.data + len, text.len - len};
    }
    rr_buf_fini(&line);
}

static int show(const rr_args *args, const rr_preflight *preflight)
{
    rr_buf text = {0};
    bool good;

    if (rr_args_flag(args, "json")) {
        rr_preflight_json(preflight, &text);
        rr_cli_out(rr_buf_view(&text));
    } else {
        rr_preflight_print(preflight, &text);
        print_lines(rr_buf_view(&text));
    }
    good = rr_buf_ok(&text);
    rr_buf_fini(&text);
    return good ? exit_code(preflight) : rr_status_exit_code(RR_MEMORY);
}

static int run_preflight(const rr_args *args, const rr_config *config, const rr_preflight_expected *expected)
{
    rr_preflight preflight;
    rr_error error = {0};
    rr_status status = rr_preflight_survey(&preflight, config, expected, &error);
    int code;

    status = status == RR_OK ? rr_preflight_judge(&preflight, &error) : status;
    code = status == RR_OK ? show(args, &preflight) : rr_cli_fail(args, &error);
    rr_preflight_fini(&preflight);
    return code;
}

static int run(const rr_args *args)
{
    rr_preflight_expected expected = {0};
    rr_error error = {0};
    rr_opened opened;
    int code = read_expected(args, "expect-keys", &expected.keys);

    code = code == RR_EXIT_DONE ? read_expected(args, "expect-identities", &expected.identities) : code;
    if (code != RR_EXIT_DONE) {
        return code;
    }
    code = rr_opened_read(&opened, args, &error) == RR_OK ? run_preflight(args, &opened.config, &expected)
                                                          : rr_cli_fail(args, &error);
    rr_opened_close(&opened);
    return code;
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .required = true, .help = "the configuration, in YAML"},
    {.name = "expect-keys", .argument = "N", .help = "business keys of a contract, to estimate memory"},
    {.name = "expect-identities", .argument = "N", .help = "deltas or contributors of one cell, for the same"},
    RR_CLI_JSON,
    RR_CLI_END,
};

const rr_command rr_command_preflight = {
    .name = "preflight",
    .summary = "check that the servers' settings keep what the configuration needs",
    .options = options,
    .details = "Prints a line a finding: refuse (run would not start), warning or note; then what the crash of\n"
               "each part can lose, and who restores it. It changes nothing but that it loads the functions\n"
               "into Redis. Exit code 78 if something is refused; else 69 if a server could not be reached.\n",
    .run = run,
    .ends = RR_CLI_ENDS_SERVERS,
};
