/* Which store it is, and the keys of its notes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "recovery_state.h"

#include <stdio.h>

#include "decision.h"

rr_slice rr_recovery_key(rr_recovery *recovery, const char *kind, rr_slice name)
{
    return rr_store_key(recovery->env->prefix, kind, name, &recovery->text, &recovery->arena);
}

void rr_recovery_suspect_store(rr_recovery *recovery)
{
    recovery->store_is_suspect = true;
    rr_batch_invalidate(recovery->batch);
}

rr_status rr_recovery_identify_store(rr_recovery *recovery, bool *is_same, rr_error *error)
{
    rr_store_identity identity;
    rr_status status = recovery->env->store_ops->identity(recovery->env->store, &identity, error);

    if (status != RR_OK) {
        return status;
    }
    *is_same = strcmp(recovery->incarnation, identity.incarnation) == 0;
    if (!*is_same) {
        rr_batch_invalidate(recovery->batch);
        snprintf(recovery->incarnation, sizeof recovery->incarnation, "%s", identity.incarnation);
    }
    recovery->store_is_suspect = false;
    return RR_OK;
}
