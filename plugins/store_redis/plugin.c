/* What the shared object of the Redis store exports; linked in, the program takes the ops themselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/plugin.h>

#include "store_redis.h"

#ifdef RR_PLUGIN_SHARED
extern const rr_plugin rr_plugin_export __asm__("rr_plugin") __attribute__((visibility("default")));

const rr_plugin rr_plugin_export = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "store_redis",
    .help = "Keeps cells in Redis 7.0 or newer as JSON values that anybody may GET.",
    .store = &rr_store_redis_ops,
};
#endif
