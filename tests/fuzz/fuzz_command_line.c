/* Command lines: words that are read, and written again in one canonical form, read as the same. The frame is the
 * program's (main.c, built with another name for its main, args.c and output.c); the commands are made for this,
 * with rows of all kinds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "fuzz_commands.h" /* of the program: those that are not listed here */
#include "kit.h"

int rr_program_main(int argc, char **argv);

enum { WORDS_MAX = 24 };

static rr_args read_first; /* what the first reading gave; operands are copied */
static const char *operands_first[WORDS_MAX];
static unsigned runs;

static bool same_text(const char *a, const char *b)
{
    return (a == NULL && b == NULL) || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static int take(const rr_args *args)
{
    size_t rows = 0;

    for (; args->command->options != NULL && args->command->options[rows].name != NULL; rows++) {
        const rr_cli_option *option = &args->command->options[rows];

        RR_MUST(!option->required || rr_args_value(args, option->name) != NULL);
        RR_MUST(rr_args_flag(args, option->name) == (rr_args_value(args, option->name) != NULL));
    }
    RR_MUST(args->operand_count >= args->command->operands_least &&
            args->operand_count <= args->command->operands_most);
    if (runs++ == 0) {
        read_first = *args;
        for (size_t k = 0; k < args->operand_count; k++) {
            operands_first[k] = args->operands[k];
        }
        return RR_EXIT_DONE;
    }
    RR_MUST(args->command == read_first.command && args->operand_count == read_first.operand_count);
    for (size_t k = 0; k < rows; k++) {
        RR_MUST(same_text(args->values[k], read_first.values[k]));
    }
    for (size_t k = 0; k < args->operand_count; k++) {
        RR_MUST(strcmp(args->operands[k], operands_first[k]) == 0);
    }
    return RR_EXIT_DONE;
}

static const rr_cli_option mixed[] = {
    {.name = "contract", .letter = 'c', .argument = "FILE", .required = true, .help = "h"},
    {.name = "cells", .help = "h"},
    {.name = "store", .letter = 's', .argument = "URL", .help = "h"},
    {.name = "verbose", .letter = 'v', .help = "h"},
    RR_CLI_JSON,
    RR_CLI_END,
};
static const rr_cli_option flags[] = {
    {.name = "a", .letter = 'a', .help = "h"}, {.name = "all", .letter = 'b', .help = "h"}, RR_CLI_END};

#define COMMAND(id, table, least, most) \
    const rr_command rr_command_##id = {.name = #id, \
                                        .summary = "s", \
                                        .operands = "[X]", \
                                        .operands_least = least, \
                                        .operands_most = most, \
                                        .options = table, \
                                        .run = take}

COMMAND(apply, mixed, 0, 1);
COMMAND(run, flags, 0, 0);
COMMAND(get, mixed, 2, 4);
COMMAND(publish, NULL, 0, 3);
COMMAND(encode, flags, 1, 1);
COMMAND(verify, flags, 0, 20);
COMMAND(rewind, mixed, 0, 0);
COMMAND(check, mixed, 1, 20);
COMMAND(preflight, NULL, 0, 0);
COMMAND(help, NULL, 0, 1);
#define RR_X(id) COMMAND(id, flags, 0, 1);
RR_FUZZ_MORE_COMMANDS(RR_X)
#undef RR_X

void rr_help_command(const rr_command *command)
{
    RR_MUST(command != NULL);
}

void rr_help_program(const rr_command *const *commands)
{
    RR_MUST(commands[0] != NULL);
}

static void read_again(void)
{
    char words[WORDS_MAX * 2][256], *argv[WORDS_MAX * 2 + 1];
    const rr_command *command = read_first.command;
    int argc = 0;

    snprintf(words[argc++], sizeof *words, "reconciler");
    snprintf(words[argc++], sizeof *words, "%s", command->name);
    for (size_t k = 0; command->options != NULL && command->options[k].name != NULL; k++) {
        const char *value = read_first.values[k];

        if (value != NULL && command->options[k].argument != NULL) {
            snprintf(words[argc++], sizeof *words, "--%s=%s", command->options[k].name, value);
        } else if (value != NULL) {
            snprintf(words[argc++], sizeof *words, "--%s", command->options[k].name);
        }
    }
    snprintf(words[argc++], sizeof *words, "--");
    for (size_t k = 0; k < read_first.operand_count; k++) {
        snprintf(words[argc++], sizeof *words, "%s", operands_first[k]);
    }
    for (int k = 0; k < argc; k++) {
        argv[k] = words[k];
    }
    argv[argc] = NULL;
    RR_MUST(rr_program_main(argc, argv) == RR_EXIT_DONE && runs == 2);
}

/* Words that are not long are all the same length here: what is longer than the room is cut before it is read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    char words[WORDS_MAX][200], *argv[WORDS_MAX + 2], name[] = "reconciler";
    fuzz_input in = {data, size};
    int argc = 0;

    if (nowhere == NULL) {
        nowhere = fopen("/dev/null", "w");
        RR_MUST(nowhere != NULL);
        stderr = nowhere; /* messages about words are not tested here; sanitizers write past it */
    }
    argv[argc++] = name;
    for (size_t k = 0; k < WORDS_MAX && in.left != 0; k++) {
        rr_slice word = fuzz_until(&in, '\n');

        snprintf(words[k], sizeof words[k], "%.*s", (int)word.len, word.data);
        argv[argc++] = words[k];
    }
    argv[argc] = NULL;
    runs = 0;
    if (rr_program_main(argc, argv) == RR_EXIT_DONE && runs == 1) {
        read_again();
    }
    return 0;
}
