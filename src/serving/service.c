/* Start, loop, and leaving. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "contract_check.h"
#include "hold.h"
#include "mapping_check.h"
#include "observing.h"
#include "outbox.h"
#include "outbox_thread.h"
#include "public_status.h"
#include "receiving.h"
#include "repair.h"
#include "service_state.h"
#include "worker.h"

enum { CACHE_SLOTS = 32768 };

/* ---- between batches ---- */

/* What is due each second. Outages are no error here. */
static rr_status tick(rr_service *service, rr_error *error)
{
    rr_recovery *recovery = &service->recovery;
    rr_status status;

    if (service->options->observe || !rr_recovery_tick_due(recovery)) {
        return RR_OK;
    }
    status = rr_recovery_tick(recovery, error);
    status = status == RR_OK ? rr_hold_write_notes(service, error) : status;
    if (status == RR_OK && !atomic_load(&recovery->superseded)) {
        status = rr_public_status_publish(service, false, error);
        if (status != RR_OK) {
            rr_recovery_suspect_store(recovery);
        }
    }
    return rr_is_outage(status) ? RR_OK : status == RR_OK ? rr_recovery_check_halted(recovery, error) : status;
}

/* Without a thread for the outbox, it is read here whenever nothing else is to be done. */
static void send_alerts(rr_service *service)
{
    if (rr_outbox_send(service->options, service->env->store, service->process, &service->arena,
                       &service->totals->alerts_sent, NULL) != RR_OK) {
        rr_recovery_suspect_store(&service->recovery);
    }
}

/* No batch is under way, so the store is free. */
static rr_status maintain(rr_service *service, bool idle, bool *repairing, rr_error *error)
{
    rr_status status = tick(service, error);

    if (status == RR_OK && !service->options->observe && !atomic_load(&service->recovery.superseded)) {
        status = rr_repair_advance(&service->recovery, repairing, error);
    }
    if (status == RR_OK && service->options->outbox_store == NULL && idle) {
        send_alerts(service);
    }
    return status;
}

/* ---- the loop ---- */

/* Nothing waits in the queue, and nothing is unacknowledged. */
static bool all_done(rr_service *service)
{
    for (size_t k = 0; k < service->env->source_count; k++) {
        const rr_bound_source *source = &service->env->sources[k];
        rr_source_info info;

        if (service->recovery.progress[k].is_held) {
            continue;
        }
        if (source->ops->info(source->source, &info, NULL) != RR_OK || info.pending != 0 ||
            (info.ack_pending != 0 && info.ack_floor < info.delivered)) {
            return false;
        }
    }
    return true;
}

static bool goes_on(const rr_service *service)
{
    return !rr_environment_is_stopping(service->env) && !atomic_load(&service->recovery.superseded);
}

static rr_status loop(rr_service *service, rr_error *error)
{
    bool *down = calloc(service->env->source_count + 1, sizeof *down);
    rr_status status = down == NULL ? rr_service_no_memory(error) : RR_OK, last;
    bool idle = false, repairing = false;
    rr_error ignored = {0};

    while (status == RR_OK && goes_on(service)) {
        size_t before = service->totals->deliveries;

        status = rr_receive_from_all(service, down, &idle, error);
        if (status == RR_OK &&
            (service->totals->deliveries == before || repairing || rr_recovery_tick_due(&service->recovery))) {
            status = rr_receive_finish(service, error);
            status = status == RR_OK ? maintain(service, idle, &repairing, error) : status;
        }
        if (idle && !repairing && service->options->until_idle && all_done(service)) {
            break;
        }
    }
    free(down);
    last = rr_receive_finish(service, status == RR_OK ? error : &ignored);
    return status == RR_OK ? last : status;
}

/* ---- start ---- */

/* No record is judged before the contracts' notes were read: they tell which windows keep an earlier retention. */
static rr_status read_notes(rr_service *service, rr_error *error)
{
    bool (*accept)(rr_slice text, rr_contract * contract) = service->options->accept_contract;
    rr_status status = rr_contracts_check(&service->recovery, accept, error);

    status = status == RR_OK ? rr_hold_read_notes(service, error) : status;
    return status == RR_OK ? rr_mappings_check(&service->recovery,
                                               accept != NULL ? RR_MAPPINGS_ACCEPT_ALL : RR_MAPPINGS_ACCEPT_HELD, error)
                           : status;
}

static rr_status check_notes(rr_service *service, rr_error *error)
{
    int pause_ms = RR_PAUSE_MIN_MS;
    bool down = false;
    rr_status status = read_notes(service, error);

    while (rr_is_outage(status)) {
        rr_outage_begin(service, &down, rr_the_store, error);
        if (!rr_outage_wait(service, &pause_ms)) {
            return RR_OK;
        }
        rr_arena_reset(&service->recovery.arena);
        status = read_notes(service, error);
    }
    rr_outage_end(service, &down, rr_the_store);
    if (status == RR_OK) {
        rr_hold_report(service);
    }
    return status;
}

static rr_status start(rr_service *service, rr_error *error)
{
    const rr_environment *env = service->env;
    rr_status status;

    for (size_t k = 0; k < env->contract_count; k++) {
        if (env->contracts[k].eras != NULL) {
            *env->contracts[k].eras = (rr_eras){0}; /* another generation has its own, or none */
        }
    }
    status = service->options->observe ? RR_OK : check_notes(service, error);
    /* The first checkpoint is written before the first acknowledgement. Otherwise nobody could tell later that
     * nothing was lost before it. */
    return status == RR_OK && !rr_environment_is_stopping(env) ? tick(service, error) : status;
}

static bool init_slot(rr_inflight *slot, size_t room)
{
    slot->deliveries = calloc(room, sizeof *slot->deliveries);
    return rr_intake_init(&slot->intake, room) && slot->deliveries != NULL;
}

static bool init_slots(rr_service *service)
{
    size_t room = 1;
    bool good = true;

    for (size_t k = 0; k < service->env->source_count; k++) {
        room = service->env->sources[k].batch > room ? service->env->sources[k].batch : room;
    }
    for (size_t k = 0; k < RR_INFLIGHT_MOST + 1; k++) {
        good = init_slot(&service->slots[k], room) && good;
    }
    return good;
}

static void report_stuck(void *context, const rr_error *error)
{
    const rr_service *service = context;

    rr_environment_log(service->env, RR_LOG_ERROR,
                       "stuck: its records are not acknowledged and are delivered again: %s", error->text);
}

static bool init(rr_service *service)
{
    const rr_service_options *options = service->options;
    const rr_environment *env = service->env;
    rr_batch_options batch = {.prefix = env->prefix,
                              .log_decisions = !options->observe,
                              .list_open = !options->observe,
                              .expire = true,
                              .cache_slots = options->observe ? 0 : CACHE_SLOTS,
                              .predict_from = options->predict_from,
                              .send_from = options->send_from,
                              .forget = !options->observe,
                              .report_stuck = report_stuck,
                              .context = service};
    rr_batch_options repair = batch;

    repair.replayed = true;
    repair.cache_slots = 0; /* two caches of one store would not know of each other's writes */
    snprintf(service->process, sizeof service->process, "reconciler-%ld-%lld", (long)getpid(),
             (long long)env->now_us());
    rr_arena_init(&service->arena, 0);
    service->batch = rr_batch_new(env->store_ops, env->store, &batch);
    return rr_recovery_init(&service->recovery, env, service->batch, &repair) && service->batch != NULL &&
           init_slots(service) && rr_hold_init(service);
}

static void fini(rr_service *service)
{
    rr_batch_free(service->batch);
    rr_recovery_fini(&service->recovery);
    rr_hold_fini(service);
    rr_arena_fini(&service->arena);
    rr_buf_fini(&service->text);
    for (size_t k = 0; k < RR_INFLIGHT_MOST + 1; k++) {
        rr_intake_fini(&service->slots[k].intake);
        free(service->slots[k].deliveries);
    }
}

/* ---- leaving ---- */

/* Sends the acknowledgements first, for a limited time, so that a queue that does not answer cannot hold up the end.
 * The checkpoint stays as the last tick wrote it, since a floor that is too low does no harm. */
static void leave(rr_service *service)
{
    const rr_environment *env = service->env;
    int flush_ms = service->options->drain_timeout_ms / 4;
    rr_error ignored = {0};

    for (size_t k = 0; k < env->source_count; k++) {
        env->sources[k].ops->flush(env->sources[k].source, flush_ms, &ignored);
    }
    if (!service->options->observe) {
        rr_hold_write_notes(service, &ignored);
        rr_public_status_publish(service, true, &ignored);
    }
    service->totals->batch = *rr_batch_totals(service->batch);
    service->totals->outages = atomic_load(&service->outages);
    service->totals->superseded = atomic_load(&service->recovery.superseded);
}

static rr_status serve(rr_service *service, rr_error *error)
{
    pthread_t outbox;
    bool has_outbox_thread = false;
    rr_status status = start(service, error);

    if (status == RR_OK) {
        status = rr_outbox_thread_start(service, &outbox, &has_outbox_thread, error);
    }
    if (status != RR_OK) {
        return status;
    }
    rr_worker_start(service);
    status = service->options->observe ? rr_observe(service, error) : loop(service, error);
    rr_worker_stop(service);
    if (has_outbox_thread) {
        rr_outbox_thread_stop(service, outbox);
    }
    leave(service);
    return status == RR_OK && service->options->until_idle ? rr_hold_fail(service, error) : status;
}

rr_status rr_service_run(const rr_service_options *options, rr_service_totals *totals, rr_error *error)
{
    rr_service service = {.options = options, .env = &options->env, .totals = totals};
    rr_error unread = {0};
    rr_status status;

    error = error == NULL ? &unread : error;
    status = init(&service) ? serve(&service, error) : rr_service_no_memory(error);
    fini(&service);
    return status;
}
