/* Publishing to streams. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_PUBLISH_H
#define RR_JS_PUBLISH_H

#include "js_source.h"

/* The source's ops `publish` and `bound`. */
rr_status rr_js_publish(rr_source *source, rr_publication *publications, size_t count, rr_error *error);
rr_status rr_js_bound(rr_source *source, rr_slice subject, char stream[256], rr_error *error);

#endif
