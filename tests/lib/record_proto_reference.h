/* Records as protobuf-c decodes them: what the decoder of src/codec is held to, and measured against. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_PROTO_REFERENCE_H
#define RECORD_PROTO_REFERENCE_H

#include "record.h"

/* As rr_record_from_proto, but that
 * - a group makes a message malformed; there it is skipped, as any unknown field
 * - what a tag, a length or a varint has beyond 32 or 64 bits is dropped; there it makes the message malformed
 * - a field number of 0 is read where its tag is longer than it need be; there it never is
 * - a version or window that comes twice loses what the second does not say, or makes the message malformed; there the
 *   two are merged, as protobuf has it
 * - very many tiny fields are TOO_LARGE; there only bytes and measures are counted. */
rr_decoded record_from_proto_reference(rr_slice payload, bool in_file, rr_arena *arena, rr_record *record,
                                       int64_t *clock_us, rr_text *why);

#endif
