/* A batch is ended while the next one is with the worker, and grows while the one before is in work. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "receiving.h"

#include "settling.h"
#include "worker.h"

enum { FILL_WAIT_MS = 1, FILL_TURNS = 20, FETCH_WAIT_MS = 100, FETCH_WAIT_OF_MANY_MS = 10 };

/* Takes the oldest of the batches under way when it is decided; NULL: there is none. */
static rr_inflight *await_oldest(rr_service *service)
{
    rr_inflight *oldest = service->inflight[0];

    if (service->inflight_count == 0) {
        return NULL;
    }
    while (!rr_worker_is_done(service, oldest, 1000)) {
        rr_settle_signal_progress(service, NULL);
    }
    service->inflight[0] = service->inflight[1];
    service->inflight_count--;
    return oldest;
}

/* Decodes `more` deliveries that stand behind those of the batch. */
static rr_status admit(rr_service *service, rr_inflight *batch, size_t more, rr_error *error)
{
    const rr_bound_source *source = &service->env->sources[batch->source];
    rr_source_progress *progress = &service->recovery.progress[batch->source];
    int64_t now_us = service->env->now_us();

    service->totals->deliveries += more;
    batch->count += more;
    for (size_t k = batch->count - more; k < batch->count; k++) {
        const rr_delivery *delivery = &batch->deliveries[k];
        bool is_first = delivery->times_delivered <= 1;

        service->totals->redeliveries += !is_first;
        progress->is_suspect |= is_first && delivery->stream_sequence <= progress->checkpoint.floor;
        if (!rr_intake_add(&batch->intake, source, delivery, now_us)) {
            return rr_service_no_memory(error);
        }
    }
    return RR_OK;
}

/* Ends the batches that are decided. If there are none, waits a moment. *busy: the worker still has a batch. */
static rr_status end_decided(rr_service *service, bool *busy, rr_error *error)
{
    rr_status status = RR_OK;
    int wait_ms = FILL_WAIT_MS;

    while (status == RR_OK && service->inflight_count != 0 &&
           rr_worker_is_done(service, service->inflight[0], wait_ms)) {
        status = rr_settle_batch(service, await_oldest(service), error);
        wait_ms = 0;
    }
    *busy = service->inflight_count != 0;
    return status;
}

/* Decodes a batch. While the worker has the batches before it, takes for a short time what arrives, too: a batch
 * that holds more records of a unit needs fewer loads and writes. */
static rr_status fill(rr_service *service, rr_inflight *batch, size_t fetched, rr_error *error)
{
    const rr_bound_source *source = &service->env->sources[batch->source];
    bool busy = service->has_worker;
    rr_status status;

    batch->progress_us = service->env->now_us();
    status = admit(service, batch, fetched, error);
    for (int k = 0; k < FILL_TURNS && status == RR_OK && batch->count < source->batch && busy; k++) {
        size_t more = 0;

        status = end_decided(service, &busy, error);
        if (status == RR_OK && busy) {
            /* A failure is not lost here: it happens again at the next turn, or the source remembers it. It is
             * reported then. */
            source->ops->fetch(source->source, batch->deliveries + batch->count, source->batch - batch->count, &more, 0,
                               NULL);
            status = admit(service, batch, more, error);
        }
    }
    return status;
}

rr_status rr_receive_finish(rr_service *service, rr_error *error)
{
    rr_status status = RR_OK;
    rr_error ignored = {0};

    while (service->inflight_count != 0) {
        rr_status one = rr_settle_batch(service, await_oldest(service), status == RR_OK ? error : &ignored);

        status = status == RR_OK ? one : status;
    }
    return status;
}

/* Decodes what was fetched while the worker decides the batches before it. The oldest of these is ended while the
 * worker has this one. Without a worker it is ended first: between an effect and its acknowledgement nothing may be
 * asked of the store, since its answer may tell that the effect is gone. */
static rr_status take_batch(rr_service *service, rr_inflight *batch, size_t fetched, rr_error *error)
{
    const rr_bound_source *source = &service->env->sources[batch->source];
    rr_inflight *oldest = NULL;
    rr_status status;

    service->filling = batch;
    status = fill(service, batch, fetched, error);
    if (status == RR_OK && service->has_worker && service->inflight_count == RR_INFLIGHT_MOST) {
        oldest = await_oldest(service);
    } else if (status == RR_OK && !service->has_worker) {
        status = rr_receive_finish(service, error);
    }
    service->filling = NULL;
    if (status != RR_OK || rr_environment_is_stopping(service->env)) {
        source->ops->release(source->source, batch->deliveries, batch->count, true);
    } else {
        rr_worker_hand_over(service, batch);
    }
    return oldest == NULL ? status : rr_settle_batch(service, oldest, error);
}

/* A free slot. There always is one, since there are more slots than batches that can be under way. */
static rr_inflight *find_free_slot(rr_service *service)
{
    rr_inflight *slot = service->slots;

    while ((service->inflight_count > 0 && slot == service->inflight[0]) ||
           (service->inflight_count > 1 && slot == service->inflight[1])) {
        slot++;
    }
    return slot;
}

/* While a batch is under way the service does not wait for deliveries, since it must end that batch. */
static int fetch_wait_ms(const rr_service *service)
{
    return service->inflight_count != 0 ? 0 : service->env->source_count == 1 ? FETCH_WAIT_MS : FETCH_WAIT_OF_MANY_MS;
}

static rr_status receive(rr_service *service, size_t index, bool *down, bool *idle, rr_error *error)
{
    const rr_bound_source *source = &service->env->sources[index];
    rr_inflight *slot = find_free_slot(service);
    size_t fetched = 0;
    rr_status status;

    slot->source = index;
    slot->count = 0;
    rr_intake_reset(&slot->intake);
    status =
        source->ops->fetch(source->source, slot->deliveries, source->batch, &fetched, fetch_wait_ms(service), error);
    if (rr_is_outage(status)) {
        rr_outage_begin(service, down, rr_the_queue, error);
        return RR_OK;
    }
    if (status != RR_OK) {
        return rr_error_within(error, "source %.*s", (int)source->name.len, source->name.data);
    }
    rr_outage_end(service, down, rr_the_queue);
    *idle = *idle && fetched == 0;
    return fetched == 0 ? RR_OK : take_batch(service, slot, fetched, error);
}

rr_status rr_receive_from_all(rr_service *service, bool *down, bool *idle, rr_error *error)
{
    rr_status status = RR_OK;

    *idle = service->inflight_count == 0;
    for (size_t k = 0; k < service->env->source_count && status == RR_OK; k++) {
        if (!service->recovery.progress[k].is_halted && !service->recovery.progress[k].is_held) {
            status = receive(service, k, &down[k], idle, error);
        }
    }
    return status;
}
