/* Swaps as calls of the `swap` function; redis_library.lua describes its arguments and answers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "redis_swap.h"

#include <stdio.h>
#include <stdlib.h>

#include "hash.h"
#include "redis_call.h"
#include "redis_confirm.h"
#include "redis_resp.h"

enum { SEEN_SLOTS = 1024, SEEN_MOST = 512 };

/* The kinds of units, in the order in which a call holds them. */
typedef enum kind { LASTING, EXPIRING, OTHER, KINDS } kind;

/* What one call holds so far, and which keys: a call may hold each key only once. */
typedef struct call_load {
    size_t units[KINDS], keys, args, bytes;
    size_t seen_count;
    uint64_t seen[SEEN_SLOTS]; /* hashes; 0: free. Two equal hashes only end a call early */
} call_load;

/* The parts' key is named where parts are written, or may be there and live as long as the value. */
static bool has_beside(const rr_swap *swap)
{
    return swap->part_count != 0 || (swap->value.len != 0 && swap->token.len != 0 && !swap->partless);
}

/* Nearly every swap writes a value alone. */
static kind kind_of(const rr_swap *swap)
{
    if (swap->key.len == 0 || swap->value.len == 0 || swap->side_count != 0 || swap->entry_count != 0 ||
        swap->open != RR_OPEN_UNCHANGED || has_beside(swap)) {
        return OTHER;
    }
    return swap->expire_at_ms == 0 ? LASTING : EXPIRING;
}

/* Creates a value alone. SET with NX does that at half the cost of a call that goes through Lua. */
static bool is_creating(const rr_swap *swap)
{
    return kind_of(swap) != OTHER && swap->token.len == 0;
}

static rr_slice first_key(const rr_swap *swap)
{
    return swap->key.len == 0 ? swap->log_key : swap->key;
}

static void weigh_rest(const rr_swap *swap, call_load *call)
{
    call->keys +=
        (size_t)has_beside(swap) + swap->side_count + (swap->open != RR_OPEN_UNCHANGED) + (swap->entry_count != 0);
    call->args += 2 * swap->part_count + 2 * swap->side_count + (swap->open == RR_OPEN_ADD) + swap->entry_count;
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

static void weigh(const rr_swap *swap, call_load *call)
{
    static const size_t words[KINDS] = {2, 3, 4};
    kind kind_here = kind_of(swap);

    call->units[kind_here]++;
    call->keys++;
    call->args += words[kind_here];
    call->bytes += swap->key.len + swap->value.len;
    if (kind_here == OTHER) {
        weigh_rest(swap, call);
    }
}

/* Marks a key. True: it was marked already. */
static bool see(call_load *call, rr_slice key)
{
    uint64_t hash = rr_hash(key) | 1; /* never 0 */
    size_t at = hash / 2 % SEEN_SLOTS;

    while (call->seen[at] != 0 && call->seen[at] != hash) {
        at = (at + 1) % SEEN_SLOTS;
    }
    if (call->seen[at] == hash) {
        return true;
    }
    call->seen[at] = hash;
    call->seen_count++;
    return false;
}

/* Whether a unit may join the call. If not, the call ends before it, and its marks do no harm. */
static bool may_join(const rr_swap *swap, call_load *call)
{
    bool alone = call->keys == 0, met;

    if (!alone && call->seen_count + 1 + swap->side_count > SEEN_MOST) {
        return false;
    }
    met = swap->key.len != 0 && see(call, swap->key);
    for (size_t i = 0; i < swap->side_count && call->seen_count < SEEN_MOST; i++) {
        met |= see(call, swap->sides[i].key);
    }
    return alone || !met;
}

/* Answered already: it was invalid, or there is nothing to do. */
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
    int len = snprintf(shape, sizeof shape, "%zu %d %zu %d %zu%s", swap->part_count, has_beside(swap), swap->side_count,
                       (int)swap->open, swap->entry_count, swap->key.len == 0 ? " alone" : "");

    rr_resp_bytes(out, (rr_slice){shape, (size_t)len});
}

static void put_rest(rr_buf *out, const rr_swap *swap)
{
    char score[24];

    for (size_t i = 0; i < swap->part_count; i++) {
        rr_resp_bytes(out, swap->parts[i].name);
        rr_resp_bytes(out, swap->parts[i].bytes);
    }
    for (size_t i = 0; i < swap->side_count; i++) {
        rr_resp_bytes(out, swap->sides[i].value);
        rr_resp_until(out, swap->sides[i].expire_at_ms);
    }
    if (swap->open == RR_OPEN_ADD) {
        snprintf(score, sizeof score, "%lld", (long long)swap->open_score_ms);
        rr_resp_text(out, score);
    }
    for (size_t i = 0; i < swap->entry_count; i++) {
        rr_resp_bytes(out, swap->entries[i]);
    }
}

static void put_unit(rr_buf *out, const rr_swap *swap, kind as)
{
    if (as == OTHER) {
        put_shape(out, swap);
    }
    rr_resp_bytes(out, swap->token);
    rr_resp_bytes(out, swap->value);
    if (as == EXPIRING && swap->keeps_expiry && swap->token.len != 0) {
        rr_resp_bytes(out, RR_SLICE("keep"));
    } else if (as != LASTING) {
        rr_resp_until(out, swap->expire_at_ms);
    }
    if (as == OTHER) {
        put_rest(out, swap);
    }
}

/* The next swap of a kind in a flight, from index *at on; moves *at behind it. NULL: no more. */
static rr_swap *next_of(rr_swapping *swapping, size_t *index, size_t end, kind wanted)
{
    while (*index < end) {
        rr_swap *swap = swapping->swaps[(*index)++];

        if (!is_settled(swap) && kind_of(swap) == wanted) {
            return swap;
        }
    }
    return NULL;
}

static void put_keys(rr_swapping *swapping, size_t first, size_t end)
{
    rr_buf *out = &swapping->store->link.out;
    const rr_swap *swap;

    for (kind of = LASTING; of < KINDS; of++) {
        for (size_t i = first; (swap = next_of(swapping, &i, end, of)) != NULL;) {
            rr_resp_bytes(out, first_key(swap));
        }
    }
    for (size_t i = first; (swap = next_of(swapping, &i, end, OTHER)) != NULL;) {
        put_other_keys(out, swap);
    }
}

static void put_units(rr_swapping *swapping, size_t first, size_t end, const call_load *call)
{
    rr_buf *out = &swapping->store->link.out;
    const rr_swap *swap;

    rr_call_head(out, swapping->store->link.functions.swap, call->keys, call->args);
    put_keys(swapping, first, end);
    for (kind of = LASTING; of < KINDS; of++) {
        rr_resp_u64(out, call->units[of]);
    }
    rr_resp_u64(out, swapping->store->log_max);
    for (kind of = LASTING; of < KINDS; of++) {
        for (size_t i = first; (swap = next_of(swapping, &i, end, of)) != NULL;) {
            put_unit(out, swap, of);
        }
    }
}

/* The answer is nil if there was no value, else the value. */
static size_t put_creating(rr_swapping *swapping, const rr_swap *swap)
{
    rr_buf *out = &swapping->store->link.out;
    bool lasts = swap->expire_at_ms == 0;

    swapping->store->next_takes_wrong_type = true;
    rr_resp_command(out, lasts ? 5 : 7);
    rr_resp_bytes(out, RR_SLICE("SET"));
    rr_resp_bytes(out, swap->key);
    rr_resp_bytes(out, swap->value);
    rr_resp_bytes(out, RR_SLICE("NX"));
    rr_resp_bytes(out, RR_SLICE("GET"));
    if (!lasts) {
        rr_resp_bytes(out, RR_SLICE("PXAT"));
        rr_resp_until(out, swap->expire_at_ms);
    }
    return 1;
}

static size_t put_call(void *context, size_t first)
{
    rr_swapping *swapping = context;
    call_load call = {.args = KINDS + 1};
    size_t i = first, units = 0;

    if (is_settled(swapping->swaps[first])) {
        return 1;
    }
    if (!swapping->by_function && is_creating(swapping->swaps[first])) {
        return put_creating(swapping, swapping->swaps[first]);
    }
    for (; i < swapping->count && units < RR_CALL_UNITS && call.bytes < RR_CALL_BYTES; i++) {
        if (is_settled(swapping->swaps[i])) {
            continue;
        }
        if (!may_join(swapping->swaps[i], &call)) {
            break;
        }
        weigh(swapping->swaps[i], &call);
        units++;
    }
    if (units != 0) {
        put_units(swapping, first, i, &call);
    }
    return i - first;
}

/* A refusal within the function fails the op, as one of the whole call does. Loading tells what was done before it. */
static bool is_refused(const rr_swap *swap, rr_slice text)
{
    size_t head = strlen("key ") + swap->key.len + strlen(": ");

    /* Replies end with a NUL. */
    return text.len != 0 &&
           (rr_link_is_refusal(text.data) || (text.len > head && rr_link_is_refusal(text.data + head)));
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

/* Letters of all units and details of some, in the order of the call. */
static rr_status take_kind(rr_swapping *swapping, const rr_flight *flight, kind of, const redisReply *reply,
                           size_t *unit, size_t *detail, rr_error *error)
{
    rr_slice codes = reply->elements == 0 ? (rr_slice){NULL, 0} : rr_reply_bytes(reply->element[0]);
    size_t end = flight->first + flight->count;
    rr_swap *swap;

    for (size_t i = flight->first; (swap = next_of(swapping, &i, end, of)) != NULL;) {
        const redisReply *with = NULL;
        char code = reply->elements == 0 ? 'W' : *unit < codes.len ? codes.data[(*unit)++] : '?';

        if (code == '?' || (code != 'W' && *detail >= reply->elements)) {
            return rr_link_odd(&swapping->store->link, "a swap", error);
        }
        if (code != 'W') {
            with = reply->element[(*detail)++];
        }
        if ((code == 'F' || code == 'U') && is_refused(swap, rr_reply_bytes(with))) {
            return rr_link_fail(&swapping->store->link, RR_REFUSED_BY_SERVER, error, "%s", with->str);
        }
        if (!take_unit(swap, code, with, swapping->arena)) {
            return rr_fail(error, RR_MEMORY, "swap: memory ran out, or the batch's limit was reached");
        }
    }
    return RR_OK;
}

static rr_status take_creating(rr_swapping *swapping, rr_swap *swap, const redisReply *reply, rr_error *error)
{
    if (reply->type == REDIS_REPLY_NIL) {
        swap->answer = RR_SWAP_WON;
    } else if (reply->type == REDIS_REPLY_ERROR) {
        swapping->wrong_type++;
    } else if (reply->type != REDIS_REPLY_STRING) {
        return rr_link_odd(&swapping->store->link, "a SET", error);
    } else if (!take_unit(swap, 'L', reply, swapping->arena)) {
        return rr_fail(error, RR_MEMORY, "swap: memory ran out, or the batch's limit was reached");
    }
    return RR_OK;
}

static rr_status take_call(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    rr_swapping *swapping = context;
    size_t unit = 0, detail = 1;
    rr_status status = RR_OK;

    if (!swapping->by_function && is_creating(swapping->swaps[flight->first])) {
        return take_creating(swapping, swapping->swaps[flight->first], reply, error);
    }
    if (reply->type != REDIS_REPLY_ARRAY) {
        return rr_link_odd(&swapping->store->link, "a swap", error);
    }
    for (kind of = LASTING; status == RR_OK && of < KINDS; of++) {
        status = take_kind(swapping, flight, of, reply, &unit, &detail, error);
    }
    return status;
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

static void put_in_order(rr_swapping *swapping, rr_swap *swaps, size_t count, bool creating)
{
    for (size_t i = 0; i < count; i++) {
        if (is_creating(&swaps[i]) == creating) {
            swapping->swaps[swapping->count++] = &swaps[i];
        }
    }
}

static bool make_room(rr_swapping *swapping, size_t more)
{
    size_t room = swapping->count + more + swapping->room;
    rr_swap **swaps;

    if (swapping->count + more <= swapping->room) {
        return true;
    }
    swaps = realloc(swapping->swaps, room * sizeof(rr_swap *));
    if (swaps == NULL) {
        return false;
    }
    swapping->swaps = swaps;
    swapping->room = room;
    return true;
}

static void begin_swaps(rr_store *store)
{
    rr_swapping *swapping = &store->swapping;

    swapping->store = store;
    swapping->wrong_type = 0;
    swapping->by_function = false;
    swapping->calls = (rr_calls){.put = put_call, .take = take_call, .context = swapping};
}

rr_status rr_redis_swap_ahead(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_swapping *swapping = &store->swapping;
    rr_status status;

    for (size_t i = 0; i < count; i++) {
        prepare(&swaps[i]);
    }
    status = rr_calls_go_on(store, error);
    if (status == RR_OK && !make_room(swapping, count)) {
        return rr_link_fail(&store->link, RR_MEMORY, error, "swap: memory ran out");
    }
    if (status != RR_OK || count == 0) {
        return status;
    }
    if (swapping->count == 0) {
        begin_swaps(store);
    }
    swapping->arena = arena;
    put_in_order(swapping, swaps, count, true);
    put_in_order(swapping, swaps, count, false);
    status = rr_calls_write(store, &swapping->calls, swapping->count, error);
    status = status == RR_OK ? rr_link_send(&store->link, error) : status;
    if (status != RR_OK) {
        rr_link_drop(&store->link); /* also where a full round was refused: the caller gives up the rest of it */
    }
    return status;
}

rr_status rr_redis_swap_end(rr_store *store, rr_error *error)
{
    rr_swapping *swapping = &store->swapping;
    rr_status status;

    rr_link_go_on(&store->link);
    status = rr_calls_finish(store, &swapping->calls, error);
    store->link.owed = false;
    if (status == RR_OK && swapping->wrong_type != 0) {
        swapping->by_function = true; /* swaps that have their answers are passed over */
        status = rr_calls_ask(store, swapping->count, put_call, take_call, swapping, error);
    }
    return status == RR_OK ? rr_redis_confirm(store, error) : status;
}

rr_status rr_redis_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status;

    if (count == 0) {
        return rr_redis_confirm(store, error);
    }
    status = rr_redis_swap_ahead(store, swaps, count, arena, error);
    return status == RR_OK ? rr_redis_swap_end(store, error) : status;
}
