/* The fingerprint of a source's mappings is their canonical text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mapping_check.h"

#include "text_difference.h"

/* A source without mappings has a note, too: a process that maps must not join one that does not. */
static rr_slice text_of(const rr_bound_source *source)
{
    return source->mappings.len != 0 ? source->mappings : RR_SLICE("no mapping: every message is rr.v1.Result\n");
}

uint64_t rr_mappings_digest(const rr_bound_source *source)
{
    return rr_checkpoint_digest(text_of(source));
}

/* The error shows the first line that differs; the log has both texts. */
static rr_status refuse(const rr_recovery *recovery, const rr_bound_source *source, rr_slice stored, rr_error *error)
{
    rr_slice text = text_of(source);
    rr_text_difference first = rr_text_difference_find(stored, text);

    rr_text_difference_log(recovery->env, "mapping of source", source->name, stored, text);
    return rr_fail(
        error, RR_CONFIG,
        "source %.*s: the stored cells were decoded by other mappings. Stored: '%.*s'; this program's: "
        "'%.*s'. If the change is meant, start once with --accept-contracts: it holds for messages that come "
        "from now on. For those that were decoded before, run rebuild; verify tells what it would change.",
        (int)source->name.len, source->name.data, (int)first.stored.len, first.stored.data, (int)first.own.len,
        first.own.data);
}

static rr_status end_hold(rr_recovery *recovery, size_t index, rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_slice name = env->sources[index].name, key = rr_recovery_key(recovery, "hold", name);
    rr_status status = key.data == NULL ? rr_fail(error, RR_MEMORY, "memory ran out")
                                        : env->store_ops->note_put(env->store, key, (rr_slice){NULL, 0}, 0, error);

    if (status == RR_OK) {
        recovery->progress[index].is_held = false;
        rr_environment_log(env, RR_LOG_INFO, "source %.*s: it was held, and has another mapping now: it goes on",
                           (int)name.len, name.data);
    }
    return status;
}

/* The text of the mappings is noted before the hold ends. Whatever fails in between, the next start ends it: the hold says
 * which mappings it is of. */
static rr_status check_source(rr_recovery *recovery, size_t index, rr_mappings_accept accept, rr_error *error)
{
    const rr_environment *env = recovery->env;
    const rr_bound_source *source = &env->sources[index];
    const rr_source_progress *progress = &recovery->progress[index];
    rr_slice key = rr_recovery_key(recovery, "mapping", source->name), stored = {NULL, 0};
    bool ends_hold =
        accept != RR_MAPPINGS_ACCEPT_NONE && progress->is_held && progress->held_by != rr_mappings_digest(source);
    bool written = false;
    rr_status status = key.data == NULL ? rr_fail(error, RR_MEMORY, "memory ran out")
                                        : env->store_ops->note_get(env->store, key, &recovery->arena, &stored, error);

    if (status != RR_OK) {
        return status;
    }
    if (rr_slice_equal(stored, text_of(source))) {
        return ends_hold ? end_hold(recovery, index, error) : RR_OK;
    }
    if (stored.len != 0 && accept != RR_MAPPINGS_ACCEPT_ALL && !ends_hold) {
        return refuse(recovery, source, stored, error);
    }
    status = env->store_ops->note_set(env->store, key, stored, text_of(source), 0, NULL, &written, error);
    if (status == RR_OK && written) {
        return ends_hold ? end_hold(recovery, index, error) : RR_OK;
    }
    /* Another process wrote it in the meantime: look again, and accept no mapping that it may have brought. */
    return status != RR_OK ? status : check_source(recovery, index, RR_MAPPINGS_ACCEPT_NONE, error);
}

rr_status rr_mappings_check(rr_recovery *recovery, rr_mappings_accept accept, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < recovery->env->source_count && status == RR_OK; k++) {
        status = check_source(recovery, k, accept, error);
    }
    return status;
}
