/* When a source is held, and what is said of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "hold.h"

#include <inttypes.h>
#include <stdlib.h>

#include "mapping_check.h"

enum { PRIOR = 100, LEAST = 100, LEAST_OF_BATCH = 500, PERCENT = 95 };

static bool nearly_all(double judged, double refused, double least)
{
    return judged >= least && refused * 100 >= judged * PERCENT;
}

bool rr_refusals_end_batch(rr_refusals *r)
{
    bool hold = nearly_all((double)r->batch_judged, (double)r->batch_refused, LEAST_OF_BATCH);

    r->judged += (double)r->batch_judged;
    r->refused += (double)r->batch_refused;
    r->batch_judged = r->batch_refused = 0;
    hold = hold || nearly_all(r->judged, r->refused, LEAST);
    if (r->judged > PRIOR) {
        r->refused = r->refused * PRIOR / r->judged;
        r->judged = PRIOR;
    }
    return hold;
}

bool rr_hold_init(rr_service *service)
{
    const rr_environment *env = service->env;

    service->refusals = calloc(env->source_count * env->contract_count + 1, sizeof *service->refusals);
    service->holds = calloc(env->source_count + 1, sizeof *service->holds);
    return service->refusals != NULL && service->holds != NULL;
}

void rr_hold_fini(rr_service *service)
{
    free(service->refusals);
    free(service->holds);
}

static rr_slice note_key(rr_service *service, size_t index)
{
    return rr_recovery_key(&service->recovery, "hold", service->env->sources[index].name);
}

/* The note: 16 hex digits, the digest of the mappings; a space; why. */
enum { DIGEST_DIGITS = 16 };

static void take_note(rr_source_progress *progress, rr_hold *held, rr_slice note)
{
    char digits[DIGEST_DIGITS + 1] = "";
    size_t skipped = note.len > DIGEST_DIGITS ? DIGEST_DIGITS + 1 : 0;

    memcpy(digits, note.data, skipped == 0 ? 0 : DIGEST_DIGITS);
    progress->is_held = true;
    progress->held_by = strtoull(digits, NULL, 16);
    rr_fail(&held->why, RR_INPUT, "%.*s", (int)(note.len - skipped), note.data + skipped);
}

rr_status rr_hold_read_notes(rr_service *service, rr_error *error)
{
    const rr_environment *env = service->env;
    rr_status status = RR_OK;

    for (size_t k = 0; k < env->source_count && status == RR_OK; k++) {
        rr_slice key = note_key(service, k), why = {NULL, 0};

        service->recovery.progress[k].is_held = false;
        status = key.data == NULL ? rr_service_no_memory(error)
                                  : env->store_ops->note_get(env->store, key, &service->recovery.arena, &why, error);
        if (status == RR_OK && why.len != 0 && service->options->accept_refusals) {
            status = env->store_ops->note_put(env->store, key, (rr_slice){NULL, 0}, 0, error);
        } else if (status == RR_OK && why.len != 0) {
            take_note(&service->recovery.progress[k], &service->holds[k], why);
        }
    }
    return status;
}

static void report(const rr_service *service, size_t index)
{
    rr_slice name = service->env->sources[index].name;

    rr_environment_log(
        service->env, RR_LOG_ERROR,
        "source %.*s is held, nothing more of it is acknowledged: %s. Correct the mapping and start again; "
        "or, if these records are rightly refused, start once with --accept-refusals",
        (int)name.len, name.data, service->holds[index].why.text);
}

void rr_hold_report(const rr_service *service)
{
    for (size_t k = 0; k < service->env->source_count; k++) {
        if (service->recovery.progress[k].is_held) {
            report(service, k);
        }
    }
}

rr_status rr_hold_fail(const rr_service *service, rr_error *error)
{
    for (size_t k = 0; k < service->env->source_count; k++) {
        rr_slice name = service->env->sources[k].name;

        if (service->recovery.progress[k].is_held) {
            return rr_fail(error, RR_INPUT, "source %.*s is held: %s", (int)name.len, name.data,
                           service->holds[k].why.text);
        }
    }
    return RR_OK;
}

/* The first refused record of the contract, for a person. */
static const rr_item *example_of(const rr_intake *intake, const rr_contract *contract)
{
    for (size_t k = 0; k < intake->count; k++) {
        if (intake->items[k].contract == contract && intake->items[k].outcome.verdict == RR_VERDICT_REFUSED) {
            return &intake->items[k];
        }
    }
    return NULL;
}

static void hold(rr_service *service, const rr_inflight *batch, const rr_contract *contract, const rr_refusals *counts)
{
    rr_hold *held = &service->holds[batch->source];
    const rr_item *example = example_of(&batch->intake, contract);
    int percent = (int)(counts->refused * 100 / counts->judged);

    service->recovery.progress[batch->source].is_held = true;
    service->recovery.progress[batch->source].held_by = rr_mappings_digest(&service->env->sources[batch->source]);
    held->is_new = true;
    if (example == NULL) {
        rr_fail(&held->why, RR_INPUT, "contract %.*s: %d %% of the records that its mapping makes are refused",
                (int)contract->name.len, contract->name.data, percent);
    } else {
        rr_fail(&held->why, RR_INPUT,
                "contract %.*s: %d %% of the records that its mapping makes are refused; sequence %llu: %s: %.*s",
                (int)contract->name.len, contract->name.data, percent,
                (unsigned long long)example->record->stream_sequence, rr_reason_word(example->outcome.reason),
                (int)example->why.len, example->why.len == 0 ? "" : example->why.data);
    }
    report(service, batch->source);
}

static size_t index_of(const rr_environment *env, const rr_contract *contract)
{
    size_t k = 0;

    while (k < env->contract_count && env->contracts[k].contract != contract) {
        k++;
    }
    return k;
}

/* Counts by contract; most neighbours have the same one. */
static void count(const rr_environment *env, const rr_intake *intake, rr_refusals *refusals)
{
    const rr_contract *last = NULL;
    size_t at = env->contract_count;

    for (size_t k = 0; k < intake->count; k++) {
        const rr_item *item = &intake->items[k];

        if (item->is_mapped && item->contract != last) {
            last = item->contract;
            at = index_of(env, last);
        }
        if (item->is_mapped && at < env->contract_count) {
            refusals[at].batch_judged++;
            refusals[at].batch_refused += item->outcome.verdict == RR_VERDICT_REFUSED;
        }
    }
}

bool rr_hold_check(rr_service *service, const rr_inflight *batch)
{
    const rr_environment *env = service->env;
    rr_refusals *refusals = service->refusals + batch->source * env->contract_count;

    if (service->recovery.progress[batch->source].is_held) {
        return true;
    }
    if (env->sources[batch->source].mappings.len == 0 || service->options->accept_refusals) {
        return false;
    }
    count(env, &batch->intake, refusals);
    for (size_t c = 0; c < env->contract_count; c++) {
        if (rr_refusals_end_batch(&refusals[c])) {
            hold(service, batch, env->contracts[c].contract, &refusals[c]);
        }
    }
    return service->recovery.progress[batch->source].is_held;
}

rr_status rr_hold_write_notes(rr_service *service, rr_error *error)
{
    const rr_environment *env = service->env;
    rr_status status = RR_OK;

    for (size_t k = 0; k < env->source_count && status == RR_OK; k++) {
        rr_slice key;

        if (!service->holds[k].is_new) {
            continue;
        }
        key = note_key(service, k);
        rr_buf_clear(&service->text);
        rr_buf_format(&service->text, "%016" PRIx64 " %s", service->recovery.progress[k].held_by,
                      service->holds[k].why.text);
        status = key.data == NULL || !rr_buf_ok(&service->text)
                     ? rr_service_no_memory(error)
                     : env->store_ops->note_put(env->store, key, rr_buf_view(&service->text), 0, error);
        service->holds[k].is_new = status != RR_OK;
    }
    return status;
}
