/* rr_preflight: do the real servers keep the promises that a configuration relies on?
 *
 * A preflight has two steps. The survey asks the store's server and each
 * source's servers for their settings (rr_store_survey, rr_source_survey); it
 * changes nothing but that it loads the store's functions. The judgement runs
 * the table of rr_preflight_rows over these settings, without any I/O. A
 * setting that a server did not tell makes no finding of the row that needs
 * it; other rows report that settings are hidden.
 *
 * Not thread-safe. The survey blocks up to the time-outs of the configuration.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PREFLIGHT_H
#define RR_PREFLIGHT_H

#include "buf.h"
#include "config.h"

typedef enum rr_preflight_severity {
    RR_PREFLIGHT_NOTE,
    RR_PREFLIGHT_WARNING,
    RR_PREFLIGHT_REFUSE
} rr_preflight_severity;

const char *rr_preflight_severity_word(rr_preflight_severity severity);

/* How often a row is asked: once, for each source, for each contract that a source routes to, for each contract. */
typedef enum rr_preflight_scope {
    RR_PREFLIGHT_STORE,
    RR_PREFLIGHT_SOURCE,
    RR_PREFLIGHT_ROUTE,
    RR_PREFLIGHT_CONTRACT
} rr_preflight_scope;

typedef struct rr_preflight_view rr_preflight_view; /* rows.h */

typedef struct rr_preflight_row {
    const char *name; /* "store_evicts" */
    rr_preflight_scope scope;
    rr_preflight_severity severity;
    bool is_loss;      /* a refusal that `allow_loss: true` of the source turns into a warning */
    bool is_transient; /* a refusal that may end by itself: `run` starts, with a warning, and waits as in an outage */
    bool (*probe)(
        const rr_preflight_view *view); /* true: the fault is there, and the view's finding says what was seen */
    const char *means;                  /* why it matters, for a person */
    const char *remedy;                 /* what to do */
} rr_preflight_row;

/* All rows, ended by one without a name. */
const rr_preflight_row *rr_preflight_rows(void);

typedef struct rr_finding {
    const rr_preflight_row *row;
    rr_preflight_severity severity; /* of the row, unless allow_loss lowers it */
    char where[256];                /* "store", "source orders, contract orders" */
    char seen[512];                 /* "max_deliver is 5" */
} rr_finding;

/* What the user expects, for the estimate of memory; 0: not told. */
typedef struct rr_preflight_expected {
    uint64_t keys;       /* business keys of each contract */
    uint64_t identities; /* deltas, or contributors, of one cell */
} rr_preflight_expected;

typedef struct rr_preflight_source {
    rr_status status; /* of the survey; OK: `survey` is filled in */
    rr_error error;
    rr_source_survey survey;
} rr_preflight_source;

/* What the crash of one part can lose. */
typedef struct rr_crash {
    const char *part; /* "the Redis process" */
    char where[192];  /* "source orders", or empty */
    char loses[512];
    char restored[384]; /* who restores it; empty where nothing is lost */
} rr_crash;

typedef struct rr_preflight {
    const rr_config *config;
    rr_preflight_expected expected;
    rr_status store_status; /* as in rr_preflight_source */
    rr_error store_error;
    rr_store_survey store;
    rr_preflight_source *sources; /* config->source_count */
    rr_finding *findings;         /* refusals first, then warnings, then notes; each kind in the order of the table */
    size_t finding_count, finding_room;
    size_t refused, warnings, unreachable;
} rr_preflight;

/* Asks the servers. OK also where some cannot be reached: the status of each says so. `expected` may be NULL. The
 * configuration must outlive the preflight. CONFIG: a plugin is missing; MEMORY. Call rr_preflight_fini after any
 * status. */
rr_status rr_preflight_survey(rr_preflight *preflight, const rr_config *config, const rr_preflight_expected *expected,
                              rr_error *error);

/* Replaces the findings by those of the present surveys. Tests may change the surveys before. MEMORY. */
rr_status rr_preflight_judge(rr_preflight *preflight, rr_error *error);

void rr_preflight_fini(rr_preflight *preflight);

/* Fills in what the crash of each part can lose, at most `most` rows. Returns how many. */
size_t rr_preflight_crashes(const rr_preflight *preflight, rr_crash *crashes, size_t most);

enum { RR_CRASHES_MAX = 5, RR_CRASHES_PER_SOURCE = 2 }; /* rows: 5 + 2 a further source */

/* Print a line a finding, then what each crash can lose; and the same as one JSON object and a newline. */
void rr_preflight_print(const rr_preflight *preflight, rr_buf *buf);
void rr_preflight_json(const rr_preflight *preflight, rr_buf *buf);

/* Prints one finding as a sentence: "source orders: max_deliver is 5: ...". */
void rr_finding_print(const rr_finding *finding, rr_buf *buf);

/* Surveys and judges for `run`, before it starts. `tell` gets each finding that does not prevent the start. CONFIG:
 * `run` must not start, and the error names the first refusal and how many more there are. UNAVAILABLE: a server
 * cannot be reached; try again. */
rr_status rr_preflight_check(const rr_config *config, void (*tell)(rr_preflight_severity severity, const char *text),
                             rr_error *error);

#endif
