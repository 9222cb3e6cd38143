/* rr_problems: everything that is wrong with a file, each with its place.
 *
 * A reader of configuration goes on after an error, so that a person sees all
 * of them at once: `file:line:column: error: text`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PROBLEMS_H
#define RR_PROBLEMS_H

#include "buf.h"
#include "nearest.h"
#include <rr/error.h>
#include <rr/slice.h>

enum { RR_PROBLEMS_MAX = 1000 }; /* what is beyond is counted only */

typedef enum rr_severity { RR_PROBLEM_ERROR, RR_PROBLEM_WARNING } rr_severity;

/* Lines and columns from 1; 0: the file as a whole. */
typedef struct rr_place {
    const char *path;
    int line, column;
} rr_place;

typedef struct rr_problem {
    rr_severity severity;
    rr_place place; /* path is the problem's own copy */
    char *text;
} rr_problem;

/* All zero is empty. */
typedef struct rr_problems {
    rr_problem *items; /* in the order they were found */
    size_t count, room;
    size_t errors, warnings; /* also those beyond RR_PROBLEMS_MAX, or lost for want of memory */
} rr_problems;

void rr_problems_fini(rr_problems *problems);

/* Control characters in the text are written as \xNN. */
void rr_problems_error(rr_problems *problems, rr_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rr_problems_warn(rr_problems *problems, rr_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* By file (in the order they were first met), line and column. */
void rr_problems_sort(rr_problems *problems);

/* "file:line:column: error: text", a line each. */
void rr_problems_print(const rr_problems *problems, rr_buf *buf);

/* A JSON array of {"file","line","column","severity","text"}; line and column are null where there is none. */
void rr_problems_json(const rr_problems *problems, rr_buf *buf);

/* The first error as an rr_error with status CONFIG, and how many more there are. OK if there is none. */
rr_status rr_problems_fail(const rr_problems *problems, rr_error *error);

#endif
