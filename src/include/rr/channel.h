/* The channel port: where alerts for people go. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CHANNEL_H
#define RR_CHANNEL_H

#include <rr/error.h>
#include <rr/options.h>
#include <rr/slice.h>

typedef struct rr_channel rr_channel; /* defined by the channel */

/* One alert: a burst of one kind under one contract. */
typedef struct rr_alert_message {
    rr_slice contract, kind;
    rr_slice id;   /* stable: the same alert sent again has the same */
    rr_slice json; /* the whole alert as one JSON object */
    rr_slice text; /* one line for a person */
} rr_alert_message;

typedef struct rr_channel_options {
    const char *url;    /* nats: where; else NULL */
    const char *prefix; /* nats: subject prefix, "rr.alerts" */
    const char *user, *password, *token, *credentials_file, *nkey_seed_file;
    const char *tls_ca_file, *tls_cert_file, *tls_key_file;
    int timeout_ms;
    const rr_plugin_value *values; /* of `options:`, as the plugin's table says; NULL: it has none */
    size_t value_count;
} rr_channel_options;

typedef struct rr_channel_ops {
    const char *scheme;              /* "log", "nats" */
    const rr_plugin_option *options; /* the table of `options:`; NULL: it takes none */
    rr_status (*open)(const rr_channel_options *options, rr_channel **channel, rr_error *error);
    void (*close)(rr_channel *channel);
    /* OK: handed over as safely as the channel can (nats: flushed to the server). Blocks up to the time-out. */
    rr_status (*send)(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error);
} rr_channel_ops;

#endif
