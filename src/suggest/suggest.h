/* rr_suggest: a configuration to start from, written from a sample of messages.
 *
 * Each choice carries a comment with the counts that it rests on. What the
 * sample cannot show is a line with the word TODO. Where a value is needed, the
 * TODO has a form that `reconciler check` refuses; elsewhere it is a comment. No
 * text of a message reaches the output unescaped.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SUGGEST_H
#define RR_SUGGEST_H

#include "buf.h"
#include "sample.h"

/* Where the messages come from. NULL: not known, the output has a TODO there. */
typedef struct rr_suggest_origin {
    const char *url, *stream;
    const char *filter;                   /* NULL: all subjects */
    const char *descriptor_set, *message; /* NULL: JSON */
} rr_suggest_origin;

/* Appends the configuration. The sample has at least one message (asserted). False: memory ran out. */
bool rr_suggest_write(const rr_sample *sample, const rr_suggest_origin *origin, rr_buf *out);

#endif
