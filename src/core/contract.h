/* rr_contract: what one result stream promises (semantics, section 4). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CONTRACT_H
#define RR_CONTRACT_H

#include "limits.h"
#include <rr/arena.h>

#include "record.h"
#include "version.h"
#include "words.h"

typedef enum rr_window_kind {
    RR_WINDOW_ANY,
    RR_WINDOW_TUMBLING,
    RR_WINDOW_SLIDING,
    RR_WINDOW_SESSION,
    RR_WINDOW_GLOBAL
} rr_window_kind;

typedef enum rr_measure_type { RR_MEASURE_INT64, RR_MEASURE_DECIMAL, RR_MEASURE_DOUBLE } rr_measure_type;

typedef enum rr_corrections {
    RR_CORRECTIONS_NONE,
    RR_CORRECTIONS_CONDITIONAL,
    RR_CORRECTIONS_COORDINATED
} rr_corrections;

typedef enum rr_during_conflict { RR_DURING_INCUMBENT, RR_DURING_LIVE, RR_DURING_CORRECTION } rr_during_conflict;

typedef struct rr_measure_def {
    rr_slice name;
    rr_measure_type type;
    bool never_falls;
} rr_measure_def;

/* What once was in force: windows that end at until_us or before keep the retention that their cells were made under, and
 * the time for which those are kept. Neither is RR_FOREVER. */
typedef struct rr_era {
    int64_t until_us;
    int64_t retention_us;
    int64_t kept_us; /* retention and grace */
} rr_era;

/* By until_us, each once, and none that another one makes needless. The same windows in other words are the same bytes. */
typedef struct rr_eras {
    size_t count;
    rr_era items[RR_LIMIT_ERAS + 1]; /* the last is free but while one is added */
} rr_eras;

/* Durations in microseconds. Slices and arrays belong to whoever made the contract and outlive it. */
typedef struct rr_contract {
    rr_slice name;
    rr_mode mode; /* never UNSPECIFIED */
    rr_window_kind window_kind;
    int64_t size_us, slide_us, offset_us; /* tumbling: slide == size */
    int64_t gap_us, max_us;               /* session */
    bool ends_last;                       /* session: first to last event, instead of last plus gap */
    const rr_measure_def *measures;       /* sorted by name (bytes) */
    size_t measure_count;                 /* 1 to RR_LIMIT_MEASURES */
    const rr_slice *metric_versions;      /* those allowed */
    size_t metric_version_count;          /* 0: any */
    rr_corrections corrections;
    rr_during_conflict during_conflict;
    int64_t retention_us; /* RR_FOREVER: never */
    int64_t grace_us;     /* cells are kept for this long beyond retention */
    int64_t future_tolerance_us;
    uint64_t max_epoch;
    bool integers_as_strings; /* in the value that readers see in the store; never in apply's output */
    const rr_eras *eras;      /* NULL: it was always so. No part of the promise, and not of its text */
} rr_contract;

#define RR_FOREVER INT64_MAX

/* The defaults of section 4. measures: value, int64. */
extern const rr_contract rr_contract_defaults;

/* Checks a decoded record against the contract, in the order of section 4, and completes it: identity,
 * values, window of a global contract.
 *
 * record   as decoded; record->arrival_us is the clock of the decision, if it has one
 * scratch  where values are put; must have rr_admit_need(contract) bytes left (asserted)
 * why      NULL, or where a sentence for a person goes: what was seen, what the contract says, the likely cause
 *
 * Returns RR_REASON_NONE if the record may be joined; BEYOND_RETENTION makes it TOO_LATE, any other REFUSED.
 */
rr_reason rr_admit(const rr_contract *contract, rr_record *record, rr_arena *scratch, rr_text *why);

/* Bytes that rr_admit may take from its scratch. */
size_t rr_admit_need(const rr_contract *contract, const rr_record *record);

/* Section 10: a longer retention holds for windows that end after the change. Called when `before` gives way to `after`,
 * at wall-clock time now_us: adds the era of `before`, whose windows may have cells that the store removes by the older
 * expiry; drops eras that can matter no more. Beyond the limit the two oldest become one, with the shorter times. */
void rr_eras_advance(rr_eras *eras, const rr_contract *before, const rr_contract *after, int64_t now_us);

/* Adds all of `more`: what either forbids is forbidden. In any order, and repeated, it comes to the same; where they are
 * more than the limit the order decides which become one, and each order forbids enough. */
void rr_eras_join(rr_eras *eras, const rr_eras *more);

/* How long beyond its end a window's cell is kept: retention and grace. RR_FOREVER: for ever. */
int64_t rr_kept_us(const rr_contract *contract, int64_t end_us);

/* True if the cell of this window may have been removed by wall-clock time now_us (section 10). */
bool rr_cell_may_be_gone(const rr_contract *contract, rr_window window, int64_t now_us);

/* When the store may remove what belongs to a window that ends at end_us: microseconds since the epoch,
 * RR_FOREVER for never. Later than rr_cell_may_be_gone by a margin for clocks that differ. */
int64_t rr_expiry_us(const rr_contract *contract, int64_t end_us);

/* The same in milliseconds, as stores want it: rounded up; 0: never (also under a global window). */
int64_t rr_expiry_ms(const rr_contract *contract, int64_t end_us);

#endif
