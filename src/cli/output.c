/* What a command prints: data on standard output, messages on standard error. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdio.h>

#include "printable.h"

enum { MESSAGE_MAX = 2048 }; /* bytes; what is longer is cut */

/* A message often reports that memory ran out, so it allocates nothing. */
static void print_message(const char *text)
{
    char shown[MESSAGE_MAX * 4];
    rr_slice rest = rr_slice_of(text);
    size_t len = 0;

    while (rest.len != 0) {
        len += rr_printable_next(&rest, shown + len);
    }
    fprintf(stderr, "%.*s\n", (int)len, shown);
}

void rr_cli_message(const char *format, ...)
{
    char text[MESSAGE_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_message(text);
}

int rr_cli_fail(const rr_args *args, const rr_error *error)
{
    rr_cli_message("reconciler %s: %s", args->command->name, error->text);
    return rr_status_exit_code(error->status);
}

int rr_cli_usage(const rr_args *args, const char *format, ...)
{
    char text[MESSAGE_MAX - 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rr_cli_message("reconciler %s: %s; see reconciler %s --help", args->command->name, text, args->command->name);
    return rr_status_exit_code(RR_USAGE);
}

void rr_cli_out(rr_slice text)
{
    if (text.len != 0) {
        fwrite(text.data, 1, text.len, stdout);
    }
}
