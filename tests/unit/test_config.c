/* The configuration: a whole one, each mistake, hostile files, subjects, ${env:} and ${file:}. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config.h"

#define STORE "store: redis://127.0.0.1\n"
#define CONTRACT "contracts: [{name: orders, mode: delta, retention: 1d}]\n"
#define SOURCE_OF(more) "sources:\n- {name: a, url: nats://h, stream: S, consumer: c, dead_letters: dead" more "}\n"
#define SOURCE SOURCE_OF(", contract: orders")
#define ALL STORE CONTRACT SOURCE

static char *said(rr_slice text, rr_status *status)
{
    rr_config config;
    rr_problems problems = {0};
    rr_buf buf = {0};

    *status = rr_config_parse("f.yaml", text, &config, &problems);
    rr_problems_print(&problems, &buf);
    rr_buf_char(&buf, '\0');
    rr_problems_fini(&problems);
    rr_config_fini(&config);
    return buf.data;
}

/* Text, and a part of what must be said of it; NULL: nothing at all. */
static const struct {
    const char *text, *says;
} rows[] = {
    {ALL, NULL},
    {"\xef\xbb\xbf" ALL, NULL},
    {"store: memory\n" CONTRACT SOURCE, NULL},
    {"store: memory:\n" CONTRACT SOURCE, "f.yaml:1:14: error: mapping values are not allowed in this context: a text"},
    {"store: {url: 'unix:///run/r.sock', timeout: 250ms}\n" CONTRACT SOURCE, NULL},
    {"store: rediss://h\n" CONTRACT SOURCE, "TLS to Redis needs a tunnel"},
    {"store: {timeout: 1s}\n" CONTRACT SOURCE, "store needs 'url'"},
    {"store: x\n" CONTRACT SOURCE, "f.yaml:1:8: error: 'store' must begin with redis://"},
    {"store:\n" CONTRACT SOURCE, "'store' must be a text, not no value"},
    {CONTRACT SOURCE, "the configuration needs 'store'"},
    {STORE CONTRACT, "the configuration needs 'sources'"},
    {STORE CONTRACT "sources: []\n", "'sources' must be a list of at least one source"},
    {STORE SOURCE, "needs either 'contracts' or 'contracts_file'"},
    {ALL "contracts_file: x\n", "needs either 'contracts' or 'contracts_file'"},
    {STORE SOURCE "contracts_file: /nonexistent/c.yaml\n", "/nonexistent/c.yaml: error: cannot be opened: No such"},
    {ALL "prefix: a{b\n", "'prefix' must have at most 64"},
    {ALL "sourcs: 1\n", "f.yaml:5:1: error: unknown key 'sourcs' in the configuration; did you mean 'sources'?"},
    {ALL "alerts: [log, {nats: {url: 'nats://h', prefix: x.y}}]\n", NULL},
    {ALL "alerts: [nats]\n", "an alert channel of kind nats needs a url"},
    {ALL "alerts: [lgo]\n", "unknown alert channel 'lgo'"},
    {ALL "alerts: [{mail: {}}]\n", "unknown alert channel 'mail'"},
    {ALL "alerts: [{log: {url: nats://h}}]\n", "an alert channel of kind log has no options"},
    {ALL "alerts: [mail, {mail: {url: smtp://h}}]\nplugins: [x.so]\n", NULL},
    {STORE CONTRACT
     "sources:\n- {name: a, url: kafka://h, stream: S, consumer: c, dead_letters: d, contract: orders}\n",
     "f.yaml:4:18: error: 'url': each part must begin with nats:// or tls://"},
    {"store: valkey://h\n" CONTRACT "sources:\n- {name: a, url: kafka://h, stream: S, consumer: c, dead_letters: d, "
     "contract: orders}\nplugins: [x.so]\n",
     NULL},
    {"store: {url: 'x:', options: {any: 1}}\n" CONTRACT SOURCE_OF(
         ", contract: orders, options: {any: 1}") "alerts: [{mail: {options: {any: 1}}}, {mail: {}}]\nplugins: "
                                                  "[x.so]\n",
     NULL},
    {ALL "alerts: [{mail: {option: {}}}]\nplugins: [x.so]\n",
     "f.yaml:5:18: error: unknown key 'option' in an alert channel of kind mail; did you mean 'options'?"},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: x, contract: orders, decode: {plugin: lines, options: {a: 1}}}]"),
     NULL},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: x, contract: orders, decode: {plugn: lines}}]"),
     "unknown key 'plugn' in decode; did you mean 'plugin'?"},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: x, contract: orders, decode: {plugin: lines, option: {}}}]"),
     "unknown key 'option' in 'decode' with 'plugin'; did you mean 'options'?"},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: x, contract: orders, decode: {json: {}, options: {}}}]"),
     "'options' goes with 'plugin'"},
    {ALL "alerts: [{nats: {}}]\n", "an alert channel of kind nats needs 'url'"},
    {ALL "drain_timeout: 0s\n", NULL},
    {ALL "drain_timeout: 10\n", "'drain_timeout' must be a duration in whole milliseconds"},
    {ALL "log_level: debg\n", "did you mean 'debug'?"},
    {ALL "plugins: [x.so]\n", NULL},
    {STORE CONTRACT "sources: [{name: a, stream: S, consumer: c, dead_letters: d, contract: orders}]\n",
     "a source needs 'url'"},
    {STORE CONTRACT "sources: [{name: a, url: 'nats://h', stream: S, consumer: c, contract: orders}]\n",
     "a source needs 'dead_letters': prefix of the subjects of refused and late records, which a stream must "
     "store"},
    {STORE CONTRACT SOURCE_OF(""), "needs either 'contract', for all its records, or 'routes'"},
    {STORE CONTRACT SOURCE_OF(", contract: order"), "there is no contract 'order'; did you mean 'orders'?"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, routes: [{subject: x, contract: orders}]"),
     "needs either 'contract'"},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: a.*, contract: orders}, {subject: a.>, contract: orders}]"), NULL},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: a.>, contract: orders}, {subject: a.*, contract: orders}]"),
     "this route is never taken: 'a.>' in line 4 comes first"},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: a.>.b, contract: orders}]"), "'subject' has > before its end"},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: a..b, contract: orders}]"), "'subject' has an empty part"},
    {STORE CONTRACT SOURCE_OF(", routes: [{subject: ab*, contract: orders}]"), "'subject' has * or > beside"},
    {STORE CONTRACT SOURCE_OF(", routes: []"), "'routes' must be a list like"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, ack: all, create: true, start: new, batch: 4096, pulls: 4"), NULL},
    {STORE CONTRACT SOURCE_OF(", contract: orders, start: new"),
     "warning: 'start' has no effect without 'create: true'"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, create: true, start: 2026-02-30T00:00:00Z"),
     "'start' must be all, new, or a time"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, batch: 0"), "'batch' must be from 1 to 65536"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, batch: 99999999999999999999"), "'batch' must be a whole number"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, ack_wait: 1500ms"),
     "'ack_wait' must be a duration in whole seconds"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, user: u"), "'user' and 'password' come together"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, token: t, nkey: k"), "only one of 'user' with 'password'"},
    {STORE CONTRACT SOURCE_OF(", contract: orders, tls: {cert: c}"), "'cert' and 'key' come together"},
    {STORE CONTRACT SOURCE "- {name: b, url: nats://h, stream: S, consumer: c, dead_letters: d, contract: orders}\n",
     "the same stream and consumer as in line 4: two readers"},
    {STORE CONTRACT SOURCE "- {name: a, url: nats://h, stream: T, consumer: c, dead_letters: d, contract: orders}\n",
     "source 'a' a second time; the first is in line 4"},
    {STORE "contracts: [{name: orders, mode: delta, retention: 1d}, {name: more, mode: delta, retention: "
           "1d}]\n" SOURCE,
     "warning: no source feeds contract 'more'"},
    {ALL "prefix: ${env:RR_TEST_UNSET}\n",
     "f.yaml:5:9: error: ${env:RR_TEST_UNSET}: the environment has no such variable"},
    {ALL "prefix: ${file:/nonexistent}\n", "${file:/nonexistent}: /nonexistent: cannot be opened"},
    {ALL "prefix: ${file:/}\n", "is not a file"},
    {ALL "prefix: ${file:/dev/zero}\n", "is not a file"},
    {ALL "prefix: ${exec:ls}\n", "only ${env:NAME} and ${file:PATH} are known"},
    {ALL "prefix: ${env:X\n", "${ without its }"},
    {ALL "prefix: a$${b\n", "'prefix' must have at most 64"},
    {ALL "prefix: &a rr\n", "anchor '&a': anchors and aliases are not supported"},
    {ALL "prefix: *a\n", "alias '*a'"},
    {ALL "prefix: !!str rr\n", "tags are not supported"},
    {ALL "prefix: rr\nprefix: rr\n", "key 'prefix' a second time; the first is in line 5"},
    {ALL "---\n" ALL, "a second document"},
    {ALL "? [a]\n: 1\n", "a key must be plain text, not a list"},
    {ALL "<<: {a: 1}\n", "unknown key '<<'"},
    {ALL "alerts:\n\t- log\n", "a tab for indentation"},
    {"[", "while parsing a flow node that begins in line"},
    {"- a\n", "the configuration must be a mapping of keys, not a list"},
    {"# nothing\n", "f.yaml: error: is empty"},
    {"\xff\xfe"
     "a",
     "invalid leading UTF-8"},
    {"store: \xc3(\n", "UTF-8"},
    {"\"\\e[31m\": 1\n", "unknown key '\\x1b[31m'"},
};

static void each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rr_status status;
        char *text = said(rr_slice_of(rows[i].text), &status);
        bool good = rows[i].says == NULL ? *text == '\0' && status == RR_OK : strstr(text, rows[i].says) != NULL;

        good = good && (status == RR_OK) == (strstr(text, "error:") == NULL);
        if (!good) {
            print_error("%s\nsays: %s\nnot: %s\n", rows[i].text, text, rows[i].says);
        }
        free(text);
        assert_true(good);
    }
}

/* A text made of parts: head, then `part` n times, then tail. */
static void expect(const char *head, const char *part, size_t n, const char *tail, const char *says)
{
    rr_buf buf = {0};
    rr_status status;
    char *text;

    rr_buf_text(&buf, head);
    for (size_t i = 0; i < n; i++) {
        rr_buf_text(&buf, part);
    }
    rr_buf_text(&buf, tail);
    text = said(rr_buf_view(&buf), &status);
    if (status == RR_OK || strstr(text, says) == NULL) {
        print_error("%s x %zu says: %.300s\nnot: %s\n", part, n, text, says);
    }
    assert_int_not_equal(status, RR_OK);
    assert_non_null(strstr(text, says));
    free(text);
    rr_buf_fini(&buf);
}

static void a_hostile_file_costs_little(void **state)
{
    (void)state;
    expect("", "x", RR_YAML_BYTES_MAX + 1, "", "larger than 1048576 bytes");
    expect("", "[", 500000, "", "nested deeper than 16");
    expect("", "{a: ", 200000, "", "nested deeper than 16");
    expect("", "- ", 300000, "", "nested deeper than 16");
    expect("", "? ", 300000, "", "a key must be plain text");
    expect("[", "{},", 300000, "]", "more than 100000 values");
    expect("", "- 1\n", 200000, "", "more than 100000 values");
    expect("a: [&a [x]", ", *a", 1000, "]", "anchors and aliases");
    expect("", "a: 1\n", 5000, "", "more than 1000 keys in one mapping");
    expect("sources: [", "{},", 1001, "]", "1001 items; 1000 are the most");
    expect(STORE SOURCE "contracts: [", "{},", 1001, "]", "1001 contracts; 1000 are the most");
}

static void a_nul_in_the_file_is_refused(void **state)
{
    static const char text[] = "store: a\0b\n";
    rr_status status;
    char *answer = said((rr_slice){text, sizeof text - 1}, &status);

    (void)state;
    assert_int_equal(status, RR_CONFIG);
    assert_non_null(strstr(answer, "control characters are not allowed"));
    free(answer);
}

static void a_whole_configuration_arrives(void **state)
{
    static const char text[] =
        "store: {url: 'redis://h:6380/1', password: '${env:RR_TEST_SECRET}', timeout: 3s, wait_replicas: 2}\nprefix: "
        "pre\n"
        "sources:\n- name: s1\n  url: nats://a:1,tls://b:2\n  stream: S\n  consumer: c\n  filter: "
        "results.>\n  ack: all\n"
        "  create: true\n  start: 2026-01-02T03:04:05Z\n  batch: 4096\n  pulls: 5\n  ack_wait: 2m\n  "
        "timeout: 250ms\n"
        "  user: u\n  password: p\n  tls: {ca: ca.pem, cert: /abs/c, key: k}\n  dead_letters: dead.s1\n  "
        "allow_loss: true\n"
        "  routes:\n  - {subject: results.a.*, contract: one}\n  - {subject: results.>, contract: two}\n"
        "contracts:\n- {name: one, mode: delta, retention: 1d}\n- {name: two, mode: cumulative, retention: "
        "1d}\n"
        "alerts: [{nats: {url: 'nats://c', token: t}}, log]\ndrain_timeout: 1m\nlog_level: debug\n";
    rr_config config;
    rr_problems problems = {0};
    const rr_source_config *source;

    (void)state;
    setenv("RR_TEST_SECRET", "se:cret'{", 1);
    assert_int_equal(rr_config_parse("/etc/rr/rr.yaml", RR_SLICE(text), &config, &problems), RR_OK);
    assert_int_equal(problems.count, 0);
    assert_string_equal(config.store_url, "redis://h:6380/1");
    assert_string_equal(config.store.password, "se:cret'{");
    assert_int_equal(config.store.timeout_ms, 3000);
    assert_int_equal(config.store.wait_replicas, 2);
    assert_string_equal(config.store.prefix, "pre");
    assert_string_equal(config.prefix, "pre");
    assert_int_equal(config.source_count, 1);
    source = &config.sources[0];
    assert_string_equal(source->name, "s1");
    assert_string_equal(source->options.url, "nats://a:1,tls://b:2");
    assert_string_equal(source->options.filter, "results.>");
    assert_int_equal(source->options.ack, RR_ACK_ALL);
    assert_true(source->options.create && source->allow_loss);
    assert_int_equal(source->options.start, RR_START_TIME);
    assert_int_equal(source->options.start_time_us, 1767323045000000);
    assert_int_equal(source->options.batch, 4096);
    assert_int_equal(source->options.pulls, 5);
    assert_int_equal(source->options.ack_wait_s, 120);
    assert_int_equal(source->options.timeout_ms, 250);
    assert_string_equal(source->options.tls_ca_file, "/etc/rr/ca.pem");
    assert_string_equal(source->options.tls_cert_file, "/abs/c");
    assert_string_equal(source->dead_letters, "dead.s1");
    assert_int_equal(source->route_count, 2);
    assert_ptr_equal(rr_source_route(source, RR_SLICE("results.a.x"))->under, &config.contracts.items[0]);
    assert_ptr_equal(rr_source_route(source, RR_SLICE("results.a.x.y"))->under, &config.contracts.items[1]);
    assert_null(rr_source_route(source, RR_SLICE("other")));
    assert_int_equal(config.channel_count, 2);
    assert_string_equal(config.channels[0].kind, "nats");
    assert_string_equal(config.channels[0].options.prefix, "rr.alerts");
    assert_string_equal(config.channels[0].options.token, "t");
    assert_string_equal(config.channels[1].kind, "log");
    assert_int_equal(config.drain_timeout_ms, 60000);
    assert_int_equal(config.log_level, RR_LOG_DEBUG);
    rr_config_fini(&config);
    rr_problems_fini(&problems);
}

static void the_defaults_are_made_explicit(void **state)
{
    rr_config config;
    rr_problems problems = {0};

    (void)state;
    assert_int_equal(rr_config_parse("f", RR_SLICE(ALL), &config, &problems), RR_OK);
    assert_string_equal(config.prefix, "rr");
    assert_int_equal(config.store.timeout_ms, 2000);
    assert_int_equal(config.store.wait_replicas, 0);
    assert_string_equal(config.store.prefix, "rr");
    assert_int_equal(config.drain_timeout_ms, 10000);
    assert_int_equal(config.log_level, RR_LOG_INFO);
    assert_int_equal(config.channel_count, 1);
    assert_string_equal(config.channels[0].kind, "log");
    assert_int_equal(config.sources[0].options.ack, RR_ACK_EXPLICIT);
    assert_int_equal(config.sources[0].options.batch, 1024);
    assert_int_equal(config.sources[0].options.pulls, 3);
    assert_int_equal(config.sources[0].options.ack_wait_s, 60);
    assert_int_equal(config.sources[0].options.timeout_ms, 5000);
    assert_false(config.sources[0].options.create || config.sources[0].allow_loss);
    assert_ptr_equal(rr_source_route(&config.sources[0], RR_SLICE("any.thing"))->under, config.contracts.items);
    rr_config_fini(&config);
    rr_problems_fini(&problems);
}

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[200];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_not_equal(fputs(text, file), EOF);
    assert_int_equal(fclose(file), 0);
}

static void files_are_found_beside_the_configuration(void **state)
{
    char folder[] = "/tmp/rr-config-XXXXXX", path[200];
    static const char *const names[] = {"rr.yaml", "secret", "c.yaml"};
    rr_config config;
    rr_problems problems = {0};

    (void)state;
    assert_non_null(mkdtemp(folder));
    put_file(folder, "secret", "s3cret\n");
    put_file(folder, "c.yaml", CONTRACT "# end\n");
    put_file(folder, "rr.yaml",
             "store: {url: redis://h, password: 'a${file:secret}b'}\ncontracts_file: c.yaml\n" SOURCE);
    snprintf(path, sizeof path, "%s/rr.yaml", folder);
    assert_int_equal(rr_config_load(path, &config, &problems), RR_OK);
    assert_string_equal(config.store.password, "as3cretb");
    assert_int_equal(config.contracts.count, 1);
    rr_config_fini(&config);

    put_file(folder, "c.yaml", "contracts: [{name: orders, mod: delta}]\n");
    assert_int_equal(rr_config_load(path, &config, &problems), RR_CONFIG);
    assert_string_equal(strrchr(problems.items[0].place.path, '/'), "/c.yaml");
    rr_config_fini(&config);
    rr_problems_fini(&problems);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void a_secret_is_never_shown(void **state)
{
    rr_status status;
    char *text;

    (void)state;
    setenv("RR_TEST_SECRET", "hunter2", 1);
    text = said(RR_SLICE("store: ${env:RR_TEST_SECRET}\nprefix: '{${env:RR_TEST_SECRET}'\nlog_level: "
                         "${env:RR_TEST_SECRET}\ndrain_timeout: ${env:RR_TEST_SECRET}\nalerts: "
                         "['${env:RR_TEST_SECRET}']\n" CONTRACT SOURCE),
                &status);
    assert_int_equal(status, RR_CONFIG);
    assert_null(strstr(text, "hunter2"));
    free(text);
}

static void a_missing_file_is_io(void **state)
{
    rr_config config;
    rr_problems problems = {0};

    (void)state;
    assert_int_equal(rr_config_load("/nonexistent/rr.yaml", &config, &problems), RR_IO);
    assert_int_equal(problems.errors, 1);
    rr_config_fini(&config);
    rr_problems_fini(&problems);
}

static void subjects_match_as_in_nats(void **state)
{
    static const struct {
        const char *pattern, *subject;
        bool matches;
    } cases[] = {
        {"a", "a", true},          {"a", "b", false},    {"a", "a.b", false},    {"a.b", "a", false},
        {"*", "a", true},          {"*", "a.b", false},  {">", "a", true},       {">", "a.b.c", true},
        {"a.>", "a", false},       {"a.>", "a.b", true}, {"a.>", "a.b.c", true}, {"a.*.c", "a.b.c", true},
        {"a.*.c", "a.b.d", false}, {"a.*", "a.", false}, {">", "", false},       {"a.b", "a.bc", false},
        {"a.bc", "a.b", false},    {"*.*", "a.b", true}, {"*.>", "a", false},    {"a.*.>", "a.b", false},
        {"a*", "ab", false},       {"a*", "a*", true},   {"A", "a", false},      {"a.>", "a..b", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (rr_subject_matches(cases[i].pattern, rr_slice_of(cases[i].subject)) != cases[i].matches) {
            print_error("%s of %s\n", cases[i].pattern, cases[i].subject);
            fail();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_named),          cmocka_unit_test(a_hostile_file_costs_little),
        cmocka_unit_test(a_nul_in_the_file_is_refused),   cmocka_unit_test(a_whole_configuration_arrives),
        cmocka_unit_test(the_defaults_are_made_explicit), cmocka_unit_test(files_are_found_beside_the_configuration),
        cmocka_unit_test(a_secret_is_never_shown),        cmocka_unit_test(a_missing_file_is_io),
        cmocka_unit_test(subjects_match_as_in_nats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
