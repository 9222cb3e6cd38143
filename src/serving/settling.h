/* What follows the decision of a batch: dead letters, then acknowledgements. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SETTLING_H
#define RR_SETTLING_H

#include "service_state.h"

/* Ends a batch that the worker has finished with: stores its dead letters, acknowledges what is settled, releases what
 * is stuck; releases everything where it was abandoned. */
rr_status rr_settle_batch(rr_service *service, rr_inflight *batch, rr_error *error);

/* Tells the queue that all deliveries under way are still in work, where it has not heard of them for a while. ending:
 * a batch that is ended right now, or NULL. */
void rr_settle_signal_progress(rr_service *service, rr_inflight *ending);

#endif
