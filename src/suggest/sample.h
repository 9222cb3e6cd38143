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

#include "sampled.h"

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

#endif
