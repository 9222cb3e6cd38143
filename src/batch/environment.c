/* The clock, the log and the stop flag that all rooms share. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

bool rr_environment_is_stopping(const rr_environment *env)
{
    return atomic_load(env->stop) != 0;
}

void rr_environment_pause(const rr_environment *env, int ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};

    if (env->pause_ms != NULL) {
        env->pause_ms(ms);
    } else {
        nanosleep(&wait, NULL);
    }
}

void rr_environment_log(const rr_environment *env, rr_log_level level, const char *format, ...)
{
    char text[RR_ERROR_TEXT_MAX + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    env->log(level, text);
}
