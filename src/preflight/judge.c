/* The judgement: runs the tables of rows over the surveys of the servers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "must.h"
#include "rows.h"

enum { ROWS_MAX = 96 };

const char *rr_preflight_severity_word(rr_preflight_severity severity)
{
    return severity == RR_PREFLIGHT_REFUSE ? "refuse" : severity == RR_PREFLIGHT_WARNING ? "warning" : "note";
}

const rr_preflight_row *rr_preflight_rows(void)
{
    static rr_preflight_row rows[ROWS_MAX];
    const rr_preflight_row *const tables[] = {rr_preflight_store_rows, rr_preflight_source_rows,
                                              rr_preflight_route_rows};
    bool filled = rows[0].name != NULL;
    size_t count = 0;

    for (size_t t = 0; !filled && t < sizeof tables / sizeof *tables; t++) {
        for (const rr_preflight_row *row = tables[t]; row->name != NULL; row++) {
            RR_MUST(count + 1 < ROWS_MAX);
            rows[count++] = *row;
        }
    }
    return rows;
}

void rr_preflight_fini(rr_preflight *preflight)
{
    free(preflight->sources);
    free(preflight->findings);
    preflight->sources = NULL;
    preflight->findings = NULL;
}

/* ---- judging ---- */

static bool make_room(rr_preflight *preflight)
{
    size_t room = preflight->finding_room == 0 ? 32 : preflight->finding_room * 2;
    rr_finding *grown;

    if (preflight->finding_count < preflight->finding_room) {
        return true;
    }
    grown = reallocarray(preflight->findings, room, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    preflight->findings = grown;
    preflight->finding_room = room;
    return true;
}

static void set_where(const rr_preflight_view *view, rr_finding *finding)
{
    int name_len = view->contract == NULL ? 0 : (int)(view->contract->name.len < 80 ? view->contract->name.len : 80);
    const char *name = view->contract == NULL ? "" : view->contract->name.data;

    if (view->source != NULL && view->contract != NULL) {
        snprintf(finding->where, sizeof finding->where, "source %.80s, contract %.*s", view->source->name, name_len,
                 name);
    } else if (view->source != NULL) {
        snprintf(finding->where, sizeof finding->where, "source %.80s", view->source->name);
    } else if (view->contract != NULL) {
        snprintf(finding->where, sizeof finding->where, "contract %.*s", name_len, name);
    } else {
        snprintf(finding->where, sizeof finding->where, "store");
    }
}

static bool run_probes(rr_preflight *preflight, rr_preflight_scope scope, rr_preflight_view view)
{
    for (const rr_preflight_row *row = rr_preflight_rows(); row->name != NULL; row++) {
        rr_finding finding = {.row = row, .severity = row->severity};

        view.finding = &finding;
        if (row->scope != scope || !row->probe(&view)) {
            continue;
        }
        if (row->is_loss && view.source != NULL && view.source->allow_loss) {
            finding.severity = RR_PREFLIGHT_WARNING;
        }
        set_where(&view, &finding);
        if (!make_room(preflight)) {
            return false;
        }
        preflight->findings[preflight->finding_count++] = finding;
    }
    return true;
}

/* Several routes of a source may name one contract; the rows are asked about it once. */
static bool is_first_route(const rr_source_config *source, size_t route)
{
    for (size_t k = 0; k < route; k++) {
        if (source->routes[k].under == source->routes[route].under) {
            return false;
        }
    }
    return source->routes[route].under != NULL;
}

static bool judge_source(rr_preflight *preflight, size_t which, const rr_store_survey *store)
{
    const rr_source_config *source = &preflight->config->sources[which];
    rr_preflight_view view = {
        .all = preflight, .store = store, .source = source, .survey = &preflight->sources[which].survey};
    bool is_complete = preflight->sources[which].status != RR_OK || run_probes(preflight, RR_PREFLIGHT_SOURCE, view);

    for (size_t k = 0; is_complete && preflight->sources[which].status == RR_OK && k < source->route_count; k++) {
        if (is_first_route(source, k)) {
            view.contract = source->routes[k].under;
            is_complete = run_probes(preflight, RR_PREFLIGHT_ROUTE, view);
        }
    }
    return is_complete;
}

static bool judge_all(rr_preflight *preflight)
{
    const rr_config *config = preflight->config;
    const rr_store_survey *store = preflight->store_status == RR_OK ? &preflight->store : NULL;
    bool is_complete = store == NULL ||
                       run_probes(preflight, RR_PREFLIGHT_STORE, (rr_preflight_view){.all = preflight, .store = store});

    for (size_t k = 0; is_complete && k < config->source_count; k++) {
        is_complete = judge_source(preflight, k, store);
    }
    for (size_t k = 0; is_complete && k < config->contracts.count; k++) {
        is_complete =
            run_probes(preflight, RR_PREFLIGHT_CONTRACT,
                       (rr_preflight_view){.all = preflight, .store = store, .contract = &config->contracts.items[k]});
    }
    return is_complete;
}

/* An insertion sort, which keeps the order within a severity. There are few findings. */
static void sort_findings(rr_preflight *preflight)
{
    for (size_t k = 1; k < preflight->finding_count; k++) {
        rr_finding finding = preflight->findings[k];
        size_t at = k;

        for (; at > 0 && preflight->findings[at - 1].severity < finding.severity; at--) {
            preflight->findings[at] = preflight->findings[at - 1];
        }
        preflight->findings[at] = finding;
    }
}

static void count_findings(rr_preflight *preflight)
{
    preflight->refused = preflight->warnings = 0;
    for (size_t k = 0; k < preflight->finding_count; k++) {
        preflight->refused += preflight->findings[k].severity == RR_PREFLIGHT_REFUSE;
        preflight->warnings += preflight->findings[k].severity == RR_PREFLIGHT_WARNING;
    }
    preflight->unreachable = preflight->store_status != RR_OK;
    for (size_t k = 0; k < preflight->config->source_count; k++) {
        preflight->unreachable += preflight->sources[k].status != RR_OK;
    }
}

rr_status rr_preflight_judge(rr_preflight *preflight, rr_error *error)
{
    preflight->finding_count = 0;
    if (!judge_all(preflight)) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    sort_findings(preflight);
    count_findings(preflight);
    return RR_OK;
}
