/* Deciding one batch after the other, in the order of the stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <time.h>

#include "admit.h"

static rr_status check_generation(rr_service *service, bool *abandoned, rr_error *error)
{
    rr_status status = rr_recovery_check_generation(&service->recovery, error);

    *abandoned = status == RR_OK && atomic_load(&service->recovery.superseded);
    return status;
}

/* While the batch waited, for the one before it or for the store, a cell may have expired: its record must not come
 * back as the first one of a fresh cell (semantics, section 10). True: some were refused. */
static bool refuse_expired(const rr_service *service, rr_item *items, size_t count)
{
    int64_t now_us = service->env->now_us();
    bool any = false;

    for (size_t k = 0; k < count; k++) {
        if (!items[k].refused && !items[k].settled &&
            rr_cell_may_be_gone(items[k].contract, items[k].record->window, now_us)) {
            rr_item_refuse(&items[k], RR_REASON_CELL_GONE);
            items[k].why = rr_slice_of(rr_reason_text(RR_REASON_CELL_GONE));
            any = true;
        }
    }
    return any;
}

/* Begins the batch where it is new, or where some records were refused since. Of a batch that was begun before, what is
 * settled stays settled, so that its alerts are not raised again. */
static rr_status begin(rr_service *service, rr_item *items, size_t count, bool is_new, rr_error *error)
{
    for (size_t k = 0; k < count; k++) {
        items[k].settled &= !is_new;
    }
    return refuse_expired(service, items, count) || is_new ? rr_batch_begin_rest(service->batch, items, count, error)
                                                           : RR_OK;
}

/* Goes on with a batch. Where the store is not the one that the batch was begun with, it begins anew: what was settled
 * in the other store is not settled in this one, and no token guards what was decided without a write. */
static rr_status attempt(rr_service *service, rr_item *items, size_t count, bool *begun, bool *abandoned,
                         rr_error *error)
{
    rr_recovery *recovery = &service->recovery;
    bool is_same_store = true;
    rr_status status = recovery->store_is_suspect ? rr_recovery_identify_store(recovery, &is_same_store, error) : RR_OK;

    *begun = *begun && is_same_store;
    if (status == RR_OK) {
        status = begin(service, items, count, !*begun, error);
        *begun = status == RR_OK;
    }
    status = status == RR_OK ? rr_batch_step(service->batch, service->env->now_us(), error) : status;
    status = status == RR_OK ? check_generation(service, abandoned, error) : status;
    if (status != RR_OK) {
        rr_recovery_suspect_store(recovery);
    }
    return status;
}

rr_status rr_worker_decide(rr_service *service, rr_item *items, size_t count, bool *abandoned, rr_error *error)
{
    int pause_ms = RR_PAUSE_MIN_MS;
    bool down = false, begun = false;
    rr_status status;

    for (;;) {
        status = attempt(service, items, count, &begun, abandoned, error);
        if (!rr_is_outage(status)) {
            break;
        }
        rr_outage_begin(service, &down, rr_the_store, error);
        if (!rr_outage_wait(service, &pause_ms)) {
            *abandoned = true;
            status = RR_OK;
            break;
        }
    }
    if (!*abandoned) {
        rr_outage_end(service, &down, rr_the_store);
    }
    return status;
}

static void decide(rr_service *service, rr_inflight *batch)
{
    batch->abandoned = false;
    batch->status =
        rr_worker_decide(service, batch->intake.items, batch->intake.count, &batch->abandoned, &batch->error);
}

bool rr_inflight_is_decided(const rr_inflight *batch)
{
    return batch->status == RR_OK && !batch->abandoned;
}

/* After a batch that could not be decided no later one is begun, since batches are decided in the order of the
 * stream. */
static void *work(void *context)
{
    rr_service *service = context;
    bool failed = false;

    pthread_mutex_lock(&service->lock);
    for (;;) {
        rr_inflight *batch;

        while (service->waiting[0] == NULL && !service->worker_ends) {
            pthread_cond_wait(&service->work_waits, &service->lock);
        }
        batch = service->waiting[0];
        if (batch == NULL) {
            break;
        }
        service->waiting[0] = service->waiting[1];
        service->waiting[1] = NULL;
        pthread_mutex_unlock(&service->lock);
        if (failed) {
            batch->status = RR_OK;
            batch->abandoned = true;
        } else {
            decide(service, batch);
        }
        failed = !rr_inflight_is_decided(batch);
        pthread_mutex_lock(&service->lock);
        batch->done = true;
        pthread_cond_signal(&service->work_done);
    }
    pthread_mutex_unlock(&service->lock);
    return NULL;
}

void rr_worker_hand_over(rr_service *service, rr_inflight *batch)
{
    service->inflight[service->inflight_count++] = batch;
    if (!service->has_worker) {
        decide(service, batch);
        return;
    }
    pthread_mutex_lock(&service->lock);
    batch->done = false;
    service->waiting[service->waiting[0] == NULL ? 0 : 1] = batch;
    pthread_cond_signal(&service->work_waits);
    pthread_mutex_unlock(&service->lock);
}

bool rr_worker_is_done(rr_service *service, const rr_inflight *batch, int wait_ms)
{
    struct timespec until;
    bool done;

    if (!service->has_worker) {
        return true;
    }
    pthread_mutex_lock(&service->lock);
    if (!batch->done) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += wait_ms % 1000 * 1000000L;
        until.tv_sec += wait_ms / 1000 + until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&service->work_done, &service->lock, &until);
    }
    done = batch->done;
    pthread_mutex_unlock(&service->lock);
    return done;
}

void rr_worker_start(rr_service *service)
{
    pthread_mutex_init(&service->lock, NULL);
    pthread_cond_init(&service->work_waits, NULL);
    pthread_cond_init(&service->work_done, NULL);
    service->has_worker =
        service->options->outbox_store != NULL && pthread_create(&service->worker, NULL, work, service) == 0;
}

void rr_worker_stop(rr_service *service)
{
    if (service->has_worker) {
        pthread_mutex_lock(&service->lock);
        service->worker_ends = true;
        pthread_cond_signal(&service->work_waits);
        pthread_mutex_unlock(&service->lock);
        pthread_join(service->worker, NULL);
        service->has_worker = false;
    }
    pthread_mutex_destroy(&service->lock);
    pthread_cond_destroy(&service->work_waits);
    pthread_cond_destroy(&service->work_done);
}
