/* Reads of parts as calls of the `parts` function; redis_library.lua describes its arguments and answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_parts.h"

#include "redis_call.h"
#include "redis_resp.h"

enum { ALL_PATIENCE = 10 }; /* a cell may have two million parts */

typedef struct reading {
    rr_store *store;
    rr_parts_read *reads;
    size_t count;
    rr_arena *arena;
} reading;

/* Without a whole token there is no birth, and so no key of parts. */
static bool is_asked(const rr_parts_read *read)
{
    return read->token.len == RR_TOKEN_LEN;
}

static void put_reads(reading *run, size_t first, size_t count, size_t units, size_t args)
{
    rr_buf *out = &run->store->link.out;
    const rr_parts_read *begin = run->reads + first, *end = begin + count;

    rr_call_head(out, run->store->link.functions.parts, 2 * units, args);
    for (const rr_parts_read *r = begin; r < end; r++) {
        if (is_asked(r)) {
            rr_resp_bytes(out, r->key);
        }
    }
    for (const rr_parts_read *r = begin; r < end; r++) {
        if (is_asked(r)) {
            rr_call_parts_key(out, r->key, r->token);
        }
    }
    rr_resp_u64(out, units);
    for (const rr_parts_read *r = begin; r < end; r++) {
        if (!is_asked(r)) {
            continue;
        }
        rr_resp_bytes(out, r->token);
        if (r->all) {
            rr_resp_text(out, "all");
            continue;
        }
        rr_resp_u64(out, r->id_count);
        for (size_t i = 0; i < r->id_count; i++) {
            rr_resp_bytes(out, r->ids[i]);
        }
    }
}

static size_t put_call(void *context, size_t first)
{
    reading *run = context;
    size_t i = first, units = 0, args = 1, bytes = 0;

    for (; i < run->count && units < RR_CALL_UNITS && bytes < RR_CALL_BYTES; i++) {
        const rr_parts_read *read = &run->reads[i];
        size_t names = read->all ? 0 : read->id_count;

        if (!is_asked(read)) {
            continue;
        }
        units++;
        args += 2 + names;
        bytes += 2 * read->key.len + 64 * names;
    }
    if (units != 0) {
        put_reads(run, first, i - first, units, args);
    }
    return i - first;
}

static bool take_found(rr_parts_read *read, const redisReply *reply, rr_arena *arena)
{
    read->found = rr_arena_zero(arena, (read->id_count + 1) * sizeof *read->found);
    if (read->found == NULL) {
        return false;
    }
    for (size_t i = 0; i < read->id_count && i < reply->elements; i++) {
        if (!rr_keep(arena, rr_reply_bytes(reply->element[i]), &read->found[i])) {
            return false;
        }
    }
    return true;
}

static bool take_all(rr_parts_read *read, const redisReply *reply, rr_arena *arena)
{
    size_t count = reply->elements / 2;

    read->parts = rr_arena_take(arena, (count + 1) * sizeof *read->parts);
    if (read->parts == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!rr_keep(arena, rr_reply_bytes(reply->element[2 * i]), &read->parts[i].name) ||
            !rr_keep(arena, rr_reply_bytes(reply->element[2 * i + 1]), &read->parts[i].bytes)) {
            return false;
        }
    }
    read->part_count = count;
    return true;
}

/* False: memory ran out. */
static bool take_read(rr_parts_read *read, const redisReply *reply, rr_arena *arena)
{
    rr_slice why;

    if (reply->type == REDIS_REPLY_INTEGER) {
        read->changed = true;
        return true;
    }
    if (reply->type == REDIS_REPLY_ARRAY) {
        return read->all ? take_all(read, reply, arena) : take_found(read, reply, arena);
    }
    why = rr_reply_bytes(reply);
    rr_fail(&read->error, RR_REFUSED_BY_SERVER, "%.*s", (int)why.len, why.data == NULL ? "" : why.data);
    return true;
}

static rr_status take_call(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    reading *run = context;
    size_t unit = 0;

    for (size_t i = flight->first; i < flight->first + flight->count; i++) {
        if (!is_asked(&run->reads[i])) {
            continue;
        }
        if (reply->type != REDIS_REPLY_ARRAY || unit >= reply->elements) {
            return rr_link_odd(&run->store->link, "a read of parts", error);
        }
        if (rr_reply_bytes(reply->element[unit]).len != 0 && rr_link_is_refusal(reply->element[unit]->str)) {
            return rr_link_fail(&run->store->link, RR_REFUSED_BY_SERVER, error, "%s", reply->element[unit]->str);
        }
        if (!take_read(&run->reads[i], reply->element[unit++], run->arena)) {
            return rr_fail(error, RR_MEMORY, "parts: memory ran out, or the batch's limit was reached");
        }
    }
    return RR_OK;
}

rr_status rr_redis_read_parts(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena, rr_error *error)
{
    reading run = {store, reads, count, arena};
    rr_status status;

    for (size_t i = 0; i < count; i++) {
        store->link.patience = reads[i].all ? ALL_PATIENCE : store->link.patience;
        rr_error_clear(&reads[i].error);
        reads[i].changed = !is_asked(&reads[i]);
        reads[i].found = NULL;
        reads[i].parts = NULL;
        reads[i].part_count = 0;
    }
    status = rr_calls_ask(store, count, put_call, take_call, &run, error);
    store->link.patience = 0;
    return status;
}
