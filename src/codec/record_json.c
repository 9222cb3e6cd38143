/* JSON lines to records: yajl finds the tokens, this file knows what they mean. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_json.h"

#include "json_text.h"
#include "keep.h"
#include "limits.h"
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
    [KIND_TIME] =
        "an RFC 3339 time with at most six fraction digits, or an integer of microseconds within int64",
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

/* The objects that a record consists of, and the members of those inside. */
typedef enum level { AT_TOP, AT_RECORD, AT_WINDOW, AT_VERSION, AT_INCLUDES, AT_MEASURES, AT_END } level;

static const char *const members[][2] = {
    [AT_WINDOW] = {"start", "end"},
    [AT_VERSION] = {"epoch", "number"},
    [AT_INCLUDES] = {"base", "version"},
    [AT_END] = {NULL, NULL},
};

enum { LEVELS_MAX = 4, SKIPPED_MAX = 64 };

/* One line under way. */
typedef struct reading {
    rr_slice line;
    yajl_handle yajl;
    rr_json_memory scratch;
    rr_keep keep;
    rr_record *record;
    rr_text *why;
    rr_decoded decoded;

    level levels[LEVELS_MAX];
    size_t depth;
    size_t skipped;  /* how deep inside a value that is no number */
    field field;     /* of the record, last named */
    unsigned member; /* of an object inside, last named */
    size_t column;   /* of the name last read */
    uint32_t fields_seen;
    unsigned members_seen[AT_END];
    bool start_there, end_there; /* of the window */
    rr_version version;          /* being read, member by member */
    bool number_there;
    unsigned includes_member; /* of includes_correction, last named */
    bool value_there, measures_there;
    bool clock_there;
    int64_t clock_us;
    rr_slice name; /* of the measure under way */
    rr_measure measures[RR_LIMIT_MEASURES];
    size_t measure_count;
    rr_slice names[RR_LIMIT_MEASURES]; /* of all in `measures`, also absent ones */
    size_t name_count;
} reading;

/* A value that is neither object nor list. */
typedef enum scalar_kind { SCALAR_ABSENT, SCALAR_BOOL, SCALAR_NUMBER, SCALAR_STRING } scalar_kind;

typedef struct scalar {
    scalar_kind kind;
    rr_slice text;
} scalar;

static level level_now(const reading *r)
{
    return r->levels[r->depth];
}

static int malformed(reading *r, const char *what)
{
    rr_text_put(r->why, what);
    r->decoded = RR_DECODED_MALFORMED;
    return 0;
}

static void say_column(reading *r, size_t column)
{
    rr_text_put(r->why, " (column ");
    rr_text_u64(r->why, column);
    rr_text_put(r->why, ") ");
}

/* "field 'window.start' (column 27) " */
static void say_field(reading *r)
{
    level at = level_now(r);

    rr_text_put(r->why, "field '");
    rr_text_put(r->why, fields[r->field].name);
    if (at == AT_VERSION && r->levels[r->depth - 1] == AT_INCLUDES) {
        rr_text_put(r->why, ".");
        rr_text_put(r->why, members[AT_INCLUDES][r->includes_member]);
    }
    if (at == AT_WINDOW || at == AT_VERSION || at == AT_INCLUDES) {
        rr_text_put(r->why, ".");
        rr_text_put(r->why, members[at][r->member]);
    } else if (at == AT_MEASURES) {
        rr_text_put(r->why, ".");
        rr_text_slice(r->why, r->name);
    }
    rr_text_put(r->why, "'");
    say_column(r, r->column);
}

static int wrong(reading *r, kind wanted, const char *seen)
{
    say_field(r);
    rr_text_put(r->why, "is ");
    rr_text_put(r->why, seen);
    rr_text_put(r->why, "; it has to be ");
    return malformed(r, kind_wants[wanted]);
}

static int wrong_scalar(reading *r, kind wanted, scalar value)
{
    if (value.kind == SCALAR_BOOL) {
        return wrong(r, wanted, "true or false");
    }
    say_field(r);
    rr_text_put(r->why, value.kind == SCALAR_STRING ? "is the string '" : "is the number ");
    rr_text_slice(r->why, value.text);
    rr_text_put(r->why, value.kind == SCALAR_STRING ? "'; it has to be " : "; it has to be ");
    return malformed(r, kind_wants[wanted]);
}

static bool is_digits(scalar value)
{
    return value.kind == SCALAR_NUMBER || value.kind == SCALAR_STRING;
}

static bool read_u64(scalar value, uint64_t *number)
{
    return is_digits(value) && rr_number_u64(value.text, number);
}

static bool read_time(scalar value, int64_t *time_us)
{
    return is_digits(value) && (rr_number_i64(value.text, time_us) ||
                                (value.kind == SCALAR_STRING && rr_time_parse(value.text, time_us)));
}

/* Words. */

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

static int unknown_word(reading *r, rr_slice word, word_of name, int from, int count)
{
    say_field(r);
    rr_text_put(r->why, "is '");
    rr_text_slice(r->why, word);
    rr_text_put(r->why, "'; it can be ");
    for (int row = from; row < count; row++) {
        rr_text_put(r->why, row == from ? "" : row == count - 1 ? " or " : ", ");
        rr_text_put(r->why, name(row));
    }
    return malformed(r, "");
}

static int set_word(reading *r, rr_slice word)
{
    rr_record *to = r->record;
    int row;

    switch (r->field) {
    case FIELD_MODE:
        row = rr_mode_parse(word);
        to->mode = (rr_mode)row;
        return row >= 0 ? 1 : unknown_word(r, word, mode_word, 1, RR_MODE_COUNT);
    case FIELD_OP:
        row = rr_op_parse(word);
        to->op = (rr_op)row;
        return row >= 0 ? 1 : unknown_word(r, word, op_word, 0, RR_OP_COUNT);
    case FIELD_ORIGIN:
        row = rr_origin_parse(word);
        to->origin = (rr_origin)row;
        return row >= 0 ? 1 : unknown_word(r, word, origin_word, 0, RR_ORIGIN_COUNT);
    case FIELD_STATUS:
        row = rr_result_parse(word);
        to->status = (rr_result_status)row;
        return row >= 0 ? 1 : unknown_word(r, word, result_word, 0, RR_RESULT_COUNT);
    default:
        row = rr_cause_parse(word);
        to->cause = (rr_cause)row;
        return row >= 0 ? 1 : unknown_word(r, word, cause_word, 1, RR_CAUSE_COUNT);
    }
}

/* Values of the record's fields. */

static int set_text(reading *r, rr_slice text)
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

/* Number 0 is a version that was never set, whatever its epoch says. In a base it is said on purpose: no live result
 * of that epoch. */
static int set_version(reading *r, rr_version version)
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

static int set_time(reading *r, int64_t time_us)
{
    if (r->field == FIELD_CLOCK) {
        r->clock_there = true;
        r->clock_us = time_us;
    } else {
        r->record->has_emitted_at = true;
        r->record->emitted_at_us = time_us;
    }
    return 1;
}

static int add_measure(reading *r, rr_slice name, rr_number_kind number, rr_slice text)
{
    r->measures[r->measure_count++] =
        (rr_measure){.name = name, .kind = number, .text = rr_keep_copy(&r->keep, text)};
    return 1;
}

static int set_measure(reading *r, rr_slice name, scalar value)
{
    return is_digits(value) ? add_measure(r, name, RR_NUMBER_TEXT, value.text)
                            : add_measure(r, name, RR_NUMBER_NONE, (rr_slice){NULL, 0});
}

static int set_value(reading *r, scalar value)
{
    r->value_there = true;
    return r->measures_there ? 1 : set_measure(r, RR_SLICE("value"), value);
}

static int set_field(reading *r, scalar value)
{
    kind wanted = fields[r->field].kind;
    rr_version version = {0, 0};
    int64_t time_us;

    switch (wanted) {
    case KIND_TEXT:
        return value.kind == SCALAR_STRING ? set_text(r, value.text) : wrong_scalar(r, wanted, value);
    case KIND_WORD:
        return value.kind == SCALAR_STRING ? set_word(r, value.text) : wrong_scalar(r, wanted, value);
    case KIND_TIME: return read_time(value, &time_us) ? set_time(r, time_us) : wrong_scalar(r, wanted, value);
    case KIND_VERSION:
        return read_u64(value, &version.number) ? set_version(r, version) : wrong_scalar(r, wanted, value);
    case KIND_SEQUENCE:
        r->record->has_sequence = true;
        return read_u64(value, &r->record->sequence) ? 1 : wrong_scalar(r, wanted, value);
    case KIND_MEASURE: return set_value(r, value);
    default: return wrong_scalar(r, wanted, value);
    }
}

/* Values of the members of objects inside. */

static int set_window_member(reading *r, scalar value)
{
    rr_window *window = &r->record->window;

    if (!read_time(value, r->member == 0 ? &window->start : &window->end)) {
        return wrong_scalar(r, KIND_TIME, value);
    }
    *(r->member == 0 ? &r->start_there : &r->end_there) = true;
    return 1;
}

static int set_version_member(reading *r, scalar value)
{
    if (!read_u64(value, r->member == 0 ? &r->version.epoch : &r->version.number)) {
        return wrong_scalar(r, KIND_SEQUENCE, value);
    }
    r->number_there = r->number_there || r->member == 1;
    return 1;
}

static int set_includes_member(reading *r, scalar value)
{
    rr_version version = {0, 0};

    return read_u64(value, &version.number) ? set_version(r, version) : wrong_scalar(r, KIND_VERSION, value);
}

static int on_scalar(reading *r, scalar value)
{
    if (r->skipped != 0) {
        return 1;
    }
    if (level_now(r) == AT_TOP) {
        return malformed(r, "the line is JSON, but not an object: a record is one object a line");
    }
    if (value.kind == SCALAR_ABSENT || (value.kind == SCALAR_STRING && value.text.len == 0)) {
        return 1;
    }
    switch (level_now(r)) {
    case AT_RECORD: return set_field(r, value);
    case AT_WINDOW: return set_window_member(r, value);
    case AT_VERSION: return set_version_member(r, value);
    case AT_INCLUDES: return set_includes_member(r, value);
    default: return set_measure(r, r->name, value);
    }
}

/* Objects and lists. */

static int enter(reading *r, level at)
{
    r->levels[++r->depth] = at;
    return 1;
}

/* What belongs to no number is only passed over, within a bound. */
static int skip(reading *r)
{
    r->skipped++;
    return r->skipped <= SKIPPED_MAX ? 1 : malformed(r, "the line is nested too deeply");
}

static int enter_version(reading *r)
{
    r->version = (rr_version){0, 0};
    r->number_there = false;
    r->members_seen[AT_VERSION] = 0;
    return enter(r, AT_VERSION);
}

static int skip_measure(reading *r, rr_slice name)
{
    return add_measure(r, name, RR_NUMBER_NONE, (rr_slice){NULL, 0}) && skip(r);
}

static int open_field(reading *r, bool is_object)
{
    kind wanted = fields[r->field].kind;

    if (wanted == KIND_MEASURE) {
        r->value_there = true;
        return r->measures_there ? skip(r) : skip_measure(r, RR_SLICE("value"));
    }
    if (!is_object) {
        return wrong(r, wanted, "a list");
    }
    switch (wanted) {
    case KIND_WINDOW: r->record->has_window = true; return enter(r, AT_WINDOW);
    case KIND_VERSION: return enter_version(r);
    case KIND_INCLUDES: return enter(r, AT_INCLUDES);
    case KIND_MEASURES:
        /* If `value` stood before, the record is malformed anyway; the room is for these. */
        r->measures_there = true;
        r->measure_count = 0;
        return enter(r, AT_MEASURES);
    default: return wrong(r, wanted, "an object");
    }
}

static int on_open(reading *r, bool is_object)
{
    const char *seen = is_object ? "an object" : "a list";

    if (r->skipped != 0) {
        return skip(r);
    }
    switch (level_now(r)) {
    case AT_TOP:
        return is_object ? enter(r, AT_RECORD)
                         : malformed(r, "the line is a JSON list: a record is one object a line");
    case AT_RECORD: return open_field(r, is_object);
    case AT_INCLUDES: return is_object ? enter_version(r) : wrong(r, KIND_VERSION, seen);
    case AT_MEASURES: return skip_measure(r, r->name);
    case AT_WINDOW: return wrong(r, KIND_TIME, seen);
    default: return wrong(r, KIND_SEQUENCE, seen);
    }
}

static int close_includes(reading *r)
{
    rr_record *to = r->record;

    to->has_includes = rr_version_is_set(to->includes_version);
    if (!to->has_includes && rr_version_is_set(to->includes_base)) {
        return malformed(r, "field 'includes_correction' has a base but no version");
    }
    return 1;
}

static int on_close(reading *r)
{
    level closed = level_now(r);

    if (r->skipped != 0) {
        r->skipped--;
        return 1;
    }
    r->depth--;
    switch (closed) {
    case AT_RECORD: r->levels[r->depth] = AT_END; return 1;
    case AT_WINDOW: r->record->window_incomplete = !(r->start_there && r->end_there); return 1;
    case AT_VERSION: return r->number_there ? set_version(r, r->version) : 1;
    case AT_INCLUDES: return close_includes(r);
    default: return 1;
    }
}

/* Names. */

static int twice(reading *r, rr_slice name)
{
    rr_text_put(r->why, "field '");
    rr_text_slice(r->why, name);
    rr_text_put(r->why, "'");
    say_column(r, r->column);
    return malformed(r, "is there twice");
}

static int unknown_name(reading *r, rr_slice name, const char *inside)
{
    rr_text_put(r->why, "field '");
    rr_text_slice(r->why, name);
    rr_text_put(r->why, "'");
    say_column(r, r->column);
    rr_text_put(r->why, "is no field of ");
    return malformed(r, inside);
}

static int name_field(reading *r, rr_slice name)
{
    unsigned at = 0;

    while (at < FIELD_COUNT && !rr_slice_equal(name, rr_slice_of(fields[at].name))) {
        at++;
    }
    if (at == FIELD_COUNT) {
        return unknown_name(r, name, "a record");
    }
    if ((r->fields_seen >> at & 1) != 0) {
        return twice(r, name);
    }
    r->fields_seen |= UINT32_C(1) << at;
    r->field = (field)at;
    return 1;
}

static int name_member(reading *r, rr_slice name)
{
    level at = level_now(r);
    unsigned member = 0;

    while (member < 2 && !rr_slice_equal(name, rr_slice_of(members[at][member]))) {
        member++;
    }
    if (member == 2) {
        return unknown_name(r, name,
                            at == AT_WINDOW    ? "a window, which has start and end"
                            : at == AT_VERSION ? "a version, which has epoch and number"
                                               : "includes_correction, which has base and version");
    }
    if ((r->members_seen[at] >> member & 1) != 0) {
        return twice(r, name);
    }
    r->members_seen[at] |= 1u << member;
    r->member = member;
    r->includes_member = at == AT_INCLUDES ? member : r->includes_member;
    return 1;
}

static int name_measure(reading *r, rr_slice name)
{
    for (size_t k = 0; k < r->name_count; k++) {
        if (rr_slice_equal(r->names[k], name)) {
            return twice(r, name);
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

static int on_name(reading *r, rr_slice name)
{
    bool within = name.data >= r->line.data && name.data < r->line.data + r->line.len;

    if (r->skipped != 0) {
        return 1;
    }
    r->column = within ? (size_t)(name.data - r->line.data) : yajl_get_bytes_consumed(r->yajl);
    switch (level_now(r)) {
    case AT_RECORD: return name_field(r, name);
    case AT_MEASURES: return name_measure(r, name);
    default: return name_member(r, name);
    }
}

/* yajl's side. */

static int yajl_on_null(void *context)
{
    return on_scalar(context, (scalar){SCALAR_ABSENT, {NULL, 0}});
}

static int yajl_on_boolean(void *context, int value)
{
    (void)value;
    return on_scalar(context, (scalar){SCALAR_BOOL, {NULL, 0}});
}

static int yajl_on_number(void *context, const char *text, size_t len)
{
    return on_scalar(context, (scalar){SCALAR_NUMBER, {text, len}});
}

static int yajl_on_string(void *context, const unsigned char *text, size_t len)
{
    return on_scalar(context, (scalar){SCALAR_STRING, {(const char *)text, len}});
}

static int yajl_on_map_key(void *context, const unsigned char *text, size_t len)
{
    return on_name(context, (rr_slice){(const char *)text, len});
}

static int yajl_on_start_map(void *context)
{
    return on_open(context, true);
}
static int yajl_on_start_array(void *context)
{
    return on_open(context, false);
}
static int yajl_on_end(void *context)
{
    return on_close(context);
}

static const yajl_callbacks callbacks = {
    .yajl_null = yajl_on_null,
    .yajl_boolean = yajl_on_boolean,
    .yajl_number = yajl_on_number,
    .yajl_string = yajl_on_string,
    .yajl_start_map = yajl_on_start_map,
    .yajl_map_key = yajl_on_map_key,
    .yajl_end_map = yajl_on_end,
    .yajl_start_array = yajl_on_start_array,
    .yajl_end_array = yajl_on_end,
};

static void say_yajl(reading *r, const char *text)
{
    rr_slice line = rr_slice_of(text);
    const char *end = memchr(text, '\n', line.len);

    line.len = end == NULL ? line.len : (size_t)(end - text);
    rr_text_slice(r->why, line);
}

static int not_json(reading *r)
{
    unsigned char *text = yajl_get_error(r->yajl, 0, (const unsigned char *)r->line.data, r->line.len);
    size_t at = yajl_get_bytes_consumed(r->yajl);

    rr_text_put(r->why, "not JSON");
    say_column(r, at == 0 ? 1 : at);
    say_yajl(r, text == NULL ? "" : (const char *)text);
    return malformed(r, "");
}

static void parse(reading *r)
{
    yajl_alloc_funcs memory = rr_json_memory_funcs(&r->scratch);
    yajl_status status;

    r->yajl = yajl_alloc(&callbacks, &memory, r);
    status = yajl_parse(r->yajl, (const unsigned char *)r->line.data, r->line.len);
    if (status == yajl_status_ok) {
        status = yajl_complete_parse(r->yajl);
    }
    if (status == yajl_status_error && r->decoded == RR_DECODED_RECORD) {
        not_json(r);
    }
    yajl_free(r->yajl);
}

static int check_bytes(reading *r)
{
    size_t column = 0;
    const char *fault = rr_json_fault(r->line, &column);

    if (fault == NULL) {
        return 1;
    }
    rr_text_put(r->why, "the line");
    say_column(r, column);
    return malformed(r, fault);
}

static bool is_blank(rr_slice line)
{
    for (size_t at = 0; at < line.len; at++) {
        if (memchr(" \t\r\n", line.data[at], 4) == NULL) {
            return false;
        }
    }
    return true;
}

static void finish(reading *r, int64_t *clock_us)
{
    if ((r->fields_seen >> FIELD_CLOCK & 1) != 0) {
        if (r->fields_seen != UINT32_C(1) << FIELD_CLOCK || !r->clock_there) {
            malformed(r,
                      r->clock_there
                          ? "field 'clock' stands beside other fields: a line sets the clock or is a record"
                          : "field 'clock' has no time");
            return;
        }
        *clock_us = r->clock_us;
        r->decoded = RR_DECODED_CLOCK;
        return;
    }
    if (r->value_there && r->measures_there) {
        malformed(
            r,
            "the record has both value and measures; value is short for measures with the one name 'value'");
    }
}

/* Measures were gathered beside, so that their place in the arena can be behind what is kept. */
static void keep_measures(reading *r)
{
    rr_measure *kept;

    rr_keep_close(&r->keep);
    if (r->measure_count == 0) {
        return;
    }
    kept = rr_arena_take(r->keep.arena, r->measure_count * sizeof *kept);
    if (kept == NULL) {
        r->decoded = RR_DECODED_NO_MEMORY;
        return;
    }
    r->record->measures = memcpy(kept, r->measures, r->measure_count * sizeof *kept);
    r->record->measure_count = r->measure_count;
}

static void read_line(reading *r, int64_t *clock_us)
{
    size_t need = rr_json_need(r->line.len);

    if (!rr_keep_open(&r->keep, r->keep.arena, r->line.len)) {
        r->decoded = RR_DECODED_NO_MEMORY;
        return;
    }
    r->scratch.at = rr_arena_take(r->keep.arena, need);
    if (r->scratch.at == NULL) {
        r->decoded = RR_DECODED_NO_MEMORY;
    } else {
        r->scratch.end = r->scratch.at + need;
        if (check_bytes(r)) {
            parse(r);
        }
    }
    if (r->decoded == RR_DECODED_RECORD) {
        finish(r, clock_us);
    }
    if (r->decoded == RR_DECODED_RECORD) {
        keep_measures(r);
    }
    if (r->decoded != RR_DECODED_RECORD) {
        rr_keep_drop(&r->keep);
    }
}

static rr_slice without_line_end(rr_slice line)
{
    if (line.len != 0 && line.data[line.len - 1] == '\n') {
        line.len--;
    }
    if (line.len != 0 && line.data[line.len - 1] == '\r') {
        line.len--;
    }
    return line;
}

rr_decoded rr_record_from_json(rr_slice line, rr_arena *arena, rr_record *record, int64_t *clock_us,
                               rr_text *why)
{
    reading r;

    *record = (rr_record){0};
    line = without_line_end(line);
    if (line.len > RR_LIMIT_RECORD_BYTES) {
        rr_text_put(why, "the line has ");
        rr_text_u64(why, line.len);
        rr_text_put(why, " bytes, the limit is ");
        rr_text_u64(why, RR_LIMIT_RECORD_BYTES);
        return RR_DECODED_TOO_LARGE;
    }
    if (is_blank(line)) {
        return RR_DECODED_NOTHING;
    }
    memset(&r, 0, offsetof(reading, measures));
    r.measure_count = r.name_count = 0;
    r.line = line;
    r.record = record;
    r.why = why;
    r.keep.arena = arena;
    r.decoded = RR_DECODED_RECORD;
    read_line(&r, clock_us);
    return r.decoded;
}
