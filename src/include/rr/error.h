/* rr_error: a failure, as a code for the program and a sentence for a person.
 *
 * A rule's outcome is a verdict, never an error. An error says that a server, a
 * file, memory or the configuration failed: a code from the table below, and a
 * sentence on the caller's stack that names what failed, where, and the likely
 * cause. A function either logs an error or returns it, not both.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ERROR_H
#define RR_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* code, exit code of the program, what it means. */
#define RR_ERROR_TABLE(X) \
    X(OK, 0, "done") \
    X(USAGE, 64, "the command line is wrong") \
    X(INPUT, 65, "the input is not what was expected") \
    X(UNAVAILABLE, 69, "a server cannot be reached, or does not answer in time") \
    X(REFUSED_BY_SERVER, 69, "a server answered with an error") \
    X(INTERNAL, 70, "an internal error of the program") \
    X(MEMORY, 70, "memory ran out, or a limit on memory was reached") \
    X(IO, 74, "reading or writing a file failed") \
    X(CONFIG, 78, "the configuration is wrong, or does not fit the servers")

typedef enum rr_status {
#define RR_X(name, exit_code, text) RR_##name,
    RR_ERROR_TABLE(RR_X)
#undef RR_X
} rr_status;

enum { RR_ERROR_TEXT_MAX = 1024 };

/* Lives on the caller's stack; all zero is "no error". */
typedef struct rr_error {
    rr_status status;
    char text[RR_ERROR_TEXT_MAX]; /* one sentence, cut if longer */
} rr_error;

/* Writes code and text; returns the code, so that `return rr_fail(...)` reads well. error may be NULL. */
rr_status rr_fail(rr_error *error, rr_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* which does not see that the returned code is the given one */
#define rr_fail(error, code, ...) ((void)rr_fail((error), (code), __VA_ARGS__), (code))
#endif

/* Puts "prefix: " before the text that is there. Returns error->status. */
rr_status rr_error_within(rr_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True for what may end by itself: a server does not answer, or answers and refuses. */
static inline bool rr_is_outage(rr_status status)
{
    return status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER;
}

/* The exit code of the program for a status. */
int rr_status_exit_code(rr_status status);

/* The table's word ("UNAVAILABLE") and sentence. */
const char *rr_status_name(rr_status status);
const char *rr_status_text(rr_status status);

#endif
