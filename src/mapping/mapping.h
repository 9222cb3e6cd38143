/* rr_mapping: a message of somebody else's becomes records of ours.
 *
 * A specification and a schema are compiled into a program once; the program
 * then turns messages into records. Both are pure: no I/O, no clock, memory
 * from the arenas that are given. One pass over the bytes, in which only what
 * a path names is looked at: a trie of field numbers (or of names) says what to
 * skip, where to descend and what to capture.
 *
 * What holds for protobuf:
 *   presence  a field without presence of its own (proto3 without `optional`)
 *             is zero where it is not on the wire; any other is absent, and so
 *             is all below a message that is absent. A proto2 default is never
 *             made up
 *   merging   the last of a scalar wins, a message that comes twice merges, a
 *             later member of a oneof clears the others, a later entry of a map
 *             replaces the one of its key. A field of another wire type, and a
 *             group, is unknown: skipped
 * And for JSON: numbers are exact; null is absent; a name that the mapping
 * reads and that stands twice in its object makes the message malformed.
 *
 * A key made of a list joins its parts with '/', and in each part writes '~' as
 * "~0" and '/' as "~1" (as RFC 6901 does): so two lists never give one key.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MAPPING_H
#define RR_MAPPING_H

#include <rr/source.h>

#include "buf.h"
#include "contract.h"
#include "mapped.h"
#include "mapping_spec.h"
#include "proto_schema.h"
#include "record.h"

enum {
    RR_MAPPING_MESSAGE_MAX = 1024 * 1024, /* bytes of a message that is mapped */
    RR_MAPPING_SLOTS_MAX = 512            /* values captured, of the message and of an item each */
};

typedef struct rr_mapping rr_mapping;

/* Hears of everything that is wrong with a mapping, each with its place. The text ends with a NUL. */
typedef void rr_mapping_fault(void *context, rr_mapping_place place, const char *text);

/* Compiles.
 *
 * schema    of the descriptor set; NULL where spec->is_json. It outlives the mapping
 * contract  NULL, or what the records will be admitted by: the mapping is then held against it, too (targets that its
 *           mode needs, measures and their types)
 * arena     of the mapping; outlives it
 *
 * Returns NULL after at least one fault, or (then without one) when memory ran out.
 */
const rr_mapping *rr_mapping_compile(const rr_mapping_spec *spec, const rr_schema *schema, const rr_contract *contract,
                                     rr_arena *arena, rr_mapping_fault *fault, void *context);

/* The names of the headers that the mapping reads, each once. */
size_t rr_mapping_headers(const rr_mapping *mapping, const rr_slice **names);

/* Whether its messages are JSON; else they are protobuf. */
bool rr_mapping_is_json(const rr_mapping *mapping);

/* Appends the mapping in canonical text: paths as field numbers with their types, words and numbers as they act. Two
 * mappings that decode alike have the same text, also where the schema has got new fields since, or the file was
 * written in other words. Check with rr_buf_ok. */
void rr_mapping_print(const rr_mapping *mapping, rr_buf *out);

/* A message as it came. */
typedef struct rr_mapping_input {
    rr_slice message, subject;
    const rr_header *headers; /* at least those that the mapping reads; the first of a name counts */
    size_t header_count;
    bool has_stream_time;
    int64_t stream_time_us; /* when the stream stored it */
} rr_mapping_input;

/* Decodes one message.
 *
 * arena    what the records and their strings lie in: the message, the headers and the mapping may go. Only what is kept
 *          is taken; nothing where the outcome is not RECORDS
 * scratch  reset here, and used until the return; may be shared by all mappings of a thread. Up to about 12 times the
 *          message's bytes for JSON, little for protobuf
 */
void rr_mapping_run(const rr_mapping *mapping, const rr_mapping_input *input, rr_arena *arena, rr_arena *scratch,
                    rr_mapping_result *result);

/* Appends where the fields come from that a reason is about: "; the mapping takes version.number from 'row.revision'". For
 * a record of this mapping that the contract refuses; a reason that is about no field appends nothing. */
void rr_mapping_explain(const rr_mapping *mapping, rr_reason reason, const rr_record *record, rr_text *why);

#endif
