/* The store port over one connection to Redis: opening, logs, notes, identity and walks. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store_redis.h"

#include <stdio.h>
#include <stdlib.h>

#include "redis_call.h"
#include "redis_confirm.h"
#include "redis_load.h"
#include "redis_parts.h"
#include "redis_resp.h"
#include "redis_store.h"
#include "redis_survey.h"
#include "redis_swap.h"

enum { TIMEOUT_MS = 2000, LOG_MAX = 100000 };

static rr_status redis_open(const char *url, const rr_store_options *options, rr_store **store, rr_error *error)
{
    rr_store_options given = options == NULL ? (rr_store_options){0} : *options;
    rr_store *made = calloc(1, sizeof *made);
    rr_status status;

    *store = NULL;
    if (made == NULL) {
        return rr_fail(error, RR_MEMORY, "redis store: memory ran out");
    }
    made->log_max = given.log_max == 0 ? LOG_MAX : given.log_max;
    status =
        rr_link_open(&made->link, url, given.password, given.timeout_ms > 0 ? given.timeout_ms : TIMEOUT_MS, error);
    if (status == RR_OK && !rr_redis_confirm_init(made, &given)) {
        status = rr_fail(error, RR_MEMORY, "redis store: memory ran out");
    }
    status = status == RR_OK ? rr_link_begin(&made->link, error) : status;
    if (status != RR_OK) {
        rr_link_close(&made->link);
        rr_buf_fini(&made->confirm);
        free(made);
        return status;
    }
    *store = made;
    return RR_OK;
}

static void redis_close(rr_store *store)
{
    if (store != NULL) {
        rr_link_close(&store->link);
        rr_buf_fini(&store->confirm);
        free(store->swapping.swaps);
        explicit_bzero(store->link.url.password, sizeof store->link.url.password);
        free(store);
    }
}

/* ---- loads ---- */

static rr_status redis_load(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    rr_loading loading = rr_redis_begin_loads(store, loads, count, arena);

    return rr_calls_ask(store, count, rr_redis_put_loads, rr_redis_take_loads, &loading, error);
}

static void name_key(rr_error *error, rr_slice key)
{
    if (error != NULL) {
        rr_error_within(error, "key %.*s", (int)key.len, key.data);
    }
}

/* ---- logs ---- */

typedef struct log_reading {
    rr_store *store;
    rr_arena *arena;
    rr_log_entry *entries;
    size_t count;
} log_reading;

static rr_status take_log(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    log_reading *r = context;

    (void)flight;
    if (reply->type != REDIS_REPLY_ARRAY) {
        return rr_link_odd(&r->store->link, "a read of a log", error);
    }
    r->entries = rr_arena_take(r->arena, (reply->elements / 2 + 1) * sizeof *r->entries);
    if (r->entries == NULL) {
        return rr_store_no_memory(error);
    }
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        rr_log_entry *entry = &r->entries[r->count++];

        if (!rr_keep(r->arena, rr_reply_bytes(reply->element[i]), &entry->id) ||
            !rr_keep(r->arena, rr_reply_bytes(reply->element[i + 1]), &entry->bytes)) {
            return rr_store_no_memory(error);
        }
    }
    return RR_OK;
}

static rr_status redis_log_read(rr_store *store, rr_slice log_key, const char *consumer, int idle_ms, size_t most,
                                rr_arena *arena, rr_log_entry **entries, size_t *count, rr_error *error)
{
    log_reading r = {.store = store, .arena = arena};
    rr_buf *out = &store->link.out;
    rr_status status = rr_link_begin(&store->link, error);

    *entries = NULL;
    *count = 0;
    if (status != RR_OK || most == 0) {
        return status;
    }
    rr_call_head(out, store->link.functions.log, 1, 3);
    rr_resp_bytes(out, log_key);
    rr_resp_text(out, consumer);
    rr_resp_u64(out, idle_ms < 0 ? 0 : (uint64_t)idle_ms);
    rr_resp_u64(out, most);
    status = rr_link_ask_one(&store->link, take_log, &r, error);
    if (status == RR_OK) {
        *entries = r.entries;
        *count = r.count;
    }
    return status;
}

typedef struct log_settling {
    rr_store *store;
    rr_slice log_key;
    const rr_slice *ids;
    size_t count;
} log_settling;

static size_t put_done(void *context, size_t first)
{
    log_settling *s = context;
    rr_buf *out = &s->store->link.out;
    size_t count = s->count - first < RR_CALL_KEYS ? s->count - first : RR_CALL_KEYS;

    rr_resp_command(out, 3 + count);
    rr_resp_text(out, "XACK");
    rr_resp_bytes(out, s->log_key);
    rr_resp_text(out, "rr");
    for (size_t i = first; i < first + count; i++) {
        rr_resp_bytes(out, s->ids[i]);
    }
    return count;
}

static rr_status take_nothing(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    (void)context;
    (void)flight;
    (void)reply;
    (void)error;
    return RR_OK;
}

static rr_status redis_log_done(rr_store *store, rr_slice log_key, const rr_slice *ids, size_t count, rr_error *error)
{
    log_settling s = {store, log_key, ids, count};

    return rr_calls_ask(store, count, put_done, take_nothing, &s, error);
}

/* ---- notes ---- */

typedef struct note_reading {
    rr_arena *arena;
    rr_slice value;
} note_reading;

static rr_status take_note(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    note_reading *r = context;

    (void)flight;
    return rr_keep(r->arena, rr_reply_bytes(reply), &r->value) ? RR_OK : rr_store_no_memory(error);
}

static rr_status redis_note_get(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error)
{
    note_reading r = {.arena = arena};
    rr_status status = rr_link_begin(&store->link, error);

    *value = (rr_slice){NULL, 0};
    if (status == RR_OK) {
        rr_resp_command(&store->link.out, 2);
        rr_resp_text(&store->link.out, "GET");
        rr_resp_bytes(&store->link.out, key);
        status = rr_link_ask_one(&store->link, take_note, &r, error);
    }
    if (status != RR_OK) {
        name_key(error, key);
        return status;
    }
    *value = r.value;
    return RR_OK;
}

static rr_status take_done(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    (void)flight;
    (void)error;
    *(bool *)context = reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    return RR_OK;
}

static rr_status redis_note_set(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                                const rr_store_identity *incarnation, bool *done, rr_error *error)
{
    rr_buf *out = &store->link.out;
    rr_status status = rr_link_begin(&store->link, error);

    *done = false;
    if (status == RR_OK) {
        rr_call_head(out, store->link.functions.note, 1, 4);
        rr_resp_bytes(out, key);
        rr_resp_bytes(out, expected);
        rr_resp_bytes(out, value);
        rr_resp_until(out, ttl_ms);
        rr_resp_text(out, incarnation == NULL ? "" : incarnation->incarnation);
        status = rr_link_ask_one(&store->link, take_done, done, error);
    }
    if (status != RR_OK) {
        name_key(error, key);
    }
    return status;
}

static void put_note(rr_buf *out, rr_slice key, rr_slice value, int64_t ttl_ms)
{
    rr_resp_command(out, value.len == 0 ? 2 : ttl_ms == 0 ? 3 : 5);
    rr_resp_text(out, value.len == 0 ? "DEL" : "SET");
    rr_resp_bytes(out, key);
    if (value.len != 0) {
        rr_resp_bytes(out, value);
    }
    if (value.len != 0 && ttl_ms != 0) {
        rr_resp_text(out, "PX");
        rr_resp_until(out, ttl_ms);
    }
}

static rr_status redis_note_put(rr_store *store, rr_slice key, rr_slice value, int64_t ttl_ms, rr_error *error)
{
    rr_status status = rr_link_begin(&store->link, error);

    if (status == RR_OK) {
        put_note(&store->link.out, key, value, ttl_ms);
        status = rr_link_ask_one(&store->link, take_nothing, NULL, error);
    }
    if (status != RR_OK) {
        name_key(error, key);
    }
    return status;
}

/* ---- identity ---- */

static rr_status take_identity(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    rr_store_identity *identity = context;
    rr_slice text = rr_reply_bytes(reply);

    (void)flight;
    if (text.len == 0 || text.len >= sizeof identity->incarnation) {
        return rr_fail(error, RR_UNAVAILABLE, "redis store: the server does not tell its identity");
    }
    memcpy(identity->incarnation, text.data, text.len);
    identity->incarnation[text.len] = '\0';
    return RR_OK;
}

static rr_status redis_identity(rr_store *store, rr_store_identity *identity, rr_error *error)
{
    rr_status status = rr_link_begin(&store->link, error);

    *identity = (rr_store_identity){0};
    if (status == RR_OK) {
        rr_call_head(&store->link.out, store->link.functions.identity, 0, 0);
        status = rr_link_ask_one(&store->link, take_identity, identity, error);
    }
    return status;
}

/* ---- walks ---- */

typedef struct page {
    rr_store *store;
    rr_slice pattern;
    bool of_all_types; /* else only strings */
    rr_arena arena;
    char cursor[32];
    rr_slice *keys;
    size_t count;
} page;

static rr_status take_page(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    page *p = context;
    const redisReply *keys;

    (void)flight;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[1]->type != REDIS_REPLY_ARRAY ||
        reply->element[0]->type != REDIS_REPLY_STRING) {
        return rr_link_odd(&p->store->link, "SCAN", error);
    }
    snprintf(p->cursor, sizeof p->cursor, "%s", reply->element[0]->str);
    keys = reply->element[1];
    p->count = keys->elements;
    p->keys = rr_arena_take(&p->arena, (p->count + 1) * sizeof *p->keys);
    for (size_t i = 0; p->keys != NULL && i < p->count; i++) {
        if (!rr_keep(&p->arena, rr_reply_bytes(keys->element[i]), &p->keys[i])) {
            return rr_store_no_memory(error);
        }
    }
    return p->keys == NULL ? rr_store_no_memory(error) : RR_OK;
}

/* The prefix taken literally, then anything. */
static void put_pattern(rr_buf *pattern, rr_slice prefix)
{
    for (size_t i = 0; i < prefix.len; i++) {
        if (strchr("*?[]\\", prefix.data[i]) != NULL && prefix.data[i] != '\0') {
            rr_buf_char(pattern, '\\');
        }
        rr_buf_char(pattern, prefix.data[i]);
    }
    rr_buf_char(pattern, '*');
}

static rr_status ask_page(rr_store *store, page *p, rr_error *error)
{
    rr_buf *out = &store->link.out;
    rr_status status = rr_link_begin(&store->link, error);

    if (status != RR_OK) {
        return status;
    }
    rr_resp_command(out, p->of_all_types ? 6 : 8);
    rr_resp_text(out, "SCAN");
    rr_resp_text(out, p->cursor);
    rr_resp_text(out, "MATCH");
    rr_resp_bytes(out, p->pattern);
    rr_resp_text(out, "COUNT");
    rr_resp_text(out, "1000");
    if (!p->of_all_types) {
        rr_resp_text(out, "TYPE");
        rr_resp_text(out, "string");
    }
    rr_arena_reset(&p->arena);
    return rr_link_ask_one(&store->link, take_page, p, error);
}

/* Walks page by page until `use` clears *more. */
static rr_status walk(page *p, rr_slice prefix, rr_status (*use)(page *p, void *context, bool *more, rr_error *error),
                      void *context, rr_error *error)
{
    rr_buf pattern = {0};
    bool more = true;
    rr_status status;

    put_pattern(&pattern, prefix);
    p->pattern = rr_buf_view(&pattern);
    rr_arena_init(&p->arena, 0);
    do {
        status = rr_buf_ok(&pattern) ? ask_page(p->store, p, error) : rr_store_no_memory(error);
        status = status == RR_OK ? use(p, context, &more, error) : status;
    } while (status == RR_OK && more && strcmp(p->cursor, "0") != 0);
    rr_arena_fini(&p->arena);
    rr_buf_fini(&pattern);
    return status;
}

typedef struct each_context {
    bool (*each)(void *context, rr_slice key);
    void *context;
} each_context;

static rr_status each_key(page *p, void *context, bool *more, rr_error *error)
{
    const each_context *given = context;

    (void)error;
    for (size_t i = 0; i < p->count && *more; i++) {
        *more = given->each(given->context, p->keys[i]);
    }
    return RR_OK;
}

static rr_status redis_scan(rr_store *store, rr_slice prefix, bool (*each)(void *context, rr_slice key), void *context,
                            rr_error *error)
{
    page p = {.store = store, .cursor = "0"};
    each_context given = {each, context};

    return walk(&p, prefix, each_key, &given, error);
}

typedef struct sweeping {
    bool (*gone)(void *context, rr_slice key);
    void *context;
    uint64_t *removed;
} sweeping;

static rr_status take_removed(void *context, const rr_flight *flight, const redisReply *reply, rr_error *error)
{
    (void)flight;
    (void)error;
    *(uint64_t *)context += reply->type == REDIS_REPLY_INTEGER ? (uint64_t)reply->integer : 0;
    return RR_OK;
}

/* UNLINK and not DEL: a cell may have millions of parts. */
static rr_status unlink_gone(page *p, void *context, bool *more, rr_error *error)
{
    const sweeping *s = context;
    rr_buf *out = &p->store->link.out;
    size_t count = 0;
    rr_status status;

    (void)more;
    for (size_t i = 0; i < p->count; i++) {
        if (s->gone(s->context, p->keys[i])) {
            p->keys[count++] = p->keys[i];
        }
    }
    status = count == 0 ? RR_OK : rr_link_begin(&p->store->link, error);
    if (status != RR_OK || count == 0) {
        return status;
    }
    rr_resp_command(out, 1 + count);
    rr_resp_text(out, "UNLINK");
    for (size_t i = 0; i < count; i++) {
        rr_resp_bytes(out, p->keys[i]);
    }
    return rr_link_ask_one(&p->store->link, take_removed, s->removed, error);
}

static rr_status redis_sweep(rr_store *store, rr_slice prefix, bool (*gone)(void *context, rr_slice key), void *context,
                             uint64_t *removed, rr_error *error)
{
    page p = {.store = store, .cursor = "0", .of_all_types = true};
    sweeping s = {gone, context, removed};

    return walk(&p, prefix, unlink_gone, &s, error);
}

const rr_store_ops rr_store_redis_ops = {
    .scheme = "redis",
    .open = redis_open,
    .close = redis_close,
    .load = redis_load,
    .read_parts = rr_redis_read_parts,
    .swap = rr_redis_swap,
    .load_ahead = rr_redis_load_ahead,
    .load_next = rr_redis_load_next,
    .swap_ahead = rr_redis_swap_ahead,
    .swap_end = rr_redis_swap_end,
    .confirm = rr_redis_confirm,
    .log_read = redis_log_read,
    .log_done = redis_log_done,
    .note_get = redis_note_get,
    .note_set = redis_note_set,
    .note_put = redis_note_put,
    .identity = redis_identity,
    .scan = redis_scan,
    .sweep = redis_sweep,
    .survey = rr_redis_survey,
};
