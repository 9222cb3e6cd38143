/* The alerts of refused records. Private to src/batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REFUSALS_H
#define RR_REFUSALS_H

#include "batch_state.h"

/* Settles the refused items: stores their alerts, within RR_LIMIT_BATCH_ALERTS. */
rr_status rr_batch_store_refusals(rr_batch *batch, rr_error *error);

#endif
