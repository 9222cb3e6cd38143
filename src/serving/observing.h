/* `run --observe`: the streams are read from a place of their own, everything is decided in memory, and nothing is
 * written or acknowledged anywhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_OBSERVING_H
#define RR_OBSERVING_H

#include "service_state.h"

/* Reads the streams from their first message until it is stopped, or, where the options say so, until nothing more
 * comes. */
rr_status rr_observe(rr_service *service, rr_error *error);

#endif
