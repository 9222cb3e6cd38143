/* rr_problems: all errors and warnings of a file, each with its place.
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

enum { RR_PROBLEMS_MAX = 1000 }; /* more are only counted */

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
    size_t errors, warnings; /* also those beyond RR_PROBLEMS_MAX, and those for which memory ran out */
} rr_problems;

void rr_problems_fini(rr_problems *problems);

/* The text is kept as it may be shown (printable.h). */
void rr_problems_error(rr_problems *problems, rr_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rr_problems_warn(rr_problems *problems, rr_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sorts by file (in the order of their first problems), line and column. */
void rr_problems_sort(rr_problems *problems);

/* "file:line:column: error: text", a line each, in printable text. */
void rr_problems_print(const rr_problems *problems, rr_buf *buf);

/* A JSON array of {"file","line","column","severity","text"}; line and column are null where there is none. */
void rr_problems_json(const rr_problems *problems, rr_buf *buf);

/* Makes an rr_error with status CONFIG of the first error, and says how many more there are. OK: there is none. */
rr_status rr_problems_fail(const rr_problems *problems, rr_error *error);

#endif
