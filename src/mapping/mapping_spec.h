/* rr_mapping_spec: what a mapping says, in memory, before it is held against a schema.
 *
 * A mapping says how a message that was not made for us (protobuf by its
 * descriptor set, or JSON) becomes records. Each target field of a record has
 * one entry: where its value comes from, and a few words on what to do with it.
 * Nothing here was looked up in a schema yet; rr_mapping_compile does that.
 *
 * All slices and arrays belong to whoever made the specification, and outlive
 * the mapping that is compiled from it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MAPPING_SPEC_H
#define RR_MAPPING_SPEC_H

#include <rr/arena.h>
#include <rr/slice.h>

#include "words.h"

/* target, its name in messages, what its value is. */
#define RR_TARGET_TABLE(X) \
    X(BUSINESS_KEY, "business_key", KEY) \
    X(METRIC_VERSION, "metric_version", TEXT) \
    X(WINDOW_START, "window.start", TIME) \
    X(WINDOW_END, "window.end", TIME) \
    X(WINDOW_LENGTH, "window.length", DURATION) \
    X(VERSION_EPOCH, "version.epoch", COUNT) \
    X(VERSION_NUMBER, "version.number", COUNT) \
    X(RETRACTS_EPOCH, "retracts_version.epoch", COUNT) \
    X(RETRACTS_NUMBER, "retracts_version.number", COUNT) \
    X(MODE, "mode", WORD) \
    X(OP, "op", WORD) \
    X(DELTA_ID, "delta_id", KEY) \
    X(PRODUCER, "producer", KEY) \
    X(SEQUENCE, "sequence", COUNT) \
    X(CONTRIBUTOR, "contributor", KEY) \
    X(ORIGIN, "origin", WORD) \
    X(BASE_EPOCH, "base_version.epoch", COUNT) \
    X(BASE_NUMBER, "base_version.number", COUNT) \
    X(INCLUDES_BASE_EPOCH, "includes_correction.base.epoch", COUNT) \
    X(INCLUDES_BASE_NUMBER, "includes_correction.base.number", COUNT) \
    X(INCLUDES_EPOCH, "includes_correction.version.epoch", COUNT) \
    X(INCLUDES_NUMBER, "includes_correction.version.number", COUNT) \
    X(STATUS, "status", WORD) \
    X(CAUSE, "cause", WORD) \
    X(EVIDENCE, "evidence", TEXT) \
    X(EMITTED_AT, "emitted_at", TIME) \
    X(MEASURE, "measures", NUMBER)

typedef enum rr_target {
#define RR_X(id, name, kind) RR_TARGET_##id,
    RR_TARGET_TABLE(RR_X)
#undef RR_X
        RR_TARGET_COUNT
} rr_target;

/* KEY: a text that may be joined from a list. WORD: a row of the target's table. COUNT: an uint64. */
typedef enum rr_target_kind {
    RR_TAKES_KEY,
    RR_TAKES_TEXT,
    RR_TAKES_WORD,
    RR_TAKES_COUNT,
    RR_TAKES_TIME,
    RR_TAKES_DURATION,
    RR_TAKES_NUMBER
} rr_target_kind;

const char *rr_target_name(rr_target target);
rr_target_kind rr_target_kind_of(rr_target target);

/* Where something stands in the file that the specification was read from; 0: nowhere. */
typedef struct rr_mapping_place {
    int line, column;
} rr_mapping_place;

/* Steps from a message to a value. */
typedef struct rr_mapping_path {
    rr_slice text; /* as written, for messages */
    bool whole;    /* begins with '/': at the message, not at what `each` names */
    const rr_slice *steps;
    size_t count;
    rr_mapping_place place;
} rr_mapping_path;

/* Reads `a.b`, `/a.b` and `a["b.c"].d` (\" and \\ inside the quotes). NULL, or what is wrong with the text. */
const char *rr_mapping_path_read(rr_slice text, rr_arena *arena, rr_mapping_path *path);

typedef enum rr_from {
    RR_FROM_PATH,
    RR_FROM_HEADER,  /* of the message; name */
    RR_FROM_SUBJECT, /* the token-th part of the subject, from 1 */
    RR_FROM_CONST,   /* name holds it */
    RR_FROM_STREAM   /* the time at which the stream stored the message: emitted_at alone */
} rr_from;

typedef enum rr_unit_of_time {
    RR_UNIT_NONE, /* a text is RFC 3339, a Timestamp needs none */
    RR_UNIT_S,
    RR_UNIT_MS,
    RR_UNIT_US,
    RR_UNIT_NS,
    RR_UNIT_RFC3339
} rr_unit_of_time;

/* A value as a record's JSON would have it, and where it stands. SKIP is one of op alone. */
typedef struct rr_mapping_literal {
    rr_slice text;
    rr_mapping_place place;
} rr_mapping_literal;

/* `values: {EARLY: EARLY}`: where the value seen is `from`, the record gets `to`. */
typedef struct rr_mapping_choice {
    rr_mapping_literal from, to;
} rr_mapping_choice;

/* One source of a value, and what is done with it, in this order: `values` or `else`; `scale`, `unit`; `inclusive`,
 * `add`; zero is absent; `default`. */
typedef struct rr_mapping_part {
    rr_from from;
    rr_mapping_path path;
    rr_slice name;
    uint64_t token;
    rr_unit_of_time unit;
    int64_t inclusive_us; /* added to an end */
    int64_t add;
    int64_t scale;    /* the point of a measure is moved to the right by so many digits */
    bool absent_zero; /* 0, the empty text and false are absent */
    bool has_values;
    const rr_mapping_choice *values;
    size_t value_count;
    const rr_mapping_literal *other;  /* `else`; NULL: what no value names is malformed */
    const rr_mapping_literal *preset; /* `default`; NULL: none */
    rr_mapping_place place;
} rr_mapping_part;

/* One target. Several parts, or is_list: a KEY joined from a list. */
typedef struct rr_mapping_field {
    rr_target target;
    rr_slice name; /* of a MEASURE */
    bool is_list;
    const rr_mapping_part *parts;
    size_t part_count;
    rr_mapping_place place;
} rr_mapping_field;

/* A path whose value is one of these. */
typedef struct rr_mapping_test {
    rr_mapping_path path;
    const rr_mapping_literal *values;
    size_t value_count;
} rr_mapping_test;

/* What a withdrawal withdraws. */
typedef enum rr_withdraws {
    RR_WITHDRAWS_VERSION, /* the version that it has */
    RR_WITHDRAWS_OLDER    /* all that is older than its version */
} rr_withdraws;

/* One half of an envelope: a record of the message at `at`, where the tests hold (their paths begin at the message). */
typedef struct rr_mapping_half {
    rr_mapping_path at;
    const rr_mapping_test *when; /* all have to hold */
    size_t when_count;
    bool has_op;
    rr_op op; /* instead of what `record` says */
    bool has_withdraws;
    rr_withdraws withdraws;
    rr_mapping_place place;
} rr_mapping_half;

typedef enum rr_framing { RR_FRAMING_NONE, RR_FRAMING_CONFLUENT } rr_framing;

enum {
    RR_MAPPING_FIELDS_MAX = RR_TARGET_COUNT + 64,
    RR_MAPPING_PARTS_MAX = 16,   /* of a key */
    RR_MAPPING_VALUES_MAX = 256, /* of one `values` or test */
    RR_MAPPING_HALVES_MAX = 8,
    RR_MAPPING_STEPS_MAX = 16
};

typedef struct rr_mapping_spec {
    bool is_json;
    rr_framing framing;
    rr_slice message; /* protobuf: the full name, like acme.v1.PaneBatch */
    rr_mapping_place place, message_place;

    const rr_mapping_test *skips; /* one that holds is enough: no record, acknowledged */
    size_t skip_count;
    bool skip_empty;

    bool has_each; /* a record for each item of a repeated message, or of a list */
    rr_mapping_path each;
    const rr_mapping_half *halves; /* or a record of each half that is there */
    size_t half_count;

    const rr_mapping_field *fields; /* each target at most once, a measure's name too */
    size_t field_count;
    bool has_measures_map; /* `measures: {map: path}` */
    rr_mapping_path measures_map;
    rr_withdraws withdraws;
    rr_mapping_place record_place;
} rr_mapping_spec;

#endif
