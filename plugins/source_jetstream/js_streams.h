/* Making streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_STREAMS_H
#define RR_JS_STREAMS_H

#include <rr/source.h>

/* The source's op `make_stream`. */
rr_status rr_js_make_stream(const rr_source_options *options, const char *name, const char *const *subjects,
                            size_t count, rr_error *error);

#endif
