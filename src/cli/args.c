/* The command line, read by a command's table of options. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include "must.h"
#include "problems.h"

static const rr_cli_option *options_of(const rr_command *command)
{
    static const rr_cli_option none[] = {RR_CLI_END};

    return command->options == NULL ? none : command->options;
}

static size_t row_of(const rr_args *args, const char *name)
{
    const rr_cli_option *options = options_of(args->command);
    size_t row = 0;

    while (options[row].name != NULL && strcmp(options[row].name, name) != 0) {
        row++;
    }
    RR_MUST(options[row].name != NULL && row < RR_CLI_OPTIONS_MAX);
    return row;
}

const char *rr_args_value(const rr_args *args, const char *name)
{
    return args->values[row_of(args, name)];
}

const char *rr_args_repeated(const rr_args *args, const char *name, size_t which)
{
    size_t row = row_of(args, name);

    for (size_t k = 0; k < args->repeated_count; k++) {
        if (args->repeated[k].row == row && which-- == 0) {
            return args->repeated[k].value;
        }
    }
    return NULL;
}

bool rr_args_flag(const rr_args *args, const char *name)
{
    return rr_args_value(args, name) != NULL;
}

static int unknown_option(const rr_args *args, rr_slice name)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    rr_nearest_init(&nearest, name);
    for (const rr_cli_option *option = options_of(args->command); option->name != NULL; option++) {
        rr_nearest_try(&nearest, rr_slice_of(option->name));
    }
    rr_nearest_try(&nearest, RR_SLICE("help"));
    return rr_cli_usage(args, "unknown option '%s%.*s'%s", name.len == 1 ? "-" : "--", RR_SHOW(name),
                        rr_nearest_hint(&nearest, "--", hint));
}

static const rr_cli_option *find_option(const rr_args *args, rr_slice name, bool is_letter)
{
    for (const rr_cli_option *option = options_of(args->command); option->name != NULL; option++) {
        if (is_letter ? option->letter == name.data[0] : rr_slice_equal(rr_slice_of(option->name), name)) {
            return option;
        }
    }
    return NULL;
}

/* Reads the option at argv[*at]. Its value follows `=`, or the letter, or is the next word. */
static int take_option(rr_args *args, char **argv, int *at)
{
    const char *word = argv[*at], *value = NULL, *equals = strchr(word, '=');
    bool is_letter = word[1] != '-';
    rr_slice name = rr_slice_of(word + 2);
    const rr_cli_option *option;

    if (is_letter) {
        name = (rr_slice){word + 1, 1};
        value = word[2] == '\0' ? NULL : word + 2;
    } else if (equals != NULL) {
        name.len = (size_t)(equals - word) - 2;
        value = equals + 1;
    }
    option = find_option(args, name, is_letter);
    if (option == NULL) {
        return unknown_option(args, name);
    }
    if (option->repeats && args->repeated_count == RR_CLI_REPEATED_MAX) {
        return rr_cli_usage(args, "--%s is given more than %d times", option->name, RR_CLI_REPEATED_MAX);
    }
    if (args->values[row_of(args, option->name)] != NULL && !option->repeats) {
        return rr_cli_usage(args, "--%s is given twice", option->name);
    }
    if (option->argument == NULL && value != NULL) {
        return rr_cli_usage(args, "--%s takes no value", option->name);
    }
    if (option->argument != NULL && value == NULL) {
        value = argv[*at + 1];
        if (value == NULL) {
            return rr_cli_usage(args, "--%s needs a value: %s", option->name, option->argument);
        }
        *at += 1;
    }
    args->values[row_of(args, option->name)] = value == NULL ? "" : value;
    if (option->repeats) {
        args->repeated[args->repeated_count].row = row_of(args, option->name);
        args->repeated[args->repeated_count++].value = value;
    }
    return RR_EXIT_DONE;
}

static int check_complete(const rr_args *args)
{
    const rr_command *command = args->command;

    for (const rr_cli_option *option = options_of(command); option->name != NULL; option++) {
        if (option->required && !rr_args_flag(args, option->name)) {
            return rr_cli_usage(args, "--%s %s is missing: %s", option->name,
                                option->argument == NULL ? "" : option->argument, option->help);
        }
    }
    if (args->operand_count < command->operands_least) {
        return rr_cli_usage(args, "%s is missing", command->operands);
    }
    if (args->operand_count > command->operands_most) {
        return rr_cli_usage(args, "'%s' is one operand too many", args->operands[command->operands_most]);
    }
    return RR_EXIT_DONE;
}

int rr_args_read(rr_args *args, char **argv, bool *help)
{
    bool only_operands = false;
    int code = RR_EXIT_DONE;

    args->operands = (const char *const *)argv;
    for (int at = 0; argv[at] != NULL && code == RR_EXIT_DONE; at++) {
        if (only_operands || argv[at][0] != '-' || argv[at][1] == '\0') {
            argv[args->operand_count++] = argv[at];
        } else if (strcmp(argv[at], "--") == 0) {
            only_operands = true;
        } else if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            *help = true;
            return RR_EXIT_DONE;
        } else {
            code = take_option(args, argv, &at);
        }
    }
    return code != RR_EXIT_DONE ? code : check_complete(args);
}
