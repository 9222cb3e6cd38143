/* Loads the plugins of a configuration, and checks that every scheme it names has a plugin. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PLUGINS_H
#define RR_PLUGINS_H

#include "config.h"

/* Loads the plugins that the configuration names, and adds a problem at its place for each plugin that cannot be loaded
 * and for each scheme (of the store, a source, an alert channel) that no plugin has. The configuration may be one that
 * rr_config_load found errors in. Touches no network. OK or CONFIG. */
rr_status rr_plugins_check(const rr_config *config, rr_problems *problems);

#endif
