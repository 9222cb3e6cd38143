/* Checks over several keys, and of names in which NATS or Redis give characters a meaning. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config_check.h"

#include <stdio.h>

enum { NAME_MAX_BYTES = 128 };

void rr_check_auth(const rr_reading *reading, const rr_yaml_node *node, const rr_auth *auth)
{
    int ways = (auth->user != NULL || auth->password != NULL) + (auth->token != NULL) + (auth->credentials != NULL) +
               (auth->nkey != NULL);

    if (ways > 1) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                          "only one of 'user' with 'password', 'token', 'credentials' and 'nkey'");
    } else if ((auth->user == NULL) != (auth->password == NULL)) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'user' and 'password' come together");
    }
}

static bool begins(rr_slice text, const char *with)
{
    return text.len > strlen(with) && memcmp(text.data, with, strlen(with)) == 0;
}

/* The URL itself is not shown: it may hold a password. */
static void check_nats_url(const rr_reading *reading, rr_place place, const char *url)
{
    for (const char *at = url; at != NULL;) {
        const char *comma = strchr(at, ',');
        rr_slice one = {at, comma == NULL ? strlen(at) : (size_t)(comma - at)};

        if (!begins(one, "nats://") && !begins(one, "tls://")) {
            rr_problems_error(reading->problems, place,
                              "'url': each part must begin with nats:// or tls://, then HOST:PORT");
            return;
        }
        at = comma == NULL ? NULL : comma + 1;
    }
}

void rr_check_nats_url(const rr_reading *reading, const rr_yaml_node *node, const char *url)
{
    if (node != NULL && url != NULL) {
        check_nats_url(reading, rr_yaml_place(reading, node), url);
    }
}

void rr_check_durable(const rr_reading *reading, const rr_yaml_node *node, const char *key, const char *name)
{
    if (node == NULL || name == NULL) {
        return;
    }
    for (const char *at = name; *at != '\0'; at++) {
        if ((unsigned char)*at <= ' ' || *at == 0x7f || strchr(".*>/\\", *at) != NULL) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                              "'%s' is a name in JetStream: no space and none of . * > / \\", key);
            return;
        }
    }
    if (strlen(name) > NAME_MAX_BYTES) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' has more than %d bytes", key,
                          NAME_MAX_BYTES);
    }
}

/* What is wrong with a subject; NULL: NATS takes it. */
static const char *subject_trouble(const char *subject, bool may_be_pattern)
{
    for (const char *at = subject;; at += strcspn(at, ".") + 1) {
        size_t len = strcspn(at, ".");
        bool last = at[len] == '\0';

        if (len == 0) {
            return "has an empty part";
        }
        for (size_t i = 0; i < len; i++) {
            bool wild = at[i] == '*' || at[i] == '>';

            if ((unsigned char)at[i] <= ' ' || at[i] == 0x7f) {
                return "holds a space";
            }
            if (wild && !may_be_pattern) {
                return "must not be a pattern: no * and no >";
            }
            if (wild && len > 1) {
                return "has * or > beside other characters, where NATS does not take it for a wildcard";
            }
            if (at[i] == '>' && !last) {
                return "has > before its end";
            }
        }
        if (last) {
            return strlen(subject) > 255 ? "has more than 255 bytes" : NULL;
        }
    }
}

void rr_check_subject(const rr_reading *reading, const rr_yaml_node *node, const char *key, const char *subject,
                      bool may_be_pattern)
{
    const char *trouble = node == NULL || subject == NULL ? NULL : subject_trouble(subject, may_be_pattern);

    if (trouble != NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "'%s' %s", key, trouble);
    }
}

bool rr_subject_matches(const char *pattern, rr_slice subject)
{
    const char *at = subject.data, *end = subject.len == 0 ? at : at + subject.len;

    for (;;) {
        size_t wanted = strcspn(pattern, "."), len;
        const char *dot = at == end ? NULL : memchr(at, '.', (size_t)(end - at));

        len = dot == NULL ? (size_t)(end - at) : (size_t)(dot - at);
        if (len == 0) {
            return false; /* A subject has no empty token. */
        }
        if (wanted == 1 && *pattern == '>' && pattern[1] == '\0') {
            return true;
        }
        if (!(wanted == 1 && *pattern == '*') && (wanted != len || memcmp(pattern, at, len) != 0)) {
            return false;
        }
        if (pattern[wanted] == '\0' || dot == NULL) {
            return pattern[wanted] == '\0' && dot == NULL;
        }
        pattern += wanted + 1;
        at = dot + 1;
    }
}

/* In YAML, `store: memory:` needs quotes, which people forget. So `memory` alone is taken too. */
static void check_store(const rr_reading *reading, const rr_yaml_node *root, rr_config *config)
{
    const rr_yaml_node *store = rr_yaml_get(root, "store"), *url = rr_yaml_get(store, "url");
    rr_slice text = rr_slice_of(config->store_url);

    if (store != NULL) {
        config->store_place = rr_yaml_place(reading, url == NULL ? store : url);
    }
    if (rr_slice_equal(text, RR_SLICE("memory"))) {
        config->store_url = "memory:";
        return;
    }
    if (text.len == 0 || begins(text, "redis://") || begins(text, "unix://") ||
        rr_slice_equal(text, RR_SLICE("memory:")) || config->plugin_count != 0) {
        return;
    }
    rr_problems_error(reading->problems, config->store_place,
                      "'store' must begin with redis:// or unix://, or be memory%s",
                      begins(text, "rediss://") ? "; TLS to Redis needs a tunnel, like stunnel" : "");
}

/* A plugin may bring sources of other schemes, which rr_plugins_check looks for. */
static void check_source_url(const rr_reading *reading, const rr_config *config, const rr_source_config *source)
{
    rr_slice url = rr_slice_of(source->options.url);

    if (source->options.url != NULL && (config->plugin_count == 0 || begins(url, "nats://") || begins(url, "tls://"))) {
        check_nats_url(reading, source->url_place, source->options.url);
    }
}

/* A plugin may bring other kinds of alert channels. */
static void check_channel(const rr_reading *reading, const rr_config *config, const rr_channel_config *channel)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    if (config->plugin_count != 0 || strcmp(channel->kind, "log") == 0 || strcmp(channel->kind, "nats") == 0) {
        return;
    }
    rr_nearest_init(&nearest, rr_slice_of(channel->kind));
    rr_nearest_try(&nearest, RR_SLICE("log"));
    rr_nearest_try(&nearest, RR_SLICE("nats"));
    rr_problems_error(reading->problems, channel->place, "unknown alert channel '%.80s': log, or {nats: {url: ...}}%s",
                      channel->kind, rr_nearest_hint(&nearest, "", hint));
}

static void check_schemes(const rr_reading *reading, const rr_config *config)
{
    for (size_t i = 0; i < config->source_count; i++) {
        check_source_url(reading, config, &config->sources[i]);
    }
    for (size_t i = 0; i < config->channel_count; i++) {
        check_channel(reading, config, &config->channels[i]);
    }
}

/* Braces would choose the hash slot of a Redis cluster, and keys use the percent sign for escapes. */
static void check_prefix(const rr_reading *reading, const rr_yaml_node *root, const char *prefix)
{
    const rr_yaml_node *node = rr_yaml_get(root, "prefix");
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:";

    if (node != NULL && prefix != NULL && (strlen(prefix) > 64 || prefix[strspn(prefix, allowed)] != '\0')) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                          "'prefix' must have at most 64 characters, of A-Z a-z 0-9 - . _ ~ :");
    }
}

static void bind_route(const rr_reading *reading, const rr_contract_list *contracts, rr_route *route)
{
    char hint[RR_HINT_MAX];
    rr_nearest nearest;

    if (route->contract == NULL) {
        return;
    }
    route->under = rr_contracts_find(contracts, rr_slice_of(route->contract));
    if (route->under != NULL || contracts->count == 0) {
        return; /* That there are no contracts is an error already. */
    }
    rr_nearest_init(&nearest, rr_slice_of(route->contract));
    for (size_t i = 0; i < contracts->count; i++) {
        rr_nearest_try(&nearest, contracts->items[i].name);
    }
    rr_problems_error(reading->problems, route->place, "there is no contract '%.80s'%s", route->contract,
                      rr_nearest_hint(&nearest, "", hint));
}

const rr_option rr_decoder_config_options[] = {
    {"plugin", RR_OPTION_TEXT, offsetof(rr_decoder_config, name), .required = true, .form = "NAME",
     .help = "the decoder of a plugin"},
    {"options", RR_OPTION_READ, offsetof(rr_decoder_config, options_node), .read_value = rr_option_keep_node,
     .form = "{NAME: VALUE, ...}", .help = "what the plugin's own table of options lists"},
    RR_OPTIONS_END,
};

/* Which decoders there are is known when plugins are loaded: rr_plugins_check. */
/* `decode:` is a mapping, or names a plugin. */
static void read_decode(const rr_reading *reading, rr_schema_files *files, rr_route *route)
{
    const rr_yaml_node *node = route->decode_node, *name = node == NULL ? NULL : rr_yaml_get(node, "plugin");

    if (node != NULL && name == NULL) {
        rr_mapping_load(reading, node, route->subject, route->under, files, &route->decode);
        route->mapping = route->decode.mapping;
    } else if (node != NULL) {
        rr_options_read(reading, rr_decoder_config_options, "'decode' with 'plugin'", node, &route->decoder, NULL);
        route->decoder.place = rr_yaml_place(reading, name);
    }
}

static bool ends_open(const char *pattern)
{
    size_t len = strlen(pattern);

    return len != 0 && pattern[len - 1] == '>';
}

/* True if every subject of the second pattern is one of the first: a pattern that matches another one, read as a
 * subject, does; but `*` is not all of `>`. */
static bool covers(const char *first, const char *second)
{
    return rr_subject_matches(first, rr_slice_of(second)) && (!ends_open(second) || ends_open(first));
}

static bool has_header(const char *const *headers, size_t count, rr_slice name)
{
    for (size_t k = 0; k < count; k++) {
        if (rr_slice_equal(rr_slice_of(headers[k]), name)) {
            return true;
        }
    }
    return false;
}

bool rr_config_want_headers(rr_config *config, rr_source_config *source, const rr_slice *names, size_t count)
{
    const char **wanted = rr_arena_zero(&config->arena, (RR_SOURCE_HEADERS_MAX + 1) * sizeof *wanted);
    size_t used = 0;

    if (wanted == NULL) {
        return false;
    }
    for (; source->options.headers != NULL && source->options.headers[used] != NULL; used++) {
        wanted[used] = source->options.headers[used];
    }
    for (size_t k = 0; k < count; k++) {
        char *copy;

        if (has_header(wanted, used, names[k])) {
            continue;
        }
        copy = used == RR_SOURCE_HEADERS_MAX ? NULL : rr_arena_zero(&config->arena, names[k].len + 1);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, names[k].data, names[k].len);
        wanted[used++] = copy;
    }
    source->options.headers = used == 0 ? NULL : wanted;
    return true;
}

/* What the source has to ask for: the headers that its mappings read. */
static void want_headers_of_mappings(const rr_reading *reading, rr_config *config, rr_source_config *source)
{
    for (size_t k = 0; k < source->route_count; k++) {
        const rr_mapping *mapping = source->routes[k].mapping;
        const rr_slice *names;
        size_t count = mapping == NULL ? 0 : rr_mapping_headers(mapping, &names);

        if (count != 0 && !rr_config_want_headers(config, source, names, count)) {
            rr_problems_error(reading->problems, source->place, "source %.80s: its mappings read more than %d headers",
                              source->name, RR_SOURCE_HEADERS_MAX);
            return;
        }
    }
}

static void check_routes(const rr_reading *reading, const rr_contract_list *contracts, rr_schema_files *files,
                         const rr_source_config *source)
{
    for (size_t i = 0; i < source->route_count; i++) {
        bind_route(reading, contracts, (rr_route *)&source->routes[i]);
        read_decode(reading, files, (rr_route *)&source->routes[i]);
        for (size_t j = 0; j < i; j++) {
            if (covers(source->routes[j].subject, source->routes[i].subject)) {
                rr_problems_error(reading->problems, source->routes[i].place,
                                  "this route is never taken: '%.80s' in line %d comes first",
                                  source->routes[j].subject, source->routes[j].place.line);
                break;
            }
        }
    }
}

static bool is_equal(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static void check_two_sources(const rr_reading *reading, const rr_source_config *first, const rr_source_config *second)
{
    if (is_equal(first->name, second->name)) {
        rr_problems_error(reading->problems, second->place, "source '%.80s' a second time; the first is in line %d",
                          second->name, first->place.line);
    }
    if (!is_equal(first->options.stream, second->options.stream) ||
        !is_equal(first->options.consumer, second->options.consumer)) {
        return;
    }
    if (is_equal(first->options.url, second->options.url)) {
        rr_problems_error(reading->problems, second->place,
                          "the same stream and consumer as in line %d: two readers would take each other's records",
                          first->place.line);
    } else {
        rr_problems_warn(reading->problems, second->place,
                         "the same stream and consumer as in line %d: right only if the urls are of different systems",
                         first->place.line);
    }
}

static bool is_fed(const rr_config *config, const rr_contract *contract)
{
    for (size_t i = 0; i < config->source_count; i++) {
        for (size_t j = 0; j < config->sources[i].route_count; j++) {
            if (config->sources[i].routes[j].under == contract) {
                return true;
            }
        }
    }
    return false;
}

void rr_config_check(const rr_reading *reading, const rr_yaml_node *root, rr_config *config)
{
    rr_schema_files files = {NULL};

    check_store(reading, root, config);
    check_prefix(reading, root, config->prefix);
    for (size_t i = 0; i < config->source_count; i++) {
        check_routes(reading, &config->contracts, &files, &config->sources[i]);
        want_headers_of_mappings(reading, config, (rr_source_config *)&config->sources[i]);
        for (size_t j = 0; j < i; j++) {
            check_two_sources(reading, &config->sources[j], &config->sources[i]);
        }
    }
    check_schemes(reading, config);
    for (size_t i = 0; i < config->contracts.count; i++) {
        if (config->contracts.items[i].name.len != 0 && !is_fed(config, &config->contracts.items[i])) {
            rr_problems_warn(reading->problems, config->contracts.places[i], "no source feeds contract '%.*s'",
                             RR_SHOW(config->contracts.items[i].name));
        }
    }
}
