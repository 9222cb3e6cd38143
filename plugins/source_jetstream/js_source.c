/* Connecting, and what each part of the source asks of the connection. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rr_status rr_js_connect(rr_source *source, rr_error *error)
{
    const rr_source_options *from = &source->options;
    rr_nats_options options = {
        .url = from->url,
        .user = from->user,
        .password = from->password,
        .token = from->token,
        .credentials_file = from->credentials_file,
        .nkey_seed_file = from->nkey_seed_file,
        .tls_ca_file = from->tls_ca_file,
        .tls_cert_file = from->tls_cert_file,
        .tls_key_file = from->tls_key_file,
        .timeout_ms = from->timeout_ms,
    };
    jsOptions js;
    natsStatus status;

    if (rr_nats_open(&options, &source->nats, error) != RR_OK) {
        return error == NULL ? RR_UNAVAILABLE : error->status;
    }
    jsOptions_Init(&js);
    js.Wait = from->timeout_ms;
    js.Prefix = source->api;
    status = natsConnection_JetStream(&source->js, source->nats->connection, &js);
    if (status != NATS_OK) {
        rr_nats_fail(source->nats, status, "JetStream", error);
        rr_js_disconnect(source);
        return rr_nats_status(status);
    }
    return RR_OK;
}

void rr_js_disconnect(rr_source *source)
{
    rr_nats_stop(source->nats);
    rr_nats_client_close(&source->client);
    source->is_bound = false;
    source->outstanding = 0;
    rr_nats_retire(source->nats, source->confirmations);
    source->confirmations = NULL;
    jsCtx_Destroy(source->js);
    source->js = NULL;
    rr_nats_close(source->nats);
    source->nats = NULL;
}

void rr_js_free(rr_source *source)
{
    rr_js_disconnect(source);
    rr_nats_client_fini(&source->client);
    rr_js_headers_fini(&source->headers);
    rr_acks_fini(&source->acks);
    free(source);
}

rr_status rr_js_unavailable(const rr_source *source, rr_error *error)
{
    const char *last = NULL;
    char place[256];

    if (source->nats == NULL) {
        rr_nats_place(source->options.url, place, sizeof place);
        return rr_fail(error, RR_UNAVAILABLE, "%s: not connected; trying again", place);
    }
    if (rr_nats_connected(source->nats) && !source->client.socket.is_open && source->client.socket.why[0] != '\0') {
        return rr_fail(error, RR_UNAVAILABLE, "%s: %s; trying again", source->nats->place, source->client.socket.why);
    }
    natsConnection_GetLastError(source->nats->connection, &last);
    return rr_fail(error, RR_UNAVAILABLE, "%s: not connected%s%s; trying again", source->nats->place,
                   last != NULL && last[0] != '\0' ? ": " : "", last == NULL ? "" : last);
}

rr_status rr_js_within(const rr_source *source, rr_error *error)
{
    return error == NULL
               ? RR_INTERNAL
               : rr_error_within(error, "consumer %s of stream %s", source->options.consumer, source->options.stream);
}

rr_status rr_js_fail_for_good(rr_source *source, const char *why, rr_error *error)
{
    rr_fail(&source->failed, RR_CONFIG, "%s", why);
    rr_js_within(source, &source->failed);
    if (error != NULL) {
        *error = source->failed;
    }
    return RR_CONFIG;
}

rr_status rr_js_subscribe(rr_source *source, natsSubscription **sub, char *inbox, rr_error *error)
{
    natsInbox *fresh = NULL;
    char subject[136];
    natsStatus status = natsInbox_Create(&fresh);

    if (status == NATS_OK) {
        snprintf(inbox, 128, "%s", fresh);
        snprintf(subject, sizeof subject, "%s.*", inbox);
        natsInbox_Destroy(fresh);
        status = natsConnection_SubscribeSync(sub, source->nats->connection, subject);
    }
    if (status == NATS_OK) {
        /* What may come is bounded by what is asked for; a limit here would only drop some of it. */
        status = natsSubscription_SetPendingLimits(*sub, -1, -1);
    }
    return status == NATS_OK ? RR_OK : rr_nats_fail(source->nats, status, "subscribe", error);
}

rr_status rr_js_flush(rr_source *source, int timeout_ms, rr_error *error)
{
    if (rr_nats_client_flush(&source->client, timeout_ms > 0 ? timeout_ms : 1)) {
        return RR_OK;
    }
    return source->client.socket.is_open ? rr_fail(error, RR_UNAVAILABLE, "%s: not everything was sent within %d ms",
                                                   source->nats->place, timeout_ms)
                                         : rr_js_unavailable(source, error);
}

/* --- opening --- */

static bool good_name(const char *name)
{
    return name != NULL && name[0] != '\0' && strlen(name) <= RR_JS_NAME_MAX &&
           strpbrk(name, ".*> \t\r\n/\\\"") == NULL;
}

static bool good_prefix(const char *prefix)
{
    size_t len = strlen(prefix);

    return len != 0 && len <= RR_SOURCE_API_MAX && prefix[0] != '.' && prefix[len - 1] != '.' &&
           strstr(prefix, "..") == NULL && strpbrk(prefix, "*> \t\r\n\"\\") == NULL;
}

static rr_status check_options(const rr_source_options *options, rr_error *error)
{
    if (!good_name(options->stream)) {
        return rr_fail(error, RR_CONFIG, "stream: '%s' is not a name of a stream (no points, spaces or wildcards)",
                       options->stream == NULL ? "" : options->stream);
    }
    if (!good_name(options->consumer)) {
        return rr_fail(error, RR_CONFIG, "consumer: '%s' is not a name of a consumer (no points, spaces or wildcards)",
                       options->consumer == NULL ? "" : options->consumer);
    }
    if (options->filter != NULL && strlen(options->filter) > RR_JS_FILTER_MAX) {
        return rr_fail(error, RR_CONFIG, "filter: longer than %d bytes", RR_JS_FILTER_MAX);
    }
    if (options->domain != NULL && options->api_prefix != NULL) {
        return rr_fail(error, RR_CONFIG, "domain and api_prefix: only one of them can be");
    }
    if (options->domain != NULL && (!good_name(options->domain) || strlen(options->domain) > RR_SOURCE_API_MAX)) {
        return rr_fail(error, RR_CONFIG,
                       "domain: '%s' is not a name of a JetStream domain (no points, spaces or wildcards)",
                       options->domain);
    }
    if (options->api_prefix != NULL && !good_prefix(options->api_prefix)) {
        return rr_fail(error, RR_CONFIG, "api_prefix: '%s' is not a subject without wildcards", options->api_prefix);
    }
    if (options->ack_wait_s != 0 && options->ack_wait_s < RR_JS_ACK_WAIT_MIN_S) {
        return rr_fail(error, RR_CONFIG, "ack_wait: %d s is too short for a batch; at least %d s, better 60 s",
                       options->ack_wait_s, RR_JS_ACK_WAIT_MIN_S);
    }
    return RR_OK;
}

static void fill_in(rr_source *source, const rr_source_options *options)
{
    rr_source_options *own = &source->options;

    *own = *options;
    own->url = own->url == NULL ? "nats://127.0.0.1:4222" : own->url;
    own->batch = own->batch == 0 ? 1024 : own->batch;
    own->pulls = own->pulls == 0 ? 3 : own->pulls;
    own->ack_wait_s = own->ack_wait_s == 0 ? 60 : own->ack_wait_s;
    own->timeout_ms = own->timeout_ms <= 0 ? 5000 : own->timeout_ms;
    if (own->domain != NULL) {
        snprintf(source->api, sizeof source->api, "$JS.%s.API", own->domain);
    } else {
        snprintf(source->api, sizeof source->api, "%s", own->api_prefix == NULL ? "$JS.API" : own->api_prefix);
    }
    snprintf(source->pull_subject, sizeof source->pull_subject, "%s.CONSUMER.MSG.NEXT.%s.%s", source->api, own->stream,
             own->consumer);
}

rr_status rr_js_open_unbound(const rr_source_options *options, rr_source **source, rr_error *error)
{
    rr_source *made;
    rr_status status = check_options(options, error);

    *source = NULL;
    if (status != RR_OK) {
        return status;
    }
    made = calloc(1, sizeof *made);
    if (made == NULL) {
        return rr_fail(error, RR_MEMORY, "no memory for a source");
    }
    fill_in(made, options);
    status = rr_js_headers_init(&made->headers, options->headers, error);
    if (status == RR_OK) {
        status = rr_js_connect(made, error);
    }
    if (status != RR_OK) {
        rr_js_free(made);
        return status;
    }
    *source = made;
    return RR_OK;
}
