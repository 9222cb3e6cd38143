/* rr_intake: deliveries that are decoded and admitted, and wait for the batch that decides them.
 *
 *   init     makes room for a fixed number of deliveries
 *   add      decode and admit one delivery; drop_last where it is not to be decided
 *   decide   the caller hands items[0 .. count) to rr_batch_begin, when the intake is full or the input ends
 *   reset    empty again; the memory stays for the next deliveries
 *
 * After warm-up adding allocates nothing. One thread at a time; another thread may decide what was added.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_INTAKE_H
#define RR_INTAKE_H

#include "batch.h"
#include "bindings.h"

/* The fields are for reading. */
typedef struct rr_intake {
    rr_arena arena;     /* holds the records' bytes; the caller may put more into it that lives until the reset */
    rr_item *items;     /* items[0 .. count) are to be decided; items[k].record lies in `records` */
    rr_record *records; /* as many as items */
    size_t room;        /* deliveries that fit */
    size_t count;
    size_t dropped; /* deliveries that were added and dropped: their bytes are in the arena too */
} rr_intake;

/* False: memory ran out; the intake may be given to rr_intake_fini all the same. room: at least 1. */
bool rr_intake_init(rr_intake *intake, size_t room);
void rr_intake_fini(rr_intake *intake);

/* Makes room for at least so many deliveries. The intake must be empty. False: memory ran out. */
bool rr_intake_reserve(rr_intake *intake, size_t room);

/* Adds one delivery and returns its item, which is refused already if the record cannot be joined. The intake must not
 * be full. The delivery is not read after the call.
 * now_us: the wall clock, to refuse records whose cell may have expired; INT64_MIN: such records are admitted.
 * NULL: memory ran out, and nothing was added. */
rr_item *rr_intake_add(rr_intake *intake, const rr_bound_source *source, const rr_delivery *delivery, int64_t now_us);

/* The same where the caller has found the contract. contract NULL: the item is refused as unrouted.
 * `stream` must outlive the item. */
rr_item *rr_intake_add_routed(rr_intake *intake, const rr_contract *contract, rr_slice stream,
                              const rr_delivery *delivery, int64_t now_us);

/* Takes the delivery that was added last off the items, so that no batch decides it. Its item and its record can be
 * read until the next call of rr_intake_add. */
void rr_intake_drop_last(rr_intake *intake);

/* Decide and reset before the next delivery. A dropped delivery fills the intake too, since its bytes take memory. */
static inline bool rr_intake_is_full(const rr_intake *intake)
{
    return intake->count + intake->dropped >= intake->room;
}

/* Forgets all items and the arena's content. No batch may be deciding them. */
void rr_intake_reset(rr_intake *intake);

/* The clock for a record that is read again from its stream. A session that may have expired can lie in a larger one
 * that has not, whose value needs the record: such records are admitted (INT64_MIN). contract NULL: now_us. */
int64_t rr_intake_replay_clock(const rr_contract *contract, int64_t now_us);

#endif
