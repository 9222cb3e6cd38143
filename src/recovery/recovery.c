/* What is due each second, and whether the prefix of this process is still in force. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "recovery.h"

#include <stdlib.h>

#include "contract_check.h"
#include "generation.h"
#include "mapping_check.h"
#include "source_checkpoint.h"

enum { TICK_US = 1000000, PAUSE_POLL_MS = 100 };

bool rr_recovery_init(rr_recovery *recovery, const rr_environment *env, rr_batch *batch, const rr_batch_options *repair)
{
    *recovery = (rr_recovery){.env = env, .batch = batch, .store_is_suspect = true};
    rr_arena_init(&recovery->arena, 0);
    rr_arena_init(&recovery->note_arena, 0);
    recovery->repair_batch = rr_batch_new(env->store_ops, env->store, repair);
    recovery->progress = calloc(env->source_count + 1, sizeof *recovery->progress);
    return recovery->repair_batch != NULL && recovery->progress != NULL;
}

void rr_recovery_fini(rr_recovery *recovery)
{
    rr_batch_free(recovery->repair_batch);
    rr_arena_fini(&recovery->arena);
    rr_arena_fini(&recovery->note_arena);
    rr_buf_fini(&recovery->text);
    free(recovery->progress);
}

static rr_status read_note(rr_recovery *recovery, const char *kind, rr_slice *value, rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_buf key = {0};
    rr_status status;

    rr_generation_key(&key, env->base_prefix, kind);
    rr_arena_reset(&recovery->note_arena);
    status = rr_buf_ok(&key)
                 ? env->store_ops->note_get(env->store, rr_buf_view(&key), &recovery->note_arena, value, error)
                 : rr_fail(error, RR_MEMORY, "memory ran out");
    rr_buf_fini(&key);
    return status;
}

rr_status rr_recovery_check_generation(rr_recovery *recovery, rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_slice prefix = {NULL, 0};
    rr_status status = env->base_prefix.len == 0 ? RR_OK : read_note(recovery, "generation", &prefix, error);

    if (status == RR_OK && env->base_prefix.len != 0) {
        prefix = prefix.len == 0 ? env->base_prefix : prefix;
        atomic_store(&recovery->superseded, !rr_slice_equal(prefix, env->prefix));
    }
    return status;
}

/* While a switch is under way no batch is begun, so that no reader sees a result in the old generation that is not
 * in the new one yet. The wait ends by itself: the note expires. */
static rr_status wait_for_switch(rr_recovery *recovery, rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_slice paused = {NULL, 0};
    rr_status status = env->base_prefix.len == 0 ? RR_OK : read_note(recovery, "pause", &paused, error);

    if (status == RR_OK && paused.len != 0) {
        rr_environment_log(env, RR_LOG_INFO, "a rebuild is about to switch readers over: waiting for it");
    }
    while (status == RR_OK && paused.len != 0 && !rr_environment_is_stopping(env)) {
        rr_environment_pause(env, PAUSE_POLL_MS);
        status = read_note(recovery, "pause", &paused, error);
    }
    return status == RR_OK ? rr_recovery_check_generation(recovery, error) : status;
}

static rr_status advance_checkpoints(rr_recovery *recovery, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < recovery->env->source_count && status == RR_OK; k++) {
        rr_source_progress *progress = &recovery->progress[k];

        if (!progress->is_halted || progress->halt_alert_due) {
            status = rr_source_checkpoint_advance(recovery, k, error);
        }
        progress->is_away = rr_is_outage(status);
        if (status != RR_OK) {
            rr_recovery_suspect_store(recovery);
        }
        /* The queue of one source may be unavailable. The other sources go on, and the status tells readers. */
        status = progress->is_away ? RR_OK : status;
    }
    return status;
}

bool rr_recovery_tick_due(const rr_recovery *recovery)
{
    int64_t left_us = recovery->next_tick_us - recovery->env->now_us();

    return left_us <= 0 || left_us > TICK_US;
}

rr_status rr_recovery_tick(rr_recovery *recovery, rr_error *error)
{
    rr_status status;

    recovery->next_tick_us = recovery->env->now_us() + TICK_US;
    rr_arena_reset(&recovery->arena);
    status = wait_for_switch(recovery, error);
    if (status == RR_OK && atomic_load(&recovery->superseded)) {
        return RR_OK; /* nobody uses what lies below this prefix any more */
    }
    status = status == RR_OK ? rr_contracts_check(recovery, NULL, error) : status;
    status = status == RR_OK ? rr_mappings_check(recovery, RR_MAPPINGS_ACCEPT_NONE, error) : status;
    status = status == RR_OK ? advance_checkpoints(recovery, error) : status;
    if (status != RR_OK) {
        rr_recovery_suspect_store(recovery);
    }
    return status;
}

rr_status rr_recovery_check_halted(const rr_recovery *recovery, rr_error *error)
{
    for (size_t k = 0; k < recovery->env->source_count; k++) {
        if (!recovery->progress[k].is_halted) {
            return RR_OK;
        }
    }
    return rr_fail(error, RR_CONFIG, "every source was rolled back or made anew: there is nothing to read (see above)");
}
