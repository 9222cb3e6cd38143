/* Waiting until replicas have what was written. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_CONFIRM_H
#define RR_STORE_REDIS_CONFIRM_H

#include "redis_store.h"

/* Prepares the commands. False: memory ran out. */
bool rr_redis_confirm_init(rr_store *store, const rr_store_options *options);

/* The store's op `confirm`. UNAVAILABLE: too few replicas have confirmed in time. */
rr_status rr_redis_confirm(rr_store *store, rr_error *error);

#endif
