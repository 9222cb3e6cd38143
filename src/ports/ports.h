/* The plugins: those linked in, and those loaded from shared objects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PORTS_H
#define RR_PORTS_H

#include <rr/plugin.h>

/* Loads a shared object and keeps it until the program ends. CONFIG: it is not one of ours, or of another ABI. */
rr_status rr_ports_load(const char *path, rr_error *error);

/* The store of a URL's scheme ("memory:", "redis://...", "unix://..."), or NULL; error says which there are. */
const rr_store_ops *rr_ports_store(const char *url, rr_error *error);
const rr_source_ops *rr_ports_source(const char *url, rr_error *error);
const rr_channel_ops *rr_ports_channel(const char *kind, rr_error *error);

#endif
