/* Section 10 for sessions: windows of a group that are gone take their facts with them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_FORGET_H
#define RR_FORGET_H

#include "facts.h"

/* True if the group has windows that may be gone by now_us. Such a window lies in none that is not: the facts of an
 * inner window live as long as the outermost. */
bool rr_unit_has_gone(const rr_unit *unit, int64_t now_us);

/* Removes them, and what was addressed to them. All parts must be at hand. */
void rr_unit_forget(rr_unit *unit, int64_t now_us);

/* The end of the outermost window that contains this one. */
int64_t rr_unit_outermost_end(const rr_unit *unit, rr_window window);

#endif
