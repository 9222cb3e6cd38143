/* rr_text: a sentence for a person in fixed memory. What does not fit is cut off. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEXT_H
#define RR_TEXT_H

#include <rr/slice.h>

enum { RR_TEXT_MAX = 400 };

typedef struct rr_text {
    char bytes[RR_TEXT_MAX]; /* not ended by NUL */
    size_t len;
} rr_text;

/* Each does nothing where text is NULL. */
void rr_text_put(rr_text *text, const char *more);
void rr_text_slice(rr_text *text, rr_slice more); /* cut after 64 bytes */
void rr_text_i64(rr_text *text, int64_t number);
void rr_text_u64(rr_text *text, uint64_t number);
void rr_text_time(rr_text *text, int64_t time_us);
void rr_text_duration(rr_text *text, int64_t us);

#endif
