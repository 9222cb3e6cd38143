/* Alerts to NATS. Opening does not wait for a server: alerts are kept until there is one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "alert_nats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "nats_connect.h"

enum { TIMEOUT_MS = 5000, SUBJECT_MAX = 1024 };

struct rr_channel {
    rr_nats *nats;
    const char *prefix;
    int timeout_ms;
    rr_buf subject, id;
};

static bool good_prefix(const char *prefix)
{
    size_t len = strlen(prefix);

    return len > 0 && len < SUBJECT_MAX / 2 && prefix[0] != '.' && prefix[len - 1] != '.' &&
           strstr(prefix, "..") == NULL && strpbrk(prefix, "*> \t\r\n") == NULL && prefix[0] != '$';
}

static void nats_close(rr_channel *channel)
{
    if (channel != NULL) {
        rr_nats_close(channel->nats);
        rr_buf_fini(&channel->subject);
        rr_buf_fini(&channel->id);
        free(channel);
    }
}

static rr_status nats_open(const rr_channel_options *from, rr_channel **channel, rr_error *error)
{
    rr_channel *made = calloc(1, sizeof *made);
    rr_nats_options options = {
        .url = from->url,
        .name = "result-reconciler alerts",
        .user = from->user,
        .password = from->password,
        .token = from->token,
        .credentials_file = from->credentials_file,
        .nkey_seed_file = from->nkey_seed_file,
        .tls_ca_file = from->tls_ca_file,
        .tls_cert_file = from->tls_cert_file,
        .tls_key_file = from->tls_key_file,
        .timeout_ms = from->timeout_ms,
        .patient = true,
    };
    rr_status status = RR_OK;

    *channel = NULL;
    if (made == NULL) {
        return rr_fail(error, RR_MEMORY, "no memory for an alert channel");
    }
    made->prefix = from->prefix == NULL ? "rr.alerts" : from->prefix;
    made->timeout_ms = from->timeout_ms > 0 ? from->timeout_ms : TIMEOUT_MS;
    if (!good_prefix(made->prefix)) {
        status = rr_fail(error, RR_CONFIG, "prefix: '%s' cannot begin a subject", made->prefix);
    } else {
        status = rr_nats_open(&options, &made->nats, error);
    }
    if (status != RR_OK) {
        nats_close(made);
        return status;
    }
    *channel = made;
    return RR_OK;
}

static void put_token(rr_buf *subject, rr_slice token)
{
    rr_buf_char(subject, '.');
    for (size_t i = 0; i < token.len; i++) {
        unsigned char c = (unsigned char)token.data[i];
        bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';

        if (plain) {
            rr_buf_char(subject, (char)c);
        } else {
            rr_buf_format(subject, "%%%02X", c);
        }
    }
}

/* Writes subject and id of a message as texts that end with a NUL. */
static rr_status write_names(rr_channel *channel, const rr_alert_message *message, rr_error *error)
{
    rr_buf_clear(&channel->subject);
    rr_buf_text(&channel->subject, channel->prefix);
    put_token(&channel->subject, message->contract);
    put_token(&channel->subject, message->kind);
    rr_buf_char(&channel->subject, '\0');
    rr_buf_clear(&channel->id);
    rr_buf_slice(&channel->id, message->id);
    rr_buf_char(&channel->id, '\0');
    return rr_buf_ok(&channel->subject) && rr_buf_ok(&channel->id)
               ? RR_OK
               : rr_fail(error, RR_MEMORY, "no memory to send an alert");
}

static rr_status publish(rr_channel *channel, const rr_alert_message *message, rr_error *error)
{
    natsMsg *made = NULL;
    natsStatus status;
    rr_status named = write_names(channel, message, error);

    if (named != RR_OK) {
        return named;
    }
    status = natsMsg_Create(&made, channel->subject.data, NULL, message->json.data, (int)message->json.len);
    if (status == NATS_OK && message->id.len > 0) {
        status = natsMsgHeader_Set(made, "Nats-Msg-Id", channel->id.data);
    }
    if (status == NATS_OK) {
        status = natsConnection_PublishMsg(channel->nats->connection, made);
    }
    natsMsg_Destroy(made);
    if (status == NATS_MAX_PAYLOAD) {
        return rr_fail(
            error, RR_INPUT, "alert on %s: %zu bytes, but the server takes at most %" PRId64 " (max_payload)",
            channel->subject.data, message->json.len, natsConnection_GetMaxPayload(channel->nats->connection));
    }
    return status == NATS_OK ? RR_OK : rr_nats_fail(channel->nats, status, "send an alert", error);
}

static rr_status nats_send(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    natsStatus status;

    /* Without a connection the library would keep the alerts in its memory, and lose them with the process. */
    if (!rr_nats_connected(channel->nats)) {
        return rr_nats_fail_unconnected(channel->nats, "alerts", error);
    }
    for (size_t i = 0; i < count; i++) {
        rr_status sent = publish(channel, &messages[i], error);

        if (sent != RR_OK) {
            return sent;
        }
    }
    status = natsConnection_FlushTimeout(channel->nats->connection, channel->timeout_ms);
    return status == NATS_OK ? RR_OK : rr_nats_fail(channel->nats, status, "send alerts", error);
}

const rr_channel_ops rr_alert_nats_ops = {
    .scheme = "nats",
    .open = nats_open,
    .close = nats_close,
    .send = nats_send,
};

#ifdef RR_PLUGIN_SHARED
#include <rr/plugin.h>

extern const rr_plugin rr_plugin_export __asm__("rr_plugin") __attribute__((visibility("default")));

const rr_plugin rr_plugin_export = {
    .magic = RR_PLUGIN_MAGIC,
    .abi = RR_PLUGIN_ABI,
    .name = "alert_nats",
    .help = "Publishes alerts as JSON on subjects of NATS.",
    .channel = &rr_alert_nats_ops,
};
#endif
