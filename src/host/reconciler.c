/* librr's front: a contract, a store and a batch behind four functions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/rr.h>

#include <stdlib.h>
#include <time.h>

#include "contract_yaml.h"
#include "intake.h"
#include "batch.h"
#include "key.h"

extern const rr_store_ops rr_store_memory_ops, rr_store_redis_ops;

struct rr_reconciler {
    rr_contract_list contracts;
    const rr_contract *contract;
    const rr_store_ops *ops;
    rr_store *store;
    rr_batch *batch;
    char *prefix;
    rr_intake intake;
    rr_arena loaded; /* the value of rr_reconciler_get: the texts of answers live longer than it */
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static rr_status no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out");
}

static rr_status read_contract(rr_reconciler *r, const rr_reconciler_options *options, rr_error *error)
{
    rr_problems problems = {0};
    rr_status status =
        rr_contracts_parse("contract_yaml", rr_slice_of(options->contract_yaml), &r->contracts, &problems);

    if (status != RR_OK) {
        rr_problems_fail(&problems, error);
    } else if (options->contract == NULL && r->contracts.count == 1) {
        r->contract = &r->contracts.items[0];
    } else if (options->contract == NULL) {
        status = rr_fail(error, RR_CONFIG, "contract_yaml has %zu contracts: say which", r->contracts.count);
    } else {
        r->contract = rr_contracts_find(&r->contracts, rr_slice_of(options->contract));
        status = r->contract != NULL
                     ? RR_OK
                     : rr_fail(error, RR_CONFIG, "contract_yaml has no contract named '%s'", options->contract);
    }
    rr_problems_fini(&problems);
    return status;
}

static rr_status open_store(rr_reconciler *r, const rr_reconciler_options *options, rr_error *error)
{
    rr_store_options store = {
        .timeout_ms = options->timeout_ms, .wait_replicas = options->wait_replicas, .prefix = options->prefix};
    rr_batch_options batch = {.log_decisions = true, .list_open = true, .expire = true, .forget = true};
    rr_status status;

    r->ops = strncmp(options->store_url, "memory", 6) == 0 ? &rr_store_memory_ops : &rr_store_redis_ops;
    status = r->ops->open(options->store_url, &store, &r->store, error);
    if (status != RR_OK) {
        return status;
    }
    r->prefix = strdup(options->prefix == NULL ? "rr" : options->prefix);
    batch.prefix = rr_slice_of(r->prefix);
    r->batch = r->prefix == NULL ? NULL : rr_batch_new(r->ops, r->store, &batch);
    return r->batch == NULL ? no_memory(error) : RR_OK;
}

rr_status rr_reconciler_open(const rr_reconciler_options *options, rr_reconciler **reconciler, rr_error *error)
{
    rr_reconciler *r = calloc(1, sizeof *r);
    rr_status status;

    *reconciler = NULL;
    if (r == NULL) {
        return no_memory(error);
    }
    rr_arena_init(&r->loaded, 0);
    status = rr_intake_init(&r->intake, 1) ? read_contract(r, options, error) : no_memory(error);
    if (status == RR_OK) {
        status = open_store(r, options, error);
    }
    if (status != RR_OK) {
        rr_reconciler_close(r);
        return status;
    }
    *reconciler = r;
    return RR_OK;
}

void rr_reconciler_close(rr_reconciler *r)
{
    if (r == NULL) {
        return;
    }
    rr_batch_free(r->batch);
    if (r->store != NULL) {
        r->ops->close(r->store);
    }
    rr_contracts_fini(&r->contracts);
    rr_intake_fini(&r->intake);
    rr_arena_fini(&r->loaded);
    free(r->prefix);
    free(r);
}

static rr_status admit_all(rr_reconciler *r, const rr_input *inputs, size_t count, rr_error *error)
{
    for (size_t k = 0; k < count; k++) {
        rr_delivery delivery = {.payload = inputs[k].payload,
                                .stream_sequence = inputs[k].sequence,
                                .stored_at_us = inputs[k].stored_at_us};

        if (!rr_intake_add_routed(&r->intake, (rr_bound_route){.contract = r->contract}, inputs[k].stream, &delivery,
                                  now_us())) {
            return no_memory(error);
        }
    }
    return RR_OK;
}

static void answer(const rr_item *item, rr_answer *to)
{
    *to = (rr_answer){.verdict = rr_verdict_word(item->outcome.verdict),
                      .reason = rr_reason_word(item->outcome.reason),
                      .text = item->why,
                      .stored = item->settled,
                      .dead_letter = rr_verdict_settle(item->outcome.verdict) == RR_SETTLE_DEAD_LETTER};
}

rr_status rr_reconciler_take(rr_reconciler *r, const rr_input *inputs, size_t count, rr_answer *answers,
                             rr_error *error)
{
    rr_status status;

    rr_intake_reset(&r->intake);
    if (count == 0) {
        return RR_OK;
    }
    status = rr_intake_reserve(&r->intake, count) ? admit_all(r, inputs, count, error) : no_memory(error);
    if (status == RR_OK) {
        status = rr_batch_begin(r->batch, r->intake.items, count, error);
    }
    if (status == RR_OK) {
        status = rr_batch_step(r->batch, now_us(), error);
    }
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        answer(&r->intake.items[k], &answers[k]);
    }
    return status;
}

rr_status rr_reconciler_get(rr_reconciler *r, rr_slice business_key, rr_slice metric_version, int64_t start_us,
                            int64_t end_us, rr_slice *json, rr_error *error)
{
    rr_load load = {0};
    rr_buf key = {0};
    rr_status status;

    rr_arena_reset(&r->loaded);
    rr_key_unit(&key, rr_slice_of(r->prefix), r->contract, business_key, metric_version, (rr_window){start_us, end_us});
    load.key = rr_buf_view(&key);
    status = rr_buf_ok(&key) ? r->ops->load(r->store, &load, 1, &r->loaded, error) : no_memory(error);
    rr_buf_fini(&key);
    if (status == RR_OK && load.error.status != RR_OK) {
        *error = load.error;
        status = error->status;
    }
    *json = status == RR_OK ? load.value : (rr_slice){NULL, 0};
    return status;
}
