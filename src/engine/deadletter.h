/* Dead letters: the original payload, with headers of our own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DEADLETTER_H
#define RR_DEADLETTER_H

#include <rr/source.h>

#include "batch.h"

enum { RR_DEAD_LETTER_PAYLOAD_MAX = 512 * 1024 }; /* what is longer is cut, and says so */

/* Fills the publication; everything in the arena but the payload, which is the delivery's. Its subject is
 * `<prefix>.<contract>.<stream>.<sequence>`, so each record has one at most. Headers that the payload came with are
 * not copied: those that begin with Nats- would roll up, deduplicate or reject. False: memory ran out. */
bool rr_dead_letter_write(rr_publication *letter, const char *prefix, const rr_item *item, const rr_delivery *delivery,
                          rr_buf *text, rr_arena *arena);

#endif
