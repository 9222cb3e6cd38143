/* rr_intake: deliveries that are decoded and admitted, and wait for the batch that decides them.
 *
 *   init     makes room for a fixed number of deliveries
 *   add      decodes one delivery and admits its records: one item each
 *   decide   the caller hands items[0 .. count) to rr_batch_begin, when the intake is full or the input ends
 *   reset    empty again; the memory stays for the next deliveries
 *
 * A delivery of our own form is one record; a mapped one becomes up to
 * RR_MAPPING_RECORDS_MAX of them, or none where a rule of the mapping skips it.
 * After warm-up adding allocates nothing. One thread at a time; another thread may decide what was added.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_INTAKE_H
#define RR_INTAKE_H

#include "bindings.h"
#include "item.h"

/* The fields are for reading. */
typedef struct rr_intake {
    rr_arena arena;   /* holds the records' bytes; the caller may put more into it that lives until the reset */
    rr_arena scratch; /* of one decoding by a mapping */
    rr_item *items;   /* items[0 .. count) are to be decided; in the order of the deliveries */
    size_t count, item_room;
    rr_record *records; /* of deliveries of our own form; those of mapped ones lie in the arena */
    size_t room;        /* deliveries that fit */
    size_t deliveries;  /* that were added */
    size_t skipped;     /* records and whole messages that a mapping's rules skipped: they have no item */

    /* NULL, or hears of each record of a delivery, in their order, before it is admitted. record NULL: none was
     * decoded; then `rule` says which rule skipped it, and is empty where the record is malformed or too large. */
    void (*observe)(void *observer, const rr_record *record, rr_slice rule);
    void *observer;
} rr_intake;

/* False: memory ran out; the intake may be given to rr_intake_fini all the same. room: at least 1. */
bool rr_intake_init(rr_intake *intake, size_t room);
void rr_intake_fini(rr_intake *intake);

/* Makes room for at least so many deliveries. The intake must be empty. False: memory ran out. */
bool rr_intake_reserve(rr_intake *intake, size_t room);

/* Adds one delivery: its items are items[count before .. count after), each refused already if its record cannot be
 * joined. There is room for it: fewer than `room` were added. The delivery is not read after the call.
 * now_us: the wall clock, to refuse records whose cell may have expired; INT64_MIN: such records are admitted.
 * False: memory ran out, and nothing was added. */
bool rr_intake_add(rr_intake *intake, const rr_bound_source *source, const rr_delivery *delivery, int64_t now_us);

/* The same where the caller has found the route. route.contract NULL: the item is refused as unrouted.
 * `stream` must outlive the items. */
bool rr_intake_add_routed(rr_intake *intake, rr_bound_route route, rr_slice stream, const rr_delivery *delivery,
                          int64_t now_us);

/* Removes the refused ones of items[from .. count), so that no batch decides them. `refused`, which may be NULL, sees
 * each of them first. */
void rr_intake_drop_refused(rr_intake *intake, size_t from, void (*refused)(void *context, const rr_item *item),
                            void *context);

/* Decide and reset before the next delivery. */
static inline bool rr_intake_is_full(const rr_intake *intake)
{
    return intake->deliveries >= intake->room || intake->count >= intake->room;
}

/* Forgets all items and the arena's content. No batch may be deciding them. */
void rr_intake_reset(rr_intake *intake);

/* The clock for a record that is read again from its stream: INT64_MIN under a session contract, else now_us. A
 * session that may have expired can lie in a larger one that has not, whose value needs the record; so such records
 * are admitted. contract NULL: now_us. */
int64_t rr_intake_replay_clock(const rr_contract *contract, int64_t now_us);

#endif
