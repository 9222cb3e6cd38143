/* Mappings: what each word of them does to a message, what is said of mistakes, and what a fingerprint tells apart.
 *
 *     test_mapping DESCRIPTOR_SET
 *
 * Messages of protobuf are written as fields: NUMBER:VARINT, NUMBERzSINT, NUMBER"TEXT", NUMBER=DOUBLE, NUMBER{FIELDS},
 * NUMBER<FIELDS> for a group, NUMBERxHEX for bytes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "contract_yaml.h"
#include "mapping_yaml.h"
#include "must.h"
#include "record_json.h"

/* RR_SLICE for static data. */
#define FIXED(literal) \
    { \
        (literal), sizeof(literal) - 1 \
    }

static const char *set_path;

/* ---- messages ---- */

static void put_varint(rr_buf *out, uint64_t number)
{
    for (; number > 127; number >>= 7) {
        rr_buf_char(out, (char)((number & 127) | 128));
    }
    rr_buf_char(out, (char)number);
}

static void put_fields(rr_buf *out, const char **at);

static void put_chunk(rr_buf *out, uint64_t number, rr_slice content)
{
    put_varint(out, number << 3 | 2);
    put_varint(out, content.len);
    rr_buf_slice(out, content);
}

static void put_inner(rr_buf *out, uint64_t number, const char **at)
{
    rr_buf inside = {0};

    put_fields(&inside, at);
    put_chunk(out, number, rr_buf_view(&inside));
    rr_buf_fini(&inside);
}

static void put_hex(rr_buf *out, uint64_t number, const char **at)
{
    rr_buf inside = {0};
    unsigned byte;

    while (sscanf(*at, "%2x", &byte) == 1 && **at != ' ') {
        rr_buf_char(&inside, (char)byte);
        *at += 2;
    }
    put_chunk(out, number, rr_buf_view(&inside));
    rr_buf_fini(&inside);
}

static void put_double(rr_buf *out, uint64_t number, char **at)
{
    double real = strtod(*at, at);

    put_varint(out, number << 3 | 1);
    rr_buf_put(out, &real, sizeof real);
}

static void put_field(rr_buf *out, char **at)
{
    uint64_t number = strtoull(*at, at, 10);
    char kind = *(*at)++, *from = *at;
    long long value;

    switch (kind) {
    case ':':
        put_varint(out, number << 3);
        put_varint(out, *from == '-' ? (uint64_t)strtoll(from, at, 10) : strtoull(from, at, 10));
        break;
    case 'z':
        value = strtoll(from, at, 10);
        put_varint(out, number << 3);
        put_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
        break;
    case '"':
        *at = strchr(from, '"') + 1;
        put_chunk(out, number, (rr_slice){from, (size_t)(*at - from) - 1});
        break;
    case '=': put_double(out, number, at); break;
    case 'x': put_hex(out, number, (const char **)at); break;
    case '{': put_inner(out, number, (const char **)at); break;
    case '<':
        put_varint(out, number << 3 | 3);
        put_fields(out, (const char **)at);
        put_varint(out, number << 3 | 4);
        break;
    default: RR_MUST(!"a field");
    }
}

/* Up to the bracket that closes, which is taken. */
static void put_fields(rr_buf *out, const char **at)
{
    while (**at != '\0' && **at != '}' && **at != '>') {
        if (**at == ' ') {
            ++*at;
        } else {
            put_field(out, (char **)(uintptr_t)at);
        }
    }
    *at += **at == '\0' ? 0 : 1;
}

/* ---- mappings ---- */

typedef struct mapped {
    rr_arena arena;
    rr_problems problems;
    rr_contract_list contracts;
    rr_decode decode;
} mapped;

/* `decode:` as a flow mapping, without its braces. */
static void load(mapped *m, const char *decode, const char *contract)
{
    rr_reading reading = {"m.yaml", &m->arena, &m->problems};
    rr_schema_files files = {NULL};
    rr_problems none = {0};
    rr_buf text = {0};
    const char *at = strstr(decode, "SET");

    *m = (mapped){.decode.mapping = NULL};
    rr_arena_init(&m->arena, 0);
    rr_buf_format(&text, "{%.*s", (int)(at == NULL ? strlen(decode) : (size_t)(at - decode)), decode);
    rr_buf_format(&text, "%s%s}", at == NULL ? "" : set_path, at == NULL ? "" : at + 3);
    if (contract != NULL) {
        RR_MUST(rr_contracts_parse("c.yaml", rr_slice_of(contract), &m->contracts, &none) == RR_OK);
    }
    rr_mapping_load(&reading, rr_yaml_parse(&reading, rr_arena_copy(&m->arena, rr_buf_view(&text))), "acme.results.*",
                    contract == NULL ? NULL : m->contracts.items, &files, &m->decode);
    rr_problems_sort(&m->problems);
    rr_problems_fini(&none);
    rr_buf_fini(&text);
}

static void unload(mapped *m)
{
    rr_arena_fini(&m->arena);
    rr_problems_fini(&m->problems);
    rr_contracts_fini(&m->contracts);
}

static void put_result(rr_buf *out, const rr_mapping_result *result)
{
    static const char *const outcomes[] = {"", "SKIPPED ", "MALFORMED ", "TOO_LARGE ", "NO_MEMORY"};

    rr_buf_text(out, outcomes[result->outcome]);
    rr_buf_put(out, result->why.bytes, result->why.len);
    for (size_t k = 0; k < result->count; k++) {
        const rr_mapped *one = &result->records[k];

        rr_buf_text(out, k == 0 ? "" : "\n");
        if (one->kind == RR_MAPPED_RECORD) {
            assert_true(rr_record_to_json(&one->record, out));
        } else {
            rr_buf_text(out, one->kind == RR_MAPPED_SKIPPED     ? "skipped"
                             : one->kind == RR_MAPPED_MALFORMED ? "malformed "
                                                                : "too large ");
            rr_buf_put(out, one->why == NULL ? "" : one->why->bytes, one->why == NULL ? 0 : one->why->len);
        }
    }
}

static void run(const rr_mapping *mapping, rr_slice message, rr_buf *out)
{
    static const rr_header headers[] = {
        {FIXED("X-Attempt"), FIXED("3")}, {FIXED("X-Attempt"), FIXED("4")}, {FIXED("X-Word"), FIXED("seven")}};
    rr_mapping_input input = {.message = message,
                              .subject = RR_SLICE("acme.results.north"),
                              .headers = headers,
                              .header_count = 3,
                              .has_stream_time = true,
                              .stream_time_us = INT64_C(1704103200123456)};
    rr_mapping_result result;
    rr_arena arena, scratch;

    rr_arena_init(&arena, 0);
    rr_arena_init(&scratch, 0);
    rr_mapping_run(mapping, &input, &arena, &scratch, &result);
    rr_arena_fini(&scratch);
    put_result(out, &result);
    rr_arena_fini(&arena);
}

/* ---- what messages become ---- */

#define PB "protobuf: {descriptor_set: SET, message: acme.v1.Result}, "
#define BATCH "protobuf: {descriptor_set: SET, message: acme.v1.PaneBatch}, "
#define CHANGE "protobuf: {descriptor_set: SET, message: acme.v1.Change}, "
#define ROW "protobuf: {descriptor_set: SET, message: acme.v1.Row}, "
#define OLD "protobuf: {descriptor_set: SET, message: acme.old.Row}, "
#define JSON "json: {}, "
#define DAY "2024-01-01T10:0"

typedef struct row {
    const char *decode, *message, *gives;
} row;

static const row rows[] = {
    /* keys */
    {PB "record: {business_key: line.id}", "1{1\"line-7\"}", "{\"business_key\":\"line-7\"}"},
    {PB "record: {business_key: line.id}", "1{1\"a/b~\"}", "{\"business_key\":\"a/b~\"}"},
    {PB "record: {business_key: [line.id, line.slot]}", "1{1\"a/b~\" 2:-5}", "{\"business_key\":\"a~1b~0/-5\"}"},
    {PB "record: {business_key: [line.id, line.slot]}", "1{}", "{\"business_key\":\"/0\"}"},
    {PB "record: {business_key: [line.id, note]}", "1{1\"a\"}",
     "malformed business_key, from 'note': is absent, and a part of a key has to be there; `default` can say "
     "what "
     "stands for it"},
    {PB "record: {business_key: [line.id, {path: note, default: none}]}", "1{1\"a\"}", "{\"business_key\":\"a/none\"}"},
    {PB "record: {business_key: [{subject: 3}, pane.timing, pane.is_last, {const: x}]}", "3{2:2 3:1}",
     "{\"business_key\":\"north/ON_TIME/true/x\"}"},
    {PB "record: {business_key: pane.timing}", "3{2:9}", "{\"business_key\":\"9\"}"},
    {PB "record: {business_key: line.raw}", "1{3xff}", "malformed business_key, from 'line.raw': is not UTF-8"},
    {PB "record: {business_key: line.raw}", "1{3x6100}", "malformed business_key, from 'line.raw': holds a NUL"},
    {PB "record: {business_key: {header: X-Word}, contributor: {header: X-None}}", "", "{\"business_key\":\"seven\"}"},
    /* presence */
    {PB "record: {version: pane.index}", "", "{}"},
    {PB "record: {version: {path: pane.index, add: 1}}", "3{}", "{\"result_version\":1}"},
    {PB "record: {version: {path: pane.index, add: 1}}", "", "{}"},
    {PB "record: {version: {path: pane.index, add: 1}}", "3{1:-1}", "{}"},
    {PB "record: {version: {path: pane.index, add: 1}}", "3{1:-2}",
     "malformed version.number, from 'pane.index': is -2; it has to be an integer that is from 0 to "
     "18446744073709551615 after `add`"},
    {PB "record: {version: {path: pane.nth, add: 1, default: 9}}", "3{}", "{\"result_version\":9}"},
    {PB "record: {version: {path: pane.nth, add: 1, default: 9}}", "3{4:0}", "{\"result_version\":1}"},
    {PB "record: {version: {path: pane.nth, add: 1}}", "3{4:18446744073709551615}",
     "malformed version.number, from 'pane.nth': is 18446744073709551615; it has to be an integer that is "
     "from 0 to "
     "18446744073709551615 after `add`"},
    {PB "record: {base_version: pane.index}", "3{}", "{\"base_version\":0}"},
    {PB "record: {base_version: {path: pane.index, absent: zero}}", "3{}", "{}"},
    {PB "record: {measures: {n: agg.count}}", "4{}", "{\"measures\":{\"n\":0}}"},
    {PB "record: {measures: {n: agg.count}}", "", "{}"},
    {PB "record: {measures: {n: agg.wrapped}}", "4{}", "{}"},
    {PB "record: {measures: {n: agg.wrapped}}", "4{6{}}", "{\"measures\":{\"n\":0}}"},
    {OLD "record: {business_key: id, version: ver, status: {path: state, values: {CLOSED: STREAM_CLOSED}}}", "", "{}"},
    {OLD "record: {status: {path: state, values: {CLOSED: STREAM_CLOSED, OPEN: PROVISIONAL}}}", "3:2 3:9",
     "{\"status\":\"STREAM_CLOSED\"}"},
    {OLD "record: {version: part.n}", "4<1:5>", "{\"result_version\":5}"},
    /* merging on the wire */
    {PB "record: {version: pane.index, value: agg.count}", "3{1:5} 4{1:1} 3{1:6} 4{2z3}",
     "{\"result_version\":6,\"value\":1}"},
    {PB "record: {business_key: note, contributor: other.id}", "5\"n\" 6{1\"o\"}", "{\"contributor\":\"o\"}"},
    {PB "record: {business_key: note, contributor: other.id}", "6{1\"o\"} 5\"n\"", "{\"business_key\":\"n\"}"},
    {PB "record: {business_key: note, contributor: other.id}", "6{1\"o\"} 7:1", "{}"},
    {PB "record: {business_key: note, sequence: other.slot, contributor: other.id}", "6{1\"o\"} 5\"n\" 6{2:1}",
     "{\"sequence\":1}"},
    {PB "record: {version: pane.index}", "30<1:1 31<>> 3\"\" 3:7 3{1\"x\" 1:5} 31\"y\"", "{\"result_version\":5}"},
    {PB "record: {version: pane.index}", "3{1:5} 536870911{}", "{\"result_version\":5}"},
    /* maps */
    {PB "record: {measures: {a: agg.counts.a, b: 'agg.counts[\"b.c\"]'}}", "4{8{1\"a\" 2:1} 8{1\"b.c\" 2:2} 8{1\"a\"}}",
     "{\"measures\":{\"a\":0,\"b\":2}}"},
    {PB "record: {business_key: agg.lines.-3.id}", "4{9{1:-3 2{1\"old\" 2:1}} 9{1:-3 2{2:1} 2{2:2}}}", "{}"},
    {PB "record: {business_key: agg.lines.-3.id}", "4{9{2{1\"new\"} 1:-3}}", "{\"business_key\":\"new\"}"},
    {PB "record: {measures: {map: agg.counts}}", "4{8{1\"a\" 2:1} 8{1\"b\" 2:2}} 4{8{1\"a\" 2:3}}",
     "{\"measures\":{\"a\":3,\"b\":2}}"},
    {PB "record: {measures: {map: agg.means}}", "4{7{1\"a\" 2=0.5}}", "{\"measures\":{\"a\":0.5}}"},
    {PB "record: {measures: {map: agg.means}}", "", "{}"},
    /* measures */
    {PB "record: {measures: {r: {path: agg.cents, scale: -2}}}", "4{2z-12345}", "{\"measures\":{\"r\":\"-123.45\"}}"},
    {PB "record: {measures: {r: {path: agg.cents, scale: 3}}}", "4{2z12}", "{\"measures\":{\"r\":12000}}"},
    {PB "record: {measures: {r: {path: agg.exact, scale: -2}}}", "4{4\"1.5e3\"}", "{\"measures\":{\"r\":15}}"},
    {PB "record: {measures: {r: {path: agg.exact, scale: -2}}}", "4{4\"x\"}",
     "malformed measures.r, from 'agg.exact': is 'x'; it has to be a number of at most 100 digits before and "
     "after "
     "the point"},
    {PB "record: {measures: {r: agg.exact}}", "4{4\"0.10000000000000000000000001\"}",
     "{\"measures\":{\"r\":\"0.10000000000000000000000001\"}}"},
    {PB "record: {value: agg.big}", "4{5:18446744073709551615}", "{\"value\":\"18446744073709551615\"}"},
    {PB "record: {value: agg.mean}", "4{3=-0.25}", "{\"value\":-0.25}"},
    {PB "record: {value: {path: pane.timing, values: {LATE: 1, EARLY: 0.5}, else: 0}}", "3{2:2}", "{\"value\":0}"},
    /* times */
    {PB "record: {window: {start: {path: win.open, unit: ms}, end: {path: win.max_ts, unit: ms, inclusive: "
        "1ms}}}",
     "2{1:1704103200000 2:1704103259999}", "{\"window\":{\"start\":\"" DAY "0:00Z\",\"end\":\"" DAY "1:00Z\"}}"},
    {PB "record: {window: {start: {path: win.open, unit: ns}}}", "2{1:1704103200000001500}",
     "malformed window.start, from 'win.open': is 1704103200000001500; it has to be a whole number of "
     "microseconds"},
    {PB "record: {emitted_at: {path: win.open, unit: ns}}", "2{1:1704103200000001500}",
     "{\"emitted_at\":\"" DAY "0:00.000001Z\"}"},
    {PB "record: {emitted_at: {path: win.open, unit: ns}}", "2{1:-1}",
     "{\"emitted_at\":\"1969-12-31T23:59:59.999999Z\"}"},
    {PB "record: {window: {start: win.from, end: win.until}}", "2{3{1:1704103200} 4{1:1704103200 2:999999000}}",
     "{\"window\":{\"start\":\"" DAY "0:00Z\",\"end\":\"" DAY "0:00.999999Z\"}}"},
    {PB "record: {window: {start: win.from}}", "2{3{2:1}}",
     "malformed window.start, from 'win.from': is 0 s and 1 ns; it has to be a whole number of microseconds"},
    {PB "record: {emitted_at: win.from}", "2{3{2:-1}}",
     "malformed emitted_at, from 'win.from': is 0 s and -1 ns; it has to be nanoseconds below a second"},
    {PB "record: {emitted_at: win.from}", "2{}", "{}"},
    {PB "record: {emitted_at: win.from}", "2{3{}}", "{\"emitted_at\":\"1970-01-01T00:00:00Z\"}"},
    {PB "record: {emitted_at: {stream: time}}", "", "{\"emitted_at\":\"" DAY "0:00.123456Z\"}"},
    {PB "record: {window: {start: win.text}}", "2{5\"2024-01-01T11:00:00.123456000+01:00\"}",
     "{\"window\":{\"start\":\"" DAY "0:00.123456Z\"}}"},
    {PB "record: {window: {start: win.text}}", "2{5\"2024-01-01T10:00:00.1234567Z\"}",
     "malformed window.start, from 'win.text': is '2024-01-01T10:00:00.1234567Z'; it has to be a whole "
     "number of "
     "microseconds"},
    {PB "record: {window: {start: win.text}}", "2{5\"1704103200\"}",
     "malformed window.start, from 'win.text': is '1704103200'; it has to be an RFC 3339 time of at most "
     "nine fraction "
     "digits; digits need `unit`"},
    {PB "record: {window: {start: {path: win.text, unit: s}}}", "2{5\"1704103200.5\"}",
     "{\"window\":{\"start\":\"" DAY "0:00.5Z\"}}"},
    {PB "record: {window: {start: {path: win.open, unit: s}}}", "2{1:9223372036855}",
     "malformed window.start, from 'win.open': is 9223372036855; it has to be within int64 of microseconds"},
    {PB "record: {window: {start: win.from, length: 1m}}", "2{3{1:1704103200}}",
     "{\"window\":{\"start\":\"" DAY "0:00Z\",\"end\":\"" DAY "1:00Z\"}}"},
    {PB "record: {window: {end: {path: win.max_ts, unit: ms, inclusive: 1ms}, length: {path: win.length_s, "
        "unit: s}}}",
     "2{2:1704103259999 7:60}", "{\"window\":{\"start\":\"" DAY "0:00Z\",\"end\":\"" DAY "1:00Z\"}}"},
    {PB "record: {window: {start: win.from, length: win.length}}", "2{3{1:1704103200} 6{2:500000000}}",
     "{\"window\":{\"start\":\"" DAY "0:00Z\",\"end\":\"" DAY "0:00.5Z\"}}"},
    {PB "record: {window: {start: win.from, length: win.length}}", "2{3{} 6{1:-1}}",
     "malformed window.length, from 'win.length': is -1 s and 0 ns; it has to be 0 or longer"},
    {PB "record: {window: {start: {path: win.open, unit: us}, length: 7d}}", "2{1:9223372036854775807}",
     "malformed window.length: start and end would be further apart than int64 of microseconds can say"},
    {PB "record: {window: {start: win.from, length: 1m}}", "2{}", "{}"},
    {PB "record: {window: {start: win.from, end: win.until}}", "2{3{1:60}}",
     "{\"window\":{\"start\":\"1970-01-01T00:01:00Z\"}}"},
    /* words */
    {PB "record: {cause: pane.timing}", "3{2:3}", "{\"cause\":\"LATE\"}"},
    {PB "record: {cause: pane.timing}", "3{}",
     "malformed cause, from 'pane.timing': is 0 (UNKNOWN); it has to be EARLY, ON_TIME, LATE, CORRECTION, "
     "BACKFILL, "
     "RECOMPUTE, SESSION_MERGE or RETRACTION"},
    {PB "record: {cause: {path: pane.timing, absent: zero}}", "3{}", "{}"},
    {PB "record: {cause: {path: pane.timing, values: {EARLY: LATE}}}", "3{2:2}",
     "malformed cause, from 'pane.timing': is 2 (ON_TIME); it has to be one that `values` names, which has "
     "no `else`"},
    {PB "record: {status: {path: pane.is_last, values: {true: STREAM_CLOSED, false: PROVISIONAL}}}", "3{3:1}",
     "{\"status\":\"STREAM_CLOSED\"}"},
    {PB "record: {status: {path: pane.index, values: {-7: RECONCILED}, else: PROVISIONAL}}", "3{1:-7}",
     "{\"status\":\"RECONCILED\"}"},
    {PB "record: {mode: {const: DELTA}, delta_id: line.id}", "1{1\"d\"}", "{\"mode\":\"DELTA\",\"delta_id\":\"d\"}"},
    /* versions, corrections */
    {PB "record: {version: {epoch: {header: X-Attempt}, number: pane.index}}", "3{1:2}",
     "{\"result_version\":{\"epoch\":3,\"number\":2}}"},
    {PB "record: {version: {epoch: {header: X-Attempt}, number: pane.index}}", "3{}", "{}"},
    {PB "record: {version: {header: X-Word}}", "",
     "malformed version.number, from header 'X-Word': is 'seven'; it has to be an integer from 0 to "
     "18446744073709551615"},
    {PB "record: {origin: {const: CORRECTION}, base_version: {epoch: pane.nth, number: pane.index}, "
        "evidence: note}",
     "3{4:2 1:3} 5\"why\"",
     "{\"origin\":\"CORRECTION\",\"base_version\":{\"epoch\":2,\"number\":3},\"evidence\":\"why\"}"},
    {PB "record: {includes_correction: {base: pane.index, version: pane.nth}}", "3{1:3 4:2}",
     "{\"includes_correction\":{\"base\":3,\"version\":2}}"},
    {PB "record: {includes_correction: {base: pane.index, version: pane.nth}}", "3{1:3}",
     "malformed includes_correction: has a base but no version"},
    /* changelogs: a withdrawal names the version withdrawn */
    {JSON "record: {op: {path: op, values: {\"+I\": ASSERT, \"-U\": RETRACT}}, version: {number: ver}}",
     "{\"op\":\"-U\",\"ver\":4}", "{\"op\":\"RETRACT\",\"retracts_version\":4}"},
    {JSON "record: {op: {path: op, values: {\"+I\": ASSERT, \"-U\": RETRACT}}, version: {number: ver}}",
     "{\"op\":\"+I\",\"ver\":4}", "{\"result_version\":4}"},
    {JSON "record: {op: {path: op, values: {\"-U\": RETRACT}}, version: {number: ver}, withdraws: older}",
     "{\"op\":\"-U\",\"ver\":4}", "{\"result_version\":4,\"op\":\"RETRACT\"}"},
    {JSON "record: {op: {path: op, values: {\"-U\": RETRACT}}, version: ver, retracts_version: old}",
     "{\"op\":\"-U\",\"ver\":4,\"old\":3}", "{\"result_version\":4,\"op\":\"RETRACT\",\"retracts_version\":3}"},
    {JSON "record: {op: {const: RETRACT}, origin: {const: CORRECTION}, version: ver}", "{\"ver\":4}",
     "{\"result_version\":4,\"op\":\"RETRACT\",\"origin\":\"CORRECTION\"}"},
    {JSON "record: {business_key: id, op: {path: op, values: {\"-U\": SKIP}, else: ASSERT}}",
     "{\"op\":\"-U\",\"id\":1.5}", "skipped"},
    {JSON "record: {op: op}", "{\"op\":\"SKIP\"}",
     "malformed op, from 'op': is 'SKIP'; it has to be ASSERT or RETRACT; SKIP is for `values`"},
    /* each */
    {BATCH "each: results, record: {business_key: [/plant.id, line.id], emitted_at: /sent_at}",
     "3{1{1\"a\"}} 3{1{1\"b\"}} 2{1\"p\"} 3{} 16{1:1}",
     "{\"business_key\":\"p/a\",\"emitted_at\":\"1970-01-01T00:00:01Z\"}\n"
     "{\"business_key\":\"p/b\",\"emitted_at\":\"1970-01-01T00:00:01Z\"}\n"
     "malformed business_key, from 'line.id': is absent, and a part of a key has to be there; `default` can "
     "say what "
     "stands for it"},
    {BATCH "each: results, record: {business_key: line.id}", "2{1\"p\"}",
     "SKIPPED `each` finds no item in this message"},
    {BATCH "each: results, record: {business_key: line.id}", "3{1{1\"a\"", "{\"business_key\":\"a\"}"},
#define ENVELOPE \
    "each: [{at: after, when: {op: [c, r, u]}, op: ASSERT}, {at: before, when: {op: [d]}, op: RETRACT, " \
    "withdraws: older}], record: {business_key: id, version: /lsn, value: value}"
    {CHANGE ENVELOPE, "1\"u\" 2{1\"k\" 2:1} 3{1\"k\" 2:2} 4:9",
     "{\"business_key\":\"k\",\"result_version\":9,\"value\":2}"},
    {CHANGE ENVELOPE, "1\"d\" 2{1\"k\" 2:1} 4:9",
     "{\"business_key\":\"k\",\"result_version\":9,\"value\":1,\"op\":\"RETRACT\"}"},
    {CHANGE ENVELOPE, "1\"t\" 4:9", "MALFORMED no part of `each` applies to this message; `skip` can name such"},
    {CHANGE ENVELOPE, "1\"d\" 4:9", "malformed `each` takes 'before' of this message, and it is not there"},
    {CHANGE "skip: {op: t}, " ENVELOPE, "1\"t\" 4:9", "SKIPPED 'op' is 't', which `skip` names"},
    {CHANGE "each: [{at: after}, {at: before, op: RETRACT}], record: {business_key: id, version: ver}",
     "2{1\"k\" 3:1} 3{1\"k\" 3:2}",
     "{\"business_key\":\"k\",\"result_version\":2}\n{\"business_key\":\"k\",\"op\":\"RETRACT\",\"retracts_"
     "version\":1}"},
    {JSON ENVELOPE,
     "{\"op\":\"u\",\"before\":{\"id\":\"k\",\"value\":1},\"after\":{\"id\":\"k\",\"value\":2},\"lsn\":9}",
     "{\"business_key\":\"k\",\"result_version\":9,\"value\":2}"},
    {JSON ENVELOPE, "{\"op\":\"d\",\"before\":{\"id\":\"k\",\"value\":1},\"after\":null,\"lsn\":9}",
     "{\"business_key\":\"k\",\"result_version\":9,\"value\":1,\"op\":\"RETRACT\"}"},
    /* skip */
    {BATCH "skip: {kind: [HEARTBEAT, SCHEMA], empty: true}, each: results, record: {business_key: line.id}", "1:2 3{}",
     "SKIPPED 'kind' is 'SCHEMA', which `skip` names"},
    {BATCH "skip: {kind: [HEARTBEAT, SCHEMA], empty: true}, each: results, record: {business_key: line.id}", "1:0 3{}",
     "{}"},
    {BATCH "skip: {kind: [HEARTBEAT, SCHEMA], empty: true}, each: results, record: {business_key: line.id}", "",
     "SKIPPED `skip` names empty messages"},
    {PB "record: {business_key: line.id}", "", "{}"},
    {JSON "record: {business_key: id}", "", "MALFORMED the message is empty; `skip: {empty: true}` passes over such"},
    {JSON "skip: {empty: true}, record: {business_key: id}", "", "SKIPPED `skip` names empty messages"},
    {JSON "skip: {empty: true}, record: {business_key: id}", "null", "SKIPPED `skip` names empty messages"},
    {JSON "skip: {empty: true}, record: {business_key: id}", "{}", "{}"},
    /* damage */
    {PB "record: {version: pane.index}", "3x08", "MALFORMED a varint"},
    {PB "record: {version: pane.index}", "3{1:5} 9x", "{\"result_version\":5}"},
    /* JSON */
    {JSON "record: {value: n}", "{\"n\":12345678901234567890123.4500}", "{\"value\":\"12345678901234567890123.4500\"}"},
    {JSON "record: {version: n}", "{\"n\":18446744073709551615}", "{\"result_version\":\"18446744073709551615\"}"},
    {JSON "record: {version: n}", "{\"n\":1.0}",
     "malformed version.number, from 'n': is 1.0; it has to be an integer from 0 to 18446744073709551615"},
    {JSON "record: {version: n}", "{\"n\":null}", "{}"},
    {JSON "record: {version: n, business_key: n}", "{\"n\":\"12\"}", "{\"business_key\":\"12\",\"result_version\":12}"},
    {JSON "record: {business_key: n}", "{\"n\":1.5}",
     "malformed business_key, from 'n': is 1.5; it has to be a text, or an integer without point and "
     "exponent"},
    {JSON "record: {version: n}", "{\"n\":1,\"n\":1}", "MALFORMED name 'n' is there twice"},
    {JSON "record: {version: n}", "{\"m\":1,\"m\":1,\"n\":2}", "{\"result_version\":2}"},
    {JSON "record: {version: a.n}", "{\"a\":{\"n\":1},\"a\":{}}", "MALFORMED name 'a' is there twice"},
    {JSON "record: {version: a.n}", "{\"a\":[1]}", "MALFORMED name 'a' has to be an object"},
    {JSON "record: {version: a}", "{\"a\":[1]}", "MALFORMED name 'a' is a list; it has to be one value"},
    {JSON "record: {version: 'a[\"n.m\"]'}", "{\"a\":{\"n.m\":3,\"n\":{\"m\":4}}}", "{\"result_version\":3}"},
    {JSON "record: {business_key: id}", "{\"id\":\"a\\\"\\u00e9\"}", "{\"business_key\":\"a\\\"\xc3\xa9\"}"},
    {JSON "record: {business_key: id}", "{\"id\":\"\\ud800\"}",
     "MALFORMED the message (byte 8) holds half of a surrogate pair, which is no character"},
    {JSON "record: {business_key: id}", "{\"id\":", "MALFORMED not JSON (byte 6): parse error: premature EOF"},
    {JSON "record: {business_key: id}", "[]", "MALFORMED the message is a JSON list; a mapping begins at an object"},
    {JSON "record: {business_key: id}", "7", "MALFORMED the message is JSON, but not an object"},
    {JSON "each: rows, record: {version: v}", "{\"rows\":[{\"v\":1},{\"v\":2,\"x\":[{}]}]}",
     "{\"result_version\":1}\n{\"result_version\":2}"},
    {JSON "each: rows, record: {version: v}", "{\"rows\":[]}", "SKIPPED `each` finds no item in this message"},
    {JSON "each: rows, record: {version: v}", "{\"rows\":[{},1]}",
     "MALFORMED a list that `each` names holds something that is no object"},
    {JSON "each: rows, record: {version: v}", "{\"rows\":{}}", "MALFORMED name 'rows' has to be a list of objects"},
    {JSON "record: {measures: {map: m}}", "{\"m\":{\"a\":1,\"b\":\"2.50\",\"c\":null,\"d\":[1]}}",
     "{\"measures\":{\"a\":1,\"b\":\"2.50\",\"d\":[]}}"},
    {JSON "record: {measures: {map: m}, version: m.a}", "{\"m\":{\"a\":1}}",
     "{\"result_version\":1,\"measures\":{\"a\":1}}"},
    {JSON "record: {measures: {map: m}}", "{\"m\":{\"a\":1,\"a\":1}}", "MALFORMED name 'a' is there twice"},
    {JSON "record: {emitted_at: {path: t, unit: s}}", "{\"t\":1704103200.1234567}",
     "{\"emitted_at\":\"" DAY "0:00.123456Z\"}"},
    {JSON "record: {window: {start: t}}", "{\"t\":1704103200}",
     "malformed window.start, from 't': is 1704103200; it has to be a text; a number needs `unit`"},
    {JSON "record: {status: {path: s, values: {true: STREAM_CLOSED, \"1\": RECONCILED}}}", "{\"s\":true}",
     "{\"status\":\"STREAM_CLOSED\"}"},
    {JSON "record: {status: {path: s, values: {\"\": STREAM_CLOSED}}}", "{\"s\":\"\"}",
     "{\"status\":\"STREAM_CLOSED\"}"},
    /* the head of a schema registry */
    {"json: {framing: confluent}, record: {version: n}", "{\"n\":1}",
     "MALFORMED the message does not begin with the frame of a schema registry: a byte 0 and four of a "
     "number"},
};

static void make_message(const row *r, rr_buf *message)
{
    const char *at = r->message;

    if (strncmp(r->decode, "json", 4) == 0) {
        rr_buf_text(message, at);
    } else {
        put_fields(message, &at);
    }
}

static void messages_become_records(void **state)
{
    size_t bad = 0;

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rr_buf message = {0}, got = {0};
        mapped m;

        load(&m, rows[k].decode, NULL);
        make_message(&rows[k], &message);
        if (m.decode.mapping != NULL) {
            run(m.decode.mapping, rr_buf_view(&message), &got);
        } else {
            rr_problems_print(&m.problems, &got);
        }
        rr_buf_char(&got, '\0');
        /* What the wire reader says is its own matter. */
        if (strcmp(rows[k].gives, "MALFORMED a varint") == 0 ? strncmp(got.data, "MALFORMED ", 10) != 0
                                                             : strcmp(got.data, rows[k].gives) != 0) {
            print_error("%s\n%s\ngives %s\nnot   %s\n", rows[k].decode, rows[k].message, got.data, rows[k].gives);
            bad++;
        }
        rr_buf_fini(&message);
        rr_buf_fini(&got);
        unload(&m);
    }
    assert_int_equal(bad, 0);
}

/* ---- bounds ---- */

static void a_message_has_bounds(void **state)
{
    rr_buf message = {0}, got = {0};
    mapped m;

    (void)state;
    load(&m, BATCH "each: results, record: {business_key: line.id}", NULL);
    for (size_t k = 0; k < RR_MAPPING_RECORDS_MAX; k++) {
        put_chunk(&message, 3, RR_SLICE("\x0a\x03\x0a\x01k"));
    }
    run(m.decode.mapping, rr_buf_view(&message), &got);
    assert_int_equal(got.len, (sizeof "{\"business_key\":\"k\"}\n" - 1) * RR_MAPPING_RECORDS_MAX - 1);
    rr_buf_clear(&got);
    put_chunk(&message, 3, RR_SLICE(""));
    run(m.decode.mapping, rr_buf_view(&message), &got);
    assert_true(rr_slice_equal(rr_buf_view(&got), RR_SLICE("TOO_LARGE the message has more than 256 records")));
    rr_buf_clear(&got);
    rr_buf_clear(&message);
    for (size_t k = 0; k <= RR_MAPPING_MESSAGE_MAX; k++) {
        rr_buf_char(&message, ' ');
    }
    run(m.decode.mapping, rr_buf_view(&message), &got);
    assert_true(rr_slice_equal(rr_buf_view(&got), RR_SLICE("TOO_LARGE the message has more than 1048576 bytes")));
    rr_buf_fini(&message);
    rr_buf_fini(&got);
    unload(&m);
}

/* A text of a record may be longer than the message: a key of escapes, a constant. */
static void a_record_may_be_larger_than_its_message(void **state)
{
    rr_buf message = {0}, got = {0};
    char wanted[700];
    mapped m;

    (void)state;
    memset(wanted, '~', sizeof wanted);
    for (size_t k = 1; k < sizeof wanted; k += 2) {
        wanted[k] = '0';
    }
    load(&m,
         ROW "record: {business_key: [id, id, id], metric_version: {const: a-long-constant}, contributor: "
             "[id, id]}",
         NULL);
    put_chunk(&message, 1, RR_SLICE("~~~~~~~~~~~~~~~~~~~~"));
    run(m.decode.mapping, rr_buf_view(&message), &got);
    rr_buf_char(&got, '\0');
    assert_non_null(strstr(got.data, "{\"business_key\":\"~0~0"));
    assert_non_null(strstr(got.data, "~0/~0~0~0"));
    assert_non_null(strstr(got.data, "\"metric_version\":\"a-long-constant\""));
    rr_buf_clear(&got);
    rr_buf_clear(&message);
    put_varint(&message, 1 << 3 | 2);
    put_varint(&message, RR_LIMIT_RECORD_BYTES);
    for (size_t k = 0; k < RR_LIMIT_RECORD_BYTES; k++) {
        rr_buf_char(&message, 'x');
    }
    run(m.decode.mapping, rr_buf_view(&message), &got);
    assert_true(rr_slice_equal(rr_buf_view(&got), RR_SLICE("too large the record's texts have more than 65536 bytes")));
    rr_buf_fini(&message);
    rr_buf_fini(&got);
    unload(&m);
}

static void a_frame_is_taken_off(void **state)
{
    static const struct {
        const char *decode;
        rr_slice message;
        const char *gives;
    } frames[] = {
        {"protobuf: {descriptor_set: SET, message: acme.v1.Row, framing: confluent}, record: {version: ver}",
         FIXED("\0\0\0\0\7\0\x18\5"), "{\"result_version\":5}"},
        {"protobuf: {descriptor_set: SET, message: acme.v1.Row, framing: confluent}, record: {version: ver}",
         FIXED("\0\0\0\0\7\4\2\4\x18\5"), "{\"result_version\":5}"},
        {"protobuf: {descriptor_set: SET, message: acme.v1.Row, framing: confluent}, record: {version: ver}",
         FIXED("\0\0\0\0\7\4\2"), "MALFORMED the frame of the schema registry is cut off"},
        {"protobuf: {descriptor_set: SET, message: acme.v1.Row, framing: confluent}, record: {version: ver}",
         FIXED("\0\0\0\0\7\1"), "MALFORMED the frame of the schema registry is cut off"},
        {"json: {framing: confluent}, record: {version: ver}", FIXED("\0\0\0\0\7{\"ver\":5}"),
         "{\"result_version\":5}"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof frames / sizeof *frames; k++) {
        rr_buf got = {0};
        mapped m;

        load(&m, frames[k].decode, NULL);
        run(m.decode.mapping, frames[k].message, &got);
        rr_buf_char(&got, '\0');
        assert_string_equal(got.data, frames[k].gives);
        rr_buf_fini(&got);
        unload(&m);
    }
}

/* ---- mistakes ---- */

#define CONTRACT(more) "contracts: [{name: orders, retention: 1d, " more "}]"
#define FULL \
    "business_key: line.id, metric_version: {const: v1}, window: {start: win.from, end: win.until}, " \
    "version: pane.index, "

/* Mapping, contract or NULL, what must be said; NULL: nothing. */
static const struct {
    const char *decode, *contract, *says;
} mistakes[] = {
    {PB "record: {" FULL "value: agg.count}", CONTRACT("mode: cumulative"), NULL},
    {PB "record: {buisness_key: line.id}", NULL, "unknown key 'buisness_key' in record; did you mean 'business_key'?"},
    {PB "record: {business_key: lin.id}", NULL, "message acme.v1.Result has no field 'lin'; did you mean 'line'?"},
    {PB "record: {business_key: line.it}", NULL, "message acme.v1.Line has no field 'it'; did you mean 'id'?"},
    {PB "record: {business_key: line.id.x}", NULL, "'id' in 'line.id.x' is one string: no step leads further"},
    {PB "record: {business_key: line}", NULL, "'line' is a message, acme.v1.Line: a further step has to name"},
    {PB "record: {business_key: agg.all}", NULL, "'all' in 'agg.all' is repeated; a record takes one value"},
    {BATCH "record: {business_key: results.line.id}", NULL, "is repeated; `each` makes a record of each"},
    {PB "record: {value: agg.counts}", NULL, "'agg.counts' is a map: a further step has to name a key"},
    {PB "record: {business_key: agg.lines.x.id}", NULL,
     "'x' in 'agg.lines.x.id' is no key of a map whose keys are int32"},
    {PB "record: {measures: {map: agg.lines}}", NULL, "is map<int32, message>: a map of measures has texts for keys"},
    {PB "record: {measures: {map: agg.count}}", NULL, "'agg.count' is one int64, not a map"},
    {PB "each: line, record: {business_key: id}", NULL,
     "'line' is one message, not repeated: for that, `each` is a list"},
    {PB "each: agg.count, record: {}", NULL, "'agg.count' is one int64, not a repeated message"},
    {BATCH "each: [{at: results}], record: {}", NULL, "is repeated; `each: PATH` makes a record of each"},
    {PB "each: [{op: ASSERT}], record: {}", NULL, "a part of each needs 'at'"},
    {"protobuf: {descriptor_set: SET, message: acme.v1.Resul}, record: {}", NULL,
     "the descriptor set has no message 'acme.v1.Resul'; did you mean 'acme.v1.Result'?"},
    {"protobuf: {descriptor_set: /nonexistent.binpb, message: a}, record: {}", NULL,
     "/nonexistent.binpb: cannot be opened: No such file"},
    {"protobuf: {message: a}, record: {}", NULL, "protobuf needs 'descriptor_set'"},
    {"record: {}", NULL, "'decode' needs either 'protobuf' or 'json'"},
    {JSON "each: rows", NULL, "decode needs 'record'"},
    {"json: {framing: confluence}, record: {}", NULL, "did you mean 'confluent'?"},
    {JSON "record: {value: {path: a, header: b}}", NULL,
     "needs one of path, header, subject, const and stream, and no more"},
    {JSON "record: {value: {unit: ms}}", NULL, "needs one of path, header, subject, const and stream"},
    {JSON "record: {version: {stream: time}}", NULL,
     "'stream: time' is for emitted_at alone: when a message is stored"},
    {JSON "record: {version: [a, b]}", NULL, "lists are for keys"},
    {JSON "record: {business_key: []}", NULL, "a path, or a list of at least one"},
    {JSON "record: {business_key: a..b}", NULL, "the path 'a..b' has an empty step"},
    {JSON "record: {business_key: 'a[0]'}", NULL, "has a bracket that is not [\"name\"]"},
    {JSON "record: {business_key: 'a[\"b\"]c'}", NULL, "needs a dot behind a bracket"},
    {JSON "record: {business_key: a.}", NULL, "has an empty step"},
    {JSON "record: {business_key: /}", NULL, "has no step"},
    {JSON "record: {business_key: {subject: 4}}", NULL, "subjects of 'acme.results.*' have no token 4"},
    {JSON "record: {business_key: {path: a, unit: ms}}", NULL, "'unit' has no meaning for business_key"},
    {JSON "record: {version: {path: a, scale: 2}}", NULL, "'scale' has a meaning for exact measures alone"},
    {JSON "record: {value: {path: a, add: 1}}", NULL, "'add' has a meaning for epochs, numbers and sequences alone"},
    {JSON "record: {window: {start: {path: a, inclusive: 1ms}}}", NULL,
     "'inclusive' has a meaning for window.end alone"},
    {JSON "record: {window: {start: a, end: b, length: 1m}}", NULL, "a window has two of start, end and length"},
    {JSON "record: {value: {path: a, else: 1}}", NULL, "'else' needs 'values'"},
    {JSON "record: {value: {const: x}}", NULL, "'x' is no value of measures: it has to be a number"},
    {JSON "record: {cause: {path: a, values: {x: ERLY}}}", NULL, "'ERLY' is no value of cause: it has to be EARLY"},
    {JSON "record: {cause: {path: a, values: {x: ERLY}}}", NULL, "; did you mean 'EARLY'?"},
    {JSON "record: {status: {path: a, values: {x: SKIP}}}", NULL, "'SKIP' is no value of status"},
    {JSON "record: {version: a.b, value: a}", NULL, "is read as one value here, and as an object or a list elsewhere"},
    {PB "record: {cause: {path: pane.timing, values: {ERLY: EARLY}}}", NULL,
     "enum acme.v1.Timing has no value 'ERLY'; did you mean 'EARLY'?"},
    {PB "record: {cause: {path: pane.timing, values: {EARLY: EARLY, \"1\": LATE}}}", NULL, "stands there twice"},
    {PB "record: {cause: {path: pane.is_last, values: {yes: EARLY}}}", NULL,
     "'yes' is no value of 'pane.is_last', which is a bool"},
    {PB "record: {cause: {path: agg.mean, values: {\"1\": EARLY}}}", NULL, "its values cannot be listed"},
    {PB "record: {cause: pane.index}", NULL, "'pane.index' is an integer, and cause takes it not: it needs `values`"},
    {PB "record: {status: pane.timing}", NULL, "none of its names is a word of the target: it needs `values`"},
    {PB "record: {version: agg.mean}", NULL, "'agg.mean' is a double, and version.number takes it not"},
    {PB "record: {business_key: agg.mean}", NULL, "this has no one exact text"},
    {PB "record: {value: {path: agg.mean, scale: 2}}", NULL, "not for measures from a double"},
    {PB "record: {window: {start: win.open}}", NULL, "it needs `unit`: s, ms, us or ns"},
    {PB "record: {window: {start: {path: win.from, unit: s}}}", NULL,
     "'unit' has no meaning for window.start from this source"},
    {PB "record: {window: {start: line.slot.x}}", NULL, "no step leads further"},
    {PB "skip: {pane.timing: [ERLY]}, record: {}", NULL, "did you mean 'EARLY'?"},
    {PB "skip: {}, record: {}", NULL, "'skip' must be a mapping like"},
    {PB "skip: {empty: false}, record: {}", NULL, "a field of that name is /empty"},
    {PB "record: {" FULL "}", CONTRACT("mode: cumulative"),
     "contract 'orders' has a measure 'value', and nothing here gives it"},
    {PB "record: {" FULL "measures: {valeu: agg.count}}", CONTRACT("mode: cumulative"),
     "contract 'orders' has no measure 'valeu'; did you mean 'value'?"},
    {PB "record: {" FULL "value: agg.mean}", CONTRACT("mode: cumulative"), "a double is never exact enough for it"},
    {PB "record: {" FULL "value: agg.mean}", CONTRACT("mode: cumulative, measures: {value: {type: double}}"), NULL},
    {PB "record: {" FULL "value: {path: agg.cents, scale: -2}}", CONTRACT("mode: cumulative"),
     "'scale' would give it a fraction: use decimal"},
    {PB "record: {" FULL "value: {path: agg.cents, scale: -2}}",
     CONTRACT("mode: cumulative, measures: {value: {type: decimal}}"), NULL},
    {PB "record: {" FULL "measures: {map: agg.means}}", CONTRACT("mode: cumulative"),
     "the map's doubles are never exact enough"},
    {PB "record: {value: agg.count}", CONTRACT("mode: cumulative"), "needs 'business_key', and nothing here gives it"},
    {PB "record: {value: agg.count}", CONTRACT("mode: cumulative"), "needs 'window': two of start, end and length"},
    {PB "record: {value: agg.count}", CONTRACT("mode: cumulative"), "needs 'version': its number"},
    {PB "record: {value: agg.count}", CONTRACT("mode: cumulative"), "needs 'metric_version', and"},
    {PB "record: {" FULL "value: agg.count}", CONTRACT("mode: cumulative, window: {kind: global}"),
     "has a global window: leave 'window' out"},
    {PB "record: {" FULL "value: agg.count}", CONTRACT("mode: delta"),
     "needs 'delta_id', or 'producer' and 'sequence'"},
    {PB "record: {" FULL "value: agg.count, delta_id: note}", CONTRACT("mode: delta"), NULL},
    {PB "record: {" FULL "value: agg.count, op: {const: RETRACT}}", CONTRACT("mode: cumulative"),
     "a RETRACT would be refused, op_not_in_mode"},
    {PB "record: {" FULL "value: agg.count, origin: {const: CORRECTION}}", CONTRACT("mode: cumulative"),
     "takes no corrections"},
};

static void each_mistake_is_named(void **state)
{
    size_t bad = 0;

    (void)state;
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        const char *says = mistakes[k].says;
        rr_buf said = {0};
        mapped m;

        load(&m, mistakes[k].decode, mistakes[k].contract);
        rr_problems_print(&m.problems, &said);
        rr_buf_char(&said, '\0');
        if ((m.decode.mapping != NULL) != (says == NULL) || (says != NULL && strstr(said.data, says) == NULL)) {
            print_error("%s\nsays: %s\nnot: %s\n", mistakes[k].decode, said.data, says);
            bad++;
        }
        rr_buf_fini(&said);
        unload(&m);
    }
    assert_int_equal(bad, 0);
}

/* The parser has reported it, and everything else goes on without it. */
static void a_variable_that_is_not_set_is_told_once(void **state)
{
    static const char *const decodes[] = {
        JSON "record: {metric_version: {const: '${env:RR_NO_SUCH_NAME}'}}",
        JSON "record: {business_key: '${env:RR_NO_SUCH_NAME}'}",
        JSON "record: {op: {path: a, values: {x: '${env:RR_NO_SUCH_NAME}', y: ASSERT}}}",
        JSON "record: {op: {path: a, default: '${env:RR_NO_SUCH_NAME}'}}",
    };

    (void)state;
    for (size_t k = 0; k < sizeof decodes / sizeof *decodes; k++) {
        mapped m;

        load(&m, decodes[k], NULL);
        assert_int_equal(m.problems.errors, 1);
        assert_non_null(strstr(m.problems.items[0].text, "RR_NO_SUCH_NAME"));
        unload(&m);
    }
}

static void all_mistakes_are_told_at_once(void **state)
{
    rr_buf said = {0};
    mapped m;

    (void)state;
    load(&m,
         PB "\n  record: {\n business_key: lin.id,\n version: pane.indx,\n cause: {path: pane.timing,\n "
            "values: {ERLY: EARLY,\n LATE: LTE}}}",
         NULL);
    rr_problems_print(&m.problems, &said);
    rr_buf_char(&said, '\0');
    assert_non_null(strstr(said.data, "m.yaml:3:16: error: message acme.v1.Result has no field 'lin'"));
    assert_non_null(strstr(said.data, "m.yaml:4:11: error: message acme.v1.Pane has no field 'indx'"));
    assert_non_null(strstr(said.data, "m.yaml:6:11: error: enum acme.v1.Timing has no value 'ERLY'"));
    assert_non_null(strstr(said.data, "m.yaml:7:8: error: 'LTE' is no value of cause"));
    rr_buf_fini(&said);
    unload(&m);
}

/* ---- fingerprints ---- */

static char *printed(const char *decode)
{
    rr_buf text = {0};
    mapped m;

    load(&m, decode, NULL);
    assert_non_null(m.decode.mapping);
    rr_mapping_print(m.decode.mapping, &text);
    rr_buf_char(&text, '\0');
    unload(&m);
    return text.data;
}

static void a_fingerprint_is_what_a_mapping_does(void **state)
{
    static const struct {
        const char *first, *second;
        bool same;
    } pairs[] = {
        {PB "record: {value: agg.count, business_key: line.id}",
         PB "record: {business_key: {path: line.id}, measures: {value: /agg.count}}", true},
        {PB "record: {cause: {path: pane.timing, values: {EARLY: EARLY, LATE: LATE}}}",
         PB "record: {cause: {path: pane.timing, values: {\"3\": LATE, \"1\": EARLY}}}", true},
        {PB "record: {window: {start: win.from, length: 1m}}",
         PB "record: {window: {start: win.from, length: {const: 60s}}}", true},
        {PB "record: {business_key: line.id}", PB "record: {business_key: [line.id]}", false},
        {PB "record: {business_key: line.id}", PB "record: {contributor: line.id}", false},
        {PB "record: {business_key: line.id}", PB "record: {business_key: note}", false},
        {PB "record: {business_key: line.id}", JSON "record: {business_key: line.id}", false},
        {PB "record: {version: pane.index}", PB "record: {version: {path: pane.index, add: 1}}", false},
        {PB "record: {version: pane.index}", PB "record: {version: {path: pane.index, absent: zero}}", false},
        {PB "record: {version: pane.index}", PB "record: {version: {path: pane.index, default: 1}}", false},
        {PB "record: {version: pane.index}", PB "record: {version: pane.index, withdraws: older}", false},
        {PB "record: {version: pane.index}", PB "skip: {empty: true}, record: {version: pane.index}", false},
        {PB "skip: {pane.timing: EARLY}, record: {}", PB "skip: {pane.timing: LATE}, record: {}", false},
        {PB "record: {value: agg.cents}", PB "record: {value: {path: agg.cents, scale: -2}}", false},
        {PB "record: {emitted_at: {path: win.open, unit: ms}}", PB "record: {emitted_at: {path: win.open, unit: us}}",
         false},
        {CHANGE "each: [{at: after}], record: {business_key: id}",
         CHANGE "each: [{at: before}], record: {business_key: id}", false},
        {CHANGE "each: [{at: after}], record: {}", CHANGE "each: [{at: after, op: RETRACT}], record: {}", false},
        {JSON "record: {business_key: a.b}", JSON "record: {business_key: '[\"a.b\"]'}", false},
    };

    (void)state;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        char *first = printed(pairs[k].first), *second = printed(pairs[k].second);

        if ((strcmp(first, second) == 0) != pairs[k].same) {
            fail_msg("%s\n%s\n%s\n%s", pairs[k].first, first, pairs[k].second, second);
        }
        free(first);
        free(second);
    }
}

static void a_fingerprint_reads(void **state)
{
    char *text =
        printed(BATCH "skip: {kind: [SCHEMA, HEARTBEAT], empty: true}, each: results, record: {business_key: "
                      "[/plant.id, line.id], version: {epoch: {header: X-Attempt}, number: {path: pane.index, "
                      "add: 1}}, emitted_at: /sent_at, cause: pane.timing, value: {path: agg.cents, scale: -2}}");

    (void)state;
    assert_string_equal(text, "protobuf acme.v1.PaneBatch\n"
                              "skip empty\n"
                              "skip /1:enum in 1, 2\n"
                              "record each /3\n"
                              "  business_key: [/2.1:string; 1.1:string]\n"
                              "  version.epoch: header \"X-Attempt\"\n"
                              "  version.number: 3.1:int64 scale 0 add 1 inclusive 0\n"
                              "  cause: 3.2:enum 1=EARLY 2=ON_TIME 3=LATE\n"
                              "  emitted_at: /16:Timestamp\n"
                              "  measures \"value\": 4.2:sint64 scale -2 add 0 inclusive 0\n");
    free(text);
}

static void headers_are_named_once(void **state)
{
    const rr_slice *names;
    mapped m;

    (void)state;
    load(&m, JSON "record: {business_key: [{header: A}, {header: B}], contributor: {header: A}}", NULL);
    assert_int_equal(rr_mapping_headers(m.decode.mapping, &names), 2);
    assert_true(rr_slice_equal(names[0], RR_SLICE("A")) && rr_slice_equal(names[1], RR_SLICE("B")));
    unload(&m);
}

/* The arena is as it was, and nothing is lost, whichever take fails. */
static void memory_may_end(void **state)
{
    rr_arena arena, scratch;
    rr_mapping_result result;
    rr_mapping_input input = {.message = RR_SLICE("{\"id\":\"k\",\"v\":\"\\u00e9\"}")};
    mapped m;

    (void)state;
    load(&m, JSON "record: {business_key: [id, v], value: {const: 1}}", NULL);
    for (size_t cap = 0; cap < 400; cap++) {
        rr_arena_init(&arena, cap * 64);
        rr_arena_init(&scratch, 0);
        rr_mapping_run(m.decode.mapping, &input, &arena, &scratch, &result);
        assert_true(result.outcome == RR_MAPPING_RECORDS ||
                    (result.outcome == RR_MAPPING_NO_MEMORY && result.count == 0));
        rr_arena_fini(&scratch);
        rr_arena_init(&scratch, cap * 128);
        rr_mapping_run(m.decode.mapping, &input, &arena, &scratch, &result);
        assert_true(result.outcome == RR_MAPPING_RECORDS ||
                    (result.outcome == RR_MAPPING_NO_MEMORY && result.count == 0));
        rr_arena_fini(&arena);
        rr_arena_fini(&scratch);
    }
    unload(&m);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_become_records),
        cmocka_unit_test(a_message_has_bounds),
        cmocka_unit_test(a_record_may_be_larger_than_its_message),
        cmocka_unit_test(a_frame_is_taken_off),
        cmocka_unit_test(each_mistake_is_named),
        cmocka_unit_test(a_variable_that_is_not_set_is_told_once),
        cmocka_unit_test(all_mistakes_are_told_at_once),
        cmocka_unit_test(a_fingerprint_is_what_a_mapping_does),
        cmocka_unit_test(a_fingerprint_reads),
        cmocka_unit_test(headers_are_named_once),
        cmocka_unit_test(memory_may_end),
    };

    RR_MUST(argc == 2);
    set_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
