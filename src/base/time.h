/* Times as microseconds since the epoch, UTC; no clock is read here. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TIME_H
#define RR_TIME_H

#include <rr/slice.h>

#define RR_SECOND_US INT64_C(1000000)

enum { RR_TIME_TEXT_MAX = 40 };

/* RFC 3339 with at most six fraction digits and any offset. False: not one (also a 60th second, a day that is not). */
bool rr_time_parse(rr_slice text, int64_t *time_us);

/* RFC 3339, UTC, without trailing zeros in the fraction. Returns the length. Any int64 prints (years may have more
 * than four digits or a sign; those do not parse again). text: RR_TIME_TEXT_MAX bytes. */
size_t rr_time_print(int64_t time_us, char *text);

/* "90s", "1m", "1h30m", "7d", "250ms", "10us", with a sign if may_be_negative; units d h m s ms us, each at most once,
 * in falling order. False: not one, or out of range. */
bool rr_duration_parse(rr_slice text, bool may_be_negative, int64_t *us);

/* The shortest such text. Returns the length. text: RR_TIME_TEXT_MAX bytes. */
size_t rr_duration_print(int64_t us, char *text);

/* Saturating addition: a + b, or the end of int64 that it would pass. */
static inline int64_t rr_add_held(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

#endif
