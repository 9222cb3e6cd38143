/* A decoder of a plugin as the engine calls it: what it may answer, its limits, and one that breaks its port. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "decoding.h"
#include "limits.h"
#include "record_proto.h"

/* What the decoder is told to do: emit so many records, of which `bad` is one that is no message and `long_one` one that
 * is too long, and give an answer. */
struct rr_decoder {
    size_t records, bad, long_one;
    rr_decoder_answer answer;
    const char *why;
};

enum { NONE = 9999 };

static size_t taken; /* by emit, of one message */

static rr_slice make_result(const char *key, rr_buf *buf)
{
    rr_record record = {.business_key = rr_slice_of(key), .version = {.number = 1}};

    rr_buf_clear(buf);
    assert_true(rr_record_to_proto(&record, buf));
    return rr_buf_view(buf);
}

static rr_decoder_answer decode(const rr_decoder *decoder, const rr_decoder_message *message, rr_decoder_emit *emit,
                                void *context, char why[RR_DECODER_WHY_MAX])
{
    static char too_long[RR_LIMIT_RECORD_BYTES + 1];
    rr_buf buf = {0};

    for (size_t k = 0; k < decoder->records; k++) {
        char key[] = {'k', (char)('a' + k % 26), '\0'};
        rr_slice result = k == decoder->bad ? RR_SLICE("\xff")
                          : k == decoder->long_one
                              ? (rr_slice){too_long, sizeof too_long}
                              : make_result(message->payload.len != 0 ? "from payload" : key, &buf);

        taken += emit(context, result) ? 1 : 0;
        if (buf.len != 0) {
            memset(buf.data, 'x', buf.len); /* The bytes may go after the call. */
        }
    }
    rr_buf_fini(&buf);
    if (decoder->why != NULL) {
        memset(why, 'y', RR_DECODER_WHY_MAX);
        memcpy(why, decoder->why, strlen(decoder->why) + (strlen(decoder->why) == 1 ? 0 : 1));
    }
    return decoder->answer;
}

static const rr_plugin_option no_options[] = {RR_PLUGIN_OPTIONS_END};

static const rr_decoder_ops ops = {.name = "scripted", .options = no_options, .revision = "2", .decode = decode};

typedef struct arenas {
    rr_arena records, scratch;
} arenas;

static rr_mapping_result run(rr_decoder *decoder, arenas *memory)
{
    rr_decoder_message message = {.stored_at_us = INT64_MIN};
    rr_mapping_result result;

    taken = 0;
    memset(&result, 0x5a, sizeof result);
    rr_decoder_run(&ops, decoder, &message, &memory->records, &memory->scratch, &result);
    return result;
}

static void arenas_init(arenas *memory, size_t records_cap, size_t scratch_cap)
{
    rr_arena_init(&memory->records, records_cap);
    rr_arena_init(&memory->scratch, scratch_cap);
}

static void arenas_fini(arenas *memory)
{
    rr_arena_fini(&memory->records);
    rr_arena_fini(&memory->scratch);
}

/* What the decoder does, and what must come of it. */
static const struct {
    rr_decoder decoder;
    rr_mapping_outcome outcome;
    size_t count;
    const char *why;
} rows[] = {
    {{1, NONE, NONE, RR_DECODER_RECORDS}, RR_MAPPING_RECORDS, 1, ""},
    {{256, NONE, NONE, RR_DECODER_RECORDS}, RR_MAPPING_RECORDS, 256, ""},
    {{257, NONE, NONE, RR_DECODER_RECORDS}, RR_MAPPING_TOO_LARGE, 0, "the message has more than 256 records"},
    {{257, NONE, NONE, RR_DECODER_MALFORMED}, RR_MAPPING_TOO_LARGE, 0, "the message has more than 256 records"},
    {{0, NONE, NONE, RR_DECODER_SKIP}, RR_MAPPING_SKIPPED, 0, ""},
    {{0, NONE, NONE, RR_DECODER_MALFORMED, "the third field is no number"},
     RR_MAPPING_MALFORMED,
     0,
     "the third field is no number"},
    {{0, NONE, NONE, RR_DECODER_MALFORMED, "field\r\nRr-Verdict: \xe9t\xc3\xa9\x7f"},
     RR_MAPPING_MALFORMED,
     0,
     "field??Rr-Verdict: ?t\xc3\xa9?"},
    {{3, NONE, NONE, RR_DECODER_MALFORMED, "cut off"}, RR_MAPPING_MALFORMED, 0, "cut off"},
    {{0, NONE, NONE, RR_DECODER_MALFORMED}, RR_MAPPING_MALFORMED, 0, "the decoder gives no reason"},
    {{0, NONE, NONE, RR_DECODER_NO_MEMORY}, RR_MAPPING_NO_MEMORY, 0, ""},
    {{2, NONE, NONE, RR_DECODER_NO_MEMORY}, RR_MAPPING_NO_MEMORY, 0, ""},
    {{0, NONE, NONE, RR_DECODER_RECORDS},
     RR_MAPPING_MALFORMED,
     0,
     "the decoder emitted no record and did not skip the message"},
    {{2, NONE, NONE, RR_DECODER_SKIP},
     RR_MAPPING_MALFORMED,
     0,
     "the decoder emitted records and then skipped the message"},
    {{2, NONE, NONE, (rr_decoder_answer)77}, RR_MAPPING_MALFORMED, 0, "the decoder gave an answer that does not exist"},
};

static void each_answer_has_its_outcome(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        rr_decoder decoder = rows[k].decoder;
        arenas memory;
        rr_mapping_result result;

        arenas_init(&memory, 0, 0);
        result = run(&decoder, &memory);
        if (result.outcome != rows[k].outcome || result.count != rows[k].count ||
            !rr_slice_equal((rr_slice){result.why.bytes, result.why.len}, rr_slice_of(rows[k].why))) {
            fail_msg("row %zu: outcome %d, %zu records, %.*s", k, (int)result.outcome, result.count,
                     (int)result.why.len, result.why.bytes);
        }
        if (result.outcome != RR_MAPPING_RECORDS) {
            assert_null(result.records);
            assert_int_equal(memory.records.held, 0);
        }
        arenas_fini(&memory);
    }
}

static void records_come_in_order_and_own_their_bytes(void **state)
{
    rr_decoder decoder = {3, NONE, NONE, RR_DECODER_RECORDS};
    arenas memory;
    rr_mapping_result result;

    (void)state;
    arenas_init(&memory, 0, 0);
    result = run(&decoder, &memory);
    rr_arena_reset(&memory.scratch);
    assert_non_null(memset(rr_arena_take(&memory.scratch, 1000), 'z', 1000));
    for (size_t k = 0; k < 3; k++) {
        char key[] = {'k', (char)('a' + k), '\0'};

        assert_int_equal(result.records[k].kind, RR_MAPPED_RECORD);
        assert_null(result.records[k].why);
        assert_true(rr_slice_equal(result.records[k].record.business_key, rr_slice_of(key)));
        assert_int_equal(result.records[k].record.version.number, 1);
    }
    arenas_fini(&memory);
}

static void a_bad_record_is_refused_alone(void **state)
{
    rr_decoder decoder = {4, 1, 2, RR_DECODER_RECORDS};
    arenas memory;
    rr_mapping_result result;

    (void)state;
    arenas_init(&memory, 0, 0);
    result = run(&decoder, &memory);
    assert_int_equal(taken, 4);
    assert_int_equal(result.outcome, RR_MAPPING_RECORDS);
    assert_int_equal(result.count, 4);
    assert_int_equal(result.records[0].kind, RR_MAPPED_RECORD);
    assert_int_equal(result.records[1].kind, RR_MAPPED_MALFORMED);
    assert_int_equal(result.records[2].kind, RR_MAPPED_TOO_LARGE);
    assert_int_equal(result.records[3].kind, RR_MAPPED_RECORD);
    assert_memory_equal(result.records[1].why->bytes, "not a protobuf message", 22);
    assert_memory_equal(result.records[2].why->bytes, "the record has 65537 bytes, the limit is 65536", 46);
    arenas_fini(&memory);
}

/* The 257th is not taken, and none after it. */
static void no_more_is_taken_than_the_limit(void **state)
{
    rr_decoder decoder = {400, NONE, NONE, RR_DECODER_RECORDS};
    arenas memory;

    (void)state;
    arenas_init(&memory, 0, 0);
    run(&decoder, &memory);
    assert_int_equal(taken, 256);
    arenas_fini(&memory);
}

static void memory_that_runs_out_decides_nothing(void **state)
{
    rr_decoder decoder = {200, NONE, NONE, RR_DECODER_RECORDS};
    arenas memory;

    (void)state;
    arenas_init(&memory, 0, 1);
    assert_int_equal(run(&decoder, &memory).outcome, RR_MAPPING_NO_MEMORY);
    assert_int_equal(taken, 0);
    arenas_fini(&memory);
    arenas_init(&memory, 1, 0);
    assert_int_equal(run(&decoder, &memory).outcome, RR_MAPPING_NO_MEMORY);
    assert_int_equal(taken, 200);
    arenas_fini(&memory);
}

/* A sentence without its NUL ends where its room ends. */
static void a_sentence_is_cut(void **state)
{
    rr_decoder decoder = {0, NONE, NONE, RR_DECODER_MALFORMED, "y"};
    arenas memory;
    rr_mapping_result result;

    (void)state;
    arenas_init(&memory, 0, 0);
    result = run(&decoder, &memory);
    assert_int_equal(result.outcome, RR_MAPPING_MALFORMED);
    assert_int_equal(result.why.len, RR_DECODER_WHY_MAX - 1);
    arenas_fini(&memory);
}

static void what_decodes_alike_prints_alike(void **state)
{
    rr_plugin_value values[] = {{"separator", RR_PLUGIN_TEXT, .text = "\""},
                                {"pause", RR_PLUGIN_DURATION, .text = "1s", .number = 1000000},
                                {"strict", RR_PLUGIN_BOOL, .text = "true", .boolean = true},
                                {"limit", RR_PLUGIN_INTEGER, .text = "07", .number = 7},
                                {"file", RR_PLUGIN_PATH}};
    rr_decoder_options options = {values, 5};
    rr_buf first = {0}, second = {0};

    (void)state;
    rr_decoder_print(&ops, &options, &first);
    rr_buf_char(&first, '\0');
    assert_string_equal(first.data, "{\"decoder\":\"scripted\",\"revision\":\"2\",\"options\":{\"separator\":\"\\\"\","
                                    "\"pause\":1000000,\"strict\":true,\"limit\":7,\"file\":null}}");
    values[1].text = "1000ms";
    rr_decoder_print(&ops, &options, &second);
    rr_buf_char(&second, '\0');
    assert_string_equal(first.data, second.data);
    rr_buf_fini(&first);
    rr_buf_fini(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_has_its_outcome),
        cmocka_unit_test(records_come_in_order_and_own_their_bytes),
        cmocka_unit_test(a_bad_record_is_refused_alone),
        cmocka_unit_test(no_more_is_taken_than_the_limit),
        cmocka_unit_test(memory_that_runs_out_decides_nothing),
        cmocka_unit_test(a_sentence_is_cut),
        cmocka_unit_test(what_decodes_alike_prints_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
