/* Which plugin answers to which scheme. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ports.h"

#include <dlfcn.h>
#include <stdio.h>

extern const rr_store_ops rr_store_memory_ops, rr_store_redis_ops;
extern const rr_source_ops rr_source_jetstream_ops;
extern const rr_channel_ops rr_alert_log_ops, rr_alert_nats_ops;

enum { PLUGINS_MAX = 32 };

static const rr_plugin linked[] = {
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "store_memory", "cells in this process", .store = &rr_store_memory_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "store_redis", "cells in Redis", .store = &rr_store_redis_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "source_jetstream", "NATS JetStream", .source = &rr_source_jetstream_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "alert_log", "a line on standard error", .channel = &rr_alert_log_ops},
    {RR_PLUGIN_MAGIC, RR_PLUGIN_ABI, "alert_nats", "a NATS subject", .channel = &rr_alert_nats_ops},
};

static const rr_plugin *loaded[PLUGINS_MAX];
static size_t loaded_count;

rr_status rr_ports_load(const char *path, rr_error *error)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const rr_plugin *plugin = object == NULL ? NULL : dlsym(object, "rr_plugin");

    if (object == NULL) {
        return rr_fail(error, RR_CONFIG, "plugin %s: %s", path, dlerror());
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
static const rr_plugin *nth(size_t k)
{
    if (k < loaded_count) {
        return loaded[k];
    }
    return k - loaded_count < sizeof linked / sizeof *linked ? &linked[k - loaded_count] : NULL;
}

static bool has_scheme(const char *url, const char *scheme)
{
    size_t len = strlen(scheme);

    return strncmp(url, scheme, len) == 0 && (url[len] == ':' || url[len] == '\0');
}

const rr_store_ops *rr_ports_store(const char *url, rr_error *error)
{
    const char *scheme = has_scheme(url, "unix") ? "redis" : url;

    for (size_t k = 0; nth(k) != NULL; k++) {
        if (nth(k)->store != NULL && has_scheme(scheme, nth(k)->store->scheme)) {
            return nth(k)->store;
        }
    }
    rr_fail(error, RR_CONFIG,
            "store %s: no store has this scheme; there are memory:, redis://host:port/db and unix:///path", url);
    return NULL;
}

const rr_source_ops *rr_ports_source(const char *url, rr_error *error)
{
    const char *scheme = has_scheme(url, "tls") ? "nats" : url;

    for (size_t k = 0; nth(k) != NULL; k++) {
        if (nth(k)->source != NULL && has_scheme(scheme, nth(k)->source->scheme)) {
            return nth(k)->source;
        }
    }
    rr_fail(error, RR_CONFIG, "source %s: no source has this scheme; there is nats://host:port", url);
    return NULL;
}

const rr_channel_ops *rr_ports_channel(const char *kind, rr_error *error)
{
    for (size_t k = 0; nth(k) != NULL; k++) {
        if (nth(k)->channel != NULL && has_scheme(kind, nth(k)->channel->scheme)) {
            return nth(k)->channel;
        }
    }
    rr_fail(error, RR_CONFIG, "alert channel %s: there is none of this kind; there are log and nats", kind);
    return NULL;
}
