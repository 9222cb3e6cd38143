/* rr_verify: does the store hold what the streams say?
 *
 * Reads the streams from their first message through the same rules into a
 * memory store, and compares cell by cell. A window is judged only where the
 * streams still have every record of it. Streams may grow meanwhile: a difference
 * is compared again after reading on, and counts if it stays.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERIFY_H
#define RR_VERIFY_H

#include "batch.h"
#include "bindings.h"
#include "verify_options.h"

/* Blocks. OK also where there are differences: they are in the totals. */
rr_status rr_verify_run(const rr_verify_options *options, rr_verify_totals *totals, rr_error *error);

#endif
