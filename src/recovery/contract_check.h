/* Compares the contracts that the stored cells were made under with those of this process. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CONTRACT_CHECK_H
#define RR_CONTRACT_CHECK_H

#include "recovery_state.h"

/* Compares each contract with its note in the store, writes the note where there is none, and joins the eras of both
 * sides. No batch may be under way, since it reads the eras.
 *
 * accept   NULL: a contract of another text is refused. Else the text of this process replaces the stored one;
 *          it reads of a contract's text all that rr_eras_advance looks at, and answers false where it cannot
 *
 * CONFIG: another text was stored, or the note cannot be read. */
rr_status rr_contracts_check(rr_recovery *recovery, bool (*accept)(rr_slice text, rr_contract *contract),
                             rr_error *error);

#endif
