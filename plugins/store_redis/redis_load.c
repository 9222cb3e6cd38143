/* Loads as MGET commands, and loads that were sent ahead of the calls that follow them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_load.h"

#include "redis_resp.h"

/* How many of the loads from `first` on are asked by one call. */
static size_t keys_of_call(const rr_loading *loading, size_t first)
{
    size_t count = 0, bytes = 0;

    while (first + count < loading->count && count < RR_CALL_KEYS && bytes < RR_CALL_BYTES) {
        bytes += loading->loads[first + count++].key.len;
    }
    return count;
}

size_t rr_redis_put_loads(void *context, size_t first)
{
    rr_loading *loading = context;
    rr_buf *out = &loading->store->link.out;
    size_t count = keys_of_call(loading, first);

    rr_resp_command(out, 1 + count);
    rr_resp_text(out, "MGET");
    for (size_t i = first; i < first + count; i++) {
        rr_resp_bytes(out, loading->loads[i].key);
    }
    return count;
}

rr_status rr_redis_take_loads(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    rr_loading *loading = context;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != flight->count) {
        return rr_link_odd(&loading->store->link, "MGET", error);
    }
    for (size_t i = 0; i < flight->count; i++) {
        if (!rr_keep(loading->arena, rr_reply_bytes(reply->element[i]), &loading->loads[flight->first + i].value)) {
            return rr_store_no_memory(error);
        }
    }
    return RR_OK;
}

rr_loading rr_redis_begin_loads(rr_store *store, rr_load *loads, size_t count, rr_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        rr_error_clear(&loads[i].error);
        loads[i].value = (rr_slice){NULL, 0};
    }
    return (rr_loading){.store = store, .loads = loads, .count = count, .arena = arena};
}

rr_status rr_redis_begin_trip(rr_store *store, rr_error *error)
{
    rr_status status = rr_link_begin(&store->link, error);

    store->link.owed = status == RR_OK;
    store->loading = (rr_loading){.store = store};
    store->swapping.count = 0;
    return status;
}

rr_status rr_redis_load_ahead(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = rr_redis_begin_trip(store, error);

    store->link.owed = store->link.owed && count != 0;
    store->loading = rr_redis_begin_loads(store, loads, count, arena);
    for (size_t first = 0; status == RR_OK && first < count;) {
        first += rr_redis_put_loads(&store->loading, first);
    }
    status = status == RR_OK ? rr_link_send(&store->link, error) : status;
    rr_buf_clear(&store->link.out);
    store->link.sent = 0;
    return status;
}

rr_status rr_redis_load_next(rr_store *store, size_t *ready, rr_error *error)
{
    rr_loading *loading = &store->loading;
    rr_flight flight = {.first = loading->ready, .count = keys_of_call(loading, loading->ready)};
    rr_status status =
        flight.count == 0 ? RR_OK : rr_link_take(&store->link, &flight, rr_redis_take_loads, loading, error);

    loading->ready += status == RR_OK ? flight.count : 0;
    *ready = loading->ready;
    if (loading->ready == loading->count && store->swapping.count == 0) {
        store->link.owed = false;
    }
    return status;
}
