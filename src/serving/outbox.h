/* The outbox of alerts: decision logs are read by a consumer group, and what they say is handed to the channels, at
 * least once, with stable ids. What comes in one burst is one alert. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OUTBOX_H
#define RR_OUTBOX_H

#include "service_options.h"

/* Reads what is due, sends it to every channel, and only then marks it done. store: whose log; consumer: this
 * process's name in the consumer group. *sent grows by the alerts sent. UNAVAILABLE: a store or a channel did not
 * answer; nothing is lost, call again. */
rr_status rr_outbox_send(const rr_service_options *options, rr_store *store, const char *consumer, rr_arena *arena,
                         uint64_t *sent, rr_error *error);

#endif
