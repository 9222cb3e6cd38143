/* Removes the expired windows of a session group together with their facts (semantics, section 10). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_FORGET_H
#define RR_FORGET_H

#include "facts.h"

/* True if the group has windows that may be gone by now_us. Such a window lies in none that is not: the facts of an
 * inner window live as long as the outermost. */
bool rr_unit_has_gone(const rr_unit *unit, int64_t now_us);

/* Removes these windows and the facts that were addressed to them. All parts must be loaded (asserted). */
void rr_unit_forget(rr_unit *unit, int64_t now_us);

/* The end of the outermost window that contains this one. */
int64_t rr_unit_outermost_end(const rr_unit *unit, rr_window window);

#endif
