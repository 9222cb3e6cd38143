/* Waiting for replicas. WAIT covers only what its own connection has written. So a write goes before it: then it covers
 * everything that the server held by then, also values that another process wrote and this one has only read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_confirm.h"

#include <stdio.h>

#include "redis_resp.h"

enum { PATIENCE = 2 }; /* WAIT itself may take the whole time-out before it answers with the number of replicas */

bool rr_redis_confirm_init(rr_store *store, const rr_store_options *options)
{
    const char *prefix = options->prefix == NULL ? "rr" : options->prefix;
    rr_buf key = {0};
    bool good;

    store->wait_replicas = options->wait_replicas;
    rr_buf_format(&key, "%s:wait", prefix);
    rr_resp_command(&store->confirm, 3);
    rr_resp_text(&store->confirm, "SET");
    rr_resp_bytes(&store->confirm, rr_buf_view(&key));
    rr_resp_text(&store->confirm, "1");
    store->confirm_write = store->confirm.len;
    rr_resp_command(&store->confirm, 3);
    rr_resp_text(&store->confirm, "WAIT");
    rr_resp_u64(&store->confirm, store->wait_replicas);
    rr_resp_u64(&store->confirm, (uint64_t)store->link.timeout_ms);
    good = rr_buf_ok(&key) && rr_buf_ok(&store->confirm);
    rr_buf_fini(&key);
    return good;
}

static rr_status take_confirmed(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    rr_store *store = context;

    if (flight->from == 0) {
        return RR_OK;
    }
    if (reply->type != REDIS_REPLY_INTEGER) {
        return rr_link_odd(&store->link, "WAIT", error);
    }
    if (reply->integer < 0 || (size_t)reply->integer < store->wait_replicas) {
        return rr_link_fail(&store->link, RR_UNAVAILABLE, error,
                            "only %lld of %zu replicas have confirmed within %d ms", reply->integer,
                            store->wait_replicas, store->link.timeout_ms);
    }
    return RR_OK;
}

rr_status rr_redis_confirm(rr_store *store, rr_error *error)
{
    rr_flight flights[] = {
        {.from = 0, .len = store->confirm_write, .count = 1},
        {.from = store->confirm_write, .len = store->confirm.len - store->confirm_write, .count = 1}};
    rr_status status;

    if (store->wait_replicas == 0) {
        return RR_OK;
    }
    store->link.patience = PATIENCE;
    status = rr_link_begin(&store->link, error);
    store->link.patience = 0;
    if (status != RR_OK) {
        return status;
    }
    rr_buf_slice(&store->link.out, rr_buf_view(&store->confirm));
    return rr_link_ask(&store->link, flights, 2, take_confirmed, store, error);
}
