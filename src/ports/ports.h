/* The plugins: those linked in, and those loaded from shared objects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_PORTS_H
#define RR_PORTS_H

#include <rr/plugin.h>

/* Loads a shared object and keeps it until the program ends. A relative path starts at the working directory. CONFIG: the
 * file cannot be loaded, is no plugin of this program, or was built for another ABI. */
rr_status rr_ports_load(const char *path, rr_error *error);

/* The plugin of a URL's scheme ("memory:", "redis://...", "unix://..."), of a channel's kind, or of a decoder's name.
 * NULL: there is none; the error (CONFIG) names the schemes that there are, and shows nothing else of the URL. */
const rr_store_ops *rr_ports_store(const char *url, rr_error *error);
const rr_source_ops *rr_ports_source(const char *url, rr_error *error);
const rr_channel_ops *rr_ports_channel(const char *kind, rr_error *error);
const rr_decoder_ops *rr_ports_decoder(const char *name, rr_error *error);

#endif
