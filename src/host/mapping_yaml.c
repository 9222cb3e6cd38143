/* YAML to the specification of a mapping. Tables read the keys; paths and words are read here, and held against the
 * schema by rr_mapping_compile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mapping_yaml.h"

#include "number.h"
#include "time.h"

enum { EXAMPLES_MAX = 1000, HEADERS_MAX = 64, SKIPS_MAX = 64, TOKEN_MAX = 256 };

static const char *const unit_words[] = {"s", "ms", "us", "ns", "rfc3339", NULL};
static const char *const framing_words[] = {"none", "confluent", NULL};
static const char *const op_words[] = {"ASSERT", "RETRACT", NULL};
static const char *const withdraws_words[] = {"version", "older", NULL};
static const char *const absent_words[] = {"zero", NULL};
static const char *const stream_words[] = {"time", NULL};

_Static_assert(RR_UNIT_S == 1 && RR_UNIT_MS == 2 && RR_UNIT_US == 3 && RR_UNIT_NS == 4 && RR_UNIT_RFC3339 == 5,
               "unit_words");
_Static_assert(RR_FRAMING_NONE == 0 && RR_FRAMING_CONFLUENT == 1, "framing_words");
_Static_assert(RR_OP_ASSERT == 0 && RR_OP_RETRACT == 1, "op_words");
_Static_assert(RR_WITHDRAWS_VERSION == 0 && RR_WITHDRAWS_OLDER == 1, "withdraws_words");
_Static_assert(sizeof(rr_unit_of_time) == sizeof(int) && sizeof(rr_op) == sizeof(int) &&
                   sizeof(rr_withdraws) == sizeof(int) && sizeof(rr_framing) == sizeof(int),
               "enums are ints");

static rr_mapping_place place_of(const rr_yaml_node *node)
{
    return (rr_mapping_place){node->line, node->column};
}

static void remember(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    (void)reading;
    *(const rr_yaml_node **)target = node;
}

static void *take(const rr_reading *reading, const rr_yaml_node *node, size_t bytes)
{
    void *taken = rr_arena_zero(reading->arena, bytes);

    if (taken == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "memory ran out");
    }
    return taken;
}

static bool is_short(const rr_reading *reading, const rr_yaml_node *node, size_t most)
{
    if (node->count > most) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "%zu items; %zu are the most", node->count,
                          most);
    }
    return node->count <= most;
}

/* ---- paths and literals ---- */

static bool read_path_text(const rr_reading *reading, const rr_yaml_node *node, rr_slice text, rr_mapping_path *path)
{
    const char *why = rr_mapping_path_read(text, reading->arena, path);

    path->place = place_of(node);
    if (why != NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                          "the path '%.*s' %s; a path is like a.b, /a.b or a[\"b.c\"]", RR_SHOW(text), why);
    }
    return why == NULL;
}

static bool path_of(const rr_reading *reading, const rr_yaml_node *node, const char *name, rr_mapping_path *path)
{
    rr_slice text;

    return rr_option_text(reading, node, name, &text) && read_path_text(reading, node, text, path);
}

static void read_path(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    path_of(reading, node, "path", target);
}

/* A scalar, also an empty one in quotes. */
static bool literal_of(const rr_reading *reading, const rr_yaml_node *node, const char *name,
                       rr_mapping_literal *literal)
{
    if (node->broken) {
        return false;
    }
    if (node->kind != RR_YAML_SCALAR || rr_yaml_is_null(node)) {
        rr_option_expect(reading, node, name, "one value");
        return false;
    }
    *literal = (rr_mapping_literal){node->text, place_of(node)};
    return true;
}

static void read_literal(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_literal *literal = take(reading, node, sizeof *literal);

    if (literal != NULL && literal_of(reading, node, "else and default", literal)) {
        *(const rr_mapping_literal **)target = literal;
    }
}

static void read_number(const rr_reading *reading, const rr_yaml_node *node, const char *name, int64_t most,
                        int64_t *to)
{
    if (node->kind != RR_YAML_SCALAR || !rr_number_i64(node->text, to) || *to > most || *to < -most) {
        *to = 0;
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' must be an integer from %lld to %lld",
                          name, (long long)-most, (long long)most);
    }
}

static void read_add(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    read_number(reading, node, "add", INT64_MAX, target);
}

static void read_scale(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    read_number(reading, node, "scale", 100, target);
}

static void read_values(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_part *part = target;
    rr_mapping_choice *choices;

    if (node->kind != RR_YAML_MAP || node->count == 0) {
        rr_option_expect(reading, node, "values", "a mapping like {EARLY: EARLY, FINAL: LATE}");
        return;
    }
    choices =
        is_short(reading, node, RR_MAPPING_VALUES_MAX) ? take(reading, node, node->count * sizeof *choices) : NULL;
    if (choices == NULL) {
        return;
    }
    for (const rr_yaml_node *value = node->first; value != NULL; value = value->next) {
        rr_mapping_choice *choice = &choices[part->value_count];

        choice->from = (rr_mapping_literal){value->key->raw, place_of(value->key)};
        part->value_count += literal_of(reading, value, "values", &choice->to) ? 1 : 0;
    }
    part->has_values = true;
    part->values = choices;
}

/* ---- fields ---- */

typedef struct part_form {
    rr_mapping_part part;
    rr_mapping_literal *fixed; /* `const` */
    int absent, stream;
} part_form;

#define AT(member) offsetof(part_form, member)

static const rr_option part_options[] = {
    {"path", RR_OPTION_READ, AT(part.path), .read_value = read_path, .form = "PATH",
     .help = "steps with dots; / at the front: from the message; [\"a.b\"]: a key with a dot"},
    {"header", RR_OPTION_SLICE, AT(part.name), .form = "NAME", .help = "or a header of the message"},
    {"subject", RR_OPTION_U64, AT(part.token), .least = 1, .most = TOKEN_MAX, .form = "N",
     .help = "or the N-th token of its subject, from 1"},
    {"const", RR_OPTION_READ, AT(fixed), .read_value = read_literal, .form = "VALUE", .help = "or this, always"},
    {"stream", RR_OPTION_WORD, AT(stream), .least = 1, .words = stream_words,
     .help = "or when the stream stored it; for emitted_at alone"},
    {"values", RR_OPTION_READ, AT(part), .read_value = read_values, .form = "{SEEN: VALUE, ...}",
     .help = "what each value of the message means"},
    {"else", RR_OPTION_READ, AT(part.other), .read_value = read_literal, .form = "VALUE",
     .help = "what those mean that 'values' does not name; without it they are malformed"},
    {"unit", RR_OPTION_WORD, AT(part.unit), .least = RR_UNIT_S, .words = unit_words,
     .help = "of a time or a length; a Timestamp needs none"},
    {"inclusive", RR_OPTION_DURATION, AT(part.inclusive_us), .least = 1, .most = INT64_MAX / 4,
     .help = "added to an end that still belongs to the window"},
    {"add", RR_OPTION_READ, AT(part.add), .read_value = read_add, .form = "N",
     .help = "added to an epoch, a number or a sequence, before 0 counts as absent"},
    {"scale", RR_OPTION_READ, AT(part.scale), .read_value = read_scale, .form = "N",
     .help = "moves the point of a measure to the right; -2: cents"},
    {"absent", RR_OPTION_WORD, AT(absent), .least = 1, .words = absent_words, .help = "0 means absent"},
    {"default", RR_OPTION_READ, AT(part.preset), .read_value = read_literal, .form = "VALUE",
     .help = "what is taken where it is absent"},
    RR_OPTIONS_END,
};

#undef AT

static bool check_sources(const rr_reading *reading, const rr_yaml_node *node, const char *name)
{
    static const char *const sources[] = {"path", "header", "subject", "const", "stream"};
    size_t count = 0;

    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++) {
        count += rr_yaml_get(node, sources[k]) != NULL ? 1 : 0;
    }
    if (count != 1) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                          "'%s' needs one of path, header, subject, const and stream%s", name,
                          count == 0 ? "" : ", and no more");
    }
    return count == 1;
}

static bool read_part_map(const rr_reading *reading, const rr_yaml_node *node, const char *name, rr_mapping_part *part)
{
    part_form form = {.part.place = place_of(node)};
    size_t before = reading->problems->errors;

    rr_options_read(reading, part_options, name, node, &form, NULL);
    if (!check_sources(reading, node, name) || reading->problems->errors != before) {
        return false;
    }
    *part = form.part;
    part->absent_zero = form.absent != 0;
    part->from = rr_yaml_get(node, "path") != NULL      ? RR_FROM_PATH
                 : rr_yaml_get(node, "header") != NULL  ? RR_FROM_HEADER
                 : rr_yaml_get(node, "subject") != NULL ? RR_FROM_SUBJECT
                 : form.stream != 0                     ? RR_FROM_STREAM
                                                        : RR_FROM_CONST;
    if (part->from == RR_FROM_CONST) {
        part->name = form.fixed->text;
    }
    if (part->from == RR_FROM_STREAM) {
        part->name = RR_SLICE("stream time");
    }
    if (part->other != NULL && !part->has_values) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'else' needs 'values'");
    }
    return true;
}

/* `length: 1m` is a length; a path with that name needs {path: ...}. */
static bool is_length(rr_target target, const rr_yaml_node *node)
{
    int64_t us;

    return target == RR_TARGET_WINDOW_LENGTH && node->kind == RR_YAML_SCALAR &&
           rr_duration_parse(node->text, false, &us);
}

static bool read_part(const rr_reading *reading, const rr_yaml_node *node, rr_target target, const char *name,
                      rr_mapping_part *part)
{
    if (node->kind == RR_YAML_MAP) {
        return read_part_map(reading, node, name, part);
    }
    part->place = place_of(node);
    if (is_length(target, node)) {
        part->from = RR_FROM_CONST;
        part->name = node->text;
        return true;
    }
    if (node->kind == RR_YAML_LIST) {
        rr_option_expect(reading, node, name, "a path, or a mapping like {path: a.b}");
        return false;
    }
    part->from = RR_FROM_PATH;
    return path_of(reading, node, name, &part->path);
}

/* Fields as they are found. */
typedef struct fields {
    const rr_reading *reading;
    rr_mapping_field *items;
    size_t count;
} fields;

static void add_field(fields *f, rr_target target, rr_slice measure, const rr_yaml_node *node)
{
    const char *name = rr_target_name(target);
    rr_mapping_field *field = &f->items[f->count];
    bool is_list = node != NULL && node->kind == RR_YAML_LIST;
    rr_mapping_part *parts;
    size_t count = 0;

    if (node == NULL || node->broken || (is_list && !is_short(f->reading, node, RR_MAPPING_PARTS_MAX))) {
        return;
    }
    if (is_list && (node->count == 0 || rr_target_kind_of(target) != RR_TAKES_KEY)) {
        rr_option_expect(f->reading, node, name,
                         rr_target_kind_of(target) == RR_TAKES_KEY
                             ? "a path, or a list of at least one"
                             : "a path, or a mapping like {path: a.b}; lists are for keys");
        return;
    }
    parts = take(f->reading, node, (is_list ? node->count : 1) * sizeof *parts);
    for (const rr_yaml_node *item = is_list ? node->first : node; parts != NULL && item != NULL;
         item = is_list ? item->next : NULL) {
        if (!read_part(f->reading, item, target, measure.len == 0 ? name : measure.data, &parts[count++])) {
            return;
        }
    }
    if (parts != NULL) {
        *field = (rr_mapping_field){target, measure, is_list, parts, count, place_of(node)};
        f->count++;
    }
}

/* ---- record ---- */

typedef struct pair_form {
    const rr_yaml_node *first, *second, *third;
} pair_form;

static const rr_option window_options[] = {
    {"start", RR_OPTION_READ, offsetof(pair_form, first), .read_value = remember, .form = "FIELD",
     .help = "where it begins"},
    {"end", RR_OPTION_READ, offsetof(pair_form, second), .read_value = remember, .form = "FIELD",
     .help = "where it ends; 'inclusive' where the end belongs to it"},
    {"length", RR_OPTION_READ, offsetof(pair_form, third), .read_value = remember, .form = "DURATION|FIELD",
     .help = "instead of one of the two"},
    RR_OPTIONS_END,
};

static const rr_option version_options[] = {
    {"epoch", RR_OPTION_READ, offsetof(pair_form, first), .read_value = remember, .form = "FIELD",
     .help = "which run of the producer; 0 if left out"},
    {"number", RR_OPTION_READ, offsetof(pair_form, second), .read_value = remember, .form = "FIELD",
     .help = "the order within it, from 1"},
    RR_OPTIONS_END,
};

static const rr_option includes_options[] = {
    {"base", RR_OPTION_READ, offsetof(pair_form, first), .read_value = remember, .form = "VERSION",
     .help = "what the correction rested on"},
    {"version", RR_OPTION_READ, offsetof(pair_form, second), .read_value = remember, .form = "VERSION",
     .help = "its own version"},
    RR_OPTIONS_END,
};

typedef struct record_form {
    const rr_yaml_node *business_key, *window, *metric_version, *version, *value, *measures, *mode, *op,
        *retracts_version, *delta_id, *producer, *sequence, *contributor, *origin, *base_version, *includes_correction,
        *status, *cause, *evidence, *emitted_at;
    rr_withdraws withdraws;
} record_form;

#define NODE(member, what, text) \
    { \
#member, RR_OPTION_READ, offsetof(record_form, member), .read_value = remember, .form = what, .help = text \
    }

static const rr_option record_options[] = {
    NODE(business_key, "FIELD|[FIELD, ...]", "the grouping key; a list is joined so that no two lists meet"),
    {"window", RR_OPTION_READ, offsetof(record_form, window), .read_value = remember, .form = "",
     .inner = window_options, .help = "half-open; left out under a global window"},
    NODE(metric_version, "FIELD", "version of the metric's definition"),
    {"version", RR_OPTION_READ, offsetof(record_form, version), .read_value = remember, .form = "FIELD, or",
     .inner = version_options, .help = "the producer's order; of a RETRACT the version that it withdraws"},
    NODE(value, "FIELD", "the one measure that is called value"),
    NODE(measures, "{NAME: FIELD, ...}|{map: PATH}", "each measure, or all of a map"),
    NODE(mode, "FIELD", "what the producer says that it emits"),
    NODE(op, "FIELD", "ASSERT, RETRACT, or SKIP for no record"),
    {"withdraws", RR_OPTION_WORD, offsetof(record_form, withdraws), "version", .words = withdraws_words,
     .help = "older: a RETRACT withdraws all that is older than its version"},
    NODE(retracts_version, "FIELD|VERSION", "the version that a RETRACT withdraws, if it has one of its own, too"),
    NODE(delta_id, "FIELD|[FIELD, ...]", "identity of a delta"),
    NODE(producer, "FIELD|[FIELD, ...]", "with 'sequence', instead"),
    NODE(sequence, "FIELD", "of the producer"),
    NODE(contributor, "FIELD|[FIELD, ...]", "which upstream row, where several feed one cell"),
    NODE(origin, "FIELD", "LIVE or CORRECTION"),
    NODE(base_version, "FIELD|VERSION", "what a correction rests on"),
    {"includes_correction", RR_OPTION_READ, offsetof(record_form, includes_correction), .read_value = remember,
     .form = "", .inner = includes_options, .help = "the newest correction that a live result includes"},
    NODE(status, "FIELD", "PROVISIONAL, STREAM_CLOSED or RECONCILED"),
    NODE(cause, "FIELD", "why it was emitted"),
    NODE(evidence, "FIELD", "what a correction rests on, for people"),
    NODE(emitted_at, "FIELD", "when it was emitted; shown, never used for order"),
    RR_OPTIONS_END,
};

#undef NODE

static bool is_version_map(const rr_yaml_node *node)
{
    return node->kind == RR_YAML_MAP && rr_yaml_get(node, "path") == NULL && rr_yaml_get(node, "header") == NULL &&
           rr_yaml_get(node, "subject") == NULL && rr_yaml_get(node, "const") == NULL &&
           rr_yaml_get(node, "stream") == NULL;
}

/* A version is {epoch, number}, or a field for the number alone. epoch + 1 is the target of the number. */
static void add_version(fields *f, rr_target epoch, const rr_yaml_node *node)
{
    pair_form form = {NULL, NULL, NULL};

    if (node == NULL) {
        return;
    }
    if (!is_version_map(node)) {
        add_field(f, epoch + 1, (rr_slice){NULL, 0}, node);
        return;
    }
    rr_options_read(f->reading, version_options, "a version", node, &form, NULL);
    add_field(f, epoch, (rr_slice){NULL, 0}, form.first);
    add_field(f, epoch + 1, (rr_slice){NULL, 0}, form.second);
}

static void add_window(fields *f, const rr_yaml_node *node)
{
    pair_form form = {NULL, NULL, NULL};

    if (node == NULL || !rr_options_read(f->reading, window_options, "window", node, &form, NULL)) {
        return;
    }
    if (form.first != NULL && form.second != NULL && form.third != NULL) {
        rr_problems_error(f->reading->problems, rr_yaml_place(f->reading, node),
                          "a window has two of start, end and length");
    }
    add_field(f, RR_TARGET_WINDOW_START, (rr_slice){NULL, 0}, form.first);
    add_field(f, RR_TARGET_WINDOW_END, (rr_slice){NULL, 0}, form.second);
    add_field(f, RR_TARGET_WINDOW_LENGTH, (rr_slice){NULL, 0}, form.third);
}

static void add_includes(fields *f, const rr_yaml_node *node)
{
    pair_form form = {NULL, NULL, NULL};

    if (node != NULL && rr_options_read(f->reading, includes_options, "includes_correction", node, &form, NULL)) {
        add_version(f, RR_TARGET_INCLUDES_BASE_EPOCH, form.first);
        add_version(f, RR_TARGET_INCLUDES_EPOCH, form.second);
    }
}

static void add_measures(fields *f, const record_form *form, rr_mapping_spec *spec)
{
    const rr_reading *reading = f->reading;
    const rr_yaml_node *node = form->measures, *map = node == NULL ? NULL : rr_yaml_get(node, "map");

    if (form->value != NULL && node != NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, form->value),
                          "'value' is short for 'measures: {value: ...}': one or the other");
    }
    add_field(f, RR_TARGET_MEASURE, RR_SLICE("value"), form->value);
    if (node == NULL) {
        return;
    }
    if (node->kind != RR_YAML_MAP || node->count == 0) {
        rr_option_expect(reading, node, "measures", "a mapping like {count: a.count}, or {map: a.values}");
        return;
    }
    if (map != NULL && node->count == 1 && map->kind == RR_YAML_SCALAR) {
        spec->has_measures_map = path_of(reading, map, "map", &spec->measures_map);
        return;
    }
    for (const rr_yaml_node *item = is_short(reading, node, RR_LIMIT_MEASURES) ? node->first : NULL; item != NULL;
         item = item->next) {
        if (item->key->raw.len == 0) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, item), "a measure without a name");
        } else {
            add_field(f, RR_TARGET_MEASURE, item->key->raw, item);
        }
    }
}

static void add_fields(fields *f, const record_form *form)
{
    const struct {
        rr_target target;
        const rr_yaml_node *node;
    } plain[] = {
        {RR_TARGET_BUSINESS_KEY, form->business_key},
        {RR_TARGET_METRIC_VERSION, form->metric_version},
        {RR_TARGET_MODE, form->mode},
        {RR_TARGET_OP, form->op},
        {RR_TARGET_DELTA_ID, form->delta_id},
        {RR_TARGET_PRODUCER, form->producer},
        {RR_TARGET_SEQUENCE, form->sequence},
        {RR_TARGET_CONTRIBUTOR, form->contributor},
        {RR_TARGET_ORIGIN, form->origin},
        {RR_TARGET_STATUS, form->status},
        {RR_TARGET_CAUSE, form->cause},
        {RR_TARGET_EVIDENCE, form->evidence},
        {RR_TARGET_EMITTED_AT, form->emitted_at},
    };

    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
        add_field(f, plain[k].target, (rr_slice){NULL, 0}, plain[k].node);
    }
    add_window(f, form->window);
    add_version(f, RR_TARGET_VERSION_EPOCH, form->version);
    add_version(f, RR_TARGET_RETRACTS_EPOCH, form->retracts_version);
    add_version(f, RR_TARGET_BASE_EPOCH, form->base_version);
    add_includes(f, form->includes_correction);
}

static void read_record(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_spec *spec = target;
    record_form form = {NULL};
    fields f = {reading, take(reading, node, RR_MAPPING_FIELDS_MAX * sizeof *f.items), 0};

    spec->record_place = place_of(node);
    if (f.items == NULL || !rr_options_read(reading, record_options, "record", node, &form, NULL)) {
        return;
    }
    spec->withdraws = form.withdraws;
    add_fields(&f, &form);
    add_measures(&f, &form, spec);
    spec->fields = f.items;
    spec->field_count = f.count;
}

/* ---- skip, each ---- */

static bool test_values(const rr_reading *reading, const rr_yaml_node *node, rr_mapping_test *test)
{
    bool is_list = node->kind == RR_YAML_LIST;
    rr_mapping_literal *values;

    if ((is_list && (node->count == 0 || !is_short(reading, node, RR_MAPPING_VALUES_MAX))) ||
        node->kind == RR_YAML_MAP) {
        rr_option_expect(reading, node, "skip and when", "a path with a value, or with a list of values");
        return false;
    }
    values = take(reading, node, (is_list ? node->count : 1) * sizeof *values);
    for (const rr_yaml_node *item = is_list ? node->first : node; values != NULL && item != NULL;
         item = is_list ? item->next : NULL) {
        if (!literal_of(reading, item, "a value", &values[test->value_count++])) {
            return false;
        }
    }
    test->values = values;
    return values != NULL;
}

/* `empty: true`, which is a rule and no path. */
static bool read_empty(const rr_reading *reading, const rr_yaml_node *item)
{
    bool is_true = item->kind == RR_YAML_SCALAR && rr_slice_equal(item->text, RR_SLICE("true"));

    if (!is_true) {
        rr_option_expect(reading, item, "empty", "true, or left out; a field of that name is /empty");
    }
    return is_true;
}

/* {path: [value, ...], ...}. is_skip: `empty` may stand there too. */
static void read_tests(const rr_reading *reading, const rr_yaml_node *node, bool is_skip, const rr_mapping_test **to,
                       size_t *count, bool *empty)
{
    rr_mapping_test *tests;

    if (node->kind != RR_YAML_MAP || node->count == 0 || !is_short(reading, node, SKIPS_MAX)) {
        rr_option_expect(reading, node, is_skip ? "skip" : "when", "a mapping like {kind: [HEARTBEAT, SCHEMA]}");
        return;
    }
    tests = take(reading, node, node->count * sizeof *tests);
    for (const rr_yaml_node *item = tests == NULL ? NULL : node->first; item != NULL; item = item->next) {
        if (is_skip && rr_slice_equal(item->key->raw, RR_SLICE("empty"))) {
            *empty = read_empty(reading, item);
        } else if (read_path_text(reading, item->key, item->key->raw, &tests[*count].path) &&
                   test_values(reading, item, &tests[*count])) {
            ++*count;
        }
    }
    *to = tests;
}

static void read_skip(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_spec *spec = target;

    read_tests(reading, node, true, &spec->skips, &spec->skip_count, &spec->skip_empty);
}

typedef struct half_form {
    rr_mapping_half half;
    int op, withdraws;
} half_form;

static void read_when(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_half *half = target;
    bool none;

    read_tests(reading, node, false, &half->when, &half->when_count, &none);
}

static const rr_option half_options[] = {
    {"at", RR_OPTION_READ, offsetof(half_form, half.at), .required = true, .read_value = read_path, .form = "PATH",
     .help = "the message of this half; paths below begin there"},
    {"when", RR_OPTION_READ, offsetof(half_form, half), .read_value = read_when, .form = "{PATH: [VALUE, ...]}",
     .help = "only then; paths begin at the message"},
    {"op", RR_OPTION_WORD, offsetof(half_form, op), .least = 1, .words = op_words, .help = "instead of the record's"},
    {"withdraws", RR_OPTION_WORD, offsetof(half_form, withdraws), .least = 1, .words = withdraws_words,
     .help = "instead of the record's"},
    RR_OPTIONS_END,
};

static void read_halves(const rr_reading *reading, const rr_yaml_node *node, rr_mapping_spec *spec)
{
    rr_mapping_half *halves =
        is_short(reading, node, RR_MAPPING_HALVES_MAX) ? take(reading, node, node->count * sizeof *halves) : NULL;

    for (const rr_yaml_node *item = halves == NULL ? NULL : node->first; item != NULL; item = item->next) {
        half_form form = {.half.place = place_of(item)};

        if (rr_options_read(reading, half_options, "a part of each", item, &form, NULL)) {
            form.half.has_op = form.op != 0;
            form.half.op = form.op != 0 ? (rr_op)(form.op - 1) : RR_OP_ASSERT;
            form.half.has_withdraws = form.withdraws != 0;
            form.half.withdraws = form.withdraws != 0 ? (rr_withdraws)(form.withdraws - 1) : RR_WITHDRAWS_VERSION;
            halves[spec->half_count++] = form.half;
        }
    }
    spec->halves = halves;
}

static void read_each(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_spec *spec = target;

    if (node->kind == RR_YAML_LIST && node->count != 0) {
        read_halves(reading, node, spec);
    } else if (node->kind == RR_YAML_SCALAR) {
        spec->has_each = path_of(reading, node, "each", &spec->each);
    } else {
        rr_option_expect(reading, node, "each", "a path, or a list like [{at: after}, {at: before}]");
    }
}

/* ---- examples ---- */

static void read_headers(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_example *example = target;
    rr_header *headers;

    if (node->kind != RR_YAML_MAP || !is_short(reading, node, HEADERS_MAX)) {
        rr_option_expect(reading, node, "headers", "a mapping like {X-Job-Attempt: 7}");
        return;
    }
    headers = take(reading, node, (node->count + 1) * sizeof *headers);
    for (const rr_yaml_node *item = headers == NULL ? NULL : node->first; item != NULL; item = item->next) {
        rr_mapping_literal value;

        if (literal_of(reading, item, "a header", &value)) {
            headers[example->header_count++] = (rr_header){item->key->raw, value.text};
        }
    }
    example->headers = headers;
}

static void read_stored(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_mapping_example *example = target;

    example->has_stream_time = node->kind == RR_YAML_SCALAR && rr_time_parse(node->text, &example->stream_time_us);
    if (!example->has_stream_time) {
        rr_option_expect(reading, node, "stored_at", "a time like 2026-01-31T00:00:00Z");
    }
}

static const rr_option example_options[] = {
    {"message", RR_OPTION_PATH, offsetof(rr_mapping_example, message), .required = true,
     .help = "a file with the bytes of a message"},
    {"subject", RR_OPTION_SLICE, offsetof(rr_mapping_example, subject), .help = "its subject"},
    {"headers", RR_OPTION_READ, 0, .read_value = read_headers, .form = "{NAME: TEXT, ...}", .help = "its headers"},
    {"stored_at", RR_OPTION_READ, 0, .read_value = read_stored, .form = "TIME", .help = "when the stream stored it"},
    {"records", RR_OPTION_PATH, offsetof(rr_mapping_example, records),
     .help = "a file with the records as JSON lines; left out: the message is skipped"},
    RR_OPTIONS_END,
};

/* ---- decode ---- */

typedef struct decode_form {
    rr_mapping_spec spec;
    const rr_yaml_node *protobuf, *json, *examples;
    const char *set;
    const rr_yaml_node *set_node;
} decode_form;

static void read_set(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    decode_form *form = target;
    rr_slice text;

    if (rr_option_text(reading, node, "descriptor_set", &text)) {
        form->set = rr_yaml_beside(reading, text);
        form->set_node = node;
    }
}

static void read_message(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    decode_form *form = target;

    rr_option_text(reading, node, "message", &form->spec.message);
    form->spec.message_place = place_of(node);
}

#define FRAMING \
    { \
        "framing", RR_OPTION_WORD, offsetof(decode_form, spec.framing), "none", \
            .words = framing_words, .help = "what stands before it; confluent: the head of a schema registry" \
    }

static const rr_option protobuf_options[] = {
    {"descriptor_set", RR_OPTION_READ, 0, .required = true, .read_value = read_set, .form = "PATH",
     .help = "what protoc --descriptor_set_out --include_imports writes"},
    {"message", RR_OPTION_READ, 0, .required = true, .read_value = read_message, .form = "NAME",
     .help = "the full name, like acme.v1.PaneBatch"},
    FRAMING,
    RR_OPTIONS_END,
};

static const rr_option json_options[] = {FRAMING, RR_OPTIONS_END};

#define AT(member) offsetof(decode_form, member)

/* With `plugin` no mapping is read (config_check.c). */
static void belongs_to_plugin(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    (void)target;
    rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'options' goes with 'plugin'");
}

const rr_option rr_decode_options[] = {
    {"protobuf", RR_OPTION_READ, AT(protobuf), .read_value = remember, .form = "", .inner = protobuf_options,
     .help = "messages are protobuf"},
    {"json", RR_OPTION_READ, AT(json), .read_value = remember, .form = "", .inner = json_options,
     .help = "or JSON: {}"},
    {"skip", RR_OPTION_READ, AT(spec), .read_value = read_skip, .form = "{PATH: [VALUE, ...], empty: true}",
     .help = "messages without a record: acknowledged and counted"},
    {"each", RR_OPTION_READ, AT(spec), .read_value = read_each, .form = "PATH, or", .inner = half_options,
     .help = "a record for each item, or [{...}, ...]: for each half of an envelope"},
    {"record", RR_OPTION_READ, AT(spec), .required = true, .read_value = read_record, .form = "",
     .inner = record_options, .help = "where each field of a record comes from: FIELD is a path, or a mapping"},
    {"examples", RR_OPTION_READ, AT(examples), .read_value = remember, .form = "[{...}, ...]", .inner = example_options,
     .help = "messages and their records, which `check` compares"},
    {"plugin", RR_OPTION_READ, AT(spec), .read_value = belongs_to_plugin, .form = "NAME",
     .help = "instead of all these: the decoder of a plugin"},
    {"options", RR_OPTION_READ, AT(spec), .read_value = belongs_to_plugin, .form = "{NAME: VALUE, ...}",
     .help = "with 'plugin': what the plugin's own table of options lists"},
    RR_OPTIONS_END,
};

#undef AT

static void read_examples(const rr_reading *reading, const rr_yaml_node *node, rr_decode *decode)
{
    rr_mapping_example *examples;

    if (node->kind != RR_YAML_LIST || !is_short(reading, node, EXAMPLES_MAX)) {
        rr_option_expect(reading, node, "examples", "a list like [{message: a.bin, records: a.jsonl}]");
        return;
    }
    examples = take(reading, node, (node->count + 1) * sizeof *examples);
    for (const rr_yaml_node *item = examples == NULL ? NULL : node->first; item != NULL; item = item->next) {
        rr_mapping_example *example = &examples[decode->example_count];

        if (rr_options_read(reading, example_options, "an example", item, example, NULL) && example->message != NULL) {
            example->place = rr_yaml_place(reading, item);
            decode->example_count++;
        }
    }
    decode->examples = examples;
}

/* ---- the descriptor set ---- */

struct rr_schema_file_read {
    const char *path;
    const rr_schema *schema;
    struct rr_schema_file_read *next;
};

static const rr_schema *read_schema(const rr_reading *reading, const char *path, const rr_yaml_node *node)
{
    rr_schema *schema = take(reading, node, sizeof *schema);
    rr_slice bytes = {NULL, 0};
    rr_error error = {0};
    rr_arena arena;
    bool good;

    rr_arena_init(&arena, 0); /* for the file's bytes, which go again */
    good = schema != NULL && rr_yaml_slurp(path, RR_DESCRIPTOR_SET_MAX, &arena, &bytes, &error) == RR_OK &&
           rr_schema_read(bytes, reading->arena, schema, &error) == RR_OK;
    if (!good && schema != NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "%s: %s", path, error.text);
    }
    rr_arena_fini(&arena);
    return good ? schema : NULL;
}

static const rr_schema *find_schema(const rr_reading *reading, rr_schema_files *files, const decode_form *form)
{
    struct rr_schema_file_read *file = files->first;

    while (file != NULL && strcmp(file->path, form->set) != 0) {
        file = file->next;
    }
    if (file == NULL) {
        file = take(reading, form->set_node, sizeof *file);
        if (file == NULL) {
            return NULL;
        }
        *file = (struct rr_schema_file_read){form->set, read_schema(reading, form->set, form->set_node), files->first};
        files->first = file;
    }
    return file->schema; /* NULL: reported */
}

/* ---- all of it ---- */

static void report(void *context, rr_mapping_place place, const char *text)
{
    const rr_reading *reading = context;

    rr_problems_error(reading->problems, (rr_place){reading->path, place.line, place.column}, "%s", text);
}

static bool read_kind(const rr_reading *reading, const rr_yaml_node *node, decode_form *form)
{
    if ((form->protobuf == NULL) == (form->json == NULL)) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                          "'decode' needs either 'protobuf' or 'json'");
        return false;
    }
    form->spec.is_json = form->json != NULL;
    return form->json != NULL ? rr_options_read(reading, json_options, "json", form->json, form, NULL)
                              : rr_options_read(reading, protobuf_options, "protobuf", form->protobuf, form, NULL);
}

/* How many tokens each subject of a pattern has at most. */
static uint64_t tokens_of(const char *pattern)
{
    uint64_t count = 1;

    for (const char *at = pattern; *at != '\0'; at++) {
        count += *at == '.' ? 1 : 0;
        if (*at == '>') {
            return UINT64_MAX;
        }
    }
    return count;
}

static void check_tokens(const rr_reading *reading, const char *subject, const rr_mapping_spec *spec)
{
    for (size_t k = 0; subject != NULL && k < spec->field_count; k++) {
        for (size_t i = 0; i < spec->fields[k].part_count; i++) {
            const rr_mapping_part *part = &spec->fields[k].parts[i];

            if (part->from == RR_FROM_SUBJECT && part->token > tokens_of(subject)) {
                rr_problems_error(reading->problems, (rr_place){reading->path, part->place.line, part->place.column},
                                  "subjects of '%.80s' have no token %llu", subject, (unsigned long long)part->token);
            }
        }
    }
}

void rr_mapping_load(const rr_reading *reading, const rr_yaml_node *node, const char *subject,
                     const rr_contract *contract, rr_schema_files *files, rr_decode *decode)
{
    decode_form *form = take(reading, node, sizeof *form);
    size_t before = reading->problems->errors;
    const rr_schema *schema = NULL;

    *decode = (rr_decode){NULL, NULL, 0};
    if (form == NULL || !rr_options_read(reading, rr_decode_options, "decode", node, form, NULL)) {
        return;
    }
    form->spec.place = place_of(node);
    if (form->examples != NULL) {
        read_examples(reading, form->examples, decode);
    }
    if (!read_kind(reading, node, form)) {
        return;
    }
    check_tokens(reading, subject, &form->spec);
    schema = form->set == NULL ? NULL : find_schema(reading, files, form);
    if (rr_yaml_get(node, "record") == NULL ||
        (!form->spec.is_json && (schema == NULL || form->spec.message.len == 0))) {
        return;
    }
    decode->mapping =
        rr_mapping_compile(&form->spec, schema, contract, reading->arena, report, (void *)(uintptr_t)reading);
    if (decode->mapping == NULL && reading->problems->errors == before) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "memory ran out");
    }
    if (reading->problems->errors != before) {
        decode->mapping = NULL;
    }
}
