/* Contracts and checkpoints of the new generation, the pause, and the switch. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_SWITCH_H
#define RR_REBUILD_SWITCH_H

#include "rebuild_state.h"

rr_status rr_rebuild_put_notes(rr_rebuild *r);

/* Pauses the daemons, reads the rest, writes the checkpoints and switches readers over. */
rr_status rr_rebuild_switch_over(rr_rebuild *r);

#endif
