/* How often the outbox is read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox_thread.h"

#include "outbox.h"

enum { POLL_MS = 200, BURST_MS = 1000, BURST_MAX_MS = 10000, STOP_POLL_MS = 50 };

/* After alerts were sent the next ones wait, and longer while they keep coming, so that a burst is one alert. */
static int next_pause_ms(int pause_ms, rr_status status, bool sent)
{
    if (status == RR_OK && !sent) {
        return POLL_MS;
    }
    pause_ms = pause_ms < BURST_MS ? BURST_MS : pause_ms * 2;
    return pause_ms > BURST_MAX_MS ? BURST_MAX_MS : pause_ms;
}

static bool is_ending(const rr_service *service)
{
    return rr_environment_is_stopping(service->env) || atomic_load(&service->leaving);
}

static void *hand_out(void *context)
{
    rr_service *service = context;
    rr_arena arena;
    rr_error error = {0};
    int pause_ms = POLL_MS;
    bool waiting = false;

    rr_arena_init(&arena, 0);
    for (;;) {
        bool last = is_ending(service);
        uint64_t before = service->totals->alerts_sent;
        rr_status status = rr_outbox_send(service->options, service->options->outbox_store, service->process, &arena,
                                          &service->totals->alerts_sent, &error);

        if (status != RR_OK && !waiting) {
            rr_environment_log(service->env, RR_LOG_WARNING, "alerts wait: %s", error.text);
        }
        waiting = status != RR_OK;
        pause_ms = next_pause_ms(pause_ms, status, service->totals->alerts_sent != before);
        if (last) {
            break;
        }
        for (int waited = 0; waited < pause_ms && !is_ending(service); waited += STOP_POLL_MS) {
            rr_environment_pause(service->env, STOP_POLL_MS);
        }
    }
    rr_arena_fini(&arena);
    return NULL;
}

rr_status rr_outbox_thread_start(rr_service *service, pthread_t *thread, bool *started, rr_error *error)
{
    bool wanted = service->options->outbox_store != NULL;

    *started = wanted && pthread_create(thread, NULL, hand_out, service) == 0;
    return wanted && !*started ? rr_fail(error, RR_MEMORY, "no thread could be started for the alerts") : RR_OK;
}

void rr_outbox_thread_stop(rr_service *service, pthread_t thread)
{
    atomic_store(&service->leaving, true);
    pthread_join(thread, NULL);
}
