/* The frame of `reconciler <command> [options]`: one file a command, one row each in main.c.
 *
 * A command's options are a table, which reads the command line and writes the
 * help. Standard output holds data, standard error holds messages for people.
 * A command returns an exit code: that of an rr_status, or 1 for "differences
 * found". Its row names every status that it can end with; its help lists them.
 *
 * main.c knows all commands. A command knows args.c and output.c, and reaches
 * the other commands only through its arguments.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CLI_H
#define RR_CLI_H

#include <rr/error.h>
#include <rr/slice.h>

enum {
    RR_CLI_OPTIONS_MAX = 32, /* rows of a command's table */
    RR_CLI_REPEATS_MAX = 64, /* values of options that repeat */
    RR_EXIT_DONE = 0,
    RR_EXIT_DIFFERENCES = 1
};

typedef struct rr_cli_option {
    const char *name;     /* without the dashes */
    char letter;          /* 0: none */
    const char *argument; /* the name of its value, "FILE"; NULL: a flag */
    bool required;
    bool repeats; /* may be given several times: rr_args_repeated */
    const char *help;
} rr_cli_option;

#define RR_CLI_END \
    { \
        .name = NULL \
    }

/* The option of commands that can print JSON. */
#define RR_CLI_JSON \
    { \
        .name = "json", .help = "print JSON" \
    }

typedef struct rr_args rr_args;

/* A set of statuses. */
#define RR_CLI_ENDS(status) (1u << RR_##status)

/* The statuses of every command: wrong options, standard output that cannot be written, faults of the program. */
#define RR_CLI_ENDS_ALWAYS \
    (RR_CLI_ENDS(OK) | RR_CLI_ENDS(USAGE) | RR_CLI_ENDS(INTERNAL) | RR_CLI_ENDS(MEMORY) | RR_CLI_ENDS(IO))

/* Those of a command that reads a configuration, opens its store and asks its servers. */
#define RR_CLI_ENDS_SERVERS \
    (RR_CLI_ENDS(INPUT) | RR_CLI_ENDS(UNAVAILABLE) | RR_CLI_ENDS(REFUSED_BY_SERVER) | RR_CLI_ENDS(CONFIG))

typedef struct rr_command {
    const char *name;
    const char *summary;  /* one line, for the list */
    const char *operands; /* "[RECORDS]"; NULL: takes none */
    size_t operands_least, operands_most;
    const rr_cli_option *options; /* ended by RR_CLI_END; NULL: none */
    const char *details;          /* more for its --help, ended by a newline; NULL: nothing */
    unsigned ends;                /* RR_CLI_ENDS of the statuses that it can end with, beside RR_CLI_ENDS_ALWAYS */
    const char *differences;      /* what exit code 1 means; NULL: the command never ends with 1 */
    int (*run)(const rr_args *args);
} rr_command;

/* The command line, read by the tables. Its texts are those of argv. */
struct rr_args {
    const rr_command *const *commands; /* all there are, ended by NULL */
    const rr_command *command;
    const char *values[RR_CLI_OPTIONS_MAX]; /* by row; NULL: not given; a flag: "" */
    struct {
        size_t row;
        const char *value;
    } repeated[RR_CLI_REPEATS_MAX]; /* of options that repeat, in the order given */
    size_t repeated_count;
    const char *const *operands;
    size_t operand_count;
};

/* The value of an option, or NULL; whether a flag is given. The name must be in the table (asserted). */
const char *rr_args_value(const rr_args *args, const char *name);
bool rr_args_flag(const rr_args *args, const char *name);

/* The k-th value, from 0, of an option that repeats, or NULL. */
const char *rr_args_repeated(const rr_args *args, const char *name, size_t k);

/* Reads the words behind the command into the arguments, whose `command` is set. Moves the operands to the front of
 * argv. *help: --help is there, and nothing else counts. Returns RR_EXIT_DONE, or prints what is wrong and returns
 * 64. */
int rr_args_read(rr_args *args, char **argv, bool *help);

/* Prints one line on standard error, in printable text (printable.h). */
void rr_cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "reconciler COMMAND: text" in the same way; returns the exit code of the error, or of a wrong command line. */
int rr_cli_fail(const rr_args *args, const rr_error *error);
int rr_cli_usage(const rr_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes to standard output. A failure is reported once, when the program ends (74). */
void rr_cli_out(rr_slice text);

/* Help of one command, and of the program with all commands, ended by NULL; help.c. */
void rr_help_command(const rr_command *command);
void rr_help_program(const rr_command *const *commands);

extern const rr_command rr_command_apply;
extern const rr_command rr_command_check;
extern const rr_command rr_command_decode;
extern const rr_command rr_command_encode;
extern const rr_command rr_command_get;
extern const rr_command rr_command_help;
extern const rr_command rr_command_preflight;
extern const rr_command rr_command_publish;
extern const rr_command rr_command_rebuild;
extern const rr_command rr_command_rewind;
extern const rr_command rr_command_run;
extern const rr_command rr_command_streams;
extern const rr_command rr_command_suggest;
extern const rr_command rr_command_verify;

#endif
