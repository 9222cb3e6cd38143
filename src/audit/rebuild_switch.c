/* The switch: what stands beside the cells, the pause of the daemons, and the key that names the generation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rebuild_switch.h"

#include "checkpoint.h"
#include "decision.h"
#include "rebuild_read.h"

enum {
    PAUSE_MS = 10000,       /* the pause ends by itself after that */
    PAUSE_NOTICED_MS = 2500 /* daemons look for the pause each second, and end the batch that they have begun */
};

/* The key must be new: if it is there, another rebuild has written it. */
static rr_status put_new(rr_rebuild *r, const char *kind, rr_slice name, rr_slice value)
{
    rr_buf text = {0};
    rr_slice key;
    bool done = false;
    rr_status status;

    rr_arena_reset(&r->page);
    key = rr_store_key(r->target, kind, name, &text, &r->page);
    status = key.data == NULL ? rr_rebuild_no_memory(r->error)
                              : r->options->store_ops->note_set(r->options->store, key, (rr_slice){NULL, 0}, value, 0,
                                                                NULL, &done, r->error);
    if (status == RR_OK && !done) {
        status = rr_fail(r->error, RR_UNAVAILABLE, "key %.*s is there already: another rebuild is at work",
                         (int)key.len, key.data);
    }
    rr_buf_fini(&text);
    return status;
}

rr_status rr_rebuild_put_notes(rr_rebuild *r)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < r->options->contract_count && status == RR_OK; k++) {
        status = put_new(r, "contract", r->options->contracts[k].contract->name, r->options->contracts[k].text);
    }
    for (size_t k = 0; k < r->options->source_count && status == RR_OK; k++) {
        if (r->options->sources[k].mappings.len != 0) {
            status = put_new(r, "mapping", r->options->sources[k].name, r->options->sources[k].mappings);
        }
    }
    return status;
}

/* They have no incarnation of the store. So the first daemon that starts reads again what was delivered after them
 * and before the switch. */
static rr_status put_checkpoints(rr_rebuild *r)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < r->options->source_count && status == RR_OK; k++) {
        const rr_bound_source *source = &r->options->sources[k];
        rr_checkpoint c = {.stream = source->stream,
                           .consumer = source->consumer,
                           .floor = r->positions[k].sequence,
                           .digest_of = r->positions[k].sequence,
                           .digest = r->positions[k].digest};
        rr_source_info info;
        rr_buf text = {0};

        status = source->ops->info(source->source, &info, r->error);
        c.created_at_us = info.created_at_us;
        rr_checkpoint_write(&text, &c);
        if (status == RR_OK) {
            status = rr_buf_ok(&text) ? put_new(r, "checkpoint", source->name, rr_buf_view(&text))
                                      : rr_rebuild_no_memory(r->error);
        }
        rr_buf_fini(&text);
    }
    return status;
}

static rr_status set_pause(rr_rebuild *r, rr_slice value, rr_error *error)
{
    rr_slice key = rr_rebuild_base_key(r, "pause");

    return key.data == NULL ? rr_rebuild_no_memory(error)
                            : r->options->store_ops->note_put(r->options->store, key, value, PAUSE_MS, error);
}

/* One swap, guarded by the token of the lock: the key names the new generation only while the lock is ours. */
static rr_status set_generation(rr_rebuild *r)
{
    rr_side side = {.key = rr_rebuild_base_key(r, "generation"), .value = r->target};
    rr_swap swap = {
        .key = r->lock_key, .token = {r->token, RR_TOKEN_LEN}, .partless = true, .sides = &side, .side_count = 1};
    rr_slice now = {NULL, 0};
    uint64_t number;
    rr_status status = side.key.data == NULL
                           ? rr_rebuild_no_memory(r->error)
                           : r->options->store_ops->swap(r->options->store, &swap, 1, &r->arena, r->error);

    if (status == RR_OK && swap.answer == RR_SWAP_WON) {
        return RR_OK;
    }
    if (status == RR_OK && swap.answer == RR_SWAP_FAILED) {
        *r->error = swap.error;
        return r->error->status;
    }
    if (status != RR_OK || swap.answer == RR_SWAP_UNKNOWN) {
        rr_error again_error = {0};
        rr_status looked = rr_generation_read(r->options->store_ops, r->options->store, r->options->base_prefix,
                                              &r->arena, &now, &number, &again_error);

        return looked == RR_OK && number == r->number ? RR_OK
               : status != RR_OK
                   ? status
                   : rr_fail(r->error, RR_UNAVAILABLE, "the store did not answer to the switch; run the rebuild again");
    }
    return rr_fail(r->error, RR_UNAVAILABLE, "another rebuild took over before the switch; nothing was switched over");
}

/* The daemons have paused when the rest is read. So the new generation holds all that a reader has seen. */
rr_status rr_rebuild_switch_over(rr_rebuild *r)
{
    rr_error ignored = {0};
    rr_status status = set_pause(r, r->target, r->error);

    if (status == RR_OK) {
        r->options->pause_ms(PAUSE_NOTICED_MS);
        status = rr_rebuild_catch_up(r, 0);
    }
    status = status == RR_OK ? rr_rebuild_check_beginnings(r) : status;
    status = status == RR_OK ? put_checkpoints(r) : status;
    status = status == RR_OK ? set_generation(r) : status;
    r->totals->switched = status == RR_OK;
    set_pause(r, (rr_slice){NULL, 0}, &ignored);
    return status;
}
