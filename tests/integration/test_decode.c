/* `reconciler decode` on a stream: the messages that are asked for, as records, and nothing else is touched. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "publish.h"

enum { MESSAGES = 600, RARE = 4 };

static const int rare_at[RARE] = {5, 60, 100, 590};

/* Two forms in one stream: lines of JSON of somebody else, and rr.v1.Result. No Redis is there. */
static const char configuration[] = "store: redis://127.0.0.1:1\n"
                                    "sources:\n"
                                    "  - name: plant\n"
                                    "    url: %s\n"
                                    "    stream: RESULTS\n"
                                    "    consumer: reconciler\n"
                                    "    dead_letters: dead\n"
                                    "%s"
                                    "    routes:\n"
                                    "      - subject: results.*.json\n"
                                    "        contract: parts\n"
                                    "        decode:\n"
                                    "          json: {}\n"
                                    "          skip: {kind: BEAT}\n"
                                    "          record:\n"
                                    "            business_key: [{subject: 2}, id]\n"
                                    "            metric_version: {const: v1}\n"
                                    "            version: number\n"
                                    "            emitted_at: {stream: time}\n"
                                    "            value: n\n"
                                    "      - {subject: results.parts, contract: parts}\n"
                                    "contracts: [{name: parts, mode: cumulative, window: {kind: global}}]\n";

static void configure(rr_world *world, const char *name, const char *more, char path[RR_WORLD_PATH])
{
    FILE *file;

    snprintf(path, RR_WORLD_PATH, "%s/%s.yaml", world->folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, configuration, world->nats.url, more);
    assert_int_equal(fclose(file), 0);
}

static void publish(rr_world *world, const char *subject, const char *text)
{
    rr_publish_bytes(world, subject, text, strlen(text));
}

static char *decode(rr_world *world, const char *config, const char *option, const char *value, const char *form,
                    int *code)
{
    return rr_world_output(world, (const char *[]){"decode", "--config", config, option, value, form, NULL}, code);
}

/* The text is there, and the rest begins behind it. */
static const char *expect(const char *rest, const char *text)
{
    const char *found = strstr(rest, text);

    if (found == NULL) {
        fail_msg("'%s' is not in:\n%s", text, rest);
        return rest;
    }
    return found + strlen(text);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;

    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void a_part_of_a_stream_is_shown_as_records(void **state)
{
    rr_world *world = *state;
    char config[RR_WORLD_PATH], *out;
    const char *rest;
    int code;

    configure(world, "decode", "", config);
    out = decode(world, config, "--seq", "1-", NULL, &code);
    assert_string_equal(out, "0 messages: 0 records admitted, 0 refused, 0 skipped\n");
    assert_int_equal(code, 0);
    free(out);

    publish(world, "results.north.json", "{\"id\":\"a\",\"number\":1,\"n\":5}");
    publish(world, "results.north.json", "{\"kind\":\"BEAT\"}");
    publish(world, "results.south.json", "{\"id\":\"b\",\"n\":6}");
    rr_publish_json(world, config, "parts",
                    "{\"business_key\":\"own\",\"metric_version\":\"v1\",\"result_version\":1,\"value\":2}\n");
    publish(world, "results.other", "x");

    out = decode(world, config, "--seq", "2-4", NULL, &code);
    assert_int_equal(code, 1);
    rest = expect(out, "plant 2: results.north.json, stored 20");
    rest = expect(rest, "\n  skipped: 'kind' is 'BEAT', which `skip` names\nplant 3: results.south.json, stored ");
    rest = expect(rest, "\n  REFUSED version_missing: ");
    rest = expect(rest, "\n    {\"business_key\":\"south/b\",");
    rest = expect(rest, "\nplant 4: results.parts, stored ");
    rest = expect(rest, "\n  admitted by parts\n    {\"business_key\":\"own\",");
    rest = expect(rest, "\n3 messages: 1 records admitted, 1 refused, 1 skipped\n");
    assert_string_equal(rest, "");
    free(out);

    out = decode(world, config, "--seq", "1", "--records", &code);
    assert_int_equal(code, 0);
    rest = expect(out, "{\"clock\":\"20");
    rest = expect(rest, "\"}\n{\"business_key\":\"north/a\",");
    expect(rest, "\"emitted_at\":\"20");
    assert_int_equal(count_lines(out), 2);
    free(out);

    out = decode(world, config, "--count", "2", "--json", &code);
    assert_int_equal(code, 1);
    rest = expect(out, "{\"source\":\"plant\",\"sequence\":4,\"subject\":\"results.parts\",\"stored_at\":\"20");
    rest = expect(rest, "\"verdict\":\"admitted\",\"record\":{\"business_key\":\"own\",");
    rest = expect(rest, "\n{\"source\":\"plant\",\"sequence\":5,");
    expect(rest, "\"records\":[{\"verdict\":\"REFUSED\",\"reason\":\"unrouted\",");
    assert_int_equal(count_lines(out), 2);
    free(out);
}

/* The last messages that pass the filter, however far apart they are; no consumer is left, and none was moved. */
static void the_last_messages_are_those_of_the_filter(void **state)
{
    static const struct {
        const char *count;
        int first; /* of rare_at */
    } rows[] = {{"1", 3}, {"2", 2}, {"3", 1}, {"4", 0}, {"10", 0}};
    rr_world *world = *state;
    jsConsumerInfo *info = NULL;
    char config[RR_WORLD_PATH], wanted[64], *out;
    size_t next = 0;

    for (int k = 1; k <= MESSAGES; k++) {
        bool is_rare = next < RARE && k == rare_at[next];

        next += is_rare;
        assert_int_equal(js_PublishAsync(world->js, is_rare ? "results.rare.json" : "results.often.json",
                                         "{\"id\":\"a\",\"number\":1,\"n\":5}", 27, NULL),
                         NATS_OK);
    }
    assert_int_equal(js_PublishAsyncComplete(world->js, NULL), NATS_OK);
    configure(world, "filter", "    filter: results.rare.json\n", config);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const char *rest = out = decode(world, config, "--count", rows[k].count, "--json", NULL);

        for (int r = rows[k].first; r < RARE; r++) {
            snprintf(wanted, sizeof wanted, "{\"source\":\"plant\",\"sequence\":%d,", rare_at[r]);
            rest = expect(rest, wanted);
        }
        assert_int_equal(count_lines(out), RARE - rows[k].first);
        free(out);
    }
    assert_int_equal(js_GetConsumerInfo(&info, world->js, "RESULTS", "reconciler", NULL, NULL), NATS_NOT_FOUND);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_part_of_a_stream_is_shown_as_records, rr_world_begin, rr_world_end),
        cmocka_unit_test_setup_teardown(the_last_messages_are_those_of_the_filter, rr_world_begin, rr_world_end),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
