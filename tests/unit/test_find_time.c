/* Finding a place by time, over streams with gaps, equal times and several subjects. The stream's leader is played here:
 * the functions below take the place of those of cnats. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "js_find_time.h"

enum { MOST = 64, LONG = 1000000 };

/* One character a message: a digit is the time of one on `orders`, a letter (a: 0, b: 1, ...) of one on `other`; a point
 * is a message that was removed. Before them, as many are gone as `first` says. */
static const char *messages;
static uint64_t first;
static unsigned requests;
static const char *refusal; /* instead of an answer */

static uint64_t last_of(void)
{
    return first == 0 ? 0 : first + strlen(messages) - 1;
}

natsConnStatus natsConnection_Status(natsConnection *connection)
{
    (void)connection;
    return NATS_CONN_STATUS_CONNECTED;
}

natsStatus js_GetStreamInfo(jsStreamInfo **info, jsCtx *js, const char *stream, jsOptions *options, jsErrCode *code)
{
    (void)js;
    (void)stream;
    (void)options;
    (void)code;
    *info = calloc(1, sizeof **info);
    (*info)->State.FirstSeq = first;
    (*info)->State.LastSeq = last_of();
    return NATS_OK;
}

void jsStreamInfo_Destroy(jsStreamInfo *info)
{
    free(info);
}

/* The time of a message in seconds; -1: it does not pass. */
static int time_of(uint64_t sequence, const char *filter)
{
    char c = sequence < first || sequence > last_of() ? '.' : messages[sequence - first];

    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c == '.' || strcmp(filter, "orders") == 0 ? -1 : c - 'a';
}

natsStatus natsConnection_RequestString(natsMsg **answer, natsConnection *connection, const char *subject,
                                        const char *request, int64_t timeout)
{
    char text[256] = "{\"error\":{\"code\":404,\"err_code\":10037,\"description\":\"no message found\"}}";
    char filter[32] = "";
    unsigned long long from = 0;

    (void)connection;
    (void)timeout;
    requests++;
    assert_string_equal(subject, "$JS.API.STREAM.MSG.GET.S");
    assert_int_equal(sscanf(request, "{\"seq\":%llu,\"next_by_subj\":\"%31[^\"]\"}", &from, filter), 2);
    for (uint64_t k = from; k <= last_of(); k++) {
        if (time_of(k, filter) >= 0) {
            snprintf(
                text, sizeof text,
                "{\"message\":{\"subject\":\"x\",\"seq\":%llu,\"data\":\"eA==\",\"time\":\"1970-01-01T00:00:0%d%sZ\"}}",
                (unsigned long long)k, time_of(k, filter), k % 2 == 0 ? ".000000999" : "");
            break;
        }
    }
    if (refusal != NULL) {
        snprintf(text, sizeof text, "%s", refusal);
    }
    return natsMsg_Create(answer, "inbox", NULL, text, (int)strlen(text));
}

static rr_status find(int64_t time_us, const char *filter, uint64_t *sequence, rr_error *error)
{
    rr_nats nats = {.place = "nats://there"};
    rr_source source = {.options = {.stream = "S", .timeout_ms = 1000}, .nats = &nats, .api = "$JS.API"};

    requests = 0;
    snprintf(source.filter, sizeof source.filter, "%s", filter);
    return rr_js_find_time(&source, time_us, sequence, error);
}

static uint64_t by_hand(int seconds, const char *filter)
{
    for (uint64_t k = first; k <= last_of(); k++) {
        if (time_of(k, filter) >= seconds) {
            return k;
        }
    }
    return 0;
}

static void the_first_one_that_is_as_young_is_found(void **state)
{
    static const struct {
        uint64_t first;
        const char *messages;
    } rows[] = {
        {1, "0123456789"},
        {1, "1112223334"},
        {1, "5"},
        {1, ""},
        {0, ""},
        {1, "...345..."},
        {700, "12..34.55"},
        {1, "1........................................9"},
        {1, "bb2cc3ddd4eee5"},
        {5, "......3......3"},
        {1, "999999999"},
        {1, "......"},
        {3, "b.c.d.4...fff"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        first = rows[k].first;
        messages = rows[k].messages;
        for (int seconds = 0; seconds <= 10; seconds++) {
            uint64_t any = UINT64_MAX, passing = UINT64_MAX;

            assert_int_equal(find(seconds * INT64_C(1000000), "", &any, NULL), RR_OK);
            assert_int_equal(any, by_hand(seconds, ""));
            assert_int_equal(find(seconds * INT64_C(1000000), "orders", &passing, NULL), RR_OK);
            assert_int_equal(passing, by_hand(seconds, "orders"));
        }
    }
}

static void any_time_can_be_asked_for(void **state)
{
    uint64_t sequence;

    (void)state;
    first = 1;
    messages = "123";
    assert_int_equal(find(INT64_MIN, "", &sequence, NULL), RR_OK);
    assert_int_equal(sequence, 1);
    assert_int_equal(find(INT64_MAX, "", &sequence, NULL), RR_OK);
    assert_int_equal(sequence, 0);
}

static void a_long_stream_needs_few_requests(void **state)
{
    char *text = malloc(LONG + 1);
    uint64_t sequence;

    (void)state;
    first = 1;
    for (size_t k = 0; k < LONG; k++) {
        text[k] = (char)('0' + k * 10 / LONG);
    }
    text[LONG] = '\0';
    messages = text;
    for (int seconds = 0; seconds < 10; seconds++) {
        assert_int_equal(find(seconds * INT64_C(1000000), "", &sequence, NULL), RR_OK);
        assert_int_equal(sequence, 1 + seconds * (LONG / 10));
        assert_true(requests <= 22); /* 2 to the 20th is more than a million */
    }
    free(text);
}

static void a_refusal_is_told(void **state)
{
    uint64_t sequence = 7;
    rr_error error = {0};

    (void)state;
    first = 1;
    messages = "123";
    refusal = "{\"error\":{\"code\":503,\"err_code\":10039,\"description\":\"jetstream not enabled\"}}";
    assert_int_equal(find(2000000, "", &sequence, &error), RR_REFUSED_BY_SERVER);
    assert_non_null(strstr(error.text, "jetstream not enabled"));
    refusal = "hello";
    assert_int_equal(find(2000000, "", &sequence, &error), RR_UNAVAILABLE);
    refusal = "{\"message\":{\"seq\":2,\"time\":\"yesterday\"}}";
    assert_int_equal(find(2000000, "", &sequence, &error), RR_UNAVAILABLE);
    assert_int_equal(sequence, 0);
    refusal = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_one_that_is_as_young_is_found),
        cmocka_unit_test(any_time_can_be_asked_for),
        cmocka_unit_test(a_long_stream_needs_few_requests),
        cmocka_unit_test(a_refusal_is_told),
    };

    return nats_Open(-1) != NATS_OK ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
