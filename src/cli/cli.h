/* The frame of `reconciler <command> [options]`: one file a command, one row each in main.c.
 *
 * A command's options are a table, which reads the command line and writes the
 * help. Standard output is data, standard error is talk. A command returns an
 * exit code, of rr_status_exit_code or 1 for "differences found".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CLI_H
#define RR_CLI_H

#include <rr/error.h>
#include <rr/slice.h>

enum {
    RR_CLI_OPTIONS_MAX = 32, /* rows of a table */
    RR_EXIT_DONE = 0,
    RR_EXIT_DIFFERENCES = 1
};

typedef struct rr_cli_option {
    const char *name;     /* without the dashes */
    char letter;          /* 0: none */
    const char *argument; /* what its value is called, "FILE"; NULL: a flag */
    bool required;
    const char *help;
} rr_cli_option;

#define RR_CLI_END \
    { \
        .name = NULL \
    }

/* What every command may take beside its own. */
#define RR_CLI_JSON \
    { \
        .name = "json", .help = "print JSON" \
    }

typedef struct rr_args rr_args;

typedef struct rr_command {
    const char *name;
    const char *summary;  /* one line, for the list */
    const char *operands; /* "[RECORDS]"; NULL: takes none */
    size_t operands_least, operands_most;
    const rr_cli_option *options; /* ended by RR_CLI_END; NULL: none */
    const char *details;          /* more for its --help, ended by a newline; NULL: nothing */
    int (*run)(const rr_args *args);
} rr_command;

/* The command line as the tables read it. Texts are argv's. */
struct rr_args {
    const rr_command *command;
    const char *values[RR_CLI_OPTIONS_MAX]; /* by row; a flag that is there: "" */
    const char *const *operands;
    size_t operand_count;
};

/* A value, or NULL; a flag. The name must be in the table (asserted). */
const char *rr_args_value(const rr_args *args, const char *name);
bool rr_args_flag(const rr_args *args, const char *name);

/* Says "reconciler COMMAND: text" on standard error; returns the exit code. */
int rr_cli_fail(const rr_args *args, const rr_error *error);
int rr_cli_usage(const rr_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes to standard output. IO trouble is reported once, when the program ends (74). */
void rr_cli_out(rr_slice text);

/* All commands, ended by NULL; main.c. */
extern const rr_command *const rr_commands[];

/* Help of one command, and of the program, in help.c. */
void rr_help_command(const rr_command *command);
void rr_help_program(void);

extern const rr_command rr_command_apply;
extern const rr_command rr_command_check;
extern const rr_command rr_command_encode;
extern const rr_command rr_command_get;
extern const rr_command rr_command_help;
extern const rr_command rr_command_preflight;
extern const rr_command rr_command_publish;
extern const rr_command rr_command_rebuild;
extern const rr_command rr_command_rewind;
extern const rr_command rr_command_run;
extern const rr_command rr_command_streams;
extern const rr_command rr_command_verify;

#endif
