/* Holds docs/semantics.md to the source: each word of its tables stands there, and each key of a contract in the table
 * of section 4. A key marked *(planned)* is one that the program does not know.
 *
 *   test_semantics FILE
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "config.h"
#include "words.h"

#define PLANNED " *(planned)*"

static char *document;

/* The table of section 4, which ends with an empty line. */
static const char *keys_table(void)
{
    const char *table = strstr(document, "\n| key | values | default |\n");

    assert_non_null(table);
    return table;
}

static void read_document(const char *path)
{
    FILE *file = fopen(path, "r");
    long bytes;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    rewind(file);
    document = calloc(1, (size_t)bytes + 1);
    if (document == NULL || fread(document, 1, (size_t)bytes, file) != (size_t)bytes) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
}

static bool stands_there(const char *before, const char *word, const char *after)
{
    char text[200];

    snprintf(text, sizeof text, "%s%s%s", before, word, after);
    return strstr(document, text) != NULL;
}

static void assert_quoted(const char *word)
{
    if (!stands_there("`", word, "`")) {
        fail_msg("`%s` is a word of the source and not of the specification", word);
    }
}

static void every_verdict_has_a_row(void **state)
{
    (void)state;
    for (int k = 0; k < RR_VERDICT_COUNT; k++) {
        const char *word = rr_verdict_word((rr_verdict)k);

        if (!stands_there("\n| ", word, " | ")) {
            fail_msg("the table of section 3 has no row for %s", word);
        }
    }
}

static void reasons_alerts_and_conflicts_are_named(void **state)
{
    (void)state;
    for (int k = RR_REASON_NONE + 1; k < RR_REASON_COUNT; k++) {
        assert_quoted(rr_reason_word((rr_reason)k));
    }
    for (int k = 0; k < RR_ALERT_COUNT; k++) {
        assert_quoted(rr_alert_word((rr_alert)k));
    }
    for (int k = 0; k < RR_CONFLICT_COUNT; k++) {
        assert_quoted(rr_conflict_word((rr_conflict)k));
    }
}

static void states_are_named(void **state)
{
    (void)state;
    for (int k = 0; k < RR_STATE_COUNT; k++) {
        assert_quoted(rr_state_word((rr_state)k));
    }
}

/* The name of an option inside its parents: `window.size`, `measures.NAME.type`. */
static void join_path(char path[200], const char *within, const rr_option *option)
{
    snprintf(path, 200, "%s%s", within, option->name);
}

static void join_inner(char within[200], const char *path, const rr_option *option)
{
    bool by_name = option->form != NULL && strncmp(option->form, "{NAME", 5) == 0;

    snprintf(within, 200, "%s%s", path, by_name ? ".NAME." : ".");
}

static bool is_known(const rr_option *table, const char *within, rr_slice key)
{
    for (const rr_option *option = table; option->name != NULL; option++) {
        char path[200], inner[200];

        join_path(path, within, option);
        join_inner(inner, path, option);
        if (rr_slice_equal(key, rr_slice_of(path)) || (option->inner != NULL && is_known(option->inner, inner, key))) {
            return true;
        }
    }
    return false;
}

static void assert_words_in_row(const rr_option *option, const char *path)
{
    char row[200], word[200];
    const char *from, *end;

    snprintf(row, sizeof row, "\n| `%s` | ", path);
    from = strstr(keys_table(), row);
    if (from == NULL) {
        fail_msg("the table of section 4 has no row for the key %s", path);
        return;
    }
    end = strchr(from + 1, '\n');
    for (const char *const *next = option->words; next != NULL && *next != NULL; next++) {
        snprintf(word, sizeof word, "`%s`", *next);
        if (memmem(from, (size_t)(end - from), word, strlen(word)) == NULL) {
            fail_msg("the row of %s does not list %s", path, word);
        }
    }
}

static void assert_table(const rr_option *table, const char *within)
{
    for (const rr_option *option = table; option->name != NULL; option++) {
        char path[200], inner[200];

        join_path(path, within, option);
        assert_words_in_row(option, path);
        if (option->inner != NULL) {
            join_inner(inner, path, option);
            assert_table(option->inner, inner);
        }
    }
}

static void every_key_of_a_contract_has_a_row_with_its_values(void **state)
{
    (void)state;
    assert_table(rr_contract_options, "");
}

/* A rule that is built loses its mark, and one that is not built has it. */
static void only_planned_keys_are_unknown(void **state)
{
    const char *at = keys_table(), *end = strstr(at, "\n\n");
    size_t rows = 0, planned = 0;

    (void)state;
    assert_non_null(end);
    for (at = strstr(at, "\n| `"); at != NULL && at < end; at = strstr(at + 1, "\n| `")) {
        const char *name = at + 4, *close = strchr(name, '`');
        rr_slice key = {name, (size_t)(close - name)};
        bool is_planned = strncmp(close + 1, PLANNED, sizeof PLANNED - 1) == 0;

        if (is_known(rr_contract_options, "", key) == is_planned) {
            fail_msg("the key %.*s is %s", (int)key.len, key.data,
                     is_planned ? "marked as planned, and the program knows it" : "not one that the program knows");
        }
        rows++;
        planned += is_planned;
    }
    assert_true(rows > planned && rows > 15);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verdict_has_a_row),
        cmocka_unit_test(reasons_alerts_and_conflicts_are_named),
        cmocka_unit_test(states_are_named),
        cmocka_unit_test(every_key_of_a_contract_has_a_row_with_its_values),
        cmocka_unit_test(only_planned_keys_are_unknown),
    };
    int failed;

    if (argc != 2) {
        printf("usage: test_semantics FILE\n");
        return EXIT_FAILURE;
    }
    read_document(argv[1]);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(document);
    return failed;
}
