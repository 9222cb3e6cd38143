/* Which units are predicted to be absent, so that they are not loaded. Private to src/batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PREDICTION_H
#define RR_PREDICTION_H

#include "batch_state.h"

/* Learns whether a unit that was looked up is in the store. */
void rr_batch_note_presence(rr_batch *batch, bool present);

/* Moves units from LOAD to OPEN with an empty value, where nearly all units are absent. */
void rr_batch_predict_absent(rr_batch *batch);

#endif
