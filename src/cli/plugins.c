/* Loads the plugins first, and looks for the schemes afterwards, since any plugin may bring one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins.h"

#include "ports.h"

static void check_schemes(const rr_config *config, rr_problems *problems)
{
    rr_error error;

    if (config->store_url != NULL && rr_ports_store(config->store_url, &error) == NULL) {
        rr_problems_error(problems, config->store_place, "%s", error.text);
    }
    for (size_t k = 0; k < config->source_count; k++) {
        const rr_source_config *source = &config->sources[k];

        if (source->options.url != NULL && rr_ports_source(source->options.url, &error) == NULL) {
            rr_problems_error(problems, source->url_place, "%s", error.text);
        }
    }
    for (size_t k = 0; k < config->channel_count; k++) {
        if (rr_ports_channel(config->channels[k].kind, &error) == NULL) {
            rr_problems_error(problems, config->channels[k].place, "%s", error.text);
        }
    }
}

rr_status rr_plugins_check(const rr_config *config, rr_problems *problems)
{
    size_t before = problems->errors;

    for (size_t k = 0; k < config->plugin_count; k++) {
        rr_error error;

        if (rr_ports_load(config->plugins[k].path, &error) != RR_OK) {
            rr_problems_error(problems, config->plugins[k].place, "%s", error.text);
        }
    }
    /* Without plugins, rr_config_load has checked the schemes. If a plugin cannot be loaded, its schemes are
     * unknown. */
    if (config->plugin_count != 0 && problems->errors == before) {
        check_schemes(config, problems);
    }
    rr_problems_sort(problems);
    return problems->errors == before ? RR_OK : RR_CONFIG;
}
