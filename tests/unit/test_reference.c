/* Holds docs/reference.md and docs/limits.md to the tables of the source.
 *
 *   test_reference FILE NAME...    these tables must stand in the file as they are
 *   test_reference --print NAME    one of them, with its marks
 *
 * A table stands between <!-- table: NAME --> and <!-- end of table -->. After a change of the source, print it and put
 * it there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "limits.h"
#include "words.h"

static void put_verdicts(rr_buf *buf)
{
    rr_buf_text(buf, "| verdict | says | settled by |\n|---|---|---|\n");
#define RR_X(name, settle, text) \
    rr_buf_format(buf, "| %s | %s | %s |\n", #name, text, \
                  RR_SETTLE_##settle == RR_SETTLE_ACK ? "acknowledgement" : "dead letter, then acknowledgement");
    RR_VERDICT_TABLE(RR_X)
#undef RR_X
}

static void put_reasons(rr_buf *buf)
{
    rr_buf_text(buf, "| reason | says |\n|---|---|\n");
    for (int k = RR_REASON_NONE + 1; k < RR_REASON_COUNT; k++) {
        rr_buf_format(buf, "| `%s` | %s |\n", rr_reason_word((rr_reason)k), rr_reason_text((rr_reason)k));
    }
}

static void put_alerts(rr_buf *buf)
{
    rr_buf_text(buf, "| alert | says |\n|---|---|\n");
    for (int k = 0; k < RR_ALERT_COUNT; k++) {
        rr_buf_format(buf, "| `%s` | %s |\n", rr_alert_word((rr_alert)k), rr_alert_text((rr_alert)k));
    }
}

static void put_conflicts(rr_buf *buf)
{
    rr_buf_text(buf, "| conflict | alert of the record that opens it |\n|---|---|\n");
    for (int k = 0; k < RR_CONFLICT_COUNT; k++) {
        rr_buf_format(buf, "| `%s` | `%s` |\n", rr_conflict_word((rr_conflict)k),
                      rr_alert_word(rr_conflict_alert((rr_conflict)k)));
    }
}

static void put_limits(rr_buf *buf)
{
    rr_buf_text(buf, "| name | limit | of | beyond it |\n|---|---|---|---|\n");
#define RR_X(name, value, what, beyond) rr_buf_format(buf, "| `%s` | %d | %s | %s |\n", #name, value, what, beyond);
    RR_LIMIT_TABLE(RR_X)
#undef RR_X
}

static void put_options(rr_buf *buf, const rr_option *options)
{
    rr_buf_text(buf, "```\n");
    rr_options_print(options, 0, buf);
    rr_buf_text(buf, "```\n");
}

static void put_contract(rr_buf *buf)
{
    put_options(buf, rr_contract_options);
}

static void put_configuration(rr_buf *buf)
{
    put_options(buf, rr_config_options);
}

static const struct {
    const char *name;
    void (*put)(rr_buf *buf);
} tables[] = {
    {"verdicts", put_verdicts},           {"reasons", put_reasons}, {"alerts", put_alerts},
    {"conflicts", put_conflicts},         {"limits", put_limits},   {"contract", put_contract},
    {"configuration", put_configuration},
};

/* False: there is no table of that name. */
static bool put_block(const char *name, rr_buf *buf)
{
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        if (strcmp(tables[k].name, name) == 0) {
            rr_buf_format(buf, "<!-- table: %s -->\n", name);
            tables[k].put(buf);
            rr_buf_text(buf, "<!-- end of table -->\n");
            return true;
        }
    }
    printf("there is no table '%s'\n", name);
    return false;
}

static bool read_all(const char *path, rr_buf *text)
{
    FILE *file = fopen(path, "r");
    char bytes[4096];
    size_t got;

    if (file == NULL) {
        perror(path);
        return false;
    }
    while ((got = fread(bytes, 1, sizeof bytes, file)) != 0) {
        rr_buf_put(text, bytes, got);
    }
    fclose(file);
    return true;
}

static bool is_there(rr_slice document, const char *path, const char *name)
{
    rr_buf block = {0};
    bool found = put_block(name, &block) && memmem(document.data, document.len, block.data, block.len) != NULL;

    if (!found) {
        printf("%s: the table '%s' is missing, or differs from the source; it must be:\n%.*s\n", path, name,
               (int)block.len, block.len == 0 ? "" : block.data);
    }
    rr_buf_fini(&block);
    return found;
}

int main(int argc, char **argv)
{
    rr_buf text = {0};
    bool good = argc >= 3, print = good && strcmp(argv[1], "--print") == 0;

    if (!good) {
        printf("usage: test_reference FILE NAME... | --print NAME\n");
    } else if (print) {
        good = put_block(argv[2], &text);
        fwrite(text.data, 1, text.len, stdout);
    } else {
        good = read_all(argv[1], &text);
        for (int k = 2; k < argc && text.len != 0; k++) {
            good = is_there(rr_buf_view(&text), argv[1], argv[k]) && good;
        }
    }
    rr_buf_fini(&text);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
