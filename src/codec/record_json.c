/* JSON lines to records, step by step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_json.h"

#include "json_decoding.h"

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

static bool is_blank(rr_slice line)
{
    for (size_t at = 0; at < line.len; at++) {
        if (memchr(" \t\r\n", line.data[at], 4) == NULL) {
            return false;
        }
    }
    return true;
}

/* Records hold to more than what yajl checks. */
static bool check_bytes(rr_json_decoding *r)
{
    size_t column = 0;
    const char *fault = rr_json_fault(r->line, &column);

    if (fault == NULL) {
        return true;
    }
    rr_text_put(r->why, "the line");
    rr_json_explain_column(r, column);
    rr_json_malformed(r, fault);
    return false;
}

/* Measures are collected outside the arena, because their number is known only when the texts are kept. */
static void keep_measures(rr_json_decoding *r)
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

static void decode_line(rr_json_decoding *r, int64_t *clock_us)
{
    size_t need = rr_json_need(r->line.len);

    if (!rr_keep_open(&r->keep, r->keep.arena, r->line.len)) {
        r->decoded = RR_DECODED_NO_MEMORY;
        return;
    }
    r->memory.at = rr_arena_take(r->keep.arena, need);
    if (r->memory.at == NULL) {
        r->decoded = RR_DECODED_NO_MEMORY;
    } else {
        r->memory.end = r->memory.at + need;
        if (check_bytes(r)) {
            rr_json_parse(r);
        }
    }
    if (r->decoded == RR_DECODED_RECORD) {
        rr_json_finish(r, clock_us);
    }
    if (r->decoded == RR_DECODED_RECORD) {
        keep_measures(r);
    }
    if (r->decoded != RR_DECODED_RECORD) {
        rr_keep_drop(&r->keep);
    }
}

rr_decoded rr_record_from_json(rr_slice line, rr_arena *arena, rr_record *record, int64_t *clock_us, rr_text *why)
{
    rr_json_decoding r;

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
    memset(&r, 0, offsetof(rr_json_decoding, measures));
    r.measure_count = r.name_count = 0;
    r.line = line;
    r.record = record;
    r.why = why;
    r.keep.arena = arena;
    r.decoded = RR_DECODED_RECORD;
    decode_line(&r, clock_us);
    return r.decoded;
}
