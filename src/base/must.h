/* RR_MUST: an assertion that stays on in release builds.
 *
 * It guards against faults of this program, never against input, servers or
 * files. The program prints the condition and aborts. What it had not
 * acknowledged is delivered again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MUST_H
#define RR_MUST_H

#define RR_MUST(condition) \
    (__builtin_expect(!!(condition), 1) ? (void)0 : rr_must_failed(#condition, __FILE__, __LINE__))

_Noreturn void rr_must_failed(const char *condition, const char *file, int line);

#endif
