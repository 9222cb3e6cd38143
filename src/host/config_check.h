/* What a configuration must hold beyond the types of its keys. Every check adds to the problems. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CONFIG_CHECK_H
#define RR_CONFIG_CHECK_H

#include "config.h"

/* How a connection says who it is; NULL: not given. */
typedef struct rr_auth {
    const char *user, *password, *token, *credentials, *nkey;
} rr_auth;

/* At most one way, and that one complete. */
void rr_check_auth(const rr_reading *reading, const rr_yaml_node *node, const rr_auth *auth);

/* These do nothing where node or text is NULL (the key is missing, and that was reported). */
void rr_check_nats_url(const rr_reading *reading, const rr_yaml_node *node, const char *url);
void rr_check_durable(const rr_reading *reading, const rr_yaml_node *node, const char *key, const char *name);
void rr_check_subject(const rr_reading *reading, const rr_yaml_node *node, const char *key, const char *subject,
                      bool may_be_pattern);

/* The keys of `decode:` with a plugin. */
extern const rr_option rr_decoder_config_options[];

/* Adds names to the headers that a source asks for, each once. False: they are more than RR_SOURCE_HEADERS_MAX, or memory ran
 * out. */
bool rr_config_want_headers(rr_config *config, rr_source_config *source, const rr_slice *names, size_t count);

/* The whole: schemes, names that refer to each other, sources that meet. Binds routes to their contracts. */
void rr_config_check(const rr_reading *reading, const rr_yaml_node *root, rr_config *config);

#endif
