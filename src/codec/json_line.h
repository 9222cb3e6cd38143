/* A line of JSON as bytes: the checks that come before parsing, and how a sentence names a place in it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JSON_LINE_H
#define RR_JSON_LINE_H

#include "text.h"

/* The line without its line feed, and without a carriage return before that. */
rr_slice rr_json_without_line_end(rr_slice line);

/* True for a line of white space only. */
bool rr_json_is_blank(rr_slice line);

/* Checks what yajl accepts and a record may not have: bytes that are not UTF-8, a byte order mark, control characters,
 * escapes of a NUL or of half a surrogate pair. False: there is one, and `why` (may be NULL) names it and its column. */
bool rr_json_check_bytes(rr_slice line, rr_text *why);

/* Appends " (column N) ". Columns count bytes from 1. */
void rr_json_explain_column(rr_text *why, size_t column);

#endif
