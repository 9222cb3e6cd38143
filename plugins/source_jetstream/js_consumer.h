/* The stream and the durable consumer as the source needs them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_CONSUMER_H
#define RR_JS_CONSUMER_H

#include "js_source.h"

/* Finds stream and consumer, makes the consumer where the options say so, and checks both; fills in filter and
 * is_work_queue. CONFIG: one is missing or does not fit. */
rr_status rr_js_bind(rr_source *source, rr_error *error);

/* The checks of rr_js_bind, for the stream and, where config is not NULL, the consumer. */
rr_status rr_js_check(rr_source *source, const jsConsumerConfig *config, rr_error *error);

/* Asks for the consumer, waiting at most wait_ms. CONFIG, for good: it or the stream is gone. The caller frees *info
 * with jsConsumerInfo_Destroy. */
rr_status rr_js_consumer_info(rr_source *source, int wait_ms, jsConsumerInfo **info, rr_error *error);

/* A server says that stream or consumer does not exist, and why. A server of a cluster that has just started says so of
 * everything that it does not know yet: there it is UNAVAILABLE until servers have said so for 30 s, then CONFIG for
 * good. */
rr_status rr_js_missing(rr_source *source, const char *why, rr_error *error);

#endif
