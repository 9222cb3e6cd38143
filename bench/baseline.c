/* naive and pipelined: what a careful engineer writes by hand with cnats, protobuf-c and hiredis.
 *
 * Takes a batch by the library's fetch, decodes, and lets one script a record
 * compare versions and write a hash: an older version is refused, a repeat is
 * recognised, the expiry is set. `--one-by-one` waits for the answer of each
 * record (naive); else all of a batch are asked in one round trip (pipelined).
 * A batch is acknowledged when all its answers are there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "key.h"
#include "link.h"
#include "rr/v1/result.pb-c.h"

#define KEPT_US (INT64_C(8) * 24 * 3600 * 1000000) /* retention and grace, as in the contract of ours */
#define GRID_US INT64_C(60000000)

/* Numbers are compared as text, since Lua's are doubles. */
static const char script[] =
    "local function above(a, b) return #a > #b or (#a == #b and a > b) end\n"
    "local held = redis.call('HMGET', KEYS[1], 'epoch', 'number')\n"
    "if held[1] then\n"
    "  if held[1] == ARGV[1] and held[2] == ARGV[2] then return 'DUPLICATE' end\n"
    "  if above(held[1], ARGV[1]) or (held[1] == ARGV[1] and above(held[2], ARGV[2])) then return 'STALE' "
    "end\n"
    "end\n"
    "redis.call('HSET', KEYS[1], 'value', ARGV[3], 'epoch', ARGV[1], 'number', ARGV[2], 'status', ARGV[4],\n"
    "           'updated_at', ARGV[5])\n"
    "redis.call('PEXPIREAT', KEYS[1], ARGV[6])\n"
    "return 'APPLIED'\n";

typedef struct sink {
    redisContext *redis;
    char sha[41];
    rr_buf key;
    rr_contract contract; /* only names the key */
    char updated_at[32];
    uint64_t applied, stale, duplicate, refused;
} sink;

static void open_sink(sink *s, const bench_options *options)
{
    redisReply *reply;

    s->redis = redisConnect("127.0.0.1", options->redis_port);
    if (s->redis == NULL || s->redis->err != 0) {
        bench_fail("redis", s->redis == NULL ? "no memory" : s->redis->errstr);
    }
    s->redis->reader->maxbuf = 0; /* else its buffer is given back and got again all the time */
    reply = redisCommand(s->redis, "SCRIPT LOAD %s", script);
    if (reply == NULL || reply->type != REDIS_REPLY_STRING || reply->len != 40) {
        bench_fail("redis", "the script was not taken");
    }
    memcpy(s->sha, reply->str, sizeof s->sha);
    freeReplyObject(reply);
    s->contract = rr_contract_defaults;
    s->contract.name = RR_SLICE("bench");
    s->contract.window_kind = RR_WINDOW_TUMBLING;
}

/* The one measure of the contract, in either of its two forms. */
static bool value_of(const Rr__V1__Result *r, int64_t *value)
{
    const Rr__V1__Measure *only = r->n_measures == 1 ? r->measures[0] : NULL;

    if (only == NULL) {
        *value = r->value;
        return r->shorthand_case == RR__V1__RESULT__SHORTHAND_VALUE && r->n_measures == 0;
    }
    *value = only->integer;
    return only->number_case == RR__V1__MEASURE__NUMBER_INTEGER && only->name.len == 5 &&
           memcmp(only->name.data, "value", 5) == 0 && r->shorthand_case == RR__V1__RESULT__SHORTHAND__NOT_SET;
}

static bool is_good(const Rr__V1__Result *r)
{
    int64_t value;

    return r->business_key.len != 0 && r->metric_version.len != 0 && r->window != NULL &&
           r->window->has_start_case == RR__V1__WINDOW__HAS_START_START &&
           r->window->has_end_case == RR__V1__WINDOW__HAS_END_END && r->window->start % GRID_US == 0 &&
           r->window->end - r->window->start == GRID_US && r->result_version != NULL &&
           r->result_version->number != 0 && value_of(r, &value) &&
           (r->origin == RR__V1__ORIGIN__ORIGIN_UNSPECIFIED || r->origin == RR__V1__ORIGIN__ORIGIN_LIVE);
}

static const char *status_word(Rr__V1__Status status)
{
    return status == RR__V1__STATUS__STATUS_STREAM_CLOSED ? "STREAM_CLOSED" : "PROVISIONAL";
}

static void send_record(sink *s, const Rr__V1__Result *r)
{
    char epoch[24], number[24], value[24], expiry[24];
    const char *words[10] = {"EVALSHA",     s->sha, "1", NULL, epoch, number, value, status_word(r->status),
                             s->updated_at, expiry};
    size_t lens[10] = {7, 40, 1};
    int64_t number_of_value = 0;

    rr_buf_clear(&s->key);
    rr_key_unit(&s->key, RR_SLICE("rr"), &s->contract,
                (rr_slice){(const char *)r->business_key.data, r->business_key.len},
                (rr_slice){(const char *)r->metric_version.data, r->metric_version.len},
                (rr_window){r->window->start, r->window->end});
    words[3] = s->key.data;
    lens[3] = s->key.len;
    lens[4] = (size_t)sprintf(epoch, "%" PRIu64, r->result_version->epoch);
    lens[5] = (size_t)sprintf(number, "%" PRIu64, r->result_version->number);
    value_of(r, &number_of_value);
    lens[6] = (size_t)sprintf(value, "%" PRId64, number_of_value);
    lens[7] = strlen(words[7]);
    lens[8] = strlen(words[8]);
    lens[9] = (size_t)sprintf(expiry, "%" PRId64, (r->window->end + KEPT_US) / 1000);
    redisAppendCommandArgv(s->redis, 10, words, lens);
}

static void take_answer(sink *s)
{
    void *any = NULL;
    redisReply *reply;

    if (redisGetReply(s->redis, &any) != REDIS_OK) {
        bench_fail("redis", s->redis->errstr);
    }
    reply = any;
    if (reply->type == REDIS_REPLY_ERROR) {
        bench_fail("redis", reply->str);
    }
    s->applied += reply->str[0] == 'A';
    s->stale += reply->str[0] == 'S';
    s->duplicate += reply->str[0] == 'D';
    freeReplyObject(reply);
}

/* False: it is no record that we take. */
static bool take_message(sink *s, natsMsg *message)
{
    Rr__V1__Result *result =
        rr__v1__result__unpack(NULL, (size_t)natsMsg_GetDataLength(message), (const uint8_t *)natsMsg_GetData(message));
    bool good = result != NULL && is_good(result);

    if (good) {
        send_record(s, result);
    } else {
        s->refused++;
    }
    if (result != NULL) {
        rr__v1__result__free_unpacked(result, NULL);
    }
    return good;
}

static void set_time(sink *s)
{
    time_t now = time(NULL);
    struct tm parts;

    gmtime_r(&now, &parts);
    strftime(s->updated_at, sizeof s->updated_at, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static void take_batch(sink *s, const bench_options *options, natsMsg **messages, size_t count)
{
    size_t asked = 0;

    set_time(s);
    for (size_t i = 0; i < count; i++) {
        asked += take_message(s, messages[i]);
        if (options->one_by_one && asked != 0) {
            take_answer(s);
            asked = 0;
        }
    }
    while (asked-- != 0) {
        take_answer(s);
    }
}

int main(int argc, char **argv)
{
    bench_options options;
    bench_link link;
    natsMsg **messages;
    sink s = {0};

    bench_options_read(&options, argc, argv);
    messages = calloc(options.batch, sizeof *messages);
    open_sink(&s, &options);
    bench_link_connect(&link, &options);
    bench_link_bind(&link, options.pulls);
    for (uint64_t done = 0; done < options.count;) {
        size_t count = bench_link_fetch(&link, messages);

        take_batch(&s, &options, messages, count);
        bench_link_ack(&link, messages, count);
        done += count;
    }
    bench_link_close(&link);
    redisFree(s.redis);
    rr_buf_fini(&s.key);
    free(messages);
    fprintf(stderr, "applied %" PRIu64 ", stale %" PRIu64 ", duplicate %" PRIu64 ", refused %" PRIu64 "\n", s.applied,
            s.stale, s.duplicate, s.refused);
    return 0;
}
