/* `options:` of a plugin, held against the plugin's own table. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PLUGIN_OPTIONS_H
#define RR_PLUGIN_OPTIONS_H

#include "yaml.h"
#include <rr/options.h>

/* Checks a mapping of names and scalars, and makes one value for each row of the table, in its order.
 *
 * table   NULL: the plugin takes no options
 * what    names the plugin in messages: "the store 'files'"
 * node    the mapping; NULL: the configuration has none
 * place   of what the plugin was named for, where node is NULL
 *
 * Values are in the reading's arena, and point into the nodes and the table. Every error is in the problems, each at the
 * place of its value or name; then some values are missing. False: there was an error. */
bool rr_plugin_options_read(const rr_reading *reading, const rr_plugin_option *table, const char *what,
                            const rr_yaml_node *node, rr_place place, const rr_plugin_value **values, size_t *count);

#endif
