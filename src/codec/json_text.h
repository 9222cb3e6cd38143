/* JSON texts: memory for yajl, and what yajl is more lenient with than we may be. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JSON_TEXT_H
#define RR_JSON_TEXT_H

#include <yajl/yajl_parse.h>

#include <rr/slice.h>

/* Memory for yajl, which does not look whether it got any: so there is always enough (asserted). Nothing is given back
 * before all of it is. */
typedef struct rr_json_memory {
    char *at, *end; /* rr_json_need(text.len) bytes, aligned to 16 */
} rr_json_memory;

/* Bytes that yajl may take to read a text of this length in one call. */
size_t rr_json_need(size_t text);

/* memory outlives the parser. */
yajl_alloc_funcs rr_json_memory_funcs(rr_json_memory *memory);

/* What is wrong with the bytes, as "is ..." or "holds ...": no UTF-8, a NUL also as an escape, a bare control
 * character, half of a surrogate pair. NULL: nothing. *column counts bytes from 1. */
const char *rr_json_fault(rr_slice text, size_t *column);

#endif
