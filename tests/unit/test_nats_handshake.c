/* How a client joins the connection that cnats holds, with servers that say what they are told to: the first
 * connection to each is that of cnats, the ones behind it are the client's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nats_client.h"

enum { CONNECTIONS = 3, HEARD = 8192, TIMEOUT_MS = 2000, LONG_MS = 60000 };

#define INFO "INFO {\"server_id\":\"s\",\"version\":\"2.9.10\",\"proto\":1,\"headers\":true,\"max_payload\":1048576"
#define PLAIN INFO "}\r\n"

/* One connection: what the server says at once, and when it was asked by a PING (NULL: nothing). ends: then it
 * closes. */
typedef struct script {
    const char *hello, *answer;
    bool ends;
} script;

typedef struct fake {
    script scripts[CONNECTIONS];
    int listener, port, fds[CONNECTIONS];
    char heard[CONNECTIONS][HEARD];
    pthread_t thread;
} fake;

static void say(int fd, const char *text)
{
    if (text != NULL) {
        assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    }
}

static void listen_until_asked(int fd, char *heard)
{
    size_t len = 0;

    while (strstr(heard, "PING\r\n") == NULL) {
        ssize_t got = recv(fd, heard + len, HEARD - 1 - len, 0);

        if (got <= 0) {
            return;
        }
        len += (size_t)got;
        heard[len] = '\0';
    }
}

static void *serve(void *context)
{
    fake *server = context;

    for (int k = 0; k < CONNECTIONS; k++) {
        int fd = server->fds[k] = accept(server->listener, NULL, NULL);

        if (fd < 0) {
            break;
        }
        say(fd, server->scripts[k].hello);
        if (server->scripts[k].answer != NULL) {
            listen_until_asked(fd, server->heard[k]);
            say(fd, server->scripts[k].answer);
        }
        if (server->scripts[k].ends) {
            close(fd);
            server->fds[k] = -1;
        }
    }
    return NULL;
}

static void open_port(fake *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;

    for (int k = 0; k < CONNECTIONS; k++) {
        server->fds[k] = -1;
    }
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(server->listener, CONNECTIONS), 0);
    getsockname(server->listener, (struct sockaddr *)&address, &len);
    server->port = ntohs(address.sin_port);
}

static void begin(fake *server)
{
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void end(fake *server)
{
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    for (int k = 0; k < CONNECTIONS; k++) {
        if (server->fds[k] >= 0) {
            close(server->fds[k]);
        }
    }
}

/* who: "" or "user:password@" */
static rr_nats *join(const fake *server, const char *who, rr_nats_options *options, char url[128])
{
    rr_nats *nats = NULL;
    rr_error error = {0};

    snprintf(url, 128, "nats://%s127.0.0.1:%d", who, server->port);
    options->url = url;
    if (rr_nats_open(options, &nats, &error) != RR_OK) {
        fail_msg("%s", error.text);
    }
    return nats;
}

/* The server may send its bytes in any pieces: those behind the end of the handshake belong to the client. */
static void what_comes_behind_the_handshake_is_not_lost(void **state)
{
    fake server = {.scripts = {{PLAIN, "PONG\r\n", false}, {PLAIN, "PONG\r\n" INFO "}\r\nPONG\r\n+O", false}}};
    rr_nats_options options = {.timeout_ms = LONG_MS};
    rr_nats_client client = {0};
    rr_error error = {0};
    char url[128];
    rr_nats *nats;

    (void)state;
    open_port(&server);
    begin(&server);
    nats = join(&server, "", &options, url);
    assert_int_equal(rr_nats_client_open(&client, nats, &error), RR_OK);
    assert_true(rr_nats_client_flush(&client, TIMEOUT_MS));
    say(server.fds[1], "K\r\nPING\r\n");
    assert_false(rr_nats_client_flush(&client, 1));
    assert_true(client.socket.is_open);
    rr_nats_client_fini(&client);
    rr_nats_close(nats);
    end(&server);
}

static void why_a_server_does_not_take_it_is_told(void **state)
{
    static const char full[] = PLAIN "-ERR 'maximum connections exceeded'\r\n";
    static const char full_secure[] = INFO ",\"tls_required\":true}\r\n-ERR 'maximum connections exceeded'\r\n";
    static const struct {
        script script;
        const char *says;
    } rows[] = {
        {{full, NULL, true}, "log in: the server says 'maximum connections exceeded'"},
        {{full_secure, NULL, true}, "log in: the server says 'maximum connections exceeded'"},
        {{PLAIN, "-ERR 'Authorization Violation'\r\n", true}, "log in: the server says 'Authorization Violation'"},
        {{PLAIN, "PONG\r\n-ERR 'no'\r\nnonsense\r\n", true}, "the server says 'no'"},
        {{PLAIN, NULL, true}, "log in: the server closed the connection"},
        {{"SSH-2.0-server\r\n", NULL, false}, "log in: what answers is not a NATS server"},
        {{NULL, NULL, false}, "log in: no answer in time"},
        {{PLAIN, NULL, false}, "log in: no answer in time"},
        {{INFO ",\"tls_required\":true}\r\n", NULL, false}, "TLS: no answer in time"},
        {{INFO ",\"tls_required\":true}\r\n", NULL, true}, "TLS: "},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        fake server = {.scripts = {{PLAIN, "PONG\r\n", false}, rows[k].script}};
        rr_nats_options options = {.timeout_ms = LONG_MS};
        rr_nats_client client = {0};
        rr_error error = {0};
        char url[128];
        rr_nats *nats;

        open_port(&server);
        begin(&server);
        nats = join(&server, "", &options, url);
        nats->options.timeout_ms = strstr(rows[k].says, "in time") != NULL ? 100 : LONG_MS;
        assert_int_equal(rr_nats_client_open(&client, nats, &error), RR_UNAVAILABLE);
        if (strstr(error.text, rows[k].says) == NULL || strstr(error.text, url) == NULL) {
            fail_msg("not \"%s\": %s", rows[k].says, error.text);
        }
        assert_non_null(strstr(error.text, client.socket.why)); /* and it is remembered */
        assert_true(client.socket.why[0] != '\0' && !client.socket.is_open);
        rr_nats_client_fini(&client);
        rr_nats_close(nats);
        end(&server);
    }
}

/* The words of INFO end with its line. What follows it is no part of them, and behind what was received there is
 * nothing. */
static void a_nonce_that_does_not_end_is_none(void **state)
{
    fake server = {.scripts = {{PLAIN, "PONG\r\n", false}, {"INFO {\"nonce\":\"abc\r\n+OK \"\r\n", NULL, false}}};
    rr_nats_options options = {.timeout_ms = LONG_MS};
    rr_nats_client client = {0};
    char url[128], path[] = "/tmp/rr-key-XXXXXX";
    int key = mkstemp(path);
    rr_nats *nats;

    (void)state;
    assert_int_equal(dprintf(key, "U%055d\n", 0), 57);
    open_port(&server);
    begin(&server);
    nats = join(&server, "", &options, url);
    nats->options.nkey_seed_file = path;
    assert_int_equal(rr_nats_client_open(&client, nats, NULL), RR_UNAVAILABLE);
    assert_string_equal(client.socket.why, "log in: the server asks for no signature");
    close(key);
    unlink(path);
    rr_nats_client_fini(&client);
    rr_nats_close(nats);
    end(&server);
}

/* A server that is about to stop keeps its connections for a while and takes no new ones. The client learns of
 * another server from it, and logs in there as it did at the first. */
static void another_server_is_tried_where_that_of_cnats_takes_nobody(void **state)
{
    fake first = {
        .scripts = {{NULL, "PONG\r\n", false}, {PLAIN, "-ERR 'no'\r\n", true}, {PLAIN, "-ERR 'no'\r\n", true}}};
    fake other = {.scripts = {{PLAIN, "PONG\r\n", false}}};
    rr_nats_options options = {.timeout_ms = LONG_MS};
    char url[128], hello[512];
    rr_nats_client client = {0};
    rr_nats *nats;
    int tries = 0;

    (void)state;
    open_port(&first);
    open_port(&other);
    snprintf(hello, sizeof hello, INFO ",\"connect_urls\":[\"127.0.0.1:%d\"]}\r\n", other.port);
    first.scripts[0].hello = hello;
    begin(&first);
    begin(&other);
    nats = join(&first, "u:p%41@:@", &options, url);
    assert_int_equal(rr_nats_client_open(&client, nats, NULL), RR_UNAVAILABLE);
    while (rr_nats_client_open(&client, nats, NULL) != RR_OK) {
        assert_true(++tries < 3);
    }
    assert_non_null(strstr(first.heard[1], "\"user\":\"u\",\"pass\":\"p%41@:\""));
    assert_non_null(strstr(other.heard[0], "\"user\":\"u\",\"pass\":\"p%41@:\""));
    rr_nats_client_fini(&client);
    rr_nats_close(nats);
    end(&first);
    end(&other);
}

static void both_say_who_we_are_in_the_same_words(void **state)
{
    static const struct {
        const char *in_url;
        rr_nats_options options;
        const char *says;
    } rows[] = {
        {"", {.user = "u\"", .password = "p\\\n"}, "\"user\":\"u\\\"\",\"pass\":\"p\\\\\\u000a\""},
        {"", {.user = "u"}, "\"user\":\"u\",\"pass\":\"\""},
        {"", {.token = "t\"@:%41"}, "\"auth_token\":\"t\\\"@:%41\""},
        {"a:b:@c@", {.user = "u", .password = "p"}, "\"user\":\"a\",\"pass\":\"b:@c\""},
        {"t%41\\\"@", {.user = "u", .password = "p"}, "\"auth_token\":\"t%41\\\"\""},
        {"t:@", {0}, "\"auth_token\":\"t\""},
    };

    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        fake server = {.scripts = {{PLAIN, "PONG\r\n", false}, {PLAIN, "PONG\r\n", false}}};
        rr_nats_options options = rows[k].options;
        rr_nats_client client = {0};
        char url[128];
        rr_nats *nats;

        options.timeout_ms = LONG_MS;
        open_port(&server);
        begin(&server);
        nats = join(&server, rows[k].in_url, &options, url);
        assert_int_equal(rr_nats_client_open(&client, nats, NULL), RR_OK);
        for (int one = 0; one < 2; one++) {
            if (strstr(server.heard[one], rows[k].says) == NULL) {
                fail_msg("not %s: %s", rows[k].says, server.heard[one]);
            }
        }
        rr_nats_client_fini(&client);
        rr_nats_close(nats);
        end(&server);
    }
}

static void *fail_without_words(void *context)
{
    rr_nats nats = {.place = "nats://there"};
    rr_error *errors = context;

    rr_nats_fail(&nats, NATS_NOT_FOUND, "ask", &errors[0]);
    rr_nats_js_fail(&nats, NATS_NOT_FOUND, 10059, "ask", &errors[1]);
    return NULL;
}

/* cnats keeps its words a thread, and this one has had no error yet. */
static void what_the_library_has_no_words_for_is_told_by_its_code(void **state)
{
    rr_error errors[2] = {{0}, {0}};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, fail_without_words, errors), 0);
    pthread_join(thread, NULL);
    assert_string_equal(errors[0].text, "ask: nats://there: Not Found");
    assert_string_equal(errors[1].text, "ask: nats://there: Not Found (JetStream error 10059)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_behind_the_handshake_is_not_lost),
        cmocka_unit_test(why_a_server_does_not_take_it_is_told),
        cmocka_unit_test(a_nonce_that_does_not_end_is_none),
        cmocka_unit_test(another_server_is_tried_where_that_of_cnats_takes_nobody),
        cmocka_unit_test(both_say_who_we_are_in_the_same_words),
        cmocka_unit_test(what_the_library_has_no_words_for_is_told_by_its_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
