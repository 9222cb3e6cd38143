/* Options of plugins: each type, what is left out, and each mistake with its place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugin_options.h"

enum { PATH, RETRIES, PAUSE, STRICT, NOTE, FILE_OF };

static const rr_plugin_option table[] = {
    [PATH] = {"path", RR_PLUGIN_TEXT, .required = true, .help = "where records are"},
    [RETRIES] = {"retries", RR_PLUGIN_INTEGER, .preset = "-3", .help = "how often"},
    [PAUSE] = {"pause", RR_PLUGIN_DURATION, .preset = "250ms", .help = "between two"},
    [STRICT] = {"strict", RR_PLUGIN_BOOL, .preset = "true", .help = "whether"},
    [NOTE] = {"note", RR_PLUGIN_TEXT, .help = "for people"},
    [FILE_OF] = {"file", RR_PLUGIN_PATH, .help = "a file"},
    RR_PLUGIN_OPTIONS_END,
};

static const rr_plugin_option wrong_default[] = {
    {"pause", RR_PLUGIN_DURATION, .preset = "soon", .help = "between two"},
    RR_PLUGIN_OPTIONS_END,
};

static rr_plugin_option endless[RR_PLUGIN_OPTIONS_MAX + 2];

typedef struct read_back {
    rr_arena arena;
    const rr_plugin_value *values;
    size_t count;
    char said[4000];
} read_back;

/* A configuration whose `options:` is `text`; empty: it has none. */
static bool read_text(const rr_plugin_option *rows, const char *text, read_back *back)
{
    rr_problems problems = {0};
    rr_reading reading = {"/etc/rr/f.yaml", &back->arena, &problems};
    rr_buf buf = {0};
    const rr_yaml_node *root;
    bool good;

    rr_arena_init(&back->arena, 0);
    root = rr_yaml_parse(&reading, rr_slice_of(*text == '\0' ? "url: x" : text));
    assert_non_null(root);
    good = rr_plugin_options_read(&reading, rows, "the store 'files'", rr_yaml_get(root, "options"),
                                  (rr_place){reading.path, 7, 9}, &back->values, &back->count);
    rr_problems_print(&problems, &buf);
    assert_true(buf.len < sizeof back->said);
    memcpy(back->said, buf.len == 0 ? "" : buf.data, buf.len);
    back->said[buf.len] = '\0';
    rr_buf_fini(&buf);
    rr_problems_fini(&problems);
    return good;
}

static void values_come_in_the_order_of_the_table(void **state)
{
    read_back back;

    (void)state;
    assert_true(read_text(table, "options: {strict: false, path: /a, retries: 9, pause: 2s, file: b/c}", &back));
    assert_int_equal(back.count, 6);
    assert_string_equal(back.values[PATH].name, "path");
    assert_string_equal(back.values[PATH].text, "/a");
    assert_int_equal(back.values[RETRIES].number, 9);
    assert_string_equal(back.values[RETRIES].text, "9");
    assert_int_equal(back.values[PAUSE].number, 2000000);
    assert_false(back.values[STRICT].boolean);
    assert_string_equal(back.values[STRICT].text, "false");
    assert_string_equal(back.values[FILE_OF].text, "/etc/rr/b/c");
    rr_arena_fini(&back.arena);
}

static void what_is_left_out_has_its_default(void **state)
{
    read_back back;

    (void)state;
    assert_true(read_text(table, "options: {path: /a}", &back));
    assert_int_equal(back.values[RETRIES].number, -3);
    assert_int_equal(back.values[PAUSE].number, 250000);
    assert_true(back.values[STRICT].boolean);
    assert_null(back.values[NOTE].text);
    assert_null(back.values[FILE_OF].text);
    assert_int_equal(back.values[FILE_OF].type, RR_PLUGIN_PATH);
    rr_arena_fini(&back.arena);
}

static void a_plugin_without_a_table_takes_none(void **state)
{
    read_back back;

    (void)state;
    assert_true(read_text(NULL, "", &back));
    assert_int_equal(back.count, 0);
    rr_arena_fini(&back.arena);
    assert_false(read_text(NULL, "options: {}", &back));
    assert_string_equal(back.said, "/etc/rr/f.yaml:1:1: error: the store 'files' takes no 'options'\n");
    rr_arena_fini(&back.arena);
}

static const struct {
    const rr_plugin_option *table;
    const char *text, *says;
} mistakes[] = {
    {table, "", "f.yaml:7:9: error: the store 'files' needs the option 'path': where records are\n"},
    {table, "options: {}", "f.yaml:1:1: error: the store 'files' needs the option 'path'"},
    {table, "options: {path: a, retris: 1}",
     "f.yaml:1:20: error: unknown option 'retris' of the store 'files'; did you mean 'retries'?"},
    {table, "options: {path: a, url: 1}", "unknown option 'url' of the store 'files'\n"},
    {table, "options: {path: [a]}", "f.yaml:1:17: error: 'path' must be a text, not a list"},
    {table, "options: {path: ''}", "'path' must be a text, not"},
    {table, "options: {path: }", "'path' must be a text, not no value"},
    {table, "options: {path: a, retries: 1.5}", "1:29: error: 'retries' must be a whole number, not '1.5'"},
    {table, "options: {path: a, retries: 9223372036854775808}", "'retries' must be a whole number"},
    {table, "options: {path: a, pause: 5}", "'pause' must be a duration like 250ms, 90s or 10m, not '5'"},
    {table, "options: {path: a, pause: -5s}", "'pause' must be a duration"},
    {table, "options: {path: a, strict: yes}", "'strict' must be true or false, not 'yes'"},
    {table, "options: [path]", "'options' must be a mapping of names and values, not a list"},
    {table, "options: {path: '${env:RR_TEST_UNSET}'}", "${env:RR_TEST_UNSET}: the environment has no such variable"},
    {wrong_default, "",
     "the default of option 'pause' of the store 'files' must be a duration like 250ms, 90s or 10m, "
     "not 'soon'; the plugin is wrong"},
    {endless, "", "the store 'files' has more than 256 options; the plugin is wrong"},
};

static void each_mistake_is_named_at_its_place(void **state)
{
    (void)state;
    for (size_t k = 0; k < RR_PLUGIN_OPTIONS_MAX + 1; k++) {
        endless[k] = (rr_plugin_option){"more", RR_PLUGIN_TEXT, .help = "one of too many"};
    }
    for (size_t k = 0; k < sizeof mistakes / sizeof *mistakes; k++) {
        read_back back;
        bool good = read_text(mistakes[k].table, mistakes[k].text, &back);

        if (strstr(back.said, mistakes[k].says) == NULL) {
            fail_msg("row %zu, %s\nmust say %s\nsays %s", k, mistakes[k].text, mistakes[k].says, back.said);
        }
        rr_arena_fini(&back.arena);
        /* The reader of YAML has reported a variable that is not set. */
        assert_true(!good || strstr(mistakes[k].text, "env:") != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_in_the_order_of_the_table),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(a_plugin_without_a_table_takes_none),
        cmocka_unit_test(each_mistake_is_named_at_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
