/* `reconciler help`: prints the help of the program, of a command, or of the keys of the files. All comes from
 * tables. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdio.h>

#include "config.h"

/* Prints one line for each exit code. Statuses with the same code share its line. */
static void print_exit_codes(unsigned ends, const char *differences)
{
    int last = -1;

    printf("\nExit codes:");
    for (rr_status status = RR_OK; status <= RR_CONFIG; status++) {
        int code = rr_status_exit_code(status);

        if ((ends & 1u << status) == 0) {
            continue;
        }
        if (code == last) {
            printf("; %s", rr_status_text(status));
        } else {
            printf("\n  %2d  %s", code, rr_status_text(status));
        }
        if (status == RR_OK && differences != NULL) {
            printf("\n  %2d  %s", RR_EXIT_DIFFERENCES, differences);
        }
        last = code;
    }
    printf("\n");
}

static void print_option(const rr_cli_option *option)
{
    char text[64], letter[8] = "    ";

    if (option->letter != '\0') {
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    }
    snprintf(text, sizeof text, "%s--%s%s%s", letter, option->name, option->argument == NULL ? "" : " ",
             option->argument == NULL ? "" : option->argument);
    printf("  %-28s  %s%s\n", text, option->help, option->required ? " (required)" : "");
}

void rr_help_command(const rr_command *command)
{
    static const rr_cli_option help = {.name = "help", .letter = 'h', .help = "print this"};
    const rr_cli_option *option = command->options;

    printf("Usage: reconciler %s", command->name);
    for (; option != NULL && option->name != NULL; option++) {
        if (option->required) {
            printf(" --%s%s%s", option->name, option->argument == NULL ? "" : " ",
                   option->argument == NULL ? "" : option->argument);
        }
    }
    printf(" [options]%s%s\n\n%s\n\nOptions:\n", command->operands == NULL ? "" : " ",
           command->operands == NULL ? "" : command->operands, command->summary);
    for (option = command->options; option != NULL && option->name != NULL; option++) {
        print_option(option);
    }
    print_option(&help);
    if (command->details != NULL) {
        printf("\n%s", command->details);
    }
    print_exit_codes(command->ends | RR_CLI_ENDS_ALWAYS, command->differences);
}

void rr_help_program(const rr_command *const *commands)
{
    printf("Usage: reconciler <command> [options]\n\n"
           "Keeps the one right value of each business key, window and metric version.\n\nCommands:\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        printf("  %-12s  %s\n", commands[i]->name, commands[i]->summary);
    }
    printf("\nOptions:\n  --help        print this\n  --version     print the version\n"
           "\n`reconciler <command> --help` describes one command, `reconciler help config` and\n"
           "`reconciler help contract` the keys of the files.\n");
    print_exit_codes(~0u, "differences found");
}

static int print_table(const rr_option *table, const char *title)
{
    rr_buf buf = {0};

    rr_buf_text(&buf, title);
    rr_options_print(table, 0, &buf);
    rr_cli_out(rr_buf_view(&buf));
    rr_buf_fini(&buf);
    return RR_EXIT_DONE;
}

static int run(const rr_args *args)
{
    const char *topic = args->operand_count == 0 ? NULL : args->operands[0];
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    if (topic == NULL) {
        rr_help_program(args->commands);
        return RR_EXIT_DONE;
    }
    if (strcmp(topic, "config") == 0) {
        return print_table(
            rr_config_options,
            "The configuration, in YAML. In any value, ${env:NAME} stands for a variable of the environment,\n"
            "${file:PATH} for the content of a file, and $${ for the characters ${.\n\n");
    }
    if (strcmp(topic, "contract") == 0) {
        return print_table(rr_contract_options, "One item of the list below `contracts:`, in YAML.\n\n");
    }
    rr_nearest_init(&nearest, rr_slice_of(topic));
    rr_nearest_try(&nearest, RR_SLICE("config"));
    rr_nearest_try(&nearest, RR_SLICE("contract"));
    for (size_t i = 0; args->commands[i] != NULL; i++) {
        if (strcmp(topic, args->commands[i]->name) == 0) {
            rr_help_command(args->commands[i]);
            return RR_EXIT_DONE;
        }
        rr_nearest_try(&nearest, rr_slice_of(args->commands[i]->name));
    }
    return rr_cli_usage(args, "there is no help about '%.80s'%s", topic, rr_nearest_hint(&nearest, "", hint));
}

const rr_command rr_command_help = {
    .name = "help",
    .summary = "describe a command, or the keys of the configuration or of contracts",
    .operands = "[COMMAND|config|contract]",
    .operands_most = 1,
    .run = run,
};
