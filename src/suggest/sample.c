/* Paths and values of one message after the other, within the bounds of sample.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <stdio.h>

#include "hash.h"
#include "proto_reader.h"
#include "sample_json.h"
#include "sample_proto.h"

bool rr_sample_init(rr_sample *sample, rr_arena *arena, const rr_schema_message *schema)
{
    *sample = (rr_sample){.arena = arena, .schema = schema, .path_count = 1};
    sample->paths = rr_arena_zero(arena, RR_SAMPLE_PATHS_MAX * sizeof *sample->paths);
    sample->messages = rr_arena_zero(arena, RR_SAMPLE_MESSAGES_MAX * sizeof *sample->messages);
    sample->values = rr_arena_zero(arena, RR_SAMPLE_VALUES_MAX * sizeof *sample->values);
    return sample->paths != NULL && sample->messages != NULL && sample->values != NULL;
}

/* The frame of a schema registry. Neither JSON nor protobuf begins with a byte 0, so there is no doubt. */
static rr_slice unframe(rr_sample *sample, rr_slice payload)
{
    enum { HEAD = 5 };
    const char *at = payload.data + HEAD, *end = payload.data + payload.len;
    uint64_t count = 0, index = 0;

    if (payload.len <= HEAD || payload.data[0] != 0) {
        return payload;
    }
    if (sample->schema != NULL && rr_proto_varint(&at, end, &count)) {
        count = (uint64_t)rr_proto_sint64(count);
        while (count != 0 && rr_proto_varint(&at, end, &index)) {
            count--;
        }
    }
    sample->framed++;
    return (rr_slice){at, (size_t)(end - at)};
}

static bool note_unreadable(rr_sample *sample, const rr_sample_message *message, const char *why)
{
    if (sample->unreadable++ == 0) {
        sample->unreadable_sequence = message->sequence;
        snprintf(sample->unreadable_why, sizeof sample->unreadable_why, "%s", why);
    }
    return true;
}

bool rr_sample_add(rr_sample *sample, const rr_sample_message *message)
{
    rr_message_seen *made = &sample->messages[sample->message_count];
    rr_value_seen *kept;
    const char *why;
    rr_slice body;

    if (sample->message_count == RR_SAMPLE_MESSAGES_MAX) {
        return false;
    }
    if (message->payload.len == 0) {
        sample->empty++;
        return true;
    }
    body = unframe(sample, message->payload);
    sample->value_count = 0;
    why = sample->schema == NULL ? rr_sample_read_json(sample, body) : rr_sample_read_proto(sample, body);
    if (why != NULL) {
        return note_unreadable(sample, message, why);
    }
    kept = rr_arena_take(sample->arena, (sample->value_count + 1) * sizeof *kept);
    *made = (rr_message_seen){rr_arena_copy(sample->arena, message->subject),
                              message->sequence,
                              message->stored_at_us,
                              rr_hash(message->payload),
                              kept,
                              sample->value_count};
    if (kept == NULL || (message->subject.len != 0 && made->subject.data == NULL)) {
        return false;
    }
    memcpy(kept, sample->values, sample->value_count * sizeof *kept);
    sample->message_count++;
    return true;
}
