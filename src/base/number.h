/* Numbers as text, in JSON's grammar, and doubles to and from it. Independent of the locale. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_NUMBER_H
#define RR_NUMBER_H

#include <rr/slice.h>

/* The parts of a number: (-1)^negative * whole.fraction * 10^exponent. */
typedef struct rr_number_parts {
    bool negative;
    bool plain;        /* neither point nor exponent */
    rr_slice whole;    /* at least one digit; no leading zero but for "0" itself */
    rr_slice fraction; /* may be empty */
    int64_t exponent;  /* clamped to +-RR_NUMBER_EXPONENT_MAX */
} rr_number_parts;

#define RR_NUMBER_EXPONENT_MAX INT64_C(1000000000000000)

/* False: the text is not, all of it, one number of JSON's grammar. */
bool rr_number_scan(rr_slice text, rr_number_parts *parts);

/* Plain numbers only ("-0" is 0). False: not one, or out of range. */
bool rr_number_i64(rr_slice text, int64_t *number);
bool rr_number_u64(rr_slice text, uint64_t *number);

/* The nearest double, ties to even, of a text of any length. False: not a number, or it would be infinite. */
bool rr_number_double(rr_slice text, double *number);

/* The shortest text that reads back the same, as ECMAScript prints it, but "-0" for -0. The number is finite.
 * text: RR_DOUBLE_TEXT_MAX bytes. Returns the length. */
enum { RR_DOUBLE_TEXT_MAX = 32 };
size_t rr_double_print(double number, char *text);

/* Decimal digits. text: 21 bytes. Returns the length. */
size_t rr_u64_print(uint64_t number, char *text);
size_t rr_i64_print(int64_t number, char *text);

#endif
