/* What is outstanding at the server and unknown here, under `ack: all`.
 *
 * A process before us, or a connection that broke, may have been given
 * messages that nobody has done. One acknowledgement of ours beyond them would
 * lose them. So we look for them in the stream, ask for each (a NAK makes the
 * server send it at once, else it comes after ack_wait), and acknowledge
 * nothing until all have come.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_settle.h"

#include <stdio.h>

#include "js_replay.h"

typedef struct looking {
    rr_source *source;
    uint64_t unknown;
    uint64_t consumer_sequence; /* any that the server has given out and that is not acknowledged */
} looking;

static bool ask_for(void *context, const rr_delivery *delivery)
{
    looking *look = context;
    const rr_source_options *options = &look->source->options;
    char subject[RR_REPLY_MAX];
    int len;

    if (!rr_acks_know(&look->source->acks, delivery->stream_sequence)) {
        look->unknown++;
        len = snprintf(subject, sizeof subject, "$JS.ACK.%s.%s.1.%llu.%llu.%lld.0", options->stream, options->consumer,
                       (unsigned long long)delivery->stream_sequence, (unsigned long long)look->consumer_sequence,
                       (long long)delivery->stored_at_us * 1000);
        rr_nats_client_publish(&look->source->client, (rr_slice){subject, (size_t)len}, (rr_slice){NULL, 0},
                               RR_SLICE("-NAK"));
    }
    return true;
}

rr_status rr_js_settle(rr_source *source, const jsConsumerInfo *info, rr_error *error)
{
    uint64_t floor = info->AckFloor.Stream, delivered = info->Delivered.Stream;
    uint64_t waiting = info->NumAckPending > 0 ? (uint64_t)info->NumAckPending : 0, known;
    looking look = {.source = source, .consumer_sequence = info->Delivered.Consumer};
    rr_status status = RR_OK;

    rr_acks_floor(&source->acks, floor);
    known = rr_acks_count(&source->acks, delivered);
    if (waiting > known && delivered > floor) {
        status = rr_js_replay(source, floor + 1, delivered, ask_for, &look, error);
    }
    if (status == RR_OK) {
        /* Some that the server counts may have been removed from the stream; those never come. */
        waiting = waiting > known ? waiting - known : 0;
        rr_acks_owe(&source->acks, look.unknown < waiting ? look.unknown : waiting, delivered);
        source->settled_ms = rr_nats_now_ms();
    }
    return status;
}
