/* The calls of an op, in rounds. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_call.h"

#include "redis_load.h"
#include "redis_resp.h"

void rr_call_head(rr_buf *out, const char *function, size_t keys, size_t args)
{
    rr_resp_command(out, 3 + keys + args);
    rr_resp_text(out, "FCALL");
    rr_resp_text(out, function);
    rr_resp_u64(out, keys);
}

void rr_call_parts_key(rr_buf *out, rr_slice key, rr_slice token)
{
    static const char infix[] = ":parts:";

    rr_resp_head(out, '$', key.len + sizeof infix - 1 + RR_BIRTH_LEN, 0);
    rr_buf_slice(out, key);
    rr_buf_put(out, infix, sizeof infix - 1);
    rr_buf_put(out, token.data, RR_BIRTH_LEN);
    rr_buf_put(out, "\r\n", 2);
}

/* Adds calls to the round until they cover `count` items, or it is full. */
static void fill_round(rr_store *store, rr_calls *calls, size_t count)
{
    rr_buf *out = &store->link.out;

    while (calls->first < count && calls->flights < RR_ROUND_FLIGHTS && out->len < RR_ROUND_BYTES && rr_buf_ok(out)) {
        rr_flight flight = {.from = out->len, .first = calls->first};

        store->next_takes_wrong_type = false;
        flight.count = calls->put(calls->context, calls->first);
        flight.takes_wrong_type = store->next_takes_wrong_type;
        flight.len = out->len - flight.from;
        calls->first += flight.count;
        if (flight.len != 0) {
            store->flights[calls->flights++] = flight;
        }
    }
}

rr_status rr_calls_go_on(rr_store *store, rr_error *error)
{
    if (store->link.owed) {
        rr_link_go_on(&store->link);
        return RR_OK;
    }
    return rr_redis_begin_trip(store, error);
}

rr_status rr_calls_finish(rr_store *store, rr_calls *calls, rr_error *error)
{
    rr_status status = RR_OK;
    size_t ready;

    while (status == RR_OK && store->link.owed && store->loading.ready < store->loading.count) {
        status = rr_redis_load_next(store, &ready, error);
    }
    if (status != RR_OK) {
        return status;
    }
    status = rr_link_ask(&store->link, store->flights, calls->flights, calls->take, calls->context, error);
    rr_buf_clear(&store->link.out);
    store->link.sent = 0;
    calls->flights = 0;
    return status;
}

rr_status rr_calls_write(rr_store *store, rr_calls *calls, size_t count, rr_error *error)
{
    rr_status status = RR_OK;

    while (status == RR_OK && calls->first < count) {
        fill_round(store, calls, count);
        if (calls->first < count) {
            status = rr_calls_finish(store, calls, error);
        }
    }
    return status;
}

rr_status rr_calls_ask(rr_store *store, size_t count, rr_call_put *put, rr_flight_take *take, void *context,
                       rr_error *error)
{
    rr_calls calls = {.put = put, .take = take, .context = context};
    rr_status status = count == 0 ? RR_OK : rr_link_begin(&store->link, error);

    status = status == RR_OK ? rr_calls_write(store, &calls, count, error) : status;
    return status == RR_OK && count != 0 ? rr_calls_finish(store, &calls, error) : status;
}
