/* Fetching deliveries by pull requests, and binding again behind a broken connection. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_PULL_H
#define RR_JS_PULL_H

#include "js_source.h"

/* Connected, subscribed, and the consumer is known to exist. */
bool rr_js_is_bound(const rr_source *source);

/* The source's op `fetch`. */
rr_status rr_js_fetch(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                      rr_error *error);

#endif
