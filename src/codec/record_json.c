/* JSON lines to records, step by step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "record_json.h"

#include "json_decoding.h"
#include "json_line.h"

/* Measures were gathered beside, so that their place in the arena can be behind what is kept. */
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
    size_t need = rr_json_parse_need(r->line.len);

    if (!rr_keep_open(&r->keep, r->keep.arena, r->line.len)) {
        r->decoded = RR_DECODED_NO_MEMORY;
        return;
    }
    r->memory.at = rr_arena_take(r->keep.arena, need);
    if (r->memory.at == NULL) {
        r->decoded = RR_DECODED_NO_MEMORY;
    } else {
        r->memory.end = r->memory.at + need;
        if (rr_json_check_bytes(r->line, r->why)) {
            rr_json_parse(r);
        } else {
            r->decoded = RR_DECODED_MALFORMED;
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
    line = rr_json_without_line_end(line);
    if (line.len > RR_LIMIT_RECORD_BYTES) {
        rr_text_put(why, "the line has ");
        rr_text_u64(why, line.len);
        rr_text_put(why, " bytes, the limit is ");
        rr_text_u64(why, RR_LIMIT_RECORD_BYTES);
        return RR_DECODED_TOO_LARGE;
    }
    if (rr_json_is_blank(line)) {
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
