/* A source's alert goes through the decision log, as those of records do, so that it is handed out at least once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_alert.h"

#include <stdarg.h>
#include <stdio.h>

#include "decision.h"

static rr_status store_alert(rr_recovery *recovery, rr_alert kind, const rr_bound_source *source, rr_slice text,
                             rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_arena *arena = &recovery->arena;
    rr_slice entry =
        rr_decision_write_notice(kind, source->name, source->stream, text, env->now_us(), &recovery->text, arena);
    rr_swap swap = {.answer = RR_SWAP_UNKNOWN, .entries = &entry, .entry_count = 1};
    rr_status status;

    swap.log_key = rr_decision_log_key(env->prefix, NULL, &recovery->text, arena);
    if (entry.data == NULL || swap.log_key.data == NULL) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    status = env->store_ops->swap(env->store, &swap, 1, arena, error);
    if (status != RR_OK) {
        rr_recovery_suspect_store(recovery);
    }
    /* WON: the log has it, even where replicas have not confirmed it. The checkpoint is written behind it on the same
     * connection, so no replica gets the checkpoint first. */
    return swap.answer == RR_SWAP_WON ? RR_OK
           : status == RR_OK ? rr_fail(error, rr_is_outage(swap.error.status) ? swap.error.status : RR_UNAVAILABLE,
                                       "%s", swap.error.text)
                             : status;
}

rr_status rr_source_alert_raise(rr_recovery *recovery, rr_alert kind, size_t index, rr_error *error, const char *format,
                                ...)
{
    const rr_bound_source *source = &recovery->env->sources[index];
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rr_environment_log(recovery->env, RR_LOG_ERROR, "%s: source %.*s: %s", rr_alert_word(kind), (int)source->name.len,
                       source->name.data, text);
    return store_alert(recovery, kind, source, rr_slice_of(text), error);
}
