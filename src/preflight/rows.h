/* What the rows of the preflight share: what they look at, and how they say what they saw. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PREFLIGHT_ROWS_H
#define RR_PREFLIGHT_ROWS_H

#include "preflight.h"

/* NULL: not of this row's scope, or the server was not reached. */
struct rr_preflight_view {
    const rr_preflight *all;
    const rr_store_survey *store;
    const rr_source_config *source;
    const rr_source_survey *told;
    const rr_contract *contract;
    rr_finding *finding;
};

/* Says what was seen; true, so that a probe can end with it. */
bool rr_preflight_say(const rr_preflight_view *view, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tables, ended by a row without a name. */
extern const rr_preflight_row rr_preflight_store_rows[], rr_preflight_source_rows[], rr_preflight_route_rows[];

/* preflight_memory.c */
bool rr_preflight_memory_short(const rr_preflight_view *view);
bool rr_preflight_memory_estimated(const rr_preflight_view *view);

/* A round number of bytes ("1.5 GB") and a duration ("7d"); they return text. */
enum { RR_AMOUNT_MAX = 48 };
const char *rr_amount_bytes(double bytes, char text[RR_AMOUNT_MAX]);
const char *rr_amount_us(int64_t us, char text[RR_AMOUNT_MAX]);

/* Messages can be read again: the stream does not drop what was acknowledged. */
static inline bool rr_told_repeatable(const rr_source_survey *told)
{
    return strcmp(told->stream.retention, "limits") == 0;
}

static inline bool rr_store_on_disk_at_once(const rr_store_survey *store)
{
    return store->log == RR_YES && strcmp(store->log_sync, "always") == 0;
}

#endif
