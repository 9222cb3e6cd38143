/* Collecting, ordering and printing problems. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "problems.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "printable.h"

void rr_problems_fini(rr_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        free((char *)problems->items[i].place.path);
        free(problems->items[i].text);
    }
    free(problems->items);
    *problems = (rr_problems){0};
}

static bool make_room(rr_problems *problems)
{
    size_t room = problems->room == 0 ? 16 : problems->room * 2;
    rr_problem *grown;

    if (problems->count < problems->room) {
        return true;
    }
    if (problems->count >= RR_PROBLEMS_MAX) {
        return false;
    }
    grown = realloc(problems->items, room * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    problems->items = grown;
    problems->room = room;
    return true;
}

/* A copy of a text that may be shown, or NULL. A problem may quote the file: its bytes must not steer a terminal. */
static char *printable(const char *text)
{
    rr_buf clean = {0};

    rr_buf_printable(&clean, rr_slice_of(text));
    rr_buf_char(&clean, '\0');
    return clean.failed ? (rr_buf_fini(&clean), NULL) : clean.data;
}

static void add(rr_problems *problems, rr_severity severity, rr_place place, const char *format, va_list arguments)
{
    char text[RR_ERROR_TEXT_MAX];
    rr_problem problem = {.severity = severity, .place = place};

    *(severity == RR_PROBLEM_ERROR ? &problems->errors : &problems->warnings) += 1;
    vsnprintf(text, sizeof text, format, arguments);
    problem.place.path = strdup(place.path);
    problem.text = printable(text);
    if (problem.place.path == NULL || problem.text == NULL || !make_room(problems)) {
        free((char *)problem.place.path);
        free(problem.text);
        return;
    }
    problems->items[problems->count++] = problem;
}

void rr_problems_error(rr_problems *problems, rr_place place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(problems, RR_PROBLEM_ERROR, place, format, arguments);
    va_end(arguments);
}

void rr_problems_warn(rr_problems *problems, rr_place place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(problems, RR_PROBLEM_WARNING, place, format, arguments);
    va_end(arguments);
}

static size_t first_index(const rr_problems *problems, const char *path)
{
    size_t at = 0;

    while (strcmp(problems->items[at].place.path, path) != 0) {
        at++;
    }
    return at;
}

typedef struct sort_key {
    size_t file, index;
    rr_problem problem;
} sort_key;

static int compare(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;

    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    if (a->problem.place.line != b->problem.place.line) {
        return a->problem.place.line < b->problem.place.line ? -1 : 1;
    }
    if (a->problem.place.column != b->problem.place.column) {
        return a->problem.place.column < b->problem.place.column ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

void rr_problems_sort(rr_problems *problems)
{
    sort_key *keys = problems->count == 0 ? NULL : malloc(problems->count * sizeof *keys);

    if (keys == NULL) {
        return;
    }
    for (size_t i = 0; i < problems->count; i++) {
        keys[i] = (sort_key){first_index(problems, problems->items[i].place.path), i, problems->items[i]};
    }
    qsort(keys, problems->count, sizeof *keys, compare);
    for (size_t i = 0; i < problems->count; i++) {
        problems->items[i] = keys[i].problem;
    }
    free(keys);
}

static const char *severity_word(rr_severity severity)
{
    return severity == RR_PROBLEM_ERROR ? "error" : "warning";
}

static void print_place(rr_place place, rr_buf *buf)
{
    rr_buf_printable(buf, rr_slice_of(place.path));
    if (place.line != 0) {
        rr_buf_format(buf, ":%d:%d", place.line, place.column);
    }
    rr_buf_text(buf, ": ");
}

void rr_problems_print(const rr_problems *problems, rr_buf *buf)
{
    size_t kept = problems->count, all = problems->errors + problems->warnings;

    for (size_t i = 0; i < kept; i++) {
        print_place(problems->items[i].place, buf);
        rr_buf_format(buf, "%s: %s\n", severity_word(problems->items[i].severity), problems->items[i].text);
    }
    if (all > kept) {
        rr_buf_format(buf, "and %zu more\n", all - kept);
    }
}

void rr_problems_json(const rr_problems *problems, rr_buf *buf)
{
    rr_buf_char(buf, '[');
    for (size_t i = 0; i < problems->count; i++) {
        const rr_problem *problem = &problems->items[i];

        rr_buf_text(buf, i == 0 ? "{\"file\":" : ",{\"file\":");
        rr_buf_json_printable(buf, rr_slice_of(problem->place.path));
        if (problem->place.line != 0) {
            rr_buf_format(buf, ",\"line\":%d,\"column\":%d", problem->place.line, problem->place.column);
        } else {
            rr_buf_text(buf, ",\"line\":null,\"column\":null");
        }
        rr_buf_format(buf, ",\"severity\":\"%s\",\"text\":", severity_word(problem->severity));
        rr_buf_json(buf, rr_slice_of(problem->text));
        rr_buf_char(buf, '}');
    }
    rr_buf_char(buf, ']');
}

rr_status rr_problems_fail(const rr_problems *problems, rr_error *error)
{
    rr_place place;
    char more[40] = "", at[32] = "";

    if (problems->errors == 0) {
        return RR_OK;
    }
    if (problems->errors > 1) {
        snprintf(more, sizeof more, " (and %zu more)", problems->errors - 1);
    }
    for (size_t i = 0; i < problems->count; i++) {
        if (problems->items[i].severity != RR_PROBLEM_ERROR) {
            continue;
        }
        place = problems->items[i].place;
        if (place.line != 0) {
            snprintf(at, sizeof at, ":%d:%d", place.line, place.column);
        }
        return rr_fail(error, RR_CONFIG, "%s%s: %s%s", place.path, at, problems->items[i].text, more);
    }
    return rr_fail(error, RR_MEMORY, "memory ran out while the configuration was read");
}
