/* rr_preflight: do the real servers keep the promises that a configuration relies on?
 *
 * Looking and judging are apart. A look asks the store's server and each
 * source's servers for facts (rr_store_survey, rr_source_survey); it changes
 * nothing but that the store's functions are loaded. Judging runs the table of
 * rr_preflight_rows over these facts, without any I/O. What a server did not
 * tell never makes a finding of its own row; that it was not told is one.
 *
 * Not thread-safe; a look blocks up to the time-outs of the configuration.
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

/* What a row is asked about: once, for each source, for each contract that a source routes to, for each contract. */
typedef enum rr_preflight_scope {
    RR_PREFLIGHT_STORE,
    RR_PREFLIGHT_SOURCE,
    RR_PREFLIGHT_ROUTE,
    RR_PREFLIGHT_CONTRACT
} rr_preflight_scope;

typedef struct rr_preflight_view rr_preflight_view; /* preflight_rows.h */

typedef struct rr_preflight_row {
    const char *name; /* "store_evicts" */
    rr_preflight_scope scope;
    rr_preflight_severity severity;
    bool loss;   /* a refusal that `allow_loss: true` of the source turns into a warning */
    bool passes; /* a refusal that may end by itself: `run` starts, with a warning, and waits as in an outage */
    bool (*probe)(const rr_preflight_view *view); /* the fault is there; says what was seen */
    const char *means;                            /* why it matters, for a person */
    const char *remedy;                           /* what to do */
} rr_preflight_row;

/* All rows, ended by one without a name. */
const rr_preflight_row *rr_preflight_rows(void);

typedef struct rr_finding {
    const rr_preflight_row *row;
    rr_preflight_severity severity; /* as it counts here: allow_loss is taken into account */
    char where[256];                /* "store", "source orders, contract orders" */
    char seen[512];                 /* "max_deliver is 5" */
} rr_finding;

/* For the estimate of memory; 0: not told. */
typedef struct rr_preflight_hopes {
    uint64_t keys;       /* business keys of each contract */
    uint64_t identities; /* deltas, or contributors, of one cell */
} rr_preflight_hopes;

typedef struct rr_preflight_source {
    rr_status status; /* of the look; OK: `told` is filled in */
    rr_error error;
    rr_source_survey told;
} rr_preflight_source;

/* What the crash of one part can lose. */
typedef struct rr_crash {
    const char *part; /* "the Redis process" */
    char where[192];  /* "source orders", or empty */
    char loses[512];
    char restored[384]; /* who brings it back; empty where nothing is lost */
} rr_crash;

typedef struct rr_preflight {
    const rr_config *config;
    rr_preflight_hopes hopes;
    rr_status store_status; /* as in rr_preflight_source */
    rr_error store_error;
    rr_store_survey store;
    rr_preflight_source *sources; /* config->source_count */
    rr_finding *findings;         /* refusals first, then warnings, then notes; in a kind as in the table */
    size_t finding_count, finding_room;
    size_t refused, warnings, unreachable;
} rr_preflight;

/* Asks the servers. OK also where some cannot be reached: each says so in its status. The configuration must outlive
 * the preflight. CONFIG: a plugin is missing; MEMORY. Fini it after any answer. */
rr_status rr_preflight_look(rr_preflight *preflight, const rr_config *config, const rr_preflight_hopes *hopes,
                            rr_error *error);

/* Makes the findings from what was told, anew. Facts may be changed before, in tests. */
rr_status rr_preflight_judge(rr_preflight *preflight, rr_error *error);

void rr_preflight_fini(rr_preflight *preflight);

/* What each part's crash can lose: at most `most` rows; returns how many. */
size_t rr_preflight_crashes(const rr_preflight *preflight, rr_crash *crashes, size_t most);

enum { RR_CRASHES_MAX = 5, RR_CRASHES_PER_SOURCE = 2 }; /* rows: 5 + 2 a further source */

/* A line a finding, then the crashes in plain words; the same as one JSON object and a newline. */
void rr_preflight_print(const rr_preflight *preflight, rr_buf *buf);
void rr_preflight_json(const rr_preflight *preflight, rr_buf *buf);

/* One finding as a sentence: "source orders: max_deliver is 5: ...". */
void rr_finding_print(const rr_finding *finding, rr_buf *buf);

/* What `run` asks before it starts: `tell` gets each finding that does not stop it. CONFIG: it must not start, and the
 * error names the first refusal and how many more there are. UNAVAILABLE: a server went away; try again. */
rr_status rr_preflight_check(const rr_config *config, void (*tell)(rr_preflight_severity severity, const char *text),
                             rr_error *error);

#endif
