/* One decision as JSON, and the keys of a contract's log, list of open conflicts and notes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "decision.h"

#include "cell_json.h"
#include "key.h"
#include "record_json.h"
#include "time.h"

bool rr_decision_due(const rr_outcome *outcome)
{
    return outcome->alerts != 0 || outcome->verdict == RR_VERDICT_STALE || outcome->verdict == RR_VERDICT_CONFLICT;
}

static rr_slice copy_text(rr_buf *text, rr_arena *arena)
{
    return rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};
}

static void put_string(rr_buf *out, const char *name, rr_slice value)
{
    rr_buf_char(out, ',');
    rr_buf_json(out, rr_slice_of(name));
    rr_buf_char(out, ':');
    rr_buf_json(out, value);
}

/* Names the delivery. A stream that was deleted and made again repeats its sequences, but not the times of storing. */
static void put_delivery(rr_buf *out, const rr_record *record)
{
    char time[RR_TIME_TEXT_MAX];

    put_string(out, "stream", record->stream);
    rr_buf_text(out, ",\"sequence\":");
    rr_buf_u64(out, record->stream_sequence);
    if (record->has_arrival) {
        put_string(out, "stored_at", (rr_slice){time, rr_time_print(record->arrival_us, time)});
    }
}

rr_slice rr_decision_write(const rr_item *item, int64_t now_us, rr_buf *text, rr_arena *arena)
{
    const rr_record *record = item->record;
    char time[RR_TIME_TEXT_MAX];

    rr_buf_clear(text);
    rr_buf_text(text, "{\"at\":\"");
    rr_buf_put(text, time, rr_time_print(now_us, time));
    rr_buf_char(text, '"');
    put_string(text, "contract", item->contract == NULL ? (rr_slice){NULL, 0} : item->contract->name);
    put_string(text, "verdict", rr_slice_of(rr_verdict_word(item->outcome.verdict)));
    if (item->outcome.reason != RR_REASON_NONE) {
        put_string(text, "reason", rr_slice_of(rr_reason_word(item->outcome.reason)));
    }
    rr_buf_text(text, ",\"alerts\":");
    rr_alerts_json(text, item->outcome.alerts);
    if (record->stream.len != 0) {
        put_delivery(text, record);
    }
    if (item->of > 1) {
        rr_buf_format(text, ",\"index\":%zu,\"of\":%zu", item->index, item->of);
    }
    if (item->why.len != 0) {
        put_string(text, "text", item->why);
    }
    if (record->business_key.len != 0) {
        rr_buf_text(text, ",\"record\":");
        rr_record_to_json(record, text);
    }
    rr_buf_char(text, '}');
    return copy_text(text, arena);
}

rr_slice rr_decision_write_notice(rr_alert alert, rr_slice source, rr_slice stream, rr_slice why, int64_t now_us,
                                  rr_buf *text, rr_arena *arena)
{
    char time[RR_TIME_TEXT_MAX];

    rr_buf_clear(text);
    rr_buf_text(text, "{\"at\":\"");
    rr_buf_put(text, time, rr_time_print(now_us, time));
    rr_buf_text(text, "\",\"contract\":\"\",\"alerts\":");
    rr_alerts_json(text, RR_BIT(alert));
    put_string(text, "source", source);
    put_string(text, "of_stream", stream);
    put_string(text, "text", why);
    rr_buf_char(text, '}');
    return copy_text(text, arena);
}

rr_slice rr_store_key(rr_slice prefix, const char *kind, rr_slice name, rr_buf *text, rr_arena *arena)
{
    rr_buf_clear(text);
    rr_buf_slice(text, prefix);
    rr_buf_char(text, ':');
    rr_buf_text(text, kind);
    rr_buf_text(text, ":{");
    rr_key_escape(text, name);
    rr_buf_char(text, '}');
    return copy_text(text, arena);
}

static rr_slice name_of(const rr_contract *contract)
{
    return contract == NULL ? (rr_slice){NULL, 0} : contract->name;
}

rr_slice rr_decision_log_key(rr_slice prefix, const rr_contract *contract, rr_buf *text, rr_arena *arena)
{
    return rr_store_key(prefix, "log", name_of(contract), text, arena);
}

rr_slice rr_decision_open_key(rr_slice prefix, const rr_contract *contract, rr_buf *text, rr_arena *arena)
{
    return rr_store_key(prefix, "open", name_of(contract), text, arena);
}
