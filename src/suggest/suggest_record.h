/* The parts of a suggestion that the roles decide: `record` of the mapping, and the contract. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SUGGEST_RECORD_H
#define RR_SUGGEST_RECORD_H

#include "buf.h"
#include "roles.h"

void rr_suggest_record(rr_buf *out, const rr_roles *roles);
void rr_suggest_contract(rr_buf *out, const rr_roles *roles);

/* The name of a measure: the last step of its path; with a number behind it where two columns share one. What
 * is no letter, digit or _ becomes _. */
void rr_suggest_measure_name(rr_buf *out, const rr_roles *roles, size_t column);

#endif
