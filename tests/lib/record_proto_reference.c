/* rr.v1.Result by protobuf-c, with an allocator of our own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_proto_reference.h"

#include <rr/v1/result.pb-c.h>

#include "keep.h"
#include "limits.h"
#include "utf8.h"

/* protobuf-c takes up to 32 times the message's bytes for two-byte fields; nobody sends such records. */
enum { MEMORY_FACTOR = 40 };

_Static_assert(RR__V1__MODE__MODE_RETRACTION == (int)RR_MODE_RETRACTION, "modes have the table's numbers");
_Static_assert(RR__V1__CAUSE__CAUSE_RETRACTION == (int)RR_CAUSE_RETRACTION, "causes have the table's numbers");
_Static_assert(RR__V1__OP__OP_RETRACT == (int)RR_OP_RETRACT + 1, "ops are one above the table's numbers");
_Static_assert(RR__V1__ORIGIN__ORIGIN_CORRECTION == (int)RR_ORIGIN_CORRECTION + 1, "and so are origins");
_Static_assert(RR__V1__STATUS__STATUS_RECONCILED == (int)RR_RESULT_RECONCILED + 1, "and statuses");

/* One message under way. */
typedef struct reading {
    rr_keep keep;
    rr_record *record;
    rr_text *why;
    size_t taken; /* by protobuf-c */
    bool capped, exhausted;
} reading;

static void *scratch_take(void *context, size_t bytes)
{
    reading *r = context;
    void *taken;

    if (bytes > (size_t)MEMORY_FACTOR * RR_LIMIT_RECORD_BYTES - r->taken) {
        r->capped = true;
        return NULL;
    }
    r->taken += bytes;
    taken = rr_arena_take(r->keep.arena, bytes == 0 ? 1 : bytes);
    r->exhausted = r->exhausted || taken == NULL;
    return taken;
}

static void scratch_free(void *context, void *taken)
{
    (void)context;
    (void)taken;
}

static bool malformed(reading *r, const char *field, const char *what)
{
    rr_text_put(r->why, "field '");
    rr_text_put(r->why, field);
    rr_text_put(r->why, "' ");
    rr_text_put(r->why, what);
    return false;
}

static bool take_text(reading *r, const char *field, ProtobufCBinaryData from, rr_slice *to)
{
    rr_slice text = {(const char *)from.data, from.len};

    if (text.len == 0) {
        *to = (rr_slice){NULL, 0};
        return true;
    }
    if (rr_utf8_valid_len(text) != text.len) {
        return malformed(r, field, "is not UTF-8");
    }
    if (memchr(text.data, '\0', text.len) != NULL) {
        return malformed(r, field, "holds a NUL");
    }
    *to = rr_keep_copy(&r->keep, text);
    return true;
}

static bool take_texts(reading *r, const Rr__V1__Result *m)
{
    rr_record *to = r->record;

    return take_text(r, "business_key", m->business_key, &to->business_key) &&
           take_text(r, "metric_version", m->metric_version, &to->metric_version) &&
           take_text(r, "delta_id", m->delta_id, &to->delta_id) &&
           take_text(r, "producer", m->producer, &to->producer) &&
           take_text(r, "contributor", m->contributor, &to->contributor) &&
           take_text(r, "evidence", m->evidence, &to->evidence);
}

/* The sentence names the number: an enum value that is not in the published file. */
static bool in_range(reading *r, const char *field, int number, int most)
{
    if (number >= 0 && number <= most) {
        return true;
    }
    malformed(r, field, "has the value ");
    rr_text_i64(r->why, number);
    rr_text_put(r->why, ", which result.proto does not name");
    return false;
}

static int above_default(int number)
{
    return number == 0 ? 0 : number - 1;
}

static bool take_enums(reading *r, const Rr__V1__Result *m)
{
    rr_record *to = r->record;

    if (!in_range(r, "mode", (int)m->mode, RR_MODE_COUNT - 1) || !in_range(r, "op", (int)m->op, RR_OP_COUNT) ||
        !in_range(r, "origin", (int)m->origin, RR_ORIGIN_COUNT) ||
        !in_range(r, "status", (int)m->status, RR_RESULT_COUNT) ||
        !in_range(r, "cause", (int)m->cause, RR_CAUSE_COUNT - 1)) {
        return false;
    }
    to->mode = (rr_mode)m->mode;
    to->op = (rr_op)above_default((int)m->op);
    to->origin = (rr_origin)above_default((int)m->origin);
    to->status = (rr_result_status)above_default((int)m->status);
    to->cause = (rr_cause)m->cause;
    return true;
}

/* Number 0 is a version that was never set, whatever its epoch says. */
static rr_version version_of(const Rr__V1__Version *m)
{
    return m == NULL || m->number == 0 ? (rr_version){0, 0} : (rr_version){m->epoch, m->number};
}

/* In a base number 0 is said on purpose: no live result of that epoch. */
static rr_version base_of(const Rr__V1__Version *m)
{
    return m == NULL ? (rr_version){0, 0} : (rr_version){m->epoch, m->number};
}

static bool take_includes(reading *r, const Rr__V1__CorrectionRef *m)
{
    rr_record *to = r->record;

    if (m == NULL) {
        return true;
    }
    to->includes_base = base_of(m->base_version);
    to->includes_version = version_of(m->version);
    to->has_includes = rr_version_is_set(to->includes_version);
    if (!to->has_includes && rr_version_is_set(to->includes_base)) {
        return malformed(r, "includes_correction", "has a base but no version");
    }
    return true;
}

static void take_window(rr_record *to, const Rr__V1__Window *m)
{
    bool start = m != NULL && m->has_start_case == RR__V1__WINDOW__HAS_START_START;
    bool end = m != NULL && m->has_end_case == RR__V1__WINDOW__HAS_END_END;

    to->has_window = m != NULL;
    to->window_incomplete = m != NULL && !(start && end);
    to->window = (rr_window){start ? m->start : 0, end ? m->end : 0};
}

static bool take_scalars(reading *r, const Rr__V1__Result *m)
{
    rr_record *to = r->record;

    take_window(to, m->window);
    to->version = version_of(m->result_version);
    to->retracts_version = version_of(m->retracts_version);
    to->has_base = m->base_version != NULL;
    to->base_version = base_of(m->base_version);
    to->has_sequence = m->has_sequence_case == RR__V1__RESULT__HAS_SEQUENCE_SEQUENCE;
    to->sequence = to->has_sequence ? m->sequence : 0;
    to->has_emitted_at = m->has_emitted_at_case == RR__V1__RESULT__HAS_EMITTED_AT_EMITTED_AT;
    to->emitted_at_us = to->has_emitted_at ? m->emitted_at : 0;
    return take_includes(r, m->includes_correction);
}

static bool take_measure(reading *r, const Rr__V1__Measure *m, rr_measure *to)
{
    *to = (rr_measure){.kind = RR_NUMBER_NONE};
    switch (m->number_case) {
    case RR__V1__MEASURE__NUMBER_INTEGER:
        to->kind = RR_NUMBER_INT64;
        to->integer = m->integer;
        break;
    case RR__V1__MEASURE__NUMBER_REAL:
        to->kind = RR_NUMBER_DOUBLE;
        to->real = m->real;
        break;
    case RR__V1__MEASURE__NUMBER_DECIMAL:
        to->kind = RR_NUMBER_TEXT;
        if (!take_text(r, "measures.decimal", m->decimal, &to->text)) {
            return false;
        }
        break;
    default: break;
    }
    return take_text(r, "measures.name", m->name, &to->name);
}

/* A measure whose text is empty is absent, as everywhere. */
static bool is_absent(const rr_measure *measure)
{
    return measure->kind == RR_NUMBER_TEXT && measure->text.len == 0;
}

static bool take_list(reading *r, const Rr__V1__Result *m, rr_measure *measures, size_t *count)
{
    rr_slice names[RR_LIMIT_MEASURES];

    for (size_t k = 0; k < m->n_measures; k++) {
        rr_measure *to = &measures[*count];

        if (!take_measure(r, m->measures[k], to)) {
            return false;
        }
        for (size_t before = 0; before < k; before++) {
            if (rr_slice_equal(names[before], to->name)) {
                rr_text_put(r->why, "measure '");
                rr_text_slice(r->why, to->name);
                rr_text_put(r->why, "' is there twice");
                return false;
            }
        }
        names[k] = to->name;
        *count += is_absent(to) ? 0 : 1;
    }
    return true;
}

static bool take_measures(reading *r, const Rr__V1__Result *m, rr_measure *measures, size_t *count)
{
    rr_measure *to = &measures[0];

    if (m->shorthand_case == RR__V1__RESULT__SHORTHAND__NOT_SET) {
        return take_list(r, m, measures, count);
    }
    if (m->n_measures != 0) {
        return malformed(r, "value", "stands beside measures; a record has one or the other");
    }
    *to = (rr_measure){.name = RR_SLICE("value")};
    switch (m->shorthand_case) {
    case RR__V1__RESULT__SHORTHAND_VALUE:
        to->kind = RR_NUMBER_INT64;
        to->integer = m->value;
        break;
    case RR__V1__RESULT__SHORTHAND_VALUE_REAL:
        to->kind = RR_NUMBER_DOUBLE;
        to->real = m->value_real;
        break;
    default:
        to->kind = RR_NUMBER_TEXT;
        if (!take_text(r, "value_decimal", m->value_decimal, &to->text)) {
            return false;
        }
    }
    *count = is_absent(to) ? 0 : 1;
    return true;
}

/* True if nothing else is set, unknown fields included. */
static bool is_only_clock(const Rr__V1__Result *m)
{
    Rr__V1__Result clock = RR__V1__RESULT__INIT;

    clock.file_only_case = RR__V1__RESULT__FILE_ONLY_FILE_CLOCK;
    clock.file_clock = m->file_clock;
    return rr__v1__result__get_packed_size(m) == rr__v1__result__get_packed_size(&clock);
}

static rr_decoded take_clock(reading *r, const Rr__V1__Result *m, bool in_file, int64_t *clock_us)
{
    if (!in_file) {
        malformed(r, "file_clock", "is for files only; in a queue the time of arrival is the clock");
        return RR_DECODED_MALFORMED;
    }
    if (!is_only_clock(m)) {
        malformed(r, "file_clock", "stands beside other fields; a message sets the clock or is a record");
        return RR_DECODED_MALFORMED;
    }
    *clock_us = m->file_clock;
    return RR_DECODED_CLOCK;
}

static rr_decoded too_many_measures(reading *r, size_t count)
{
    rr_text_put(r->why, "the record has ");
    rr_text_u64(r->why, count);
    rr_text_put(r->why, " measures, the limit is ");
    rr_text_u64(r->why, RR_LIMIT_MEASURES);
    return RR_DECODED_TOO_LARGE;
}

/* Measures are gathered on the stack, so that their place in the arena can be behind what is kept. */
static rr_decoded take_record(reading *r, const Rr__V1__Result *m)
{
    rr_measure gathered[RR_LIMIT_MEASURES];
    rr_measure *kept;
    size_t count = 0;

    if (m->n_measures > RR_LIMIT_MEASURES) {
        return too_many_measures(r, m->n_measures);
    }
    if (!take_texts(r, m) || !take_enums(r, m) || !take_scalars(r, m) || !take_measures(r, m, gathered, &count)) {
        return RR_DECODED_MALFORMED;
    }
    rr_keep_close(&r->keep);
    if (count == 0) {
        return RR_DECODED_RECORD;
    }
    kept = rr_arena_take(r->keep.arena, count * sizeof *kept);
    if (kept == NULL) {
        return RR_DECODED_NO_MEMORY;
    }
    r->record->measures = memcpy(kept, gathered, count * sizeof *kept);
    r->record->measure_count = count;
    return RR_DECODED_RECORD;
}

static rr_decoded unpack(reading *r, rr_slice payload, bool in_file, int64_t *clock_us)
{
    ProtobufCAllocator allocator = {scratch_take, scratch_free, r};
    Rr__V1__Result *m = rr__v1__result__unpack(&allocator, payload.len, (const uint8_t *)payload.data);

    if (m != NULL) {
        return m->file_only_case == RR__V1__RESULT__FILE_ONLY_FILE_CLOCK ? take_clock(r, m, in_file, clock_us)
                                                                         : take_record(r, m);
    }
    if (r->capped) {
        rr_text_put(r->why, "decoding takes too much memory: the message consists of very many tiny fields");
        return RR_DECODED_TOO_LARGE;
    }
    if (r->exhausted) {
        return RR_DECODED_NO_MEMORY;
    }
    rr_text_put(r->why, "not a protobuf message of type rr.v1.Result, or cut off; is it JSON, or another type?");
    return RR_DECODED_MALFORMED;
}

rr_decoded record_from_proto_reference(rr_slice payload, bool in_file, rr_arena *arena, rr_record *record,
                                       int64_t *clock_us, rr_text *why)
{
    reading r = {.record = record, .why = why};
    rr_decoded decoded;

    *record = (rr_record){0};
    if (payload.len > RR_LIMIT_RECORD_BYTES) {
        rr_text_put(why, "the record has ");
        rr_text_u64(why, payload.len);
        rr_text_put(why, " bytes, the limit is ");
        rr_text_u64(why, RR_LIMIT_RECORD_BYTES);
        return RR_DECODED_TOO_LARGE;
    }
    if (!rr_keep_open(&r.keep, arena, payload.len)) {
        return RR_DECODED_NO_MEMORY;
    }
    decoded = unpack(&r, payload.len == 0 ? RR_SLICE("") : payload, in_file, clock_us);
    if (decoded != RR_DECODED_RECORD) {
        rr_keep_drop(&r.keep);
    }
    return decoded;
}
