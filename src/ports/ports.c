/* Finds the plugin of a scheme. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ports.h"

#include <dlfcn.h>
#include <stdio.h>

#include "buf.h"

extern const rr_store_ops rr_store_memory_ops, rr_store_redis_ops;
extern const rr_source_ops rr_source_jetstream_ops;
extern const rr_channel_ops rr_alert_log_ops, rr_alert_nats_ops;

enum { PLUGINS_MAX = 32, SCHEME_MAX = 32, PATH_ROOM = 4096 };

static const rr_plugin linked[] = {
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "store_memory", "cells in this process", .store = &rr_store_memory_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "store_redis", "cells in Redis", .store = &rr_store_redis_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "source_jetstream", "NATS JetStream", .source = &rr_source_jetstream_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "alert_log", "a line on standard error", .channel = &rr_alert_log_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "alert_nats", "a NATS subject", .channel = &rr_alert_nats_ops},
};

static const rr_plugin *loaded[PLUGINS_MAX];
static size_t loaded_count;

/* Of a name without a slash, dlopen would search the library path. */
static void *open_object(const char *path)
{
    char here[PATH_ROOM];

    if (strchr(path, '/') != NULL) {
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    snprintf(here, sizeof here, "./%s", path);
    return dlopen(here, RTLD_NOW | RTLD_LOCAL);
}

rr_status rr_ports_load(const char *path, rr_error *error)
{
    void *object = open_object(path);
    const rr_plugin *plugin = object == NULL ? NULL : dlsym(object, "rr_plugin");

    if (object == NULL) {
        return rr_fail(error, RR_CONFIG, "plugin %s: it cannot be loaded: %s", path, dlerror());
    }
    if (plugin == NULL || plugin->magic != RR_PLUGIN_MAGIC) {
        dlclose(object);
        return rr_fail(error, RR_CONFIG, "plugin %s: it exports no rr_plugin, so it is not a plugin of this program",
                       path);
    }
    if (plugin->abi != RR_PLUGIN_ABI || loaded_count == PLUGINS_MAX) {
        unsigned abi = plugin->abi;

        dlclose(object);
        return abi != RR_PLUGIN_ABI
                   ? rr_fail(error, RR_CONFIG, "plugin %s: built for ABI %u, this program has %u: build it again", path,
                             abi, RR_PLUGIN_ABI)
                   : rr_fail(error, RR_CONFIG, "plugin %s: more than %d plugins", path, PLUGINS_MAX);
    }
    loaded[loaded_count++] = plugin;
    return RR_OK;
}

/* Loaded plugins first, so that one can stand in for a linked one. */
static const rr_plugin *plugin_at(size_t k)
{
    if (k < loaded_count) {
        return loaded[k];
    }
    return k - loaded_count < sizeof linked / sizeof *linked ? &linked[k - loaded_count] : NULL;
}

typedef enum port_kind { PORT_STORE, PORT_SOURCE, PORT_CHANNEL, PORT_DECODER } port_kind;

/* A scheme that means another one to all plugins. */
static const struct {
    port_kind kind;
    const char *scheme, *means;
} aliases[] = {
    {PORT_STORE, "unix", "redis"},
    {PORT_SOURCE, "tls", "nats"},
};

enum { ALIASES = sizeof aliases / sizeof *aliases };

static const char *scheme_of(const rr_plugin *plugin, port_kind kind)
{
    switch (kind) {
    case PORT_STORE: return plugin->store == NULL ? NULL : plugin->store->scheme;
    case PORT_SOURCE: return plugin->source == NULL ? NULL : plugin->source->scheme;
    case PORT_CHANNEL: return plugin->channel == NULL ? NULL : plugin->channel->scheme;
    default: return plugin->decoder == NULL ? NULL : plugin->decoder->name;
    }
}

static bool has_scheme(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);

    return strncmp(url, scheme, len) == 0 && (url[len] == ':' || url[len] == '\0');
}

/* A loaded plugin may stand in for a linked one. */
static bool is_listed(port_kind kind, size_t most, const char *scheme)
{
    for (size_t k = 0; k < most; k++) {
        if (scheme_of(plugin_at(k), kind) != NULL && strcmp(scheme_of(plugin_at(k), kind), scheme) == 0) {
            return true;
        }
    }
    return false;
}

static void list_schemes(port_kind kind, rr_buf *list)
{
    for (size_t k = 0; plugin_at(k) != NULL; k++) {
        const char *scheme = scheme_of(plugin_at(k), kind);

        if (scheme == NULL || is_listed(kind, k, scheme)) {
            continue;
        }
        rr_buf_format(list, "%s%s", list->len == 0 ? "" : ", ", scheme);
        for (size_t a = 0; a < ALIASES; a++) {
            if (aliases[a].kind == kind && strcmp(aliases[a].means, scheme) == 0) {
                rr_buf_format(list, ", %s", aliases[a].scheme);
            }
        }
    }
}

/* Bytes of a URL that may be shown: its scheme, for the rest may hold a password. A channel's kind and a decoder's name are
 * all scheme. */
static size_t shown_len(port_kind kind, const char *url)
{
    size_t len = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-_");

    return len > SCHEME_MAX || (url[len] != ':' && kind < PORT_CHANNEL) ? 0 : len;
}

static void fail_scheme(port_kind kind, const char *url, rr_error *error)
{
    static const char *const nouns[] = {"store has the scheme", "source has the scheme", "alert channel has the scheme",
                                        "decoder has the name"};
    rr_buf list = {0};
    size_t len = shown_len(kind, url);

    list_schemes(kind, &list);
    rr_fail(error, RR_CONFIG, "no %s %s%.*s%s: there %s%.*s; `plugins` of the configuration loads others", nouns[kind],
            len == 0 ? "of this URL" : "'", (int)len, url, len == 0 ? "" : "'", list.len == 0 ? "is none" : "are ",
            (int)list.len, list.data == NULL ? "" : list.data);
    rr_buf_fini(&list);
}

static const rr_plugin *find(port_kind kind, const char *url, rr_error *error)
{
    const char *wanted = url;

    for (size_t a = 0; a < ALIASES; a++) {
        if (aliases[a].kind == kind && has_scheme(url, aliases[a].scheme)) {
            wanted = aliases[a].means;
        }
    }
    for (size_t k = 0; plugin_at(k) != NULL; k++) {
        const char *scheme = scheme_of(plugin_at(k), kind);

        if (scheme != NULL && has_scheme(wanted, scheme)) {
            return plugin_at(k);
        }
    }
    fail_scheme(kind, url, error);
    return NULL;
}

const rr_store_ops *rr_ports_store(const char *url, rr_error *error)
{
    const rr_plugin *plugin = find(PORT_STORE, url, error);

    return plugin == NULL ? NULL : plugin->store;
}

const rr_source_ops *rr_ports_source(const char *url, rr_error *error)
{
    const rr_plugin *plugin = find(PORT_SOURCE, url, error);

    return plugin == NULL ? NULL : plugin->source;
}

const rr_channel_ops *rr_ports_channel(const char *kind, rr_error *error)
{
    const rr_plugin *plugin = find(PORT_CHANNEL, kind, error);

    return plugin == NULL ? NULL : plugin->channel;
}

const rr_decoder_ops *rr_ports_decoder(const char *name, rr_error *error)
{
    const rr_plugin *plugin = find(PORT_DECODER, name, error);

    return plugin == NULL ? NULL : plugin->decoder;
}
