/* Which units are taken for absent without a load. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "prediction.h"

enum { RARE = 16 }; /* predictions pay off where fewer than one unit in so many is present */

/* A load of a new cell only tells that the cell is absent, and the swap tells that too. So where nearly all units of
 * the last sample were absent, the next ones are not loaded. */
void rr_batch_note_presence(rr_batch *batch, bool present)
{
    batch->sampled_present += present;
    if (++batch->sampled >= batch->options.predict_from) {
        batch->predicts_absent = batch->sampled_present * RARE < batch->sampled;
        batch->sampled = batch->sampled_present = 0;
    }
}

void rr_batch_predict_absent(rr_batch *batch)
{
    for (size_t k = 0; k < batch->unit_count && batch->predicts_absent; k++) {
        rr_batch_unit *u = &batch->units[k];

        if (u->state == RR_BATCH_LOAD && !u->looked_up) {
            u->looked_up = u->predicted = true;
            u->state = RR_BATCH_OPEN;
        }
    }
}
