/* Hands the alerts of the decision logs to the channels, at least once, with stable ids; a burst is one alert. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OUTBOX_H
#define RR_OUTBOX_H

#include "service.h"

/* Reads what is due, sends it to every channel, and only then says that it is done. *sent grows by the alerts sent.
 * UNAVAILABLE: a store or a channel did not answer; nothing is lost, try again. */
rr_status rr_outbox_send(const rr_service_options *options, rr_store *store, const char *drainer, rr_arena *arena,
                         uint64_t *sent, rr_error *error);

#endif
