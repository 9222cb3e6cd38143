/* rr_contract: the rules of one result stream (semantics, section 4). */
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

/* An earlier retention of a contract: windows that end at until_us or before keep the retention that was in force when
 * their cells were made, and the time for which these cells are kept. Neither time is RR_FOREVER. */
typedef struct rr_era {
    int64_t until_us;
    int64_t retention_us;
    int64_t kept_us; /* retention and grace */
} rr_era;

/* Sorted by until_us, each until_us once, and no era that another one makes redundant: so equal rules are equal
 * bytes. */
typedef struct rr_eras {
    size_t count;
    rr_era items[RR_LIMIT_ERAS + 1]; /* the last one is used only while an era is added */
} rr_eras;

/* Durations are microseconds. Slices and arrays are owned by the caller and outlive the contract. */
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
    const rr_eras *eras;      /* NULL: it never had another retention. Not part of the contract's text */
} rr_contract;

#define RR_FOREVER INT64_MAX

/* The defaults of semantics, section 4. measures: value, int64. */
extern const rr_contract rr_contract_defaults;

/* True for kinds of window that have a fixed size: tumbling and sliding. */
static inline bool rr_contract_has_size(const rr_contract *contract)
{
    return contract->window_kind == RR_WINDOW_TUMBLING || contract->window_kind == RR_WINDOW_SLIDING;
}

#endif
