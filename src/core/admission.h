/* rr_admit: may this record be joined? The checks of a contract on a decoded record (semantics, section 4).
 *
 * Nothing here allocates, reads a clock or logs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ADMISSION_H
#define RR_ADMISSION_H

#include "contract.h"
#include "retention.h"

/* Checks a decoded record against the contract, in the order of semantics, section 4, and completes it: identity,
 * values, window of a global contract.
 *
 * record   as decoded; record->arrival_us is the clock of the decision, if it has one
 * scratch  where values are put; must have rr_admit_need(contract, record) bytes left (asserted)
 * why      NULL, or where a sentence for a person goes: what was seen, what the contract says, the likely cause
 *
 * Returns RR_REASON_NONE if the record may be joined; BEYOND_RETENTION makes it TOO_LATE, any other REFUSED.
 */
rr_reason rr_admit(const rr_contract *contract, rr_record *record, rr_arena *scratch, rr_text *why);

/* Bytes that rr_admit may take from its scratch. */
size_t rr_admit_need(const rr_contract *contract, const rr_record *record);

#endif
