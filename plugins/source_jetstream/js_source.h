/* rr_source of JetStream: its state, its connection, and what each part of the source asks of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_SOURCE_H
#define RR_JS_SOURCE_H

#include <rr/source.h>

#include "js_acks.h"
#include "js_headers.h"
#include "nats_client.h"

enum {
    RR_JS_NAME_MAX = 255,
    RR_JS_FILTER_MAX = 512,
    RR_JS_SUBJECT_MAX = RR_SOURCE_API_MAX + 2 * RR_JS_NAME_MAX + 64, /* of a request */
    RR_JS_EXPIRES_MS = 5000,                                         /* how long a pull lives at the server */
    RR_JS_HEARTBEAT_MS = 1000, /* how often the server says that the pull lives; at most half of its life */
    RR_JS_ACK_WAIT_MIN_S = 2
};

struct rr_source {
    rr_source_options options; /* with the defaults filled in */
    rr_nats *nats;
    jsCtx *js;
    rr_js_headers headers;
    char api[RR_SOURCE_API_MAX + 16];  /* what subjects of requests begin with: $JS.API */
    char filter[RR_JS_FILTER_MAX + 1]; /* the consumer's filter, from the server; empty: all */
    bool is_work_queue;
    rr_error failed; /* CONFIG: a failure that does not end by itself */

    /* Pulls. Deliveries and status messages come to `inbox`.*; the reply subject of a pull ends with its number. */
    rr_nats_client client;
    char inbox[128], pull_subject[RR_JS_SUBJECT_MAX];
    uint64_t pull_number;
    uint64_t void_below;    /* pulls with a lower number are void */
    size_t outstanding;     /* messages that outstanding pulls may still bring */
    size_t message_bytes;   /* estimated size of a message; 0: none has come */
    int64_t heard_ms;       /* when the server last sent anything */
    int64_t voided_ms;      /* when pulls were last voided because the server was silent */
    int64_t pause_until_ms; /* no new pull until then */
    bool is_bound;          /* subscribed, and the consumer is known to exist */
    bool is_reconnected;    /* the client was opened since the source was last bound */
    bool is_leaving;        /* unsubscribed; nothing more is fetched */
    int64_t reconnect_at_ms;
    int64_t rebind_at_ms;
    bool is_clustered;
    int64_t missing_since_ms; /* since then servers say that the consumer does not exist; 0: they do not */
    int64_t info_wait_ms;     /* wait for the next answer about the consumer; doubles after each that did not come */

    /* ack: all */
    rr_acks acks;
    char reply_head[RR_REPLY_HEAD_MAX]; /* the constant part of reply subjects */
    size_t reply_head_len;
    int64_t excuse_gaps_until_ms; /* until then a gap may come from our own broken connection */
    int64_t settled_ms;

    /* Publishing: confirmations come to `confirm_inbox`.<number>. */
    natsSubscription *confirmations;
    char confirm_inbox[128];
    uint64_t published;
};

/* Checks the options and connects; neither stream nor consumer is looked at. The caller ends it with rr_js_free. */
rr_status rr_js_open_unbound(const rr_source_options *options, rr_source **source, rr_error *error);

rr_status rr_js_connect(rr_source *source, rr_error *error);
void rr_js_disconnect(rr_source *source);

/* Frees what rr_js_open_unbound made, connected or not. */
void rr_js_free(rr_source *source);

/* Fails with UNAVAILABLE: not connected, and the last reason that the connection gave. */
rr_status rr_js_unavailable(const rr_source *source, rr_error *error);

/* Sends acknowledgements and pulls that are queued, and waits until the server has taken them. */
rr_status rr_js_flush(rr_source *source, int timeout_ms, rr_error *error);

/* Subscribes the connection of cnats to a fresh inbox, without a limit on waiting messages. inbox: 128 bytes. */
rr_status rr_js_subscribe(rr_source *source, natsSubscription **sub, char *inbox, rr_error *error);

/* Puts "consumer C of stream S: " before the text. Returns error->status. */
rr_status rr_js_within(const rr_source *source, rr_error *error);

/* Fails with CONFIG, also in every later fetch: the failure does not end by itself. */
rr_status rr_js_fail_for_good(rr_source *source, const char *why, rr_error *error);

static inline rr_slice rr_js_data(natsMsg *message)
{
    int len = natsMsg_GetDataLength(message);

    return (rr_slice){natsMsg_GetData(message), len > 0 ? (size_t)len : 0};
}

#endif
