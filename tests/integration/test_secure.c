/* A nats-server that wants TLS, a certificate from its client and an nkey, or the credentials of an operator: records,
 * dead letters and alerts pass, and whoever comes with something else, or may not do what is needed, is told what is
 * wrong, where, and what to do. The certificates are made here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "credentials.h"
#include "nats_connect.h"
#include "publish.h"

enum { DONE_MS = 60000, PATH_ROOM = 256, TEXT_ROOM = 4096, NO_SERVER = 69, CONFIGURATION = 78, SKIPPED = 77 };

/* The pair that the manual of NATS shows. */
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
#define SEED "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"

#define TLS(ca, name) "tls: {ca: " ca ".pem, cert: " name ".pem, key: " name ".key}"
#define OURS "nkey: user.nk, " TLS("good", "client")

static rr_server server;
static char server_config[4 * TEXT_ROOM];

/* ---- certificates ---- */

static const char make_certificates[] = "set -e\n"
                                        "new='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
                                        "for ca in good other; do openssl req -x509 $new -keyout $ca.key "
                                        "-out $ca.pem -days 2 -subj /CN=$ca; done\n"
                                        "leaf() {\n"
                                        "    openssl req $new -keyout $2.key -out $2.csr -subj /CN=$2\n"
                                        "    echo subjectAltName=$3 >$2.ext\n"
                                        "    openssl x509 -req -in $2.csr -CA $1.pem -CAkey $1.key "
                                        "-CAcreateserial -out $2.pem -days 2 -extfile $2.ext\n"
                                        "}\n"
                                        "leaf good server IP:127.0.0.1\n"
                                        "leaf good client DNS:client\n"
                                        "leaf other stranger DNS:stranger\n";

static void write_file(const rr_world *world, const char *name, const char *text)
{
    char path[PATH_ROOM];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", world->folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void prepare_folder(const rr_world *world)
{
    char command[PATH_ROOM + 64];

    write_file(world, "make", make_certificates);
    snprintf(command, sizeof command, "cd '%s' && sh ./make >make.log 2>&1 || { cat make.log; exit 1; }",
             world->folder);
    assert_int_equal(system(command), 0);
    write_file(world, "user.nk", SEED "\n" PUBLIC "\n");
    write_file(world, "broken.nk", "SUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n" PUBLIC "\n");
    write_file(world, "half.nk", SEED "\n");
}

static int begin(void **state)
{
    rr_world *world;

    assert_int_equal(rr_world_begin(state), 0);
    world = *state;
    prepare_folder(world);
    snprintf(server_config, sizeof server_config,
             "tls { cert_file: \"%s/server.pem\", key_file: \"%s/server.key\", ca_file: \"%s/good.pem\", "
             "verify: true }\n"
             "authorization { users: [{nkey: " PUBLIC "}] }\n",
             world->folder, world->folder, world->folder);
    assert_true(rr_server_start_nats(&server, server_config));
    return 0;
}

static int end(void **state)
{
    rr_server_fini(&server);
    return rr_world_end(state);
}

/* ---- configurations ---- */

/* source, alerts: how they show who they are; alerts NULL: to the log. */
static void configure(rr_world *world, const char *host, const char *source, const char *alerts, char *path)
{
    char text[TEXT_ROOM], channel[512] = "log";

    if (alerts != NULL) {
        snprintf(channel, sizeof channel, "{nats: {url: 'tls://127.0.0.1:%d', %s}}", server.port, alerts);
    }
    snprintf(text, sizeof text,
             "store: %s/0\n"
             "sources:\n- {name: parts, url: '%s:%d', stream: RESULTS, consumer: reconciler, create: true,\n"
             "   dead_letters: dead, routes: [{subject: results.parts, contract: parts}], %s}\n"
             "contracts:\n- {name: parts, mode: cumulative, window: {kind: global}}\n"
             "alerts: [%s]\n",
             world->redis.url, host, server.port, source, channel);
    write_file(world, "secure.yaml", text);
    snprintf(path, RR_WORLD_PATH, "%s/secure.yaml", world->folder);
}

/* The command to its end, which must be so. */
static void assert_ends(rr_world *world, const char *command, const char *config, const char *more, int code)
{
    const char *words[] = {command, "--config", config, more, NULL};

    assert_int_equal(rr_child_wait(rr_child_start(world, words), DONE_MS), code);
}

static void assert_published(rr_world *world, const char *config, const char *lines)
{
    char path[PATH_ROOM];

    write_file(world, "records.jsonl", lines);
    snprintf(path, sizeof path, "%s/records.jsonl", world->folder);
    assert_ends(world, "publish", config, path, 0);
}

/* ---- tests ---- */

#define RECORD "{\"business_key\":\"k\",\"metric_version\":\"v1\",\"result_version\":"

static natsSubscription *listen_to_alerts(const rr_world *world, rr_nats **nats)
{
    char url[64], files[4][PATH_ROOM];
    static const char *const names[] = {"user.nk", "good.pem", "client.pem", "client.key"};
    rr_nats_options options = {.url = url,
                               .nkey_seed_file = files[0],
                               .tls_ca_file = files[1],
                               .tls_cert_file = files[2],
                               .tls_key_file = files[3]};
    natsSubscription *alerts = NULL;
    rr_error error = {0};

    snprintf(url, sizeof url, "tls://127.0.0.1:%d", server.port);
    for (size_t k = 0; k < 4; k++) {
        snprintf(files[k], sizeof files[k], "%s/%s", world->folder, names[k]);
    }
    if (rr_nats_open(&options, nats, &error) != RR_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(natsConnection_SubscribeSync(&alerts, (*nats)->connection, "rr.alerts.>"), NATS_OK);
    assert_int_equal(natsConnection_Flush((*nats)->connection), NATS_OK);
    return alerts;
}

static void records_dead_letters_and_alerts_pass(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], *value;
    natsSubscription *alerts;
    natsMsg *alert = NULL;
    rr_nats *nats = NULL;
    rr_child *program;

    configure(world, "tls://127.0.0.1", OURS, OURS, config);
    assert_ends(world, "streams", config, "--create", 0);
    assert_published(world, config, RECORD "1,\"value\":2}\n" RECORD "2,\"value\":3}\n{\"business_key\":\"k\"}\n");
    alerts = listen_to_alerts(world, &nats);
    program = rr_child_run(world, config, NULL);
    assert_int_equal(natsSubscription_NextMsg(&alert, alerts, DONE_MS), NATS_OK);
    assert_string_equal(natsMsg_GetSubject(alert), "rr.alerts.parts.contract_violation");
    assert_int_equal(rr_child_stop(program, DONE_MS), 0);
    assert_int_equal(rr_child_count_before(program, " acknowledged"), 3);
    assert_int_equal(rr_child_count_before(program, " dead letters"), 1);
    value = rr_redis_get(world, "rr:{parts:k}:v1");
    assert_non_null(value);
    assert_non_null(strstr(value, "{\"value\":3},\"version\":2,"));
    free(value);
    natsMsg_Destroy(alert);
    natsSubscription_Destroy(alerts);
    rr_nats_close(nats);
}

static void what_is_wrong_is_told_with_its_place_and_its_cause(void **state)
{
    static const struct {
        const char *host, *source;
        int code;
        const char *says[2];
    } rows[] = {
        {"tls://127.0.0.1", "nkey: user.nk, tls: {ca: good.pem}", NO_SERVER, {"127.0.0.1:", "give 'cert' and 'key'"}},
        {"tls://127.0.0.1", "nkey: user.nk, " TLS("good", "stranger"), NO_SERVER, {"127.0.0.1:", "/stranger.pem"}},
        {"tls://127.0.0.1", "nkey: user.nk, " TLS("other", "client"), CONFIGURATION, {"127.0.0.1:", "/other.pem"}},
        {"tls://127.0.0.1", "nkey: user.nk", CONFIGURATION, {"127.0.0.1:", "give 'ca'"}},
        {"nats://127.0.0.1", "nkey: user.nk", CONFIGURATION, {"127.0.0.1:", "give 'ca'"}},
        {"tls://localhost", OURS, CONFIGURATION, {"localhost:", "not for the host of the URL"}},
        {"tls://127.0.0.1", TLS("good", "client"), CONFIGURATION, {"127.0.0.1:", "'nkey'"}},
        {"tls://127.0.0.1",
         "user: u, password: geheim, " TLS("good", "client"),
         CONFIGURATION,
         {"127.0.0.1:", "are not accepted"}},
        {"tls://127.0.0.1", "nkey: broken.nk, " TLS("good", "client"), CONFIGURATION, {"/broken.nk", "broken"}},
        {"tls://127.0.0.1", "nkey: half.nk, " TLS("good", "client"), CONFIGURATION, {"/half.nk", "public key"}},
        {"tls://127.0.0.1",
         "nkey: user.nk, " TLS("nowhere", "client"),
         CONFIGURATION,
         {"ca ", "/nowhere.pem: No such file"}},
        {"tls://127.0.0.1",
         "nkey: user.nk, tls: {ca: good.pem, cert: client.pem, key: stranger.key}",
         CONFIGURATION,
         {"/stranger.key", "mismatch"}},
    };
    rr_world *world = *state;

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char config[RR_WORLD_PATH];
        rr_child *child;

        configure(world, rows[k].host, rows[k].source, NULL, config);
        child = rr_child_start(world, (const char *[]){"streams", "--config", config, NULL});
        assert_int_equal(rr_child_wait(child, DONE_MS), rows[k].code);
        for (size_t n = 0; n < 2; n++) {
            if (!rr_child_has_said(child, rows[k].says[n])) {
                fail_msg("%s: it does not say %s: %s", rows[k].source, rows[k].says[n], rr_child_said(child));
            }
        }
        assert_false(rr_child_has_said(child, "geheim"));
        assert_false(rr_child_has_said(child, "(conn.c:")); /* the place in the source of cnats is cut off */
    }
}

/* A server that closes the connection may only be about to go: waited for, with the likely cause. */
static void without_a_certificate_it_waits_and_says_why(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_child *program;

    configure(world, "tls://127.0.0.1", "nkey: user.nk, tls: {ca: good.pem}", NULL, config);
    program = rr_child_start(world, (const char *[]){"run", "--config", config, NULL});
    rr_child_wait_for(program, "waiting for a server: source parts: connect: tls://127.0.0.1:", DONE_MS);
    rr_child_wait_for(program, "give 'cert' and 'key'", DONE_MS);
    assert_int_equal(rr_child_stop(program, DONE_MS), 0);
}

static void alerts_that_cannot_be_sent_are_told(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_child *program;

    configure(world, "tls://127.0.0.1", OURS, "nkey: user.nk, " TLS("other", "client"), config);
    assert_ends(world, "streams", config, "--create", 0);
    program = rr_child_start(world, (const char *[]){"run", "--config", config, NULL});
    assert_int_equal(rr_child_wait(program, DONE_MS), CONFIGURATION);
    assert_true(rr_child_has_said(program, "/other.pem"));

    configure(world, "tls://127.0.0.1", OURS, "nkey: user.nk, " TLS("good", "stranger"), config);
    assert_published(world, config, "{\"business_key\":\"k\"}\n");
    program = rr_child_run(world, config, NULL);
    rr_child_wait_for(program, "alerts wait: alerts: connect: tls://127.0.0.1:", DONE_MS);
    rr_child_wait_for(program, "/stranger.pem", DONE_MS);
    assert_int_equal(rr_child_stop(program, DONE_MS), 0);
}

/* ---- servers of other kinds ---- */

/* In place of the one with TLS, with what stands in server_config. */
static void start_another(void)
{
    rr_server_fini(&server);
    assert_true(rr_server_start_nats(&server, server_config));
}

static void the_credentials_of_an_operator_are_taken(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], creds[PATH_ROOM];
    rr_child *program;

    snprintf(creds, sizeof creds, "%s/user.creds", world->folder);
    rr_credentials_make(creds, "", server_config, sizeof server_config);
    start_another();
    configure(world, "nats://127.0.0.1", "credentials: user.creds", NULL, config);
    assert_ends(world, "streams", config, "--create", 0);
    assert_published(world, config, RECORD "1,\"value\":2}\n" RECORD "2,\"value\":3}\n{\"business_key\":\"k\"}\n");
    program = rr_child_run(world, config, NULL);
    rr_child_wait_for(program, "contract_violation", DONE_MS);
    assert_int_equal(rr_child_stop(program, DONE_MS), 0);
    assert_int_equal(rr_child_count_before(program, " acknowledged"), 3);
    assert_int_equal(rr_child_count_before(program, " dead letters"), 1);
    program = rr_child_start(world, (const char *[]){"run", "--config", config, "--until-idle", NULL});
    assert_int_equal(rr_child_wait(program, DONE_MS), 0);
    assert_int_equal(rr_child_count_before(program, " delivered"), 0);
}

/* Otherwise nothing would be acknowledged, or nothing would come, and no message would say why. */
static void what_the_user_may_not_do_is_told(void **state)
{
    static const char *const denied[] = {"$JS.ACK.", "$JS.API.CONSUMER.MSG.NEXT."};
    rr_world *world = *state;

    for (size_t k = 0; k < 2; k++) {
        char config[RR_WORLD_PATH];
        rr_child *program;

        snprintf(server_config, sizeof server_config,
                 "authorization {users: [{user: a, password: a}, {user: u, password: 'p\"', permissions: "
                 "{publish: {deny: [\"%s>\"]}}}]}\n",
                 denied[k]);
        start_another();
        configure(world, "nats://127.0.0.1", "user: a, password: a", NULL, config);
        assert_ends(world, "streams", config, "--create", 0);
        assert_published(world, config, RECORD "1,\"value\":2}\n");
        configure(world, "nats://127.0.0.1", "user: u, password: 'p\"'", NULL, config);
        program = rr_child_start(world, (const char *[]){"run", "--config", config, NULL});
        assert_int_equal(rr_child_wait(program, DONE_MS), CONFIGURATION);
        assert_true(rr_child_has_said(program, "Permissions Violation for Publish to \"$JS."));
        assert_true(rr_child_has_said(program, denied[k]));
        freeReplyObject(rr_redis_ask(world, (const char *[]){"FLUSHALL", NULL}));
    }
}

static void what_the_user_may_not_hear_is_told(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_child *program;

    snprintf(server_config, sizeof server_config,
             "authorization {users: [{user: u, password: p, permissions: {subscribe: {deny: [\"_INBOX.>\"]}}}]}\n");
    start_another();
    configure(world, "nats://127.0.0.1", "user: u, password: p", NULL, config);
    program = rr_child_start(world, (const char *[]){"run", "--config", config, NULL});
    rr_child_wait_for(program, "Permissions Violation for Subscription to \"_INBOX.", DONE_MS);
    assert_int_equal(rr_child_stop(program, DONE_MS), 0);
}

static size_t refusals(void)
{
    char path[PATH_ROOM], line[1024];
    size_t count = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/log", server.folder);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, "maximum connections exceeded") != NULL;
    }
    fclose(file);
    return count;
}

static bool is_stored(rr_world *world, const void *context)
{
    char *value = rr_redis_get(world, "rr:{parts:k}:v1");

    (void)context;
    free(value);
    return value != NULL;
}

/* There is room for one of its two connections, until somebody else goes. It asks again, but not all the time. */
static void a_server_that_is_full_is_waited_for(void **state)
{
    enum { MORE = 8, LEAST_MS = 200 };
    rr_world *world = *state;
    char config[RR_WORLD_PATH];
    rr_nats_options options = {.url = server.url};
    rr_nats *other = NULL;
    rr_child *program;
    long long begun;
    size_t before;

    snprintf(server_config, sizeof server_config, "max_connections: 2\n");
    start_another();
    configure(world, "nats://127.0.0.1", "ack_wait: 60s", NULL, config);
    assert_ends(world, "streams", config, "--create", 0);
    assert_published(world, config, RECORD "1,\"value\":2}\n");
    assert_int_equal(rr_nats_open(&options, &other, NULL), RR_OK);
    program = rr_child_run(world, config, NULL);
    rr_child_wait_for(program, "log in: the server says 'maximum connections exceeded'", DONE_MS);
    begun = rr_now_ms();
    before = refusals();
    while (refusals() < before + MORE) {
        rr_nap_ms(20);
    }
    assert_true(rr_now_ms() - begun >= (MORE - 2) * LEAST_MS);
    rr_nats_close(other);
    rr_child_wait_for(program, "the queue is back", DONE_MS);
    rr_wait(world, is_stored, NULL, DONE_MS, "the value");
    assert_int_equal(rr_child_stop(program, DONE_MS), 0);
    assert_int_equal(rr_child_count_before(program, " acknowledged"), 1);
}

/* ---- a server that has no key, only the nonces that it is told to give ---- */

/* With SEED the first one's signature begins with a zero byte. */
static const char *const nonces[] = {"wafHYgjZ76U-xtw", "AAAAAAAAAAAAAAA"};

static bool hears_a_signature(int fd)
{
    char heard[4096] = "";
    const char *signature;

    for (size_t len = 0; len + 1 < sizeof heard && strstr(heard, "PING") == NULL;) {
        ssize_t got = recv(fd, heard + len, sizeof heard - 1 - len, 0);

        if (got <= 0) {
            return false;
        }
        len += (size_t)got;
        heard[len] = '\0';
    }
    signature = strstr(heard, "\"sig\":\"");
    return signature != NULL && signature[strlen("\"sig\":\"")] != '"';
}

static void *give_nonces(void *context)
{
    int listener = *(int *)context;

    for (size_t k = 0; k < sizeof nonces / sizeof *nonces; k++) {
        int fd = accept(listener, NULL, NULL);
        char text[512];
        const char *answer;

        snprintf(
            text, sizeof text,
            "INFO {\"server_id\":\"s\",\"version\":\"2.9.10\",\"host\":\"127.0.0.1\",\"port\":4222,\"headers\":true,"
            "\"max_payload\":1048576,\"auth_required\":true,\"nonce\":\"%s\"}\r\n",
            nonces[k]);
        send(fd, text, strlen(text), MSG_NOSIGNAL);
        answer = hears_a_signature(fd) ? "PONG\r\n" : "-ERR 'Authorization Violation'\r\n";
        send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        if (answer[0] == '-') {
            shutdown(fd, SHUT_WR);
        }
        while (recv(fd, text, sizeof text, MSG_NOSIGNAL) > 0) {
            /* until the other side goes */
        }
        close(fd);
    }
    return NULL;
}

static void a_signature_that_begins_with_zero_is_made_anew(void **state)
{
    rr_world *world = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    char url[64], key[PATH_ROOM];
    rr_nats_options options = {.url = url, .nkey_seed_file = key};
    rr_nats *nats = NULL;
    rr_error error = {0};
    pthread_t thread;

    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 4), 0);
    getsockname(listener, (struct sockaddr *)&address, &len);
    snprintf(url, sizeof url, "nats://127.0.0.1:%d", ntohs(address.sin_port));
    snprintf(key, sizeof key, "%s/user.nk", world->folder);
    assert_int_equal(pthread_create(&thread, NULL, give_nonces, &listener), 0);
    if (rr_nats_open(&options, &nats, &error) != RR_OK) {
        fail_msg("%s", error.text);
    }
    rr_nats_close(nats);
    pthread_join(thread, NULL);
    close(listener);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_signature_that_begins_with_zero_is_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(records_dead_letters_and_alerts_pass, begin, end),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_told_with_its_place_and_its_cause, begin, end),
        cmocka_unit_test_setup_teardown(without_a_certificate_it_waits_and_says_why, begin, end),
        cmocka_unit_test_setup_teardown(alerts_that_cannot_be_sent_are_told, begin, end),
        cmocka_unit_test_setup_teardown(the_credentials_of_an_operator_are_taken, begin, end),
        cmocka_unit_test_setup_teardown(what_the_user_may_not_do_is_told, begin, end),
        cmocka_unit_test_setup_teardown(what_the_user_may_not_hear_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_server_that_is_full_is_waited_for, begin, end),
    };
    int code = rr_world_main(argc, argv);

    if (code == 0 && system("command -v openssl >/dev/null") != 0) {
        print_message("openssl is not installed\n");
        code = SKIPPED;
    }
    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
