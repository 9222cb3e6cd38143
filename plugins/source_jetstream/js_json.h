/* Members of the server's JSON answers. The first member of the name counts, at any depth. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_JSON_H
#define RR_JS_JSON_H

#include <rr/slice.h>

/* The bytes behind `"name":`, within json; NULL: there is no such member. */
const char *rr_js_json_value(rr_slice json, const char *name);

/* A number; 0: there is none. */
uint64_t rr_js_json_number(rr_slice json, const char *name);

/* A text, cut to the room. False: there is none. */
bool rr_js_json_text(rr_slice json, const char *name, char *text, size_t room);

/* A text of base64, decoded into memory that the caller frees. NULL: there is none, it is not base64, or memory ran
 * out. */
char *rr_js_json_base64(rr_slice json, const char *name, size_t *len);

#endif
