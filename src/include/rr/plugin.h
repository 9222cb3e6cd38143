/* rr_plugin: how a source, a store, an alert channel or a decoder reaches the program.
 *
 * A plugin is a shared object that exports one symbol, `rr_plugin`, or is
 * linked in. The host checks magic and ABI before it looks at anything else.
 * A shared object may call what rr/error.h and rr/arena.h declare: the program
 * exports it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PLUGIN_H
#define RR_PLUGIN_H

#include <rr/channel.h>
#include <rr/decoder.h>
#include <rr/options.h>
#include <rr/source.h>
#include <rr/store.h>

#define RR_PLUGIN_MAGIC 0x72722d706c756731u /* "rr-plug1" */
#define RR_PLUGIN_ABI 5u                    /* raised with every change of a struct or an enum in these headers */

typedef struct rr_plugin {
    uint64_t magic;   /* RR_PLUGIN_MAGIC */
    uint32_t abi;     /* RR_PLUGIN_ABI */
    const char *name; /* "store_redis": kind, underscore, scheme or name */
    const char *help; /* one sentence */
    /* What the plugin offers; NULL where it offers none of the kind. */
    const rr_source_ops *source;
    const rr_store_ops *store;
    const rr_channel_ops *channel;
    const rr_decoder_ops *decoder;
} rr_plugin;

#endif
