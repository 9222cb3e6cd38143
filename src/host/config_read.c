/* The tables of the configuration's keys, and how each is read. Checks over several keys are in config_check.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "config_check.h"

#include <stdio.h>

#include "time.h"

enum { CONFIG_ARENA_CAP = 64 * 1024 * 1024, LIST_MAX = 1000, REPLICAS_MAX = 16, DAY_MS = 86400000, DAY_S = 86400 };

static const char *const ack_words[] = {"explicit", "all", NULL};
static const char *const log_words[] = {"error", "warning", "info", "debug", NULL};

_Static_assert(RR_ACK_EXPLICIT == 0 && RR_ACK_ALL == 1, "ack_words");
_Static_assert(RR_LOG_ERROR == 0 && RR_LOG_WARNING == 1 && RR_LOG_INFO == 2 && RR_LOG_DEBUG == 3, "log_words");
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are read as uint64_t");

/* An array in the arena. NULL: there is a problem, which was added. */
static void *new_array(const rr_reading *reading, const rr_yaml_node *list, size_t each)
{
    void *items;

    if (list->count > LIST_MAX) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, list), "%zu items; %d are the most", list->count,
                          LIST_MAX);
        return NULL;
    }
    items = rr_arena_zero(reading->arena, list->count * each);
    if (items == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, list), "memory ran out");
    }
    return items;
}

static bool is_list(const rr_reading *reading, const rr_yaml_node *node, const char *name, const char *what)
{
    if (node->kind == RR_YAML_LIST && node->count != 0) {
        return true;
    }
    rr_option_expect(reading, node, name, what);
    return false;
}

/* tls: of a source or a channel; the members have the same order in both. */
typedef struct tls_form {
    const char *ca, *cert, *key;
} tls_form;

static const rr_option tls_options[] = {
    {"ca", RR_OPTION_PATH, offsetof(tls_form, ca),
     .help = "certificates of the authorities that may have signed the server's certificate"},
    {"cert", RR_OPTION_PATH, offsetof(tls_form, cert), .help = "the client certificate"},
    {"key", RR_OPTION_PATH, offsetof(tls_form, key), .help = "the key of the client certificate"},
    RR_OPTIONS_END,
};

static void read_tls(const rr_reading *reading, const rr_yaml_node *node, tls_form *form)
{
    rr_options_read(reading, tls_options, "tls", node, form, NULL);
    if ((form->cert == NULL) != (form->key == NULL)) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node), "tls: 'cert' and 'key' come together");
    }
}

static void read_source_tls(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_source_options *options = target;
    tls_form form = {NULL, NULL, NULL};

    read_tls(reading, node, &form);
    options->tls_ca_file = form.ca;
    options->tls_cert_file = form.cert;
    options->tls_key_file = form.key;
}

static void read_channel_tls(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_channel_options *options = target;
    tls_form form = {NULL, NULL, NULL};

    read_tls(reading, node, &form);
    options->tls_ca_file = form.ca;
    options->tls_cert_file = form.cert;
    options->tls_key_file = form.key;
}

static void read_start(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_source_options *options = target;

    if (node->kind == RR_YAML_SCALAR && rr_slice_equal(node->text, RR_SLICE("all"))) {
        options->start = RR_START_ALL;
    } else if (node->kind == RR_YAML_SCALAR && rr_slice_equal(node->text, RR_SLICE("new"))) {
        options->start = RR_START_NEW;
    } else if (node->kind == RR_YAML_SCALAR && rr_time_parse(node->text, &options->start_time_us)) {
        options->start = RR_START_TIME;
    } else {
        rr_option_expect(reading, node, "start", "all, new, or a time like 2026-01-31T00:00:00Z");
    }
}

#define PLUGIN_OPTIONS(at) \
    { \
        "options", RR_OPTION_READ, (at), .read_value = rr_option_keep_node, .form = "{NAME: VALUE, ...}", \
                                         .help = "what the plugin's own table of options lists" \
    }

static const rr_option route_options[] = {
    {"subject", RR_OPTION_TEXT, offsetof(rr_route, subject), .required = true, .form = "PATTERN",
     .help = "subjects of NATS; * is one token, > the rest"},
    {"contract", RR_OPTION_TEXT, offsetof(rr_route, contract), .required = true, .form = "NAME",
     .help = "the contract of their records"},
    {"decode", RR_OPTION_READ, offsetof(rr_route, decode_node), .read_value = rr_option_keep_node, .form = "",
     .inner = rr_decode_options, .help = "how messages of another form become records; without it: rr.v1.Result"},
    RR_OPTIONS_END,
};

static void read_one_route(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_source_config *source = target;
    rr_route *route = rr_arena_zero(reading->arena, sizeof *route);
    rr_slice name;

    if (route != NULL && rr_option_text(reading, node, "contract", &name)) {
        *route = (rr_route){.subject = ">", .contract = name.data, .place = rr_yaml_place(reading, node)};
        source->routes = route;
        source->route_count = 1;
    }
}

static void read_routes(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_source_config *source = target;
    rr_route *routes;
    size_t count = 0;

    if (!is_list(reading, node, "routes", "a list like [{subject: results.orders.>, contract: orders}]")) {
        return;
    }
    routes = new_array(reading, node, sizeof *routes);
    if (routes == NULL) {
        return;
    }
    for (const rr_yaml_node *item = node->first; item != NULL; item = item->next) {
        rr_route *route = &routes[count];

        if (!rr_options_read(reading, route_options, "a route", item, route, NULL) || route->subject == NULL) {
            continue;
        }
        route->place = rr_yaml_place(reading, item);
        rr_check_subject(reading, rr_yaml_get(item, "subject"), "subject", route->subject, true);
        count++;
    }
    source->routes = routes;
    source->route_count = count;
}

#define AT(member) offsetof(rr_source_config, member)

static const rr_option source_options[] = {
    {"name", RR_OPTION_TEXT, AT(name), .required = true, .help = "its name in checkpoint, log and metrics"},
    {"url", RR_OPTION_TEXT, AT(options.url), .required = true, .form = "URL[,URL...]",
     .help = "nats://HOST:PORT or tls://HOST:PORT of the servers"},
    {"stream", RR_OPTION_TEXT, AT(options.stream), .required = true, .help = "the JetStream stream that is read"},
    {"consumer", RR_OPTION_TEXT, AT(options.consumer), .required = true,
     .help = "the durable pull consumer of the stream"},
    {"contract", RR_OPTION_READ, 0, .read_value = read_one_route, .form = "NAME",
     .help = "the contract of all records; this or 'routes'"},
    {"routes", RR_OPTION_READ, 0, .read_value = read_routes, .form = "[{...}, ...]", .inner = route_options,
     .help = "the contract by subject; the first that matches; none: a dead letter"},
    {"dead_letters", RR_OPTION_TEXT, AT(dead_letters), .required = true, .form = "SUBJECT",
     .help = "prefix of the subjects of refused and late records, which a stream must store; without it they "
             "would be lost"},
    {"domain", RR_OPTION_TEXT, AT(options.domain), .form = "NAME",
     .help = "the JetStream domain of the stream, as of a leaf node; requests go to $JS.NAME.API"},
    {"api_prefix", RR_OPTION_TEXT, AT(options.api_prefix), .form = "SUBJECT",
     .help = "where requests to JetStream go instead of $JS.API, as to another account; not with 'domain'"},
    {"filter", RR_OPTION_TEXT, AT(options.filter), .form = "PATTERN",
     .help = "subject filter of a consumer that is made"},
    {"ack", RR_OPTION_WORD, AT(options.ack), "explicit", .words = ack_words,
     .help = "all: faster; only if one process alone reads the consumer"},
    {"create", RR_OPTION_BOOL, AT(options.create), "false", .help = "make the consumer where there is none"},
    {"start", RR_OPTION_READ, AT(options), .read_value = read_start, .form = "all|new|TIME",
     .help = "where a consumer that is made begins (default all)"},
    {"batch", RR_OPTION_SIZE, AT(options.batch), "1024", .least = 1, .most = 65536,
     .help = "records that one pull asks for"},
    {"pulls", RR_OPTION_SIZE, AT(options.pulls), "3", .least = 1, .most = 64,
     .help = "pulls that are outstanding at once"},
    {"ack_wait", RR_OPTION_SECONDS, AT(options.ack_wait_s), "60s", .least = 1, .most = DAY_S,
     .help = "of a consumer that is made: when a record that is not acknowledged is delivered again"},
    {"timeout", RR_OPTION_MILLIS, AT(options.timeout_ms), "5s", .least = 1, .most = DAY_MS,
     .help = "time-out of one request"},
    {"user", RR_OPTION_TEXT, AT(options.user), .help = "with 'password'"},
    {"password", RR_OPTION_TEXT, AT(options.password), .help = "best as ${env:NAME} or ${file:PATH}"},
    {"token", RR_OPTION_TEXT, AT(options.token), .help = "instead of user and password"},
    {"credentials", RR_OPTION_PATH, AT(options.credentials_file), .help = "a .creds file instead"},
    {"nkey", RR_OPTION_PATH, AT(options.nkey_seed_file),
     .help = "a file with an nkey instead: lines with seed and public key"},
    {"tls", RR_OPTION_READ, AT(options), .read_value = read_source_tls, .form = "", .inner = tls_options,
     .help = "certificates; for URLs that begin with tls:"},
    {"allow_loss", RR_OPTION_BOOL, AT(allow_loss), "false",
     .help = "start even if the servers' settings can lose results or dead letters"},
    PLUGIN_OPTIONS(AT(options_node)),
    RR_OPTIONS_END,
};

#undef AT

static void check_api(const rr_reading *reading, const rr_yaml_node *node, const rr_source_config *source)
{
    const rr_yaml_node *domain = rr_yaml_get(node, "domain"), *prefix = rr_yaml_get(node, "api_prefix");
    const char *const texts[] = {source->options.domain, source->options.api_prefix};

    if (domain != NULL && prefix != NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, prefix),
                          "'domain' and 'api_prefix' both say where requests go: write one of them");
    }
    rr_check_durable(reading, domain, "domain", source->options.domain);
    rr_check_subject(reading, prefix, "api_prefix", source->options.api_prefix, false);
    for (size_t k = 0; k < 2; k++) {
        if (texts[k] != NULL && strlen(texts[k]) > RR_SOURCE_API_MAX) {
            rr_problems_error(reading->problems, rr_yaml_place(reading, k == 0 ? domain : prefix),
                              "%s: longer than %d bytes", k == 0 ? "domain" : "api_prefix", RR_SOURCE_API_MAX);
        }
    }
}

static void check_source(const rr_reading *reading, const rr_yaml_node *node, const rr_source_config *source)
{
    const rr_yaml_node *start = rr_yaml_get(node, "start");
    const rr_auth auth = {source->options.user, source->options.password, source->options.token,
                          source->options.credentials_file, source->options.nkey_seed_file};

    rr_check_auth(reading, node, &auth);
    rr_check_durable(reading, rr_yaml_get(node, "stream"), "stream", source->options.stream);
    rr_check_durable(reading, rr_yaml_get(node, "consumer"), "consumer", source->options.consumer);
    check_api(reading, node, source);
    rr_check_subject(reading, rr_yaml_get(node, "filter"), "filter", source->options.filter, true);
    rr_check_subject(reading, rr_yaml_get(node, "dead_letters"), "dead_letters", source->dead_letters, false);
    if ((rr_yaml_get(node, "contract") == NULL) == (rr_yaml_get(node, "routes") == NULL)) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, node),
                          "a source needs either 'contract', for all its records, or 'routes', by subject");
    }
    if (start != NULL && !source->options.create) {
        rr_problems_warn(reading->problems, rr_yaml_place(reading, start),
                         "'start' has no effect without 'create: true'");
    }
}

static void read_sources(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_config *config = target;
    rr_source_config *sources;
    size_t count = 0;

    if (!is_list(reading, node, "sources", "a list of at least one source")) {
        return;
    }
    sources = new_array(reading, node, sizeof *sources);
    if (sources == NULL) {
        return;
    }
    for (const rr_yaml_node *item = node->first; item != NULL; item = item->next) {
        if (rr_options_read(reading, source_options, "a source", item, &sources[count], NULL)) {
            sources[count].place = sources[count].url_place = rr_yaml_place(reading, item);
            if (rr_yaml_get(item, "url") != NULL) {
                sources[count].url_place = rr_yaml_place(reading, rr_yaml_get(item, "url"));
            }
            check_source(reading, item, &sources[count]);
            count++;
        }
    }
    config->sources = sources;
    config->source_count = count;
}

static const rr_option store_options[] = {
    {"url", RR_OPTION_TEXT, offsetof(rr_config, store_url), .required = true, .form = "URL",
     .help = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], unix://PATH or memory"},
    {"password", RR_OPTION_TEXT, offsetof(rr_config, store.password), .help = "best as ${env:NAME} or ${file:PATH}"},
    {"timeout", RR_OPTION_MILLIS, offsetof(rr_config, store.timeout_ms), "2s", .least = 1, .most = DAY_MS,
     .help = "time-out of one call"},
    {"wait_replicas", RR_OPTION_SIZE, offsetof(rr_config, store.wait_replicas), "0", .most = REPLICAS_MAX,
     .help = "replicas that must confirm a write before its record is acknowledged"},
    PLUGIN_OPTIONS(offsetof(rr_config, store_options_node)),
    RR_OPTIONS_END,
};

static void read_store(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_config *config = target;
    rr_slice url;

    if (node->kind == RR_YAML_MAP) {
        rr_options_read(reading, store_options, "store", node, config, NULL);
        return;
    }
    rr_options_preset(store_options, config);
    if (rr_option_text(reading, node, "store", &url)) {
        config->store_url = url.data;
    }
}

#define AT(member) offsetof(rr_channel_config, options.member)

static const rr_option nats_channel_options[] = {
    {"url", RR_OPTION_TEXT, AT(url), .required = true, .form = "URL[,URL...]",
     .help = "nats://HOST:PORT or tls://HOST:PORT"},
    {"prefix", RR_OPTION_TEXT, AT(prefix), "rr.alerts", .form = "SUBJECT", .help = "subjects are PREFIX.CONTRACT.KIND"},
    {"timeout", RR_OPTION_MILLIS, AT(timeout_ms), "5s", .least = 1, .most = DAY_MS, .help = "time-out of one alert"},
    {"user", RR_OPTION_TEXT, AT(user), .help = "with 'password'"},
    {"password", RR_OPTION_TEXT, AT(password), .help = "best as ${env:NAME} or ${file:PATH}"},
    {"token", RR_OPTION_TEXT, AT(token), .help = "instead of user and password"},
    {"credentials", RR_OPTION_PATH, AT(credentials_file), .help = "a .creds file instead"},
    {"nkey", RR_OPTION_PATH, AT(nkey_seed_file), .help = "a file with an nkey instead: lines with seed and public key"},
    {"tls", RR_OPTION_READ, offsetof(rr_channel_config, options), .read_value = read_channel_tls, .form = "",
     .inner = tls_options, .help = "certificates; for URLs that begin with tls:"},
    PLUGIN_OPTIONS(offsetof(rr_channel_config, options_node)),
    RR_OPTIONS_END,
};

#undef AT

static bool is_kind(const rr_channel_config *channel, const char *kind)
{
    return strcmp(channel->kind, kind) == 0;
}

enum { CHANNEL_OPTIONS = sizeof nats_channel_options / sizeof *nats_channel_options };

/* A channel of a plugin takes the same keys, but says itself which it needs. */
static void plugin_channel_options(rr_option table[CHANNEL_OPTIONS])
{
    memcpy(table, nats_channel_options, sizeof nats_channel_options);
    for (size_t k = 0; k < CHANNEL_OPTIONS; k++) {
        table[k].required = false;
    }
}

static void read_channel_options(const rr_reading *reading, const rr_yaml_node *node, rr_channel_config *channel)
{
    rr_channel_options *options = &channel->options;
    rr_option table[CHANNEL_OPTIONS];
    char what[80];
    rr_auth auth;

    snprintf(what, sizeof what, "an alert channel of kind %.40s", channel->kind);
    plugin_channel_options(table);
    if (!rr_options_read(reading, is_kind(channel, "nats") ? nats_channel_options : table, what, node, channel, NULL)) {
        return;
    }
    auth =
        (rr_auth){options->user, options->password, options->token, options->credentials_file, options->nkey_seed_file};
    rr_check_auth(reading, node, &auth);
    if (is_kind(channel, "nats")) {
        rr_check_nats_url(reading, rr_yaml_get(node, "url"), options->url);
    }
    rr_check_subject(reading, rr_yaml_get(node, "prefix"), "prefix", options->prefix, false);
}

/* `log`, or a mapping with the kind as its only key. Whether there is such a kind is checked when all is read. */
static bool read_channel(const rr_reading *reading, const rr_yaml_node *node, rr_channel_config *channel)
{
    const rr_yaml_node *kind = node->kind == RR_YAML_MAP && node->count == 1 ? node->first->key : node;

    if (node->broken) {
        return false;
    }
    if (kind->kind != RR_YAML_SCALAR || rr_yaml_is_null(kind) || kind->text.len == 0) {
        rr_option_expect(reading, node, "alerts", "a list of log and {nats: {url: ...}}, one key each");
        return false;
    }
    if (!rr_slice_equal(kind->text, kind->raw) && !rr_slice_equal(kind->text, RR_SLICE("log"))) {
        rr_option_expect(reading, kind, "alerts",
                         "a list of log and {nats: {url: ...}}"); /* Shows the raw text, which holds no secret. */
        return false;
    }
    channel->kind = kind->text.data;
    channel->place = rr_yaml_place(reading, kind);
    if (kind == node && is_kind(channel, "nats")) {
        rr_problems_error(reading->problems, channel->place,
                          "an alert channel of kind nats needs a url: {nats: {url: nats://HOST:PORT}}");
    } else if (kind != node && is_kind(channel, "log")) {
        rr_problems_error(reading->problems, channel->place, "an alert channel of kind log has no options: write log");
    } else if (kind != node) {
        read_channel_options(reading, node->first, channel);
    } else if (!is_kind(channel, "log")) {
        rr_options_preset(nats_channel_options, channel);
    }
    return true;
}

static void read_alerts(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_config *config = target;
    rr_channel_config *channels;
    size_t count = 0;

    if (!is_list(reading, node, "alerts", "a list like [log], or left out")) {
        return;
    }
    channels = new_array(reading, node, sizeof *channels);
    if (channels == NULL) {
        return;
    }
    for (const rr_yaml_node *item = node->first; item != NULL; item = item->next) {
        count += read_channel(reading, item, &channels[count]) ? 1 : 0;
    }
    config->channels = channels;
    config->channel_count = count;
}

static void read_plugins(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_config *config = target;
    rr_plugin_config *plugins;
    size_t count = 0;
    rr_slice path;

    if (!is_list(reading, node, "plugins", "a list of paths, or left out")) {
        return;
    }
    plugins = new_array(reading, node, sizeof *plugins);
    if (plugins == NULL) {
        return;
    }
    for (const rr_yaml_node *item = node->first; item != NULL; item = item->next) {
        if (rr_option_text(reading, item, "plugins", &path)) {
            plugins[count++] = (rr_plugin_config){rr_yaml_beside(reading, path), rr_yaml_place(reading, item)};
        }
    }
    config->plugins = plugins;
    config->plugin_count = count;
}

static void read_contracts(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_config *config = target;

    rr_contracts_read(reading, node, &config->contracts);
}

static void read_contracts_file(const rr_reading *reading, const rr_yaml_node *node, void *target)
{
    rr_config *config = target;
    rr_slice name;
    const char *path;

    if (!rr_option_text(reading, node, "contracts_file", &name)) {
        return;
    }
    path = rr_yaml_beside(reading, name);
    if (path != NULL && config->contracts.items == NULL) {
        rr_contracts_fini(&config->contracts);
        rr_contracts_load(path, &config->contracts, reading->problems);
    }
}

#define AT(member) offsetof(rr_config, member)

const rr_option rr_config_options[] = {
    {"store", RR_OPTION_READ, 0, .required = true, .read_value = read_store, .form = "URL, or", .inner = store_options,
     .help = "where cells are kept"},
    {"prefix", RR_OPTION_TEXT, AT(prefix), "rr", .help = "the first part of all keys in the store"},
    {"sources", RR_OPTION_READ, 0, .required = true, .read_value = read_sources, .form = "[{...}, ...]",
     .inner = source_options, .help = "where records come from"},
    {"contracts", RR_OPTION_READ, 0, .read_value = read_contracts, .form = "[{...}, ...]", .inner = rr_contract_options,
     .help = "the contracts of the records; here or in 'contracts_file'"},
    {"contracts_file", RR_OPTION_READ, 0, .read_value = read_contracts_file, .form = "PATH",
     .help = "a file with 'contracts:'; a relative path starts at this file's folder"},
    {"alerts", RR_OPTION_READ, 0, .read_value = read_alerts, .form = "[log, {nats: ...}]",
     .inner = nats_channel_options, .help = "where alerts go (default [log])"},
    {"plugins", RR_OPTION_READ, 0, .read_value = read_plugins, .form = "[PATH, ...]",
     .help = "shared objects with further sources, stores, alert channels or decoders"},
    {"drain_timeout", RR_OPTION_MILLIS, AT(drain_timeout_ms), "10s", .most = DAY_MS,
     .help = "how long SIGTERM waits for batches that have begun"},
    {"log_level", RR_OPTION_WORD, AT(log_level), "info", .words = log_words,
     .help = "the least important messages that are logged"},
    RR_OPTIONS_END,
};

#undef AT

/* Where the file has no `alerts`. */
static void set_default_channel(const rr_reading *reading, const rr_yaml_node *root, rr_config *config)
{
    rr_channel_config *channel = rr_arena_zero(reading->arena, sizeof *channel);

    if (channel == NULL) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, root), "memory ran out");
        return;
    }
    channel->kind = "log";
    channel->place = rr_yaml_place(reading, root);
    config->channels = channel;
    config->channel_count = 1;
}

static void read_root(const rr_reading *reading, const rr_yaml_node *root, rr_config *config)
{
    set_default_channel(reading, root, config);
    if (!rr_options_read(reading, rr_config_options, "the configuration", root, config, NULL)) {
        return;
    }
    config->store.prefix = config->prefix;
    if ((rr_yaml_get(root, "contracts") == NULL) == (rr_yaml_get(root, "contracts_file") == NULL)) {
        rr_problems_error(reading->problems, rr_yaml_place(reading, root),
                          "the configuration needs either 'contracts' or 'contracts_file'");
    }
    rr_config_check(reading, root, config);
}

static bool begin(const char *path, rr_config *config, rr_problems *problems, rr_reading *reading)
{
    rr_slice copy;

    *config = (rr_config){0};
    rr_arena_init(&config->arena, CONFIG_ARENA_CAP);
    copy = rr_arena_copy(&config->arena, (rr_slice){path, strlen(path) + 1});
    *reading = (rr_reading){copy.data, &config->arena, problems};
    if (copy.data == NULL) {
        rr_problems_error(problems, (rr_place){path, 0, 0}, "memory ran out");
    }
    return copy.data != NULL;
}

static rr_status read_text(const rr_reading *reading, rr_slice text, rr_config *config)
{
    size_t before = reading->problems->errors;
    const rr_yaml_node *root = rr_yaml_parse(reading, text);

    if (root != NULL) {
        read_root(reading, root, config);
    }
    rr_problems_sort(reading->problems);
    return reading->problems->errors == before ? RR_OK : RR_CONFIG;
}

rr_status rr_config_parse(const char *path_for_messages, rr_slice text, rr_config *config, rr_problems *problems)
{
    rr_reading reading;

    return begin(path_for_messages, config, problems, &reading) ? read_text(&reading, text, config) : RR_MEMORY;
}

rr_status rr_config_load(const char *path, rr_config *config, rr_problems *problems)
{
    rr_reading reading;
    rr_error error = {0};
    rr_slice text = {NULL, 0};

    if (!begin(path, config, problems, &reading)) {
        return RR_MEMORY;
    }
    if (rr_yaml_slurp(path, RR_YAML_BYTES_MAX, &config->arena, &text, &error) != RR_OK) {
        rr_problems_error(problems, (rr_place){path, 0, 0}, "%s", error.text);
        return error.status == RR_INPUT ? RR_CONFIG : error.status;
    }
    return read_text(&reading, text, config);
}

static void close_decoders(const rr_source_config *source)
{
    for (size_t k = 0; k < source->route_count; k++) {
        const rr_decoder_config *decoder = &source->routes[k].decoder;

        if (decoder->decoder != NULL) {
            decoder->ops->close(decoder->decoder);
        }
    }
}

void rr_config_fini(rr_config *config)
{
    for (size_t k = 0; k < config->source_count; k++) {
        close_decoders(&config->sources[k]);
    }
    rr_contracts_fini(&config->contracts);
    rr_arena_fini(&config->arena);
    *config = (rr_config){0};
}

const rr_route *rr_source_route(const rr_source_config *source, rr_slice subject)
{
    for (size_t i = 0; i < source->route_count; i++) {
        if (rr_subject_matches(source->routes[i].subject, subject)) {
            return &source->routes[i];
        }
    }
    return NULL;
}
