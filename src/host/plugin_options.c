/* Reads the options of a plugin. The table comes from a shared object, so its defaults are checked like values. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_options.h"

#include "number.h"
#include "option.h"
#include "time.h"

static const char *type_text(rr_plugin_option_type type)
{
    switch (type) {
    case RR_PLUGIN_TEXT:
    case RR_PLUGIN_PATH: return "a text";
    case RR_PLUGIN_BOOL: return "true or false";
    case RR_PLUGIN_INTEGER: return "a whole number";
    default: return "a duration like 250ms, 90s or 10m";
    }
}

/* False: the text is not of the value's type. */
static bool parse_value(rr_slice text, rr_plugin_value *value)
{
    switch (value->type) {
    case RR_PLUGIN_TEXT:
    case RR_PLUGIN_PATH: return text.len != 0;
    case RR_PLUGIN_BOOL:
        value->boolean = rr_slice_equal(text, RR_SLICE("true"));
        return value->boolean || rr_slice_equal(text, RR_SLICE("false"));
    case RR_PLUGIN_INTEGER: return rr_number_i64(text, &value->number);
    case RR_PLUGIN_DURATION: return rr_duration_parse(text, false, &value->number);
    default: return false;
    }
}

static size_t count_rows(const rr_plugin_option *table)
{
    size_t count = 0;

    while (count <= RR_PLUGIN_OPTIONS_MAX && table[count].name != NULL) {
        count++;
    }
    return count;
}

static const rr_plugin_option *find_row(const rr_plugin_option *table, rr_slice name)
{
    for (; table->name != NULL; table++) {
        if (rr_slice_equal(rr_slice_of(table->name), name)) {
            return table;
        }
    }
    return NULL;
}

static void report_unknown(const rr_reading *reading, const rr_plugin_option *table, const char *what,
                           const rr_yaml_node *key)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    rr_nearest_init(&nearest, key->raw);
    for (; table->name != NULL; table++) {
        rr_nearest_try(&nearest, rr_slice_of(table->name));
    }
    rr_problems_error(reading->problems, rr_yaml_place(reading, key), "unknown option '%.*s' of %s%s",
                      RR_SHOW(key->raw), what, rr_nearest_hint(&nearest, "", hint));
}

static void read_value(const rr_reading *reading, const rr_yaml_node *node, rr_plugin_value *value)
{
    if (node->broken) {
        return;
    }
    if (node->kind != RR_YAML_SCALAR || rr_yaml_is_null(node) || !parse_value(node->text, value)) {
        rr_option_expect(reading, node, value->name, type_text(value->type));
        return;
    }
    value->text = value->type == RR_PLUGIN_PATH ? rr_yaml_beside(reading, node->text) : node->text.data;
    if (value->text == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "memory ran out");
    }
}

/* The defaults. A default that cannot be read is a mistake of the plugin. */
static void set_defaults(const rr_reading *reading, const rr_plugin_option *table, const char *what, rr_place place,
                         rr_plugin_value *values)
{
    for (size_t k = 0; table[k].name != NULL; k++) {
        values[k] = (rr_plugin_value){.name = table[k].name, .type = table[k].type, .text = table[k].preset};
        if (table[k].preset != NULL && !parse_value(rr_slice_of(table[k].preset), &values[k])) {
            rr_problems_error(reading->problems, place,
                              "the default of option '%.80s' of %s must be %s, not '%.80s'; "
                              "the plugin is wrong",
                              table[k].name, what, type_text(table[k].type), table[k].preset);
        }
    }
}

static void report_missing(const rr_reading *reading, const rr_plugin_option *table, const char *what,
                           const rr_yaml_node *node, rr_place place)
{
    for (; table->name != NULL; table++) {
        if (table->required && rr_yaml_get(node, table->name) == NULL) {
            rr_problems_error(reading->problems, place, "%s needs the option '%.80s': %.200s", what, table->name,
                              table->help == NULL ? "it is required" : table->help);
        }
    }
}

/* The rows of a table that `options:` can be held against. SIZE_MAX: an error, which was added. */
static size_t check_table(const rr_reading *reading, const rr_plugin_option *table, const char *what,
                          const rr_yaml_node *node, rr_place place)
{
    size_t rows = table == NULL ? 0 : count_rows(table);

    if (node != NULL && table == NULL) {
        rr_problems_error(reading->problems, place, "%s takes no 'options'", what);
        return SIZE_MAX;
    }
    if (node != NULL && node->kind != RR_YAML_MAP) {
        rr_option_expect(reading, node, "options", "a mapping of names and values");
        return SIZE_MAX;
    }
    if (rows > RR_PLUGIN_OPTIONS_MAX) {
        rr_problems_error(reading->problems, place, "%s has more than %d options; the plugin is wrong", what,
                          RR_PLUGIN_OPTIONS_MAX);
        return SIZE_MAX;
    }
    return rows;
}

static void read_values(const rr_reading *reading, const rr_plugin_option *table, const char *what,
                        const rr_yaml_node *node, rr_plugin_value *values)
{
    for (const rr_yaml_node *item = node == NULL ? NULL : node->first; item != NULL; item = item->next) {
        const rr_plugin_option *row = find_row(table, item->key->raw);

        if (row == NULL) {
            report_unknown(reading, table, what, item->key);
        } else {
            read_value(reading, item, &values[row - table]);
        }
    }
}

bool rr_plugin_options_read(const rr_reading *reading, const rr_plugin_option *table, const char *what,
                            const rr_yaml_node *node, rr_place place, const rr_plugin_value **values, size_t *count)
{
    rr_place at = node == NULL ? place : rr_yaml_place(reading, node->key == NULL ? node : node->key);
    size_t before = reading->problems->errors, rows = check_table(reading, table, what, node, at);
    rr_plugin_value *made;

    *values = NULL;
    *count = 0;
    if (rows == SIZE_MAX || table == NULL) {
        return rows != SIZE_MAX;
    }
    made = rr_arena_zero(reading->arena, rows * sizeof *made);
    if (made == NULL) {
        rr_problems_error(reading->problems, at, "memory ran out");
        return false;
    }
    set_defaults(reading, table, what, at, made);
    read_values(reading, table, what, node, made);
    report_missing(reading, table, what, node, at);
    *values = made;
    *count = rows;
    return reading->problems->errors == before;
}
