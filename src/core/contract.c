/* Admission: a decoded record against its contract (semantics, sections 4 and 10). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include "must.h"
#include "number.h"
#include "time.h"
#include "value.h"

__extension__ typedef __int128 rr_i128;

#define YEAR_2000_US INT64_C(946684800000000)
#define YEAR_2100_US INT64_C(4102444800000000)
#define DAY_US (86400 * RR_SECOND_US)
#define CLOCK_MARGIN_US (600 * RR_SECOND_US)

static const rr_measure_def default_measure = {.name = {"value", 5}, .type = RR_MEASURE_INT64};

const rr_contract rr_contract_defaults = {
    .window_kind = RR_WINDOW_ANY,
    .max_us = DAY_US,
    .measures = &default_measure,
    .measure_count = 1,
    .corrections = RR_CORRECTIONS_NONE,
    .during_conflict = RR_DURING_INCUMBENT,
    .retention_us = RR_FOREVER,
    .grace_us = DAY_US,
    .future_tolerance_us = DAY_US,
    .max_epoch = UINT32_MAX,
};

/* One admission under way. */
typedef struct admission {
    const rr_contract *contract;
    rr_record *record;
    rr_arena *scratch;
    rr_text *why;
} admission;

/* Sentences: they read "what was seen; what the contract says; the likely cause". */

static void say(const admission *a, const char *text)
{
    rr_text_put(a->why, text);
}

static void say_window(const admission *a, rr_window window)
{
    say(a, "the window ");
    rr_text_time(a->why, window.start);
    say(a, " to ");
    rr_text_time(a->why, window.end);
}

static void say_named(const admission *a, const char *before, rr_slice name, const char *after)
{
    say(a, before);
    rr_text_slice(a->why, name);
    say(a, after);
}

static rr_reason refuse(const admission *a, rr_reason reason, const char *text)
{
    say(a, text);
    return reason;
}

/* Limits: right behind what cannot be decoded. */

static rr_reason too_long(const admission *a, const char *name, rr_slice text, uint64_t limit)
{
    say(a, name);
    say(a, " has ");
    rr_text_u64(a->why, text.len);
    say(a, " bytes, the limit is ");
    rr_text_u64(a->why, limit);
    return RR_REASON_LIMIT_EXCEEDED;
}

static rr_reason check_limits(const admission *a)
{
    const rr_record *r = a->record;
    const struct {
        const char *name;
        rr_slice text;
    } keys[] = {{"business_key", r->business_key},
                {"metric_version", r->metric_version},
                {"delta_id", r->delta_id},
                {"producer", r->producer},
                {"contributor", r->contributor}};

    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        if (keys[k].text.len > RR_LIMIT_KEY_BYTES) {
            return too_long(a, keys[k].name, keys[k].text, RR_LIMIT_KEY_BYTES);
        }
    }
    if (r->evidence.len > RR_LIMIT_EVIDENCE_BYTES) {
        return too_long(a, "evidence", r->evidence, RR_LIMIT_EVIDENCE_BYTES);
    }
    if (r->measure_count > RR_LIMIT_MEASURES) {
        say(a, "the record has ");
        rr_text_u64(a->why, r->measure_count);
        say(a, " measures, the limit is ");
        rr_text_u64(a->why, RR_LIMIT_MEASURES);
        return RR_REASON_LIMIT_EXCEEDED;
    }
    return RR_REASON_NONE;
}

/* Windows. */

static bool plausible(rr_i128 time_us)
{
    return time_us >= YEAR_2000_US && time_us < YEAR_2100_US;
}

static rr_reason implausible(const admission *a, rr_window window)
{
    rr_i128 start = window.start;

    say_window(a, window);
    say(a, " starts before 2000-01-01T00:00:00Z");
    if (plausible(start * 1000)) {
        say(a, "; it looks like milliseconds, and microseconds since the epoch are wanted");
    } else if (plausible(start * 1000000)) {
        say(a, "; it looks like seconds, and microseconds since the epoch are wanted");
    } else if (start >= 0 && start < 366 * DAY_US) {
        say(a, "; it looks like a phase (an offset within a day or a period) taken for the window's start");
    } else {
        say(a, "; it looks like a clock that was never set, or another unit than microseconds");
    }
    return RR_REASON_WINDOW_IMPLAUSIBLE;
}

static bool has_size(const rr_contract *contract)
{
    return contract->window_kind == RR_WINDOW_TUMBLING || contract->window_kind == RR_WINDOW_SLIDING;
}

static bool in_future(const rr_contract *contract, const rr_record *record)
{
    rr_i128 limit = (rr_i128)record->arrival_us + contract->future_tolerance_us;

    limit += has_size(contract) ? contract->size_us : 0;
    return record->has_arrival && record->window.end > limit;
}

static rr_reason future(const admission *a, rr_window window)
{
    say_window(a, window);
    say(a, " ends more than ");
    rr_text_duration(a->why, a->contract->future_tolerance_us);
    say(a,
        has_size(a->contract) ? " and one window after the record's arrival at " : " after the record's arrival at ");
    rr_text_time(a->why, a->record->arrival_us);
    if (plausible(window.start / 1000)) {
        say(a, "; it looks like nanoseconds, and microseconds since the epoch are wanted");
    } else {
        say(a, "; the producer's clock may be wrong, or future_tolerance too small");
    }
    return RR_REASON_WINDOW_IN_FUTURE;
}

/* How far behind the grid a time is. */
static int64_t off_grid(const rr_contract *contract, int64_t time_us)
{
    rr_i128 rest = ((rr_i128)time_us - contract->offset_us) % contract->slide_us;

    return (int64_t)(rest < 0 ? rest + contract->slide_us : rest);
}

/* An end that is short by exactly one tick of a clock. */
static bool looks_inclusive(int64_t length, int64_t wanted)
{
    int64_t missing = wanted > length ? wanted - length : 0;

    return missing == 1 || missing == 1000 || missing == RR_SECOND_US;
}

static rr_reason misaligned(const admission *a, rr_window window)
{
    const rr_contract *c = a->contract;
    int64_t off = off_grid(c, window.start), length = window.end - window.start;

    say_window(a, window);
    say(a, " is ");
    rr_text_duration(a->why, length);
    say(a, " long");
    if (off != 0) {
        say(a, " and starts ");
        rr_text_duration(a->why, off);
        say(a, " behind the grid");
    }
    say(a, "; the contract says size ");
    rr_text_duration(a->why, c->size_us);
    if (c->window_kind == RR_WINDOW_SLIDING) {
        say(a, ", slide ");
        rr_text_duration(a->why, c->slide_us);
    }
    say(a, ", offset ");
    rr_text_duration(a->why, c->offset_us);
    if (off == 0 && looks_inclusive(length, c->size_us)) {
        say(a, "; the end looks inclusive: windows are half-open, so send the first instant behind it");
    } else if (c->window_kind == RR_WINDOW_SLIDING && length == c->slide_us && off == 0) {
        say(a, "; it looks like a pane of one slide instead of a whole window");
    } else if (length == c->size_us && off % (900 * RR_SECOND_US) == 0 && c->size_us > 3600 * RR_SECOND_US) {
        say(a, "; it looks like a local time zone: state it as the contract's offset");
    }
    return RR_REASON_WINDOW_MISALIGNED;
}

static rr_reason check_grid(const admission *a, rr_window window)
{
    bool fits = off_grid(a->contract, window.start) == 0 && window.end - window.start == a->contract->size_us;

    return fits ? RR_REASON_NONE : misaligned(a, window);
}

static rr_reason check_session(const admission *a, rr_window window)
{
    const rr_contract *c = a->contract;
    int64_t length = window.end - window.start;
    bool too_long_for_one = length > c->max_us;

    if (!too_long_for_one && (c->ends_last || length >= c->gap_us)) {
        return RR_REASON_NONE;
    }
    say_window(a, window);
    say(a, " is ");
    rr_text_duration(a->why, length);
    say(a, too_long_for_one ? " long; the contract's longest session (max) is " : " long; the contract's gap is ");
    rr_text_duration(a->why, too_long_for_one ? c->max_us : c->gap_us);
    if (!too_long_for_one) {
        say(a, ", and a session ends one gap after its last event; if it ends with it, say 'ends: last'");
    }
    return RR_REASON_WINDOW_MISALIGNED;
}

static rr_reason check_window(const admission *a)
{
    const rr_contract *c = a->contract;
    rr_record *r = a->record;

    if (c->window_kind == RR_WINDOW_GLOBAL) {
        r->window = (rr_window){0, 0};
        return r->has_window ? refuse(a, RR_REASON_WINDOW_UNEXPECTED,
                                      "the record has a window; the contract's window is global, which has none")
                             : RR_REASON_NONE;
    }
    if (!r->has_window || r->window_incomplete) {
        return refuse(a, RR_REASON_WINDOW_MISSING,
                      r->has_window ? "the window has no start or no end" : "the record has no window");
    }
    if (r->window.start >= r->window.end) {
        say_window(a, r->window);
        return refuse(a, RR_REASON_WINDOW_INVERTED,
                      r->window.start == r->window.end ? " is empty: its end must be later than its start"
                                                       : " ends before it starts: start and end may be swapped");
    }
    if (r->window.start < YEAR_2000_US) {
        return implausible(a, r->window);
    }
    if (in_future(c, r)) {
        return future(a, r->window);
    }
    if (has_size(c)) {
        return check_grid(a, r->window);
    }
    return c->window_kind == RR_WINDOW_SESSION ? check_session(a, r->window) : RR_REASON_NONE;
}

/* Point 2. */
static rr_reason check_place(const admission *a)
{
    const rr_record *r = a->record;

    if (r->business_key.len == 0) {
        return refuse(a, RR_REASON_KEY_MISSING, "business_key is missing or empty");
    }
    if (r->mode != RR_MODE_UNSPECIFIED && r->mode != a->contract->mode) {
        say(a, "the record says mode ");
        say(a, rr_mode_word(r->mode));
        say(a, "; the contract says ");
        return refuse(a, RR_REASON_MODE_MISMATCH, rr_mode_word(a->contract->mode));
    }
    return check_window(a);
}

/* Point 3. */
static rr_reason check_metric(const admission *a)
{
    const rr_contract *c = a->contract;
    const rr_record *r = a->record;
    bool known = c->metric_version_count == 0;

    if (r->metric_version.len == 0) {
        return refuse(a, RR_REASON_METRIC_VERSION_MISSING, "metric_version is missing or empty");
    }
    for (size_t k = 0; k < c->metric_version_count && !known; k++) {
        known = rr_slice_equal(c->metric_versions[k], r->metric_version);
    }
    if (!known) {
        say_named(a, "metric_version '", r->metric_version, "'; the contract's metric_versions are ");
        for (size_t k = 0; k < c->metric_version_count; k++) {
            say_named(a, k == 0 ? "'" : ", '", c->metric_versions[k], "'");
        }
        return RR_REASON_METRIC_VERSION_UNKNOWN;
    }
    if (r->op == RR_OP_RETRACT && r->origin == RR_ORIGIN_CORRECTION) {
        return refuse(a, RR_REASON_OP_NOT_IN_MODE, "a correction with op RETRACT; a correction can only ASSERT");
    }
    if (r->op == RR_OP_RETRACT && c->mode == RR_MODE_CUMULATIVE) {
        return refuse(a, RR_REASON_OP_NOT_IN_MODE,
                      "op RETRACT; the contract's mode is CUMULATIVE, where a newer version replaces the older "
                      "one; if the stream retracts, the mode is retraction");
    }
    return RR_REASON_NONE;
}

/* Point 4. */

static rr_reason check_epochs(const admission *a)
{
    const rr_record *r = a->record;
    const struct {
        const char *name;
        rr_version version;
    } named[] = {{"result_version", r->version},
                 {"retracts_version", r->retracts_version},
                 {"base_version", r->base_version},
                 {"the base in includes_correction", r->includes_base},
                 {"the version in includes_correction", r->includes_version}};

    for (size_t k = 0; k < sizeof named / sizeof named[0]; k++) {
        if (named[k].version.epoch <= a->contract->max_epoch) {
            continue;
        }
        say(a, named[k].name);
        say(a, " has epoch ");
        rr_text_u64(a->why, named[k].version.epoch);
        say(a, "; the contract's max_epoch is ");
        rr_text_u64(a->why, a->contract->max_epoch);
        return refuse(a, RR_REASON_VERSION_IMPLAUSIBLE, "; it looks like a clock or a hash instead of an epoch");
    }
    return RR_REASON_NONE;
}

static rr_reason version_missing(const admission *a)
{
    return refuse(a, RR_REASON_VERSION_MISSING,
                  "result_version is missing, or its number is 0, which was never set: numbers start at 1");
}

static rr_reason check_correction(const admission *a)
{
    const rr_contract *c = a->contract;
    rr_reason reason;

    if (c->corrections == RR_CORRECTIONS_NONE) {
        return refuse(a, RR_REASON_CORRECTION_NOT_ALLOWED,
                      "a record of origin CORRECTION; the contract says 'corrections: none'");
    }
    if (!rr_version_is_set(a->record->version)) {
        return version_missing(a);
    }
    reason = check_epochs(a);
    if (reason == RR_REASON_NONE && c->corrections == RR_CORRECTIONS_CONDITIONAL && !a->record->has_base) {
        return refuse(a, RR_REASON_BASE_MISSING,
                      "a correction without base_version; the contract says 'corrections: conditional': state the "
                      "newest live version that the correction includes, or 0 if no live result is known");
    }
    return reason;
}

/* Canonical: one byte of kind keeps a delta id from meeting a producer's name. */
static bool set_identity(const admission *a)
{
    rr_record *r = a->record;
    char *from, *to;

    if (r->delta_id.len == 0 && (r->producer.len == 0 || !r->has_sequence)) {
        return false;
    }
    from = to = rr_arena_take(a->scratch, 2 + r->delta_id.len + r->producer.len + 20);
    RR_MUST(from != NULL);
    if (r->delta_id.len != 0) {
        *to++ = 'd';
        memcpy(to, r->delta_id.data, r->delta_id.len);
        to += r->delta_id.len;
    } else {
        *to++ = 'p';
        memcpy(to, r->producer.data, r->producer.len);
        to += r->producer.len;
        *to++ = '\0';
        to += rr_u64_print(r->sequence, to);
    }
    r->identity = (rr_slice){from, (size_t)(to - from)};
    return true;
}

static rr_reason check_live(const admission *a)
{
    const rr_contract *c = a->contract;
    const rr_record *r = a->record;
    bool retract = r->op == RR_OP_RETRACT, needs_version;

    if (r->status == RR_RESULT_RECONCILED) {
        return refuse(a, RR_REASON_STATUS_NOT_ALLOWED,
                      "a live record with status RECONCILED; only a record of origin CORRECTION may have it");
    }
    if (c->mode == RR_MODE_DELTA && !set_identity(a)) {
        return refuse(a, RR_REASON_IDENTITY_MISSING,
                      "the record has neither delta_id nor both producer and sequence; the contract's mode is "
                      "DELTA, and a delta without a stable identity could count twice");
    }
    needs_version = c->mode == RR_MODE_DELTA ? c->corrections != RR_CORRECTIONS_NONE && !retract
                                             : !retract || !rr_version_is_set(r->retracts_version);
    if (needs_version && !rr_version_is_set(r->version)) {
        return version_missing(a);
    }
    return check_epochs(a);
}

/* Point 5. */

static size_t find_measure(const rr_contract *contract, rr_slice name)
{
    size_t low = 0, high = contract->measure_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = rr_slice_compare(name, contract->measures[middle].name);

        if (order == 0) {
            return middle;
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return contract->measure_count;
}

static void say_seen(const admission *a, const rr_measure *measure)
{
    switch (measure->kind) {
    case RR_NUMBER_TEXT: say_named(a, "'", measure->text, "'"); break;
    case RR_NUMBER_INT64: rr_text_i64(a->why, measure->integer); break;
    case RR_NUMBER_DOUBLE:
        say(a, __builtin_isfinite(measure->real) ? "a double" : "a double that is infinite or not a number");
        break;
    case RR_NUMBER_NONE: say(a, "something that is no number"); break;
    }
}

static rr_reason wrong_type(const admission *a, const rr_measure *measure, rr_measure_type type)
{
    static const char *const wanted[] = {
        "int64: a whole number from -9223372036854775808 to 9223372036854775807, without point and exponent",
        "decimal: a number, or one as text, with at most 100 digits before and 100 after the point",
        "double: a finite number",
    };

    say_named(a, "measure '", measure->name, "' is ");
    say_seen(a, measure);
    say(a, "; the contract says ");
    return refuse(a, RR_REASON_MEASURE_TYPE, wanted[type]);
}

static rr_reason unknown(const admission *a, rr_slice name)
{
    const rr_contract *c = a->contract;

    say_named(a, "measure '", name, "'; the contract's measures are ");
    for (size_t k = 0; k < c->measure_count; k++) {
        say_named(a, k == 0 ? "'" : ", '", c->measures[k].name, "'");
    }
    return RR_REASON_MEASURE_UNKNOWN;
}

/* Values as they came, each in canonical bytes. */
typedef struct readings {
    rr_slice of[RR_LIMIT_MEASURES]; /* by the contract's order; data NULL: not there */
    bool in_order;                  /* they came in the contract's order */
} readings;

static rr_reason read_measures(const admission *a, char *to, readings *out)
{
    const rr_contract *c = a->contract;
    size_t next = 0;

    out->in_order = true;
    memset(out->of, 0, c->measure_count * sizeof out->of[0]);
    for (size_t k = 0; k < a->record->measure_count; k++) {
        const rr_measure *measure = &a->record->measures[k];
        size_t at = find_measure(c, measure->name);
        char *from = to;

        if (at == c->measure_count) {
            return unknown(a, measure->name);
        }
        if (out->of[at].data != NULL) {
            say_named(a, "measure '", measure->name, "' is there twice");
            return RR_REASON_MALFORMED;
        }
        if (!rr_value_read(c->measures[at].type, measure, &to)) {
            return wrong_type(a, measure, c->measures[at].type);
        }
        out->of[at] = (rr_slice){from, (size_t)(to - from)};
        out->in_order = out->in_order && at == next++;
    }
    return RR_REASON_NONE;
}

static rr_slice join_values(const admission *a, const readings *in)
{
    size_t count = a->contract->measure_count, len = 0;
    char *to;

    for (size_t k = 0; k < count; k++) {
        len += in->of[k].len;
    }
    if (in->in_order) {
        return (rr_slice){in->of[0].data, len};
    }
    to = rr_arena_take(a->scratch, len);
    RR_MUST(to != NULL);
    len = 0;
    for (size_t k = 0; k < count; k++) {
        memcpy(to + len, in->of[k].data, in->of[k].len);
        len += in->of[k].len;
    }
    return (rr_slice){to, len};
}

static rr_reason check_measures(const admission *a)
{
    const rr_contract *c = a->contract;
    rr_record *r = a->record;
    char *to;
    readings read;
    rr_reason reason;

    if (r->measure_count == 0) {
        return r->op == RR_OP_RETRACT ? RR_REASON_NONE
                                      : refuse(a, RR_REASON_MEASURE_MISSING, "the record has no value and no measures");
    }
    to = rr_arena_take(a->scratch, rr_values_need(c));
    RR_MUST(to != NULL);
    reason = read_measures(a, to, &read);
    for (size_t k = 0; reason == RR_REASON_NONE && k < c->measure_count; k++) {
        if (read.of[k].data == NULL) {
            say_named(a, "measure '", c->measures[k].name,
                      "' is missing; the contract wants all of its measures in one record");
            reason = RR_REASON_MEASURE_MISSING;
        }
    }
    if (reason == RR_REASON_NONE) {
        r->values = join_values(a, &read);
        r->has_values = true;
    }
    return reason;
}

/* ---- section 10 ---- */

static bool is_kept_forever(const rr_contract *contract)
{
    return contract->retention_us == RR_FOREVER || contract->window_kind == RR_WINDOW_GLOBAL;
}

static rr_era stricter(rr_era a, rr_era b)
{
    return (rr_era){.until_us = a.until_us > b.until_us ? a.until_us : b.until_us,
                    .retention_us = a.retention_us < b.retention_us ? a.retention_us : b.retention_us,
                    .kept_us = a.kept_us < b.kept_us ? a.kept_us : b.kept_us};
}

/* A contract as the era that it would leave behind: the latest window that may have a cell by now, whose record passed
 * the check of window_in_future. Another process may still be at work with it, and have another clock. */
static rr_era era_of(const rr_contract *contract, int64_t now_us)
{
    int64_t ahead_us = rr_add_held(contract->future_tolerance_us, has_size(contract) ? contract->size_us : 0);
    rr_era era = {.until_us = rr_add_held(rr_add_held(now_us, CLOCK_MARGIN_US), ahead_us),
                  .retention_us = contract->retention_us,
                  .kept_us = rr_add_held(contract->retention_us, contract->grace_us)};

    if (is_kept_forever(contract)) {
        era.retention_us = era.kept_us = RR_FOREVER;
    }
    return era;
}

/* What holds for windows that end at end_us. */
static rr_era in_force(const rr_contract *contract, int64_t end_us)
{
    const rr_eras *eras = contract->window_kind == RR_WINDOW_GLOBAL ? NULL : contract->eras;
    rr_era now = era_of(contract, 0);

    for (size_t k = 0; eras != NULL && k < eras->count; k++) {
        if (end_us <= eras->items[k].until_us) {
            now = stricter(now, eras->items[k]);
        }
    }
    return now;
}

/* Nothing that `era` forbids is allowed by `by`. */
static bool is_covered(rr_era era, rr_era by)
{
    return by.until_us >= era.until_us && by.retention_us <= era.retention_us && by.kept_us <= era.kept_us;
}

/* A later one holds for the windows of an earlier one too: so from the last to the first, each no laxer than the next,
 * and needless where it is as strict. */
static void settle(rr_eras *eras)
{
    size_t left = eras->count;

    for (size_t k = eras->count; k-- > 0;) {
        rr_era era = eras->items[k];

        if (left < eras->count) {
            era = stricter(era, eras->items[left]);
            era.until_us = eras->items[k].until_us;
        }
        if (left == eras->count || !is_covered(era, eras->items[left])) {
            eras->items[--left] = era;
        }
    }
    eras->count -= left;
    memmove(eras->items, &eras->items[left], eras->count * sizeof *eras->items);
}

static void add_era(rr_eras *eras, rr_era era)
{
    size_t at = 0;

    while (at < eras->count && eras->items[at].until_us < era.until_us) {
        at++;
    }
    if (at < eras->count && eras->items[at].until_us == era.until_us) {
        eras->items[at] = stricter(eras->items[at], era);
    } else {
        memmove(&eras->items[at + 1], &eras->items[at], (eras->count - at) * sizeof era);
        eras->items[at] = era;
        eras->count++;
    }
    settle(eras);
    if (eras->count > RR_LIMIT_ERAS) {
        eras->items[1].retention_us = eras->items[0].retention_us;
        eras->items[1].kept_us = eras->items[0].kept_us;
        memmove(eras->items, &eras->items[1], --eras->count * sizeof era);
    }
}

void rr_eras_join(rr_eras *eras, const rr_eras *more)
{
    for (size_t k = 0; k < more->count; k++) {
        add_era(eras, more->items[k]);
    }
}

/* False where the contract that comes into force, `now`, is as strict about the same windows: a later change would name
 * them again. False too where all of them are gone for it as well. */
static bool still_matters(rr_era era, rr_era now, int64_t now_us)
{
    int64_t over_us = rr_add_held(rr_add_held(era.until_us, now.kept_us), CLOCK_MARGIN_US);

    return !is_covered(era, now) && over_us > now_us;
}

void rr_eras_advance(rr_eras *eras, const rr_contract *before, const rr_contract *after, int64_t now_us)
{
    rr_era was = era_of(before, now_us), is = era_of(after, now_us);
    size_t left = 0;

    for (size_t k = 0; k < eras->count; k++) {
        if (still_matters(eras->items[k], is, now_us)) {
            eras->items[left++] = eras->items[k];
        }
    }
    eras->count = left;
    if (was.kept_us != RR_FOREVER && still_matters(was, is, now_us)) {
        add_era(eras, was);
    }
}

/* A property of the record, whatever is held. */
static rr_reason check_retention(const admission *a)
{
    const rr_contract *c = a->contract;
    const rr_record *r = a->record;
    int64_t retention_us = in_force(c, r->window.end).retention_us;

    if (!r->has_arrival || retention_us == RR_FOREVER || r->arrival_us < rr_add_held(r->window.end, retention_us)) {
        return RR_REASON_NONE;
    }
    say(a, "the record arrived at ");
    rr_text_time(a->why, r->arrival_us);
    say(a, "; its window ended at ");
    rr_text_time(a->why, r->window.end);
    say(a, retention_us == c->retention_us ? ", and the contract's retention is "
                                           : ", and the contract's retention for windows of that time is ");
    rr_text_duration(a->why, retention_us);
    return RR_REASON_BEYOND_RETENTION;
}

size_t rr_admit_need(const rr_contract *contract, const rr_record *record)
{
    size_t values = rr_values_need(contract) + 16, identity = 2 + record->delta_id.len + record->producer.len + 36;

    return 2 * values + identity;
}

rr_reason rr_admit(const rr_contract *contract, rr_record *record, rr_arena *scratch, rr_text *why)
{
    static rr_reason (*const checks[])(const admission *) = {check_limits, check_place, check_metric};
    const admission a = {contract, record, scratch, why};
    rr_reason reason = RR_REASON_NONE;

    record->identity = record->values = (rr_slice){NULL, 0};
    record->has_values = false;
    for (size_t k = 0; k < sizeof checks / sizeof checks[0] && reason == RR_REASON_NONE; k++) {
        reason = checks[k](&a);
    }
    if (reason == RR_REASON_NONE) {
        reason = record->origin == RR_ORIGIN_CORRECTION ? check_correction(&a) : check_live(&a);
    }
    if (reason == RR_REASON_NONE) {
        reason = check_measures(&a);
    }
    return reason == RR_REASON_NONE ? check_retention(&a) : reason;
}

int64_t rr_kept_us(const rr_contract *contract, int64_t end_us)
{
    return in_force(contract, end_us).kept_us;
}

/* When a cell may be removed at the earliest; RR_FOREVER for never. */
static int64_t earliest_removal(const rr_contract *contract, int64_t end_us)
{
    int64_t kept_us = rr_kept_us(contract, end_us);

    return kept_us == RR_FOREVER ? RR_FOREVER : rr_add_held(end_us, kept_us);
}

bool rr_cell_may_be_gone(const rr_contract *contract, rr_window window, int64_t now_us)
{
    int64_t removal = earliest_removal(contract, window.end);

    return removal != RR_FOREVER && now_us >= removal;
}

int64_t rr_expiry_us(const rr_contract *contract, int64_t end_us)
{
    return rr_add_held(earliest_removal(contract, end_us), CLOCK_MARGIN_US);
}

int64_t rr_expiry_ms(const rr_contract *contract, int64_t end_us)
{
    int64_t at_us = contract->window_kind == RR_WINDOW_GLOBAL ? RR_FOREVER : rr_expiry_us(contract, end_us);

    return at_us == RR_FOREVER ? 0 : at_us / 1000 + 1;
}
