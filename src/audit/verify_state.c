/* What every stage of a verification needs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_state.h"

rr_status rr_verify_no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out while the streams were verified");
}
