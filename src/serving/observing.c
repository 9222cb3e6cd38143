/* Reads each source in turn, from where its last turn ended. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "observing.h"

#include "worker.h"

enum { IDLE_PAUSE_MS = 200 };

typedef struct observation {
    rr_service *service;
    const rr_bound_source *source;
    rr_intake *intake;
    uint64_t sequence; /* of the stream, read so far */
    rr_status status;
    rr_error *error;
} observation;

static void decide(observation *o)
{
    rr_service *service = o->service;
    bool abandoned = false;

    if (o->intake->count != 0) {
        o->status = rr_worker_decide(service, o->intake->items, o->intake->count, &abandoned, o->error);
    }
    for (size_t k = 0; k < o->intake->count && o->status == RR_OK; k++) {
        service->totals->verdicts[o->intake->items[k].outcome.verdict]++;
    }
    service->totals->deliveries += o->intake->deliveries;
    service->totals->skipped += o->intake->skipped;
    rr_intake_reset(o->intake);
}

static bool take(void *context, const rr_delivery *delivery)
{
    observation *o = context;
    const rr_environment *env = o->service->env;

    if (!rr_intake_add(o->intake, o->source, delivery, env->now_us())) {
        o->status = rr_service_no_memory(o->error);
        return false;
    }
    o->sequence = delivery->stream_sequence;
    if (rr_intake_is_full(o->intake)) {
        decide(o);
    }
    return o->status == RR_OK && !rr_environment_is_stopping(env);
}

static rr_status read_on(rr_service *service, size_t index, bool *idle, rr_error *error)
{
    const rr_bound_source *source = &service->env->sources[index];
    rr_source_progress *progress = &service->recovery.progress[index];
    observation o = {.service = service,
                     .source = source,
                     .intake = &service->slots[0].intake,
                     .sequence = progress->sequence,
                     .error = error};
    rr_status status;

    rr_intake_reset(o.intake);
    status = source->ops->replay(source->source, o.sequence + 1, 0, take, &o, error);
    decide(&o);
    *idle = *idle && o.sequence == progress->sequence;
    progress->sequence = o.sequence;
    return status == RR_OK || rr_is_outage(status) ? o.status : status;
}

rr_status rr_observe(rr_service *service, rr_error *error)
{
    const rr_environment *env = service->env;
    rr_status status = RR_OK;

    while (status == RR_OK && !rr_environment_is_stopping(env)) {
        bool idle = true;

        for (size_t k = 0; k < env->source_count && status == RR_OK && !rr_environment_is_stopping(env); k++) {
            status = read_on(service, k, &idle, error);
        }
        if (idle && service->options->until_idle) {
            break;
        }
        if (idle) {
            rr_environment_pause(env, IDLE_PAUSE_MS);
        }
    }
    return status;
}
