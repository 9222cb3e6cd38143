/* Brings the checkpoint of a source up to date, each second. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "source_checkpoint.h"

#include <inttypes.h>
#include <stdio.h>

#include "source_alert.h"

static rr_slice key_of(rr_recovery *recovery, size_t index)
{
    return rr_recovery_key(recovery, "checkpoint", recovery->env->sources[index].name);
}

rr_status rr_source_checkpoint_read(rr_recovery *recovery, size_t index, rr_slice *held, rr_checkpoint *checkpoint,
                                    rr_error *error)
{
    const rr_environment *env = recovery->env;
    const rr_bound_source *source = &env->sources[index];
    rr_slice key = key_of(recovery, index);
    rr_status status = env->store_ops->note_get(env->store, key, &recovery->arena, held, error);

    *checkpoint = (rr_checkpoint){.stream = source->stream, .consumer = source->consumer};
    if (status != RR_OK || held->len == 0) {
        return status;
    }
    if (!rr_checkpoint_read(*held, &recovery->arena, checkpoint)) {
        return rr_fail(error, RR_CONFIG, "key %.*s: not a checkpoint of this program", (int)key.len, key.data);
    }
    if (!rr_slice_equal(checkpoint->stream, source->stream) ||
        !rr_slice_equal(checkpoint->consumer, source->consumer)) {
        return rr_fail(error, RR_CONFIG,
                       "source %.*s: its checkpoint is of stream %.*s, consumer %.*s; another stream or consumer needs "
                       "another source name",
                       (int)source->name.len, source->name.data, (int)checkpoint->stream.len, checkpoint->stream.data,
                       (int)checkpoint->consumer.len, checkpoint->consumer.data);
    }
    return RR_OK;
}

rr_status rr_source_checkpoint_write(rr_recovery *recovery, size_t index, rr_slice held,
                                     const rr_checkpoint *checkpoint, bool *written, rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_store_identity incarnation;
    rr_slice key = key_of(recovery, index);

    *written = true;
    rr_buf_clear(&recovery->text);
    rr_checkpoint_write(&recovery->text, checkpoint);
    if (!rr_buf_ok(&recovery->text)) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    if (rr_slice_equal(held, rr_buf_view(&recovery->text))) {
        return RR_OK;
    }
    snprintf(incarnation.incarnation, sizeof incarnation.incarnation, "%s", checkpoint->incarnation);
    return env->store_ops->note_set(env->store, key, held, rr_buf_view(&recovery->text), 0, &incarnation, written,
                                    error);
}

/* The stream has lost its end or is another one: earlier acknowledgements would count for new records. */
static rr_status halt(rr_recovery *recovery, size_t index, rr_checkpoint_finding finding, const rr_checkpoint *c,
                      const rr_source_info *info, rr_error *error)
{
    rr_source_progress *progress = &recovery->progress[index];
    rr_status status;

    progress->is_halted = true;
    status = finding == RR_CHECKPOINT_SOURCE_ROLLED_BACK
                 ? rr_source_alert_raise(recovery, RR_ALERT_SOURCE_ROLLED_BACK, index, error,
                                         "stream %.*s ends at sequence %" PRIu64 ", but results up to %" PRIu64
                                         " are stored: it lost its end, and is stopped here. Restore it, or use a new "
                                         "source name and a new consumer",
                                         (int)c->stream.len, c->stream.data, info->last_sequence, c->floor)
                 : rr_source_alert_raise(recovery, RR_ALERT_SOURCE_ROLLED_BACK, index, error,
                                         "stream %.*s is not the one whose results are stored: it was made anew or "
                                         "replaced, and is stopped here. Use a new source name and a new consumer for "
                                         "it",
                                         (int)c->stream.len, c->stream.data);
    progress->halt_alert_due = status != RR_OK;
    return status;
}

typedef struct digest_check {
    uint64_t digest;
    bool found;
} digest_check;

static bool take_digest(void *context, const rr_delivery *delivery)
{
    digest_check *check = context;

    check->digest = rr_checkpoint_digest(delivery->payload);
    check->found = true;
    return false;
}

/* At the start, and when the source is suspect: the message at the floor must still be the one that it was. */
static rr_status check_digest(const rr_recovery *recovery, size_t index, const rr_checkpoint *c, bool *replaced,
                              rr_error *error)
{
    const rr_bound_source *source = &recovery->env->sources[index];
    const rr_source_progress *progress = &recovery->progress[index];
    digest_check check = {0};
    rr_status status;

    *replaced = false;
    if (c->digest_of == 0 || (progress->digest_compared && !progress->is_suspect)) {
        return RR_OK;
    }
    status = source->ops->replay(source->source, c->digest_of, c->digest_of, take_digest, &check, error);
    *replaced = check.found && check.digest != c->digest;
    return status;
}

static rr_status report_finding(rr_recovery *recovery, size_t index, rr_checkpoint_finding finding,
                                const rr_checkpoint *before, const rr_checkpoint *now, rr_error *error)
{
    rr_slice name = recovery->env->sources[index].name;

    if (finding == RR_CHECKPOINT_STORE_CHANGED || finding == RR_CHECKPOINT_NEVER_WRITTEN) {
        rr_batch_invalidate(recovery->batch); /* needed also where the same server process was emptied */
        rr_environment_log(
            recovery->env, RR_LOG_WARNING, "source %.*s: %s; reading sequences %" PRIu64 " to %" PRIu64 " again",
            (int)name.len, name.data,
            finding == RR_CHECKPOINT_STORE_CHANGED ? "the store is another one than before"
                                                   : "the store has no checkpoint, but the consumer has delivered",
            now->from, now->to);
    }
    if (finding == RR_CHECKPOINT_REBUILT) {
        rr_environment_log(recovery->env, RR_LOG_INFO,
                           "source %.*s: reading sequences %" PRIu64 " to %" PRIu64
                           " again, which may have been delivered while the results were rebuilt",
                           (int)name.len, name.data, now->from, now->to);
    }
    if (now->gap && (!before->gap || before->gap_to != now->gap_to)) {
        return rr_source_alert_raise(recovery, RR_ALERT_UNREPAIRABLE_GAP, index, error,
                                     "results of sequences %" PRIu64 " to %" PRIu64
                                     " may be lost, and the stream no longer has them",
                                     now->gap_from, now->gap_to);
    }
    return RR_OK;
}

/* What has become of stream and store since `before`. */
static rr_status find_change(rr_recovery *recovery, size_t index, const rr_checkpoint *before, bool is_known,
                             const rr_source_info *info, rr_checkpoint *now, rr_checkpoint_finding *finding,
                             rr_error *error)
{
    bool replaced = false;
    rr_status status = RR_OK;

    *now = *before;
    *finding = rr_checkpoint_advance(now, is_known, info, recovery->incarnation);
    recovery->progress[index].starts_at_us = info->starts_at_us;
    if (*finding != RR_CHECKPOINT_SOURCE_REMADE && is_known) {
        status = check_digest(recovery, index, before, &replaced, error);
        *finding = replaced ? RR_CHECKPOINT_SOURCE_REMADE : *finding;
    }
    return status;
}

/* The digest is known only if the delivery that was settled last is the one at the floor. */
static void note_digest(const rr_source_progress *progress, rr_checkpoint *now)
{
    if (progress->sequence == now->floor && now->floor != 0) {
        now->digest_of = now->floor;
        now->digest = progress->digest;
    }
}

rr_status rr_source_checkpoint_advance(rr_recovery *recovery, size_t index, rr_error *error)
{
    const rr_bound_source *source = &recovery->env->sources[index];
    rr_source_progress *progress = &recovery->progress[index];
    rr_source_info info;
    rr_checkpoint before, now;
    rr_checkpoint_finding finding;
    rr_slice held = {NULL, 0};
    bool is_same_store = false, written = false;
    rr_status status = rr_recovery_identify_store(recovery, &is_same_store, error);

    status = status == RR_OK ? source->ops->info(source->source, &info, error) : status;
    status = status == RR_OK ? rr_source_checkpoint_read(recovery, index, &held, &before, error) : status;
    if (status == RR_OK) {
        status = find_change(recovery, index, &before, held.len != 0, &info, &now, &finding, error);
    }
    if (status != RR_OK) {
        return status;
    }
    if (finding == RR_CHECKPOINT_SOURCE_REMADE || finding == RR_CHECKPOINT_SOURCE_ROLLED_BACK) {
        return halt(recovery, index, finding, &before, &info, error);
    }
    note_digest(progress, &now);
    progress->is_suspect = false;
    progress->digest_compared = true;
    status = report_finding(recovery, index, finding, &before, &now, error);
    if (status == RR_OK) {
        status = rr_source_checkpoint_write(recovery, index, held, &now, &written, error);
    }
    if (status == RR_OK && written) {
        progress->checkpoint = now;
    }
    return status;
}
