/* Facts as bytes: a store's bytes are input. Whatever they are, reading them ends, and what it takes writes the
 * same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "joins.h"
#include "packed.h"

#define SESSION(start, end) \
    "\"window\":{\"start\":\"2026-01-01T10:00:" start "Z\",\"end\":\"2026-01-01T10:00:" end "Z\"},"

/* Units with every kind of fact in them. */
static const struct {
    const char *contract;
    const char *records[8];
} units[] = {
    {"  mode: cumulative\n  window: {kind: global}\n  corrections: conditional\n",
     {"\"result_version\":{\"epoch\":3,\"number\":18446744073709551615},\"value\":-9223372036854775808",
      "\"result_version\":{\"epoch\":3,\"number\":18446744073709551615},\"value\":7",
      "\"origin\":\"CORRECTION\",\"base_version\":1,\"result_version\":1,\"value\":5,\"status\":"
      "\"RECONCILED\"",
      "\"result_version\":9,\"value\":1,\"includes_correction\":{\"base\":2,\"version\":3}"}},
    {"  mode: delta\n  window: {kind: session, gap: 5s}\n  measures: {amount: {type: decimal}, n: {type: "
     "int64}}\n",
     {SESSION("00", "10") "\"delta_id\":\"a\",\"result_version\":2,\"measures\":{\"amount\":\"1.5\",\"n\":1}",
      SESSION("20", "30") "\"producer\":\"p\",\"sequence\":7,\"measures\":{\"amount\":\"-0.001\",\"n\":-1}",
      SESSION("00", "30") "\"delta_id\":\"b\",\"status\":\"STREAM_CLOSED\",\"measures\":{\"amount\":3,\"n\":2}",
      SESSION("00", "10") "\"delta_id\":\"a\",\"result_version\":2,\"measures\":{\"amount\":\"9\",\"n\":1}",
      SESSION("00", "30") "\"delta_id\":\"a\",\"op\":\"RETRACT\""}},
    {"  mode: retraction\n  window: {kind: global}\n  corrections: coordinated\n",
     {"\"contributor\":\"a\",\"result_version\":1,\"value\":1", "\"result_version\":2,\"value\":2",
      "\"contributor\":\"a\",\"op\":\"RETRACT\",\"retracts_version\":1,\"value\":7",
      "\"contributor\":\"a\",\"op\":\"RETRACT\",\"retracts_version\":1,\"value\":8",
      "\"contributor\":\"b\",\"op\":\"RETRACT\",\"result_version\":5", "\"op\":\"RETRACT\",\"retracts_version\":2",
      "\"contributor\":\"a\",\"result_version\":1,\"value\":9",
      "\"origin\":\"CORRECTION\",\"result_version\":4,\"value\":5"}},
    {"  mode: cumulative\n  window: {kind: session, gap: 5s}\n  measures: {rate: {type: double}}\n",
     {SESSION("00", "10") "\"result_version\":1,\"measures\":{\"rate\":-0.0}",
      SESSION("05", "20") "\"result_version\":1,\"measures\":{\"rate\":1e300}"}},
};

enum { UNITS = sizeof units / sizeof *units };

static void open_unit(joins *j, size_t which)
{
    joins_open(j, units[which].contract);
    for (size_t k = 0; k < 8 && units[which].records[k] != NULL; k++) {
        joins_take(j, units[which].records[k]);
        assert_int_equal(j->joined, RR_JOIN_DONE);
    }
}

static rr_slice write_unit(joins *j, rr_unit *unit)
{
    size_t need = rr_unit_write_need(unit), len;
    char *bytes = rr_arena_take(&j->arena, need);

    len = rr_unit_write(unit, bytes);
    assert_true(len <= need);
    return (rr_slice){bytes, len};
}

/* The bytes end where memory ends, so that a sanitizer sees any step beyond. */
static bool read_exactly(joins *j, rr_unit *unit, rr_slice bytes)
{
    char *copy = malloc(bytes.len == 0 ? 1 : bytes.len);
    bool good;

    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.len);
    good = rr_unit_read(unit, j->contract, (rr_slice){copy, bytes.len}, &j->arena);
    if (good) {
        write_unit(j, unit);
    }
    free(copy);
    return good;
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    for (size_t which = 0; which < UNITS; which++) {
        joins j;
        rr_unit again;
        rr_slice bytes;

        open_unit(&j, which);
        bytes = write_unit(&j, &j.unit);
        assert_true(rr_unit_read(&again, j.contract, bytes, &j.arena));
        assert_true(rr_slice_equal(write_unit(&j, &again), bytes));
        joins_close(&j);
    }
}

static void cut_anywhere_they_are_no_facts(void **state)
{
    (void)state;
    for (size_t which = 0; which < UNITS; which++) {
        joins j;
        rr_unit again;
        rr_slice bytes;

        open_unit(&j, which);
        bytes = write_unit(&j, &j.unit);
        for (size_t len = 0; len < bytes.len; len++) {
            assert_false(read_exactly(&j, &again, (rr_slice){bytes.data, len}));
        }
        joins_close(&j);
    }
}

static void with_a_byte_more_they_are_no_facts(void **state)
{
    (void)state;
    for (size_t which = 0; which < UNITS; which++) {
        joins j;
        rr_unit again;
        rr_slice bytes;
        char *longer;

        open_unit(&j, which);
        bytes = write_unit(&j, &j.unit);
        longer = rr_arena_zero(&j.arena, bytes.len + 1);
        memcpy(longer, bytes.data, bytes.len);
        assert_false(read_exactly(&j, &again, (rr_slice){longer, bytes.len + 1}));
        joins_close(&j);
    }
}

/* No bit flipped makes reading, or writing what was read, go astray; the format's own byte always tells. */
static void any_bit_may_be_wrong(void **state)
{
    (void)state;
    for (size_t which = 0; which < UNITS; which++) {
        joins j;
        rr_slice bytes;
        char *broken;

        open_unit(&j, which);
        bytes = write_unit(&j, &j.unit);
        broken = rr_arena_take(&j.arena, bytes.len);
        for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
            rr_unit again;
            bool good;

            memcpy(broken, bytes.data, bytes.len);
            broken[bit / 8] = (char)(broken[bit / 8] ^ (1 << bit % 8));
            good = read_exactly(&j, &again, (rr_slice){broken, bytes.len});
            assert_true(bit >= 8 || !good);
        }
        joins_close(&j);
    }
}

static void counts_beyond_all_bounds_take_no_memory(void **state)
{
    joins j;
    rr_unit again;
    size_t held;
    char bytes[64], *at = bytes;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: session, gap: 5s}\n");
    held = j.arena.held;
    rr_packed_put_byte(&at, 1);
    rr_packed_put_byte(&at, 0);
    rr_packed_put_varint(&at, 0);
    rr_packed_put_varint(&at, 0);
    rr_packed_put_varint(&at, 0);
    rr_packed_put_varint(&at, UINT64_MAX);
    assert_false(rr_unit_read(&again, j.contract, (rr_slice){bytes, (size_t)(at - bytes)}, &j.arena));
    assert_int_equal(j.arena.held, held);
    at = bytes;
    rr_unit_init(&again, j.contract);
    rr_packed_put_varint(&at, UINT64_MAX / 2);
    assert_false(rr_part_read(&again, RR_SLICE("da"), (rr_slice){bytes, (size_t)(at - bytes)}, &j.arena));
    assert_true(j.arena.held < 1024 * 1024);
    joins_close(&j);
}

/* A contract that was changed under the same name is told, not guessed. */
static void facts_of_another_shape_are_none(void **state)
{
    (void)state;
    for (size_t which = 0; which < UNITS; which++) {
        for (size_t other = 0; other < UNITS; other++) {
            joins j, k;
            rr_unit again;
            rr_slice bytes;

            open_unit(&j, which);
            joins_open(&k, units[other].contract);
            bytes = write_unit(&j, &j.unit);
            assert_int_equal(rr_unit_read(&again, k.contract, bytes, &k.arena), which == other);
            joins_close(&j);
            joins_close(&k);
        }
    }
}

static void parts_go_beside_the_value_when_they_are_many(void **state)
{
    joins j;
    rr_unit again;
    size_t most = 0;

    (void)state;
    joins_open(&j, "  mode: delta\n  window: {kind: global}\n");
    for (char id = 'A'; id <= 'Z'; id++) {
        char json[64];

        snprintf(json, sizeof json, "\"delta_id\":\"number-%c\",\"value\":1", id);
        joins_take(&j, json);
        rr_slice bytes = write_unit(&j, &j.unit);
        most = bytes.len > most ? bytes.len : most;
        assert_true(rr_unit_read(&again, j.contract, bytes, &j.arena));
        assert_int_equal(again.spilled, j.unit.spilled);
        assert_int_equal(again.complete, !j.unit.spilled);
        assert_int_equal(again.part_total, id - 'A' + 1);
        assert_int_equal(again.part_count, j.unit.spilled ? 0 : again.part_total);
    }
    assert_true(j.unit.spilled);
    assert_true(most <= 1024); /* what a reader of the value has to take along */
    for (size_t k = 0; k < j.unit.part_count; k++) {
        assert_true(j.unit.parts[k].dirty); /* so that all of them are written beside it */
    }
    joins_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(cut_anywhere_they_are_no_facts),
        cmocka_unit_test(with_a_byte_more_they_are_no_facts),
        cmocka_unit_test(any_bit_may_be_wrong),
        cmocka_unit_test(counts_beyond_all_bounds_take_no_memory),
        cmocka_unit_test(facts_of_another_shape_are_none),
        cmocka_unit_test(parts_go_beside_the_value_when_they_are_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
