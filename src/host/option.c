/* Reads a mapping by its table of options, sets the defaults, and prints the table. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "option.h"

#include <inttypes.h>
#include <stdio.h>

#include "must.h"
#include "number.h"
#include "time.h"

void rr_option_expect(const rr_reading *reading, const rr_yaml_node *node, const char *name, const char *what)
{
    char seen[RR_YAML_SEEN_MAX];

    rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' must be %s, not %s", name, what,
                      rr_yaml_seen(node, seen));
}

bool rr_option_text(const rr_reading *reading, const rr_yaml_node *node, const char *name, rr_slice *text)
{
    if (node->broken) {
        return false;
    }
    if (node->kind != RR_YAML_SCALAR || rr_yaml_is_null(node)) {
        rr_option_expect(reading, node, name, "a text");
        return false;
    }
    if (node->text.len == 0) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' is empty", name);
        return false;
    }
    *text = node->text;
    return true;
}

void rr_option_keep_node(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    (void)reading;
    *(const rr_yaml_node **)target = node;
}

static int64_t unit_us(rr_option_type type)
{
    return type == RR_OPTION_SECONDS ? RR_SECOND_US : type == RR_OPTION_MILLIS ? 1000 : 1;
}

static int find_word(const rr_option *option, rr_slice text)
{
    for (int i = 0; option->words[i] != NULL; i++) {
        if (rr_slice_equal(rr_slice_of(option->words[i]), text)) {
            return i;
        }
    }
    return -1;
}

/* Puts a scalar's text into the member. False: the text is not of the type. The caller checks the bounds. */
static bool put_number(const rr_option *option, rr_slice text, void *member, int64_t *seen)
{
    uint64_t number = 0;
    int64_t us = 0;

    switch (option->type) {
    case RR_OPTION_SIZE:
    case RR_OPTION_U64:
        if (!rr_number_u64(text, &number)) {
            return false;
        }
        *seen = number > INT64_MAX ? INT64_MAX : (int64_t)number;
        memcpy(member, &number, sizeof number);
        return true;
    case RR_OPTION_DURATION:
        if (!rr_duration_parse(text, true, &us)) {
            return false;
        }
        *seen = us;
        memcpy(member, &us, sizeof us);
        return true;
    default:
        if (!rr_duration_parse(text, true, &us) || us % unit_us(option->type) != 0) {
            return false;
        }
        *seen = us / unit_us(option->type);
        *(int *)member = (int)*seen; /* The option's bound is below INT_MAX. */
        return true;
    }
}

static const char *type_text(const rr_option *option)
{
    switch (option->type) {
    case RR_OPTION_TEXT:
    case RR_OPTION_PATH:
    case RR_OPTION_SLICE: return "a text";
    case RR_OPTION_BOOL: return "true or false";
    case RR_OPTION_SIZE:
    case RR_OPTION_U64: return "a whole number";
    case RR_OPTION_DURATION: return "a duration like 90s, 10m or 7d";
    case RR_OPTION_MILLIS: return "a duration in whole milliseconds like 250ms or 5s";
    case RR_OPTION_SECONDS: return "a duration in whole seconds like 30s or 1m";
    default: return "something else";
    }
}

static void word_list(const rr_option *option, char *text, size_t room)
{
    size_t used = 0;

    for (int i = 0; option->words[i] != NULL && used < room; i++) {
        const char *between = i == 0 ? "" : option->words[i + 1] == NULL ? " or " : ", ";

        used += (size_t)snprintf(text + used, room - used, "%s%s", between, option->words[i]);
    }
}

static void bad_word(const rr_reading *reading, const rr_option *option, const rr_yaml_node *node)
{
    char words[200] = "", hint[RR_HINT_MAX], seen[RR_YAML_SEEN_MAX];
    rr_nearest nearest;

    rr_nearest_init(&nearest, node->kind == RR_YAML_SCALAR ? node->raw : (rr_slice){NULL, 0});
    for (int i = 0; option->words[i] != NULL; i++) {
        rr_nearest_try(&nearest, rr_slice_of(option->words[i]));
    }
    word_list(option, words, sizeof words);
    rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' must be %s, not %s%s", option->name, words,
                      rr_yaml_seen(node, seen), rr_nearest_hint(&nearest, "", hint));
}

static void print_bound(const rr_option *option, int64_t bound, char *text, size_t room)
{
    char digits[RR_TIME_TEXT_MAX];

    if (option->type == RR_OPTION_SIZE || option->type == RR_OPTION_U64) {
        snprintf(text, room, "%" PRId64, bound);
    } else {
        size_t len = rr_duration_print(bound * unit_us(option->type), digits);

        snprintf(text, room, "%.*s", (int)len, digits);
    }
}

static void check_bounds(const rr_reading *reading, const rr_option *option, const rr_yaml_node *node, int64_t seen)
{
    char least[48], most[48];

    if (seen >= option->least && (option->most == 0 || seen <= option->most)) {
        return;
    }
    print_bound(option, option->least, least, sizeof least);
    print_bound(option, option->most, most, sizeof most);
    if (option->most == 0) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' must be at least %s", option->name,
                          least);
    } else {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' must be from %s to %s", option->name,
                          least, most);
    }
}

static bool is_bool(rr_slice text)
{
    return rr_slice_equal(text, RR_SLICE("true")) || rr_slice_equal(text, RR_SLICE("false"));
}

static void read_number(const rr_reading *reading, const rr_option *option, const rr_yaml_node *node, void *member)
{
    int64_t seen = 0;

    if (node->kind != RR_YAML_SCALAR || !put_number(option, node->text, member, &seen)) {
        rr_option_expect(reading, node, option->name, type_text(option));
        return;
    }
    check_bounds(reading, option, node, seen);
}

static void read_member(const rr_reading *reading, const rr_option *option, const rr_yaml_node *node, void *member)
{
    rr_slice text;
    int word;

    if (node->broken) {
        return;
    }
    switch (option->type) {
    case RR_OPTION_READ: option->read_value(reading, node, member); return;
    case RR_OPTION_TEXT:
        if (rr_option_text(reading, node, option->name, &text)) {
            *(const char **)member = text.data;
        }
        return;
    case RR_OPTION_PATH:
        if (rr_option_text(reading, node, option->name, &text)) {
            *(const char **)member = rr_yaml_beside(reading, text);
        }
        return;
    case RR_OPTION_SLICE:
        if (rr_option_text(reading, node, option->name, &text)) {
            *(rr_slice *)member = text;
        }
        return;
    case RR_OPTION_BOOL:
        if (node->kind != RR_YAML_SCALAR || !is_bool(node->text)) {
            rr_option_expect(reading, node, option->name, "true or false");
            return;
        }
        *(bool *)member = node->text.data[0] == 't';
        return;
    case RR_OPTION_WORD:
        word = node->kind == RR_YAML_SCALAR ? find_word(option, node->text) : -1;
        if (word < 0) {
            bad_word(reading, option, node);
            return;
        }
        *(int *)member = (int)option->least + word;
        return;
    default: read_number(reading, option, node, member);
    }
}

static void preset_member(const rr_option *option, void *member)
{
    rr_slice text = rr_slice_of(option->preset);
    int64_t seen;

    switch (option->type) {
    case RR_OPTION_READ: break; /* The owner of the struct sets it. */
    case RR_OPTION_TEXT: *(const char **)member = option->preset; break;
    case RR_OPTION_SLICE: *(rr_slice *)member = text; break;
    case RR_OPTION_BOOL:
        RR_MUST(is_bool(text));
        *(bool *)member = text.data[0] == 't';
        break;
    case RR_OPTION_WORD:
        RR_MUST(find_word(option, text) >= 0);
        *(int *)member = (int)option->least + find_word(option, text);
        break;
    default: RR_MUST(put_number(option, text, member, &seen));
    }
}

void rr_options_preset(const rr_option *table, void *target)
{
    for (const rr_option *option = table; option->name != NULL; option++) {
        if (option->preset != NULL) {
            preset_member(option, (char *)target + option->offset);
        }
    }
}

static bool is_ignored(const char *const *ignored, rr_slice key)
{
    for (; ignored != NULL && *ignored != NULL; ignored++) {
        if (rr_slice_equal(rr_slice_of(*ignored), key)) {
            return true;
        }
    }
    return false;
}

static void unknown_key(const rr_reading *reading, const rr_option *table, const char *what, const rr_yaml_node *key)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    rr_nearest_init(&nearest, key->raw);
    for (; table->name != NULL; table++) {
        rr_nearest_try(&nearest, rr_slice_of(table->name));
    }
    rr_problems_error(reading->problems, rr_yaml_place(reading, key), "unknown key '%.*s' in %s%s", RR_SHOW(key->raw),
                      what, rr_nearest_hint(&nearest, "", hint));
}

static void require(const rr_reading *reading, const rr_option *table, const char *what, const rr_yaml_node *node)
{
    for (; table->name != NULL; table++) {
        if (table->required && rr_yaml_get(node, table->name) == NULL) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, node), "%s needs '%s': %s", what, table->name,
                              table->help);
        }
    }
}

bool rr_options_read(const rr_reading *reading, const rr_option *table, const char *what, const rr_yaml_node *node,
                     void *target, const char *const *ignored)
{
    char seen[RR_YAML_SEEN_MAX];

    rr_options_preset(table, target);
    if (node->kind != RR_YAML_MAP) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "%s must be a mapping of keys, not %s", what,
                          rr_yaml_seen(node, seen));
        return false;
    }
    for (const rr_yaml_node *value = node->first; value != NULL; value = value->next) {
        const rr_option *option = table;

        while (option->name != NULL && !rr_slice_equal(rr_slice_of(option->name), value->key->raw)) {
            option++;
        }
        if (option->name != NULL) {
            read_member(reading, option, value, (char *)target + option->offset);
        } else if (!is_ignored(ignored, value->key->raw)) {
            unknown_key(reading, table, what, value->key);
        }
    }
    require(reading, table, what, node);
    return true;
}

static void print_form(const rr_option *option, rr_buf *buf)
{
    static const char *const forms[] = {"TEXT",   "PATH",     "TEXT",     "true|false", "NUMBER",
                                        "NUMBER", "DURATION", "DURATION", "DURATION"};

    if (option->form != NULL) {
        rr_buf_text(buf, option->form);
    } else if (option->type == RR_OPTION_WORD) {
        for (int i = 0; option->words[i] != NULL; i++) {
            rr_buf_format(buf, "%s%s", i == 0 ? "" : "|", option->words[i]);
        }
    } else if (option->type != RR_OPTION_READ) {
        rr_buf_text(buf, forms[option->type]);
    }
}

void rr_options_print(const rr_option *table, int indent, rr_buf *buf)
{
    enum { HELP_COLUMN = 44 };

    for (const rr_option *option = table; option->name != NULL; option++) {
        size_t from = buf->len, used;

        rr_buf_format(buf, "%*s%s: ", indent, "", option->name);
        print_form(option, buf);
        used = buf->len - from;
        rr_buf_format(buf, "%*s  %s", used < HELP_COLUMN ? (int)(HELP_COLUMN - used) : 0, "", option->help);
        if (option->required) {
            rr_buf_text(buf, " (required)");
        } else if (option->preset != NULL) {
            rr_buf_format(buf, " (default %s)", option->preset);
        }
        rr_buf_char(buf, '\n');
        if (option->inner != NULL) {
            rr_options_print(option->inner, indent + 4, buf);
        }
    }
}
