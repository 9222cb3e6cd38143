/* rr.v1.Result to rr_record, with the reader of src/wire. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_proto.h"

#include "keep.h"
#include "limits.h"
#include "proto_reader.h"
#include "utf8.h"

#define BYTES(number) ((number) << 3 | RR_PROTO_BYTES)
#define VARINT(number) ((number) << 3 | RR_PROTO_VARINT)
#define FIXED64(number) ((number) << 3 | RR_PROTO_FIXED64)
#define KEY(field) ((field)->number << 3 | (field)->wire)

/* The largest numbers of fields in result.proto; above them a field is unknown. */
enum { LAST_OF_VERSION = 2, LAST_OF_WINDOW = 2, LAST_OF_REF = 2, LAST_OF_MEASURE = 4, LAST_OF_RESULT = 23 };

/* One message under way. First all of it is read, as it came; then what it says is looked at. */
typedef struct reading {
    rr_record *record; /* versions and texts as they came */
    rr_text *why;
    const char *broken; /* NULL, or why it is no message */
    int32_t mode, op, origin, status, cause;
    bool has_start, has_end, has_clock;
    bool more_there; /* a field that is no clock, and that no look at the record shows */
    int64_t clock_us;
    bool shorthand_there;
    rr_measure shorthand;
    rr_measure *measures; /* RR_LIMIT_MEASURES */
    size_t measure_count; /* also of those beyond the limit */
} reading;

/* ---- reading ---- */

/* A field of the schema with another wire type than it says, or one that the schema does not have. */
static bool take_other(reading *r, const rr_proto_field *field, uint32_t last)
{
    if (field->number > last) {
        r->more_there = true;
        return true;
    }
    r->broken = "a field is of another type than in result.proto";
    return false;
}

static bool ended(reading *r, const rr_proto_reader *in)
{
    r->broken = in->why;
    return in->why == NULL;
}

static bool read_version(reading *r, rr_slice bytes, rr_version *to)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    r->more_there = true;
    while (rr_proto_next(&in, &field)) {
        switch (KEY(&field)) {
        case VARINT(1): to->epoch = field.value; break;
        case VARINT(2): to->number = field.value; break;
        default:
            if (!take_other(r, &field, LAST_OF_VERSION)) {
                return false;
            }
        }
    }
    return ended(r, &in);
}

static bool read_window(reading *r, rr_slice bytes)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    r->record->has_window = true;
    while (rr_proto_next(&in, &field)) {
        switch (KEY(&field)) {
        case VARINT(1):
            r->has_start = true;
            r->record->window.start = rr_proto_int64(field.value);
            break;
        case VARINT(2):
            r->has_end = true;
            r->record->window.end = rr_proto_int64(field.value);
            break;
        default:
            if (!take_other(r, &field, LAST_OF_WINDOW)) {
                return false;
            }
        }
    }
    return ended(r, &in);
}

static bool read_includes(reading *r, rr_slice bytes)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    bool good = true;

    r->more_there = true;
    while (good && rr_proto_next(&in, &field)) {
        switch (KEY(&field)) {
        case BYTES(1): good = read_version(r, field.bytes, &r->record->includes_base); break;
        case BYTES(2): good = read_version(r, field.bytes, &r->record->includes_version); break;
        default: good = take_other(r, &field, LAST_OF_REF);
        }
    }
    return good && ended(r, &in);
}

/* A member of a oneof clears the others. */
static void set_integer(rr_measure *measure, uint64_t value)
{
    *measure = (rr_measure){.name = measure->name, .kind = RR_NUMBER_INT64, .integer = rr_proto_sint64(value)};
}

static void set_text(rr_measure *measure, rr_slice text)
{
    *measure = (rr_measure){.name = measure->name, .kind = RR_NUMBER_TEXT, .text = text};
}

static void set_real(rr_measure *measure, uint64_t value)
{
    *measure = (rr_measure){.name = measure->name, .kind = RR_NUMBER_DOUBLE, .real = rr_proto_double(value)};
}

/* One beyond the limit is read too, for it may be broken, but not kept. */
static bool read_measure(reading *r, rr_slice bytes)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;
    rr_measure beyond;
    rr_measure *to = r->measure_count < RR_LIMIT_MEASURES ? &r->measures[r->measure_count] : &beyond;

    r->measure_count++;
    *to = (rr_measure){.kind = RR_NUMBER_NONE};
    while (rr_proto_next(&in, &field)) {
        switch (KEY(&field)) {
        case BYTES(1): to->name = field.bytes; break;
        case VARINT(2): set_integer(to, field.value); break;
        case BYTES(3): set_text(to, field.bytes); break;
        case FIXED64(4): set_real(to, field.value); break;
        default:
            if (!take_other(r, &field, LAST_OF_MEASURE)) {
                return false;
            }
        }
    }
    return ended(r, &in);
}

static bool read_shorthand(reading *r, const rr_proto_field *field)
{
    r->shorthand_there = true;
    switch (KEY(field)) {
    case VARINT(6): set_integer(&r->shorthand, field->value); break;
    case BYTES(7): set_text(&r->shorthand, field->bytes); break;
    default: set_real(&r->shorthand, field->value);
    }
    return true;
}

/* The fields that stand alone and may be absent. */
static bool read_optional(reading *r, const rr_proto_field *field)
{
    switch (KEY(field)) {
    case VARINT(14):
        r->record->has_sequence = true;
        r->record->sequence = field->value;
        return true;
    case VARINT(22):
        r->record->has_emitted_at = true;
        r->record->emitted_at_us = rr_proto_int64(field->value);
        return true;
    case VARINT(23):
        r->has_clock = true;
        r->clock_us = rr_proto_int64(field->value);
        return true;
    default: return take_other(r, field, LAST_OF_RESULT);
    }
}

static bool read_field(reading *r, const rr_proto_field *field)
{
    rr_record *to = r->record;

    switch (KEY(field)) {
    case BYTES(1): to->business_key = field->bytes; return true;
    case BYTES(2): return read_window(r, field->bytes);
    case BYTES(3): to->metric_version = field->bytes; return true;
    case BYTES(4): return read_version(r, field->bytes, &to->version);
    case BYTES(5): return read_measure(r, field->bytes);
    case VARINT(6):
    case BYTES(7):
    case FIXED64(8): return read_shorthand(r, field);
    case VARINT(9): r->mode = rr_proto_int32(field->value); return true;
    case VARINT(10): r->op = rr_proto_int32(field->value); return true;
    case BYTES(11): return read_version(r, field->bytes, &to->retracts_version);
    case BYTES(12): to->delta_id = field->bytes; return true;
    case BYTES(13): to->producer = field->bytes; return true;
    case BYTES(15): to->contributor = field->bytes; return true;
    case VARINT(16): r->origin = rr_proto_int32(field->value); return true;
    case BYTES(17): to->has_base = true; return read_version(r, field->bytes, &to->base_version);
    case BYTES(18): return read_includes(r, field->bytes);
    case VARINT(19): r->status = rr_proto_int32(field->value); return true;
    case VARINT(20): r->cause = rr_proto_int32(field->value); return true;
    case BYTES(21): to->evidence = field->bytes; return true;
    default: return read_optional(r, field);
    }
}

static bool read_result(reading *r, rr_slice bytes)
{
    rr_proto_reader in = rr_proto_over(bytes);
    rr_proto_field field;

    while (rr_proto_next(&in, &field)) {
        if (!read_field(r, &field)) {
            return false;
        }
    }
    return ended(r, &in);
}

/* ---- what it says ---- */

static bool malformed(reading *r, const char *field, const char *what)
{
    rr_text_put(r->why, "field '");
    rr_text_put(r->why, field);
    rr_text_put(r->why, "' ");
    rr_text_put(r->why, what);
    return false;
}

static bool check_text(reading *r, const char *field, rr_slice *text)
{
    if (text->len == 0) {
        *text = (rr_slice){NULL, 0};
        return true;
    }
    if (rr_utf8_is_plain(*text)) {
        return true;
    }
    if (rr_utf8_valid_len(*text) != text->len) {
        return malformed(r, field, "is not UTF-8");
    }
    if (memchr(text->data, '\0', text->len) != NULL) {
        return malformed(r, field, "holds a NUL");
    }
    return true;
}

static bool check_texts(reading *r)
{
    rr_record *to = r->record;

    return check_text(r, "business_key", &to->business_key) && check_text(r, "metric_version", &to->metric_version) &&
           check_text(r, "delta_id", &to->delta_id) && check_text(r, "producer", &to->producer) &&
           check_text(r, "contributor", &to->contributor) && check_text(r, "evidence", &to->evidence);
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

static bool take_enums(reading *r)
{
    rr_record *to = r->record;

    if (!in_range(r, "mode", r->mode, RR_MODE_COUNT - 1) || !in_range(r, "op", r->op, RR_OP_COUNT) ||
        !in_range(r, "origin", r->origin, RR_ORIGIN_COUNT) || !in_range(r, "status", r->status, RR_RESULT_COUNT) ||
        !in_range(r, "cause", r->cause, RR_CAUSE_COUNT - 1)) {
        return false;
    }
    to->mode = (rr_mode)r->mode;
    to->op = (rr_op)above_default(r->op);
    to->origin = (rr_origin)above_default(r->origin);
    to->status = (rr_result_status)above_default(r->status);
    to->cause = (rr_cause)r->cause;
    return true;
}

/* Number 0 is a version that was never set, whatever its epoch says. (In a base it is said on purpose: no live result
 * of that epoch.) */
static rr_version set_or_none(rr_version version)
{
    return version.number == 0 ? (rr_version){0, 0} : version;
}

static bool take_versions(reading *r)
{
    rr_record *to = r->record;

    to->window_incomplete = to->has_window && !(r->has_start && r->has_end);
    to->version = set_or_none(to->version);
    to->retracts_version = set_or_none(to->retracts_version);
    to->includes_version = set_or_none(to->includes_version);
    to->has_includes = rr_version_is_set(to->includes_version);
    if (!to->has_includes && rr_version_is_set(to->includes_base)) {
        return malformed(r, "includes_correction", "has a base but no version");
    }
    return true;
}

/* A measure whose text is empty is absent, as everywhere. */
static bool is_absent(const rr_measure *measure)
{
    return measure->kind == RR_NUMBER_TEXT && measure->text.len == 0;
}

static bool is_twice(const reading *r, size_t which)
{
    for (size_t before = 0; before < which; before++) {
        if (rr_slice_equal(r->measures[before].name, r->measures[which].name)) {
            return true;
        }
    }
    return false;
}

static bool check_measures(reading *r)
{
    for (size_t k = 0; k < r->measure_count; k++) {
        rr_measure *measure = &r->measures[k];

        if (!check_text(r, "measures.decimal", &measure->text) || !check_text(r, "measures.name", &measure->name)) {
            return false;
        }
        if (is_twice(r, k)) {
            rr_text_put(r->why, "measure '");
            rr_text_slice(r->why, measure->name);
            rr_text_put(r->why, "' is there twice");
            return false;
        }
    }
    return true;
}

static bool take_shorthand(reading *r)
{
    if (r->measure_count != 0) {
        return malformed(r, "value", "stands beside measures; a record has one or the other");
    }
    if (!check_text(r, "value_decimal", &r->shorthand.text)) {
        return false;
    }
    r->shorthand.name = RR_SLICE("value");
    r->measures[r->measure_count++] = r->shorthand;
    return true;
}

/* The clock alone; what is empty or 0 is absent, but for what may be 0. */
static bool is_only_clock(const reading *r)
{
    const rr_record *record = r->record;

    return !r->more_there && !r->shorthand_there && r->measure_count == 0 && !record->has_window &&
           !record->has_sequence && !record->has_emitted_at &&
           (r->mode | r->op | r->origin | r->status | r->cause) == 0 &&
           (record->business_key.len | record->metric_version.len | record->delta_id.len | record->producer.len |
            record->contributor.len | record->evidence.len) == 0;
}

static rr_decoded take_clock(reading *r, bool in_file, int64_t *clock_us)
{
    if (!in_file) {
        malformed(r, "file_clock", "is for files only; in a queue the time of arrival is the clock");
        return RR_DECODED_MALFORMED;
    }
    if (!is_only_clock(r)) {
        malformed(r, "file_clock", "stands beside other fields; a message sets the clock or is a record");
        return RR_DECODED_MALFORMED;
    }
    *clock_us = r->clock_us;
    return RR_DECODED_CLOCK;
}

static rr_decoded too_many_measures(reading *r)
{
    rr_text_put(r->why, "the record has ");
    rr_text_u64(r->why, r->measure_count);
    rr_text_put(r->why, " measures, the limit is ");
    rr_text_u64(r->why, RR_LIMIT_MEASURES);
    return RR_DECODED_TOO_LARGE;
}

static rr_decoded keep_measures(reading *r, rr_arena *arena)
{
    rr_measure *kept;
    size_t count = 0;

    for (size_t k = 0; k < r->measure_count; k++) {
        count += is_absent(&r->measures[k]) ? 0 : 1;
    }
    if (count == 0) {
        return RR_DECODED_RECORD;
    }
    kept = rr_arena_take(arena, count * sizeof *kept);
    if (kept == NULL) {
        return RR_DECODED_NO_MEMORY;
    }
    r->record->measures = kept;
    r->record->measure_count = count;
    for (size_t k = 0; k < r->measure_count; k++) {
        if (!is_absent(&r->measures[k])) {
            *kept++ = r->measures[k];
        }
    }
    return RR_DECODED_RECORD;
}

static rr_decoded take_record(reading *r, rr_arena *arena)
{
    if (r->measure_count > RR_LIMIT_MEASURES) {
        return too_many_measures(r);
    }
    if (!check_texts(r) || !take_enums(r) || !take_versions(r) ||
        !(r->shorthand_there ? take_shorthand(r) : check_measures(r))) {
        return RR_DECODED_MALFORMED;
    }
    return keep_measures(r, arena);
}

static rr_decoded not_a_message(reading *r)
{
    rr_text_put(r->why, "not a protobuf message of type rr.v1.Result, or cut off (");
    rr_text_put(r->why, r->broken);
    rr_text_put(r->why, "); is it JSON, or another type?");
    return RR_DECODED_MALFORMED;
}

static rr_decoded decode(rr_slice bytes, bool in_file, rr_arena *arena, rr_record *record, int64_t *clock_us,
                         rr_text *why)
{
    rr_measure measures[RR_LIMIT_MEASURES];
    reading r = {.record = record, .why = why, .measures = measures};

    if (!read_result(&r, bytes)) {
        return not_a_message(&r);
    }
    return r.has_clock ? take_clock(&r, in_file, clock_us) : take_record(&r, arena);
}

rr_decoded rr_record_from_proto(rr_slice payload, bool in_file, rr_arena *arena, rr_record *record, int64_t *clock_us,
                                rr_text *why)
{
    rr_keep keep;
    rr_decoded decoded;

    *record = (rr_record){0};
    if (payload.len > RR_LIMIT_RECORD_BYTES) {
        rr_text_put(why, "the record has ");
        rr_text_u64(why, payload.len);
        rr_text_put(why, " bytes, the limit is ");
        rr_text_u64(why, RR_LIMIT_RECORD_BYTES);
        return RR_DECODED_TOO_LARGE;
    }
    if (!rr_keep_open(&keep, arena, payload.len)) {
        return RR_DECODED_NO_MEMORY;
    }
    /* One copy of all: the texts of an honest record are most of it, and finding them twice costs more. */
    decoded = decode(rr_keep_copy(&keep, payload), in_file, arena, record, clock_us, why);
    if (decoded != RR_DECODED_RECORD) {
        rr_keep_drop(&keep);
    }
    return decoded;
}
