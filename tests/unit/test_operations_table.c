/* Holds docs/operations.md to the rows of the preflight: the table stands between <!-- table: findings --> and
 * <!-- end of table -->, as `test_operations_table --print` writes it.
 * Usage: test_operations_table FILE | --print. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "preflight.h"

static void put_table(rr_buf *buf)
{
    rr_buf_text(buf, "<!-- table: findings -->\n| finding | | why it matters | what to do |\n|---|---|---|---|\n");
    for (const rr_preflight_row *row = rr_preflight_rows(); row->name != NULL; row++) {
        rr_buf_format(buf, "| `%s` | %s%s%s | %s | %s |\n", row->name, rr_preflight_severity_word(row->severity),
                      row->is_loss ? " (loss)" : "", row->is_transient ? " (run waits)" : "", row->means, row->remedy);
    }
    rr_buf_text(buf, "<!-- end of table -->\n");
}

static bool read_all(const char *path, rr_buf *text)
{
    FILE *file = fopen(path, "r");
    char bytes[4096];
    size_t got;

    if (file == NULL) {
        printf("%s: %s\n", path, strerror(errno));
        return false;
    }
    while ((got = fread(bytes, 1, sizeof bytes, file)) != 0) {
        rr_buf_put(text, bytes, got);
    }
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    rr_buf table = {0}, text = {0};
    bool good = argc == 2;

    put_table(&table);
    if (good && strcmp(argv[1], "--print") == 0) {
        fwrite(table.data, 1, table.len, stdout);
    } else if (good && read_all(argv[1], &text)) {
        good = memmem(text.data, text.len, table.data, table.len) != NULL;
        if (!good) {
            printf("%s: the table is missing, or differs from the source; it must be:\n%.*s", argv[1], (int)table.len,
                   table.data);
        }
    } else {
        good = false;
    }
    rr_buf_fini(&text);
    rr_buf_fini(&table);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
