/* Fetching deliveries and making batches of them, while the worker decides the ones before. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECEIVING_H
#define RR_RECEIVING_H

#include "service_state.h"

/* Fetches once from each source that is not halted, and hands over what came. down: one flag a source, kept between
 * calls. *idle: nothing came, and nothing is under way. */
rr_status rr_receive_from_all(rr_service *service, bool *down, bool *idle, rr_error *error);

/* Waits for all batches under way, and ends them. The first failure counts. */
rr_status rr_receive_finish(rr_service *service, rr_error *error);

#endif
