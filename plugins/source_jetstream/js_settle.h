/* Deliveries that are outstanding at the server and unknown here, under `ack: all`. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_SETTLE_H
#define RR_JS_SETTLE_H

#include "js_source.h"

/* Finds them, asks the server to deliver them again, and holds back acknowledgements until they have come. Called after
 * each bind, and again while some have not come. */
rr_status rr_js_settle(rr_source *source, const jsConsumerInfo *info, rr_error *error);

#endif
