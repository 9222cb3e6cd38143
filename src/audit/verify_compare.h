/* One unit of the store beside the same unit of the streams. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERIFY_COMPARE_H
#define RR_VERIFY_COMPARE_H

#include "verify_state.h"

/* Reads both sides of a pair from their values, in the page arena. Never INPUT: where the store's value cannot be
 * read, the pair says so. */
rr_status rr_verify_read_pair(rr_verify *v, rr_verify_pair *pair, rr_slice expected, rr_slice found, rr_error *error);

/* Compares the cells of both sides by window. Reports and counts differences where `last` is set; a pair without any is
 * counted always. True: something differs. */
bool rr_verify_compare_pair(rr_verify *v, rr_verify_pair *pair, bool last);

#endif
