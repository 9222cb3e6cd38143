/* The list of known deliveries under `ack: all`, sorted by stream sequence. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_acks.h"

#include <stdlib.h>

void rr_acks_fini(rr_acks *acks)
{
    free(acks->entries);
    *acks = (rr_acks){0};
}

void rr_acks_reset(rr_acks *acks, uint64_t next_consumer)
{
    acks->head = acks->tail = 0;
    acks->next_consumer = next_consumer;
    acks->debt = acks->debt_to = 0;
    acks->is_reordered = false;
}

void rr_acks_owe(rr_acks *acks, uint64_t debt, uint64_t debt_to)
{
    acks->debt = debt;
    acks->debt_to = debt_to;
}

/* The first index whose stream sequence is not below `stream`. */
static size_t find(const rr_acks *acks, uint64_t stream)
{
    size_t low = acks->head, high = acks->tail;

    if (low < high && acks->entries[high - 1].reply.stream < stream) {
        return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (acks->entries[middle].reply.stream < stream) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const rr_acks *acks, size_t at, uint64_t stream)
{
    return at < acks->tail && acks->entries[at].reply.stream == stream;
}

bool rr_acks_know(const rr_acks *acks, uint64_t stream)
{
    return is_at(acks, find(acks, stream), stream);
}

size_t rr_acks_count(const rr_acks *acks, uint64_t to)
{
    return find(acks, to) - acks->head + (rr_acks_know(acks, to) ? 1 : 0);
}

/* Makes room for one at the end; may move the list to the front. */
static bool make_room(rr_acks *acks)
{
    size_t used = acks->tail - acks->head;

    if (acks->tail < acks->room) {
        return true;
    }
    if (used * 2 > acks->room || acks->room == 0) {
        size_t room = acks->room == 0 ? 1024 : acks->room * 2;
        rr_ack_entry *grown = realloc(acks->entries, room * sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        acks->entries = grown;
        acks->room = room;
    }
    if (used > 0) {
        memmove(acks->entries, acks->entries + acks->head, used * sizeof *acks->entries);
    }
    acks->head = 0;
    acks->tail = used;
    return true;
}

static bool insert(rr_acks *acks, const rr_reply *reply)
{
    size_t at;

    if (!make_room(acks)) {
        return false;
    }
    at = find(acks, reply->stream);
    if (at < acks->tail) {
        acks->is_reordered = true;
        memmove(acks->entries + at + 1, acks->entries + at, (acks->tail - at) * sizeof *acks->entries);
    }
    acks->entries[at] = (rr_ack_entry){.reply = *reply};
    acks->tail++;
    return true;
}

rr_acks_answer rr_acks_take(rr_acks *acks, const rr_reply *reply)
{
    size_t at = find(acks, reply->stream);

    if (acks->next_consumer != 0 && reply->consumer != acks->next_consumer) {
        return reply->consumer > acks->next_consumer ? RR_ACKS_GAP : RR_ACKS_BACK;
    }
    if (is_at(acks, at, reply->stream)) {
        /* Delivered again. If it was done before, it stays done: the effect is stored, whichever delivery it came
         * from. */
        acks->entries[at].reply = *reply;
        acks->is_reordered = acks->is_reordered || at + 1 < acks->tail;
    } else if (!insert(acks, reply)) {
        return RR_ACKS_NO_MEMORY;
    } else if (acks->debt > 0 && reply->stream <= acks->debt_to) {
        acks->debt--;
    }
    acks->next_consumer = reply->consumer + 1;
    return RR_ACKS_TAKEN;
}

void rr_acks_floor(rr_acks *acks, uint64_t floor)
{
    while (acks->head < acks->tail && acks->entries[acks->head].reply.stream <= floor) {
        acks->head++;
    }
}

void rr_acks_done(rr_acks *acks, uint64_t stream)
{
    size_t at = find(acks, stream);

    if (is_at(acks, at, stream)) {
        acks->entries[at].done = true;
    }
}

/* The end of the part that may be acknowledged now, given that all before `end` is done. The server also moves its
 * floor to the consumer sequence of an acknowledgement, and ignores any later acknowledgement at or below it. So
 * this is an index behind which every entry was delivered later than the acknowledged one. */
static size_t stop_before(const rr_acks *acks, size_t end)
{
    uint64_t least = UINT64_MAX;

    if (!acks->is_reordered) {
        return end;
    }
    for (size_t i = acks->tail; i > acks->head; i--) {
        if (i <= end && acks->entries[i - 1].reply.consumer < least) {
            return i;
        }
        if (acks->entries[i - 1].reply.consumer < least) {
            least = acks->entries[i - 1].reply.consumer;
        }
    }
    return acks->head;
}

bool rr_acks_due(rr_acks *acks, rr_reply *reply)
{
    size_t end = acks->head;

    if (acks->debt > 0) {
        return false;
    }
    while (end < acks->tail && acks->entries[end].done) {
        end++;
    }
    end = stop_before(acks, end);
    if (end == acks->head) {
        return false;
    }
    *reply = acks->entries[end - 1].reply;
    acks->head = end;
    if (acks->head == acks->tail) {
        acks->head = acks->tail = 0;
        acks->is_reordered = false;
    }
    return true;
}
