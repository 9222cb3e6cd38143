/* The table of error codes, and how an error's sentence is put together. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/error.h>

#include <stdio.h>
#include <string.h>

#undef rr_fail /* a macro while the sources are analyzed */

static const struct {
    const char *name, *text;
    int exit_code;
} rows[] = {
#define RR_X(name, exit_code, text) {#name, text, exit_code},
    RR_ERROR_TABLE(RR_X)
#undef RR_X
};

rr_status rr_fail(rr_error *error, rr_status status, const char *format, ...)
{
    va_list arguments;

    if (error != NULL) {
        error->status = status;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

rr_status rr_error_within(rr_error *error, const char *format, ...)
{
    char text[RR_ERROR_TEXT_MAX];
    va_list arguments;
    int used;

    va_start(arguments, format);
    used = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof text) {
        snprintf(text + used, sizeof text - (size_t)used, ": %s", error->text);
    }
    memcpy(error->text, text, sizeof text);
    return error->status;
}

int rr_status_exit_code(rr_status status)
{
    return rows[status].exit_code;
}

const char *rr_status_name(rr_status status)
{
    return rows[status].name;
}

const char *rr_status_text(rr_status status)
{
    return rows[status].text;
}
