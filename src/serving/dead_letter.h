/* Dead letters: the original payload, with headers of our own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DEAD_LETTER_H
#define RR_DEAD_LETTER_H

#include <rr/source.h>

#include "batch.h"

enum { RR_DEAD_LETTER_PAYLOAD_MAX = 512 * 1024 }; /* what is longer is cut, and says so */

#define RR_DEAD_LETTER_ORIGINAL "Rr-Original-" /* in front of the name of an original header */

/* What follows the prefix in the subject of some dead letter: to ask who would keep it. */
#define RR_DEAD_LETTER_EXAMPLE ".contract.mark.stream.1"

/* Fills the publication of one delivery; everything in the arena but the payload, which is the delivery's.
 *
 * items   the records of the message, of which at least one is refused or too late: the first such one gives reason and
 *         text, and of a message of several records `Rr-Refused` tells which they are ("2 of 12: 3, 7", counted from 1)
 *
 * Its subject is `<prefix>.<contract>.<mark>.<stream>.<sequence>`, so each message has one at most, and no other has the
 * same, not even one of a stream made anew under the same name. The mark is the time at which the queue stored the message,
 * in microseconds since the epoch, `-`, and 16 hex digits of a digest of the payload. Of the headers that the message
 * came with, those that the delivery carries are copied as `Rr-Original-<name>`, their values cut to 4096 bytes, control
 * characters as spaces. Under their own names those that begin with Nats- would roll up, deduplicate or reject.
 *
 * False: memory ran out. */
bool rr_dead_letter_write(rr_publication *letter, const char *prefix, const rr_item *items, size_t count,
                          const rr_delivery *delivery, rr_buf *text, rr_arena *arena);

#endif
