/* rr_recovery: notices what the servers lost, and has it read again.
 *
 *   each second   is our prefix still in force? are the contracts the stored ones? has the store
 *                 changed? then the checkpoint of each source
 *   repair        a slice at a time (repair.h)
 *
 * What it rests upon: each acknowledgement follows its effect, so the consumer's
 * acknowledgement floor covers only what is done (checkpoint.h).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECOVERY_H
#define RR_RECOVERY_H

#include "recovery_state.h"

/* batch: of the service. repair: options of the batch that decides what is read again. False: memory ran out; call
 * rr_recovery_fini all the same. */
bool rr_recovery_init(rr_recovery *recovery, const rr_environment *env, rr_batch *batch,
                      const rr_batch_options *repair);
void rr_recovery_fini(rr_recovery *recovery);

/* Sets `superseded` if another generation is in force. Called after each batch and before its acknowledgement: so
 * whatever this process acknowledges was delivered before the switch, and the process that starts with the next
 * generation reads all of that again. */
rr_status rr_recovery_check_generation(rr_recovery *recovery, rr_error *error);

/* True if a second has passed since the last tick, or the clock was set. */
bool rr_recovery_tick_due(const rr_recovery *recovery);

/* What is due each second. No batch is under way. While a rebuild switches readers over, it waits. UNAVAILABLE,
 * REFUSED_BY_SERVER: an outage of the store. CONFIG: the service cannot go on. */
rr_status rr_recovery_tick(rr_recovery *recovery, rr_error *error);

/* CONFIG: every source was rolled back or made anew. */
rr_status rr_recovery_check_halted(const rr_recovery *recovery, rr_error *error);

#endif
