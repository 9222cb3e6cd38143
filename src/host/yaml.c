/* Builds the tree from libyaml's events, so depth and size are checked before memory is spent on them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

typedef struct builder {
    const rr_reading *reading;
    yaml_parser_t parser;
    rr_yaml_node *root;
    rr_yaml_node *open[RR_YAML_DEPTH_MAX]; /* lists and mappings that are not ended */
    rr_yaml_node *keys[RR_YAML_DEPTH_MAX]; /* mappings: the key whose value comes next */
    size_t depth, nodes;
    bool failed; /* reading stops here */
} builder;

rr_place rr_yaml_place(const rr_reading *reading, const rr_yaml_node *node)
{
    return (rr_place){reading->path, node->line, node->column};
}

static rr_place place_of(const builder *build, yaml_mark_t mark)
{
    return (rr_place){build->reading->path, (int)mark.line + 1, (int)mark.column + 1};
}

#define FAIL(build, mark, ...) \
    (rr_problems_error((build)->reading->problems, place_of(build, mark), __VA_ARGS__), (build)->failed = true)

static void report_no_memory(const rr_reading *reading)
{
    rr_problems_error(reading->problems, (rr_place){reading->path, 0, 0}, "memory ran out while it was read");
}

/* A copy with a NUL behind it. */
static rr_slice copy_text(const rr_reading *reading, rr_slice from)
{
    char *to = rr_arena_take(reading->arena, from.len + 1);

    if (to == NULL) {
        report_no_memory(reading);
        return (rr_slice){"", 0};
    }
    if (from.len != 0) {
        memcpy(to, from.data, from.len);
    }
    to[from.len] = '\0';
    return (rr_slice){to, from.len};
}

static rr_yaml_node *new_node(builder *build, rr_yaml_kind kind, const yaml_event_t *event)
{
    rr_yaml_node *node = NULL;

    if (++build->nodes > RR_YAML_NODES_MAX) {
        FAIL(build, event->start_mark, "more than %d values in one file", RR_YAML_NODES_MAX);
        return NULL;
    }
    node = rr_arena_zero(build->reading->arena, sizeof *node);
    if (node == NULL) {
        report_no_memory(build->reading);
        build->failed = true;
        return NULL;
    }
    node->kind = kind;
    node->line = (int)event->start_mark.line + 1;
    node->column = (int)event->start_mark.column + 1;
    return node;
}

static bool check_key(builder *build, const rr_yaml_node *map, const rr_yaml_node *key)
{
    const rr_reading *reading = build->reading;

    if (key->kind != RR_YAML_SCALAR) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, key), "a key must be plain text, not %s",
                          key->kind == RR_YAML_LIST ? "a list" : "a mapping");
        build->failed = true;
        return false;
    }
    if (map->count >= RR_YAML_KEYS_MAX) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, key), "more than %d keys in one mapping",
                          RR_YAML_KEYS_MAX);
        build->failed = true;
        return false;
    }
    for (const rr_yaml_node *other = map->first; other != NULL; other = other->next) {
        if (rr_slice_equal(other->key->raw, key->raw)) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, key),
                              "key '%.*s' a second time; the first is in line %d", RR_SHOW(key->raw), other->key->line);
            break;
        }
    }
    return true;
}

static void append(rr_yaml_node *parent, rr_yaml_node *node)
{
    if (parent->last == NULL) {
        parent->first = node;
    } else {
        parent->last->next = node;
    }
    parent->last = node;
    parent->count++;
}

/* Puts a new node in its place: root, item, key or value. */
static void attach(builder *build, rr_yaml_node *node)
{
    rr_yaml_node *parent, **key;

    if (build->depth == 0) {
        build->root = node;
        return;
    }
    parent = build->open[build->depth - 1];
    key = &build->keys[build->depth - 1];
    if (parent->kind == RR_YAML_MAP && *key == NULL) {
        if (check_key(build, parent, node)) {
            *key = node;
        }
        return;
    }
    if (parent->kind == RR_YAML_MAP) {
        node->key = *key;
        *key = NULL;
    }
    append(parent, node);
}

static void open_node(builder *build, rr_yaml_kind kind, const yaml_event_t *event)
{
    rr_yaml_node *node = new_node(build, kind, event);

    if (node == NULL) {
        return;
    }
    attach(build, node);
    if (build->depth == RR_YAML_DEPTH_MAX) {
        FAIL(build, event->start_mark, "nested deeper than %d", RR_YAML_DEPTH_MAX);
        return;
    }
    build->open[build->depth] = node;
    build->keys[build->depth++] = NULL;
}

static void refuse_anchor(builder *build, const yaml_event_t *event, const void *anchor, const void *tag)
{
    if (anchor != NULL) {
        rr_problems_error(build->reading->problems, place_of(build, event->start_mark),
                          "anchor '&%.40s': anchors and aliases are not supported; write the value out",
                          (const char *)anchor);
    }
    if (tag != NULL) {
        rr_problems_error(build->reading->problems, place_of(build, event->start_mark),
                          "tag '%.40s': tags are not supported; leave it out", (const char *)tag);
    }
}

static void take_scalar(builder *build, const yaml_event_t *event)
{
    rr_yaml_node *node = new_node(build, RR_YAML_SCALAR, event);
    rr_slice text = {(const char *)event->data.scalar.value, event->data.scalar.length};

    if (node == NULL) {
        return;
    }
    refuse_anchor(build, event, event->data.scalar.anchor, event->data.scalar.tag);
    if (text.len != 0 && memchr(text.data, '\0', text.len) != NULL) {
        rr_problems_error(build->reading->problems, rr_yaml_place(build->reading, node), "a text with a NUL in it");
        text.len = strlen(text.data);
    }
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->raw = node->text = copy_text(build->reading, text);
    attach(build, node);
}

/* Puts a text in the place of an alias, so that reading goes on and finds further errors. */
static void take_alias(builder *build, const yaml_event_t *event)
{
    rr_yaml_node *node = new_node(build, RR_YAML_SCALAR, event);

    if (node == NULL) {
        return;
    }
    rr_problems_error(build->reading->problems, rr_yaml_place(build->reading, node),
                      "alias '*%.40s': anchors and aliases are not supported; write the value out",
                      (const char *)event->data.alias.anchor);
    node->quoted = true;
    node->raw = node->text = copy_text(build->reading, RR_SLICE("an alias"));
    attach(build, node);
}

static void take_event(builder *build, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT: take_scalar(build, event); break;
    case YAML_ALIAS_EVENT: take_alias(build, event); break;
    case YAML_SEQUENCE_START_EVENT:
        refuse_anchor(build, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        open_node(build, RR_YAML_LIST, event);
        break;
    case YAML_MAPPING_START_EVENT:
        refuse_anchor(build, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        open_node(build, RR_YAML_MAP, event);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: build->depth--; break;
    case YAML_DOCUMENT_START_EVENT:
        if (build->root != NULL) {
            FAIL(build, event->start_mark, "a second document; one file holds one");
        }
        break;
    default: break;
    }
}

static void syntax_error(builder *build)
{
    const yaml_parser_t *parser = &build->parser;
    const char *text = parser->problem == NULL ? "not YAML" : parser->problem;
    yaml_mark_t mark = parser->problem_mark;

    if (parser->error == YAML_MEMORY_ERROR) {
        report_no_memory(build->reading);
    } else if (parser->error == YAML_READER_ERROR) {
        mark = parser->mark;
        FAIL(build, mark, "%s (byte %zu)", text, parser->problem_offset);
    } else if (strstr(text, "cannot start any token") != NULL) {
        FAIL(build, mark, "%s: a tab for indentation, or a text that needs quotes", text);
    } else if (strstr(text, "mapping values") != NULL) {
        FAIL(build, mark, "%s: a text with a colon at its end or before a space needs quotes", text);
    } else if (parser->context != NULL) {
        FAIL(build, mark, "%s, %s that begins in line %zu", text, parser->context, parser->context_mark.line + 1);
    } else {
        FAIL(build, mark, "%s", text);
    }
    build->failed = true;
}

static void read_events(builder *build)
{
    yaml_event_t event;
    bool ended = false;

    while (!ended && !build->failed) {
        if (!yaml_parser_parse(&build->parser, &event)) {
            syntax_error(build);
            return;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        take_event(build, &event);
        yaml_event_delete(&event);
    }
}

rr_status rr_yaml_slurp(const char *path, size_t most, rr_arena *arena, rr_slice *text, rr_error *error)
{
    struct stat info;
    char *bytes = rr_arena_take(arena, most + 1);
    size_t len = 0;
    ssize_t got = 1;
    int file;

    if (bytes == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    /* Without O_NONBLOCK, open would wait for the writer of a fifo. */
    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return rr_fail(error, RR_IO, "cannot be opened: %s", strerror(errno));
    }
    if (fstat(file, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
        close(file);
        return rr_fail(error, RR_IO, "is not a file");
    }
    fcntl(file, F_SETFL, 0);
    while (len <= most && got > 0) {
        got = read(file, bytes + len, most + 1 - len);
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got > 0) {
            len += (size_t)got;
        }
    }
    close(file);
    if (got < 0) {
        return rr_fail(error, RR_IO, "cannot be read: %s", strerror(errno));
    }
    if (len > most) {
        return rr_fail(error, RR_INPUT, "larger than %zu bytes", most);
    }
    bytes[len] = '\0';
    *text = (rr_slice){bytes, len};
    return RR_OK;
}

const char *rr_yaml_beside(const rr_reading *reading, rr_slice path)
{
    const char *slash = strrchr(reading->path, '/');
    size_t folder = slash == NULL || path.len == 0 || path.data[0] == '/' ? 0 : (size_t)(slash - reading->path) + 1;
    char *joined = rr_arena_take(reading->arena, folder + path.len + 1);

    if (joined == NULL) {
        report_no_memory(reading);
        return NULL;
    }
    memcpy(joined, reading->path, folder);
    memcpy(joined + folder, path.data, path.len);
    joined[folder + path.len] = '\0';
    return joined;
}

static bool put_env(const rr_reading *reading, const rr_yaml_node *node, rr_slice name, rr_buf *out)
{
    char variable[256];
    const char *value;

    if (name.len == 0 || name.len >= sizeof variable) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "${env:%.*s}: not the name of a variable",
                          RR_SHOW(name));
        return false;
    }
    memcpy(variable, name.data, name.len);
    variable[name.len] = '\0';
    value = getenv(variable);
    if (value == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                          "${env:%s}: the environment has no such variable", variable);
        return false;
    }
    rr_buf_text(out, value);
    return true;
}

static bool put_file(const rr_reading *reading, const rr_yaml_node *node, rr_slice name, rr_buf *out)
{
    const char *path = name.len == 0 ? NULL : rr_yaml_beside(reading, name);
    rr_error error = {0};
    rr_slice text = {NULL, 0};

    if (path == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "${file:}: names no file");
        return false;
    }
    if (rr_yaml_slurp(path, RR_YAML_FILE_MAX, reading->arena, &text, &error) != RR_OK) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "${file:%.*s}: %.400s: %s", RR_SHOW(name),
                          path, error.text);
        return false;
    }
    if (text.len != 0 && text.data[text.len - 1] == '\n') {
        text.len -= text.len > 1 && text.data[text.len - 2] == '\r' ? 2 : 1;
    }
    if (text.len != 0 && memchr(text.data, '\0', text.len) != NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "${file:%.*s}: the file holds a NUL",
                          RR_SHOW(name));
        return false;
    }
    rr_buf_slice(out, text);
    return true;
}

/* Expands one ${...}; `inside` is the text between its braces. */
static bool put_reference(const rr_reading *reading, const rr_yaml_node *node, rr_slice inside, rr_buf *out)
{
    if (inside.len >= 4 && memcmp(inside.data, "env:", 4) == 0) {
        return put_env(reading, node, (rr_slice){inside.data + 4, inside.len - 4}, out);
    }
    if (inside.len >= 5 && memcmp(inside.data, "file:", 5) == 0) {
        return put_file(reading, node, (rr_slice){inside.data + 5, inside.len - 5}, out);
    }
    rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                      "${%.*s}: only ${env:NAME} and ${file:PATH} are known; $${ stands for ${ itself",
                      RR_SHOW(inside));
    return false;
}

static bool expand_into(const rr_reading *reading, const rr_yaml_node *node, rr_buf *out)
{
    const char *at = node->raw.data, *end = at + node->raw.len, *close;

    while (at < end) {
        if (strncmp(at, "$${", 3) == 0) {
            rr_buf_text(out, "${");
            at += 3;
        } else if (strncmp(at, "${", 2) == 0) {
            close = strchr(at, '}');
            if (close == NULL) {
                rr_problems_error(reading->problems, rr_yaml_place(reading, node), "${ without its }");
                return false;
            }
            if (!put_reference(reading, node, (rr_slice){at + 2, (size_t)(close - at - 2)}, out)) {
                return false;
            }
            at = close + 1;
        } else {
            rr_buf_char(out, *at++);
        }
        if (out->len > RR_YAML_BYTES_MAX) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, node), "longer than %d bytes",
                              RR_YAML_BYTES_MAX);
            return false;
        }
    }
    return true;
}

static void expand_node(const rr_reading *reading, rr_yaml_node *node)
{
    rr_buf out = {0};

    if (node->kind != RR_YAML_SCALAR) {
        for (rr_yaml_node *child = node->first; child != NULL; child = child->next) {
            expand_node(reading, child);
        }
        return;
    }
    if (memmem(node->raw.data, node->raw.len, "${", 2) == NULL) {
        return;
    }
    node->quoted = true; /* An empty variable gives an empty text, not null. */
    if (expand_into(reading, node, &out)) {
        if (!rr_buf_ok(&out)) {
            report_no_memory(reading);
        }
        node->text = copy_text(reading, rr_buf_view(&out));
    } else {
        node->broken = true;
    }
    rr_buf_fini(&out);
}

rr_yaml_node *rr_yaml_parse(const rr_reading *reading, rr_slice text)
{
    builder build = {.reading = reading};
    rr_place whole = {reading->path, 0, 0};

    if (text.len > RR_YAML_BYTES_MAX) {
        rr_problems_error(reading->problems, whole, "larger than %d bytes", RR_YAML_BYTES_MAX);
        return NULL;
    }
    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0) {
        text = (rr_slice){text.data + 3, text.len - 3}; /* libyaml would count the byte order mark as a column. */
    }
    if (!yaml_parser_initialize(&build.parser)) {
        report_no_memory(reading);
        return NULL;
    }
    yaml_parser_set_encoding(&build.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&build.parser, (const unsigned char *)text.data, text.len);
    read_events(&build);
    yaml_parser_delete(&build.parser);
    if (build.failed) {
        return NULL;
    }
    if (build.root == NULL) {
        rr_problems_error(reading->problems, whole, "is empty");
        return NULL;
    }
    expand_node(reading, build.root);
    return build.root;
}

const rr_yaml_node *rr_yaml_get(const rr_yaml_node *map, const char *key)
{
    const rr_yaml_node *value = map == NULL || map->kind != RR_YAML_MAP ? NULL : map->first;

    while (value != NULL && !rr_slice_equal(value->key->raw, rr_slice_of(key))) {
        value = value->next;
    }
    return value;
}

bool rr_yaml_is_null(const rr_yaml_node *node)
{
    return node->kind == RR_YAML_SCALAR && !node->quoted &&
           (node->text.len == 0 || strcmp(node->text.data, "~") == 0 || strcasecmp(node->text.data, "null") == 0);
}

const char *rr_yaml_seen(const rr_yaml_node *node, char text[RR_YAML_SEEN_MAX])
{
    if (node->kind != RR_YAML_SCALAR) {
        return node->kind == RR_YAML_LIST ? "a list" : "a mapping";
    }
    if (rr_yaml_is_null(node)) {
        return "no value";
    }
    snprintf(text, RR_YAML_SEEN_MAX, "'%.*s'", RR_SHOW(node->raw));
    return text;
}
