/* Reads the streams into memory, by the rules of `run`, and tells which windows they cover. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_read.h"

#include "must.h"

/* Decides what the intake holds, and empties it. */
static void decide(rr_verify *v)
{
    size_t count = v->intake.count;

    v->status = count == 0 ? RR_OK : rr_batch_begin(v->batch, v->intake.items, count, v->error);
    if (v->status == RR_OK && count != 0) {
        v->status = rr_batch_step(v->batch, v->options->now_us(), v->error);
    }
    for (size_t k = 0; k < count && v->status == RR_OK; k++) {
        RR_MUST(v->intake.items[k].settled); /* the memory store writes every unit, or its call fails */
    }
    v->totals->records += count;
    rr_intake_reset(&v->intake);
}

static bool take_delivery(void *context, const rr_delivery *delivery)
{
    rr_verify *v = context;
    const rr_bound_source *source = &v->options->sources[v->source];
    rr_verify_coverage *c = &v->coverage[v->source];
    rr_bound_route route = source->route(source->context, delivery->subject);
    size_t before = v->intake.count;

    if (c->read_upto == 0) {
        c->since_us = delivery->stored_at_us;
    }
    c->read_upto = delivery->stream_sequence;
    if (delivery->stream_sequence < c->starts_at || delivery->stored_at_us < c->starts_at_us ||
        route.contract != v->options->contract) {
        return true;
    }
    /* No clock: a record that was admitted in time is admitted again, though its cell may have expired since. */
    if (!rr_intake_add_routed(&v->intake, route, source->stream, delivery, INT64_MIN)) {
        v->status = rr_verify_no_memory(v->error);
        return false;
    }
    rr_intake_drop_refused(&v->intake, before, NULL, NULL);
    if (rr_intake_is_full(&v->intake)) {
        decide(v);
    }
    return v->status == RR_OK;
}

rr_status rr_verify_read_on(rr_verify *v)
{
    rr_status status = RR_OK;

    for (v->source = 0; v->source < v->options->source_count && status == RR_OK; v->source++) {
        const rr_bound_source *source = &v->options->sources[v->source];
        uint64_t upto = v->options->upto == NULL ? 0 : v->options->upto[v->source];

        if (v->options->upto != NULL && upto <= v->coverage[v->source].read_upto) {
            continue;
        }
        status =
            source->ops->replay(source->source, v->coverage[v->source].read_upto + 1, upto, take_delivery, v, v->error);
        if (status == RR_OK && v->status == RR_OK) {
            decide(v);
        }
        status = status == RR_OK ? v->status : status;
    }
    return status;
}

rr_status rr_verify_ask_coverage(rr_verify *v)
{
    rr_status status = RR_OK;

    v->totals->covers_all = true;
    for (size_t k = 0; k < v->options->source_count && status == RR_OK; k++) {
        rr_source_info info = {0};

        status = v->options->sources[k].ops->info(v->options->sources[k].source, &info, v->error);
        v->coverage[k].has_beginning = info.first_sequence <= 1;
        v->coverage[k].starts_at = info.starts_at;
        v->coverage[k].starts_at_us = info.starts_at_us;
        v->totals->covers_all &= v->coverage[k].has_beginning;
    }
    return status;
}

rr_status rr_verify_ask_acked(rr_verify *v, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < v->options->source_count && status == RR_OK; k++) {
        rr_source_info info = {0};

        v->coverage[k].acked_upto = UINT64_MAX;
        if (v->options->upto == NULL) {
            status = v->options->sources[k].ops->info(v->options->sources[k].source, &info, error);
        }
        if (info.delivered != 0) { /* without a consumer no record is under way */
            v->coverage[k].acked_upto = info.ack_floor;
        }
    }
    return status;
}

/* No record of a window can be stored before the window starts. */
bool rr_verify_covers(const rr_verify *v, rr_window window)
{
    for (size_t k = 0; k < v->options->source_count; k++) {
        if (!v->coverage[k].has_beginning &&
            (v->options->contract->window_kind == RR_WINDOW_GLOBAL || window.start < v->coverage[k].since_us)) {
            return false;
        }
    }
    return true;
}

bool rr_verify_is_moving(const rr_verify *v, const rr_verify_pair *p)
{
    for (size_t k = 0; k < v->options->source_count; k++) {
        rr_slice stream = v->options->sources[k].stream;

        if ((rr_slice_equal(stream, p->found.stream) && p->found.stream_sequence > v->coverage[k].read_upto) ||
            (rr_slice_equal(stream, p->expected.stream) && p->expected.stream_sequence > v->coverage[k].acked_upto)) {
            return true;
        }
    }
    return false;
}
