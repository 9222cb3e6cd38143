/* Each finding of the preflight against a server that has the fault, and none of them against servers that have not.
 * Usage: test_preflight PROGRAM. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hiredis/hiredis.h>
#include <nats/nats.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preflight.h"
#include "servers.h"

#define DAY_NS (INT64_C(86400) * 1000000000)

/* ---- servers ---- */

/* As good as one machine allows. */
#define GOOD_REDIS \
    "--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "512mb", "--lazyfree-lazy-expire", "yes"

static const char *const good_redis[] = {GOOD_REDIS, "--repl-diskless-sync-delay", "0", NULL};

static const char nats_config[] =
    "max_payload: 256KB\n"
    "authorization { users: [ {user: all, password: all},\n"
    "  {user: lame, password: lame, permissions: {publish: {deny: [\"$JS.API.STREAM.NAMES\"]}}} ] }\n"
    "no_auth_user: all\n";

typedef struct world {
    rr_server redis, replica, nats;
    natsConnection *connection;
    jsCtx *js;
} world;

static world w;
static const char *program;

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* One command; the answer's text, cut. */
static void tell_redis(const rr_server *server, char *answer, size_t room, const char *format, ...)
{
    redisContext *context = redisConnect("127.0.0.1", server->port);
    redisReply *reply;
    va_list args;

    assert_non_null(context);
    va_start(args, format);
    reply = redisvCommand(context, format, args);
    va_end(args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s: %s", format, reply->str);
    }
    if (answer != NULL) {
        snprintf(answer, room, "%s", reply->str == NULL ? "" : reply->str);
    }
    freeReplyObject(reply);
    redisFree(context);
}

static void await_replica(void)
{
    char info[8192];

    for (int i = 0; i < 500; i++) {
        tell_redis(&w.redis, info, sizeof info, "INFO replication");
        if (strstr(info, "connected_slaves:1") != NULL && strstr(info, "state=online") != NULL) {
            return;
        }
        nap_ms(20);
    }
    fail_msg("the replica did not connect");
}

static int begin(void **state)
{
    static char port[16];
    static const char *const follows[] = {GOOD_REDIS, "--replicaof", "127.0.0.1", port, NULL};

    (void)state;
    if (!rr_server_start_redis(&w.redis, good_redis) || !rr_server_start_nats(&w.nats, nats_config)) {
        return -1;
    }
    snprintf(port, sizeof port, "%d", w.redis.port);
    if (!rr_server_start_redis(&w.replica, follows)) {
        return -1;
    }
    await_replica();
    return natsConnection_ConnectTo(&w.connection, w.nats.url) == NATS_OK &&
                   natsConnection_JetStream(&w.js, w.connection, NULL) == NATS_OK
               ? 0
               : -1;
}

static int end(void **state)
{
    (void)state;
    jsCtx_Destroy(w.js);
    natsConnection_Destroy(w.connection);
    rr_server_fini(&w.replica);
    rr_server_fini(&w.redis);
    rr_server_fini(&w.nats);
    return 0;
}

/* ---- a server of another age: tells its version, and knows nothing else ---- */

typedef struct old_server {
    int fd, port;
    pthread_t thread;
} old_server;

static void *be_old(void *context)
{
    static const char info[] = "redis_version:6.2.14\r\nrole:master\r\nconnected_slaves:1\r\naof_enabled:0\r\n"
                               "maxmemory:1000000000\r\nused_memory:1000\r\nmaxmemory_policy:noeviction\r\n";
    old_server *server = context;
    char in[65536], out[512];
    int fd = accept(server->fd, NULL, NULL);
    ssize_t got;

    while (fd >= 0 && (got = recv(fd, in, sizeof in - 1, 0)) > 0) {
        in[got] = '\0';
        snprintf(out, sizeof out, "-ERR unknown command\r\n");
        if (strstr(in, "INFO") != NULL) {
            snprintf(out, sizeof out, "$%zu\r\n%s\r\n", strlen(info), info);
        }
        if (send(fd, out, strlen(out), MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    close(fd);
    return NULL;
}

static void start_old(old_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    server->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->fd, 1), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, be_old, server), 0);
}

static void stop_old(old_server *server)
{
    pthread_join(server->thread, NULL);
    close(server->fd);
}

/* ---- streams ---- */

typedef void shape_stream(jsStreamConfig *config);
typedef void shape_consumer(jsConsumerConfig *config);

static void add_stream(const char *name, const char *subject, shape_stream *shape)
{
    jsStreamConfig config;
    jsErrCode code = 0;

    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    if (shape != NULL) {
        shape(&config);
    }
    if (js_AddStream(NULL, w.js, &config, NULL, &code) != NATS_OK) {
        fail_msg("stream %s: %d %s", name, (int)code, nats_GetLastError(NULL));
    }
}

static void add_consumer(shape_consumer *shape)
{
    jsConsumerConfig config;
    jsErrCode code = 0;

    jsConsumerConfig_Init(&config);
    config.Durable = "C";
    config.AckPolicy = js_AckExplicit;
    config.AckWait = INT64_C(60) * 1000000000;
    config.MaxDeliver = -1;
    config.MaxAckPending = 20000;
    if (shape != NULL) {
        shape(&config);
    }
    if (js_AddConsumer(NULL, w.js, "S", &config, NULL, &code) != NATS_OK) {
        fail_msg("consumer: %d %s", (int)code, nats_GetLastError(NULL));
    }
}

#define SHAPE(name, set) \
    static void name(jsStreamConfig *config) \
    { \
        set; \
    }
SHAPE(in_memory, config->Storage = js_MemoryStorage)
SHAPE(work_queue, config->Retention = js_WorkQueuePolicy)
SHAPE(by_interest, config->Retention = js_InterestPolicy)
SHAPE(without_ack, config->NoAck = true)
SHAPE(a_day, config->MaxAge = DAY_NS)
SHAPE(ten_messages, config->MaxMsgs = 10)
SHAPE(a_megabyte, config->MaxBytes = 1 << 20)
SHAPE(ten_then_no_more, (config->MaxMsgs = 10, config->Discard = js_DiscardNew))
SHAPE(one_a_subject, config->MaxMsgsPerSubject = 1)
SHAPE(first_a_subject, (config->MaxMsgsPerSubject = 1, config->MaxMsgs = 1000, config->Discard = js_DiscardNew,
                        config->DiscardNewPerSubject = true))
SHAPE(small_messages, config->MaxMsgSize = 100000)

static void all_subjects(jsStreamConfig *config)
{
    static const char *const subjects[] = {"results.>", "dead.>"};

    config->Subjects = (const char **)subjects;
    config->SubjectsLen = 2;
}

#undef SHAPE
#define SHAPE(name, set) \
    static void name(jsConsumerConfig *config) \
    { \
        set; \
    }
SHAPE(five_times, config->MaxDeliver = 5)
SHAPE(hundred_pending, config->MaxAckPending = 100)
SHAPE(two_thousand_pending, config->MaxAckPending = 2000)
SHAPE(ack_all, config->AckPolicy = js_AckAll)
SHAPE(ten_seconds, config->AckWait = INT64_C(10) * 1000000000)
SHAPE(only_new, config->DeliverPolicy = js_DeliverNew)
SHAPE(results_only, config->FilterSubject = "results.>")

static void fill_letters(void)
{
    for (int i = 0; i < 9; i++) {
        char subject[32];

        snprintf(subject, sizeof subject, "dead.x.%d", i);
        assert_int_equal(js_Publish(NULL, w.js, subject, "x", 1, NULL, NULL), NATS_OK);
    }
}

/* ---- what is done to Redis, and undone ---- */

static const char each_second[] = "CONFIG SET appendfsync everysec";
static const char at_once[] = "CONFIG SET appendfsync always";
static const char lame_user[] = "ACL SETUSER lame on >pw ~rr:* +@all -hset -xautoclaim";
static const char foreign_user[] = "ACL SETUSER lame on >pw resetkeys ~other:* +@all";
static const char blind_user[] = "ACL SETUSER lame on >pw resetkeys ~rr:* +@all -config";
static const char impatient_user[] = "ACL SETUSER lame on >pw resetkeys ~rr:* +@all -wait";
static const char no_user[] = "ACL DELUSER lame";

/* As docs/operations.md has it. */
static const char documented_user[] =
    "ACL SETUSER lame on >pw ~rr:* ~rr.g* +@read +@write +fcall +function|load +function|list +info +select "
    "+wait +multi +discard +acl|whoami +config|get";

/* So full that the memory which the survey itself takes does not matter. */
static void nearly_fill(const rr_server *server)
{
    char *filler = calloc(1, 20000001), info[8192];
    const char *used;

    assert_non_null(filler);
    memset(filler, 'x', 20000000);
    tell_redis(server, NULL, 0, "SET filler %s", filler);
    free(filler);
    tell_redis(server, info, sizeof info, "INFO memory");
    used = strstr(info, "used_memory:");
    assert_non_null(used);
    tell_redis(server, NULL, 0, "CONFIG SET maxmemory %lld", atoll(used + strlen("used_memory:")) * 100 / 94);
}

/* ---- the cases ---- */

enum { ALSO_MAX = 4 };

typedef struct fault {
    const char *row; /* NULL: nothing is wrong */
    rr_preflight_severity severity;
    const char *seen;           /* is in what was seen */
    const char *also[ALSO_MAX]; /* other findings that the fault brings */
    /* Redis: a server of its own with these further arguments, the replica, or one that is too old; else the good
     * one. */
    const char *const *redis;
    bool on_replica, on_old, nearly_full;
    const char *before, *after; /* commands to Redis that make the fault and undo it */
    const char *user;           /* "lame:pw@" */
    bool no_stream, no_letters, no_consumer, full_letters;
    shape_stream *stream, *letters;
    shape_consumer *consumer;
    const char *store, *source, *contract; /* lines of YAML; contract NULL: delta, a minute, 7 days */
    rr_preflight_expected expected;
} fault;

#define ARGS(...) ((const char *const[]){GOOD_REDIS, __VA_ARGS__, NULL})

static const char cumulative[] = "    mode: cumulative\n    window: {kind: tumbling, size: 1m}\n    retention: 7d\n";
static const char lasting[] = "    mode: cumulative\n    window: {kind: tumbling, size: 1m}\n    retention: forever\n";

#define REFUSES(name, what) .row = name, .severity = RR_PREFLIGHT_REFUSE, .seen = what
#define WARNS(name, what) .row = name, .severity = RR_PREFLIGHT_WARNING, .seen = what
#define NOTES(name, what) .row = name, .severity = RR_PREFLIGHT_NOTE, .seen = what

static const fault faults[] = {
    {.row = NULL},
    {.row = NULL, .contract = cumulative},
    {REFUSES("store_too_old", "6.2.14"), .on_old = true, .also = {"store_settings_hidden"}},
    {REFUSES("store_cluster", "cluster-enabled"), .redis = ARGS("--cluster-enabled", "yes")},
    {REFUSES("store_replica", "replica"), .on_replica = true},
    {REFUSES("store_permissions", "user 'lame' may not call HSET, XAUTOCLAIM"), .before = lame_user, .after = no_user,
     .user = "lame:pw@"},
    {REFUSES("store_permissions", "MGET (on our keys)"), .before = foreign_user, .after = no_user, .user = "lame:pw@"},
    {REFUSES("store_functions", "FUNCTION LOAD: ERR unknown command"),
     .redis = ARGS("--rename-command", "FUNCTION", "")},
    {REFUSES("store_takes_no_writes", "NOREPLICAS"), .redis = ARGS("--min-replicas-to-write", "1")},
    {REFUSES("store_permissions", "user 'lame' may not call WAIT"), .before = impatient_user, .after = no_user,
     .user = "lame:pw@", .store = "  wait_replicas: 1\n"},
    {.row = NULL, .before = documented_user, .after = no_user, .user = "lame:pw@", .store = "  wait_replicas: 1\n"},
    {.row = NULL, .before = impatient_user, .after = no_user, .user = "lame:pw@"},
    {REFUSES("store_replicas_missing", "wait_replicas is 2, and 1 replicas follow it"),
     .store = "  wait_replicas: 2\n"},
    {REFUSES("store_replicas_missing", "wait_replicas is 1, and 0 replicas follow it"),
     .redis = ARGS("--repl-diskless-sync-delay", "0"), .store = "  wait_replicas: 1\n"},
    {.row = NULL, .store = "  wait_replicas: 1\n"},
    {REFUSES("store_evicts", "allkeys-lru, at 537 MB"), .redis = ARGS("--maxmemory-policy", "allkeys-lru")},
    {NOTES("store_would_evict", "volatile-ttl"),
     .redis = ARGS("--maxmemory-policy", "volatile-ttl", "--maxmemory", "0"), .also = {"store_memory_unbounded"}},
    {WARNS("store_not_persistent", "keeps nothing on disk"), .redis = ARGS("--appendonly", "no")},
    {WARNS("store_snapshots_only", "snapshots"), .redis = ARGS("--appendonly", "no", "--save", "3600", "1")},
    {WARNS("store_never_synced", "appendfsync is no"), .redis = ARGS("--appendfsync", "no")},
    {NOTES("store_synced_each_second", "everysec"), .redis = ARGS("--appendfsync", "everysec")},
    {NOTES("store_settings_hidden", "'lame' is not told appendfsync"), .before = blind_user, .after = no_user,
     .user = "lame:pw@"},
    {NOTES("store_no_replica", "no replica"), .redis = ARGS("--repl-diskless-sync-delay", "0")},
    {NOTES("store_memory_unbounded", "maxmemory is 0"), .redis = ARGS("--maxmemory", "0")},
    {WARNS("store_nearly_full", "of 2"), .redis = ARGS("--maxmemory", "0"), .nearly_full = true},
    {NOTES("store_expires_at_once", "lazyfree"), .redis = ARGS("--lazyfree-lazy-expire", "no")},
    {.row = NULL, .redis = ARGS("--lazyfree-lazy-expire", "no"), .contract = cumulative, .also = {"store_no_replica"}},
    {WARNS("memory_short", "1000000 keys need about 6.9 TB; maxmemory is 537 MB"), .contract = cumulative,
     .expected = {.keys = 1000000}},
    {NOTES("memory_estimated", "10 keys need about 69 MB"), .contract = cumulative, .expected = {.keys = 10}},
    {NOTES("memory_estimated", "10 keys need about 0 bytes, and 8.6 MB more each day without end"), .contract = lasting,
     .expected = {.keys = 10}, .also = {"retention_forever"}},

    {REFUSES("unrepeatable_unsafe", "has workqueue retention, and the store writes its log to disk each second"),
     .stream = work_queue, .redis = ARGS("--appendfsync", "everysec"), .also = {"store_synced_each_second"}},
    {REFUSES("unrepeatable_unsafe", "interest retention, and the store has no log"), .stream = by_interest,
     .redis = ARGS("--appendonly", "no"), .also = {"store_not_persistent"}},
    {WARNS("unrepeatable_unsafe", "workqueue"), .stream = work_queue, .redis = ARGS("--appendonly", "no"),
     .source = "    allow_loss: true\n", .also = {"store_not_persistent"}},
    {.row = NULL, .stream = work_queue},
    {REFUSES("unrepeatable_copied", "has 1 replicas"), .stream = work_queue, .before = each_second, .after = at_once,
     .also = {"store_synced_each_second"}},
    {.row = NULL,
     .stream = work_queue,
     .before = each_second,
     .after = at_once,
     .store = "  wait_replicas: 1\n",
     .also = {"store_synced_each_second"}},
    {.row = NULL,
     .stream = by_interest,
     .before = each_second,
     .after = at_once,
     .store = "  wait_replicas: 1\n",
     .also = {"store_synced_each_second"}},
    /* Replicas follow a master that starts again empty. */
    {REFUSES("unrepeatable_unsafe", "has no log"), .stream = work_queue, .redis = ARGS("--appendonly", "no"),
     .store = "  wait_replicas: 1\n", .also = {"store_not_persistent", "store_replicas_missing"}},
    {REFUSES("stream_missing", "no stream S"), .no_stream = true, .no_consumer = true},
    {WARNS("stream_in_memory", "memory"), .stream = in_memory},
    {NOTES("stream_one_replica", "1 replica")},
    {WARNS("source_hidden", "the stream of the dead letters"), .source = "    user: lame\n    password: lame\n"},
    {REFUSES("consumer_missing", "no consumer C"), .no_consumer = true},
    {NOTES("consumer_to_be_made", "no consumer C yet"), .no_consumer = true, .source = "    create: true\n"},
    {REFUSES("consumer_gives_up", "max_deliver is 5"), .consumer = five_times},
    {REFUSES("consumer_pending_small", "max_ack_pending is 100, and one batch 1024"), .consumer = hundred_pending},
    {.row = NULL, .consumer = hundred_pending, .source = "    batch: 10\n"},
    {WARNS("consumer_pending_tight", "2000"), .consumer = two_thousand_pending},
    {REFUSES("consumer_unfit", "its ack policy is all"), .consumer = ack_all},
    {REFUSES("consumer_unfit", "work queue"), .stream = work_queue, .source = "    ack: all\n"},
    {WARNS("consumer_ack_wait_short", "ack_wait is 10s"), .consumer = ten_seconds},
    {NOTES("consumer_starts_late", "new"), .consumer = only_new},
    {REFUSES("dead_letters_unbound", "dead.orders.>"), .no_letters = true},
    {REFUSES("dead_letters_read_again", "the stream that is read"), .no_letters = true, .stream = all_subjects},
    {.row = NULL, .no_letters = true, .stream = all_subjects, .consumer = results_only},
    {REFUSES("dead_letters_unwanted", "interest"), .letters = by_interest},
    {WARNS("dead_letters_unwanted", "interest"), .letters = by_interest, .source = "    allow_loss: true\n"},
    {REFUSES("dead_letters_unconfirmed", "no_ack"), .letters = without_ack},
    {WARNS("dead_letters_in_memory", "D"), .letters = in_memory},
    {WARNS("dead_letters_dropped", "max_msgs 10"), .letters = ten_messages},
    {WARNS("dead_letters_dropped", "max_bytes 1.0 MB"), .letters = a_megabyte},
    {NOTES("dead_letters_expire", "1d"), .letters = a_day},
    {WARNS("dead_letters_nearly_full", "holds 9"), .letters = ten_then_no_more, .full_letters = true},
    {.row = NULL, .letters = ten_then_no_more},
    {WARNS("dead_letters_small", "100000 bytes"), .letters = small_messages},
    {WARNS("history_short", "keeps messages for 1d, and the contract takes records for 7d"), .stream = a_day},
    {WARNS("history_short", "for ever"), .stream = a_day, .contract = lasting, .also = {"retention_forever"}},
    {REFUSES("limits_drop_contributions", "1 messages a subject"), .stream = one_a_subject},
    {REFUSES("limits_drop_contributions", "max_bytes"), .stream = a_megabyte},
    {WARNS("limits_drop_contributions", "max_bytes"), .stream = a_megabyte, .source = "    allow_loss: true\n"},
    {REFUSES("limits_drop_contributions", "1 messages"), .stream = one_a_subject,
     .contract = "    mode: retraction\n    window: {kind: tumbling, size: 1m}\n    retention: 7d\n"},
    {.row = NULL, .stream = first_a_subject},
    {.row = NULL, .stream = ten_then_no_more},
    {WARNS("limits_drop_history", "1 messages a subject"), .stream = one_a_subject, .contract = cumulative},
    {WARNS("retention_forever", "forever"), .contract = lasting},
};

enum { FAULTS = sizeof faults / sizeof *faults };

/* ---- running one ---- */

static void print_config(const fault *f, const char *store, char *text, size_t room)
{
    snprintf(text, room,
             "store:\n  url: %s\n%ssources:\n  - name: orders\n    url: %s\n    stream: S\n    consumer: C\n"
             "    dead_letters: dead.orders\n    timeout: 500ms\n    contract: orders\n%scontracts:\n  - "
             "name: orders\n%s",
             store, f->store == NULL ? "" : f->store, w.nats.url, f->source == NULL ? "" : f->source,
             f->contract != NULL ? f->contract
                                 : "    mode: delta\n    window: {kind: tumbling, size: 1m}\n    retention: 7d\n");
}

static void prepare_streams(const fault *f)
{
    js_DeleteStream(w.js, "S", NULL, NULL);
    js_DeleteStream(w.js, "D", NULL, NULL);
    if (!f->no_stream) {
        add_stream("S", "results.>", f->stream);
    }
    if (!f->no_letters) {
        add_stream("D", "dead.>", f->letters);
    }
    if (f->full_letters) {
        fill_letters();
    }
    if (!f->no_consumer) {
        add_consumer(f->consumer);
    }
}

/* That it may be there although it is not what the case is about. */
static bool is_expected(const fault *f, const rr_finding *finding)
{
    const char *name = finding->row->name;

    if (strcmp(name, "stream_one_replica") == 0 || (f->row != NULL && strcmp(name, f->row) == 0) ||
        (f->redis != NULL && strcmp(name, "store_no_replica") == 0)) {
        return true;
    }
    for (int i = 0; i < ALSO_MAX && f->also[i] != NULL; i++) {
        if (strcmp(name, f->also[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const rr_finding *find(const rr_preflight *preflight, const char *name)
{
    for (size_t k = 0; k < preflight->finding_count; k++) {
        if (strcmp(preflight->findings[k].row->name, name) == 0) {
            return &preflight->findings[k];
        }
    }
    return NULL;
}

static void check_findings(size_t at, const fault *f, const rr_preflight *preflight)
{
    const rr_finding *found = f->row == NULL ? NULL : find(preflight, f->row);

    for (size_t k = 0; k < preflight->finding_count; k++) {
        const rr_finding *finding = &preflight->findings[k];

        if (!is_expected(f, finding)) {
            fail_msg("case %zu (%s): also found %s: %s", at, f->row == NULL ? "nothing" : f->row, finding->row->name,
                     finding->seen);
        }
    }
    for (int i = 0; i < ALSO_MAX && f->also[i] != NULL; i++) {
        if (find(preflight, f->also[i]) == NULL) {
            fail_msg("case %zu (%s): %s was not found", at, f->row == NULL ? "nothing" : f->row, f->also[i]);
        }
    }
    if (f->row == NULL) {
        return;
    }
    if (found == NULL) {
        fail_msg("case %zu: %s was not found", at, f->row);
    } else if (found->severity != f->severity || strstr(found->seen, f->seen) == NULL) {
        fail_msg("case %zu: %s is a %s, '%s'; wanted %s, '%s'", at, f->row, rr_preflight_severity_word(found->severity),
                 found->seen, rr_preflight_severity_word(f->severity), f->seen);
    }
}

static void load_config(rr_config *config, const char *text)
{
    rr_problems problems = {0};
    rr_buf buf = {0};

    if (rr_config_parse("test.yaml", rr_slice_of(text), config, &problems) != RR_OK) {
        rr_problems_print(&problems, &buf);
        fail_msg("%.*s\n%s", (int)buf.len, buf.data, text);
    }
    rr_problems_fini(&problems);
}

static void read_config(const fault *f, const char *store, rr_config *config)
{
    char text[4096];

    print_config(f, store, text, sizeof text);
    load_config(config, text);
}

/* A configuration and the survey of its servers. */
typedef struct surveyed {
    rr_config config;
    rr_preflight preflight;
} surveyed;

static void survey(const fault *f, const char *store, surveyed *all)
{
    rr_error error = {0};

    read_config(f, store, &all->config);
    assert_int_equal(rr_preflight_survey(&all->preflight, &all->config, &f->expected, &error), RR_OK);
}

static void judge(surveyed *all)
{
    rr_error error = {0};

    assert_int_equal(rr_preflight_judge(&all->preflight, &error), RR_OK);
}

static void end_survey(surveyed *all)
{
    rr_preflight_fini(&all->preflight);
    rr_config_fini(&all->config);
}

static void survey_and_check(size_t at, const fault *f, const char *store)
{
    surveyed all;

    survey(f, store, &all);
    if (all.preflight.store_status != RR_OK || all.preflight.sources[0].status != RR_OK) {
        fail_msg("case %zu: not surveyed: %s%s", at, all.preflight.store_error.text,
                 all.preflight.sources[0].error.text);
    }
    judge(&all);
    check_findings(at, f, &all.preflight);
    end_survey(&all);
}

static void run_case(size_t at, const fault *f)
{
    rr_server own = {0};
    old_server old = {0};
    const rr_server *redis = f->on_replica ? &w.replica : &w.redis;
    char store[128];

    prepare_streams(f);
    if (f->redis != NULL) {
        assert_true(rr_server_start_redis(&own, f->redis));
        redis = &own;
    }
    if (f->on_old) {
        start_old(&old);
    }
    if (f->before != NULL) {
        tell_redis(redis, NULL, 0, f->before);
    }
    if (f->nearly_full) {
        nearly_fill(redis);
    }
    snprintf(store, sizeof store, "redis://%s127.0.0.1:%d", f->user == NULL ? "" : f->user,
             f->on_old ? old.port : redis->port);
    survey_and_check(at, f, store);
    if (f->after != NULL) {
        tell_redis(redis, NULL, 0, f->after);
    }
    if (f->on_old) {
        stop_old(&old);
    }
    rr_server_fini(&own);
}

static void test_each_fault_is_found_alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < FAULTS; k++) {
        run_case(k, &faults[k]);
    }
}

/* No server at hand can have three replicas. */
static void test_three_replicas_of_a_stream_are_no_finding(void **state)
{
    static const fault none = {.row = NULL};
    surveyed all;

    (void)state;
    prepare_streams(&none);
    survey(&none, w.redis.url, &all);
    all.preflight.sources[0].survey.stream.replicas = 3;
    judge(&all);
    assert_int_equal(all.preflight.finding_count, 0);
    end_survey(&all);
}

static void test_every_row_has_a_case(void **state)
{
    (void)state;
    for (const rr_preflight_row *row = rr_preflight_rows(); row->name != NULL; row++) {
        bool covered = false;

        for (size_t k = 0; k < FAULTS; k++) {
            covered = covered || (faults[k].row != NULL && strcmp(faults[k].row, row->name) == 0);
        }
        if (!covered) {
            fail_msg("no case for %s", row->name);
        }
    }
}

/* A setting that is not told makes no finding but the one that it is hidden. */
static void test_what_is_not_told_is_no_fault(void **state)
{
    static const fault none = {.row = NULL};
    surveyed all;

    (void)state;
    survey(&none, w.redis.url, &all);
    all.preflight.store =
        (rr_store_survey){.replicas = RR_NOT_TOLD, .max_memory = RR_NOT_TOLD, .used_memory = RR_NOT_TOLD};
    memset(&all.preflight.sources[0].survey, 0, sizeof all.preflight.sources[0].survey);
    judge(&all);
    assert_int_equal(all.preflight.finding_count, 1);
    assert_string_equal(all.preflight.findings[0].row->name, "store_settings_hidden");
    end_survey(&all);
}

/* ---- what a crash can lose ---- */

static const rr_crash *crash_of(const rr_crash *crashes, size_t count, const char *part)
{
    for (size_t k = 0; k < count; k++) {
        if (strstr(crashes[k].part, part) != NULL) {
            return &crashes[k];
        }
    }
    fail_msg("no word about %s", part);
    return NULL;
}

static void check_crash(const fault *f, const char *store, const char *part, const char *loses, const char *restored)
{
    rr_crash crashes[RR_CRASHES_MAX + RR_CRASHES_PER_SOURCE];
    const rr_crash *crash;
    surveyed all;

    prepare_streams(f);
    survey(f, store, &all);
    crash = crash_of(crashes, rr_preflight_crashes(&all.preflight, crashes, sizeof crashes / sizeof *crashes), part);
    if (strstr(crash->loses, loses) == NULL || strstr(crash->restored, restored) == NULL) {
        fail_msg("%s: loses '%s', restored '%s'; wanted '%s', '%s'", part, crash->loses, crash->restored, loses,
                 restored);
    }
    end_survey(&all);
}

static void test_what_a_crash_can_lose(void **state)
{
    static const fault plain = {.row = NULL}, queue = {.stream = work_queue}, memory = {.stream = in_memory},
                       short_history = {.stream = a_day}, waits = {.store = "  wait_replicas: 1\n"};
    rr_server bare, seconds;

    (void)state;
    assert_true(rr_server_start_redis(&bare, NULL));
    assert_true(rr_server_start_redis(&seconds, ARGS("--appendfsync", "everysec")));
    check_crash(&plain, w.redis.url, "the reconciler", "nothing", "");
    check_crash(&plain, w.redis.url, "Redis process", "nothing", "");
    check_crash(&plain, w.redis.url, "Redis machine", "replica takes over", "reads the stream again");
    check_crash(&waits, w.redis.url, "Redis machine",
                "that has confirmed (wait_replicas is 1): nothing that was acknowledged", "reads the stream again");
    check_crash(&plain, bare.url, "Redis process", "every cell", "reads the stream again");
    check_crash(&short_history, bare.url, "Redis process", "every cell", "Stream S reaches back 1d.");
    check_crash(&queue, bare.url, "Redis process", "every cell", "records of source orders cannot be read again");
    check_crash(&plain, seconds.url, "Redis process", "nothing", "");
    check_crash(&plain, seconds.url, "Redis machine", "last second", "reads the stream again");
    check_crash(&plain, w.redis.url, "nats-server process", "last acknowledgements", "");
    check_crash(&memory, w.redis.url, "nats-server process", "every unread record", "producers");
    check_crash(&plain, w.redis.url, "nats-server's machine", "two minutes", "producers");
    check_crash(&plain, "memory", "the store", "every cell", "reads the stream again");
    rr_server_fini(&bare);
    rr_server_fini(&seconds);
}

/* ---- `run` and the command line ---- */

static size_t told;
static char told_text[4096];

static void remember(rr_preflight_severity severity, const char *text)
{
    told += severity == RR_PREFLIGHT_WARNING;
    if (severity == RR_PREFLIGHT_WARNING) {
        snprintf(told_text, sizeof told_text, "%s", text);
    }
}

static rr_status check_for_run(const fault *f, const char *store, rr_error *error)
{
    rr_config config;
    rr_status status;

    prepare_streams(f);
    read_config(f, store, &config);
    told = 0;
    told_text[0] = '\0';
    *error = (rr_error){0};
    status = rr_preflight_check(&config, remember, error);
    rr_config_fini(&config);
    return status;
}

static void test_what_run_is_told(void **state)
{
    static const fault plain = {.row = NULL}, queue = {.stream = work_queue},
                       allowed = {.stream = work_queue, .source = "    allow_loss: true\n"},
                       two = {.stream = a_megabyte, .no_letters = true}, more = {.store = "  wait_replicas: 2\n"};
    rr_server bare, waiting;
    rr_error error;

    (void)state;
    assert_true(rr_server_start_redis(&bare, NULL));
    assert_true(rr_server_start_redis(&waiting, ARGS("--min-replicas-to-write", "1")));
    assert_int_equal(check_for_run(&plain, w.redis.url, &error), RR_OK);
    assert_int_equal(told, 0);
    assert_int_equal(check_for_run(&plain, bare.url, &error), RR_OK);
    assert_int_equal(told, 1);
    assert_non_null(strstr(told_text, "store_not_persistent"));
    assert_int_equal(check_for_run(&queue, bare.url, &error), RR_CONFIG);
    assert_non_null(strstr(error.text, "source orders: stream S has workqueue retention"));
    assert_non_null(strstr(error.text, "allow_loss: true"));
    assert_int_equal(check_for_run(&allowed, bare.url, &error), RR_OK);
    assert_int_equal(told, 2);
    assert_int_equal(check_for_run(&two, w.redis.url, &error), RR_CONFIG);
    assert_non_null(strstr(error.text, "and 1 more"));
    /* An outage is no reason not to start. */
    assert_int_equal(check_for_run(&plain, waiting.url, &error), RR_OK);
    assert_non_null(strstr(told_text, "NOREPLICAS"));
    assert_int_equal(check_for_run(&more, w.redis.url, &error), RR_OK);
    assert_non_null(strstr(told_text, "wait_replicas is 2"));
    rr_server_fini(&waiting);
    rr_server_kill(&bare);
    assert_int_equal(check_for_run(&plain, bare.url, &error), RR_UNAVAILABLE);
    rr_server_fini(&bare);
}

/* The program's exit code; its two outputs go to `said`. */
static int call(const char *words, const fault *f, const char *store, char *said, size_t room)
{
    char text[4096], path[] = "/tmp/rr-preflight-XXXXXX", command[8192];
    int fd = mkstemp(path), code;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w"), *pipe;
    size_t got;

    assert_non_null(file);
    prepare_streams(f);
    print_config(f, store, text, sizeof text);
    fputs(text, file);
    fclose(file);
    snprintf(command, sizeof command, "timeout 20 %s %s --config %s 2>&1", program, words, path);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    got = fread(said, 1, room - 1, pipe);
    said[got] = '\0';
    code = pclose(pipe);
    unlink(path);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static void test_exit_codes(void **state)
{
    static const fault plain = {.row = NULL}, lossy = {.stream = a_megabyte},
                       allowed = {.stream = a_megabyte, .source = "    allow_loss: true\n"};
    static char said[65536];
    const char *away = "redis://127.0.0.1:1";

    (void)state;
    assert_int_equal(call("preflight", &plain, w.redis.url, said, sizeof said), 0);
    assert_non_null(strstr(said, "What a crash can lose:"));
    assert_non_null(strstr(said, "0 refused, 0 warnings, 1 notes"));
    assert_int_equal(call("preflight --json", &plain, w.redis.url, said, sizeof said), 0);
    assert_int_equal(said[0], '{');
    assert_non_null(strstr(said, "\"refused\":0,\"warnings\":0}\n"));
    assert_int_equal(call("preflight", &lossy, w.redis.url, said, sizeof said), 78);
    assert_non_null(strstr(said, "refuse   source orders, contract orders: stream S has max_bytes"));
    assert_int_equal(call("preflight", &allowed, w.redis.url, said, sizeof said), 0);
    assert_int_equal(call("preflight", &plain, away, said, sizeof said), 69);
    assert_non_null(strstr(said, "unseen   store: redis at 127.0.0.1:1: cannot connect"));
    assert_int_equal(call("preflight", &lossy, away, said, sizeof said), 78);
    assert_int_equal(call("preflight --expect-keys none", &plain, w.redis.url, said, sizeof said), 64);
    assert_int_equal(call("run --until-idle", &lossy, w.redis.url, said, sizeof said), 78);
    assert_non_null(strstr(said, "limits_drop_contributions"));
    assert_int_equal(call("run --until-idle", &allowed, w.redis.url, said, sizeof said), 0);
    assert_non_null(strstr(said, "limits_drop_contributions"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_a_case),
        cmocka_unit_test(test_each_fault_is_found_alone),
        cmocka_unit_test(test_three_replicas_of_a_stream_are_no_finding),
        cmocka_unit_test(test_what_is_not_told_is_no_fault),
        cmocka_unit_test(test_what_a_crash_can_lose),
        cmocka_unit_test(test_what_run_is_told),
        cmocka_unit_test(test_exit_codes),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_preflight PROGRAM\n");
        return 64;
    }
    program = argv[1];
    if (!rr_server_installed(RR_SERVER_NATS) || !rr_server_installed(RR_SERVER_REDIS)) {
        return 77;
    }
    return cmocka_run_group_tests(tests, begin, end);
}
