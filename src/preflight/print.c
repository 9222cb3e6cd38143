/* Prints findings and crashes, for people and as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "preflight.h"
#include "printable.h"

/* Names of the configuration, and what servers answer. */
static void put_outside(rr_buf *buf, const char *text)
{
    rr_buf_printable(buf, rr_slice_of(text));
}

void rr_finding_print(const rr_finding *finding, rr_buf *buf)
{
    put_outside(buf, finding->where);
    rr_buf_text(buf, ": ");
    put_outside(buf, finding->seen);
    rr_buf_format(buf, ": %s (%s). To do: %s", finding->row->means, finding->row->name, finding->row->remedy);
}

/* A row for each crash that can happen, or NULL where memory ran out. The caller frees it. */
static rr_crash *list_crashes(const rr_preflight *preflight, size_t *count)
{
    size_t most = RR_CRASHES_MAX + RR_CRASHES_PER_SOURCE * preflight->config->source_count;
    rr_crash *crashes = calloc(most, sizeof *crashes);

    *count = crashes == NULL ? 0 : rr_preflight_crashes(preflight, crashes, most);
    return crashes;
}

static void print_unreachable(const rr_preflight *preflight, rr_buf *buf)
{
    if (preflight->store_status != RR_OK) {
        rr_buf_format(buf, "%-8s store: ", "unseen");
        put_outside(buf, preflight->store_error.text);
        rr_buf_char(buf, '\n');
    }
    for (size_t k = 0; k < preflight->config->source_count; k++) {
        if (preflight->sources[k].status != RR_OK) {
            rr_buf_format(buf, "%-8s source ", "unseen");
            put_outside(buf, preflight->config->sources[k].name);
            rr_buf_text(buf, ": ");
            put_outside(buf, preflight->sources[k].error.text);
            rr_buf_char(buf, '\n');
        }
    }
}

static void print_crashes(const rr_preflight *preflight, rr_buf *buf)
{
    size_t count;
    rr_crash *crashes = list_crashes(preflight, &count);

    rr_buf_text(buf, "\nWhat a crash can lose:\n");
    for (size_t k = 0; k < count; k++) {
        const rr_crash *crash = &crashes[k];

        rr_buf_format(buf, "  %s%s%s%s\n      loses: %s\n", crash->part, crash->where[0] == '\0' ? "" : " (",
                      crash->where, crash->where[0] == '\0' ? "" : ")", crash->loses);
        if (crash->restored[0] != '\0') {
            rr_buf_format(buf, "      restored by: %s\n", crash->restored);
        }
    }
    free(crashes);
}

void rr_preflight_print(const rr_preflight *preflight, rr_buf *buf)
{
    print_unreachable(preflight, buf);
    for (size_t k = 0; k < preflight->finding_count; k++) {
        rr_buf_format(buf, "%-8s ", rr_preflight_severity_word(preflight->findings[k].severity));
        rr_finding_print(&preflight->findings[k], buf);
        rr_buf_char(buf, '\n');
    }
    print_crashes(preflight, buf);
    rr_buf_format(buf, "\n%zu refused, %zu warnings, %zu notes", preflight->refused, preflight->warnings,
                  preflight->finding_count - preflight->refused - preflight->warnings);
    if (preflight->unreachable != 0) {
        rr_buf_format(buf, "; %zu not reached", preflight->unreachable);
    }
    rr_buf_char(buf, '\n');
}

/* ,"name":"text" (without the comma where first) */
static void print_member(rr_buf *buf, bool first, const char *name, const char *text)
{
    rr_buf_format(buf, "%s\"%s\":", first ? "" : ",", name);
    rr_buf_json_printable(buf, rr_slice_of(text));
}

static void print_json_unseen(rr_buf *buf, bool first, const char *kind, const char *name, const char *text)
{
    rr_buf where = {0};

    rr_buf_format(&where, "%s%s%s", kind, name[0] == '\0' ? "" : " ", name);
    rr_buf_char(&where, '\0');
    rr_buf_text(buf, first ? "{" : ",{");
    print_member(buf, true, "where", where.data == NULL ? kind : where.data);
    print_member(buf, false, "text", text);
    rr_buf_char(buf, '}');
    rr_buf_fini(&where);
}

static void print_json_unreachable(const rr_preflight *preflight, rr_buf *buf)
{
    bool first = true;

    rr_buf_text(buf, "\"unseen\":[");
    if (preflight->store_status != RR_OK) {
        print_json_unseen(buf, first, "store", "", preflight->store_error.text);
        first = false;
    }
    for (size_t k = 0; k < preflight->config->source_count; k++) {
        if (preflight->sources[k].status != RR_OK) {
            print_json_unseen(buf, first, "source", preflight->config->sources[k].name,
                              preflight->sources[k].error.text);
            first = false;
        }
    }
    rr_buf_char(buf, ']');
}

static void print_json_finding(const rr_finding *finding, bool first, rr_buf *buf)
{
    rr_buf_text(buf, first ? "{" : ",{");
    print_member(buf, true, "severity", rr_preflight_severity_word(finding->severity));
    print_member(buf, false, "name", finding->row->name);
    print_member(buf, false, "where", finding->where);
    print_member(buf, false, "seen", finding->seen);
    print_member(buf, false, "means", finding->row->means);
    print_member(buf, false, "remedy", finding->row->remedy);
    rr_buf_char(buf, '}');
}

static void print_json_crashes(const rr_preflight *preflight, rr_buf *buf)
{
    size_t count;
    rr_crash *crashes = list_crashes(preflight, &count);

    rr_buf_text(buf, "\"crashes\":[");
    for (size_t k = 0; k < count; k++) {
        rr_buf_text(buf, k == 0 ? "{" : ",{");
        print_member(buf, true, "part", crashes[k].part);
        print_member(buf, false, "where", crashes[k].where);
        print_member(buf, false, "loses", crashes[k].loses);
        print_member(buf, false, "restored", crashes[k].restored);
        rr_buf_char(buf, '}');
    }
    rr_buf_char(buf, ']');
    free(crashes);
}

void rr_preflight_json(const rr_preflight *preflight, rr_buf *buf)
{
    rr_buf_text(buf, "{\"findings\":[");
    for (size_t k = 0; k < preflight->finding_count; k++) {
        print_json_finding(&preflight->findings[k], k == 0, buf);
    }
    rr_buf_text(buf, "],");
    print_json_unreachable(preflight, buf);
    rr_buf_char(buf, ',');
    print_json_crashes(preflight, buf);
    rr_buf_format(buf, ",\"refused\":%zu,\"warnings\":%zu}\n", preflight->refused, preflight->warnings);
}
