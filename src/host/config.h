/* rr_config: the configuration of `reconciler run`, from one strict YAML file; config_read.c reads it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CONFIG_H
#define RR_CONFIG_H

#include "contract_yaml.h"
#include "log.h"
#include "mapping_yaml.h"
#include <rr/channel.h>
#include <rr/decoder.h>
#include <rr/source.h>
#include <rr/store.h>

/* `decode: {plugin: NAME, options: {...}}` of a route. */
typedef struct rr_decoder_config {
    const char *name; /* NULL: the route has no decoder */
    const rr_yaml_node *options_node;
    rr_decoder_options options; /* set by rr_plugins_check, as ops and decoder */
    const rr_decoder_ops *ops;
    rr_decoder *decoder; /* open until rr_config_fini; NULL only after an error */
    rr_place place;      /* of the name */
} rr_decoder_config;

/* Records whose subject matches go by that contract; the first that matches counts. */
typedef struct rr_route {
    const char *subject;             /* a pattern; ">": all */
    const char *contract;            /* its name */
    const rr_contract *under;        /* NULL only after an error */
    const rr_mapping *mapping;       /* how its messages become records; NULL: they are rr.v1.Result */
    const rr_yaml_node *decode_node; /* `decode:`, or NULL */
    rr_decode decode;                /* what it came to: the mapping, and examples */
    rr_decoder_config decoder;       /* ... or a plugin's decoder */
    rr_place place;
} rr_route;

typedef struct rr_source_config {
    const char *name; /* unique; names its checkpoint */
    rr_source_options options;
    const rr_route *routes; /* at least one */
    size_t route_count;
    const char *dead_letters;         /* the first tokens of their subjects */
    const rr_yaml_node *options_node; /* `options:` of a plugin, or NULL; rr_plugins_check reads it */
    bool allow_loss;                  /* `run` starts although the servers' settings can lose records */
    rr_place place, url_place;
} rr_source_config;

typedef struct rr_channel_config {
    const char *kind; /* "log", "nats": the scheme of rr_channel_ops */
    rr_channel_options options;
    const rr_yaml_node *options_node; /* as of a source */
    rr_place place;
} rr_channel_config;

typedef struct rr_plugin_config {
    const char *path; /* of a shared object */
    rr_place place;
} rr_plugin_config;

/* All it points to lives until rr_config_fini. */
typedef struct rr_config {
    const char *store_url; /* redis://..., unix://..., memory: (also where the file says `memory`) */
    rr_store_options store;
    const rr_yaml_node *store_options_node; /* as of a source */
    rr_place store_place;
    const char *prefix;
    const rr_source_config *sources; /* at least one */
    size_t source_count;
    rr_contract_list contracts;
    const rr_channel_config *channels;
    size_t channel_count;
    const rr_plugin_config *plugins;
    size_t plugin_count;
    int drain_timeout_ms;
    rr_log_level log_level;
    rr_arena arena;
} rr_config;

/* Reads and checks; touches no network and loads no plugin: where the file names plugins, a scheme that the program
 * itself does not have is taken, and the caller asks the plugins for it (cli/plugins.h). CONFIG: there are errors, all in the problems (warnings may be there after
 * OK, too); IO: the file itself cannot be read; MEMORY. Initialises the config: fini it after any answer. */
rr_status rr_config_load(const char *path, rr_config *config, rr_problems *problems);
rr_status rr_config_parse(const char *path_for_messages, rr_slice text, rr_config *config, rr_problems *problems);

void rr_config_fini(rr_config *config);

/* True if a subject matches a pattern of NATS: `*` is one token, `>` at the end one or more. */
bool rr_subject_matches(const char *pattern, rr_slice subject);

/* The route of a subject, or NULL. */
const rr_route *rr_source_route(const rr_source_config *source, rr_slice subject);

/* The keys of the file, for documentation. */
extern const rr_option rr_config_options[];

#endif
