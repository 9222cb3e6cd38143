/* Deliveries that are outstanding at the server and unknown here, under `ack: all`.
 *
 * The server may have delivered messages to an earlier process, or over a
 * connection that broke, and nobody has processed them. One acknowledgement
 * beyond them would lose them. So they are looked up in the stream, each is
 * asked for by a NAK (without it the server repeats it after ack_wait), and
 * nothing is acknowledged until all have come.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_settle.h"

#include <stdio.h>

#include "js_replay.h"

typedef struct search {
    rr_source *source;
    rr_slice head; /* of reply subjects */
    uint64_t unknown;
    uint64_t consumer_sequence; /* any that was delivered and is not acknowledged */
} search;

/* As the server writes it; before any delivery came, as it is written without a domain, which a server takes too. */
static rr_slice reply_head(const rr_source *source, char *text)
{
    int len;

    if (source->reply_head_len != 0) {
        return (rr_slice){source->reply_head, source->reply_head_len};
    }
    len = snprintf(text, RR_REPLY_HEAD_MAX, "$JS.ACK.%s.%s.", source->options.stream, source->options.consumer);
    return (rr_slice){text, (size_t)len};
}

static bool ask_again(void *context, const rr_delivery *delivery)
{
    search *missing = context;
    char subject[RR_REPLY_MAX];
    int len;

    if (!rr_acks_know(&missing->source->acks, delivery->stream_sequence)) {
        missing->unknown++;
        len = snprintf(subject, sizeof subject, "%.*s1.%llu.%llu.%lld.0", (int)missing->head.len, missing->head.data,
                       (unsigned long long)delivery->stream_sequence, (unsigned long long)missing->consumer_sequence,
                       (long long)delivery->stored_at_us * 1000);
        rr_nats_client_publish(&missing->source->client, (rr_slice){subject, (size_t)len}, (rr_slice){NULL, 0},
                               RR_SLICE("-NAK"));
    }
    return true;
}

rr_status rr_js_settle(rr_source *source, const jsConsumerInfo *info, rr_error *error)
{
    uint64_t floor = info->AckFloor.Stream, delivered = info->Delivered.Stream;
    uint64_t waiting = info->NumAckPending > 0 ? (uint64_t)info->NumAckPending : 0, known;
    search missing = {.source = source, .consumer_sequence = info->Delivered.Consumer};
    char head[RR_REPLY_HEAD_MAX];
    rr_status status = RR_OK;

    missing.head = reply_head(source, head);
    rr_acks_floor(&source->acks, floor);
    known = rr_acks_count(&source->acks, delivered);
    if (waiting > known && delivered > floor) {
        status = rr_js_replay(source, floor + 1, delivered, ask_again, &missing, error);
    }
    if (status == RR_OK) {
        /* Messages that were removed from the stream are still counted by the server, and never come. */
        waiting = waiting > known ? waiting - known : 0;
        rr_acks_owe(&source->acks, missing.unknown < waiting ? missing.unknown : waiting, delivered);
        source->settled_ms = rr_nats_now_ms();
    }
    return status;
}
