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
    rr_store *store;
    rr_batch *batch;
    rr_record records[COUNT];
    rr_item items[COUNT];
    char keys[COUNT][16];
} bench;

static void begin(bench *b)
{
    rr_batch_options options = {.prefix = RR_SLICE("rr"), .log_decisions = true};

    joins_open(&b->joins, "  mode: cumulative\n  window: {kind: global}\n");
    assert_int_equal(rr_store_memory_ops.open("memory:", NULL, &b->store, NULL), RR_OK);
    b->batch = rr_batch_new(&rr_store_memory_ops, b->store, &options);
    assert_non_null(b->batch);
}

static void end(bench *b)
{
    rr_batch_free(b->batch);
    rr_store_memory_ops.close(b->store);
    joins_close(&b->joins);
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
    bench b;

    (void)state;
    begin(&b);
    assert_int_equal(decide(&b, 0, 5, RR_VERDICT_APPLIED), COUNT);
    assert_int_equal(decide(&b, COUNT, 5, RR_VERDICT_APPLIED), 0);
    assert_int_equal(rr_batch_totals(b.batch)->lost, 0);
    /* All of these are there already: each prediction is wrong, and then no unit is predicted. */
    assert_int_equal(decide(&b, 0, 4, RR_VERDICT_STALE), 0);
    assert_int_equal(rr_batch_totals(b.batch)->lost, COUNT);
    assert_int_equal(decide(&b, COUNT, 5, RR_VERDICT_DUPLICATE), COUNT);
    assert_int_equal(decide(&b, 0, 6, RR_VERDICT_APPLIED), COUNT);
    assert_int_equal(rr_batch_totals(b.batch)->lost, COUNT);
    /* New ones again. */
    assert_int_equal(decide(&b, 2 * COUNT, 1, RR_VERDICT_APPLIED), COUNT);
    assert_int_equal(decide(&b, 3 * COUNT, 1, RR_VERDICT_APPLIED), 0);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prediction_saves_loads_and_decides_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
