/* The checkpoint of one source: read, compared with what server and store say, written. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SOURCE_CHECKPOINT_H
#define RR_SOURCE_CHECKPOINT_H

#include "recovery_state.h"

/* Reads it. held: its bytes, in the arena of the tick; empty: there is none. CONFIG: this program has not written
 * it, or it is of another stream or consumer. */
rr_status rr_source_checkpoint_read(rr_recovery *recovery, size_t index, rr_slice *held, rr_checkpoint *checkpoint,
                                    rr_error *error);

/* Writes it. *written: it still was `held`, and the store still has the checkpoint's incarnation. */
rr_status rr_source_checkpoint_write(rr_recovery *recovery, size_t index, rr_slice held,
                                     const rr_checkpoint *checkpoint, bool *written, rr_error *error);

/* Brings it up to date: moves the floor, and sets a repair where the store has changed. Halts a source whose stream was
 * rolled back or made anew, with an alert. */
rr_status rr_source_checkpoint_advance(rr_recovery *recovery, size_t index, rr_error *error);

#endif
