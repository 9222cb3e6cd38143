/* rr_record: one result record as decoded (semantics, section 2), and completed by rr_admit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECORD_H
#define RR_RECORD_H

#include <rr/arena.h>
#include <rr/slice.h>

#include "text.h"
#include "version.h"
#include "words.h"

/* Half-open, microseconds since the epoch, UTC. */
typedef struct rr_window {
    int64_t start, end;
} rr_window;

static inline bool rr_window_equal(rr_window a, rr_window b)
{
    return a.start == b.start && a.end == b.end;
}

static inline int rr_window_compare(rr_window a, rr_window b)
{
    int starts = (a.start > b.start) - (a.start < b.start);

    return starts != 0 ? starts : (a.end > b.end) - (a.end < b.end);
}

/* outer contains inner, or is the same. */
static inline bool rr_window_contains(rr_window outer, rr_window inner)
{
    return outer.start <= inner.start && inner.end <= outer.end;
}

/* Touching ends do not overlap. */
static inline bool rr_window_overlaps(rr_window a, rr_window b)
{
    return a.start < b.end && b.start < a.end;
}

typedef enum rr_number_kind {
    RR_NUMBER_TEXT, /* digits as they came, to be read by JSON's grammar */
    RR_NUMBER_INT64,
    RR_NUMBER_DOUBLE,
    RR_NUMBER_NONE /* something that is no number: true, a list, a value of no kind */
} rr_number_kind;

/* A measure as it came. */
typedef struct rr_measure {
    rr_slice name;
    rr_number_kind kind;
    rr_slice text;   /* TEXT */
    int64_t integer; /* INT64 */
    double real;     /* DOUBLE */
} rr_measure;

/* Slices point into the batch's memory. Absent strings have len 0. */
typedef struct rr_record {
    rr_slice business_key, metric_version;
    rr_window window;
    bool has_window, window_incomplete; /* incomplete: there, but without start or end */
    rr_version version;                 /* result_version; number 0: absent */
    rr_version retracts_version;
    rr_mode mode;
    rr_op op;
    rr_origin origin;
    rr_result_status status;
    rr_cause cause;
    bool has_base;
    rr_version base_version; /* number 0: no live result known */
    bool has_includes;
    rr_version includes_base, includes_version;
    rr_slice delta_id, producer, contributor, evidence;
    bool has_sequence;
    uint64_t sequence;
    bool has_emitted_at;
    int64_t emitted_at_us;
    const rr_measure *measures; /* in the order they came */
    size_t measure_count;

    /* Where and when the queue stored it: set by the engine, not by the decoder. */
    bool has_arrival;
    int64_t arrival_us;
    rr_slice stream;          /* empty: none */
    uint64_t stream_sequence; /* 0: none */

    /* Set by rr_admit. */
    rr_slice identity; /* canonical bytes of the delta identity; else empty */
    bool has_values;   /* false: a RETRACT that names none */
    rr_slice values;   /* canonical bytes, see value.h */
} rr_record;

/* What a delivery decodes to. */
typedef enum rr_decoded {
    RR_DECODED_RECORD,
    RR_DECODED_CLOCK,     /* in a file: sets the clock of the records after it */
    RR_DECODED_NOTHING,   /* a blank line */
    RR_DECODED_MALFORMED, /* REFUSED malformed */
    RR_DECODED_TOO_LARGE, /* REFUSED limit_exceeded */
    RR_DECODED_NO_MEMORY  /* ours: decide again later */
} rr_decoded;

#endif
