/* A ring of entries in the order of their sequences. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_log.h"

#include <stdlib.h>

#include "must.h"

struct rr_log {
    rr_log_item *ring;
    size_t first, count, room, most;
    size_t settled; /* the first `settled` entries are done and not looked at again */
    uint64_t next;  /* the next sequence */
};

rr_log *rr_log_new(size_t most)
{
    rr_log *log = calloc(1, sizeof *log);

    if (log != NULL) {
        log->most = most;
        log->next = 1;
    }
    return log;
}

static rr_log_item *item_at(const rr_log *log, size_t index)
{
    RR_MUST(log->room != 0);
    return &log->ring[(log->first + index) % log->room];
}

void rr_log_free(rr_log *log)
{
    if (log == NULL) {
        return;
    }
    for (size_t i = 0; i < log->count; i++) {
        free(item_at(log, i)->bytes);
    }
    free(log->ring);
    free(log);
}

bool rr_log_reserve(rr_log *log, size_t count)
{
    size_t room = log->room == 0 ? 16 : log->room;
    rr_log_item *ring;

    while (room - log->count < count) {
        room *= 2;
    }
    if (room == log->room) {
        return true;
    }
    ring = malloc(room * sizeof *ring);
    if (ring == NULL) {
        return false;
    }
    for (size_t i = 0; i < log->count; i++) {
        ring[i] = *item_at(log, i);
    }
    free(log->ring);
    log->ring = ring;
    log->room = room;
    log->first = 0;
    return true;
}

char *rr_log_copy(rr_slice bytes)
{
    char *copy = malloc(bytes.len + 1);

    if (copy != NULL && bytes.len != 0) {
        memcpy(copy, bytes.data, bytes.len);
    }
    return copy;
}

static void drop_oldest(rr_log *log)
{
    free(item_at(log, 0)->bytes);
    log->first = (log->first + 1) % log->room;
    log->count--;
    log->settled -= log->settled != 0;
}

void rr_log_push(rr_log *log, char *bytes, size_t len)
{
    log->count++;
    *item_at(log, log->count - 1) = (rr_log_item){.sequence = log->next++, .len = len, .bytes = bytes};
    if (log->count > log->most) {
        drop_oldest(log);
    }
}

rr_log_item *rr_log_due(rr_log *log, size_t *at, int64_t now_ms, int idle_ms)
{
    size_t i = *at < log->settled ? log->settled : *at;

    for (; i < log->count; i++) {
        rr_log_item *item = item_at(log, i);
        if (!item->done && (item->handed_at_ms == 0 || now_ms - item->handed_at_ms >= idle_ms)) {
            *at = i + 1;
            return item;
        }
    }
    *at = i;
    return NULL;
}

void rr_log_done(rr_log *log, uint64_t sequence)
{
    uint64_t oldest = log->next - log->count;

    if (sequence >= oldest && sequence < log->next) {
        item_at(log, (size_t)(sequence - oldest))->done = true;
    }
    while (log->settled < log->count && item_at(log, log->settled)->done) {
        log->settled++;
    }
}
