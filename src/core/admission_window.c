/* Admission: the window of a record (semantics, section 4, point 2). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "refusal.h"

#include "time.h"

__extension__ typedef __int128 rr_i128;

#define YEAR_2000_US INT64_C(946684800000000)
#define YEAR_2100_US INT64_C(4102444800000000)
#define DAY_US (86400 * RR_SECOND_US)

static bool is_plausible_time(rr_i128 time_us)
{
    return time_us >= YEAR_2000_US && time_us < YEAR_2100_US;
}

static rr_reason refuse_implausible_window(const rr_admission *a, rr_window window)
{
    rr_i128 start = window.start;

    rr_explain_window(a, window);
    rr_explain(a, " starts before 2000-01-01T00:00:00Z");
    if (is_plausible_time(start * 1000)) {
        rr_explain(a, "; it looks like milliseconds, and microseconds since the epoch are wanted");
    } else if (is_plausible_time(start * 1000000)) {
        rr_explain(a, "; it looks like seconds, and microseconds since the epoch are wanted");
    } else if (start >= 0 && start < 366 * DAY_US) {
        rr_explain(a, "; it looks like a phase (an offset within a day or a period) taken for the window's start");
    } else {
        rr_explain(a, "; it looks like a clock that was never set, or another unit than microseconds");
    }
    return RR_REASON_WINDOW_IMPLAUSIBLE;
}

static bool is_in_future(const rr_contract *contract, const rr_record *record)
{
    rr_i128 limit = (rr_i128)record->arrival_us + contract->future_tolerance_us;

    limit += rr_contract_has_size(contract) ? contract->size_us : 0;
    return record->has_arrival && record->window.end > limit;
}

static rr_reason refuse_future_window(const rr_admission *a, rr_window window)
{
    rr_explain_window(a, window);
    rr_explain(a, " ends more than ");
    rr_text_duration(a->why, a->contract->future_tolerance_us);
    rr_explain(a, rr_contract_has_size(a->contract) ? " and one window after the record's arrival at "
                                                    : " after the record's arrival at ");
    rr_text_time(a->why, a->record->arrival_us);
    if (is_plausible_time(window.start / 1000)) {
        rr_explain(a, "; it looks like nanoseconds, and microseconds since the epoch are wanted");
    } else {
        rr_explain(a, "; the producer's clock may be wrong, or future_tolerance too small");
    }
    return RR_REASON_WINDOW_IN_FUTURE;
}

/* How long after the latest point of the grid a time is. */
static int64_t distance_off_grid(const rr_contract *contract, int64_t time_us)
{
    rr_i128 rest = ((rr_i128)time_us - contract->offset_us) % contract->slide_us;

    return (int64_t)(rest < 0 ? rest + contract->slide_us : rest);
}

/* The end is too early by exactly one microsecond, millisecond or second. */
static bool looks_inclusive(int64_t length, int64_t wanted)
{
    int64_t missing = wanted > length ? wanted - length : 0;

    return missing == 1 || missing == 1000 || missing == RR_SECOND_US;
}

static rr_reason refuse_misaligned_window(const rr_admission *a, rr_window window)
{
    const rr_contract *c = a->contract;
    int64_t off = distance_off_grid(c, window.start), length = window.end - window.start;

    rr_explain_window(a, window);
    rr_explain(a, " is ");
    rr_text_duration(a->why, length);
    rr_explain(a, " long");
    if (off != 0) {
        rr_explain(a, " and starts ");
        rr_text_duration(a->why, off);
        rr_explain(a, " behind the grid");
    }
    rr_explain(a, "; the contract says size ");
    rr_text_duration(a->why, c->size_us);
    if (c->window_kind == RR_WINDOW_SLIDING) {
        rr_explain(a, ", slide ");
        rr_text_duration(a->why, c->slide_us);
    }
    rr_explain(a, ", offset ");
    rr_text_duration(a->why, c->offset_us);
    if (off == 0 && looks_inclusive(length, c->size_us)) {
        rr_explain(a, "; the end looks inclusive: windows are half-open, so send the first instant behind it");
    } else if (c->window_kind == RR_WINDOW_SLIDING && length == c->slide_us && off == 0) {
        rr_explain(a, "; it looks like a pane of one slide instead of a whole window");
    } else if (length == c->size_us && off % (900 * RR_SECOND_US) == 0 && c->size_us > 3600 * RR_SECOND_US) {
        rr_explain(a, "; it looks like a local time zone: state it as the contract's offset");
    }
    return RR_REASON_WINDOW_MISALIGNED;
}

static rr_reason check_grid(const rr_admission *a, rr_window window)
{
    bool fits = distance_off_grid(a->contract, window.start) == 0 && window.end - window.start == a->contract->size_us;

    return fits ? RR_REASON_NONE : refuse_misaligned_window(a, window);
}

static rr_reason check_session(const rr_admission *a, rr_window window)
{
    const rr_contract *c = a->contract;
    int64_t length = window.end - window.start;
    bool is_too_long = length > c->max_us;

    if (!is_too_long && (c->ends_last || length >= c->gap_us)) {
        return RR_REASON_NONE;
    }
    rr_explain_window(a, window);
    rr_explain(a, " is ");
    rr_text_duration(a->why, length);
    rr_explain(a, is_too_long ? " long; the contract's longest session (max) is " : " long; the contract's gap is ");
    rr_text_duration(a->why, is_too_long ? c->max_us : c->gap_us);
    if (!is_too_long) {
        rr_explain(a, ", and a session ends one gap after its last event; if it ends with it, say 'ends: last'");
    }
    return RR_REASON_WINDOW_MISALIGNED;
}

rr_reason rr_check_window(const rr_admission *a)
{
    const rr_contract *c = a->contract;
    rr_record *r = a->record;

    if (c->window_kind == RR_WINDOW_GLOBAL) {
        r->window = (rr_window){0, 0};
        return r->has_window ? rr_refuse(a, RR_REASON_WINDOW_UNEXPECTED,
                                         "the record has a window; the contract's window is global, which has none")
                             : RR_REASON_NONE;
    }
    if (!r->has_window || r->window_incomplete) {
        return rr_refuse(a, RR_REASON_WINDOW_MISSING,
                         r->has_window ? "the window has no start or no end" : "the record has no window");
    }
    if (r->window.start >= r->window.end) {
        rr_explain_window(a, r->window);
        return rr_refuse(a, RR_REASON_WINDOW_INVERTED,
                         r->window.start == r->window.end ? " is empty: its end must be later than its start"
                                                          : " ends before it starts: start and end may be swapped");
    }
    if (r->window.start < YEAR_2000_US) {
        return refuse_implausible_window(a, r->window);
    }
    if (is_in_future(c, r)) {
        return refuse_future_window(a, r->window);
    }
    if (rr_contract_has_size(c)) {
        return check_grid(a, r->window);
    }
    return c->window_kind == RR_WINDOW_SESSION ? check_session(a, r->window) : RR_REASON_NONE;
}
