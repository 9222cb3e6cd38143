/* A binary search over the sequences, one message a step.
 *
 * A consumer that starts at a time would need fewer requests. But a work queue
 * allows none beside its own consumer, and in a cluster such a consumer may be
 * with a server that does not have the newest messages yet. The leader, which
 * is asked here, has them all.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_find_time.h"

#include "js_get.h"

/* Every message below `from` is older than the time; none at or above `to` is, if any is there. */
typedef struct span {
    uint64_t from, to;
} span;

static rr_status ask_ends(rr_source *source, span *ends, rr_error *error)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(&info, source->js, source->options.stream, NULL, &code);

    if (status != NATS_OK) {
        return rr_nats_js_fail(source->nats, status, (int)code, "ask for the stream", error);
    }
    *ends = (span){.from = info->State.FirstSeq == 0 ? 1 : info->State.FirstSeq, .to = info->State.LastSeq + 1};
    jsStreamInfo_Destroy(info);
    return RR_OK;
}

/* Any message counts here, whatever its subject: the server finds the next one of all messages at once. */
static rr_status halve(rr_source *source, int64_t time_us, span *left, rr_error *error)
{
    uint64_t middle = left->from + (left->to - left->from) / 2;
    rr_js_stored found;
    rr_status status = rr_js_next_message(source, middle, "", &found, error);

    if (status != RR_OK) {
        return status;
    }
    if (found.sequence == 0 || found.sequence >= left->to || found.stored_at_us >= time_us) {
        left->to = middle;
    } else {
        left->from = found.sequence + 1;
    }
    return RR_OK;
}

rr_status rr_js_find_time(rr_source *source, int64_t time_us, uint64_t *sequence, rr_error *error)
{
    rr_js_stored found;
    rr_status status;
    span left = {1, 1};

    *sequence = 0;
    if (source->nats == NULL || !rr_nats_connected(source->nats)) {
        return rr_js_unavailable(source, error);
    }
    status = ask_ends(source, &left, error);
    while (status == RR_OK && left.from < left.to) {
        status = halve(source, time_us, &left, error);
    }
    status = status == RR_OK ? rr_js_next_message(source, left.to, source->filter, &found, error) : status;
    /* One that was stored meanwhile may be older than a time that is to come. */
    if (status == RR_OK && found.stored_at_us >= time_us) {
        *sequence = found.sequence;
    }
    return status;
}
