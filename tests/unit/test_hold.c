/* When a source is held: nearly all records refused, before there are 1,000 dead letters, and not otherwise. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hold.h"

static bool add(rr_refusals *r, uint64_t judged, uint64_t refused)
{
    r->batch_judged = judged;
    r->batch_refused = refused;
    return rr_refusals_end_batch(r);
}

/* Whatever the batches and whatever came before, the letters of those that were let through are few. */
static void a_route_that_turns_bad_is_held_before_a_thousand_letters(void **state)
{
    (void)state;
    for (uint64_t before = 0; before <= 100000; before = before * 10 + 1) {
        for (uint64_t size = 1; size <= 4096; size += size < 64 ? 1 : 61) {
            rr_refusals r = {0};
            uint64_t letters = 0;

            for (uint64_t k = 0; k < before; k += size) {
                assert_false(add(&r, size, 0));
            }
            while (!add(&r, size, size)) {
                letters += size;
                assert_true(letters < 1000);
            }
        }
    }
}

static void the_first_hundred_are_evidence_enough_and_fewer_are_not(void **state)
{
    rr_refusals r = {0};

    (void)state;
    assert_false(add(&r, 99, 99));
    assert_true(add(&r, 1, 1));
}

static void one_batch_of_nothing_but_refusals_is_held_at_once(void **state)
{
    rr_refusals r = {0};

    (void)state;
    assert_true(add(&r, 1024, 1024));
}

/* Nine in ten are a bad producer, which is no reason to stop the one in ten that is good. */
static void a_stream_of_many_refusals_is_not_held(void **state)
{
    rr_refusals r = {0};

    (void)state;
    for (int k = 0; k < 10000; k++) {
        assert_false(add(&r, 50, 45));
    }
}

static void no_records_are_no_evidence(void **state)
{
    rr_refusals r = {0};

    (void)state;
    for (int k = 0; k < 1000; k++) {
        assert_false(add(&r, 0, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_route_that_turns_bad_is_held_before_a_thousand_letters),
        cmocka_unit_test(the_first_hundred_are_evidence_enough_and_fewer_are_not),
        cmocka_unit_test(one_batch_of_nothing_but_refusals_is_held_at_once),
        cmocka_unit_test(a_stream_of_many_refusals_is_not_held),
        cmocka_unit_test(no_records_are_no_evidence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
