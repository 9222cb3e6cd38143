/* Record bytes: protobuf-c reads the same; decode, encode, decode is identity; as JSON it is the same record; joined
 * twice is joined once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kit.h"
#include "limits.h"
#include "proto_reader.h"
#include "record_json.h"
#include "record_proto.h"
#include "record_proto_reference.h"

enum { RECORDS_MAX = 8 };

/* ---- protobuf-c beside it ---- */

/* What in a message protobuf-c reads otherwise (record_proto_reference.h). */
typedef struct oddities {
    bool group, odd_form;
    bool twice; /* a message inside */
} oddities;

/* Numbers of the messages inside a record, and inside its includes_correction. */
static bool is_message(unsigned depth, uint32_t in, uint32_t number)
{
    static const uint32_t inside = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 11 | 1 << 17 | 1 << 18;

    return depth == 0 ? number < 32 && (inside >> number & 1) != 0 : in == 18 && (number == 1 || number == 2);
}

static void look(rr_slice message, unsigned depth, uint32_t in, oddities *seen)
{
    rr_proto_reader reader = rr_proto_over(message);
    rr_proto_field field;
    uint32_t there = 0;

    while (rr_proto_next(&reader, &field)) {
        seen->group = seen->group || field.wire == RR_PROTO_GROUP;
        if (depth < 2 && field.wire == RR_PROTO_BYTES && is_message(depth, in, field.number)) {
            look(field.bytes, depth + 1, depth == 0 ? field.number : 0, seen);
            seen->twice = seen->twice || (there >> field.number & 1) != 0;
            there |= field.number == 5 ? 0 : UINT32_C(1) << field.number; /* measures are a list */
        }
    }
    if (reader.why != NULL) {
        seen->odd_form = seen->odd_form || strstr(reader.why, "varint") || strstr(reader.why, "tag") ||
                         strstr(reader.why, "length") || strstr(reader.why, "number 0");
    }
}

/* The same bits: a NaN is the same as itself. */
static bool same_real(double a, double b)
{
    uint64_t one, other;

    memcpy(&one, &a, sizeof one);
    memcpy(&other, &b, sizeof other);
    return one == other;
}

static bool same_measures(const rr_record *a, const rr_record *b)
{
    for (size_t k = 0; k < a->measure_count; k++) {
        const rr_measure *one = &a->measures[k], *other = &b->measures[k];

        if (!rr_slice_equal(one->name, other->name) || one->kind != other->kind ||
            !rr_slice_equal(one->text, other->text) || one->integer != other->integer ||
            !same_real(one->real, other->real)) {
            return false;
        }
    }
    return true;
}

static bool same_texts(const rr_record *a, const rr_record *b)
{
    return rr_slice_equal(a->business_key, b->business_key) && rr_slice_equal(a->metric_version, b->metric_version) &&
           rr_slice_equal(a->delta_id, b->delta_id) && rr_slice_equal(a->producer, b->producer) &&
           rr_slice_equal(a->contributor, b->contributor) && rr_slice_equal(a->evidence, b->evidence);
}

static bool same_record(const rr_record *a, const rr_record *b)
{
    return same_texts(a, b) && rr_window_equal(a->window, b->window) && a->has_window == b->has_window &&
           a->window_incomplete == b->window_incomplete && rr_version_compare(a->version, b->version) == 0 &&
           rr_version_compare(a->retracts_version, b->retracts_version) == 0 && a->mode == b->mode && a->op == b->op &&
           a->origin == b->origin && a->status == b->status && a->cause == b->cause && a->has_base == b->has_base &&
           rr_version_compare(a->base_version, b->base_version) == 0 && a->has_includes == b->has_includes &&
           rr_version_compare(a->includes_base, b->includes_base) == 0 &&
           rr_version_compare(a->includes_version, b->includes_version) == 0 && a->has_sequence == b->has_sequence &&
           a->sequence == b->sequence && a->has_emitted_at == b->has_emitted_at &&
           a->emitted_at_us == b->emitted_at_us && a->measure_count == b->measure_count && same_measures(a, b) &&
           a->stream.len == 0 && a->values.len == 0 && !a->has_values && !a->has_arrival;
}

/* The same answer, for the same reason, and the same record. */
static void check_reference(rr_slice bytes, bool in_file, rr_arena *arena)
{
    oddities seen = {0};
    rr_record ours, other;
    int64_t our_clock = 0, other_clock = 0;
    rr_text why = {.len = 0}, other_why = {.len = 0};
    rr_decoded decoded = rr_record_from_proto(bytes, in_file, arena, &ours, &our_clock, &why);
    rr_decoded reference = record_from_proto_reference(bytes, in_file, arena, &other, &other_clock, &other_why);

    look(bytes, 0, 0, &seen);
    RR_MUST((decoded == RR_DECODED_RECORD || decoded == RR_DECODED_CLOCK) == (why.len == 0));
    if (seen.group || seen.odd_form) {
        RR_MUST(seen.group ? reference == RR_DECODED_MALFORMED || bytes.len > RR_LIMIT_RECORD_BYTES
                           : decoded == RR_DECODED_MALFORMED || bytes.len > RR_LIMIT_RECORD_BYTES);
        return;
    }
    if (reference == RR_DECODED_TOO_LARGE && other_why.len >= 8 && memcmp(other_why.bytes, "decoding", 8) == 0) {
        return;
    }
    if (seen.twice) {
        return;
    }
    RR_MUST(decoded == reference && our_clock == other_clock);
    RR_MUST(decoded != RR_DECODED_RECORD || same_record(&ours, &other));
    /* The sentence too, but for what is in brackets of "not a protobuf message". */
    RR_MUST(why.len == other_why.len || (why.len > 3 && memcmp(why.bytes, "not", 3) == 0));
    RR_MUST(memcmp(why.bytes, other_why.bytes, why.len == other_why.len ? why.len : 3) == 0);
}

/* ---- the record ---- */

static void check_round(const rr_record *record, rr_arena *arena)
{
    static rr_buf first, second;
    rr_record again;

    rr_buf_clear(&first);
    rr_buf_clear(&second);
    RR_MUST(rr_record_to_proto(record, &first));
    RR_MUST(rr_record_from_proto(rr_buf_view(&first), false, arena, &again, NULL, NULL) == RR_DECODED_RECORD);
    RR_MUST(rr_record_to_proto(&again, &second));
    RR_MUST(rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second)));
}

/* What is admitted is the same record as JSON. */
static void check_json(const rr_contract *contract, const rr_record *record, rr_arena *arena)
{
    static rr_buf text;
    rr_record again;
    int64_t clock_us;

    rr_buf_clear(&text);
    RR_MUST(rr_record_to_json(record, &text));
    RR_MUST(rr_record_from_json(rr_buf_view(&text), arena, &again, &clock_us, NULL) == RR_DECODED_RECORD);
    RR_MUST(fuzz_admit(contract, &again, arena));
    RR_MUST(rr_slice_equal(record->values, again.values) && rr_slice_equal(record->identity, again.identity) &&
            rr_window_equal(record->window, again.window));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const rr_contract *contract = fuzz_contract(fuzz_byte(&in));
    rr_arena *arena = fuzz_arena(0);
    rr_unit unit;
    bool whole = true;

    rr_unit_init(&unit, contract);
    for (size_t k = 0; k < RECORDS_MAX && in.left != 0; k++) {
        rr_record *record = rr_arena_zero(arena, sizeof *record);
        rr_text why = {.len = 0};
        rr_slice bytes = fuzz_chunk(&in);
        rr_decoded decoded = rr_record_from_proto(bytes, false, arena, record, NULL, &why);

        check_reference(bytes, k % 2 == 0, arena);
        RR_MUST(decoded != RR_DECODED_NO_MEMORY && decoded != RR_DECODED_CLOCK);
        if (decoded != RR_DECODED_RECORD) {
            continue;
        }
        check_round(record, arena);
        if (fuzz_admit(contract, record, arena)) {
            check_json(contract, record, arena);
            whole = whole && fuzz_join_twice(&unit, record, arena);
            RR_MUST(whole); /* all parts are at hand */
        }
    }
    return 0;
}
