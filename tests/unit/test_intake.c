/* Deliveries are gathered for a batch: refused ones stay items, dropped ones only take room, and a reset takes all back
 * without giving memory away. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "intake.h"
#include "joins.h"
#include "record_proto.h"

enum { ROOM = 4 };

static joins j;
static rr_intake intake;
static rr_buf good, foreign;

/* `good` is a record of the contract, `foreign` one of a metric version that the contract does not have. */
static int begin(void **state)
{
    rr_record record;

    (void)state;
    joins_open(&j, "  mode: cumulative\n  window: {kind: global}\n  metric_versions: [v1]\n");
    record = joins_record(&j, "\"result_version\":1,\"value\":1");
    assert_true(rr_record_to_proto(&record, &good));
    record.metric_version = RR_SLICE("v2");
    assert_true(rr_record_to_proto(&record, &foreign));
    assert_true(rr_intake_init(&intake, ROOM));
    return 0;
}

static int end(void **state)
{
    (void)state;
    rr_intake_fini(&intake);
    rr_buf_fini(&good);
    rr_buf_fini(&foreign);
    joins_close(&j);
    return 0;
}

static rr_bound_route route(const void *context, rr_slice subject)
{
    return (rr_bound_route){.contract =
                                rr_slice_equal(subject, RR_SLICE("c")) ? ((const joins *)context)->contract : NULL};
}

static rr_item *add(const char *subject, const rr_buf *payload, uint64_t sequence)
{
    const rr_bound_source source = {.stream = RR_SLICE("S"), .route = route, .context = &j};
    const rr_delivery delivery = {
        .subject = rr_slice_of(subject), .payload = rr_buf_view(payload), .stream_sequence = sequence};

    assert_true(rr_intake_add(&intake, &source, &delivery, INT64_MIN));
    return &intake.items[intake.count - 1];
}

/* What cannot be joined is an item with its reason, since its alert and its dead letter are to be stored. */
static void each_delivery_becomes_an_item(void **state)
{
    static const rr_reason reasons[] = {RR_REASON_NONE, RR_REASON_METRIC_VERSION_UNKNOWN, RR_REASON_UNROUTED};

    (void)state;
    add("c", &good, 1);
    add("c", &foreign, 2);
    add("elsewhere", &good, 3);
    assert_int_equal(intake.count, 3);
    for (size_t k = 0; k < intake.count; k++) {
        assert_ptr_equal(intake.items[k].record, &intake.records[k]);
        assert_int_equal(intake.records[k].stream_sequence, k + 1);
        assert_true(rr_slice_equal(intake.records[k].stream, RR_SLICE("S")));
        assert_int_equal(intake.items[k].refused, reasons[k] != RR_REASON_NONE);
        assert_int_equal(intake.items[k].outcome.reason, reasons[k]);
    }
}

/* The bytes of what is dropped stay in the arena, so an input of refused records alone must fill the intake too. */
static void what_is_dropped_takes_room_but_is_not_decided(void **state)
{
    (void)state;
    add("c", &good, 1);
    for (uint64_t sequence = 2; sequence <= ROOM; sequence++) {
        assert_false(rr_intake_is_full(&intake));
        assert_true(add("c", &foreign, sequence)->refused);
        rr_intake_drop_refused(&intake, 1, NULL, NULL);
    }
    assert_true(rr_intake_is_full(&intake));
    assert_int_equal(intake.count, 1);
    assert_int_equal(intake.records[0].stream_sequence, 1);
}

static void a_reset_makes_room_and_keeps_the_memory(void **state)
{
    size_t held = 0;

    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        for (uint64_t sequence = 1; sequence <= ROOM; sequence++) {
            add("c", &good, sequence);
        }
        assert_true(rr_intake_is_full(&intake));
        assert_true(turn == 0 || intake.arena.held == held);
        held = intake.arena.held;
        rr_intake_reset(&intake);
        assert_int_equal(intake.count, 0);
        assert_false(rr_intake_is_full(&intake));
    }
}

static void an_empty_intake_grows(void **state)
{
    (void)state;
    assert_true(rr_intake_reserve(&intake, 2 * ROOM));
    for (uint64_t sequence = 1; sequence <= 2 * ROOM; sequence++) {
        assert_false(rr_intake_is_full(&intake));
        add("c", &good, sequence);
    }
    assert_true(rr_intake_is_full(&intake));
}

static void only_sessions_are_read_again_without_a_clock(void **state)
{
    rr_contract sessions = *j.contract;

    (void)state;
    sessions.window_kind = RR_WINDOW_SESSION;
    assert_int_equal(rr_intake_replay_clock(&sessions, 7), INT64_MIN);
    assert_int_equal(rr_intake_replay_clock(j.contract, 7), 7);
    assert_int_equal(rr_intake_replay_clock(NULL, 7), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_delivery_becomes_an_item, begin, end),
        cmocka_unit_test_setup_teardown(what_is_dropped_takes_room_but_is_not_decided, begin, end),
        cmocka_unit_test_setup_teardown(a_reset_makes_room_and_keeps_the_memory, begin, end),
        cmocka_unit_test_setup_teardown(an_empty_intake_grows, begin, end),
        cmocka_unit_test_setup_teardown(only_sessions_are_read_again_without_a_clock, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
