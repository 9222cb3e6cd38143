/* A batch from begin to the end of its steps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <stdlib.h>

#include "parts.h"
#include "prediction.h"
#include "refusals.h"
#include "round_trip.h"

enum {
    SEND_FROM = 256, /* the defaults of rr_batch_options */
    PREDICT_FROM = 64
};

rr_batch *rr_batch_new(const rr_store_ops *ops, rr_store *store, const rr_batch_options *options)
{
    rr_batch *batch = calloc(1, sizeof *batch);

    if (batch == NULL || !rr_tokens_init(&batch->tokens)) {
        free(batch);
        return NULL;
    }
    batch->ops = ops;
    batch->store = store;
    batch->options = *options;
    batch->options.send_from = options->send_from == 0 ? SEND_FROM : options->send_from;
    batch->options.predict_from = options->predict_from == 0 ? PREDICT_FROM : options->predict_from;
    batch->cache = options->cache_slots == 0 ? NULL : rr_cache_new(options->cache_slots);
    rr_arena_init(&batch->keys, 0);
    rr_arena_init(&batch->arena, 0);
    rr_arena_init(&batch->scratch, 0);
    return batch;
}

void rr_batch_free(rr_batch *batch)
{
    if (batch != NULL) {
        rr_arena_fini(&batch->keys);
        rr_arena_fini(&batch->arena);
        rr_arena_fini(&batch->scratch);
        rr_buf_fini(&batch->text);
        rr_cache_free(batch->cache);
        free(batch->units);
        free(batch->slots);
        free(batch);
    }
}

void rr_batch_invalidate(rr_batch *batch)
{
    if (batch->cache != NULL) {
        rr_cache_empty(batch->cache);
    }
}

const rr_batch_counts *rr_batch_totals(const rr_batch *batch)
{
    return &batch->counts;
}

static bool is_unfinished(const rr_batch *batch)
{
    for (size_t k = 0; k < batch->unit_count; k++) {
        if (batch->units[k].state < RR_BATCH_SWAP) {
            return true;
        }
    }
    return false;
}

/* After a step that failed, every unit that is not settled is loaded again. It is not predicted to be absent, since
 * its swap may have won. The values that were loaded before are freed, since an outage may last and each of its
 * steps loads. */
static void start_over(rr_batch *batch)
{
    rr_arena_reset(&batch->arena);
    for (size_t k = 0; k < batch->unit_count; k++) {
        rr_batch_unit *u = &batch->units[k];

        if (u->state != RR_BATCH_DONE && u->state != RR_BATCH_STUCK) {
            u->value = (rr_slice){NULL, 0};
            u->looked_up = true;
            u->all_parts = false;
            u->state = RR_BATCH_LOAD;
        }
    }
}

rr_status rr_batch_step(rr_batch *batch, int64_t now_us, rr_error *error)
{
    rr_status status;

    batch->now_us = now_us;
    if (batch->step_failed) {
        start_over(batch);
    }
    do {
        rr_arena_reset(&batch->scratch);
        rr_batch_predict_absent(batch);
        status = rr_batch_read_parts(batch, error);
        if (status == RR_OK) {
            status = rr_batch_round_trip(batch, error);
        }
        if (status == RR_OK) {
            status = rr_batch_store_refusals(batch, error);
        }
    } while (status == RR_OK && is_unfinished(batch));
    /* A record that changed nothing was decided from a value that replicas may not have yet: it waits for them too. */
    if (status == RR_OK && !batch->confirmed) {
        status = batch->ops->confirm(batch->store, error);
        batch->confirmed = status == RR_OK;
    }
    batch->step_failed = status != RR_OK;
    if (batch->step_failed) {
        rr_batch_invalidate(batch);
    }
    return status;
}
