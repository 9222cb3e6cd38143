/* The streams, read into the new generation. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_READ_H
#define RR_REBUILD_READ_H

#include "rebuild_state.h"

/* INPUT: a stream has lost its beginning, and the options do not allow that. */
rr_status rr_rebuild_check_beginnings(rr_rebuild *r);

/* For rr_batch_options.report_stuck, with the rebuild as context. */
void rr_rebuild_report_stuck(void *context, const rr_error *error);

/* Reads all streams in rounds, until a round brings no more than `few` messages. */
rr_status rr_rebuild_catch_up(rr_rebuild *r, uint64_t few);

#endif
