/* The rows of the preflight: what each row looks at, how it reports what it saw, and how a table of rows is written. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PREFLIGHT_ROWS_H
#define RR_PREFLIGHT_ROWS_H

#include "preflight.h"

/* What a probe is asked about. A pointer is NULL where the row's scope has no such thing, or its server was not
 * reached. */
struct rr_preflight_view {
    const rr_preflight *all;
    const rr_store_survey *store;
    const rr_source_config *source;
    const rr_source_survey *survey; /* of this source */
    const rr_contract *contract;
    rr_finding *finding;
};

/* Writes what was seen into the view's finding. Returns true, so that a probe can end with it. */
bool rr_preflight_report(const rr_preflight_view *view, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tables, ended by RR_ROWS_END. */
extern const rr_preflight_row rr_preflight_store_rows[], rr_preflight_source_rows[], rr_preflight_route_rows[];

/* One row of a table. `place` is the scope without its prefix; `kind` is one of the five below; `find` is the probe. */
#define RR_ROW(place, word, kind, find, why, help) \
    { \
        .name = word, .scope = RR_PREFLIGHT_##place, kind, .probe = find, .means = why, .remedy = help \
    }
#define RR_NOTES .severity = RR_PREFLIGHT_NOTE
#define RR_WARNS .severity = RR_PREFLIGHT_WARNING
#define RR_REFUSES .severity = RR_PREFLIGHT_REFUSE
#define RR_REFUSES_LOSS .severity = RR_PREFLIGHT_REFUSE, .is_loss = true
#define RR_REFUSES_FOR_NOW .severity = RR_PREFLIGHT_REFUSE, .is_transient = true
#define RR_ROWS_END \
    { \
        .name = NULL \
    }

/* Probes of memory.c: the estimated memory is above, or within, the store's maxmemory. */
bool rr_preflight_find_memory_short(const rr_preflight_view *view);
bool rr_preflight_find_memory_enough(const rr_preflight_view *view);

/* A rounded number of bytes ("1.5 GB"), and a duration ("7d"). Both return text. */
enum { RR_AMOUNT_MAX = 48 };
const char *rr_amount_bytes(double bytes, char text[RR_AMOUNT_MAX]);
const char *rr_amount_us(int64_t us, char text[RR_AMOUNT_MAX]);

/* Messages can be read again: the stream does not drop what was acknowledged. */
static inline bool rr_is_replayable(const rr_source_survey *survey)
{
    return strcmp(survey->stream.retention, "limits") == 0;
}

/* A write is on the store's disk before the store answers. */
static inline bool rr_is_synced_at_once(const rr_store_survey *store)
{
    return store->log == RR_YES && strcmp(store->log_sync, "always") == 0;
}

#endif
