/* `reconciler check`: finds the errors of a configuration, or of a file of contracts, without any network. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include "plugins.h"
#include "printable.h"

typedef struct checked {
    const char *path;
    rr_status status;
    size_t contracts, sources;
    bool is_config;
} checked;

static void print_json(const checked *what, const rr_problems *problems, rr_buf *out)
{
    rr_buf_text(out, "{\"file\":");
    rr_buf_json_printable(out, rr_slice_of(what->path));
    rr_buf_format(out, ",\"ok\":%s,\"contracts\":%zu,\"sources\":%zu,\"errors\":%zu,\"warnings\":%zu,\"problems\":",
                  what->status == RR_OK ? "true" : "false", what->contracts, what->sources, problems->errors,
                  problems->warnings);
    rr_problems_json(problems, out);
    rr_buf_text(out, "}\n");
}

static void print_count(rr_buf *out, size_t count, const char *noun)
{
    rr_buf_format(out, ", %zu %s%s", count, noun, count == 1 ? "" : "s");
}

static void print_text(const checked *what, const rr_problems *problems, rr_buf *out)
{
    rr_problems_print(problems, out);
    if (what->status == RR_OK) {
        rr_buf_printable(out, rr_slice_of(what->path));
        rr_buf_text(out, ": ok");
        print_count(out, what->contracts, "contract");
        if (what->is_config) {
            print_count(out, what->sources, "source");
        }
        rr_buf_char(out, '\n');
    }
}

/* The examples that stand beside mappings. */
static rr_status check_examples(const rr_config *config, rr_problems *problems)
{
    size_t before = problems->errors;

    for (size_t i = 0; i < config->source_count; i++) {
        for (size_t j = 0; j < config->sources[i].route_count; j++) {
            rr_mapping_check_examples(&config->sources[i].routes[j].decode, problems);
        }
    }
    rr_problems_sort(problems);
    return problems->errors == before ? RR_OK : RR_CONFIG;
}

static checked check_config(const char *path, rr_problems *problems)
{
    checked what = {.path = path, .is_config = true};
    rr_config config;

    what.status = rr_config_load(path, &config, problems);
    if (rr_plugins_check(&config, problems) != RR_OK && what.status == RR_OK) {
        what.status = RR_CONFIG;
    }
    what.contracts = config.contracts.count;
    what.sources = config.source_count;
    if (what.status == RR_OK) {
        what.status = check_examples(&config, problems);
    }
    rr_config_fini(&config);
    return what;
}

static checked check_contracts(const char *path, rr_problems *problems)
{
    checked what = {.path = path};
    rr_contract_list list;

    what.status = rr_contracts_load(path, &list, problems);
    what.contracts = list.count;
    rr_contracts_fini(&list);
    rr_problems_sort(problems);
    return what;
}

static int run(const rr_args *args)
{
    const char *config = rr_args_value(args, "config"), *contract = rr_args_value(args, "contract");
    rr_problems problems = {0};
    rr_buf out = {0};
    checked what;

    if ((config == NULL) == (contract == NULL)) {
        return rr_cli_usage(args, "give either --config FILE or --contract FILE");
    }
    what = config != NULL ? check_config(config, &problems) : check_contracts(contract, &problems);
    (rr_args_flag(args, "json") ? print_json : print_text)(&what, &problems, &out);
    rr_cli_out(rr_buf_view(&out));
    rr_buf_fini(&out);
    rr_problems_fini(&problems);
    return rr_status_exit_code(what.status);
}

static const rr_cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE", .help = "the configuration of `run`"},
    {.name = "contract", .argument = "FILE", .help = "instead of it, a file of contracts"},
    RR_CLI_JSON,
    RR_CLI_END,
};

const rr_command rr_command_check = {
    .name = "check",
    .summary = "list all errors of a configuration, without any network",
    .options = options,
    .details = "Prints one line a problem: file:line:column: error|warning: text. Warnings alone are no failure.\n"
               "The plugins that the configuration names are loaded, and asked for the schemes that it uses.\n",
    .ends = RR_CLI_ENDS(INPUT) | RR_CLI_ENDS(CONFIG),
    .run = run,
};
