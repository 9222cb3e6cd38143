/* What becomes of a checkpoint: the floor moves, or something is to be read again, or the source is stopped. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "checkpoint.h"

static const rr_source_info usual = {
    .first_sequence = 1, .last_sequence = 100, .created_at_us = 7, .ack_floor = 60, .delivered = 80, .deliveries = 80};

static rr_checkpoint held(void)
{
    return (rr_checkpoint){
        .stream = RR_SLICE("S"), .consumer = RR_SLICE("c"), .created_at_us = 7, .floor = 50, .incarnation = "run/one"};
}

static void the_floor_follows_the_acknowledgements(void **state)
{
    rr_checkpoint c = held();

    (void)state;
    assert_int_equal(rr_checkpoint_advance(&c, true, &usual, "run/one"), RR_CHECKPOINT_FINE);
    assert_int_equal(c.floor, 60);
    assert_false(c.repairing);
}

static void the_floor_never_falls(void **state)
{
    rr_checkpoint c = held();
    rr_source_info info = usual;

    (void)state;
    info.ack_floor = 40;
    assert_int_equal(rr_checkpoint_advance(&c, true, &info, "run/one"), RR_CHECKPOINT_FINE);
    assert_int_equal(c.floor, 50);
}

static void the_floor_waits_for_a_repair(void **state)
{
    rr_checkpoint c = held();

    (void)state;
    rr_checkpoint_set_repair(&c, 51, 55, 50);
    assert_int_equal(rr_checkpoint_advance(&c, true, &usual, "run/one"), RR_CHECKPOINT_FINE);
    assert_int_equal(c.floor, 50);
    assert_true(c.repairing);
}

/* Whichever of two texts is the greater, and although nothing was acknowledged beyond the floor. */
static void another_incarnation_is_read_again_from_the_floor(void **state)
{
    static const char *const others[] = {"run/two", "run/ane", "run/on", ""};
    rr_source_info info = usual;

    (void)state;
    info.ack_floor = 50;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        rr_checkpoint c = held();

        assert_int_equal(rr_checkpoint_advance(&c, true, &info, others[k]), RR_CHECKPOINT_STORE_CHANGED);
        assert_true(c.repairing);
        assert_int_equal(c.first, 51);
        assert_int_equal(c.from, 51);
        assert_int_equal(c.to, 80);
        assert_int_equal(c.floor, 50);
        assert_string_equal(c.incarnation, others[k]);
    }
}

static void a_repair_that_is_interrupted_by_another_begins_anew(void **state)
{
    rr_checkpoint c = held();

    (void)state;
    rr_checkpoint_set_repair(&c, 51, 90, 60);
    c.from = 70;
    assert_int_equal(rr_checkpoint_advance(&c, true, &usual, "run/two"), RR_CHECKPOINT_STORE_CHANGED);
    assert_int_equal(c.from, 51);
    assert_int_equal(c.to, 90);
}

static void nothing_above_the_floor_is_nothing_to_repair(void **state)
{
    rr_checkpoint c = held();
    rr_source_info info = usual;

    (void)state;
    info.ack_floor = info.delivered = 50;
    assert_int_equal(rr_checkpoint_advance(&c, true, &info, "run/two"), RR_CHECKPOINT_FINE);
    assert_false(c.repairing);
    assert_string_equal(c.incarnation, "run/two");
}

static void delivered_without_a_checkpoint_is_read_again_from_the_first(void **state)
{
    rr_checkpoint c = {.stream = RR_SLICE("S")};
    rr_source_info info = usual;

    (void)state;
    info.first_sequence = 11;
    assert_int_equal(rr_checkpoint_advance(&c, false, &info, "run/one"), RR_CHECKPOINT_NEVER_WRITTEN);
    assert_true(c.repairing);
    assert_int_equal(c.from, 11);
    assert_int_equal(c.to, 80);
    assert_int_equal(c.acked, 80); /* delivered, so perhaps acknowledged: above the floor, too */
    assert_int_equal(c.created_at_us, 7);
}

/* What was stored before the place where the consumer was made to start was never meant for us. */
static void nothing_is_read_again_from_before_the_consumer(void **state)
{
    rr_checkpoint c = {.stream = RR_SLICE("S")};
    rr_source_info info = usual;

    (void)state;
    info.starts_at = 21;
    assert_int_equal(rr_checkpoint_advance(&c, false, &info, "run/one"), RR_CHECKPOINT_NEVER_WRITTEN);
    assert_int_equal(c.from, 21);
    assert_int_equal(c.floor, 20);
}

static void a_fresh_consumer_has_nothing_to_repair(void **state)
{
    rr_checkpoint c = {.stream = RR_SLICE("S")};
    rr_source_info info = usual;

    (void)state;
    info.ack_floor = info.delivered = info.deliveries = 0;
    assert_int_equal(rr_checkpoint_advance(&c, false, &info, "run/one"), RR_CHECKPOINT_FINE);
    assert_false(c.repairing);
}

static void what_the_stream_no_longer_has_is_a_gap(void **state)
{
    rr_checkpoint c = held();
    rr_source_info info = usual;

    (void)state;
    info.first_sequence = 61;
    assert_int_equal(rr_checkpoint_advance(&c, true, &info, "run/two"), RR_CHECKPOINT_STORE_CHANGED);
    assert_true(c.gap && c.repairing);
    assert_int_equal(c.gap_from, 51);
    assert_int_equal(c.gap_to, 60);
    assert_int_equal(c.from, 61);

    c = held();
    info.first_sequence = 95;
    assert_int_equal(rr_checkpoint_advance(&c, true, &info, "run/two"), RR_CHECKPOINT_STORE_CHANGED);
    assert_true(c.gap && !c.repairing);
    assert_int_equal(c.gap_to, 80);
}

static void a_stream_that_ends_below_the_floor_was_rolled_back(void **state)
{
    rr_checkpoint c = held();
    rr_source_info info = usual;

    (void)state;
    info.last_sequence = 49;
    assert_int_equal(rr_checkpoint_advance(&c, true, &info, "run/one"), RR_CHECKPOINT_SOURCE_ROLLED_BACK);
    c = held();
    info.last_sequence = 50;
    assert_int_equal(rr_checkpoint_advance(&c, true, &info, "run/one"), RR_CHECKPOINT_FINE);
}

static void a_stream_made_at_another_time_is_another_one(void **state)
{
    (void)state;
    for (int64_t made = 6; made <= 8; made += 2) {
        rr_checkpoint c = held();
        rr_source_info info = usual;

        info.created_at_us = made;
        assert_int_equal(rr_checkpoint_advance(&c, true, &info, "run/one"), RR_CHECKPOINT_SOURCE_REMADE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_floor_follows_the_acknowledgements),
        cmocka_unit_test(the_floor_never_falls),
        cmocka_unit_test(the_floor_waits_for_a_repair),
        cmocka_unit_test(another_incarnation_is_read_again_from_the_floor),
        cmocka_unit_test(a_repair_that_is_interrupted_by_another_begins_anew),
        cmocka_unit_test(nothing_above_the_floor_is_nothing_to_repair),
        cmocka_unit_test(delivered_without_a_checkpoint_is_read_again_from_the_first),
        cmocka_unit_test(nothing_is_read_again_from_before_the_consumer),
        cmocka_unit_test(a_fresh_consumer_has_nothing_to_repair),
        cmocka_unit_test(what_the_stream_no_longer_has_is_a_gap),
        cmocka_unit_test(a_stream_that_ends_below_the_floor_was_rolled_back),
        cmocka_unit_test(a_stream_made_at_another_time_is_another_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
