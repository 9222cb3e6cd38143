/* Holds a document to the tables of the source: what README says of verdicts, reasons, alerts, limits and exit codes.
 *
 * A table stands between <!-- table: NAME --> and <!-- end of table -->; `test_readme_table --print` writes all of
 * them as they must stand there. Usage: test_readme_table FILE | --print. Skipped (77) where the file does not exist.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "limits.h"
#include "words.h"
#include <rr/error.h>

static void put_verdicts(rr_buf *buf)
{
    rr_buf_text(buf, "| verdict | says | settled by |\n|---|---|---|\n");
    for (int i = 0; i < RR_VERDICT_COUNT; i++) {
        rr_buf_format(buf, "| %s | %s | %s |\n", rr_verdict_word((rr_verdict)i), rr_verdict_text((rr_verdict)i),
                      rr_verdict_settle((rr_verdict)i) == RR_SETTLE_ACK ? "acknowledgement"
                                                                        : "dead letter, then acknowledgement");
    }
}

static void put_reasons(rr_buf *buf)
{
    rr_buf_text(buf, "| reason | says |\n|---|---|\n");
    for (int i = RR_REASON_NONE + 1; i < RR_REASON_COUNT; i++) {
        rr_buf_format(buf, "| `%s` | %s |\n", rr_reason_word((rr_reason)i), rr_reason_text((rr_reason)i));
    }
}

static void put_alerts(rr_buf *buf)
{
    rr_buf_text(buf, "| alert | says |\n|---|---|\n");
    for (int i = 0; i < RR_ALERT_COUNT; i++) {
        rr_buf_format(buf, "| `%s` | %s |\n", rr_alert_word((rr_alert)i), rr_alert_text((rr_alert)i));
    }
}

static void put_limits(rr_buf *buf)
{
    rr_buf_text(buf, "| limit | of | beyond it |\n|---|---|---|\n");
#define RR_X(name, value, what, beyond) rr_buf_format(buf, "| %d | %s | %s |\n", value, what, beyond);
    RR_LIMIT_TABLE(RR_X)
#undef RR_X
}

static void put_exit_codes(rr_buf *buf)
{
    rr_buf_text(buf, "| exit code | says |\n|---|---|\n| 0 | done |\n| 1 | differences found |\n");
#define RR_X(name, exit_code, text) \
    if (exit_code != 0) { \
        rr_buf_format(buf, "| %d | %s |\n", exit_code, text); \
    }
    RR_ERROR_TABLE(RR_X)
#undef RR_X
}

static const struct {
    const char *name;
    void (*put)(rr_buf *buf);
} tables[] = {
    {"verdicts", put_verdicts}, {"reasons", put_reasons},       {"alerts", put_alerts},
    {"limits", put_limits},     {"exit codes", put_exit_codes},
};

static void put_block(size_t index, rr_buf *buf)
{
    rr_buf_format(buf, "<!-- table: %s -->\n", tables[index].name);
    tables[index].put(buf);
    rr_buf_text(buf, "<!-- end of table -->\n");
}

static bool read_all(const char *path, rr_buf *text)
{
    FILE *file = fopen(path, "r");
    char bytes[4096];
    size_t got;

    if (file == NULL) {
        return false;
    }
    while ((got = fread(bytes, 1, sizeof bytes, file)) != 0) {
        rr_buf_put(text, bytes, got);
    }
    fclose(file);
    return true;
}

static bool is_there(rr_slice document, size_t index)
{
    rr_buf block = {0};
    bool found;

    put_block(index, &block);
    found = memmem(document.data, document.len, block.data, block.len) != NULL;
    if (!found) {
        printf("the table '%s' is missing, or differs from the source; it must be:\n%.*s\n", tables[index].name,
               (int)block.len, block.data);
    }
    rr_buf_fini(&block);
    return found;
}

int main(int argc, char **argv)
{
    enum { SKIPPED = 77 };
    rr_buf text = {0};
    bool print = argc == 2 && strcmp(argv[1], "--print") == 0, good = true;

    if (argc != 2 || (!print && !read_all(argv[1], &text))) {
        printf("%s: %s\n", argc == 2 ? argv[1] : "usage: test_readme_table FILE", strerror(errno));
        return argc == 2 && errno == ENOENT ? SKIPPED : EXIT_FAILURE;
    }
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (print) {
            put_block(i, &text);
        } else {
            good = is_there(rr_buf_view(&text), i) && good;
        }
    }
    if (print) {
        fwrite(text.data, 1, text.len, stdout);
    }
    rr_buf_fini(&text);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
