/* Swaps as calls of the `swap` function: redis_library.lua says what stands where. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_internal.h"

#include <stdio.h>

typedef struct swapping {
    rr_store *store;
    rr_swap *swaps;
    size_t count;
    rr_arena *arena;
} swapping;

/* What one call holds so far. */
typedef struct load_of_call {
    size_t units, keys, args, bytes;
} load_of_call;

/* The parts' key is named where parts are written, or may be there and live as long as the value. */
static bool has_beside(const rr_swap *swap)
{
    return swap->part_count != 0 || (swap->value.len != 0 && swap->token.len != 0 && !swap->partless);
}

/* A value alone, which is nearly every swap. */
static bool is_plain(const rr_swap *swap)
{
    return swap->key.len != 0 && swap->value.len != 0 && swap->side_count == 0 && swap->entry_count == 0 &&
           swap->open == RR_OPEN_UNCHANGED && !has_beside(swap);
}

static size_t open_words(const rr_swap *swap)
{
    return swap->open == RR_OPEN_ADD ? 2 : swap->open == RR_OPEN_REMOVE ? 1 : 0;
}

static void weigh_rest(const rr_swap *swap, load_of_call *call)
{
    call->keys += (size_t)has_beside(swap) + swap->side_count + (swap->open != RR_OPEN_UNCHANGED) +
                  (swap->entry_count != 0);
    call->args += 2 * swap->part_count + 2 * swap->side_count + open_words(swap) + swap->entry_count;
    for (size_t i = 0; i < swap->part_count; i++) {
        call->bytes += swap->parts[i].name.len + swap->parts[i].bytes.len;
    }
    for (size_t i = 0; i < swap->side_count; i++) {
        call->bytes += swap->sides[i].key.len + swap->sides[i].value.len;
    }
    for (size_t i = 0; i < swap->entry_count; i++) {
        call->bytes += swap->entries[i].len;
    }
}

static void weigh(const rr_swap *swap, load_of_call *call)
{
    call->units++;
    call->keys++;
    call->args += 4;
    call->bytes += swap->key.len + swap->value.len;
    if (!is_plain(swap)) {
        weigh_rest(swap, call);
    }
}

/* Answered already: it was senseless, or there is nothing to do. */
static bool is_settled(const rr_swap *swap)
{
    return swap->answer != RR_SWAP_UNKNOWN;
}

static void put_other_keys(rr_buf *out, const rr_swap *swap)
{
    if (has_beside(swap)) {
        rr_call_parts_key(out, swap->key, rr_value_token(swap->value));
    }
    for (size_t i = 0; i < swap->side_count; i++) {
        rr_resp_bytes(out, swap->sides[i].key);
    }
    if (swap->open != RR_OPEN_UNCHANGED) {
        rr_resp_bytes(out, swap->open_key);
    }
    if (swap->entry_count != 0) {
        rr_resp_bytes(out, swap->log_key);
    }
}

static void put_shape(rr_buf *out, const rr_swap *swap)
{
    char shape[96];
    int len = snprintf(shape, sizeof shape, "%zu %d %zu %d %zu%s", swap->part_count, has_beside(swap),
                       swap->side_count, (int)swap->open, swap->entry_count, swap->key.len == 0 ? " alone" : "");

    rr_resp_bytes(out, (rr_slice){shape, (size_t)len});
}

static void put_open(rr_buf *out, const rr_swap *swap)
{
    char score[24];

    if (swap->open == RR_OPEN_ADD) {
        snprintf(score, sizeof score, "%lld", (long long)swap->open_score_ms);
        rr_resp_text(out, score);
    }
    if (swap->open != RR_OPEN_UNCHANGED) {
        rr_resp_bytes(out, swap->open_member);
    }
}

static void put_rest(rr_buf *out, const rr_swap *swap)
{
    for (size_t i = 0; i < swap->part_count; i++) {
        rr_resp_bytes(out, swap->parts[i].name);
        rr_resp_bytes(out, swap->parts[i].bytes);
    }
    for (size_t i = 0; i < swap->side_count; i++) {
        rr_resp_bytes(out, swap->sides[i].value);
        rr_resp_until(out, swap->sides[i].expire_at_ms);
    }
    put_open(out, swap);
    for (size_t i = 0; i < swap->entry_count; i++) {
        rr_resp_bytes(out, swap->entries[i]);
    }
}

static void put_unit(rr_buf *out, const rr_swap *swap)
{
    bool plain = is_plain(swap);

    if (plain) {
        rr_resp_bytes(out, (rr_slice){NULL, 0});
    } else {
        put_shape(out, swap);
    }
    rr_resp_bytes(out, swap->token);
    rr_resp_bytes(out, swap->value);
    rr_resp_until(out, swap->expire_at_ms);
    if (!plain) {
        put_rest(out, swap);
    }
}

static void put_units(swapping *at, size_t first, size_t count, const load_of_call *call)
{
    rr_buf *out = &at->store->link.out;
    const rr_swap *swap = at->swaps + first, *end = swap + count;

    rr_call_head(out, at->store->link.functions.swap, call->keys, call->args);
    for (const rr_swap *s = swap; s < end; s++) {
        if (!is_settled(s)) {
            rr_resp_bytes(out, s->key.len == 0 ? s->log_key : s->key);
        }
    }
    for (const rr_swap *s = swap; s < end; s++) {
        if (!is_settled(s) && !is_plain(s)) {
            put_other_keys(out, s);
        }
    }
    rr_resp_u64(out, call->units);
    rr_resp_u64(out, at->store->log_max);
    for (const rr_swap *s = swap; s < end; s++) {
        if (!is_settled(s)) {
            put_unit(out, s);
        }
    }
}

static size_t put_call(void *context, size_t first)
{
    swapping *at = context;
    load_of_call call = {.args = 2};
    size_t i = first;

    for (; i < at->count && call.units < RR_CALL_UNITS && call.bytes < RR_CALL_BYTES; i++) {
        if (!is_settled(&at->swaps[i])) {
            weigh(&at->swaps[i], &call);
        }
    }
    if (call.units != 0) {
        put_units(at, first, i - first, &call);
    }
    return i - first;
}

/* One unit's letter, and the detail that comes with all letters but W. False: memory ran out. */
static bool take_unit(rr_swap *swap, char code, const redisReply *detail, rr_arena *arena)
{
    rr_slice text = detail == NULL ? (rr_slice){NULL, 0} : rr_reply_bytes(detail);

    if (code == 'W') {
        swap->answer = RR_SWAP_WON;
    } else if (code == 'L') {
        if (!rr_keep(arena, text, &swap->current)) {
            return false;
        }
        swap->answer = RR_SWAP_LOST;
    } else {
        rr_fail(&swap->error, RR_REFUSED_BY_SERVER, "%.*s", (int)text.len, text.data == NULL ? "" : text.data);
        swap->answer = code == 'F' ? RR_SWAP_FAILED : RR_SWAP_UNKNOWN;
    }
    return true;
}

static rr_status take_call(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    swapping *at = context;
    rr_slice codes = {NULL, 0};
    size_t unit = 0, detail = 1;

    if (reply->type == REDIS_REPLY_ARRAY && reply->elements != 0) {
        codes = rr_reply_bytes(reply->element[0]);
    }
    for (size_t i = flight->first; i < flight->first + flight->count; i++) {
        const redisReply *with = NULL;

        if (is_settled(&at->swaps[i])) {
            continue;
        }
        if (unit >= codes.len || (codes.data[unit] != 'W' && detail >= reply->elements)) {
            return rr_link_odd(&at->store->link, "a swap", error);
        }
        if (codes.data[unit] != 'W') {
            with = reply->element[detail++];
        }
        if (!take_unit(&at->swaps[i], codes.data[unit++], with, at->arena)) {
            return rr_fail(error, RR_MEMORY, "swap: memory ran out, or the batch's limit was reached");
        }
    }
    return RR_OK;
}

static void prepare(rr_swap *swap)
{
    const char *flaw = rr_swap_flaw(swap);

    rr_error_clear(&swap->error);
    swap->answer = RR_SWAP_UNKNOWN;
    swap->current = (rr_slice){NULL, 0};
    if (flaw != NULL) {
        swap->answer = RR_SWAP_FAILED;
        rr_fail(&swap->error, RR_INTERNAL, "key %.*s: %s", (int)swap->key.len, swap->key.data, flaw);
    } else if (swap->key.len == 0 && swap->entry_count == 0) {
        swap->answer = RR_SWAP_WON;
    }
}

rr_status rr_redis_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    swapping at = {store, swaps, count, arena};

    for (size_t i = 0; i < count; i++) {
        prepare(&swaps[i]);
    }
    return rr_store_ask(store, count, put_call, take_call, &at, error);
}
