/* rr_service: the daemon's loop.
 *
 *   fetch -> decode -> admit -> join and swap -> dead letters -> acknowledge
 *
 * A record is acknowledged only when its effect and its alerts, or its dead
 * letter, are stored. Where Redis or the dead letters' stream cannot be reached
 * nothing is acknowledged, fetching pauses, and the queue is told that the
 * deliveries are still in work; when the server is back it goes on by itself.
 *
 * Threads: the caller's receives and acknowledges (receiving.c, settling.c); a
 * worker decides batches (worker.c); a third hands out alerts (outbox_thread.c).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SERVICE_H
#define RR_SERVICE_H

#include "service_options.h"

/* Blocks until it is stopped, or cannot go on: CONFIG (a contract of another text, a consumer that is gone, a second
 * reader), MEMORY. OK: it finished what was under way, and left. */
rr_status rr_service_run(const rr_service_options *options, rr_service_totals *totals, rr_error *error);

#endif
