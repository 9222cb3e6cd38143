/* The order of a rebuild: a generation beside the one in force, and the switch to it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rebuild_drop.h"
#include "rebuild_keys.h"
#include "rebuild_lock.h"
#include "rebuild_read.h"
#include "rebuild_switch.h"
#include "verify.h"

enum {
    BATCH = 1024,
    FEW = 2000,       /* messages that may still have to be read while the daemons pause */
    READERS_MS = 5000 /* a reader that has read the name of the generation may use it for so long */
};

static rr_slice prefix_of(rr_rebuild *r, uint64_t number)
{
    rr_buf text = {0};

    rr_generation_prefix(&text, r->options->base_prefix, number);
    return rr_rebuild_keep(&text, &r->arena);
}

static rr_status verify_target(rr_rebuild *r)
{
    const rr_rebuild_options *o = r->options;
    uint64_t *upto = rr_arena_take(&r->arena, (o->source_count + 1) * sizeof *upto);
    rr_status status = upto == NULL ? rr_rebuild_no_memory(r->error) : RR_OK;

    for (size_t k = 0; k < o->source_count && upto != NULL; k++) {
        upto[k] = r->positions[k].sequence;
    }
    for (size_t k = 0; k < o->contract_count && status == RR_OK; k++) {
        rr_verify_options options = {.contract = o->contracts[k].contract,
                                     .store_ops = o->store_ops,
                                     .store = o->store,
                                     .memory_ops = o->memory_ops,
                                     .prefix = r->target,
                                     .sources = o->sources,
                                     .source_count = o->source_count,
                                     .upto = upto,
                                     .rounds = 1,
                                     .now_us = o->now_us,
                                     .pause = o->pause_ms,
                                     .report = o->report,
                                     .context = o->context};
        rr_verify_totals totals;

        status = rr_verify_run(&options, &totals, r->error);
        if (status == RR_OK) {
            r->totals->equal += totals.equal;
            r->totals->different += totals.different;
            r->totals->not_verifiable += totals.not_verifiable;
        }
    }
    return status;
}

static rr_status fill_and_switch(rr_rebuild *r)
{
    rr_batch_options batch = {.prefix = r->target,
                              .list_open = true,
                              .expire = true,
                              .forget = true,
                              .report_stuck = rr_rebuild_report_stuck,
                              .context = r};
    rr_status status;

    r->batch = rr_batch_new(r->options->store_ops, r->options->store, &batch);
    status = r->batch == NULL ? rr_rebuild_no_memory(r->error) : rr_rebuild_put_notes(r);
    status = status == RR_OK ? rr_rebuild_catch_up(r, FEW) : status;
    if (status == RR_OK) {
        rr_rebuild_log(r, RR_LOG_INFO, "%" PRIu64 " records were read into prefix %.*s; verifying them",
                       r->totals->records, (int)r->target.len, r->target.data);
        status = verify_target(r);
    }
    if (status != RR_OK || r->totals->different != 0) {
        return status;
    }
    rr_rebuild_log(r, RR_LOG_INFO,
                   "%" PRIu64 " cells are equal to a second reading of the streams; switching readers over",
                   r->totals->equal);
    status = rr_rebuild_catch_up(r, FEW);
    status = status == RR_OK ? rr_rebuild_switch_over(r) : status;
    if (status == RR_OK && !r->options->keep_old) {
        rr_rebuild_log(r, RR_LOG_INFO, "prefix %.*s is in force; removing the old one", (int)r->target.len,
                       r->target.data);
        r->options->pause_ms(READERS_MS);
        status = rr_rebuild_drop_old(r);
    }
    return status;
}

static rr_status choose_target(rr_rebuild *r)
{
    r->number = r->highest + 1;
    r->target = prefix_of(r, r->number);
    if (r->target.data == NULL) {
        return rr_rebuild_no_memory(r->error);
    }
    snprintf(r->totals->after, sizeof r->totals->after, "%.*s", (int)r->target.len, r->target.data);
    return RR_OK;
}

static rr_status read_generation(rr_rebuild *r)
{
    rr_status status = rr_generation_read(r->options->store_ops, r->options->store, r->options->base_prefix, &r->arena,
                                          &r->old, &r->in_force, r->error);

    r->highest = r->in_force;
    if (status == RR_OK) {
        snprintf(r->totals->before, sizeof r->totals->before, "%.*s", (int)r->old.len, r->old.data);
        snprintf(r->totals->after, sizeof r->totals->after, "%s", r->totals->before);
    }
    if (status != RR_OK || r->options->drop_only) {
        return status;
    }
    status = rr_rebuild_check_beginnings(r);
    return status == RR_OK ? rr_rebuild_check_alone(r) : status;
}

static rr_status rebuild(rr_rebuild *r)
{
    rr_status status = read_generation(r); /* again, under the lock: another rebuild may have ended meanwhile */

    status = status == RR_OK ? rr_rebuild_sweep(r) : status;
    if (status != RR_OK || r->options->drop_only) {
        return status;
    }
    status = choose_target(r);
    return status == RR_OK ? fill_and_switch(r) : status;
}

static rr_status prepare(rr_rebuild *r)
{
    if (r->options->store_ops->sweep == NULL) {
        return rr_fail(r->error, RR_CONFIG, "this store cannot remove a generation");
    }
    r->positions = rr_arena_zero(&r->arena, (r->options->source_count + 1) * sizeof *r->positions);
    r->lock_key = rr_rebuild_base_key(r, "rebuild");
    return r->positions == NULL || r->lock_key.data == NULL || !rr_rebuild_name_all(r) || !rr_tokens_init(&r->tokens) ||
                   !rr_intake_init(&r->intake, BATCH)
               ? rr_rebuild_no_memory(r->error)
               : RR_OK;
}

rr_status rr_rebuild_run(const rr_rebuild_options *options, rr_rebuild_totals *totals, rr_error *error)
{
    rr_rebuild *r = calloc(1, sizeof *r);
    rr_status status;

    *totals = (rr_rebuild_totals){0};
    if (r == NULL) {
        return rr_rebuild_no_memory(error);
    }
    r->options = options;
    r->totals = totals;
    r->error = error;
    rr_arena_init(&r->arena, 0);
    rr_arena_init(&r->page, 0);
    status = prepare(r);
    status = status == RR_OK ? read_generation(r) : status;
    if (status == RR_OK && options->dry_run) {
        status = choose_target(r);
    } else if (status == RR_OK) {
        status = rr_rebuild_take_lock(r);
        if (status == RR_OK) {
            status = rebuild(r);
            rr_rebuild_release_lock(r);
        }
    }
    rr_batch_free(r->batch);
    rr_arena_fini(&r->arena);
    rr_arena_fini(&r->page);
    rr_intake_fini(&r->intake);
    free(r);
    return status;
}
