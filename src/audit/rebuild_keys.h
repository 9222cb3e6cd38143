/* Which keys belong to this configuration, and the removal of what is not in force. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REBUILD_KEYS_H
#define RR_REBUILD_KEYS_H

#include "rebuild_state.h"

/* Encodes the names of contracts and sources as keys hold them. False: memory ran out. */
bool rr_rebuild_name_all(rr_rebuild *r);

/* Removes the keys of this configuration that belong to any generation but the one in force. */
rr_status rr_rebuild_sweep(rr_rebuild *r);

/* CONFIG: contracts or sources that this configuration does not know have results below the prefix in force. The switch
 * would cut their readers off. */
rr_status rr_rebuild_check_alone(rr_rebuild *r);

#endif
