/* Contracts in YAML: what is taken, what each mistake is told, and that printing and reading agree. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "contract_yaml.h"
#include "time.h"

#define HEAD "contracts:\n- name: parts\n  mode: cumulative\n"
#define DELTA "contracts:\n- name: parts\n  mode: delta\n"

static char *printed(const char *text, rr_status *status)
{
    rr_contract_list list;
    rr_problems problems = {0};
    rr_buf buf = {0};

    *status = rr_contracts_parse("c.yaml", rr_slice_of(text), &list, &problems);
    rr_problems_print(&problems, &buf);
    rr_buf_char(&buf, '\0');
    rr_problems_fini(&problems);
    rr_contracts_fini(&list);
    return buf.data;
}

/* Text, and a part of what must be said of it; NULL: nothing but warnings. */
static const struct {
    const char *text, *says;
} rows[] = {
    {HEAD, NULL},
    {HEAD "  retention: 7d\n", NULL},
    {HEAD "  retention: forever\n", "c.yaml:4:14: warning: contract 'parts': retention is forever: cells are never"},
    {HEAD, "c.yaml:2:3: warning: contract 'parts': retention is forever (the default)"},
    {HEAD "  retension: 7d\n", "c.yaml:4:3: error: unknown key 'retension' in a contract; did you mean 'retention'?"},
    {HEAD "  retention: -1s\n", "c.yaml:4:14: error: 'retention' must not be negative"},
    {HEAD "  retention: 7\n", "'retention' must be a duration like 7d, or forever, not '7'"},
    {HEAD "  window: {kind: tumbling}\n", "a window of kind tumbling needs 'size'"},
    {HEAD "  window: {kind: tumbling, size: 0s}\n", "'size' must be from 1us to"},
    {HEAD "  window: {kind: tumbling, size: 1m, slide: 1m}\n", "'slide' has no meaning for a window of kind tumbling"},
    {HEAD "  window: {kind: tumbling, size: 1m, offset: -8h}\n", NULL},
    {HEAD "  window: {kind: sliding, size: 1m}\n", "a window of kind sliding needs 'slide'"},
    {HEAD "  window: {kind: sliding, size: 1m, slide: 61s}\n", "'slide' is longer than 'size'"},
    {HEAD "  window: {kind: sliding, size: 10s, slide: 3s}\n", NULL},
    {HEAD "  window: {kind: session}\n", "a window of kind session needs 'gap'"},
    {HEAD "  window: {kind: session, gap: 2d}\n", "'max' is shorter than 'gap'"},
    {HEAD "  window: {kind: session, gap: 30s, ends: last}\n", NULL},
    {HEAD "  window: {kind: global, size: 1m}\n", "'size' has no meaning for a window of kind global"},
    {HEAD "  window: {kind: tumblin, size: 1m}\n", "not 'tumblin'; did you mean 'tumbling'?"},
    {HEAD "  window: {size: 1m}\n", "a window needs 'kind'"},
    {HEAD "  window: global\n", "a window must be a mapping of keys, not 'global'"},
    {HEAD "  window:\n    kind: session\n    gap: 5s\n  corrections: conditional\n",
     "c.yaml:7:16: error: session windows"},
    {HEAD "  measures: {}\n", "'measures' must be left out"},
    {HEAD "  measures: {a: {type: decimal}, b: {}}\n", NULL},
    {HEAD "  measures: {a: {type: int64}, a: {}}\n", "key 'a' a second time; the first is in line 4"},
    {HEAD "  measures: [a]\n", "'measures' must be a mapping"},
    {HEAD "  measures: {\"\": {}}\n", "a measure's name must have from 1 to 128 bytes"},
    {HEAD "  measures: {a: {never_falls: true}}\n", NULL},
    {HEAD "  measures: {a: {never_falls: yes}}\n", "'never_falls' must be true or false, not 'yes'"},
    {DELTA "  measures: {a: {never_falls: true}}\n", "'never_falls' is only looked at under mode cumulative"},
    {DELTA "  measures: {a: {type: double}}\n", "use decimal"},
    {HEAD "  measures: {a: {type: double}}\n", NULL},
    {HEAD "  metric_versions: []\n", "'metric_versions' must be a list like [v1, v2]"},
    {HEAD "  metric_versions: [v1, v1]\n", "metric version 'v1' a second time"},
    {HEAD "  metric_versions: [v1, 2]\n", NULL},
    {HEAD "  max_epoch: 18446744073709551615\n", NULL},
    {HEAD "  max_epoch: 18446744073709551616\n", "'max_epoch' must be a whole number"},
    {HEAD "  max_epoch: -1\n", "'max_epoch' must be a whole number"},
    {HEAD "  grace: -1d\n", "'grace' must be from 0s to"},
    {HEAD "  integers: text\n", "'integers' must be number or string, not 'text'"},
    {HEAD "  during_conflict: live\n", "warning: 'during_conflict' has no effect without corrections"},
    {HEAD "  mode: delta\n", "key 'mode' a second time"},
    {HEAD "- name: parts\n  mode: delta\n", "contract 'parts' a second time; the first is in line 2"},
    {HEAD "- name: other\n  mode: delta\n", NULL},
    {"contracts: [{name: a, mode: delta, window: {kind: any}}]", NULL},
    {"contracts: [{mode: delta}]", "a contract needs 'name'"},
    {"contracts: [{name: '', mode: delta}]", "'name' is empty"},
    {"contracts: [{name: a}]", "a contract needs 'mode'"},
    {"contracts: [{name: a, mode: Delta}]", "did you mean 'delta'?"},
    {"contracts: []", "'contracts' must be a list of at least one contract"},
    {"contracts: {name: a}", "'contracts' must be a list of at least one contract, not a mapping"},
    {"contract: []", "unknown key 'contract' in a file of contracts; did you mean 'contracts'?"},
    {"", "c.yaml: error: is empty"},
    {"contracts: [{name: &n a, mode: delta}]", "anchors and aliases are not supported"},
    {"contracts: [{name: \"a\\0b\", mode: delta}]", "a text with a NUL in it"},
};

static void each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rr_status status;
        char *text = printed(rows[i].text, &status);
        bool good = rows[i].says == NULL
                        ? status == RR_OK
                        : strstr(text, rows[i].says) != NULL && (status == RR_OK) == (strstr(text, "error:") == NULL);

        if (!good) {
            print_error("%s\nsays: %s\nnot: %s\n", rows[i].text, text, rows[i].says);
        }
        free(text);
        assert_true(good);
    }
}

static void all_mistakes_are_told_at_once(void **state)
{
    rr_status status;
    char *text = printed(HEAD "  grace: x\n  integers: y\n  foo: z\n  retention: 1q\n", &status);

    (void)state;
    assert_int_equal(status, RR_CONFIG);
    assert_non_null(strstr(text, "c.yaml:4:10: error"));
    assert_non_null(strstr(text, "c.yaml:5:13: error"));
    assert_non_null(strstr(text, "c.yaml:6:3: error"));
    assert_non_null(strstr(text, "c.yaml:7:14: error"));
    free(text);
}

static void the_defaults_are_those_of_the_core(void **state)
{
    rr_contract_list list;
    rr_problems problems = {0};
    const rr_contract *got, *want = &rr_contract_defaults;

    (void)state;
    assert_int_equal(rr_contracts_parse("c", RR_SLICE("contracts: [{name: a, mode: cumulative}]"), &list, &problems),
                     RR_OK);
    got = rr_contracts_find(&list, RR_SLICE("a"));
    assert_non_null(got);
    assert_null(rr_contracts_find(&list, RR_SLICE("b")));
    assert_int_equal(got->window_kind, RR_WINDOW_ANY);
    assert_int_equal(got->retention_us, want->retention_us);
    assert_int_equal(got->retention_us, RR_FOREVER);
    assert_int_equal(got->grace_us, want->grace_us);
    assert_int_equal(got->future_tolerance_us, want->future_tolerance_us);
    assert_int_equal(got->max_epoch, want->max_epoch);
    assert_int_equal(got->max_epoch, 4294967295u);
    assert_int_equal(got->corrections, want->corrections);
    assert_int_equal(got->during_conflict, want->during_conflict);
    assert_int_equal(got->integers_as_strings, want->integers_as_strings);
    assert_int_equal(got->measure_count, 1);
    assert_true(rr_slice_equal(got->measures[0].name, RR_SLICE("value")));
    assert_int_equal(got->measures[0].type, RR_MEASURE_INT64);
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
}

static void a_whole_contract_arrives(void **state)
{
    rr_contract_list list;
    rr_problems problems = {0};
    const rr_contract *c;

    (void)state;
    assert_int_equal(rr_contracts_parse("c",
                                        RR_SLICE("contracts:\n- name: x\n  mode: retraction\n  window: "
                                                 "{kind: sliding, size: 10m, slide: 1m, offset: 5s}\n"
                                                 "  measures: {b: {type: decimal}, a: {}}\n  "
                                                 "metric_versions: [v2, v1]\n  corrections: coordinated\n"
                                                 "  during_conflict: correction\n  retention: 7d\n  grace: "
                                                 "2d\n  future_tolerance: 1h\n  max_epoch: 5\n"
                                                 "  integers: string\n"),
                                        &list, &problems),
                     RR_OK);
    assert_int_equal(problems.warnings, 0);
    c = &list.items[0];
    assert_int_equal(c->mode, RR_MODE_RETRACTION);
    assert_int_equal(c->size_us, 600 * RR_SECOND_US);
    assert_int_equal(c->slide_us, 60 * RR_SECOND_US);
    assert_int_equal(c->offset_us, 5 * RR_SECOND_US);
    assert_int_equal(c->measure_count, 2);
    assert_true(rr_slice_equal(c->measures[0].name, RR_SLICE("a")));
    assert_int_equal(c->measures[1].type, RR_MEASURE_DECIMAL);
    assert_int_equal(c->metric_version_count, 2);
    assert_true(rr_slice_equal(c->metric_versions[0], RR_SLICE("v1")));
    assert_int_equal(c->corrections, RR_CORRECTIONS_COORDINATED);
    assert_int_equal(c->during_conflict, RR_DURING_CORRECTION);
    assert_int_equal(c->retention_us, 7 * 86400 * RR_SECOND_US);
    assert_int_equal(c->grace_us, 2 * 86400 * RR_SECOND_US);
    assert_int_equal(c->future_tolerance_us, 3600 * RR_SECOND_US);
    assert_int_equal(c->max_epoch, 5);
    assert_true(c->integers_as_strings);
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
}

static void print_again(const rr_contract *contract, rr_buf *again)
{
    rr_contract_list list;
    rr_problems problems = {0};
    rr_buf text = {0};

    rr_buf_text(&text, "contracts:\n");
    rr_contract_print(contract, &text);
    if (rr_contracts_parse("again", rr_buf_view(&text), &list, &problems) != RR_OK) {
        print_error("%.*s\n%s\n", (int)text.len, text.data, problems.items[0].text);
    }
    assert_int_equal(list.count, 1);
    rr_contract_print(&list.items[0], again);
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
    rr_buf_fini(&text);
}

static void what_is_printed_reads_as_the_same(void **state)
{
    static const char *const texts[] = {
        HEAD,
        HEAD "  window: {kind: session, gap: 10s, ends: last, max: 2h}\n",
        HEAD "  window: {kind: sliding, size: 10m, slide: 1m, offset: -8h}\n  retention: 0s\n",
        HEAD "  measures: {\"a\\\"$${ b\": {type: decimal}, \"\\x7f\\u2028\\N\\uFEFF\": {}}\n  "
             "metric_versions: ['$${x', \"\\ttab\"]\n",
        "contracts: [{name: 'null', mode: delta, integers: string}]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rr_contract_list list;
        rr_problems problems = {0};
        rr_buf first = {0}, again = {0};

        assert_int_equal(rr_contracts_parse("c", rr_slice_of(texts[i]), &list, &problems), RR_OK);
        rr_contract_print(&list.items[0], &first);
        print_again(&list.items[0], &again);
        assert_true(rr_slice_equal(rr_buf_view(&first), rr_buf_view(&again)));
        rr_buf_fini(&first);
        rr_buf_fini(&again);
        rr_contracts_fini(&list);
        rr_problems_fini(&problems);
    }
}

static void fingerprint(const char *text, char hex[RR_FINGERPRINT_LEN + 1])
{
    rr_contract_list list;
    rr_problems problems = {0};

    assert_int_equal(rr_contracts_parse("c", rr_slice_of(text), &list, &problems), RR_OK);
    assert_true(rr_contract_fingerprint(&list.items[0], hex));
    assert_int_equal(strlen(hex), RR_FINGERPRINT_LEN);
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
}

static void the_fingerprint_is_of_the_promise_not_of_the_text(void **state)
{
    char a[RR_FINGERPRINT_LEN + 1], b[RR_FINGERPRINT_LEN + 1];

    (void)state;
    fingerprint(HEAD "  grace: 1d\n  measures: {b: {}, a: {}}\n", a);
    fingerprint("contracts: [{mode: cumulative, name: parts, measures: {a: {type: int64}, b: {}}, grace: 24h}]", b);
    assert_string_equal(a, b);
    fingerprint(HEAD "  grace: 1d\n  measures: {b: {}, a: {never_falls: true}}\n", b);
    assert_string_not_equal(a, b);
}

static void every_worked_example_has_a_good_contract(void **state)
{
    glob_t found;

    (void)state;
    assert_int_equal(glob(RR_SOURCE_DIR "/tests/cases/*/*/contract.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        rr_contract_list list;
        rr_problems problems = {0};

        assert_int_equal(rr_contracts_load(found.gl_pathv[i], &list, &problems), RR_OK);
        assert_int_equal(list.count, 1);
        rr_contracts_fini(&list);
        rr_problems_fini(&problems);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_named),
        cmocka_unit_test(all_mistakes_are_told_at_once),
        cmocka_unit_test(the_defaults_are_those_of_the_core),
        cmocka_unit_test(a_whole_contract_arrives),
        cmocka_unit_test(what_is_printed_reads_as_the_same),
        cmocka_unit_test(the_fingerprint_is_of_the_promise_not_of_the_text),
        cmocka_unit_test(every_worked_example_has_a_good_contract),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
