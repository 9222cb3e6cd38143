/* rr_replies: hiredis' replies in an arena instead of one piece of the heap each. A reply lives until the next one is
 * read; nobody frees it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_REDIS_REPLY_H
#define RR_STORE_REDIS_REPLY_H

#include <hiredis/hiredis.h>
#include <rr/arena.h>

/* Makes a reader, which has read nothing yet, put its replies into the arena. */
void rr_replies_into(redisReader *reader, rr_arena *arena);

/* Before the next reply is read: frees the last one, and memory that only a rare reply needs. */
void rr_replies_next(rr_arena *arena);

#endif
