/* Loads the plugins before it looks for schemes: any of them may bring one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins.h"

#include <stdio.h>

#include "config_check.h"
#include "plugin_options.h"
#include "ports.h"

/* Whether a scheme is to be reported that no plugin has. Without plugins rr_config_load did so. */
typedef struct check {
    rr_config *config;
    rr_problems *problems;
    bool reports_schemes;
} check;

typedef struct values {
    const rr_plugin_value **items;
    size_t *count;
} values;

static void report_scheme(const check *c, rr_place place, const rr_error *error)
{
    if (c->reports_schemes) {
        rr_problems_error(c->problems, place, "%s", error->text);
    }
}

static bool read_options(const check *c, const char *kind, const char *name, const rr_plugin_option *table,
                         const rr_yaml_node *node, rr_place place, values to)
{
    rr_reading reading = {place.path, &c->config->arena, c->problems};
    char what[80];

    snprintf(what, sizeof what, "the %s '%.40s'", kind, name);
    return rr_plugin_options_read(&reading, table, what, node, place, to.items, to.count);
}

static void check_store(const check *c)
{
    rr_config *config = c->config;
    const rr_store_ops *ops;
    rr_error error;

    if (config->store_url == NULL) {
        return;
    }
    ops = rr_ports_store(config->store_url, &error);
    if (ops == NULL) {
        report_scheme(c, config->store_place, &error);
        return;
    }
    read_options(c, "store", ops->scheme, ops->options, config->store_options_node, config->store_place,
                 (values){&config->store.values, &config->store.value_count});
}

static void check_source(const check *c, rr_source_config *source)
{
    rr_error error;
    const rr_source_ops *ops = source->options.url == NULL ? NULL : rr_ports_source(source->options.url, &error);

    if (source->options.url == NULL) {
        return;
    }
    if (ops == NULL) {
        report_scheme(c, source->url_place, &error);
        return;
    }
    read_options(c, "source", ops->scheme, ops->options, source->options_node, source->place,
                 (values){&source->options.values, &source->options.value_count});
}

static void check_channel(const check *c, rr_channel_config *channel)
{
    rr_error error;
    const rr_channel_ops *ops = rr_ports_channel(channel->kind, &error);

    if (ops == NULL) {
        report_scheme(c, channel->place, &error);
        return;
    }
    read_options(c, "alert channel", ops->scheme, ops->options, channel->options_node, channel->place,
                 (values){&channel->options.values, &channel->options.value_count});
}

static void open_decoder(const check *c, rr_decoder_config *decoder)
{
    rr_error error = {0};

    if (decoder->ops->open(&decoder->options, &decoder->decoder, &error) != RR_OK) {
        decoder->decoder = NULL;
        rr_problems_error(c->problems, decoder->place, "decoder %.40s: %s", decoder->name, error.text);
    }
}

static void want_headers(const check *c, rr_source_config *source, const rr_decoder_config *decoder)
{
    size_t count = 0;
    const rr_slice *names = decoder->decoder == NULL || decoder->ops->headers == NULL
                                ? NULL
                                : decoder->ops->headers(decoder->decoder, &count);

    if (names != NULL && !rr_config_want_headers(c->config, source, names, count)) {
        rr_problems_error(c->problems, decoder->place,
                          "source %.80s: its mappings and decoders read more than %d headers", source->name,
                          RR_SOURCE_HEADERS_MAX);
    }
}

static void check_decoder(const check *c, rr_source_config *source, rr_decoder_config *decoder)
{
    rr_error error;
    const rr_decoder_ops *ops = decoder->name == NULL ? NULL : rr_ports_decoder(decoder->name, &error);

    if (decoder->name == NULL) {
        return;
    }
    if (ops == NULL) {
        rr_problems_error(c->problems, decoder->place, "%s", error.text);
        return;
    }
    if (read_options(c, "decoder", ops->name, ops->options, decoder->options_node, decoder->place,
                     (values){&decoder->options.values, &decoder->options.value_count})) {
        decoder->ops = ops;
        open_decoder(c, decoder);
        want_headers(c, source, decoder);
    }
}

static void check_ports(const check *c)
{
    check_store(c);
    for (size_t k = 0; k < c->config->source_count; k++) {
        rr_source_config *source = (rr_source_config *)&c->config->sources[k];

        check_source(c, source);
        for (size_t j = 0; j < source->route_count; j++) {
            check_decoder(c, source, (rr_decoder_config *)&source->routes[j].decoder);
        }
    }
    for (size_t k = 0; k < c->config->channel_count; k++) {
        check_channel(c, (rr_channel_config *)&c->config->channels[k]);
    }
}

rr_status rr_plugins_check(rr_config *config, rr_problems *problems)
{
    size_t before = problems->errors;
    check c = {config, problems, config->plugin_count != 0};

    for (size_t k = 0; k < config->plugin_count; k++) {
        rr_error error;

        if (rr_ports_load(config->plugins[k].path, &error) != RR_OK) {
            rr_problems_error(problems, config->plugins[k].place, "%s", error.text);
        }
    }
    /* If a plugin cannot be loaded, its schemes are unknown. */
    if (problems->errors == before) {
        check_ports(&c);
    }
    rr_problems_sort(problems);
    return problems->errors == before ? RR_OK : RR_CONFIG;
}
