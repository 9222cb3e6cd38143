/* Loads the plugins of a configuration, checks that every scheme it names has a plugin, and reads their options. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PLUGINS_H
#define RR_PLUGINS_H

#include "config.h"

/* Loads the plugins that the configuration names, and adds a problem at its place for each plugin that cannot be loaded,
 * for each scheme (of the store, a source, an alert channel) and decoder that no plugin has, and for each option that
 * does not fit the plugin's table. Puts the values of options into the configuration, and opens its decoders, which
 * rr_config_fini closes. The configuration may be one that rr_config_load found errors in. Touches no network. OK or
 * CONFIG. */
rr_status rr_plugins_check(rr_config *config, rr_problems *problems);

#endif
