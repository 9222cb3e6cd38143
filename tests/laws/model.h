/* What cells must show, worked out a second way: from all records at once, as the specification reads, with numbers
 * added digit by digit. Shares nothing with src/core but the admission. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_LAWS_MODEL_H
#define RR_LAWS_MODEL_H

#include "sandbox.h"

/* True if the model knows the cells of such a history: cumulative without corrections, delta (sessions only where
 * nothing contradicts). */
bool rr_model_knows(const rr_contract *contract, bool honest);

/* The cells of these records (admitted ones, in the order of their arrival), as rr_sandbox_print prints them. */
void rr_model_print(const rr_contract *contract, const rr_record *records, size_t count, rr_buf *out);

/* Incremental = anew: the folds that the join keeps up are those that all parts give. NULL, or what is not. The unit
 * is complete. */
const char *rr_fold_fault(const rr_unit *unit, rr_arena *scratch);

#endif
