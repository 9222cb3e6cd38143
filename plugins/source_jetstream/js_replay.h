/* Reading stored messages beside the consumer. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_REPLAY_H
#define RR_JS_REPLAY_H

#include "js_source.h"

/* The source's op `replay`. */
rr_status rr_js_replay(rr_source *source, uint64_t from, uint64_t to, bool (*each)(void *, const rr_delivery *),
                       void *context, rr_error *error);

#endif
