/* The streams of a verification, read into memory, and what they cover. Private to src/audit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VERIFY_READ_H
#define RR_VERIFY_READ_H

#include "verify_state.h"

/* Asks each source what its stream still has, and where its consumer began. */
rr_status rr_verify_ask_coverage(rr_verify *v);

/* Asks each source what is acknowledged. Called before the store is read: what is acknowledged by then is in it. */
rr_status rr_verify_ask_acked(rr_verify *v, rr_error *error);

/* Reads each stream on, from where the last call ended to its present end or `upto`. */
rr_status rr_verify_read_on(rr_verify *v);

/* Whether the streams still have every record of a window. */
bool rr_verify_covers(const rr_verify *v, rr_window window);

/* Whether the two sides differ only in time: the store holds a record that was not read yet, or lacks one that is not
 * acknowledged yet. */
bool rr_verify_is_moving(const rr_verify *v, const rr_verify_pair *pair);

#endif
