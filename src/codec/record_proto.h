/* Records as protobuf: rr.v1.Result of proto/rr/v1/result.proto. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECORD_PROTO_H
#define RR_RECORD_PROTO_H

#include "buf.h"
#include "record.h"

/* Decodes one message.
 *
 * in_file   true: file_clock is a clock; false: it makes the record malformed arena     what the record points into:
 * a copy of the payload, which may go, and the measures. Nothing of it is taken
 *           where there is no record
 * record    RR_DECODED_RECORD: filled, but for what the engine and rr_admit set
 * clock_us  RR_DECODED_CLOCK: the time; may be NULL if not in_file
 * why       NULL, or where a sentence for a person goes (empty where nothing is wrong)
 *
 * Unknown fields are skipped, groups too. A field that comes twice is read as protobuf says: the last of a scalar
 * counts, a message inside is merged, a later member of a oneof clears the others.
 */
rr_decoded rr_record_from_proto(rr_slice payload, bool in_file, rr_arena *arena, rr_record *record, int64_t *clock_us,
                                rr_text *why);

/* Appends the message. False: memory ran out, or the record has more than RR_LIMIT_MEASURES measures. */
bool rr_record_to_proto(const rr_record *record, rr_buf *out);

/* Appends the message that sets the clock of the records after it in a file. False: memory ran out. */
bool rr_clock_to_proto(int64_t clock_us, rr_buf *out);

#endif
