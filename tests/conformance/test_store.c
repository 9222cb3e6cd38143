/* The store port's promises, one suite for every store, and what only a server can get wrong.
 * Runs against memory, against memory behind the faulty wrapper, and against a private redis-server. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "servers.h"
#include "store_faulty.h"
#include "store_memory.h"
#include "store_redis.h"

enum { TIMEOUT_MS = 1000, VALUE_MAX = 4096 };

#define BIRTH "Birth-_0"

typedef struct world {
    const rr_store_ops *ops;
    rr_store *store;
    rr_arena arena;
    rr_error error;
    char prefix[32]; /* of this test's keys */
} world;

static rr_server server;
static redisContext *raw; /* a second connection, for what other programs do */

/* ---- words of the tests ---- */

static rr_slice text(const char *literal)
{
    return rr_slice_of(literal);
}

static rr_slice in_arena(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static rr_slice in_arena(world *w, const char *format, ...)
{
    char buffer[VALUE_MAX];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    return rr_arena_copy(&w->arena, (rr_slice){buffer, (size_t)len});
}

static rr_slice key(world *w, const char *name)
{
    return in_arena(w, "%s%s", w->prefix, name);
}

/* The token of a unit's n-th value, and such a value. */
static rr_slice token(world *w, unsigned n)
{
    return in_arena(w, BIRTH "ProcessProc%08u", n);
}

static rr_slice value(world *w, const char *body, unsigned n)
{
    return in_arena(w, "{\"state\":\"%s\",\"token\":\"" BIRTH "ProcessProc%08u\"}", body, n);
}

static bool same(rr_slice a, rr_slice b)
{
    return rr_slice_equal(a, b);
}

static void swap_all(world *w, rr_swap *swaps, size_t count)
{
    rr_status status = w->ops->swap(w->store, swaps, count, &w->arena, &w->error);

    if (status != RR_OK) {
        print_error("%s\n", w->error.text);
    }
    assert_int_equal(status, RR_OK);
}

static rr_swap_answer swap_one(world *w, rr_swap *swap)
{
    swap_all(w, swap, 1);
    if (swap->answer == RR_SWAP_UNKNOWN) {
        print_error("unknown: %s\n", swap->error.text);
    }
    return swap->answer;
}

/* What is under a key. */
static rr_slice load(world *w, rr_slice name)
{
    rr_load load = {.key = name};

    assert_int_equal(w->ops->load(w->store, &load, 1, &w->arena, &w->error), RR_OK);
    return load.value;
}

/* Makes a unit, with its first value. */
static void make(world *w, rr_slice name)
{
    rr_swap swap = {.key = name, .value = value(w, "first", 1)};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
}

static rr_slice part(world *w, rr_slice name, unsigned n, const char *id)
{
    rr_slice ids[1] = {text(id)};
    rr_parts_read read = {.key = name, .token = token(w, n), .ids = ids, .id_count = 1};

    assert_int_equal(w->ops->read_parts(w->store, &read, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(read.error.status, RR_OK);
    assert_false(read.changed);
    return read.found[0];
}

static size_t log_read(world *w, rr_slice log, const char *consumer, int idle_ms, rr_log_entry **entries)
{
    size_t count = 0;

    assert_int_equal(w->ops->log_read(w->store, log, consumer, idle_ms, 100, &w->arena, entries, &count, &w->error),
                     RR_OK);
    return count;
}

static void nap_ms(int ms)
{
    struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&nap, NULL);
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- loads and swaps of one value ---- */

static void an_absent_key_loads_as_empty(void **state)
{
    world *w = *state;

    assert_int_equal(load(w, key(w, "nothing")).len, 0);
}

static void where_no_replica_is_waited_for_all_is_confirmed(void **state)
{
    world *w = *state;

    assert_int_equal(w->ops->confirm(w->store, &w->error), RR_OK);
}

static void a_swap_that_expects_absence_makes_the_unit(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit");

    make(w, unit);
    assert_true(same(load(w, unit), value(w, "first", 1)));
}

static void a_swap_that_names_the_token_replaces_the_value(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit");
    rr_swap swap = {.key = unit, .token = token(w, 1), .value = value(w, "a longer second one", 2)};

    make(w, unit);
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_true(same(load(w, unit), swap.value));
}

static void a_swap_with_another_token_loses_and_shows_what_is_there(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit");
    rr_swap stale = {.key = unit, .token = token(w, 7), .value = value(w, "stale", 8)};
    rr_swap anew = {.key = unit, .value = value(w, "anew", 9)};

    make(w, unit);
    assert_int_equal(swap_one(w, &stale), RR_SWAP_LOST);
    assert_true(same(stale.current, value(w, "first", 1)));
    assert_int_equal(swap_one(w, &anew), RR_SWAP_LOST);
    assert_true(same(anew.current, value(w, "first", 1)));
    assert_true(same(load(w, unit), value(w, "first", 1)));
}

static void a_swap_that_expects_a_value_loses_where_there_is_none(void **state)
{
    world *w = *state;
    rr_swap swap = {.key = key(w, "gone"), .token = token(w, 1), .value = value(w, "x", 2)};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_LOST);
    assert_int_equal(swap.current.len, 0);
    assert_int_equal(load(w, swap.key).len, 0);
}

static void a_foreign_value_without_a_token_is_not_absence(void **state)
{
    world *w = *state;
    rr_swap swap = {.key = key(w, "short"), .value = value(w, "x", 1)};

    assert_int_equal(w->ops->note_put(w->store, swap.key, text("short"), 0, &w->error), RR_OK);
    assert_int_equal(swap_one(w, &swap), RR_SWAP_LOST);
    assert_true(same(swap.current, text("short")));
}

static void a_guard_compares_and_leaves_the_value(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit");
    rr_swap holds = {.key = unit, .token = token(w, 1)}, fails = {.key = unit, .token = token(w, 2)};
    rr_swap absent = {.key = key(w, "absent")}, present = {.key = unit};

    make(w, unit);
    assert_int_equal(swap_one(w, &holds), RR_SWAP_WON);
    assert_int_equal(swap_one(w, &fails), RR_SWAP_LOST);
    assert_int_equal(swap_one(w, &absent), RR_SWAP_WON);
    assert_int_equal(swap_one(w, &present), RR_SWAP_LOST);
    assert_true(same(load(w, unit), value(w, "first", 1)));
    assert_int_equal(load(w, absent.key).len, 0);
}

static void one_call_carries_many_units_and_each_has_its_own_answer(void **state)
{
    enum { MANY = 700 };
    world *w = *state;
    rr_swap *swaps = rr_arena_zero(&w->arena, MANY * sizeof *swaps);
    rr_load *loads = rr_arena_zero(&w->arena, MANY * sizeof *loads);

    for (unsigned i = 0; i < MANY; i++) {
        swaps[i] = (rr_swap){.key = in_arena(w, "%smany-%u", w->prefix, i), .value = value(w, "one", i)};
        swaps[i].expire_at_ms = i % 2 == 0 ? 0 : INT64_C(4102444800000);
        loads[i].key = swaps[i].key;
    }
    swap_all(w, swaps, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(swaps[i].answer, RR_SWAP_WON);
        swaps[i].token = token(w, i % 3 == 0 ? i + 1 : i);
        swaps[i].value = value(w, "two", i + MANY);
        swaps[i].partless = i % 4 < 2;
    }
    swap_all(w, swaps, MANY);
    assert_int_equal(w->ops->load(w->store, loads, MANY, &w->arena, &w->error), RR_OK);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(swaps[i].answer, i % 3 == 0 ? RR_SWAP_LOST : RR_SWAP_WON);
        assert_true(same(loads[i].value, i % 3 == 0 ? value(w, "one", i) : value(w, "two", i + MANY)));
        assert_true(i % 3 != 0 || same(swaps[i].current, loads[i].value));
    }
}

static void a_unit_that_stands_twice_in_a_call_is_swapped_in_order(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "twice");
    rr_swap swaps[4] = {
        {.key = unit, .value = value(w, "a", 1)},
        {.key = unit, .token = token(w, 1), .value = value(w, "b", 2), .partless = true},
        {.key = unit, .token = token(w, 1), .value = value(w, "c", 3), .partless = true},
        {.key = unit, .token = token(w, 2), .value = value(w, "d", 4)},
    };

    swap_all(w, swaps, 4);
    assert_int_equal(swaps[0].answer, RR_SWAP_WON);
    assert_int_equal(swaps[1].answer, RR_SWAP_WON);
    assert_int_equal(swaps[2].answer, RR_SWAP_LOST);
    assert_true(same(swaps[2].current, value(w, "b", 2)));
    assert_int_equal(swaps[3].answer, RR_SWAP_WON);
    assert_true(same(load(w, unit), value(w, "d", 4)));
}

static void a_side_that_is_a_unit_of_the_same_call_is_written_in_order(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit"), other = key(w, "other");
    rr_side side = {.key = unit, .value = value(w, "by side", 5)};
    rr_swap swaps[3] = {
        {.key = unit, .value = value(w, "a", 1)},
        {.key = other, .value = value(w, "b", 2), .sides = &side, .side_count = 1},
        {.key = unit, .token = token(w, 5), .value = value(w, "c", 6), .partless = true},
    };

    swap_all(w, swaps, 3);
    assert_int_equal(swaps[1].answer, RR_SWAP_WON);
    assert_int_equal(swaps[2].answer, RR_SWAP_WON);
    assert_true(same(load(w, unit), value(w, "c", 6)));
}

static void keys_and_values_may_hold_any_bytes(void **state)
{
    world *w = *state;
    char name[300], body[VALUE_MAX];
    size_t prefix = strlen(w->prefix), tail = value(w, "", 1).len;
    rr_swap swap = {0};

    memcpy(name, w->prefix, prefix);
    for (size_t i = 0; i < 256; i++) {
        name[prefix + i] = (char)i;
    }
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (char)(i * 7);
    }
    memcpy(body + sizeof body - tail, value(w, "", 1).data, tail);
    swap = (rr_swap){.key = {name, prefix + 256}, .value = {body, sizeof body}};
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_true(same(load(w, swap.key), swap.value));
    swap.token = token(w, 1);
    swap.value = value(w, "then", 2);
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_true(same(load(w, swap.key), swap.value));
}

static void a_senseless_swap_fails_alone_and_says_why(void **state)
{
    world *w = *state;
    rr_pair pair = {text("id"), text("x")};
    rr_slice entry = text("{}");
    rr_swap swaps[7] = {
        {.key = key(w, "a"), .token = text("short"), .value = value(w, "x", 1)},
        {.key = key(w, "b"), .value = text("tokenless")},
        {.key = key(w, "c"), .parts = &pair, .part_count = 1},
        {.key = key(w, "d"), .value = value(w, "x", 1), .open = RR_OPEN_ADD},
        {.key = key(w, "e"), .value = value(w, "x", 1), .entries = &entry, .entry_count = 1},
        {.value = value(w, "x", 1)},
        {.key = key(w, "good"), .value = value(w, "x", 1)},
    };

    swap_all(w, swaps, 7);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(swaps[i].answer, RR_SWAP_FAILED);
        assert_int_equal(swaps[i].error.status, RR_INTERNAL);
        assert_true(swaps[i].error.text[0] != '\0');
    }
    assert_int_equal(swaps[6].answer, RR_SWAP_WON);
    assert_int_equal(load(w, key(w, "d")).len, 0);
}

/* ---- sides, parts, open conflicts ---- */

static void sides_are_written_and_removed_with_the_unit(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "index"), left = key(w, "left"), right = key(w, "right");
    rr_side both[2] = {{.key = left, .value = text("L")}, {.key = right, .value = text("R")}};
    rr_side change[2] = {{.key = left}, {.key = right, .value = text("R2")}};
    rr_swap swap = {.key = unit, .value = value(w, "x", 1), .sides = both, .side_count = 2};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_true(same(load(w, left), text("L")));
    assert_true(same(load(w, right), text("R")));
    swap = (rr_swap){.key = unit, .token = token(w, 1), .value = value(w, "y", 2), .sides = change, .side_count = 2};
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_int_equal(load(w, left).len, 0);
    assert_true(same(load(w, right), text("R2")));
}

static void a_lost_swap_writes_none_of_what_it_carries(void **state)
{
    world *w = *state;
    rr_side side = {.key = key(w, "side"), .value = text("S")};
    rr_pair pair = {text("id"), text("part")};
    rr_slice entry = text("{}");
    rr_log_entry *entries;
    rr_swap swap = {.key = key(w, "unit"),
                    .token = token(w, 9),
                    .value = value(w, "x", 10),
                    .sides = &side,
                    .side_count = 1,
                    .parts = &pair,
                    .part_count = 1,
                    .log_key = key(w, "log"),
                    .entries = &entry,
                    .entry_count = 1,
                    .open = RR_OPEN_ADD,
                    .open_key = key(w, "open")};

    make(w, swap.key);
    assert_int_equal(swap_one(w, &swap), RR_SWAP_LOST);
    assert_int_equal(load(w, side.key).len, 0);
    assert_int_equal(part(w, swap.key, 1, "id").len, 0);
    assert_int_equal(log_read(w, swap.log_key, "d", 1000, &entries), 0);
}

static void parts_are_read_by_name_or_all(void **state)
{
    world *w = *state;
    rr_pair pairs[3] = {{text("a"), text("A")}, {text("b"), text("B")}, {{"c\0c", 3}, {"C\0C", 3}}};
    rr_slice ids[4] = {{"c\0c", 3}, text("none"), text("a"), text("b")};
    rr_swap swap = {.key = key(w, "unit"), .value = value(w, "x", 1), .parts = pairs, .part_count = 2};
    rr_parts_read reads[2];

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    pairs[0].bytes = text("A2");
    swap = (rr_swap){.key = swap.key, .token = token(w, 1), .value = value(w, "y", 2), .parts = pairs, .part_count = 3};
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    reads[0] = (rr_parts_read){.key = swap.key, .token = token(w, 2), .ids = ids, .id_count = 4};
    reads[1] = (rr_parts_read){.key = swap.key, .token = token(w, 2), .all = true};
    assert_int_equal(w->ops->read_parts(w->store, reads, 2, &w->arena, &w->error), RR_OK);
    assert_false(reads[0].changed);
    assert_true(same(reads[0].found[0], pairs[2].bytes));
    assert_int_equal(reads[0].found[1].len, 0);
    assert_true(same(reads[0].found[2], text("A2")));
    assert_true(same(reads[0].found[3], text("B")));
    assert_int_equal(reads[1].part_count, 3);
    for (size_t i = 0; i < 3; i++) {
        bool known = false;

        for (size_t j = 0; j < 3; j++) {
            known |= same(reads[1].parts[i].name, pairs[j].name) && same(reads[1].parts[i].bytes, pairs[j].bytes);
        }
        assert_true(known);
    }
}

static void parts_of_another_token_are_changed_not_read(void **state)
{
    world *w = *state;
    rr_slice ids[1] = {text("a")};
    rr_pair pair = {text("a"), text("A")};
    rr_swap swap = {.key = key(w, "unit"), .value = value(w, "x", 1), .parts = &pair, .part_count = 1};
    rr_parts_read reads[4] = {
        {.key = swap.key, .token = token(w, 2), .ids = ids, .id_count = 1},
        {.key = swap.key, .token = token(w, 1), .ids = ids, .id_count = 1},
        {.key = key(w, "gone"), .token = token(w, 1), .all = true},
        {.key = swap.key, .ids = ids, .id_count = 1},
    };

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_int_equal(w->ops->read_parts(w->store, reads, 4, &w->arena, &w->error), RR_OK);
    assert_true(reads[0].changed);
    assert_false(reads[1].changed);
    assert_true(same(reads[1].found[0], text("A")));
    assert_true(reads[2].changed);
    assert_true(reads[3].changed);
}

static void a_unit_without_parts_reads_none(void **state)
{
    world *w = *state;
    rr_parts_read read = {.key = key(w, "unit"), .token = token(w, 1), .all = true};

    make(w, read.key);
    assert_int_equal(w->ops->read_parts(w->store, &read, 1, &w->arena, &w->error), RR_OK);
    assert_false(read.changed);
    assert_int_equal(read.part_count, 0);
    assert_int_equal(part(w, read.key, 1, "any").len, 0);
}

static void many_parts_of_one_unit_go_in_one_swap(void **state)
{
    enum { MANY = 20000 };
    world *w = *state;
    rr_pair *pairs = rr_arena_take(&w->arena, MANY * sizeof *pairs);
    rr_slice *ids = rr_arena_take(&w->arena, MANY * sizeof *ids);
    rr_swap swap = {.key = key(w, "large"), .value = value(w, "x", 1), .parts = pairs, .part_count = MANY};
    rr_parts_read reads[2] = {{.key = swap.key, .token = token(w, 1), .ids = ids, .id_count = MANY},
                              {.key = swap.key, .token = token(w, 1), .all = true}};

    for (unsigned i = 0; i < MANY; i++) {
        ids[i] = in_arena(w, "contributor-%u", i);
        pairs[i] = (rr_pair){ids[i], in_arena(w, "fact %u", i)};
    }
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_int_equal(w->ops->read_parts(w->store, reads, 2, &w->arena, &w->error), RR_OK);
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(same(reads[0].found[i], pairs[i].bytes));
    }
    assert_int_equal(reads[1].part_count, MANY);
}

static void the_open_list_takes_part_in_the_swap(void **state)
{
    world *w = *state;
    rr_swap swap = {.key = key(w, "unit"),
                    .value = value(w, "x", 1),
                    .open = RR_OPEN_ADD,
                    .open_key = key(w, "open"),
                    .open_score_ms = INT64_C(1770000000123)};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    swap.token = token(w, 1);
    swap.value = value(w, "y", 2);
    swap.open = RR_OPEN_REMOVE;
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_true(same(load(w, swap.key), value(w, "y", 2)));
}

/* ---- logs ---- */

static void append(world *w, rr_slice log, const char *const *texts, size_t count)
{
    rr_slice entries[8];
    rr_swap swap = {.log_key = log, .entries = entries, .entry_count = count};

    for (size_t i = 0; i < count; i++) {
        entries[i] = text(texts[i]);
    }
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
}

static void entries_come_out_in_order_each_to_one_consumer(void **state)
{
    static const char *const texts[] = {"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"};
    world *w = *state;
    rr_slice log = key(w, "log");
    rr_log_entry *entries;

    assert_int_equal(log_read(w, log, "one", 10000, &entries), 0);
    append(w, log, texts, 3);
    assert_int_equal(log_read(w, log, "one", 10000, &entries), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(same(entries[i].bytes, text(texts[i])));
        assert_true(entries[i].id.len != 0);
    }
    assert_int_equal(log_read(w, log, "two", 10000, &entries), 0);
    append(w, log, texts, 1);
    assert_int_equal(log_read(w, log, "two", 10000, &entries), 1);
}

static void entries_that_are_not_done_go_to_another_after_a_while(void **state)
{
    static const char *const texts[] = {"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"};
    world *w = *state;
    rr_slice log = key(w, "log"), done;
    rr_log_entry *entries;

    append(w, log, texts, 3);
    assert_int_equal(log_read(w, log, "one", 50, &entries), 3);
    done = entries[1].id;
    assert_int_equal(w->ops->log_done(w->store, log, &done, 1, &w->error), RR_OK);
    nap_ms(80);
    append(w, log, texts, 1);
    assert_int_equal(log_read(w, log, "two", 50, &entries), 3);
    assert_true(same(entries[0].bytes, text(texts[0])));
    assert_true(same(entries[1].bytes, text(texts[2])));
    assert_int_equal(
        w->ops->log_done(w->store, log, (rr_slice[]){entries[0].id, entries[1].id, entries[2].id}, 3, &w->error),
        RR_OK);
    assert_int_equal(log_read(w, log, "one", 0, &entries), 0);
}

static void a_read_takes_no_more_than_asked_for(void **state)
{
    static const char *const texts[] = {"{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}", "{\"n\":5}"};
    world *w = *state;
    rr_slice log = key(w, "log");
    rr_log_entry *entries;
    size_t count;

    append(w, log, texts, 5);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(w->ops->log_read(w->store, log, "one", 60000, 2, &w->arena, &entries, &count, &w->error),
                         RR_OK);
        assert_int_equal(count, i < 2 ? 2 : 1);
        assert_true(same(entries[0].bytes, text(texts[2 * i])));
    }
    assert_int_equal(w->ops->log_read(w->store, log, "one", 0, 2, &w->arena, &entries, &count, &w->error), RR_OK);
    assert_int_equal(count, 2);
    assert_true(same(entries[0].bytes, text(texts[0])));
}

static void entries_are_appended_with_the_swap_they_belong_to(void **state)
{
    world *w = *state;
    rr_slice entry = text("{\"alert\":1}");
    rr_log_entry *entries;
    rr_swap swap = {.key = key(w, "unit"),
                    .value = value(w, "x", 1),
                    .log_key = key(w, "log"),
                    .entries = &entry,
                    .entry_count = 1};
    rr_swap guard = {
        .key = swap.key, .token = token(w, 1), .log_key = swap.log_key, .entries = &entry, .entry_count = 1};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_int_equal(swap_one(w, &guard), RR_SWAP_WON);
    assert_int_equal(log_read(w, swap.log_key, "d", 1000, &entries), 2);
    assert_true(same(load(w, swap.key), value(w, "x", 1)));
}

/* ---- notes, identity, walks ---- */

static rr_slice note(world *w, rr_slice name)
{
    rr_slice got;

    assert_int_equal(w->ops->note_get(w->store, name, &w->arena, &got, &w->error), RR_OK);
    return got;
}

static bool set_note(world *w, rr_slice name, const char *expected, const char *to, const rr_store_identity *same_as)
{
    bool done = true;

    assert_int_equal(w->ops->note_set(w->store, name, text(expected), text(to), 0, same_as, &done, &w->error), RR_OK);
    return done;
}

static void a_note_is_set_only_over_what_was_expected(void **state)
{
    world *w = *state;
    rr_slice name = key(w, "note");

    assert_int_equal(note(w, name).len, 0);
    assert_false(set_note(w, name, "x", "1", NULL));
    assert_true(set_note(w, name, "", "1", NULL));
    assert_false(set_note(w, name, "", "2", NULL));
    assert_true(set_note(w, name, "1", "2", NULL));
    assert_true(same(note(w, name), text("2")));
    assert_int_equal(w->ops->note_put(w->store, name, text("3"), 60000, &w->error), RR_OK);
    assert_true(same(note(w, name), text("3")));
    assert_true(set_note(w, name, "3", "", NULL));
    assert_int_equal(note(w, name).len, 0);
}

static void a_note_is_not_set_on_another_incarnation(void **state)
{
    world *w = *state;
    rr_slice name = key(w, "note");
    rr_store_identity self, again, other = {.incarnation = "another/server"};

    assert_int_equal(w->ops->identity(w->store, &self, &w->error), RR_OK);
    assert_int_equal(w->ops->identity(w->store, &again, &w->error), RR_OK);
    assert_true(self.incarnation[0] != '\0');
    assert_string_equal(self.incarnation, again.incarnation);
    assert_false(set_note(w, name, "", "1", &other));
    assert_int_equal(note(w, name).len, 0);
    assert_true(set_note(w, name, "", "1", &self));
}

typedef struct seen_keys {
    world *w;
    size_t count, limit;
    bool good;
} seen_keys;

static bool see_key(void *context, rr_slice name)
{
    seen_keys *seen = context;
    size_t prefix = strlen(seen->w->prefix);

    seen->good &= name.len > prefix && memcmp(name.data, seen->w->prefix, prefix) == 0;
    return ++seen->count < seen->limit;
}

static void a_walk_finds_the_units_under_a_prefix_taken_literally(void **state)
{
    world *w = *state;
    rr_pair pair = {text("id"), text("x")};
    seen_keys seen = {.w = w, .limit = 1000, .good = true}, first = {.w = w, .limit = 1, .good = true};
    rr_slice odd;

    snprintf(w->prefix, sizeof w->prefix, "w*[a]?\\%d:", rand());
    odd = in_arena(w, "wXa?%s", w->prefix + 7);
    make(w, odd);
    for (unsigned i = 0; i < 40; i++) {
        rr_swap swap = {
            .key = in_arena(w, "%s%u", w->prefix, i), .value = value(w, "x", i), .parts = &pair, .part_count = 1};

        assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    }
    assert_int_equal(w->ops->scan(w->store, text(w->prefix), see_key, &seen, &w->error), RR_OK);
    assert_true(seen.good);
    assert_int_equal(seen.count, 40);
    assert_int_equal(w->ops->scan(w->store, text(w->prefix), see_key, &first, &w->error), RR_OK);
    assert_int_equal(first.count, 1);
}

static bool all_but_kept(void *context, rr_slice name)
{
    rr_slice kept = text(context);

    return name.len < kept.len || memcmp(name.data + name.len - kept.len, kept.data, kept.len) != 0;
}

/* Of every kind, and nothing that stands beside the prefix. */
static void a_sweep_removes_what_it_is_told_to(void **state)
{
    world *w = *state;
    rr_pair pair = {text("id"), text("x")};
    rr_slice entry = text("{}"), beside = in_arena(w, "Z%s1", w->prefix), kept = in_arena(w, "%s-kept", w->prefix);
    rr_slice key = in_arena(w, "%sunit", w->prefix), side_key = in_arena(w, "%sside", w->prefix);
    rr_side side = {.key = side_key, .value = text("s")};
    rr_swap swap = {.key = key,
                    .value = value(w, "x", 1),
                    .parts = &pair,
                    .part_count = 1,
                    .sides = &side,
                    .side_count = 1,
                    .open = RR_OPEN_ADD,
                    .open_key = in_arena(w, "%sopen", w->prefix),
                    .open_score_ms = 1,
                    .log_key = in_arena(w, "%slog", w->prefix),
                    .entries = &entry,
                    .entry_count = 1};
    rr_parts_read read = {.key = key, .all = true};
    rr_log_entry *entries;
    uint64_t removed = 0;
    seen_keys seen = {.w = w, .limit = 1000, .good = true};

    make(w, beside);
    make(w, kept);
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_int_equal(w->ops->sweep(w->store, text(w->prefix), all_but_kept, "-kept", &removed, &w->error), RR_OK);
    assert_int_equal(removed, 5); /* value, parts, side, open, log */
    assert_int_equal(load(w, key).len, 0);
    assert_int_not_equal(load(w, kept).len, 0);
    assert_int_not_equal(load(w, beside).len, 0);
    assert_int_equal(w->ops->scan(w->store, text(w->prefix), see_key, &seen, &w->error), RR_OK);
    assert_int_equal(seen.count, 1);
    assert_int_equal(log_read(w, swap.log_key, "d", 0, &entries), 0);

    /* What comes after it finds nothing of before. */
    swap.parts = NULL;
    swap.part_count = swap.entry_count = 0;
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    read.token = rr_value_token(swap.value);
    assert_int_equal(w->ops->read_parts(w->store, &read, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(read.part_count, 0);
}

/* ---- keys that hold something else ---- */

/* Puts a sorted set under a name, by means of the port alone. */
static void poison(world *w, rr_slice name)
{
    rr_swap swap = {.key = in_arena(w, "%spoisoner-%u", w->prefix, (unsigned)rand()),
                    .value = value(w, "x", 1),
                    .open = RR_OPEN_ADD,
                    .open_key = name,
                    .open_score_ms = 1};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
}

static void expect_named(const rr_swap *swap, rr_slice name)
{
    assert_int_equal(swap->answer, RR_SWAP_FAILED);
    assert_int_equal(swap->error.status, RR_REFUSED_BY_SERVER);
    assert_non_null(memmem(swap->error.text, strlen(swap->error.text), name.data, name.len));
    assert_non_null(strstr(swap->error.text, "holds a sorted set, not a "));
}

static void a_poisoned_unit_fails_alone_and_is_named(void **state)
{
    world *w = *state;
    rr_slice bad = key(w, "bad");
    rr_swap swaps[4] = {{.key = key(w, "good-1"), .value = value(w, "x", 1)},
                        {.key = bad, .value = value(w, "x", 1)},
                        {.key = bad, .token = token(w, 1), .value = value(w, "y", 2)},
                        {.key = key(w, "good-2"), .value = value(w, "x", 1)}};
    rr_parts_read read = {.key = bad, .token = token(w, 1), .all = true};
    rr_load loads[2] = {{.key = bad}, {.key = key(w, "good-1")}};

    poison(w, bad);
    swap_all(w, swaps, 4);
    assert_int_equal(swaps[0].answer, RR_SWAP_WON);
    expect_named(&swaps[1], bad);
    expect_named(&swaps[2], bad);
    assert_int_equal(swaps[3].answer, RR_SWAP_WON);
    assert_int_equal(w->ops->load(w->store, loads, 2, &w->arena, &w->error), RR_OK);
    assert_int_equal(loads[0].value.len, 0);
    assert_true(loads[1].value.len != 0);
    assert_int_equal(w->ops->read_parts(w->store, &read, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(read.error.status, RR_REFUSED_BY_SERVER);
}

static void a_poisoned_companion_leaves_its_unit_unwritten(void **state)
{
    world *w = *state;
    rr_slice bad = key(w, "bad"), unit = key(w, "unit"), entry = text("{}");
    rr_slice parts_key = in_arena(w, "%sunit:parts:" BIRTH, w->prefix);
    rr_side side = {.key = bad, .value = text("S")}, fine = {.key = key(w, "fine"), .value = text("S")};
    rr_pair pair = {text("id"), text("x")};
    rr_swap by_side = {.key = unit, .value = value(w, "x", 1), .sides = &side, .side_count = 1};
    rr_swap by_log = {.key = unit,
                      .value = value(w, "x", 1),
                      .log_key = bad,
                      .entries = &entry,
                      .entry_count = 1,
                      .sides = &fine,
                      .side_count = 1};
    rr_swap by_parts = {.key = unit, .value = value(w, "x", 1), .parts = &pair, .part_count = 1};
    rr_swap alone = {.log_key = bad, .entries = &entry, .entry_count = 1};

    poison(w, bad);
    poison(w, parts_key);
    assert_int_equal(swap_one(w, &by_side), RR_SWAP_FAILED);
    expect_named(&by_side, bad);
    assert_int_equal(swap_one(w, &by_log), RR_SWAP_FAILED);
    expect_named(&by_log, bad);
    assert_int_equal(swap_one(w, &by_parts), RR_SWAP_FAILED);
    expect_named(&by_parts, parts_key);
    assert_int_equal(swap_one(w, &alone), RR_SWAP_FAILED);
    assert_int_equal(load(w, unit).len, 0);
    assert_int_equal(load(w, fine.key).len, 0);
}

static void a_poisoned_open_list_leaves_its_unit_unwritten(void **state)
{
    world *w = *state;
    rr_swap swap = {.key = key(w, "unit"), .value = value(w, "x", 1), .open = RR_OPEN_ADD, .open_key = key(w, "note")};

    assert_int_equal(w->ops->note_put(w->store, swap.open_key, text("a string"), 0, &w->error), RR_OK);
    assert_int_equal(swap_one(w, &swap), RR_SWAP_FAILED);
    assert_non_null(strstr(swap.error.text, "holds a string, not a sorted set"));
    assert_int_equal(load(w, swap.key).len, 0);
}

/* A poisoned part read, note and log are errors of their own, and the store goes on. */
static void poisoned_parts_notes_and_logs_are_refused_by_name(void **state)
{
    world *w = *state;
    rr_slice bad = key(w, "bad"), unit = key(w, "unit"), got;
    rr_parts_read read = {.key = unit, .token = token(w, 1), .all = true};
    rr_log_entry *entries;
    size_t count;
    bool done;

    make(w, unit);
    poison(w, bad);
    poison(w, in_arena(w, "%sunit:parts:" BIRTH, w->prefix));
    assert_int_equal(w->ops->read_parts(w->store, &read, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(read.error.status, RR_REFUSED_BY_SERVER);
    assert_non_null(strstr(read.error.text, "unit:parts:" BIRTH));
    assert_int_equal(w->ops->note_get(w->store, bad, &w->arena, &got, &w->error), RR_REFUSED_BY_SERVER);
    assert_int_equal(w->ops->note_set(w->store, bad, text(""), text("x"), 0, NULL, &done, &w->error),
                     RR_REFUSED_BY_SERVER);
    assert_int_equal(w->ops->log_read(w->store, bad, "d", 10, 10, &w->arena, &entries, &count, &w->error),
                     RR_REFUSED_BY_SERVER);
    assert_non_null(strstr(w->error.text, "bad"));
    assert_int_equal(load(w, unit).len, value(w, "first", 1).len);
}

/* ---- what only a server can do ---- */

/* A command as another program would give it; its answer as text. */
static const char *tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *tell(const char *format, ...)
{
    static char answer[512];
    char command[512];
    redisReply *reply;
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    reply = redisCommand(raw, command);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(answer, sizeof answer, "%lld", reply->integer);
    } else {
        snprintf(answer, sizeof answer, "%s", reply->str == NULL ? "" : reply->str);
    }
    freeReplyObject(reply);
    return answer;
}

static void connect_raw(void)
{
    raw = redisConnect("127.0.0.1", server.port);
    assert_non_null(raw);
    assert_int_equal(raw->err, 0);
}

/* Ends where a comma does not: keys of these tests need no quoting. */
static const char *name_of(world *w, const char *name)
{
    static char full[2][128];
    static int turn;

    turn = 1 - turn;
    snprintf(full[turn], sizeof full[turn], "%s%s", w->prefix, name);
    return full[turn];
}

static void values_parts_and_sides_expire_when_they_should(void **state)
{
    world *w = *state;
    int64_t at = clock_ms(CLOCK_REALTIME) + 3600000;
    rr_side side = {.key = key(w, "side"), .value = text("S"), .expire_at_ms = at + 1000};
    rr_pair pair = {text("id"), text("x")};
    rr_swap swap = {.key = key(w, "unit"),
                    .value = value(w, "x", 1),
                    .expire_at_ms = at,
                    .sides = &side,
                    .side_count = 1,
                    .parts = &pair,
                    .part_count = 1};
    rr_swap later = {.key = swap.key, .token = token(w, 1), .value = value(w, "y", 2), .expire_at_ms = at + 5};
    rr_swap never = {.key = swap.key, .token = token(w, 2), .value = value(w, "z", 3)};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_int_equal(atoll(tell("PEXPIRETIME %s", name_of(w, "unit"))), at);
    assert_int_equal(atoll(tell("PEXPIRETIME %s", name_of(w, "unit:parts:" BIRTH))), at);
    assert_int_equal(atoll(tell("PEXPIRETIME %s", name_of(w, "side"))), at + 1000);
    assert_int_equal(swap_one(w, &later), RR_SWAP_WON);
    assert_int_equal(atoll(tell("PEXPIRETIME %s", name_of(w, "unit"))), at + 5);
    assert_int_equal(atoll(tell("PEXPIRETIME %s", name_of(w, "unit:parts:" BIRTH))), at + 5);
    assert_int_equal(swap_one(w, &never), RR_SWAP_WON);
    assert_int_equal(atoll(tell("PEXPIRETIME %s", name_of(w, "unit"))), -1);
    assert_int_equal(atoll(tell("PEXPIRETIME %s", name_of(w, "unit:parts:" BIRTH))), -1);
}

static void a_time_that_is_past_is_the_end_of_the_value(void **state)
{
    world *w = *state;
    rr_swap swap = {.key = key(w, "unit"), .value = value(w, "x", 1), .expire_at_ms = -5};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_int_equal(load(w, swap.key).len, 0);
}

static void the_open_list_is_a_sorted_set_by_time(void **state)
{
    world *w = *state;
    rr_swap swap = {.key = key(w, "unit"),
                    .value = value(w, "x", 1),
                    .open = RR_OPEN_ADD,
                    .open_key = key(w, "open"),
                    .open_score_ms = INT64_C(1770000000123)};

    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_string_equal(tell("ZSCORE %s %s", name_of(w, "open"), name_of(w, "unit")), "1770000000123");
    swap.token = token(w, 1);
    swap.value = value(w, "y", 2);
    swap.open = RR_OPEN_REMOVE;
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    assert_string_equal(tell("EXISTS %s", name_of(w, "open")), "0");
}

/* Nobody takes an expired cell off the list; so listing another does. */
static void what_is_gone_leaves_the_open_list(void **state)
{
    world *w = *state;
    rr_swap swaps[2] = {
        {.key = key(w, "gone"), .value = value(w, "x", 1), .open = RR_OPEN_ADD, .open_key = key(w, "open")},
        {.key = key(w, "there"), .value = value(w, "x", 1), .open = RR_OPEN_ADD, .open_key = key(w, "open")}};
    rr_swap next = {.key = key(w, "next"), .value = value(w, "x", 1), .open = RR_OPEN_ADD, .open_key = key(w, "open")};

    swap_all(w, swaps, 2);
    assert_string_equal(tell("ZCARD %s", name_of(w, "open")), "2");
    tell("DEL %s", name_of(w, "gone"));
    assert_int_equal(swap_one(w, &next), RR_SWAP_WON);
    assert_string_equal(tell("ZCARD %s", name_of(w, "open")), "2");
    assert_string_equal(tell("ZSCORE %s %s", name_of(w, "open"), name_of(w, "there")), "0");
    assert_string_equal(tell("ZSCORE %s %s", name_of(w, "open"), name_of(w, "next")), "0");
}

static void a_list_under_our_prefix_is_never_overwritten(void **state)
{
    world *w = *state;
    rr_swap swaps[2] = {{.key = key(w, "list"), .value = value(w, "x", 1)},
                        {.key = key(w, "list"), .token = token(w, 1), .value = value(w, "x", 2), .partless = true}};

    tell("RPUSH %s a b", name_of(w, "list"));
    swap_all(w, swaps, 2);
    assert_int_equal(swaps[0].answer, RR_SWAP_FAILED);
    assert_int_equal(swaps[1].answer, RR_SWAP_FAILED);
    assert_non_null(strstr(swaps[0].error.text, "holds a list, not a string: another program writes under our prefix"));
    assert_string_equal(tell("LLEN %s", name_of(w, "list")), "2");
}

static void notes_end_after_their_time_to_live(void **state)
{
    world *w = *state;
    bool done;

    assert_int_equal(w->ops->note_put(w->store, key(w, "a"), text("x"), 60000, &w->error), RR_OK);
    assert_int_equal(w->ops->note_set(w->store, key(w, "b"), text(""), text("x"), 60000, NULL, &done, &w->error),
                     RR_OK);
    assert_true(atoll(tell("PTTL %s", name_of(w, "a"))) > 50000);
    assert_true(atoll(tell("PTTL %s", name_of(w, "b"))) > 50000);
}

static void the_log_is_capped(void **state)
{
    world *w = *state;
    rr_slice entries[100];
    rr_swap swap = {.log_key = key(w, "log"), .entries = entries, .entry_count = 100};

    for (size_t i = 0; i < 100; i++) {
        entries[i] = text("{}");
    }
    for (size_t i = 0; i < 30; i++) {
        assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
    }
    assert_true(atoll(tell("XLEN %s", name_of(w, "log"))) < 1300); /* 1000, in whole nodes */
}

static void flushed_functions_are_loaded_again(void **state)
{
    enum { MANY = 300 };
    world *w = *state;
    rr_swap swaps[MANY];
    rr_store_identity identity;

    tell("FUNCTION FLUSH");
    for (unsigned i = 0; i < MANY; i++) {
        swaps[i] = (rr_swap){.key = in_arena(w, "%s%u", w->prefix, i), .value = value(w, "x", i)};
    }
    swap_all(w, swaps, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(swaps[i].answer, RR_SWAP_WON);
    }
    tell("FUNCTION FLUSH");
    assert_int_equal(w->ops->identity(w->store, &identity, &w->error), RR_OK);
}

static void *kill_clients_soon(void *context)
{
    (void)context;
    nap_ms(100);
    tell("CLIENT KILL TYPE normal SKIPME yes");
    return NULL;
}

static void a_killed_connection_makes_swaps_unknown_and_heals(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit");
    rr_swap swap = {.key = unit, .token = token(w, 1), .value = value(w, "y", 2)};
    pthread_t killer;
    int64_t since;

    make(w, unit);
    tell("CLIENT PAUSE 5000 WRITE");
    assert_int_equal(pthread_create(&killer, NULL, kill_clients_soon, NULL), 0);
    since = clock_ms(CLOCK_MONOTONIC);
    assert_int_equal(w->ops->swap(w->store, &swap, 1, &w->arena, &w->error), RR_UNAVAILABLE);
    assert_int_equal(swap.answer, RR_SWAP_UNKNOWN);
    assert_non_null(strstr(w->error.text, "closed the connection"));
    assert_true(clock_ms(CLOCK_MONOTONIC) - since < TIMEOUT_MS);
    pthread_join(killer, NULL);
    tell("CLIENT UNPAUSE");
    assert_true(same(load(w, unit), value(w, "first", 1)));
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
}

static void a_silent_server_times_out_and_its_late_answer_is_never_taken(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit"), now;
    rr_swap swap = {.key = unit, .token = token(w, 1), .value = value(w, "y", 2)};
    int64_t since;

    make(w, unit);
    rr_server_pause(&server);
    since = clock_ms(CLOCK_MONOTONIC);
    assert_int_equal(w->ops->swap(w->store, &swap, 1, &w->arena, &w->error), RR_UNAVAILABLE);
    since = clock_ms(CLOCK_MONOTONIC) - since;
    rr_server_resume(&server);
    assert_true(since >= TIMEOUT_MS - 50 && since < TIMEOUT_MS + 500);
    assert_int_equal(swap.answer, RR_SWAP_UNKNOWN);
    assert_non_null(strstr(w->error.text, "timed out after 1000 ms"));
    now = load(w, unit);
    assert_true(same(now, value(w, "y", 2)) || same(now, value(w, "first", 1)));
}

static void a_stopped_server_is_unavailable_at_once_and_comes_back_as_another(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit");
    rr_swap swap = {.key = unit, .token = token(w, 1), .value = value(w, "y", 2)};
    rr_load loads[1] = {{.key = unit}};
    rr_store_identity before, after;
    int64_t since;
    bool done;

    make(w, unit);
    assert_int_equal(w->ops->identity(w->store, &before, &w->error), RR_OK);
    rr_server_kill(&server);
    since = clock_ms(CLOCK_MONOTONIC);
    assert_int_equal(w->ops->swap(w->store, &swap, 1, &w->arena, &w->error), RR_UNAVAILABLE);
    assert_int_equal(swap.answer, RR_SWAP_UNKNOWN);
    assert_int_equal(w->ops->load(w->store, loads, 1, &w->arena, &w->error), RR_UNAVAILABLE);
    assert_non_null(strstr(w->error.text, "cannot connect"));
    assert_true(clock_ms(CLOCK_MONOTONIC) - since < 500);
    assert_true(rr_server_restart(&server, false));
    redisFree(raw);
    connect_raw();
    assert_int_equal(load(w, unit).len, 0);
    assert_int_equal(w->ops->identity(w->store, &after, &w->error), RR_OK);
    assert_string_not_equal(before.incarnation, after.incarnation);
    assert_int_equal(
        w->ops->note_set(w->store, key(w, "checkpoint"), text(""), text("floor"), 0, &before, &done, &w->error), RR_OK);
    assert_false(done);
    make(w, unit);
}

/* A server that was restarted must show itself: no connection is replaced without an UNAVAILABLE. */
static void a_server_that_went_and_came_back_is_not_taken_for_the_same(void **state)
{
    world *w = *state;
    rr_load loads[1] = {{.key = key(w, "unit")}};

    make(w, loads[0].key);
    rr_server_kill(&server);
    assert_true(rr_server_restart(&server, false));
    redisFree(raw);
    connect_raw();
    assert_int_equal(w->ops->load(w->store, loads, 1, &w->arena, &w->error), RR_UNAVAILABLE);
    assert_int_equal(load(w, loads[0].key).len, 0);
}

static void a_full_server_refuses_before_it_writes(void **state)
{
    world *w = *state;
    rr_slice unit = key(w, "unit");
    rr_swap swap = {.key = unit, .token = token(w, 1), .value = value(w, "y", 2)};

    make(w, unit);
    tell("CONFIG SET maxmemory 1");
    assert_int_equal(w->ops->swap(w->store, &swap, 1, &w->arena, &w->error), RR_REFUSED_BY_SERVER);
    assert_int_equal(swap.answer, RR_SWAP_UNKNOWN);
    assert_non_null(strstr(w->error.text, "OOM"));
    tell("CONFIG SET maxmemory 0");
    assert_true(same(load(w, unit), value(w, "first", 1)));
    assert_int_equal(swap_one(w, &swap), RR_SWAP_WON);
}

/* A server that answers, and refuses writes: by a swap that is one command, by one of the function, by a note and by an
 * entry alone. Nothing is done, no unit is blamed for it, and afterwards all of it works. */
static void expect_refused_writes(world *w, const char *word)
{
    rr_slice entry = text("{}");
    rr_swap rows[] = {
        {.key = in_arena(w, "%snew-%s", w->prefix, word), .value = value(w, "x", 1)},
        {.key = in_arena(w, "%sthere", w->prefix), .token = token(w, 1), .value = value(w, "y", 1)},
        {.key = in_arena(w, "%sexpires", w->prefix),
         .token = token(w, 1),
         .value = value(w, "y", 1),
         .expire_at_ms = clock_ms(CLOCK_REALTIME) + 100000},
        {.key = in_arena(w, "%slogged", w->prefix),
         .token = token(w, 1),
         .value = value(w, "y", 1),
         .log_key = in_arena(w, "%slog", w->prefix),
         .entries = &entry,
         .entry_count = 1},
        {.log_key = in_arena(w, "%slog", w->prefix), .entries = &entry, .entry_count = 1},
    };

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        w->error = (rr_error){0};
        assert_int_equal(w->ops->swap(w->store, &rows[k], 1, &w->arena, &w->error), RR_REFUSED_BY_SERVER);
        assert_int_equal(w->error.status, RR_REFUSED_BY_SERVER);
        assert_int_equal(rows[k].answer, RR_SWAP_UNKNOWN);
        assert_int_equal(rows[k].error.status, RR_OK);
        if (strstr(w->error.text, word) == NULL) {
            fail_msg("'%s' does not say '%s'", w->error.text, word);
        }
    }
    assert_int_equal(w->ops->note_put(w->store, in_arena(w, "%snote", w->prefix), text("x"), 0, &w->error),
                     RR_REFUSED_BY_SERVER);
}

static void each_kind_of_refusal_is_told_as_one(void **state)
{
    static const struct {
        const char *word, *begin, *end;
    } rows[] = {
        {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
        {"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
        {"NOREPLICAS", "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"},
    };
    static const char *const names[] = {"there", "expires", "logged"};
    world *w = *state;

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        make(w, in_arena(w, "%s%s", w->prefix, names[k]));
    }
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rr_slice unit = in_arena(w, "%safter-%zu", w->prefix, k);

        tell("%s", rows[k].begin);
        expect_refused_writes(w, rows[k].word);
        tell("%s", rows[k].end);
        make(w, unit);
    }
}

/* Permissions that are taken away while the store is open, also ones that only the function needs. */
static void a_lost_permission_is_a_refusal(void **state)
{
    static const char *const lost[] = {"-fcall -set", "-mset -set", "-getrange -get -set"};
    world *w = *state;
    rr_slice there = key(w, "there");
    rr_parts_read read = {.key = there, .token = token(w, 1), .all = true};
    rr_load loads[1] = {{.key = there}};
    rr_store *store = NULL;
    char url[128];

    make(w, there);
    tell("ACL SETUSER limited on >secret ~* &* +@all");
    snprintf(url, sizeof url, "redis://limited:secret@127.0.0.1:%d", server.port);
    assert_int_equal(w->ops->open(url, NULL, &store, &w->error), RR_OK);
    for (size_t k = 0; k < sizeof lost / sizeof *lost; k++) {
        rr_swap swaps[2] = {{.key = there, .token = token(w, 1), .value = value(w, "y", 2)},
                            {.key = in_arena(w, "%snew-%zu", w->prefix, k), .value = value(w, "x", 1)}};
        char order[128];

        snprintf(order, sizeof order, "ACL SETUSER limited %s", lost[k]);
        tell("%s", order);
        assert_int_equal(w->ops->swap(store, swaps, 2, &w->arena, &w->error), RR_REFUSED_BY_SERVER);
        assert_int_equal(swaps[0].answer, RR_SWAP_UNKNOWN);
        assert_int_equal(swaps[0].error.status, RR_OK);
        assert_non_null(strstr(w->error.text, "redis at "));
        tell("ACL SETUSER limited +@all");
    }
    tell("ACL SETUSER limited -hgetall");
    assert_int_equal(w->ops->read_parts(store, &read, 1, &w->arena, &w->error), RR_REFUSED_BY_SERVER);
    tell("ACL SETUSER limited -mget");
    assert_int_equal(w->ops->load(store, loads, 1, &w->arena, &w->error), RR_REFUSED_BY_SERVER);
    tell("ACL SETUSER limited +@all");
    assert_int_equal(w->ops->read_parts(store, &read, 1, &w->arena, &w->error), RR_OK);
    w->ops->close(store);
    assert_true(same(load(w, there), value(w, "first", 1)));
}

/* A password that was right and is no longer is no wrong configuration of ours: the store waits for it. */
static void a_password_that_was_changed_is_a_refusal(void **state)
{
    world *w = *state;
    rr_load loads[1] = {{.key = key(w, "unit")}};
    rr_store *store = NULL;
    char url[128];

    tell("ACL SETUSER changed on >first ~* &* +@all");
    snprintf(url, sizeof url, "redis://changed:first@127.0.0.1:%d", server.port);
    assert_int_equal(w->ops->open(url, NULL, &store, &w->error), RR_OK);
    tell("ACL SETUSER changed resetpass >second");
    tell("CLIENT KILL USER changed");
    assert_int_equal(w->ops->load(store, loads, 1, &w->arena, &w->error), RR_UNAVAILABLE);
    assert_int_equal(w->ops->load(store, loads, 1, &w->arena, &w->error), RR_REFUSED_BY_SERVER);
    assert_non_null(strstr(w->error.text, "WRONGPASS"));
    tell("ACL SETUSER changed resetpass >first");
    assert_int_equal(w->ops->load(store, loads, 1, &w->arena, &w->error), RR_OK);
    w->ops->close(store);
}

/* ---- opening ---- */

static rr_status try_open(const char *url, const char *password, rr_error *error)
{
    rr_store_options options = {.timeout_ms = TIMEOUT_MS, .password = password};
    rr_store *store = NULL;
    rr_status status = rr_store_redis_ops.open(url, &options, &store, error);

    assert_true((status == RR_OK) == (store != NULL));
    rr_store_redis_ops.close(store);
    return status;
}

static void urls_that_cannot_be_read_are_refused_without_the_password(void **state)
{
    static const char *const urls[] = {
        "http://x",
        "redis://",
        "redis://:secret@",
        "redis://u:secret@host:port",
        "redis://u:sec%zzret@host:1",
        "redis://u:secret@host:70000",
        "redis://h:1/x",
        "redis://[::1:1",
        "unix://relative",
        "unix:///p?x=1",
        "unix:///p?db=x",
        "rediss://u:secret@host",
        "redis://a%00b@host",
        "",
    };
    (void)state;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        rr_error error = {0};

        assert_int_equal(try_open(urls[i], NULL, &error), RR_CONFIG);
        assert_null(strstr(error.text, "secret"));
        assert_true(error.text[0] != '\0');
    }
}

static void passwords_databases_and_sockets_are_understood(void **state)
{
    char url[256], socket_path[128];
    rr_error error = {0};
    (void)state;

    tell("ACL SETUSER us@er on >p:a/ss ~* &* +@all");
    snprintf(url, sizeof url, "redis://us%%40er:p%%3Aa%%2Fss@127.0.0.1:%d/3", server.port);
    assert_int_equal(try_open(url, NULL, &error), RR_OK);
    assert_int_equal(try_open(url, "wrong", &error), RR_CONFIG);
    assert_non_null(strstr(error.text, "WRONGPASS"));
    assert_null(strstr(error.text, "p:a"));
    snprintf(url, sizeof url, "redis://us%%40er@127.0.0.1:%d", server.port);
    assert_int_equal(try_open(url, "p:a/ss", &error), RR_OK);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d/99999", server.port);
    assert_int_equal(try_open(url, NULL, &error), RR_CONFIG);
    snprintf(socket_path, sizeof socket_path, "%s/r.sock", server.folder);
    snprintf(url, sizeof url, "unix://%s?db=2", socket_path);
    assert_int_equal(try_open(url, NULL, &error), RR_OK);
    assert_int_equal(try_open("redis://127.0.0.1:1", NULL, &error), RR_UNAVAILABLE);
    assert_non_null(strstr(error.text, "127.0.0.1:1"));
}

/* Answers INFO as another server would, for one connection. */
typedef struct impostor {
    int listener;
    const char *info;
} impostor;

static void *answer_info(void *context)
{
    impostor *at = context;
    int peer = accept(at->listener, NULL, NULL);
    char in[1024], out[1024];

    while (peer >= 0 && recv(peer, in, sizeof in, 0) > 0) {
        int len = at->info[0] == '-' ? snprintf(out, sizeof out, "%s\r\n", at->info)
                                     : snprintf(out, sizeof out, "$%zu\r\n%s\r\n", strlen(at->info), at->info);

        if (send(peer, out, (size_t)len, MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    close(peer);
    return NULL;
}

static rr_status open_impostor(const char *info, rr_error *error)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof where;
    impostor at = {.listener = socket(AF_INET, SOCK_STREAM, 0), .info = info};
    pthread_t thread;
    rr_status status;
    char url[64];

    assert_int_equal(bind(at.listener, (struct sockaddr *)&where, sizeof where), 0);
    assert_int_equal(listen(at.listener, 1), 0);
    assert_int_equal(getsockname(at.listener, (struct sockaddr *)&where, &len), 0);
    assert_int_equal(pthread_create(&thread, NULL, answer_info, &at), 0);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", ntohs(where.sin_port));
    status = try_open(url, NULL, error);
    pthread_join(thread, NULL);
    close(at.listener);
    return status;
}

static void old_servers_clusters_and_strangers_are_refused_in_words(void **state)
{
    rr_error error = {0};
    (void)state;

    assert_int_equal(open_impostor("# Server\r\nredis_version:6.2.7\r\n", &error), RR_CONFIG);
    assert_non_null(strstr(error.text, "version 6.2.7"));
    assert_non_null(strstr(error.text, "7.0 or newer"));
    assert_int_equal(open_impostor("redis_version:7.0.15\r\ncluster_enabled:1\r\n", &error), RR_CONFIG);
    assert_non_null(strstr(error.text, "cluster"));
    assert_int_equal(open_impostor("hello", &error), RR_UNAVAILABLE);
    assert_non_null(strstr(error.text, "is this a Redis server?"));
}

/* At the first connection a refusal of what we are is a wrong configuration; any other one may pass. */
static void a_refusal_at_the_start_is_told_by_its_kind(void **state)
{
    static const struct {
        const char *answer;
        rr_status status;
    } rows[] = {
        {"-LOADING Redis is loading the dataset in memory", RR_REFUSED_BY_SERVER},
        {"-BUSY Redis is busy running a script", RR_REFUSED_BY_SERVER},
        {"-MASTERDOWN Link with MASTER is down", RR_REFUSED_BY_SERVER},
        {"-MISCONF Errors writing to the AOF file", RR_REFUSED_BY_SERVER},
        {"-ERR max number of clients reached", RR_REFUSED_BY_SERVER},
        {"-NOAUTH Authentication required.", RR_CONFIG},
        {"-NOPERM this user has no permissions to run the 'info' command", RR_CONFIG},
    };
    (void)state;

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rr_error error = {0};

        assert_int_equal(open_impostor(rows[k].answer, &error), rows[k].status);
        assert_non_null(strstr(error.text, rows[k].answer + 1));
    }
}

/* ---- the wrapper ---- */

static void faults_come_when_they_are_planned(void **state)
{
    static const rr_fault plan[] = {
        {.op = RR_FAULT_SWAP, .kind = RR_FAULT_NOT_SENT, .nth = 2},
        {.op = RR_FAULT_SWAP, .kind = RR_FAULT_NO_ANSWER, .nth = 3, .from_item = 1},
        {.op = RR_FAULT_SWAP, .kind = RR_FAULT_LATE, .nth = 4, .late = 2},
        {.op = RR_FAULT_LOAD, .kind = RR_FAULT_NOT_SENT, .nth = 4},
    };
    world w = {.ops = &rr_store_faulty_ops};
    rr_store *inner = NULL;
    rr_load again = {0};
    rr_swap swaps[2];
    (void)state;

    rr_arena_init(&w.arena, 0);
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &inner, &w.error), RR_OK);
    w.store = rr_store_faulty_new(&rr_store_memory_ops, inner, plan, sizeof plan / sizeof *plan);
    make(&w, text("a"));
    swaps[0] = (rr_swap){.key = text("b"), .value = value(&w, "x", 1)};
    assert_int_equal(w.ops->swap(w.store, swaps, 1, &w.arena, &w.error), RR_UNAVAILABLE);
    assert_int_equal(swaps[0].answer, RR_SWAP_UNKNOWN);
    assert_int_equal(load(&w, text("b")).len, 0);
    swaps[1] = (rr_swap){.key = text("c"), .value = value(&w, "x", 1)};
    assert_int_equal(w.ops->swap(w.store, swaps, 2, &w.arena, &w.error), RR_UNAVAILABLE);
    assert_int_equal(swaps[0].answer, RR_SWAP_WON);
    assert_int_equal(swaps[1].answer, RR_SWAP_UNKNOWN);
    assert_int_equal(load(&w, text("c")).len, swaps[1].value.len);
    swaps[0] = (rr_swap){.key = text("d"), .value = value(&w, "x", 1)};
    assert_int_equal(w.ops->swap(w.store, swaps, 1, &w.arena, &w.error), RR_UNAVAILABLE);
    assert_int_equal(load(&w, text("d")).len, 0);
    again.key = text("d");
    assert_int_equal(w.ops->load(w.store, &again, 1, &w.arena, &w.error), RR_UNAVAILABLE);
    assert_int_equal(load(&w, text("d")).len, swaps[0].value.len);
    assert_int_equal(rr_store_faulty_calls(w.store, RR_FAULT_SWAP), 4);
    w.ops->close(w.store);
    rr_arena_fini(&w.arena);
}

/* ---- replicas that are waited for ---- */

typedef struct waiting {
    world w; /* by a connection that waits */
    rr_server replica;
} waiting;

/* Until its replica has confirmed, or for good it has not. */
static rr_status confirm_at_last(world *w)
{
    rr_status status = RR_UNAVAILABLE;

    for (int k = 0; k < 100 && status == RR_UNAVAILABLE; k++) {
        status = w->ops->confirm(w->store, &w->error);
    }
    return status;
}

static void begin_waiting(waiting *at, const world *like)
{
    static char port[16];
    static const char *const follows[] = {"--replicaof", "127.0.0.1", port, "--repl-diskless-sync-delay", "0", NULL};
    rr_store_options options = {.timeout_ms = 1000, .wait_replicas = 1, .prefix = at->w.prefix};

    snprintf(port, sizeof port, "%d", server.port);
    at->w.ops = like->ops;
    at->w.error = (rr_error){0};
    snprintf(at->w.prefix, sizeof at->w.prefix, "%s", like->prefix);
    rr_arena_init(&at->w.arena, 0);
    tell("CONFIG SET repl-diskless-sync-delay 0");
    assert_true(rr_server_start_redis(&at->replica, follows));
    assert_int_equal(at->w.ops->open(server.url, &options, &at->w.store, &at->w.error), RR_OK);
    assert_int_equal(confirm_at_last(&at->w), RR_OK);
}

static void end_waiting(waiting *at)
{
    at->w.ops->close(at->w.store);
    rr_server_fini(&at->replica);
    rr_arena_fini(&at->w.arena);
}

static void assert_unconfirmed(const world *w, rr_status status)
{
    assert_int_equal(status, RR_UNAVAILABLE);
    assert_non_null(strstr(w->error.text, "only 0 of 1 replicas have confirmed within 1000 ms"));
}

static void a_swap_is_not_done_until_its_replica_has_it(void **state)
{
    waiting at;
    rr_swap swap;

    begin_waiting(&at, *state);
    swap = (rr_swap){.key = key(&at.w, "unit"), .value = value(&at.w, "first", 1)};
    rr_server_pause(&at.replica);
    assert_unconfirmed(&at.w, at.w.ops->swap(at.w.store, &swap, 1, &at.w.arena, &at.w.error));
    assert_int_equal(swap.answer, RR_SWAP_WON); /* it keeps its answer */
    rr_server_resume(&at.replica);
    assert_int_equal(confirm_at_last(&at.w), RR_OK);
    end_waiting(&at);
}

/* What another connection wrote is covered too. */
static void what_was_only_read_can_be_confirmed(void **state)
{
    waiting at;

    begin_waiting(&at, *state);
    rr_server_pause(&at.replica);
    make(*state, key(&at.w, "unit")); /* waits for nobody */
    assert_true(same(load(&at.w, key(&at.w, "unit")), value(&at.w, "first", 1)));
    assert_unconfirmed(&at.w, at.w.ops->confirm(at.w.store, &at.w.error));
    assert_int_equal(((world *)*state)->ops->confirm(((world *)*state)->store, NULL), RR_OK);
    rr_server_resume(&at.replica);
    assert_int_equal(confirm_at_last(&at.w), RR_OK);
    end_waiting(&at);
}

/* ---- groups ---- */

static int begin_test(void **state)
{
    static unsigned count;
    world *w = *state;

    rr_arena_reset(&w->arena);
    w->error = (rr_error){0};
    snprintf(w->prefix, sizeof w->prefix, "t%u:", ++count);
    return 0;
}

static int open_world(void **state, const rr_store_ops *ops, const char *url)
{
    world *w = calloc(1, sizeof *w);
    rr_store_options options = {.timeout_ms = TIMEOUT_MS, .log_max = 1000};

    rr_arena_init(&w->arena, 0);
    w->ops = ops;
    if (ops->open(url, &options, &w->store, &w->error) != RR_OK) {
        print_error("%s\n", w->error.text);
        return -1;
    }
    *state = w;
    return 0;
}

static int open_memory(void **state)
{
    return open_world(state, &rr_store_memory_ops, "memory:");
}

static int open_faulty(void **state)
{
    int failed = open_memory(state);
    world *w = *state;

    if (failed == 0) {
        w->store = rr_store_faulty_new(w->ops, w->store, NULL, 0);
        w->ops = &rr_store_faulty_ops;
    }
    return failed;
}

static int open_redis(void **state)
{
    static const char *const extra[] = {"--unixsocket", "../r.sock", NULL};

    if (!rr_server_start_redis(&server, extra)) {
        return -1;
    }
    connect_raw();
    return open_world(state, &rr_store_redis_ops, server.url);
}

/* Each item by itself, while those before it are under way. */
static rr_status load_in_pieces(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = count == 0 ? RR_OK : rr_store_redis_ops.load_ahead(store, loads, count, arena, error);

    for (size_t ready = 0; status == RR_OK && ready < count;) {
        size_t before = ready;

        status = rr_store_redis_ops.load_next(store, &ready, error);
        assert_true(status != RR_OK || (ready > before && ready <= count));
    }
    return status;
}

static rr_status swap_in_pieces(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; status == RR_OK && k < count; k++) {
        status = rr_store_redis_ops.swap_ahead(store, &swaps[k], 1, arena, error);
    }
    return status == RR_OK && count != 0 ? rr_store_redis_ops.swap_end(store, error) : status;
}

static void what_was_given_up_half_way_is_nobodys_answer(void **state)
{
    world *w = *state;
    rr_load load = {.key = RR_SLICE("rr:{c:given-up}:v")};
    rr_slice value;

    assert_int_equal(w->ops->note_put(w->store, RR_SLICE("rr:note"), RR_SLICE("mine"), 0, &w->error), RR_OK);
    assert_int_equal(w->ops->load_ahead(w->store, &load, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(w->ops->note_get(w->store, RR_SLICE("rr:note"), &w->arena, &value, &w->error), RR_OK);
    assert_true(rr_slice_equal(value, RR_SLICE("mine")));
}

/* More swaps that make a value alone than a round holds: each is a command of its own. */
enum { OVER_A_ROUND = 1100 };

static rr_swap *many_makings(world *w)
{
    rr_swap *swaps = rr_arena_zero(&w->arena, OVER_A_ROUND * sizeof *swaps);

    assert_non_null(swaps);
    for (size_t i = 0; i < OVER_A_ROUND; i++) {
        swaps[i].key = in_arena(w, "%smade-%zu", w->prefix, i);
        swaps[i].value = value(w, "made", (unsigned)i);
    }
    return swaps;
}

/* Were an answer to a swap taken for one to loads, each of the rest would be taken for that of the swap before it,
 * and the one that loses would seem to win. */
static void a_full_round_takes_the_answers_of_loads_that_have_none_yet(void **state)
{
    enum { LOADS = 1000, ROUND = 1024, OLD = 3 };
    world *w = *state;
    rr_load *loads = rr_arena_zero(&w->arena, LOADS * sizeof *loads);
    rr_swap *swaps = many_makings(w), old[OLD] = {0};
    size_t ready = 0;

    assert_non_null(loads);
    for (size_t i = 0; i < LOADS; i++) {
        loads[i].key = in_arena(w, "%sloaded-%zu", w->prefix, i);
    }
    for (unsigned i = 0; i < OLD; i++) {
        make(w, loads[LOADS - 1 - i].key);
        old[i] = (rr_swap){
            .key = loads[LOADS - 1 - i].key, .token = token(w, i == 1 ? 9 : 1), .value = value(w, "second", 2)};
    }
    assert_int_equal(w->ops->load_ahead(w->store, loads, LOADS, &w->arena, &w->error), RR_OK);
    assert_int_equal(w->ops->load_next(w->store, &ready, &w->error), RR_OK);
    assert_true(ready < LOADS);
    assert_int_equal(w->ops->swap_ahead(w->store, swaps, ROUND, &w->arena, &w->error), RR_OK);
    for (size_t i = 0; i < OLD; i++) {
        assert_int_equal(w->ops->swap_ahead(w->store, &old[i], 1, &w->arena, &w->error), RR_OK);
    }
    while (ready < LOADS) {
        assert_int_equal(w->ops->load_next(w->store, &ready, &w->error), RR_OK);
    }
    w->ops->swap_end(w->store, &w->error);
    for (size_t i = 0; i < OLD; i++) {
        assert_true(same(loads[LOADS - 1 - i].value, value(w, "first", 1)));
        assert_int_equal(old[i].answer, i == 1 ? RR_SWAP_LOST : RR_SWAP_WON);
    }
    for (size_t i = 0; i < ROUND; i++) {
        assert_int_equal(swaps[i].answer, RR_SWAP_WON);
    }
}

static void loads_after_some_that_were_given_up_have_their_own_answers(void **state)
{
    world *w = *state;
    rr_load given_up = {.key = key(w, "given-up")}, asked = {.key = key(w, "asked")};
    size_t ready = 0;

    make(w, asked.key);
    assert_int_equal(w->ops->load_ahead(w->store, &given_up, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(w->ops->load_ahead(w->store, &asked, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(w->ops->load_next(w->store, &ready, &w->error), RR_OK);
    assert_true(same(asked.value, value(w, "first", 1)));
}

static void swaps_after_some_that_were_given_up_have_their_own_answers(void **state)
{
    world *w = *state;
    rr_swap given_up = {.key = key(w, "given-up"), .value = value(w, "first", 1)};
    rr_swap asked = {.key = key(w, "asked"), .token = token(w, 1), .value = value(w, "second", 2)};

    make(w, asked.key);
    assert_int_equal(w->ops->swap_ahead(w->store, &given_up, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(w->ops->load_ahead(w->store, NULL, 0, &w->arena, &w->error), RR_OK);
    assert_int_equal(w->ops->swap_ahead(w->store, &asked, 1, &w->arena, &w->error), RR_OK);
    assert_int_equal(w->ops->swap_end(w->store, &w->error), RR_OK);
    assert_int_equal(asked.answer, RR_SWAP_WON);
    assert_int_equal(given_up.answer, RR_SWAP_UNKNOWN);
}

/* The next op would else need another connection, each time. */
static void nothing_asked_ahead_owes_nothing(void **state)
{
    world *w = *state;
    rr_slice there;

    assert_int_equal(w->ops->load_ahead(w->store, NULL, 0, &w->arena, &w->error), RR_OK);
    tell("CONFIG SET maxclients 1");
    assert_int_equal(w->ops->note_get(w->store, key(w, "note"), &w->arena, &there, &w->error), RR_OK);
    tell("CONFIG SET maxclients 10000");
}

static void swaps_of_a_call_that_was_refused_half_way_are_forgotten(void **state)
{
    world *w = *state;
    rr_swap *swaps = many_makings(w);
    rr_swap other = {.key = key(w, "other"), .value = value(w, "other", 1)};

    tell("ACL SETUSER default -set");
    assert_int_equal(w->ops->swap(w->store, swaps, OVER_A_ROUND, &w->arena, &w->error), RR_REFUSED_BY_SERVER);
    tell("ACL SETUSER default +set");
    assert_int_equal(swap_one(w, &other), RR_SWAP_WON);
    for (size_t i = 0; i < OVER_A_ROUND; i++) {
        assert_int_equal(swaps[i].answer, RR_SWAP_UNKNOWN);
        assert_int_equal(load(w, swaps[i].key).len, 0);
    }
}

static int open_in_pieces(void **state)
{
    static rr_store_ops ops;
    int failed = open_redis(state);

    if (failed == 0) {
        ops = rr_store_redis_ops;
        ops.load = load_in_pieces;
        ops.swap = swap_in_pieces;
        ((world *)*state)->ops = &ops;
    }
    return failed;
}

static int close_world(void **state)
{
    world *w = *state;

    w->ops->close(w->store);
    rr_arena_fini(&w->arena);
    free(w);
    return 0;
}

static int close_redis(void **state)
{
    close_world(state);
    redisFree(raw);
    rr_server_fini(&server);
    return 0;
}

/* clang-format off */
#define EACH_STORE                                                                          \
    PROMISE(an_absent_key_loads_as_empty),                                                  \
    PROMISE(where_no_replica_is_waited_for_all_is_confirmed),                               \
    PROMISE(a_swap_that_expects_absence_makes_the_unit),                                    \
    PROMISE(a_swap_that_names_the_token_replaces_the_value),                                \
    PROMISE(a_swap_with_another_token_loses_and_shows_what_is_there),                       \
    PROMISE(a_swap_that_expects_a_value_loses_where_there_is_none),                         \
    PROMISE(a_foreign_value_without_a_token_is_not_absence),                                \
    PROMISE(a_guard_compares_and_leaves_the_value),                                         \
    PROMISE(one_call_carries_many_units_and_each_has_its_own_answer),                       \
    PROMISE(a_unit_that_stands_twice_in_a_call_is_swapped_in_order),                        \
    PROMISE(a_side_that_is_a_unit_of_the_same_call_is_written_in_order),                    \
    PROMISE(keys_and_values_may_hold_any_bytes),                                            \
    PROMISE(a_senseless_swap_fails_alone_and_says_why),                                     \
    PROMISE(sides_are_written_and_removed_with_the_unit),                                   \
    PROMISE(a_lost_swap_writes_none_of_what_it_carries),                                    \
    PROMISE(parts_are_read_by_name_or_all),                                                 \
    PROMISE(parts_of_another_token_are_changed_not_read),                                   \
    PROMISE(a_unit_without_parts_reads_none),                                               \
    PROMISE(many_parts_of_one_unit_go_in_one_swap),                                         \
    PROMISE(the_open_list_takes_part_in_the_swap),                                          \
    PROMISE(entries_come_out_in_order_each_to_one_consumer),                                 \
    PROMISE(entries_that_are_not_done_go_to_another_after_a_while),                         \
    PROMISE(a_read_takes_no_more_than_asked_for),                                           \
    PROMISE(entries_are_appended_with_the_swap_they_belong_to),                             \
    PROMISE(a_note_is_set_only_over_what_was_expected),                                     \
    PROMISE(a_note_is_not_set_on_another_incarnation),                                      \
    PROMISE(a_walk_finds_the_units_under_a_prefix_taken_literally),                         \
    PROMISE(a_sweep_removes_what_it_is_told_to),                                            \
    PROMISE(a_poisoned_unit_fails_alone_and_is_named),                                      \
    PROMISE(a_poisoned_companion_leaves_its_unit_unwritten),                                \
    PROMISE(a_poisoned_open_list_leaves_its_unit_unwritten),                                \
    PROMISE(poisoned_parts_notes_and_logs_are_refused_by_name)

/* clang-format on */
#define PROMISE(test) cmocka_unit_test_setup(test, begin_test)

int main(void)
{
    const struct CMUnitTest any_store[] = {EACH_STORE};
    const struct CMUnitTest faults[] = {cmocka_unit_test(faults_come_when_they_are_planned)};
    const struct CMUnitTest redis_store[] = {
        EACH_STORE,
        PROMISE(values_parts_and_sides_expire_when_they_should),
        PROMISE(a_time_that_is_past_is_the_end_of_the_value),
        PROMISE(the_open_list_is_a_sorted_set_by_time),
        PROMISE(what_is_gone_leaves_the_open_list),
        PROMISE(a_list_under_our_prefix_is_never_overwritten),
        PROMISE(notes_end_after_their_time_to_live),
        PROMISE(the_log_is_capped),
        PROMISE(flushed_functions_are_loaded_again),
        PROMISE(what_was_given_up_half_way_is_nobodys_answer),
        PROMISE(a_full_round_takes_the_answers_of_loads_that_have_none_yet),
        PROMISE(loads_after_some_that_were_given_up_have_their_own_answers),
        PROMISE(swaps_after_some_that_were_given_up_have_their_own_answers),
        PROMISE(nothing_asked_ahead_owes_nothing),
        PROMISE(swaps_of_a_call_that_was_refused_half_way_are_forgotten),
        PROMISE(a_killed_connection_makes_swaps_unknown_and_heals),
        PROMISE(a_silent_server_times_out_and_its_late_answer_is_never_taken),
        PROMISE(a_full_server_refuses_before_it_writes),
        PROMISE(each_kind_of_refusal_is_told_as_one),
        PROMISE(a_lost_permission_is_a_refusal),
        PROMISE(a_password_that_was_changed_is_a_refusal),
        PROMISE(a_swap_is_not_done_until_its_replica_has_it),
        PROMISE(what_was_only_read_can_be_confirmed),
        PROMISE(urls_that_cannot_be_read_are_refused_without_the_password),
        PROMISE(passwords_databases_and_sockets_are_understood),
        PROMISE(old_servers_clusters_and_strangers_are_refused_in_words),
        PROMISE(a_refusal_at_the_start_is_told_by_its_kind),
        PROMISE(a_server_that_went_and_came_back_is_not_taken_for_the_same),
        PROMISE(a_stopped_server_is_unavailable_at_once_and_comes_back_as_another),
    };
    int failed = cmocka_run_group_tests_name("memory", any_store, open_memory, close_world);

    failed += cmocka_run_group_tests_name("memory behind the faulty wrapper", any_store, open_faulty, close_world);
    failed += cmocka_run_group_tests_name("faults", faults, NULL, NULL);
    if (!rr_server_installed(RR_SERVER_REDIS)) {
        print_message("redis-server is not installed: its store is not tested\n");
        return failed != 0 ? failed : 77;
    }
    failed += cmocka_run_group_tests_name("redis, in pieces", any_store, open_in_pieces, close_redis);
    return failed + cmocka_run_group_tests_name("redis", redis_store, open_redis, close_redis);
}
