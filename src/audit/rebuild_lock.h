/* The lock that admits one rebuild at a time. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_LOCK_H
#define RR_REBUILD_LOCK_H

#include "rebuild_state.h"

/* Waits until no other rebuild is at work, then starts a thread that renews the lock. UNAVAILABLE: another one is. */
rr_status rr_rebuild_take_lock(rr_rebuild *r);
void rr_rebuild_release_lock(rr_rebuild *r);

/* UNAVAILABLE: another rebuild has taken over. */
rr_status rr_rebuild_check_lock(rr_rebuild *r);

#endif
