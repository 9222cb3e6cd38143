/* What a sample holds: paths, messages, and the values under each path (sample.h). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SAMPLED_H
#define RR_SAMPLED_H

#include <rr/arena.h>

#include "proto_schema.h"

enum {
    RR_SAMPLE_DEPTH_MAX = 16,       /* steps of a path, as in a mapping */
    RR_SAMPLE_PATHS_MAX = 512,      /* of a sample */
    RR_SAMPLE_VALUES_MAX = 2048,    /* of a message; further ones are left out */
    RR_SAMPLE_ITEMS_MAX = 256,      /* of a list; further ones are left out */
    RR_SAMPLE_TEXT_KEPT = 64,       /* bytes of a text that are kept; the rest is in its hash */
    RR_SAMPLE_STEP_MAX = 128,       /* bytes of a name; what has a longer one is left out */
    RR_SAMPLE_MESSAGES_MAX = 10000, /* of a sample */
    RR_SAMPLE_NO_ITEM = 0xffff
};

typedef enum rr_value_kind {
    RR_VALUE_BOOL,
    RR_VALUE_INT,  /* a whole number that fits int64 */
    RR_VALUE_REAL, /* any other number */
    RR_VALUE_TEXT,
    RR_VALUE_ENUM,  /* text: the name in the schema */
    RR_VALUE_TIME,  /* a google.protobuf.Timestamp; number: microseconds */
    RR_VALUE_OTHER, /* bytes, a google.protobuf.Duration, a list of plain values */
    RR_VALUE_KIND_COUNT
} rr_value_kind;

typedef struct rr_value_seen {
    uint16_t path; /* index of rr_sample.paths */
    uint16_t item; /* of the list that it is in, from 0; RR_SAMPLE_NO_ITEM: in none */
    rr_value_kind kind;
    int64_t number; /* BOOL, INT, TIME */
    double real;    /* BOOL, INT, REAL, TIME */
    rr_slice text;  /* TEXT, ENUM: at most RR_SAMPLE_TEXT_KEPT bytes */
    uint64_t hash;  /* of the whole value; equal values have equal hashes */
} rr_value_seen;

typedef struct rr_path_seen {
    uint16_t parent; /* path 0 is the message */
    uint16_t depth;
    uint16_t list;  /* the list of objects that it is in; 0: none */
    bool is_list;   /* a list of objects; its values are those below it */
    bool has_value; /* at least one value stands here */
    rr_slice step;
} rr_path_seen;

typedef struct rr_message_seen {
    rr_slice subject;
    uint64_t sequence;
    int64_t stored_at_us; /* 0: not known */
    uint64_t hash;        /* of the payload */
    const rr_value_seen *values;
    size_t value_count;
} rr_message_seen;

typedef struct rr_sample {
    rr_arena *arena;
    const rr_schema_message *schema; /* NULL: JSON */
    rr_path_seen *paths;             /* RR_SAMPLE_PATHS_MAX */
    size_t path_count;
    rr_message_seen *messages; /* RR_SAMPLE_MESSAGES_MAX; those that could be read */
    size_t message_count;
    rr_value_seen *values; /* of the message being read */
    size_t value_count;
    size_t empty, framed, unreadable, left_out; /* messages; left_out: values */
    uint64_t unreadable_sequence;               /* of the first one */
    char unreadable_why[128];
} rr_sample;

#endif
