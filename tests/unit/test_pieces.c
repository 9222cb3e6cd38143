/* A store that works in pieces may fail between any two of them. A swap that was never sent is not taken for done,
 * and an answer before the failure is not taken for confirmed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "batch.h"
#include "joins.h"
#include "store_memory.h"

enum { COUNT = 8 };

/* The memory store, one item a piece. */
static struct {
    rr_load *loads;
    size_t load_ready;
    rr_arena *arena;
    bool begun;      /* by load_ahead, and not over */
    int left;        /* pieces until one fails; below 0: none does */
    bool after;      /* the piece that fails is done before it does */
    bool unanswered; /* ... and no answer comes */
    size_t swaps;    /* handed over */
    size_t confirms;
    const struct bench *meddled; /* whose first unit another writes before the first swap */
} pieces;

static void meddle(const struct bench *b);

static rr_status fails(rr_error *error)
{
    return pieces.left-- == 0 ? rr_fail(error, RR_UNAVAILABLE, "as planned") : RR_OK;
}

static rr_status load_ahead(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error)
{
    (void)store;
    (void)count;
    pieces.loads = loads;
    pieces.load_ready = 0;
    pieces.arena = arena;
    pieces.begun = true;
    return fails(error);
}

static rr_status load_next(rr_store *store, size_t *ready, rr_error *error)
{
    rr_status status = fails(error);

    if (status == RR_OK) {
        status = rr_store_memory_ops.load(store, &pieces.loads[pieces.load_ready], 1, pieces.arena, error);
        *ready = ++pieces.load_ready;
    }
    return status;
}

static rr_status swap_ahead(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    rr_status status = fails(error);

    assert_true(pieces.begun);
    if (pieces.meddled != NULL) {
        meddle(pieces.meddled);
        pieces.meddled = NULL;
    }
    if (status == RR_OK || pieces.after) {
        pieces.swaps += count;
        assert_int_equal(rr_store_memory_ops.swap(store, swaps, count, arena, NULL), RR_OK);
    }
    for (size_t k = 0; status != RR_OK && pieces.unanswered && k < count; k++) {
        swaps[k].answer = RR_SWAP_UNKNOWN;
    }
    return status;
}

static rr_status swap_end(rr_store *store, rr_error *error)
{
    (void)store;
    pieces.begun = false;
    return fails(error);
}

static rr_status confirm(rr_store *store, rr_error *error)
{
    pieces.confirms++;
    return rr_store_memory_ops.confirm(store, error);
}

typedef struct bench {
    joins joins;
    rr_store *store;
    rr_store_ops ops;
    rr_batch *batch;
    rr_record records[COUNT];
    rr_item items[COUNT];
    char keys[COUNT][16];
} bench;

static void begin(bench *b, size_t send_from)
{
    rr_batch_options options = {.prefix = RR_SLICE("rr"),
                                .log_decisions = true,
                                .send_from = send_from,
                                .cache_slots = 64,
                                .predict_from = COUNT / 2};

    memset(&pieces, 0, sizeof pieces);
    joins_open(&b->joins, "  mode: cumulative\n  window: {kind: global}\n");
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &b->store, NULL), RR_OK);
    b->ops = rr_store_memory_ops;
    b->ops.load_ahead = load_ahead;
    b->ops.load_next = load_next;
    b->ops.swap_ahead = swap_ahead;
    b->ops.swap_end = swap_end;
    b->ops.confirm = confirm;
    b->batch = rr_batch_new(&b->ops, b->store, &options);
    assert_non_null(b->batch);
    for (unsigned k = 0; k < COUNT; k++) {
        snprintf(b->keys[k], sizeof b->keys[k], "key-%u", k);
        b->records[k] = joins_record(&b->joins, "\"result_version\":2,\"value\":1");
        b->records[k].business_key = rr_slice_of(b->keys[k]);
        b->items[k] = (rr_item){.contract = b->joins.contract, .record = &b->records[k]};
    }
    assert_int_equal(rr_batch_begin(b->batch, b->items, COUNT, NULL), RR_OK);
}

static void end(bench *b)
{
    rr_batch_free(b->batch);
    rr_store_memory_ops.close(b->store);
    joins_close(&b->joins);
}

static size_t settled(const bench *b)
{
    size_t count = 0;

    for (size_t k = 0; k < COUNT; k++) {
        count += b->items[k].settled;
    }
    return count;
}

static void goes_on_after(int left, size_t send_from, bool after)
{
    bench b;

    begin(&b, send_from);
    pieces.left = left;
    pieces.after = after;
    assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_UNAVAILABLE);
    assert_true(settled(&b) <= pieces.swaps);
    pieces.left = -1;
    assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_OK);
    assert_int_equal(settled(&b), COUNT);
    for (size_t k = 0; k < COUNT; k++) {
        assert_int_equal(b.items[k].outcome.verdict, RR_VERDICT_APPLIED);
    }
    assert_int_equal(rr_batch_totals(b.batch)->won, COUNT);
    end(&b);
}

static void a_swap_that_was_never_handed_over_is_not_won(void **state)
{
    (void)state;
    for (int left = 0; left < COUNT + 3; left++) { /* at least so many pieces there are */
        for (size_t send_from = 1; send_from <= 2 * COUNT; send_from *= 2) {
            goes_on_after(left, send_from, false);
            goes_on_after(left, send_from, true);
        }
    }
}

/* Another process writes the first unit between its load and its swap, so there are two rounds of swaps. */
static void meddle(const struct bench *b)
{
    rr_batch_options options = {.prefix = RR_SLICE("rr"), .log_decisions = true};
    rr_batch *other = rr_batch_new(&rr_store_memory_ops, b->store, &options);
    rr_record record = b->records[0];
    rr_item item = {.contract = b->joins.contract, .record = &record};

    record.version.number = 1;
    assert_non_null(other);
    assert_int_equal(rr_batch_begin(other, &item, 1, NULL), RR_OK);
    assert_int_equal(rr_batch_step(other, 0, NULL), RR_OK);
    assert_int_equal(item.outcome.verdict, RR_VERDICT_APPLIED);
    rr_batch_free(other);
}

static void a_swap_that_is_answered_before_a_failure_is_not_confirmed(void **state)
{
    bench b;

    (void)state;
    begin(&b, COUNT);
    pieces.meddled = &b;
    pieces.left = 1 + COUNT + 2 + 1; /* the loads, the first swaps and their end are well, and the second beginning */
    pieces.after = true;
    assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_UNAVAILABLE);
    assert_int_equal(rr_batch_totals(b.batch)->lost, 1);
    assert_int_equal(settled(&b), COUNT);
    assert_int_equal(pieces.confirms, 0);
    pieces.left = -1;
    assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_OK);
    assert_int_equal(pieces.confirms, 1);
    end(&b);
}

/* The same cells once more, when they are in the cache and new ones would be predicted to be absent. */
static void begin_next(bench *b)
{
    assert_int_equal(rr_batch_step(b->batch, 0, NULL), RR_OK);
    for (unsigned k = 0; k < COUNT; k++) {
        b->records[k].version.number = 3;
    }
    assert_int_equal(rr_batch_begin(b->batch, b->items, COUNT, NULL), RR_OK);
}

static void what_was_won_before_a_failure_is_not_predicted_to_be_absent(void **state)
{
    bench b;

    (void)state;
    begin(&b, COUNT);
    pieces.left = -1;
    begin_next(&b);
    pieces.left = 1; /* the swaps, and nothing was loaded */
    pieces.after = pieces.unanswered = true;
    assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_UNAVAILABLE);
    assert_int_equal(settled(&b), 0);
    assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_OK);
    for (size_t k = 0; k < COUNT; k++) {
        assert_int_equal(b.items[k].outcome.verdict, RR_VERDICT_APPLIED);
    }
    end(&b);
}

static void an_outage_takes_no_more_memory_the_longer_it_is(void **state)
{
    bench b;
    size_t held = 0;

    (void)state;
    begin(&b, COUNT);
    pieces.left = -1;
    begin_next(&b);
    for (int k = 0; k < 1000; k++) {
        pieces.left = k == 0 ? 1 : 1 + COUNT; /* all is loaded, and no swap gets there */
        assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_UNAVAILABLE);
        held = k < 2 ? pieces.arena->held : held;
        assert_int_equal(pieces.arena->held, held);
    }
    pieces.left = -1;
    assert_int_equal(rr_batch_step(b.batch, 0, NULL), RR_OK);
    assert_int_equal(settled(&b), COUNT);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_won_before_a_failure_is_not_predicted_to_be_absent),
        cmocka_unit_test(an_outage_takes_no_more_memory_the_longer_it_is),
        cmocka_unit_test(a_swap_that_was_never_handed_over_is_not_won),
        cmocka_unit_test(a_swap_that_is_answered_before_a_failure_is_not_confirmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
