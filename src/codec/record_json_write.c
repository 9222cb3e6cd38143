/* Records to JSON, for logs and for people. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_json.h"

#include <math.h>

#include "number.h"
#include "time.h"

#define EXACT_IN_A_DOUBLE INT64_C(1000000000000000)
#define YEAR_0_US INT64_C(-62167219200000000)
#define YEAR_10000_US INT64_C(253402300800000000)

static void put_name(rr_buf *out, bool *any, const char *name)
{
    rr_buf_text(out, *any ? ",\"" : "{\"");
    rr_buf_text(out, name);
    rr_buf_text(out, "\":");
    *any = true;
}

static void put_end(rr_buf *out, bool any)
{
    rr_buf_text(out, any ? "}" : "{}");
}

static void put_u64(rr_buf *out, uint64_t number)
{
    const char *quote = number < (uint64_t)EXACT_IN_A_DOUBLE ? "" : "\"";

    rr_buf_text(out, quote);
    rr_buf_u64(out, number);
    rr_buf_text(out, quote);
}

static void put_i64(rr_buf *out, int64_t number)
{
    const char *quote = number < EXACT_IN_A_DOUBLE && number > -EXACT_IN_A_DOUBLE ? "" : "\"";

    rr_buf_text(out, quote);
    rr_buf_i64(out, number);
    rr_buf_text(out, quote);
}

static void put_text(rr_buf *out, bool *any, const char *name, rr_slice text)
{
    if (text.len != 0) {
        put_name(out, any, name);
        rr_buf_json(out, text);
    }
}

static void put_word(rr_buf *out, bool *any, const char *name, int row, const char *word)
{
    if (row != 0) {
        put_text(out, any, name, rr_slice_of(word));
    }
}

static void put_version(rr_buf *out, rr_version version)
{
    if (version.epoch != 0) {
        rr_buf_text(out, "{\"epoch\":");
        put_u64(out, version.epoch);
        rr_buf_text(out, ",\"number\":");
    }
    put_u64(out, version.number);
    rr_buf_text(out, version.epoch != 0 ? "}" : "");
}

static void put_version_field(rr_buf *out, bool *any, const char *name, rr_version version, bool there)
{
    if (there) {
        put_name(out, any, name);
        put_version(out, version);
    }
}

/* RFC 3339 has years of four digits. */
static void put_time(rr_buf *out, int64_t time_us)
{
    char text[RR_TIME_TEXT_MAX];

    if (time_us < YEAR_0_US || time_us >= YEAR_10000_US) {
        put_i64(out, time_us);
        return;
    }
    rr_buf_char(out, '"');
    rr_buf_put(out, text, rr_time_print(time_us, text));
    rr_buf_char(out, '"');
}

/* Of an incomplete window the part that is known is kept. */
static void put_window(rr_buf *out, bool *any, const rr_record *record)
{
    bool inside = false;

    if (!record->has_window) {
        return;
    }
    put_name(out, any, "window");
    if (!record->window_incomplete || record->window.start != 0) {
        put_name(out, &inside, "start");
        put_time(out, record->window.start);
    }
    if (!record->window_incomplete || record->window.end != 0) {
        put_name(out, &inside, "end");
        put_time(out, record->window.end);
    }
    put_end(out, inside);
}

static void put_double(rr_buf *out, double number)
{
    char text[RR_DOUBLE_TEXT_MAX];

    if (isfinite(number)) {
        rr_buf_put(out, text, rr_double_print(number, text));
    } else {
        rr_buf_text(out, isnan(number) ? "\"NaN\"" : number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    }
}

static void put_number(rr_buf *out, const rr_measure *measure)
{
    int64_t number;

    switch (measure->kind) {
    case RR_NUMBER_INT64: put_i64(out, measure->integer); break;
    case RR_NUMBER_DOUBLE: put_double(out, measure->real); break;
    case RR_NUMBER_NONE: rr_buf_text(out, "[]"); break;
    case RR_NUMBER_TEXT:
        if (rr_number_i64(measure->text, &number) && number < EXACT_IN_A_DOUBLE && number > -EXACT_IN_A_DOUBLE) {
            rr_buf_slice(out, measure->text);
        } else {
            rr_buf_json(out, measure->text);
        }
        break;
    }
}

static void put_measures(rr_buf *out, bool *any, const rr_record *record)
{
    if (record->measure_count == 0) {
        return;
    }
    if (record->measure_count == 1 && rr_slice_equal(record->measures[0].name, RR_SLICE("value"))) {
        put_name(out, any, "value");
        put_number(out, &record->measures[0]);
        return;
    }
    put_name(out, any, "measures");
    for (size_t k = 0; k < record->measure_count; k++) {
        rr_buf_char(out, k == 0 ? '{' : ',');
        rr_buf_json(out, record->measures[k].name);
        rr_buf_char(out, ':');
        put_number(out, &record->measures[k]);
    }
    rr_buf_char(out, '}');
}

static void put_identity(rr_buf *out, bool *any, const rr_record *record)
{
    put_text(out, any, "delta_id", record->delta_id);
    put_text(out, any, "producer", record->producer);
    if (record->has_sequence) {
        put_name(out, any, "sequence");
        put_u64(out, record->sequence);
    }
    put_text(out, any, "contributor", record->contributor);
}

static void put_includes(rr_buf *out, bool *any, const rr_record *record)
{
    bool inside = false;

    if (!record->has_includes) {
        return;
    }
    put_name(out, any, "includes_correction");
    if ((record->includes_base.epoch | record->includes_base.number) != 0) {
        put_name(out, &inside, "base");
        put_version(out, record->includes_base);
    }
    put_name(out, &inside, "version");
    put_version(out, record->includes_version);
    put_end(out, inside);
}

bool rr_record_to_json(const rr_record *record, rr_buf *out)
{
    const rr_record *r = record;
    bool any = false;

    put_text(out, &any, "business_key", r->business_key);
    put_window(out, &any, r);
    put_text(out, &any, "metric_version", r->metric_version);
    put_version_field(out, &any, "result_version", r->version, rr_version_is_set(r->version));
    put_measures(out, &any, r);
    put_word(out, &any, "mode", (int)r->mode, rr_mode_word(r->mode));
    put_word(out, &any, "op", (int)r->op, rr_op_word(r->op));
    put_version_field(out, &any, "retracts_version", r->retracts_version, rr_version_is_set(r->retracts_version));
    put_identity(out, &any, r);
    put_word(out, &any, "origin", (int)r->origin, rr_origin_word(r->origin));
    put_version_field(out, &any, "base_version", r->base_version, r->has_base);
    put_includes(out, &any, r);
    put_word(out, &any, "status", (int)r->status, rr_result_word(r->status));
    put_word(out, &any, "cause", (int)r->cause, rr_cause_word(r->cause));
    put_text(out, &any, "evidence", r->evidence);
    if (r->has_emitted_at) {
        put_name(out, &any, "emitted_at");
        put_time(out, r->emitted_at_us);
    }
    put_end(out, any);
    return rr_buf_ok(out);
}
