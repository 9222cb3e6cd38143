/* Reports outages in the log, and waits for their end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "service_state.h"

enum { PAUSE_MAX_MS = 1000 };

const rr_dependency rr_the_store = {"the store", "refuses writes"}, rr_the_queue = {"the queue", "refuses requests"},
                    rr_the_dead_letters = {"the dead letters' stream", "refuses messages"};

void rr_outage_begin(rr_service *service, bool *down, rr_dependency dependency, const rr_error *error)
{
    bool refused = error->status == RR_REFUSED_BY_SERVER;

    if (*down) {
        return;
    }
    *down = true;
    atomic_fetch_add(&service->down, 1);
    atomic_fetch_add(&service->outages, 1);
    rr_environment_log(service->env, RR_LOG_WARNING, "%s %s; nothing is acknowledged until it %s: %s", dependency.name,
                       refused ? dependency.refusal : "cannot be reached", refused ? "accepts them again" : "is back",
                       error->text);
}

void rr_outage_end(rr_service *service, bool *down, rr_dependency dependency)
{
    if (*down) {
        *down = false;
        atomic_fetch_sub(&service->down, 1);
        rr_environment_log(service->env, RR_LOG_INFO, "%s is back", dependency.name);
    }
}

bool rr_outage_wait(const rr_service *service, int *pause_ms)
{
    if (rr_environment_is_stopping(service->env)) {
        return false;
    }
    rr_environment_pause(service->env, *pause_ms);
    *pause_ms = *pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : *pause_ms * 2;
    return !rr_environment_is_stopping(service->env);
}

rr_status rr_service_no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out");
}
