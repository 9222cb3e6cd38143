/* What the parts of the JetStream source share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_INTERNAL_H
#define RR_JS_INTERNAL_H

#include "js_acks.h"
#include "nats_client.h"
#include "nats_protocol.h"
#include "source_jetstream.h"

enum {
    RR_JS_NAME_MAX = 255,
    RR_JS_FILTER_MAX = 512,
    RR_JS_EXPIRES_MS = 5000,   /* a pull lives that long at the server */
    RR_JS_HEARTBEAT_MS = 1000, /* and says every so often that it does; at most half of it */
    RR_JS_ACK_WAIT_MIN_S = 2
};

struct rr_source {
    rr_source_options options; /* with the defaults filled in */
    rr_nats *nats;
    jsCtx *js;
    char filter[RR_JS_FILTER_MAX + 1]; /* of the consumer, as the server tells; empty: all */
    bool work_queue;
    rr_error failed; /* CONFIG: does not come back by itself */

    /* Pulls. All deliveries and status messages come to `inbox`.*; a pull's reply subject ends with its number. */
    rr_nats_client client;
    char inbox[128], pull_subject[2 * RR_JS_NAME_MAX + 64];
    uint64_t pull_number;
    uint64_t void_below;  /* pulls with a lower number are void */
    size_t owed;          /* messages that the pulls outstanding may still bring */
    size_t message_bytes; /* what one of them is taken to have */
    int64_t heard_ms;     /* when the server last said anything here */
    int64_t voided_ms;    /* when pulls were last given up for its silence */
    int64_t pause_to_ms;  /* no new pull until then */
    bool bound;           /* subscribed, and the consumer is known to be there */
    bool anew;            /* the connection was opened since it was last bound */
    bool leaving;         /* no interest any more */
    int64_t revive_at_ms; /* not before that: open a new connection */
    int64_t rebind_at_ms; /* and this: subscribe again */
    bool clustered;
    int64_t missing_from_ms; /* since then the servers say that the consumer is not there; 0: they do not */
    int64_t ask_ms; /* how long an answer about the consumer is waited for; longer after each that did not come */

    /* ack: all */
    rr_acks acks;
    char head[RR_REPLY_HEAD_MAX]; /* of reply subjects */
    size_t head_len;
    int64_t forgive_to_ms; /* until then a gap may be a dead connection's doing */
    int64_t settled_ms;

    /* Publishing: answers come to `answers_inbox`.<number>. */
    natsSubscription *answers;
    char answers_inbox[128];
    uint64_t published;
};

/* js_consumer.c: stream and consumer as they must be; also fills in filter and work_queue. */
rr_status rr_js_bind(rr_source *source, rr_error *error);

/* The stream and, where config is not NULL, the consumer against what bind asks of them. CONFIG: it would refuse them. */
rr_status rr_js_check(rr_source *source, const jsConsumerConfig *config, rr_error *error);

/* js_survey.c */
rr_status rr_js_survey(const rr_source_options *options, rr_slice dead_letter, rr_source_survey *survey,
                       rr_error *error);

/* js_streams.c */
rr_status rr_js_make_stream(const rr_source_options *options, const char *name, const char *const *subjects,
                            size_t count, rr_error *error);

/* "consumer C of stream S" before the text. Returns error->status. */
rr_status rr_js_within(const rr_source *source, rr_error *error);

/* Asks for the consumer, waiting at most wait_ms. CONFIG, for good, where it or the stream is gone. The caller frees
 * *info with jsConsumerInfo_Destroy. */
rr_status rr_js_consumer_info(rr_source *source, int wait_ms, jsConsumerInfo **info, rr_error *error);

/* The servers say that stream or consumer is not there: why. One of a cluster that has just started says so for a while
 * of what it does not know yet, so there it is for good only if they go on to say it. */
rr_status rr_js_missing(rr_source *source, const char *why, rr_error *error);

/* Remembers a failure that does not come back by itself. */
rr_status rr_js_gone(rr_source *source, const char *why, rr_error *error);

/* source_jetstream.c */
/* Connected, and nothing looked at. Whoever has it disconnects and frees it. */
rr_status rr_js_open_unbound(const rr_source_options *options, rr_source **source, rr_error *error);
rr_status rr_js_connect(rr_source *source, rr_error *error);
void rr_js_disconnect(rr_source *source);
rr_status rr_js_unavailable(const rr_source *source, rr_error *error);
rr_status rr_js_flush(rr_source *source, int timeout_ms, rr_error *error);

/* js_pull.c */
/* Subscribed on a connection that stands, and the consumer is there. */
bool rr_js_in_step(const rr_source *source);
rr_status rr_js_fetch(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                      rr_error *error);

/* Subscribes to a fresh inbox without limits on what may wait in it. inbox: 128 bytes. */
rr_status rr_js_subscribe(rr_source *source, natsSubscription **sub, char *inbox, rr_error *error);

/* js_settle.c: after a bind or a reconnect under `ack: all`, and while there is a debt. */
rr_status rr_js_settle(rr_source *source, const jsConsumerInfo *info, rr_error *error);

/* What the message's reply subject says of it, as a delivery; false: not a delivery. */
bool rr_js_delivery(const rr_nats_client_message *message, rr_reply *reply, rr_slice *head, rr_delivery *delivery);

/* js_publish.c, js_replay.c */
rr_status rr_js_publish(rr_source *source, rr_publication *publications, size_t count, rr_error *error);
rr_status rr_js_bound(rr_source *source, rr_slice subject, char stream[256], rr_error *error);
rr_status rr_js_replay(rr_source *source, uint64_t from, uint64_t to, bool (*each)(void *, const rr_delivery *),
                       void *context, rr_error *error);

/* A number or a text after `"name":` in one of the server's flat answers. 0, false: not there. */
uint64_t rr_js_json_number(rr_slice json, const char *name);
bool rr_js_json_text(rr_slice json, const char *name, char *text, size_t room);

static inline rr_slice rr_js_data(natsMsg *message)
{
    int len = natsMsg_GetDataLength(message);

    return (rr_slice){natsMsg_GetData(message), len > 0 ? (size_t)len : 0};
}

#endif
