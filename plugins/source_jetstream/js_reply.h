/* rr_reply: what the reply subject of a delivery says about it.
 *
 *   $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>
 *   $JS.ACK.<domain>.<account>.<stream>.<consumer>.<the same five>[.<token>...]
 *
 * The numbers are all that is needed to write such a subject again, so an
 * acknowledgement can be sent after its message was freed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_REPLY_H
#define RR_JS_REPLY_H

#include <rr/slice.h>

enum { RR_REPLY_HEAD_MAX = 640, RR_REPLY_MAX = RR_REPLY_HEAD_MAX + 112 };

typedef struct rr_reply {
    uint64_t delivered;        /* how often; 1: the first time */
    uint64_t stream, consumer; /* sequences */
    uint64_t stored_ns;        /* since the epoch */
    uint64_t pending;          /* messages of the consumer that are still to be delivered */
} rr_reply;

/* False: not such a subject, or a NUL is in it. head (may be NULL) is what stands before the first number, with its
 * point. */
bool rr_reply_parse(rr_slice subject, rr_reply *reply, rr_slice *head);

/* text: RR_REPLY_MAX bytes; head: at most RR_REPLY_HEAD_MAX. Returns the length. */
size_t rr_reply_print(rr_slice head, const rr_reply *reply, char *text);

#endif
