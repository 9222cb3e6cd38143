/* Exactly the keys of semantics, section 11, in their order, compact. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cell_json.h"

#include <stdlib.h>

#include "time.h"
#include "value.h"

static void put_time(rr_buf *out, int64_t time_us)
{
    char text[RR_TIME_TEXT_MAX];

    rr_buf_char(out, '"');
    rr_buf_put(out, text, rr_time_print(time_us, text));
    rr_buf_char(out, '"');
}

void rr_window_json(rr_buf *out, rr_window window)
{
    rr_buf_text(out, "{\"start\":");
    put_time(out, window.start);
    rr_buf_text(out, ",\"end\":");
    put_time(out, window.end);
    rr_buf_char(out, '}');
}

void rr_version_json(rr_buf *out, rr_version version)
{
    if (!rr_version_is_set(version)) {
        rr_buf_text(out, "null");
    } else if (version.epoch == 0) {
        rr_buf_u64(out, version.number);
    } else {
        rr_buf_text(out, "{\"epoch\":");
        rr_buf_u64(out, version.epoch);
        rr_buf_text(out, ",\"number\":");
        rr_buf_u64(out, version.number);
        rr_buf_char(out, '}');
    }
}

void rr_values_json(rr_buf *out, const rr_contract *contract, rr_slice values, bool quoted)
{
    for (size_t k = 0; k < contract->measure_count; k++) {
        char text[RR_NUMBER_TEXT_MAX];
        size_t len = rr_values_print(contract, k, &values, text);
        rr_measure_type type = contract->measures[k].type;
        bool quotes = type == RR_MEASURE_DECIMAL || (quoted && type == RR_MEASURE_INT64);

        rr_buf_char(out, k == 0 ? '{' : ',');
        rr_buf_json(out, contract->measures[k].name);
        rr_buf_text(out, quotes ? ":\"" : ":");
        rr_buf_put(out, text, len);
        if (quotes) {
            rr_buf_char(out, '"');
        }
    }
    rr_buf_char(out, '}');
}

static void put_words(rr_buf *out, const char **words, size_t count)
{
    rr_buf_char(out, '[');
    for (size_t k = 0; k < count; k++) {
        rr_buf_text(out, k == 0 ? "\"" : ",\"");
        rr_buf_text(out, words[k]);
        rr_buf_char(out, '"');
    }
    rr_buf_char(out, ']');
}

void rr_conflicts_json(rr_buf *out, rr_conflict_set conflicts)
{
    const char *words[RR_CONFLICT_COUNT];
    size_t count = 0;

    for (unsigned k = 0; k < RR_CONFLICT_COUNT; k++) {
        if ((conflicts & RR_BIT(k)) != 0) {
            words[count++] = rr_conflict_word((rr_conflict)k);
        }
    }
    put_words(out, words, count);
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void rr_alerts_json(rr_buf *out, rr_alert_set alerts)
{
    const char *words[RR_ALERT_COUNT];
    size_t count = 0;

    for (unsigned k = 0; k < RR_ALERT_COUNT; k++) {
        if ((alerts & RR_BIT(k)) != 0) {
            words[count++] = rr_alert_word((rr_alert)k);
        }
    }
    if (count > 1) {
        qsort(words, count, sizeof *words, by_word);
    }
    put_words(out, words, count);
}

void rr_cell_json(rr_buf *out, const rr_contract *contract, const rr_view *view, bool quoted)
{
    rr_buf_text(out, "\"state\":\"");
    rr_buf_text(out, rr_state_word(view->state));
    rr_buf_char(out, '"');
    if (view->state == RR_STATE_merged) {
        rr_buf_text(out, ",\"merged_into\":");
        rr_window_json(out, view->merged_into);
    } else if (view->state == RR_STATE_present) {
        rr_buf_text(out, ",\"measures\":");
        rr_values_json(out, contract, view->values, quoted);
        rr_buf_text(out, ",\"version\":");
        rr_version_json(out, view->version);
        rr_buf_text(out, ",\"origin\":\"");
        rr_buf_text(out, rr_origin_word(view->origin));
        rr_buf_text(out, "\",\"status\":\"");
        rr_buf_text(out, rr_result_word(view->status));
        rr_buf_char(out, '"');
    }
    rr_buf_text(out, ",\"conflicts\":");
    rr_conflicts_json(out, view->conflicts);
}

void rr_cell_line(rr_buf *out, const rr_contract *contract, rr_slice business_key, rr_slice metric_version,
                  rr_window window, const rr_view *view)
{
    rr_buf_text(out, "{\"business_key\":");
    rr_buf_json(out, business_key);
    rr_buf_text(out, ",\"metric_version\":");
    rr_buf_json(out, metric_version);
    if (contract->window_kind != RR_WINDOW_GLOBAL) {
        rr_buf_text(out, ",\"window\":");
        rr_window_json(out, window);
    }
    rr_buf_char(out, ',');
    rr_cell_json(out, contract, view, false);
    rr_buf_text(out, "}\n");
}
