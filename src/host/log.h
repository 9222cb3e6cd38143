/* rr_log: a line a message on standard error: time, level, text.
 *
 * Thread-safe: a line is one write. A line is printable text (printable.h), so
 * what comes from outside can neither forge a line nor steer a terminal.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_LOG_H
#define RR_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "log_level.h"

enum { RR_LOG_LINE_MAX = 2048 }; /* bytes of a line; what is longer is cut and ends with "..." */

/* Messages above the level are dropped. At first: info. */
void rr_log_set_level(rr_log_level level);
rr_log_level rr_log_get_level(void);
const char *rr_log_level_word(rr_log_level level);

/* Where lines go; -1: standard error. For tests. */
void rr_log_set_fd(int fd);

void rr_log(rr_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For what can come thousands of times a second: at most one line every interval_ms; the next line that goes out
 * says how many were held back. One static limit a place in the code, all zero but for interval_ms. */
typedef struct rr_log_limit {
    int interval_ms; /* 0: 10000 */
    _Atomic int64_t next_ms;
    _Atomic uint64_t held;
} rr_log_limit;

void rr_log_limited(rr_log_limit *limit, rr_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
