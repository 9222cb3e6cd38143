/* The worker: a thread that decides batches, so that the next one is fetched and decoded while this one is with the
 * store. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_WORKER_H
#define RR_WORKER_H

#include "service_state.h"

/* Without a second handle of the store there is no worker: rr_worker_hand_over then decides the batch itself. */
void rr_worker_start(rr_service *service);
void rr_worker_stop(rr_service *service);

/* Hands a batch to the worker, which decides it after those that it has. There must be room: fewer than
 * RR_INFLIGHT_MOST are under way. */
void rr_worker_hand_over(rr_service *service, rr_inflight *batch);

/* True when the worker has finished with the batch. Waits for that at most wait_ms. */
bool rr_worker_is_done(rr_service *service, const rr_inflight *batch, int wait_ms);

/* True when the batch was decided, and the store has confirmed all that it read and wrote. */
bool rr_inflight_is_decided(const rr_inflight *batch);

/* Decides the items. During an outage of the store it tries again until the store answers. *abandoned: the service
 * has to end before that. */
rr_status rr_worker_decide(rr_service *service, rr_item *items, size_t count, bool *abandoned, rr_error *error);

#endif
