/* Exact decimals, as canonical plain text: two are equal if their bytes are.
 *
 * Canonical: "-" if negative, whole digits without leading zeros ("0" if there
 * are none), and, if there is a fraction, a point and digits that do not end
 * in 0. Zero is "0". Nothing here allocates.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DECIMAL_H
#define RR_DECIMAL_H

#include <rr/slice.h>

#include "limits.h"

enum {
    RR_DECIMAL_WHOLE_HELD = 120, /* whole digits of a sum that a store may hand back */
    RR_DECIMAL_WHOLE_MAX = 128,  /* whole digits that adding can get to */
    RR_DECIMAL_FRACTION_MAX = RR_LIMIT_DECIMAL_DIGITS,
    RR_DECIMAL_TEXT_MAX = 1 + RR_DECIMAL_WHOLE_MAX + 1 + RR_DECIMAL_FRACTION_MAX
};

/* Reads a number in JSON's grammar. Digits are counted by value, without writing them out: "1e999999999" is refused
 * at once, "0e999999999" is 0. text: RR_DECIMAL_TEXT_MAX bytes. Returns the length, 0 if it is not a number or has
 * more than RR_LIMIT_DECIMAL_DIGITS digits before the point or after it. */
size_t rr_decimal_read(rr_slice number, char *text);

/* True if the text is canonical, with at most RR_DECIMAL_WHOLE_HELD whole digits. */
bool rr_decimal_check(rr_slice text);

/* Negative, 0 or positive. Both are canonical. */
int rr_decimal_compare(rr_slice a, rr_slice b);

/* a + b, or a - b. Both are canonical; the sum has at most RR_DECIMAL_WHOLE_MAX whole digits (asserted: numbers that
 * were read, a few million of them, stay far below). text: RR_DECIMAL_TEXT_MAX bytes. Returns the length. */
size_t rr_decimal_add(rr_slice a, rr_slice b, bool subtract, char *text);

#endif
