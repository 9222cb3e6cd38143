/* What the shared object of the memory store exports; linked in, the program takes the ops themselves. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/plugin.h>

#include "store_memory.h"

#ifdef RR_PLUGIN_SHARED
extern const rr_plugin rr_plugin_export __asm__("rr_plugin") __attribute__((visibility("default")));

const rr_plugin rr_plugin_export = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "store_memory",
    .help = "Keeps cells in the memory of this process; gone when it ends.",
    .store = &rr_store_memory_ops,
};
#endif
