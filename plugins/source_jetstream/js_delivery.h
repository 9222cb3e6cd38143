/* A message with a reply subject of JetStream, as a delivery. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_DELIVERY_H
#define RR_JS_DELIVERY_H

#include <rr/source.h>

#include "js_reply.h"
#include "nats_client.h"

/* Without headers. False: the message is no delivery, and *delivery is empty. head (may be NULL): as in rr_reply_parse. */
static inline bool rr_js_delivery(const rr_nats_client_message *message, rr_reply *reply, rr_slice *head,
                                  rr_delivery *delivery)
{
    if (!rr_reply_parse(message->reply, reply, head)) {
        *delivery = (rr_delivery){0};
        return false;
    }
    *delivery = (rr_delivery){
        .subject = message->subject,
        .payload = message->payload,
        .stream_sequence = reply->stream,
        .consumer_sequence = reply->consumer,
        .times_delivered = reply->delivered,
        .stored_at_us = (int64_t)(reply->stored_ns / 1000),
        .handle = (void *)message->reply.data,
    };
    return true;
}

#endif
