/* A store in front of another one, with a plan of faults. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store_faulty.h"

#include <stdlib.h>

#include "must.h"

struct rr_store {
    const rr_store_ops *ops;
    rr_store *inner;
    const rr_fault *plan;
    size_t faults;
    size_t calls[RR_FAULT_OPS];
    /* swaps that are carried out later; those of one call at most */
    rr_arena arena;
    rr_swap *late;
    size_t late_count, late_in;
};

rr_store *rr_store_faulty_new(const rr_store_ops *ops, rr_store *inner, const rr_fault *plan, size_t faults)
{
    rr_store *store = calloc(1, sizeof *store);

    if (store != NULL) {
        *store = (rr_store){.ops = ops, .inner = inner, .plan = plan, .faults = faults};
        rr_arena_init(&store->arena, 0);
    }
    return store;
}

size_t rr_store_faulty_calls(const rr_store *store, rr_fault_op op)
{
    return store->calls[op];
}

void rr_store_faulty_settle(rr_store *store)
{
    rr_error error = {0};

    if (store->late_count != 0) {
        store->ops->swap(store->inner, store->late, store->late_count, &store->arena, &error);
        store->late_count = 0;
        rr_arena_reset(&store->arena);
    }
}

/* Called by each op: carries out the late swaps that are due. */
static void pass(rr_store *store)
{
    if (store->late_count != 0 && --store->late_in == 0) {
        rr_store_faulty_settle(store);
    }
}

static rr_slice copy(rr_store *store, rr_slice from)
{
    rr_slice to = rr_arena_copy(&store->arena, from);

    RR_MUST(to.len == from.len);
    return to;
}

static void *copies(rr_store *store, const void *from, size_t bytes)
{
    void *to = rr_arena_take(&store->arena, bytes + 1);

    RR_MUST(to != NULL);
    return bytes == 0 ? to : memcpy(to, from, bytes);
}

/* A swap with all it points to. */
static rr_swap copy_swap(rr_store *store, const rr_swap *from)
{
    rr_swap to = *from;
    rr_side *sides = copies(store, from->sides, from->side_count * sizeof *sides);
    rr_pair *parts = copies(store, from->parts, from->part_count * sizeof *parts);
    rr_slice *entries = copies(store, from->entries, from->entry_count * sizeof *entries);

    for (size_t i = 0; i < from->side_count; i++) {
        sides[i].key = copy(store, sides[i].key);
        sides[i].value = copy(store, sides[i].value);
    }
    for (size_t i = 0; i < from->part_count; i++) {
        parts[i] = (rr_pair){copy(store, parts[i].name), copy(store, parts[i].bytes)};
    }
    for (size_t i = 0; i < from->entry_count; i++) {
        entries[i] = copy(store, entries[i]);
    }
    to.key = copy(store, from->key);
    to.token = copy(store, from->token);
    to.value = copy(store, from->value);
    to.open_key = copy(store, from->open_key);
    to.log_key = copy(store, from->log_key);
    to.sides = sides;
    to.parts = parts;
    to.entries = entries;
    return to;
}

static void keep_for_later(rr_store *store, const rr_swap *swaps, size_t count, size_t late)
{
    rr_store_faulty_settle(store);
    store->late = rr_arena_take(&store->arena, (count + 1) * sizeof *store->late);
    RR_MUST(store->late != NULL);
    for (size_t i = 0; i < count; i++) {
        store->late[i] = copy_swap(store, &swaps[i]);
    }
    store->late_count = count;
    store->late_in = late == 0 ? 1 : late;
}

/* Counts a call of an op; returns the fault that hits it, or NULL. A rival has run by then. */
static const rr_fault *meet(rr_store *store, rr_fault_op op)
{
    size_t call = ++store->calls[op];

    pass(store);
    for (size_t i = 0; i < store->faults; i++) {
        const rr_fault *fault = &store->plan[i];
        size_t times = fault->times == 0 ? 1 : fault->times;

        if (fault->op != op || call < fault->nth || call - fault->nth >= times) {
            continue;
        }
        if (fault->kind != RR_FAULT_RIVAL) {
            return fault;
        }
        fault->rival(fault->context, store->inner);
    }
    return NULL;
}

static rr_status broken(rr_error *error)
{
    return rr_fail(error, RR_UNAVAILABLE, "faulty store: the connection broke, as planned");
}

static rr_status faulty_open(const char *url, const rr_store_options *options, rr_store **store, rr_error *error)
{
    (void)options;
    *store = NULL;
    return rr_fail(error, RR_CONFIG, "store %s: a faulty store wraps one that is open", url);
}

static void faulty_close(rr_store *store)
{
    if (store != NULL) {
        store->ops->close(store->inner);
        rr_arena_fini(&store->arena);
        free(store);
    }
}

static rr_status faulty_load(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    return meet(store, RR_FAULT_LOAD) != NULL ? broken(error)
                                              : store->ops->load(store->inner, loads, count, arena, error);
}

static rr_status faulty_read_parts(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena,
                                   rr_error *error)
{
    return meet(store, RR_FAULT_READ_PARTS) != NULL ? broken(error)
                                                    : store->ops->read_parts(store->inner, reads, count, arena, error);
}

static void forget_answers(rr_swap *swaps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        swaps[i].answer = RR_SWAP_UNKNOWN;
        swaps[i].current = (rr_slice){NULL, 0};
        swaps[i].error.status = RR_OK;
        swaps[i].error.text[0] = '\0';
    }
}

static rr_status faulty_swap(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    const rr_fault *fault = meet(store, RR_FAULT_SWAP);
    size_t good = fault == NULL || fault->from_item > count ? count : fault->from_item;
    rr_status status = RR_OK;

    if (good != 0 || count == 0) {
        status = store->ops->swap(store->inner, swaps, good, arena, error);
    }
    if (status == RR_OK && fault != NULL && fault->kind == RR_FAULT_UNCONFIRMED) {
        status = store->ops->swap(store->inner, swaps + good, count - good, arena, error);
        return status == RR_OK ? broken(error) : status;
    }
    if (fault == NULL || good == count || status != RR_OK) {
        forget_answers(swaps + good, count - good);
        return status;
    }
    if (fault->kind == RR_FAULT_NO_ANSWER) {
        store->ops->swap(store->inner, swaps + good, count - good, arena, error);
    } else if (fault->kind == RR_FAULT_LATE) {
        keep_for_later(store, swaps + good, count - good, fault->late);
    }
    forget_answers(swaps + good, count - good);
    return broken(error);
}

static rr_status faulty_confirm(rr_store *store, rr_error *error)
{
    return meet(store, RR_FAULT_CONFIRM) != NULL ? broken(error) : store->ops->confirm(store->inner, error);
}

static rr_status faulty_log_read(rr_store *store, rr_slice log_key, const char *consumer, int idle_ms, size_t most,
                                 rr_arena *arena, rr_log_entry **entries, size_t *count, rr_error *error)
{
    pass(store);
    return store->ops->log_read(store->inner, log_key, consumer, idle_ms, most, arena, entries, count, error);
}

static rr_status faulty_log_done(rr_store *store, rr_slice log_key, const rr_slice *ids, size_t count, rr_error *error)
{
    pass(store);
    return store->ops->log_done(store->inner, log_key, ids, count, error);
}

static rr_status faulty_note_get(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error)
{
    pass(store);
    return store->ops->note_get(store->inner, key, arena, value, error);
}

static rr_status faulty_note_set(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                                 const rr_store_identity *incarnation, bool *done, rr_error *error)
{
    pass(store);
    return store->ops->note_set(store->inner, key, expected, value, ttl_ms, incarnation, done, error);
}

static rr_status faulty_note_put(rr_store *store, rr_slice key, rr_slice value, int64_t ttl_ms, rr_error *error)
{
    pass(store);
    return store->ops->note_put(store->inner, key, value, ttl_ms, error);
}

static rr_status faulty_identity(rr_store *store, rr_store_identity *identity, rr_error *error)
{
    pass(store);
    return store->ops->identity(store->inner, identity, error);
}

static rr_status faulty_scan(rr_store *store, rr_slice prefix, bool (*each)(void *context, rr_slice key), void *context,
                             rr_error *error)
{
    pass(store);
    return store->ops->scan(store->inner, prefix, each, context, error);
}

static rr_status faulty_sweep(rr_store *store, rr_slice prefix, bool (*gone)(void *context, rr_slice key),
                              void *context, uint64_t *removed, rr_error *error)
{
    pass(store);
    return store->ops->sweep(store->inner, prefix, gone, context, removed, error);
}

const rr_store_ops rr_store_faulty_ops = {
    .scheme = "faulty",
    .open = faulty_open,
    .close = faulty_close,
    .load = faulty_load,
    .read_parts = faulty_read_parts,
    .swap = faulty_swap,
    .confirm = faulty_confirm,
    .log_read = faulty_log_read,
    .log_done = faulty_log_done,
    .note_get = faulty_note_get,
    .note_set = faulty_note_set,
    .note_put = faulty_note_put,
    .identity = faulty_identity,
    .scan = faulty_scan,
    .sweep = faulty_sweep,
};
