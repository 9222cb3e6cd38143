/* The functions of librr: a contract, a mapping, a store and a batch behind five of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <rr/rr.h>

#include <stdlib.h>
#include <time.h>

#include "contract_yaml.h"
#include "intake.h"
#include "batch.h"
#include "key.h"
#include "mapping_yaml.h"

extern const rr_store_ops rr_store_memory_ops, rr_store_redis_ops;

struct rr_reconciler {
    rr_contract_list contracts;
    const rr_contract *contract;
    const rr_mapping *mapping; /* NULL: payloads are rr.v1.Result */
    rr_arena mapped;           /* holds it */
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

/* Paths of the mapping start at the folder of a file; the text has none, so it gets a name in the folder. */
static const char *name_of_mapping(rr_reconciler *r, const char *folder)
{
    rr_buf path = {0};
    rr_slice kept = {NULL, 0};

    if (folder != NULL) {
        rr_buf_format(&path, "%s/", folder);
    }
    rr_buf_put(&path, "mapping_yaml", sizeof "mapping_yaml");
    if (rr_buf_ok(&path)) {
        kept = rr_arena_copy(&r->mapped, rr_buf_view(&path));
    }
    rr_buf_fini(&path);
    return kept.data;
}

static rr_status read_mapping(rr_reconciler *r, const rr_reconciler_options *options, rr_error *error)
{
    rr_problems problems = {0};
    rr_schema_files files = {NULL};
    rr_reading reading = {name_of_mapping(r, options->mapping_folder), &r->mapped, &problems};
    rr_yaml_node *node;
    rr_decode decode = {NULL, NULL, 0};
    rr_status status;

    if (reading.path == NULL) {
        return no_memory(error);
    }
    node = rr_yaml_parse(&reading, rr_slice_of(options->mapping_yaml));
    if (node != NULL) {
        rr_mapping_load(&reading, node, NULL, r->contract, &files, &decode);
    }
    status = rr_problems_fail(&problems, error);
    if (status == RR_OK && decode.mapping == NULL) {
        status = rr_fail(error, RR_CONFIG, "mapping_yaml says nothing");
    }
    r->mapping = decode.mapping;
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
    rr_arena_init(&r->mapped, 0);
    status = rr_intake_init(&r->intake, 1) ? read_contract(r, options, error) : no_memory(error);
    if (status == RR_OK && options->mapping_yaml != NULL) {
        status = read_mapping(r, options, error);
    }
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
    rr_arena_fini(&r->mapped);
    free(r->prefix);
    free(r);
}

static rr_status admit_all(rr_reconciler *r, const rr_input *inputs, size_t count, rr_answer *answers, rr_error *error)
{
    const rr_bound_route route = {r->contract, r->mapping};

    for (size_t k = 0; k < count; k++) {
        size_t skipped = r->intake.skipped;
        rr_delivery delivery = {.payload = inputs[k].payload,
                                .subject = inputs[k].subject,
                                .headers = inputs[k].headers,
                                .header_count = inputs[k].header_count,
                                .stream_sequence = inputs[k].sequence,
                                .stored_at_us = inputs[k].stored_at_us};

        if (!rr_intake_add_routed(&r->intake, route, inputs[k].stream, &delivery, now_us())) {
            return no_memory(error);
        }
        answers[k] = (rr_answer){.verdict = "", .reason = "", .stored = true, .skipped = r->intake.skipped - skipped};
    }
    return RR_OK;
}

static rr_answer answer_of(const rr_item *item)
{
    bool dead_letter = rr_verdict_settle(item->outcome.verdict) == RR_SETTLE_DEAD_LETTER;

    return (rr_answer){.verdict = rr_verdict_word(item->outcome.verdict),
                       .reason = rr_reason_word(item->outcome.reason),
                       .text = item->why,
                       .stored = item->settled,
                       .dead_letter = dead_letter,
                       .index = item->index,
                       .records = 1,
                       .dead_letters = dead_letter};
}

/* The verdicts stand in the order of their gravity. */
static void join_answers(const rr_intake *intake, rr_answer *answers)
{
    const rr_item *gravest = NULL;

    for (size_t k = 0; k < intake->count; k++) {
        const rr_item *item = &intake->items[k];
        rr_answer *to = &answers[item->delivery], one = answer_of(item);
        bool is_first = to->records == 0;

        one.skipped = to->skipped;
        one.stored = one.stored && to->stored;
        one.records += to->records;
        one.dead_letters += to->dead_letters;
        one.dead_letter = one.dead_letters != 0;
        if (!is_first && gravest->outcome.verdict >= item->outcome.verdict) {
            one.verdict = to->verdict;
            one.reason = to->reason;
            one.text = to->text;
            one.index = to->index;
        } else {
            gravest = item;
        }
        *to = one;
    }
}

rr_status rr_reconciler_take(rr_reconciler *r, const rr_input *inputs, size_t count, rr_answer *answers,
                             rr_error *error)
{
    rr_status status;

    rr_intake_reset(&r->intake);
    if (count == 0) {
        return RR_OK;
    }
    status = rr_intake_reserve(&r->intake, count) ? admit_all(r, inputs, count, answers, error) : no_memory(error);
    if (status == RR_OK && r->intake.count != 0) {
        status = rr_batch_begin(r->batch, r->intake.items, r->intake.count, error);
        status = status == RR_OK ? rr_batch_step(r->batch, now_us(), error) : status;
    }
    if (status == RR_OK) {
        join_answers(&r->intake, answers);
    }
    return status;
}

/* Items stand in the order of their deliveries. */
bool rr_reconciler_answer(const rr_reconciler *r, size_t input, size_t record, rr_answer *answer)
{
    const rr_item *items = r->intake.items;
    size_t low = 0, high = r->intake.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items[middle].delivery < input) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (record >= r->intake.count - low || items[low + record].delivery != input) {
        return false;
    }
    *answer = answer_of(&items[low + record]);
    return true;
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
