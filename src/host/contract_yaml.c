/* Reads contracts from YAML. Tables read the keys; checks over several keys follow. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_yaml.h"

#include <stdio.h>
#include <stdlib.h>

#include "contract_words.h"
#include "time.h"
#include "utf8.h"

enum { CONTRACTS_ARENA_CAP = 64 * 1024 * 1024, METRIC_VERSIONS_MAX = 1000, MEASURE_NAME_MAX = 128 };

_Static_assert(sizeof(rr_mode) == sizeof(int) && sizeof(rr_window_kind) == sizeof(int), "enums are ints");

/* A contract as it was read, before the checks over several keys. */
typedef struct window_form {
    rr_window_kind kind;
    int64_t size_us, slide_us, offset_us, gap_us, max_us;
    int ends;
} window_form;

typedef struct measure_form {
    rr_measure_type type;
    bool never_falls;
    const rr_yaml_node *node;
} measure_form;

typedef struct contract_form {
    rr_contract contract;
    int integers;
    const rr_yaml_node *measures, *metric_versions; /* read after the mode */
} contract_form;

#define MOST_US INT64_MAX / 4 /* The sum of two does not overflow. */

static const rr_option window_options[] = {
    {"kind", RR_OPTION_WORD, offsetof(window_form, kind), .required = true, .words = kind_words,
     .help = "the windows of the records; any: they are not checked"},
    {"size", RR_OPTION_DURATION, offsetof(window_form, size_us), .least = 1, .most = MOST_US,
     .help = "tumbling, sliding: the length of a window"},
    {"slide", RR_OPTION_DURATION, offsetof(window_form, slide_us), .least = 1, .most = MOST_US,
     .help = "sliding: the time from one start to the next"},
    {"offset", RR_OPTION_DURATION, offsetof(window_form, offset_us), "0s", .least = -(MOST_US), .most = MOST_US,
     .help = "tumbling, sliding: where the grid starts, from the epoch in UTC"},
    {"gap", RR_OPTION_DURATION, offsetof(window_form, gap_us), .least = 1, .most = MOST_US,
     .help = "session: the time without events that ends it"},
    {"max", RR_OPTION_DURATION, offsetof(window_form, max_us), "1d", .least = 1, .most = MOST_US,
     .help = "session: the longest that is accepted"},
    {"ends", RR_OPTION_WORD, offsetof(window_form, ends), "last_plus_gap", .words = ends_words,
     .help = "session: its end is the last event, plus the gap or not"},
    RR_OPTIONS_END,
};

static const rr_option measure_options[] = {
    {"type", RR_OPTION_WORD, offsetof(measure_form, type), "int64", .words = type_words,
     .help = "double only where a sum never matters"},
    {"never_falls", RR_OPTION_BOOL, offsetof(measure_form, never_falls), "false",
     .help = "cumulative: alert value_fell if it does"},
    RR_OPTIONS_END,
};

static void read_window(const rr_reading *reading, const rr_yaml_node *node, void *target);
static void read_retention(const rr_reading *reading, const rr_yaml_node *node, void *target);

static void keep_node(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    (void)reading;
    *(const rr_yaml_node **)target = node;
}

#define AT(member) offsetof(contract_form, member)

const rr_option rr_contract_options[] = {
    {"name", RR_OPTION_SLICE, AT(contract.name), .required = true, .help = "its name in keys and alerts"},
    {"mode", RR_OPTION_WORD, AT(contract.mode), .required = true, .least = RR_MODE_CUMULATIVE, .words = mode_words,
     .help = "what a record is: the whole result, a part of it, or a result that may be withdrawn"},
    {"window", RR_OPTION_READ, AT(contract), .read_value = read_window, .form = "", .inner = window_options,
     .help = "the windows that records may have (default {kind: any})"},
    {"measures", RR_OPTION_READ, AT(measures), .read_value = keep_node, .form = "{NAME: ...}", .inner = measure_options,
     .help = "the values of a record (default {value: {type: int64}})"},
    {"metric_versions", RR_OPTION_READ, AT(metric_versions), .read_value = keep_node, .form = "[TEXT, ...]",
     .help = "the versions of the metric's definition that are accepted (default any)"},
    {"corrections", RR_OPTION_WORD, AT(contract.corrections), "none", .words = corrections_words,
     .help = "how offline corrections are ordered against live results"},
    {"during_conflict", RR_OPTION_WORD, AT(contract.during_conflict), "incumbent", .words = during_words,
     .help = "what readers see while a correction and live results disagree"},
    {"retention", RR_OPTION_READ, AT(contract.retention_us), .read_value = read_retention, .form = "DURATION|forever",
     .help = "how long after the end of its window a record is accepted (default forever)"},
    {"grace", RR_OPTION_DURATION, AT(contract.grace_us), "1d", .most = MOST_US,
     .help = "how long cells are kept beyond retention: the longest outage to survive"},
    {"future_tolerance", RR_OPTION_DURATION, AT(contract.future_tolerance_us), "1d", .most = MOST_US,
     .help = "how far ahead of its arrival a window may end"},
    {"max_epoch", RR_OPTION_U64, AT(contract.max_epoch), "4294967295",
     .help = "a record is refused if the epoch of its version is greater"},
    {"integers", RR_OPTION_WORD, AT(integers), "number", .words = integers_words,
     .help = "how readers in Redis see integers; string: for readers that lose digits beyond 2^53"},
    RR_OPTIONS_END,
};

static const char *const window_keys[][4] = {
    [RR_WINDOW_ANY] = {NULL},
    [RR_WINDOW_TUMBLING] = {"size", "offset", NULL},
    [RR_WINDOW_SLIDING] = {"size", "slide", "offset", NULL},
    [RR_WINDOW_SESSION] = {"gap", "max", "ends", NULL},
    [RR_WINDOW_GLOBAL] = {NULL},
};

static bool belongs(rr_window_kind kind, rr_slice key)
{
    bool known = false, is_in_kind = rr_slice_equal(key, RR_SLICE("kind"));

    for (const rr_option *option = window_options; option->name != NULL; option++) {
        known = known || rr_slice_equal(key, rr_slice_of(option->name));
    }
    for (size_t i = 0; i < 4 && window_keys[kind][i] != NULL; i++) {
        is_in_kind = is_in_kind || rr_slice_equal(key, rr_slice_of(window_keys[kind][i]));
    }
    return is_in_kind || !known; /* An unknown key is reported elsewhere. */
}

static void check_window_keys(const rr_reading *reading, const rr_yaml_node *node, const window_form *form)
{
    static const struct {
        rr_window_kind kind;
        const char *key;
    } needed[] = {{RR_WINDOW_TUMBLING, "size"},
                  {RR_WINDOW_SLIDING, "size"},
                  {RR_WINDOW_SLIDING, "slide"},
                  {RR_WINDOW_SESSION, "gap"}};

    for (const rr_yaml_node *value = node->first; value != NULL; value = value->next) {
        if (!belongs(form->kind, value->key->raw)) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, value->key),
                              "'%.*s' has no meaning for a window of kind %s", RR_SHOW(value->key->raw),
                              kind_words[form->kind]);
        }
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (needed[i].kind == form->kind && rr_yaml_get(node, needed[i].key) == NULL) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, node), "a window of kind %s needs '%s'",
                              kind_words[form->kind], needed[i].key);
        }
    }
}

static void check_window_sizes(const rr_reading *reading, const rr_yaml_node *node, const window_form *form)
{
    const rr_yaml_node *slide = rr_yaml_get(node, "slide"), *max = rr_yaml_get(node, "max");

    if (form->kind == RR_WINDOW_SLIDING && slide != NULL && form->size_us > 0 && form->slide_us > form->size_us) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, slide),
                          "'slide' is longer than 'size': events between two windows would be in none");
    }
    if (form->kind == RR_WINDOW_SESSION && form->ends == 0 && form->gap_us > form->max_us) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, max == NULL ? node : max),
                          "'max' is shorter than 'gap': no session could be that short%s",
                          max == NULL ? " (max is 1d by default)" : "");
    }
}

static void read_window(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_contract *contract = target;
    const rr_yaml_node *kind = rr_yaml_get(node, "kind");
    window_form form = {.kind = (rr_window_kind)-1};

    if (!rr_options_read(reading, window_options, "a window", node, &form, NULL) || kind == NULL ||
        form.kind == (rr_window_kind)-1) {
        return;
    }
    check_window_keys(reading, node, &form);
    check_window_sizes(reading, node, &form);
    contract->window_kind = form.kind;
    contract->size_us = form.size_us;
    contract->slide_us = form.kind == RR_WINDOW_TUMBLING ? form.size_us : form.slide_us;
    contract->offset_us = form.offset_us;
    contract->gap_us = form.gap_us;
    contract->max_us = form.kind == RR_WINDOW_SESSION ? form.max_us : 0;
    contract->ends_last = form.ends == 1;
}

static void read_retention(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    static const char what[] = "a duration like 7d, or forever";
    int64_t us = 0;

    if (node->kind == RR_YAML_SCALAR && rr_slice_equal(node->text, RR_SLICE("forever"))) {
        *(int64_t *)target = RR_FOREVER;
    } else if (node->kind != RR_YAML_SCALAR || !rr_duration_parse(node->text, true, &us)) {
        rr_option_expect(reading, node, "retention", what);
    } else if (us < 0 || us > MOST_US) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'retention' must not be %s",
                          us < 0 ? "negative" : "that long; 'forever' keeps cells for ever");
    } else {
        *(int64_t *)target = us;
    }
}

static void check_measure(const rr_reading *reading, const rr_contract *contract, const measure_form *form)
{
    const rr_yaml_node *type = rr_yaml_get(form->node, "type"), *falls = rr_yaml_get(form->node, "never_falls");

    if (form->never_falls && contract->mode != RR_MODE_UNSPECIFIED && contract->mode != RR_MODE_CUMULATIVE) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, falls),
                          "'never_falls' is only looked at under mode cumulative");
    }
    if (form->type == RR_MEASURE_DOUBLE && contract->mode == RR_MODE_DELTA) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, type),
                          "a delta of type double: its sum would depend on the order of arrival; use decimal");
    }
}

static int by_name(const void *a, const void *b)
{
    return rr_slice_compare(((const rr_measure_def *)a)->name, ((const rr_measure_def *)b)->name);
}

static void read_measure(const rr_reading *reading, const rr_yaml_node *node, const rr_contract *contract,
                         rr_measure_def *def)
{
    measure_form form = {.node = node};
    rr_slice name = node->key->raw;

    if (name.len == 0 || name.len > MEASURE_NAME_MAX) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node->key),
                          "a measure's name must have from 1 to %d bytes", MEASURE_NAME_MAX);
    }
    if (rr_options_read(reading, measure_options, "a measure", node, &form, NULL)) {
        check_measure(reading, contract, &form);
    }
    *def = (rr_measure_def){name, form.type, form.never_falls};
}

static void read_measures(const rr_reading *reading, const rr_yaml_node *node, rr_contract *contract)
{
    rr_measure_def *defs;
    size_t count = 0;

    if (node->kind != RR_YAML_MAP || node->count == 0) {
        rr_option_expect(reading, node, "measures",
                         node->kind == RR_YAML_MAP ? "left out for {value: {type: int64}}"
                                                   : "a mapping like {value: {type: int64}}");
        return;
    }
    if (node->count > RR_LIMIT_MEASURES) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "%zu measures; %d are the most", node->count,
                          RR_LIMIT_MEASURES);
        return;
    }
    defs = rr_arena_zero(reading->arena, node->count * sizeof *defs);
    if (defs == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "memory ran out");
        return;
    }
    for (const rr_yaml_node *value = node->first; value != NULL; value = value->next) {
        read_measure(reading, value, contract, &defs[count++]);
    }
    qsort(defs, count, sizeof *defs, by_name);
    contract->measures = defs;
    contract->measure_count = count;
}

static int by_bytes(const void *a, const void *b)
{
    return rr_slice_compare(*(const rr_slice *)a, *(const rr_slice *)b);
}

static bool take_metric_version(const rr_reading *reading, const rr_yaml_node *item, rr_slice *versions, size_t count)
{
    if (!rr_option_text(reading, item, "metric_versions", &versions[count])) {
        return false;
    }
    if (versions[count].len > RR_LIMIT_KEY_BYTES) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, item), "a metric version has at most %d bytes",
                          RR_LIMIT_KEY_BYTES);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (rr_slice_equal(versions[i], versions[count])) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, item), "metric version '%.*s' a second time",
                              RR_SHOW(item->raw));
            return false;
        }
    }
    return true;
}

static void read_metric_versions(const rr_reading *reading, const rr_yaml_node *node, rr_contract *contract)
{
    rr_slice *versions;
    size_t count = 0;

    if (node->kind != RR_YAML_LIST || node->count == 0) {
        rr_option_expect(reading, node, "metric_versions", "a list like [v1, v2], or left out for any");
        return;
    }
    versions = node->count > METRIC_VERSIONS_MAX ? NULL : rr_arena_zero(reading->arena, node->count * sizeof *versions);
    if (versions == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "%zu metric versions; %d are the most",
                          node->count, METRIC_VERSIONS_MAX);
        return;
    }
    for (const rr_yaml_node *item = node->first; item != NULL; item = item->next) {
        count += take_metric_version(reading, item, versions, count) ? 1 : 0;
    }
    qsort(versions, count, sizeof *versions, by_bytes);
    contract->metric_versions = versions;
    contract->metric_version_count = count;
}

static void check_name(const rr_reading *reading, const rr_yaml_node *node, const rr_contract_list *list, size_t index)
{
    const rr_yaml_node *name = rr_yaml_get(node, "name");

    if (name == NULL || list->items[index].name.len == 0) {
        return;
    }
    if (list->items[index].name.len > RR_CONTRACT_NAME_MAX) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, name), "a contract's name has at most %d bytes",
                          RR_CONTRACT_NAME_MAX);
    }
    for (size_t i = 0; i < index; i++) {
        if (rr_slice_equal(list->items[i].name, list->items[index].name)) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, name),
                              "contract '%.*s' a second time; the first is in line %d", RR_SHOW(name->raw),
                              list->places[i].line);
            return;
        }
    }
}

static void check_corrections(const rr_reading *reading, const rr_yaml_node *node, const rr_contract *contract)
{
    const rr_yaml_node *corrections = rr_yaml_get(node, "corrections"), *during = rr_yaml_get(node, "during_conflict");

    if (corrections != NULL && contract->corrections != RR_CORRECTIONS_NONE &&
        contract->window_kind == RR_WINDOW_SESSION) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, corrections),
                          "session windows take no corrections: a merge would leave none to correct");
    }
    if (during != NULL && contract->corrections == RR_CORRECTIONS_NONE) {
        rr_problems_warn(reading->problems, rr_yaml_place(reading, during),
                         "'during_conflict' has no effect without corrections");
    }
}

static void check_retention(const rr_reading *reading, const rr_yaml_node *node, const rr_contract *contract)
{
    const rr_yaml_node *retention = rr_yaml_get(node, "retention");
    rr_place place = rr_yaml_place(reading, retention == NULL ? node : retention);

    if (contract->window_kind == RR_WINDOW_GLOBAL) {
        if (contract->retention_us != RR_FOREVER) {
            rr_problems_warn(reading->problems, place, "'retention' has no effect: a global window never ends");
        }
    } else if (contract->retention_us == RR_FOREVER && contract->name.len != 0) {
        rr_problems_warn(reading->problems, place, "contract '%.*s': retention is forever%s: cells are never removed",
                         RR_SHOW(contract->name), retention == NULL ? " (the default)" : "");
    }
}

static void read_contract(const rr_reading *reading, const rr_yaml_node *node, rr_contract_list *list)
{
    contract_form form = {.contract = rr_contract_defaults};
    size_t index = list->count;

    if (!rr_options_read(reading, rr_contract_options, "a contract", node, &form, NULL)) {
        return;
    }
    form.contract.integers_as_strings = form.integers == 1;
    if (form.measures != NULL) {
        read_measures(reading, form.measures, &form.contract);
    }
    if (form.metric_versions != NULL) {
        read_metric_versions(reading, form.metric_versions, &form.contract);
    }
    list->items[index] = form.contract;
    list->places[index] = rr_yaml_place(reading, node);
    check_name(reading, node, list, index);
    check_corrections(reading, node, &form.contract);
    check_retention(reading, node, &form.contract);
    list->count++;
}

void rr_contracts_read(const rr_reading *reading, const rr_yaml_node *node, rr_contract_list *out)
{
    enum { CONTRACTS_MAX = 1000 };

    if (node->kind != RR_YAML_LIST || node->count == 0) {
        rr_option_expect(reading, node, "contracts", "a list of at least one contract");
        return;
    }
    if (node->count > CONTRACTS_MAX) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "%zu contracts; %d are the most",
                          node->count, CONTRACTS_MAX);
        return;
    }
    out->count = 0;
    out->items = rr_arena_zero(reading->arena, node->count * sizeof *out->items);
    out->places = rr_arena_zero(reading->arena, node->count * sizeof *out->places);
    if (out->items == NULL || out->places == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "memory ran out");
        return;
    }
    for (const rr_yaml_node *item = node->first; item != NULL; item = item->next) {
        read_contract(reading, item, out);
    }
}

static void read_contracts_key(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_contracts_read(reading, node, target);
}

static rr_status read_text(const rr_reading *reading, rr_slice text, rr_contract_list *out)
{
    static const rr_option file_options[] = {
        {"contracts", RR_OPTION_READ, 0, .required = true, .read_value = read_contracts_key,
         .help = "the list of contracts"},
        RR_OPTIONS_END,
    };
    size_t before = reading->problems->errors;
    const rr_yaml_node *root = rr_yaml_parse(reading, text);

    if (root != NULL) {
        rr_options_read(reading, file_options, "a file of contracts", root, out, NULL);
    }
    rr_problems_sort(reading->problems);
    return reading->problems->errors == before ? RR_OK : RR_CONFIG;
}

static bool begin(const char *path, rr_contract_list *out, rr_problems *problems, rr_reading *reading)
{
    rr_slice copy;

    *out = (rr_contract_list){0};
    rr_arena_init(&out->arena, CONTRACTS_ARENA_CAP);
    copy = rr_arena_copy(&out->arena, (rr_slice){path, strlen(path) + 1});
    *reading = (rr_reading){copy.data, &out->arena, problems};
    if (copy.data == NULL) {
        rr_problems_error(problems, (rr_place){path, 0, 0}, "memory ran out");
    }
    return copy.data != NULL;
}

rr_status rr_contracts_parse(const char *path_for_messages, rr_slice text, rr_contract_list *out, rr_problems *problems)
{
    rr_reading reading;

    return begin(path_for_messages, out, problems, &reading) ? read_text(&reading, text, out) : RR_MEMORY;
}

rr_status rr_contracts_load(const char *path, rr_contract_list *out, rr_problems *problems)
{
    rr_reading reading;
    rr_error error = {0};
    rr_slice text = {NULL, 0};

    if (!begin(path, out, problems, &reading)) {
        return RR_MEMORY;
    }
    if (rr_yaml_slurp(path, RR_YAML_BYTES_MAX, &out->arena, &text, &error) != RR_OK) {
        rr_problems_error(problems, (rr_place){path, 0, 0}, "%s", error.text);
        return error.status;
    }
    return read_text(&reading, text, out);
}

void rr_contracts_fini(rr_contract_list *list)
{
    rr_arena_fini(&list->arena);
    *list = (rr_contract_list){0};
}

const rr_contract *rr_contracts_find(const rr_contract_list *list, rr_slice name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (rr_slice_equal(list->items[i].name, name)) {
            return &list->items[i];
        }
    }
    return NULL;
}

bool rr_contract_reread(rr_slice text, rr_contract *contract)
{
    rr_contract_list list;
    rr_problems problems = {0};
    rr_buf whole = {0};
    bool good;

    rr_buf_text(&whole, "contracts:\n");
    rr_buf_slice(&whole, text);
    good = rr_contracts_parse("contract", rr_buf_view(&whole), &list, &problems) == RR_OK && rr_buf_ok(&whole) &&
           list.count == 1;
    if (good) {
        *contract = list.items[0];
        contract->name = (rr_slice){NULL, 0};
        contract->measures = NULL;
        contract->metric_versions = NULL;
        contract->measure_count = contract->metric_version_count = 0;
    }
    rr_contracts_fini(&list);
    rr_problems_fini(&problems);
    rr_buf_fini(&whole);
    return good;
}
