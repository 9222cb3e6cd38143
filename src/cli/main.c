/* reconciler: finds the command, reads its options, runs it, and checks that its output was written. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <errno.h>
#include <stdio.h>

#include "problems.h"

/* All commands, in the order of the help. */
/* clang-format off */
static const rr_command *const commands[] = {
    &rr_command_apply,
    &rr_command_run,
    &rr_command_get,
    &rr_command_publish,
    &rr_command_encode,
    &rr_command_verify,
    &rr_command_rewind,
    &rr_command_rebuild,
    &rr_command_check,
    &rr_command_decode,
    &rr_command_preflight,
    &rr_command_streams,
    &rr_command_suggest,
    &rr_command_help,
    NULL,
};
/* clang-format on */

static int run_command(const rr_command *command, char **argv)
{
    rr_args args = {.commands = commands, .command = command};
    bool help = false;
    int code = rr_args_read(&args, argv, &help);

    if (help) {
        rr_help_command(command);
        return RR_EXIT_DONE;
    }
    return code != RR_EXIT_DONE ? code : command->run(&args);
}

static int unknown_command(const char *word)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;
    bool is_option = word[0] == '-';

    rr_nearest_init(&nearest, rr_slice_of(word));
    for (size_t i = 0; commands[i] != NULL; i++) {
        rr_nearest_try(&nearest, rr_slice_of(commands[i]->name));
    }
    rr_nearest_try(&nearest, RR_SLICE("--help"));
    rr_nearest_try(&nearest, RR_SLICE("--version"));
    rr_cli_message("reconciler: unknown %s '%.80s'%s; see reconciler --help", is_option ? "option" : "command", word,
                   rr_nearest_hint(&nearest, "", hint));
    return rr_status_exit_code(RR_USAGE);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        rr_cli_message("reconciler: a command is missing; see reconciler --help");
        return rr_status_exit_code(RR_USAGE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        rr_help_program(commands);
        return RR_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        rr_cli_out(RR_SLICE("reconciler " RR_VERSION_TEXT "\n"));
        return RR_EXIT_DONE;
    }
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, argv[1]) == 0) {
            return run_command(commands[i], argv + 2);
        }
    }
    return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    int code = dispatch(argc, argv);
    bool failed = ferror(stdout) != 0;

    if (fflush(stdout) != 0 || failed) {
        rr_cli_message("reconciler: writing to standard output failed: %s", strerror(errno));
        return rr_status_exit_code(RR_IO);
    }
    return code;
}
