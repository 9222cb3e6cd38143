/* Where nearly all cells are new, they are not loaded. A wrong prediction costs one round, and changes no verdict. */
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

enum { COUNT = 200 };

typedef struct bench {
    joins joins;
    rr_batch *batch;
    rr_record records[COUNT];
    rr_item items[COUNT];
    char keys[COUNT][16];
} bench;

static struct {
    bench *writer; /* another process, which writes before the next call of swaps reaches the store */
    unsigned version;
} rival;

static uint64_t decide(bench *b, unsigned first, unsigned version, rr_verdict wanted);

static rr_status swap_behind_a_rival(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error)
{
    bench *writer = rival.writer;

    rival.writer = NULL;
    if (writer != NULL) {
        decide(writer, 0, rival.version, RR_VERDICT_APPLIED);
    }
    return rr_store_memory_ops.swap(store, swaps, count, arena, error);
}

static void begin(bench *b, const rr_store_ops *ops, rr_store *store)
{
    rr_batch_options options = {.prefix = RR_SLICE("rr"), .log_decisions = true};

    joins_open(&b->joins, "  mode: cumulative\n  window: {kind: global}\n");
    b->batch = rr_batch_new(ops, store, &options);
    assert_non_null(b->batch);
}

static void end(bench *b)
{
    rr_batch_free(b->batch);
    joins_close(&b->joins);
}

static rr_store *open_store(void)
{
    rr_store *store;

    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &store, NULL), RR_OK);
    return store;
}

/* A batch of one version for the keys from `first` on. Says how many units were loaded for it. */
static uint64_t decide(bench *b, unsigned first, unsigned version, rr_verdict wanted)
{
    uint64_t before = rr_batch_totals(b->batch)->loads;
    char json[64];

    snprintf(json, sizeof json, "\"result_version\":%u,\"value\":%u", version, version);
    for (unsigned k = 0; k < COUNT; k++) {
        snprintf(b->keys[k], sizeof b->keys[k], "key-%u", first + k);
        b->records[k] = joins_record(&b->joins, json);
        b->records[k].business_key = rr_slice_of(b->keys[k]);
        b->items[k] = (rr_item){.contract = b->joins.contract, .record = &b->records[k]};
    }
    assert_int_equal(rr_batch_begin(b->batch, b->items, COUNT, NULL), RR_OK);
    assert_int_equal(rr_batch_step(b->batch, 0, NULL), RR_OK);
    for (unsigned k = 0; k < COUNT; k++) {
        assert_true(b->items[k].settled);
        assert_int_equal(b->items[k].outcome.verdict, wanted);
    }
    return rr_batch_totals(b->batch)->loads - before;
}

static void a_prediction_saves_loads_and_decides_alike(void **state)
{
    rr_store *store = open_store();
    bench b;

    (void)state;
    begin(&b, &rr_store_memory_ops, store);
    assert_int_equal(decide(&b, 0, 5, RR_VERDICT_APPLIED), COUNT);
    assert_int_equal(decide(&b, COUNT, 5, RR_VERDICT_APPLIED), 0);
    assert_int_equal(rr_batch_totals(b.batch)->mispredicted, 0);
    /* All of these are there already: each prediction is wrong, and then no unit is predicted. */
    assert_int_equal(decide(&b, 0, 4, RR_VERDICT_STALE), 0);
    assert_int_equal(rr_batch_totals(b.batch)->mispredicted, COUNT);
    assert_int_equal(decide(&b, COUNT, 5, RR_VERDICT_DUPLICATE), COUNT);
    assert_int_equal(decide(&b, 0, 6, RR_VERDICT_APPLIED), COUNT);
    assert_int_equal(rr_batch_totals(b.batch)->mispredicted, COUNT);
    /* New ones again. */
    assert_int_equal(decide(&b, 2 * COUNT, 1, RR_VERDICT_APPLIED), COUNT);
    assert_int_equal(decide(&b, 3 * COUNT, 1, RR_VERDICT_APPLIED), 0);
    /* Nobody else wrote: no swap lost. */
    assert_int_equal(rr_batch_totals(b.batch)->lost, 0);
    end(&b);
    rr_store_memory_ops.close(store);
}

/* Two processes change the same cells at once. The slower one had read them: it lost, and had predicted nothing. */
static void contention_is_not_counted_as_a_wrong_prediction(void **state)
{
    rr_store_ops behind = rr_store_memory_ops;
    rr_store *store = open_store();
    bench slow, fast;

    (void)state;
    behind.load_ahead = NULL; /* it works in whole calls */
    behind.swap_ahead = NULL;
    behind.swap = swap_behind_a_rival;
    begin(&slow, &behind, store);
    begin(&fast, &rr_store_memory_ops, store);
    decide(&fast, 0, 1, RR_VERDICT_APPLIED);
    rival.writer = &fast;
    rival.version = 2;
    assert_int_equal(decide(&slow, 0, 3, RR_VERDICT_APPLIED), COUNT);
    assert_int_equal(rr_batch_totals(slow.batch)->lost, COUNT);
    assert_int_equal(rr_batch_totals(slow.batch)->mispredicted, 0);
    assert_int_equal(rr_batch_totals(slow.batch)->won, COUNT);
    end(&slow);
    end(&fast);
    rr_store_memory_ops.close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prediction_saves_loads_and_decides_alike),
        cmocka_unit_test(contention_is_not_counted_as_a_wrong_prediction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
