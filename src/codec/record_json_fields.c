/* The fields of a record in JSON: what a name and its value mean (semantics, section 2). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "json_decoding.h"

#include "number.h"
#include "time.h"

/* Fields of a record: name, what its value is. */
#define FIELD_TABLE(X) \
    X(BUSINESS_KEY, business_key, TEXT) \
    X(WINDOW, window, WINDOW) \
    X(METRIC_VERSION, metric_version, TEXT) \
    X(RESULT_VERSION, result_version, VERSION) \
    X(VALUE, value, MEASURE) \
    X(MEASURES, measures, MEASURES) \
    X(MODE, mode, WORD) \
    X(OP, op, WORD) \
    X(RETRACTS_VERSION, retracts_version, VERSION) \
    X(DELTA_ID, delta_id, TEXT) \
    X(PRODUCER, producer, TEXT) \
    X(SEQUENCE, sequence, SEQUENCE) \
    X(CONTRIBUTOR, contributor, TEXT) \
    X(ORIGIN, origin, WORD) \
    X(BASE_VERSION, base_version, VERSION) \
    X(INCLUDES, includes_correction, INCLUDES) \
    X(STATUS, status, WORD) \
    X(CAUSE, cause, WORD) \
    X(EVIDENCE, evidence, TEXT) \
    X(EMITTED_AT, emitted_at, TIME) \
    X(CLOCK, clock, TIME)

typedef enum kind {
    KIND_TEXT,
    KIND_WORD,
    KIND_TIME,
    KIND_SEQUENCE,
    KIND_VERSION,
    KIND_WINDOW,
    KIND_INCLUDES,
    KIND_MEASURE,
    KIND_MEASURES
} kind;

static const char *const kind_wants[] = {
    [KIND_TEXT] = "a string",
    [KIND_WORD] = "a word as a string",
    [KIND_TIME] = "an RFC 3339 time with at most six fraction digits, or an integer of microseconds within int64",
    [KIND_SEQUENCE] = "an integer from 0 to 18446744073709551615",
    [KIND_VERSION] = "an integer from 0 to 18446744073709551615, or an object with epoch and number",
    [KIND_WINDOW] = "an object with start and end",
    [KIND_INCLUDES] = "an object with base and version",
    [KIND_MEASURE] = "a number",
    [KIND_MEASURES] = "an object of names and numbers",
};

typedef enum field {
#define RR_X(id, name, kind) FIELD_##id,
    FIELD_TABLE(RR_X)
#undef RR_X
        FIELD_COUNT
} field;

static const struct {
    const char *name;
    kind kind;
} fields[] = {
#define RR_X(id, name, kind) {#name, KIND_##kind},
    FIELD_TABLE(RR_X)
#undef RR_X
};

/* The members of the objects inside a record. */
static const char *const members[][2] = {
    [RR_JSON_AT_WINDOW] = {"start", "end"},
    [RR_JSON_AT_VERSION] = {"epoch", "number"},
    [RR_JSON_AT_INCLUDES] = {"base", "version"},
    [RR_JSON_AT_END] = {NULL, NULL},
};

enum { SKIPPED_MAX = 64 };

static rr_json_level current_level(const rr_json_decoding *r)
{
    return r->levels[r->depth];
}

/* "field 'window.start' (column 27) " */
static void explain_field(rr_json_decoding *r)
{
    rr_json_level at = current_level(r);

    rr_text_put(r->why, "field '");
    rr_text_put(r->why, fields[r->field].name);
    if (at == RR_JSON_AT_VERSION && r->levels[r->depth - 1] == RR_JSON_AT_INCLUDES) {
        rr_text_put(r->why, ".");
        rr_text_put(r->why, members[RR_JSON_AT_INCLUDES][r->includes_member]);
    }
    if (at == RR_JSON_AT_WINDOW || at == RR_JSON_AT_VERSION || at == RR_JSON_AT_INCLUDES) {
        rr_text_put(r->why, ".");
        rr_text_put(r->why, members[at][r->member]);
    } else if (at == RR_JSON_AT_MEASURES) {
        rr_text_put(r->why, ".");
        rr_text_slice(r->why, r->name);
    }
    rr_text_put(r->why, "'");
    rr_json_explain_column(r, r->column);
}

static int refuse_value(rr_json_decoding *r, kind wanted, const char *seen)
{
    explain_field(r);
    rr_text_put(r->why, "is ");
    rr_text_put(r->why, seen);
    rr_text_put(r->why, "; it has to be ");
    return rr_json_malformed(r, kind_wants[wanted]);
}

static int refuse_scalar(rr_json_decoding *r, kind wanted, rr_json_scalar value)
{
    if (value.kind == RR_JSON_BOOL) {
        return refuse_value(r, wanted, "true or false");
    }
    explain_field(r);
    rr_text_put(r->why, value.kind == RR_JSON_STRING ? "is the string '" : "is the number ");
    rr_text_slice(r->why, value.text);
    rr_text_put(r->why, value.kind == RR_JSON_STRING ? "'; it has to be " : "; it has to be ");
    return rr_json_malformed(r, kind_wants[wanted]);
}

static bool may_be_number(rr_json_scalar value)
{
    return value.kind == RR_JSON_NUMBER || value.kind == RR_JSON_STRING;
}

static bool read_u64(rr_json_scalar value, uint64_t *number)
{
    return may_be_number(value) && rr_number_u64(value.text, number);
}

static bool read_time(rr_json_scalar value, int64_t *time_us)
{
    return may_be_number(value) &&
           (rr_number_i64(value.text, time_us) || (value.kind == RR_JSON_STRING && rr_time_parse(value.text, time_us)));
}

/* ---- words ---- */

typedef const char *(*word_of)(int);

static const char *mode_word(int row)
{
    return rr_mode_word((rr_mode)row);
}

static const char *op_word(int row)
{
    return rr_op_word((rr_op)row);
}

static const char *origin_word(int row)
{
    return rr_origin_word((rr_origin)row);
}

static const char *result_word(int row)
{
    return rr_result_word((rr_result_status)row);
}

static const char *cause_word(int row)
{
    return rr_cause_word((rr_cause)row);
}

static int refuse_unknown_word(rr_json_decoding *r, rr_slice word, word_of name, int from, int count)
{
    explain_field(r);
    rr_text_put(r->why, "is '");
    rr_text_slice(r->why, word);
    rr_text_put(r->why, "'; it can be ");
    for (int row = from; row < count; row++) {
        rr_text_put(r->why, row == from ? "" : row == count - 1 ? " or " : ", ");
        rr_text_put(r->why, name(row));
    }
    return rr_json_malformed(r, "");
}

static int set_word(rr_json_decoding *r, rr_slice word)
{
    rr_record *to = r->record;
    int row;

    switch (r->field) {
    case FIELD_MODE:
        row = rr_mode_parse(word);
        to->mode = (rr_mode)row;
        return row >= 0 ? 1 : refuse_unknown_word(r, word, mode_word, 1, RR_MODE_COUNT);
    case FIELD_OP:
        row = rr_op_parse(word);
        to->op = (rr_op)row;
        return row >= 0 ? 1 : refuse_unknown_word(r, word, op_word, 0, RR_OP_COUNT);
    case FIELD_ORIGIN:
        row = rr_origin_parse(word);
        to->origin = (rr_origin)row;
        return row >= 0 ? 1 : refuse_unknown_word(r, word, origin_word, 0, RR_ORIGIN_COUNT);
    case FIELD_STATUS:
        row = rr_result_parse(word);
        to->status = (rr_result_status)row;
        return row >= 0 ? 1 : refuse_unknown_word(r, word, result_word, 0, RR_RESULT_COUNT);
    default:
        row = rr_cause_parse(word);
        to->cause = (rr_cause)row;
        return row >= 0 ? 1 : refuse_unknown_word(r, word, cause_word, 1, RR_CAUSE_COUNT);
    }
}

/* ---- values of the record's fields ---- */

static int set_text(rr_json_decoding *r, rr_slice text)
{
    rr_record *to = r->record;
    rr_slice kept = rr_keep_copy(&r->keep, text);

    switch (r->field) {
    case FIELD_BUSINESS_KEY: to->business_key = kept; break;
    case FIELD_METRIC_VERSION: to->metric_version = kept; break;
    case FIELD_DELTA_ID: to->delta_id = kept; break;
    case FIELD_PRODUCER: to->producer = kept; break;
    case FIELD_CONTRIBUTOR: to->contributor = kept; break;
    default: to->evidence = kept; break;
    }
    return 1;
}

/* Number 0 is a version that was never set, whatever its epoch is. In a base it has a meaning: no live result of that
 * epoch is known. */
static int set_version(rr_json_decoding *r, rr_version version)
{
    rr_version set = rr_version_is_set(version) ? version : (rr_version){0, 0};
    rr_record *to = r->record;

    switch (r->field) {
    case FIELD_RESULT_VERSION: to->version = set; break;
    case FIELD_RETRACTS_VERSION: to->retracts_version = set; break;
    case FIELD_BASE_VERSION:
        to->has_base = true;
        to->base_version = version;
        break;
    default: *(r->includes_member == 0 ? &to->includes_base : &to->includes_version) = version;
    }
    return 1;
}

static int set_time(rr_json_decoding *r, int64_t time_us)
{
    if (r->field == FIELD_CLOCK) {
        r->has_clock = true;
        r->clock_us = time_us;
    } else {
        r->record->has_emitted_at = true;
        r->record->emitted_at_us = time_us;
    }
    return 1;
}

static int add_measure(rr_json_decoding *r, rr_slice name, rr_number_kind number, rr_slice text)
{
    r->measures[r->measure_count++] = (rr_measure){.name = name, .kind = number, .text = rr_keep_copy(&r->keep, text)};
    return 1;
}

static int set_measure(rr_json_decoding *r, rr_slice name, rr_json_scalar value)
{
    return may_be_number(value) ? add_measure(r, name, RR_NUMBER_TEXT, value.text)
                                : add_measure(r, name, RR_NUMBER_NONE, (rr_slice){NULL, 0});
}

static int set_value(rr_json_decoding *r, rr_json_scalar value)
{
    r->has_value = true;
    return r->has_measures ? 1 : set_measure(r, RR_SLICE("value"), value);
}

static int set_field(rr_json_decoding *r, rr_json_scalar value)
{
    kind wanted = fields[r->field].kind;
    rr_version version = {0, 0};
    int64_t time_us;

    switch (wanted) {
    case KIND_TEXT: return value.kind == RR_JSON_STRING ? set_text(r, value.text) : refuse_scalar(r, wanted, value);
    case KIND_WORD: return value.kind == RR_JSON_STRING ? set_word(r, value.text) : refuse_scalar(r, wanted, value);
    case KIND_TIME: return read_time(value, &time_us) ? set_time(r, time_us) : refuse_scalar(r, wanted, value);
    case KIND_VERSION:
        return read_u64(value, &version.number) ? set_version(r, version) : refuse_scalar(r, wanted, value);
    case KIND_SEQUENCE:
        r->record->has_sequence = true;
        return read_u64(value, &r->record->sequence) ? 1 : refuse_scalar(r, wanted, value);
    case KIND_MEASURE: return set_value(r, value);
    default: return refuse_scalar(r, wanted, value);
    }
}

/* ---- values of the members of objects inside ---- */

static int set_window_member(rr_json_decoding *r, rr_json_scalar value)
{
    rr_window *window = &r->record->window;

    if (!read_time(value, r->member == 0 ? &window->start : &window->end)) {
        return refuse_scalar(r, KIND_TIME, value);
    }
    *(r->member == 0 ? &r->has_start : &r->has_end) = true;
    return 1;
}

static int set_version_member(rr_json_decoding *r, rr_json_scalar value)
{
    if (!read_u64(value, r->member == 0 ? &r->version.epoch : &r->version.number)) {
        return refuse_scalar(r, KIND_SEQUENCE, value);
    }
    r->has_number = r->has_number || r->member == 1;
    return 1;
}

static int set_includes_member(rr_json_decoding *r, rr_json_scalar value)
{
    rr_version version = {0, 0};

    return read_u64(value, &version.number) ? set_version(r, version) : refuse_scalar(r, KIND_VERSION, value);
}

int rr_json_on_scalar(rr_json_decoding *r, rr_json_scalar value)
{
    if (r->skipped != 0) {
        return 1;
    }
    if (current_level(r) == RR_JSON_AT_TOP) {
        return rr_json_malformed(r, "the line is JSON, but not an object: a record is one object a line");
    }
    if (value.kind == RR_JSON_ABSENT || (value.kind == RR_JSON_STRING && value.text.len == 0)) {
        return 1;
    }
    switch (current_level(r)) {
    case RR_JSON_AT_RECORD: return set_field(r, value);
    case RR_JSON_AT_WINDOW: return set_window_member(r, value);
    case RR_JSON_AT_VERSION: return set_version_member(r, value);
    case RR_JSON_AT_INCLUDES: return set_includes_member(r, value);
    default: return set_measure(r, r->name, value);
    }
}

/* ---- objects and lists ---- */

static int enter_level(rr_json_decoding *r, rr_json_level at)
{
    r->levels[++r->depth] = at;
    return 1;
}

/* A measure's value that is no number is skipped, up to a depth. */
static int skip_nested(rr_json_decoding *r)
{
    r->skipped++;
    return r->skipped <= SKIPPED_MAX ? 1 : rr_json_malformed(r, "the line is nested too deeply");
}

static int enter_version(rr_json_decoding *r)
{
    r->version = (rr_version){0, 0};
    r->has_number = false;
    r->members_seen[RR_JSON_AT_VERSION] = 0;
    return enter_level(r, RR_JSON_AT_VERSION);
}

static int skip_measure(rr_json_decoding *r, rr_slice name)
{
    return add_measure(r, name, RR_NUMBER_NONE, (rr_slice){NULL, 0}) && skip_nested(r);
}

static int open_field(rr_json_decoding *r, bool is_object)
{
    kind wanted = fields[r->field].kind;

    if (wanted == KIND_MEASURE) {
        r->has_value = true;
        return r->has_measures ? skip_nested(r) : skip_measure(r, RR_SLICE("value"));
    }
    if (!is_object) {
        return refuse_value(r, wanted, "a list");
    }
    switch (wanted) {
    case KIND_WINDOW: r->record->has_window = true; return enter_level(r, RR_JSON_AT_WINDOW);
    case KIND_VERSION: return enter_version(r);
    case KIND_INCLUDES: return enter_level(r, RR_JSON_AT_INCLUDES);
    case KIND_MEASURES:
        /* If `value` came before, the record is malformed anyway, so its measure can be dropped. */
        r->has_measures = true;
        r->measure_count = 0;
        return enter_level(r, RR_JSON_AT_MEASURES);
    default: return refuse_value(r, wanted, "an object");
    }
}

int rr_json_on_open(rr_json_decoding *r, bool is_object)
{
    const char *seen = is_object ? "an object" : "a list";

    if (r->skipped != 0) {
        return skip_nested(r);
    }
    switch (current_level(r)) {
    case RR_JSON_AT_TOP:
        return is_object ? enter_level(r, RR_JSON_AT_RECORD)
                         : rr_json_malformed(r, "the line is a JSON list: a record is one object a line");
    case RR_JSON_AT_RECORD: return open_field(r, is_object);
    case RR_JSON_AT_INCLUDES: return is_object ? enter_version(r) : refuse_value(r, KIND_VERSION, seen);
    case RR_JSON_AT_MEASURES: return skip_measure(r, r->name);
    case RR_JSON_AT_WINDOW: return refuse_value(r, KIND_TIME, seen);
    default: return refuse_value(r, KIND_SEQUENCE, seen);
    }
}

static int close_includes(rr_json_decoding *r)
{
    rr_record *to = r->record;

    to->has_includes = rr_version_is_set(to->includes_version);
    if (!to->has_includes && rr_version_is_set(to->includes_base)) {
        return rr_json_malformed(r, "field 'includes_correction' has a base but no version");
    }
    return 1;
}

int rr_json_on_close(rr_json_decoding *r)
{
    rr_json_level closed = current_level(r);

    if (r->skipped != 0) {
        r->skipped--;
        return 1;
    }
    r->depth--;
    switch (closed) {
    case RR_JSON_AT_RECORD: r->levels[r->depth] = RR_JSON_AT_END; return 1;
    case RR_JSON_AT_WINDOW: r->record->window_incomplete = !(r->has_start && r->has_end); return 1;
    case RR_JSON_AT_VERSION: return r->has_number ? set_version(r, r->version) : 1;
    case RR_JSON_AT_INCLUDES: return close_includes(r);
    default: return 1;
    }
}

/* ---- names ---- */

static int refuse_repeated_name(rr_json_decoding *r, rr_slice name)
{
    rr_text_put(r->why, "field '");
    rr_text_slice(r->why, name);
    rr_text_put(r->why, "'");
    rr_json_explain_column(r, r->column);
    return rr_json_malformed(r, "is there twice");
}

static int refuse_unknown_name(rr_json_decoding *r, rr_slice name, const char *inside)
{
    rr_text_put(r->why, "field '");
    rr_text_slice(r->why, name);
    rr_text_put(r->why, "'");
    rr_json_explain_column(r, r->column);
    rr_text_put(r->why, "is no field of ");
    return rr_json_malformed(r, inside);
}

static int name_field(rr_json_decoding *r, rr_slice name)
{
    unsigned at = 0;

    while (at < FIELD_COUNT && !rr_slice_equal(name, rr_slice_of(fields[at].name))) {
        at++;
    }
    if (at == FIELD_COUNT) {
        return refuse_unknown_name(r, name, "a record");
    }
    if ((r->fields_seen >> at & 1) != 0) {
        return refuse_repeated_name(r, name);
    }
    r->fields_seen |= UINT32_C(1) << at;
    r->field = (field)at;
    return 1;
}

static int name_member(rr_json_decoding *r, rr_slice name)
{
    rr_json_level at = current_level(r);
    unsigned member = 0;

    while (member < 2 && !rr_slice_equal(name, rr_slice_of(members[at][member]))) {
        member++;
    }
    if (member == 2) {
        return refuse_unknown_name(r, name,
                                   at == RR_JSON_AT_WINDOW    ? "a window, which has start and end"
                                   : at == RR_JSON_AT_VERSION ? "a version, which has epoch and number"
                                                              : "includes_correction, which has base and version");
    }
    if ((r->members_seen[at] >> member & 1) != 0) {
        return refuse_repeated_name(r, name);
    }
    r->members_seen[at] |= 1u << member;
    r->member = member;
    r->includes_member = at == RR_JSON_AT_INCLUDES ? member : r->includes_member;
    return 1;
}

static int name_measure(rr_json_decoding *r, rr_slice name)
{
    for (size_t k = 0; k < r->name_count; k++) {
        if (rr_slice_equal(r->names[k], name)) {
            return refuse_repeated_name(r, name);
        }
    }
    if (r->name_count == RR_LIMIT_MEASURES) {
        rr_text_put(r->why, "the record has more than ");
        rr_text_u64(r->why, RR_LIMIT_MEASURES);
        rr_text_put(r->why, " measures");
        r->decoded = RR_DECODED_TOO_LARGE;
        return 0;
    }
    r->name = rr_keep_copy(&r->keep, name);
    r->names[r->name_count++] = r->name;
    return 1;
}

int rr_json_on_name(rr_json_decoding *r, rr_slice name)
{
    bool within = name.data >= r->line.data && name.data < r->line.data + r->line.len;

    if (r->skipped != 0) {
        return 1;
    }
    r->column = within ? (size_t)(name.data - r->line.data) : yajl_get_bytes_consumed(r->yajl);
    switch (current_level(r)) {
    case RR_JSON_AT_RECORD: return name_field(r, name);
    case RR_JSON_AT_MEASURES: return name_measure(r, name);
    default: return name_member(r, name);
    }
}

void rr_json_finish(rr_json_decoding *r, int64_t *clock_us)
{
    if ((r->fields_seen >> FIELD_CLOCK & 1) != 0) {
        if (r->fields_seen != UINT32_C(1) << FIELD_CLOCK || !r->has_clock) {
            rr_json_malformed(r, r->has_clock
                                     ? "field 'clock' stands beside other fields: a line sets the clock or is a record"
                                     : "field 'clock' has no time");
            return;
        }
        *clock_us = r->clock_us;
        r->decoded = RR_DECODED_CLOCK;
        return;
    }
    if (r->has_value && r->has_measures) {
        rr_json_malformed(
            r, "the record has both value and measures; value is short for measures with the one name 'value'");
    }
}
