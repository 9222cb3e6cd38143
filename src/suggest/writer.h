/* Pieces of YAML: paths as a mapping writes them, values from messages, comments. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_WRITER_H
#define RR_WRITER_H

#include "buf.h"
#include "roles.h"

/* A scalar, quoted where it has to be. */
void rr_write_scalar(rr_buf *out, rr_slice text);

/* The path of a sample, from below `top` (0: from the message). */
void rr_write_path(rr_buf *out, const rr_sample *sample, uint16_t path, uint16_t top, bool whole);

/* The path of a column, or {subject: N}. */
void rr_write_column(rr_buf *out, const rr_table *table, size_t column);

/* The same as a name in a comment. */
void rr_write_name(rr_buf *out, const rr_table *table, size_t column);

/* A field that is a time: {path: a.b, unit: ms, inclusive: 1ms}. inclusive_us 0: none. */
void rr_write_time(rr_buf *out, const rr_roles *roles, size_t column, int64_t inclusive_us);

/* "1m" */
void rr_write_duration(rr_buf *out, int64_t us);

/* "+I 300, -U 12": the values of a column and how often each came, at most RR_ROLES_VALUES_MAX of them. */
void rr_write_values(rr_buf *out, const rr_table *table, size_t column);

/* The different values of a column, the first `most` of them by the order in which they came. Returns how many. */
size_t rr_column_values(const rr_table *table, size_t column, rr_slice *values, size_t *counts, size_t most);

#endif
