/* Each row of the tables of verdicts, reasons, alerts, conflicts and states is reached by some worked example, or is
 * one that only a running engine gives. Usage: test_reached FOLDER-OF-CASES */
/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "words.h"

/* A file cannot be routed, lose its cells, or roll back. */
static const char *const of_the_engine[] = {
    "unrouted", "cell_gone", "sink_rolled_back", "unrepairable_gap", "source_rolled_back",
};

static void read_file(const char *path, rr_buf *text)
{
    FILE *file = fopen(path, "r");
    char bytes[4096];
    size_t got;

    while (file != NULL && (got = fread(bytes, 1, sizeof bytes, file)) != 0) {
        rr_buf_put(text, bytes, got);
    }
    if (file != NULL) {
        fclose(file);
    }
}

static size_t read_all(const char *folder, const char *name, rr_buf *text)
{
    char pattern[4096];
    glob_t found;
    size_t count = 0;

    snprintf(pattern, sizeof pattern, "%s/*/*/%s", folder, name);
    if (glob(pattern, 0, NULL, &found) == 0) {
        count = found.gl_pathc;
        for (size_t k = 0; k < count; k++) {
            read_file(found.gl_pathv[k], text);
        }
        globfree(&found);
    }
    return count;
}

static bool is_listed(const char *word)
{
    for (size_t k = 0; k < sizeof of_the_engine / sizeof *of_the_engine; k++) {
        if (strcmp(of_the_engine[k], word) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_reached(rr_slice texts, const char *kind, const char *word)
{
    char quoted[80];
    int len = snprintf(quoted, sizeof quoted, "\"%s\"", word);
    bool there = memmem(texts.data, texts.len, quoted, (size_t)len) != NULL;

    if (there == is_listed(word)) {
        printf(there ? "%s '%s': a case reaches it, so it is not one of the engine alone\n"
                     : "%s '%s': no case reaches it\n",
               kind, word);
        return false;
    }
    return true;
}

static bool check_verdicts(rr_slice texts)
{
    bool good = true;

    for (int k = 0; k < RR_VERDICT_COUNT; k++) {
        good = is_reached(texts, "verdict", rr_verdict_word((rr_verdict)k)) && good;
    }
    for (int k = RR_REASON_NONE + 1; k < RR_REASON_COUNT; k++) {
        good = is_reached(texts, "reason", rr_reason_word((rr_reason)k)) && good;
    }
    for (int k = 0; k < RR_ALERT_COUNT; k++) {
        good = is_reached(texts, "alert", rr_alert_word((rr_alert)k)) && good;
    }
    return good;
}

static bool check_cells(rr_slice texts)
{
    bool good = true;

    for (int k = 0; k < RR_CONFLICT_COUNT; k++) {
        good = is_reached(texts, "conflict", rr_conflict_word((rr_conflict)k)) && good;
    }
    for (int k = 0; k < RR_STATE_COUNT; k++) {
        good = is_reached(texts, "state", rr_state_word((rr_state)k)) && good;
    }
    for (int k = 0; k < RR_RESULT_COUNT; k++) {
        good = is_reached(texts, "status", rr_result_word((rr_result_status)k)) && good;
    }
    for (int k = 0; k < RR_ORIGIN_COUNT; k++) {
        good = is_reached(texts, "origin", rr_origin_word((rr_origin)k)) && good;
    }
    return good;
}

int main(int argc, char **argv)
{
    rr_buf verdicts = {0}, cells = {0};
    bool good = argc == 2 && read_all(argv[1], "verdicts.jsonl", &verdicts) != 0 &&
                read_all(argv[1], "cells.jsonl", &cells) != 0;

    if (!good) {
        printf("usage: test_reached FOLDER-OF-CASES\n");
        return EXIT_FAILURE;
    }
    good = check_verdicts(rr_buf_view(&verdicts));
    good = check_cells(rr_buf_view(&cells)) && good;
    rr_buf_fini(&verdicts);
    rr_buf_fini(&cells);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
