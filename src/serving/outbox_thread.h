/* The thread that hands out alerts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OUTBOX_THREAD_H
#define RR_OUTBOX_THREAD_H

#include "service_state.h"

/* Starts it where the options have a store for it. MEMORY: there is no thread to be had. */
rr_status rr_outbox_thread_start(rr_service *service, pthread_t *thread, bool *started, rr_error *error);

/* Waits until it has handed out what is due, and ends it. */
void rr_outbox_thread_stop(rr_service *service, pthread_t thread);

#endif
