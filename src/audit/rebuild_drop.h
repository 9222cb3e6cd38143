/* Alerts that are moved, and the removal of the old generation. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_DROP_H
#define RR_REBUILD_DROP_H

#include "rebuild_state.h"

rr_status rr_rebuild_drop_old(rr_rebuild *r);

#endif
