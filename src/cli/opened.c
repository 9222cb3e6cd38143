/* Reads a configuration, and opens its store, sources and alert channels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "opened.h"

#include <stdio.h>
#include <stdlib.h>

#include "contract_note.h"
#include "decision.h"
#include "decoding.h"
#include "plugins.h"
#include "ports.h"

static rr_bound_route find_route(const void *context, rr_slice subject)
{
    const rr_route *route = rr_source_route(context, subject);

    return route == NULL ? (rr_bound_route){.contract = NULL}
                         : (rr_bound_route){.contract = route->under,
                                            .mapping = route->mapping,
                                            .decoder_ops = route->decoder.ops,
                                            .decoder = route->decoder.decoder};
}

/* The canonical text of a source's mappings and decoders; empty where it has none. False: memory ran out. */
static bool print_mappings(const rr_source_config *source, rr_buf *out)
{
    for (size_t k = 0; k < source->route_count; k++) {
        const rr_route *route = &source->routes[k];

        if (route->decode_node != NULL) {
            rr_buf_format(out, "subject %s contract %s\n", route->subject, route->contract);
        }
        if (route->mapping != NULL) {
            rr_mapping_print(route->mapping, out);
        } else if (route->decoder.ops != NULL) {
            rr_decoder_print(route->decoder.ops, &route->decoder.options, out);
        }
    }
    return rr_buf_ok(out);
}

static rr_status bind_contracts(rr_opened *opened, rr_error *error)
{
    for (size_t k = 0; k < opened->config.contracts.count; k++) {
        rr_buf text = {0};

        rr_contract_print(&opened->config.contracts.items[k], &text);
        if (!rr_buf_ok(&text)) {
            return rr_fail(error, RR_MEMORY, "no memory for the contracts");
        }
        opened->config.contracts.items[k].eras = &opened->eras[k];
        opened->contracts[k] =
            (rr_bound_contract){&opened->config.contracts.items[k], rr_buf_view(&text), &opened->eras[k]};
    }
    return RR_OK;
}

static rr_status bind_sources(rr_opened *opened, rr_error *error)
{
    for (size_t k = 0; k < opened->config.source_count; k++) {
        const rr_source_config *source = &opened->config.sources[k];
        rr_buf mappings = {0};

        if (!print_mappings(source, &mappings)) {
            rr_buf_fini(&mappings);
            return rr_fail(error, RR_MEMORY, "no memory for the mappings");
        }
        opened->sources[k] = (rr_bound_source){.name = rr_slice_of(source->name),
                                               .stream = rr_slice_of(source->options.stream),
                                               .consumer = rr_slice_of(source->options.consumer),
                                               .batch = source->options.batch == 0 ? 1024 : source->options.batch,
                                               .dead_letters = source->dead_letters,
                                               .mappings = rr_buf_view(&mappings),
                                               .route = find_route,
                                               .context = source};
    }
    return RR_OK;
}

rr_status rr_opened_read(rr_opened *opened, const rr_args *args, rr_error *error)
{
    rr_problems problems = {0};
    rr_buf text = {0};
    rr_status status;

    *opened = (rr_opened){0};
    status = rr_config_load(rr_args_value(args, "config"), &opened->config, &problems);
    if (rr_plugins_check(&opened->config, &problems) != RR_OK && status == RR_OK) {
        status = RR_CONFIG;
    }
    rr_problems_print(&problems, &text);
    if (text.len != 0) {
        fwrite(text.data, 1, text.len, stderr);
    }
    if (status != RR_OK) {
        rr_problems_fail(&problems, error);
        if (error->status == RR_OK) {
            rr_fail(error, status, "%s cannot be used", rr_args_value(args, "config"));
        }
        error->status = status;
    }
    rr_buf_fini(&text);
    rr_problems_fini(&problems);
    if (status != RR_OK) {
        return status;
    }
    rr_log_set_level(opened->config.log_level);
    opened->sources = calloc(opened->config.source_count + 1, sizeof *opened->sources);
    opened->channels = calloc(opened->config.channel_count + 1, sizeof *opened->channels);
    opened->contracts = calloc(opened->config.contracts.count + 1, sizeof *opened->contracts);
    opened->eras = calloc(opened->config.contracts.count + 1, sizeof *opened->eras);
    if (opened->sources == NULL || opened->channels == NULL || opened->contracts == NULL || opened->eras == NULL) {
        return rr_fail(error, RR_MEMORY, "no memory");
    }
    status = bind_sources(opened, error);
    return status == RR_OK ? bind_contracts(opened, error) : status;
}

static rr_status open_store(rr_opened *opened, rr_store **store, rr_error *error)
{
    opened->store_ops = rr_ports_store(opened->config.store_url, error);
    return opened->store_ops == NULL
               ? error->status
               : opened->store_ops->open(opened->config.store_url, &opened->config.store, store, error);
}

rr_status rr_opened_store(rr_opened *opened, rr_error *error)
{
    return open_store(opened, &opened->store, error);
}

rr_status rr_opened_prefix(rr_opened *opened, rr_error *error)
{
    rr_arena arena;
    rr_slice prefix;
    uint64_t number;
    rr_status status;

    rr_arena_init(&arena, 0);
    status = rr_generation_read(opened->store_ops, opened->store, rr_slice_of(opened->config.prefix), &arena, &prefix,
                                &number, error);
    snprintf(opened->prefix, sizeof opened->prefix, "%.*s", (int)prefix.len, prefix.len == 0 ? "" : prefix.data);
    rr_arena_fini(&arena);
    return status;
}

rr_status rr_opened_eras(rr_opened *opened, rr_error *error)
{
    rr_status status = RR_OK;
    rr_buf text = {0};
    rr_arena arena;

    rr_arena_init(&arena, 0);
    for (size_t k = 0; k < opened->config.contracts.count && status == RR_OK; k++) {
        rr_slice key = rr_store_key(rr_slice_of(opened->prefix), "contract", opened->config.contracts.items[k].name,
                                    &text, &arena);
        rr_contract_note note = {0};

        status = key.data == NULL ? rr_fail(error, RR_MEMORY, "no memory")
                                  : rr_contract_note_load(opened->store_ops, opened->store, key, &arena, &note, error);
        opened->eras[k] = note.eras;
    }
    rr_buf_fini(&text);
    rr_arena_fini(&arena);
    return status;
}

rr_status rr_opened_outbox_store(rr_opened *opened, rr_error *error)
{
    /* The cells of the memory store are in one handle, so a second one would see none. Alerts then go out from the service
     * loop. */
    return strncmp(opened->config.store_url, "memory", 6) == 0 ? RR_OK
                                                               : open_store(opened, &opened->outbox_store, error);
}

static rr_status open_source(rr_opened *opened, size_t which, const rr_source_options *options, rr_error *error)
{
    rr_bound_source *source = &opened->sources[which];

    source->ops = rr_ports_source(options->url, error);
    if (source->ops == NULL) {
        return error->status;
    }
    return source->ops->open(options, &source->source, error) == RR_OK
               ? RR_OK
               : rr_error_within(error, "source %s", opened->config.sources[which].name);
}

rr_status rr_opened_source(rr_opened *opened, size_t which, rr_error *error)
{
    return open_source(opened, which, &opened->config.sources[which].options, error);
}

rr_status rr_opened_reader(rr_opened *opened, size_t which, rr_error *error)
{
    rr_source_options options = opened->config.sources[which].options;

    options.read_only = true;
    return open_source(opened, which, &options, error);
}

rr_status rr_opened_channels(rr_opened *opened, rr_error *error)
{
    for (size_t k = 0; k < opened->config.channel_count; k++) {
        const rr_channel_config *config = &opened->config.channels[k];

        opened->channels[k].ops = rr_ports_channel(config->kind, error);
        if (opened->channels[k].ops == NULL ||
            opened->channels[k].ops->open(&config->options, &opened->channels[k].channel, error) != RR_OK) {
            return rr_error_within(error, "alert channel %s", config->kind);
        }
    }
    return RR_OK;
}

void rr_opened_close(rr_opened *opened)
{
    for (size_t k = 0; opened->sources != NULL && k < opened->config.source_count; k++) {
        if (opened->sources[k].source != NULL) {
            opened->sources[k].ops->close(opened->sources[k].source);
        }
    }
    for (size_t k = 0; opened->channels != NULL && k < opened->config.channel_count; k++) {
        if (opened->channels[k].channel != NULL) {
            opened->channels[k].ops->close(opened->channels[k].channel);
        }
    }
    for (size_t k = 0; opened->contracts != NULL && k < opened->config.contracts.count; k++) {
        free((char *)opened->contracts[k].text.data);
    }
    if (opened->store != NULL) {
        opened->store_ops->close(opened->store);
    }
    if (opened->outbox_store != NULL) {
        opened->store_ops->close(opened->outbox_store);
    }
    for (size_t k = 0; opened->sources != NULL && k < opened->config.source_count; k++) {
        free((char *)opened->sources[k].mappings.data);
    }
    free(opened->sources);
    free(opened->channels);
    free(opened->contracts);
    free(opened->eras);
    rr_config_fini(&opened->config);
}
