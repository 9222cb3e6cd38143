/* Finding a place in the stream by time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_FIND_TIME_H
#define RR_JS_FIND_TIME_H

#include "js_source.h"

/* The source's op `find_time`. */
rr_status rr_js_find_time(rr_source *source, int64_t time_us, uint64_t *sequence, rr_error *error);

#endif
