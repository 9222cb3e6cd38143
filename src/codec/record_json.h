/* Records as JSON, one a line (semantics, section 2). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECORD_JSON_H
#define RR_RECORD_JSON_H

#include "buf.h"
#include "record.h"

/* Decodes one line, with or without its line feed.
 *
 * arena     what the record points into; the line may be freed. The scratch memory of decoding is released
 * record    RR_DECODED_RECORD: filled, except for members that the caller and rr_admit set
 * clock_us  RR_DECODED_CLOCK: the time of a line {"clock":...}
 * why       NULL, or where a sentence for a person goes, with the field and the column of its name; columns count bytes
 *           from 1 (of a name with escapes it is the end)
 *
 * RR_DECODED_NOTHING: a line of blanks. Numbers stay text (RR_NUMBER_TEXT) and never pass through a double.
 */
rr_decoded rr_record_from_json(rr_slice line, rr_arena *arena, rr_record *record, int64_t *clock_us, rr_text *why);

/* Appends the record as one JSON object, without a line feed; reading it again gives the same record, except that
 * numbers are text. What is absent, or the default, is left out. Numbers that other readers of JSON could round are
 * strings; a measure that was no number is []. False: memory ran out. */
bool rr_record_to_json(const rr_record *record, rr_buf *out);

#endif
