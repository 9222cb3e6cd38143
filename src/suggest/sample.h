/* rr_sample: messages of another form, flattened to paths and values.
 *
 * Each message becomes a list of values, each under the path that leads to it.
 * No rule and no guess is applied here. What a hostile message can cost is
 * bounded by the numbers below and by the cap of the arena. What a bound leaves
 * out is counted.
 *
 * Nothing here does I/O. Everything is in the caller's arena, and nothing points
 * into a message after rr_sample_add.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SAMPLE_H
#define RR_SAMPLE_H

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

/* One message as the stream holds it. */
typedef struct rr_sample_message {
    rr_slice subject, payload;
    uint64_t sequence;
    int64_t stored_at_us; /* 0: not known */
} rr_sample_message;

/* schema: the type of the messages, or NULL for JSON; it outlives the sample. False: the arena is exhausted. */
bool rr_sample_init(rr_sample *sample, rr_arena *arena, const rr_schema_message *schema);

/* Takes one message. Messages come in the order of the stream. A frame of a schema registry in front (a byte 0, four of
 * a number) is taken off and counted. False: the sample takes no more, since it is full or the arena is exhausted; the
 * messages before this one stay usable. */
bool rr_sample_add(rr_sample *sample, const rr_sample_message *message);

/* ---- for the readers of JSON and protobuf ---- */

/* The path of a step below a parent. 0 (counted): there is no room, the path is too deep, or a configuration cannot hold
 * the step: it is empty, too long, no UTF-8, or has a NUL. */
uint16_t rr_sample_path(rr_sample *sample, uint16_t parent, rr_slice step);

/* Adds one value to the message being read. A later value of the same path and item replaces an earlier one. */
void rr_sample_put(rr_sample *sample, rr_value_seen value);
void rr_sample_put_text(rr_sample *sample, uint16_t path, uint16_t item, rr_value_kind kind, rr_slice text);
void rr_sample_put_int(rr_sample *sample, uint16_t path, uint16_t item, rr_value_kind kind, int64_t number);
void rr_sample_put_real(rr_sample *sample, uint16_t path, uint16_t item, double number);

/* NULL, or why the payload cannot be read. */
const char *rr_sample_read_json(rr_sample *sample, rr_slice payload);
const char *rr_sample_read_proto(rr_sample *sample, rr_slice payload);

#endif
