/* Publishing on, and comparing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 300, CHECKPOINT_MS = 10000, REPAIRED_MS = 30000 };

static const char plain_contracts[] = "  - {name: sums, mode: delta, window: {kind: tumbling, size: 1m}}\n";
static const char *const plain_names[] = {"sums", NULL};

void rr_run_begin(rr_run *run, rr_world *world, const rr_setup *setup, bool plain)
{
    rr_setup own = setup == NULL ? (rr_setup){0} : *setup;

    own.contracts = plain ? plain_contracts : rr_mixed_contracts;
    own.names = plain ? plain_names : rr_mixed_names;
    own.batch = own.batch == 0 ? 64 : own.batch;
    *run = (rr_run){.world = world};
    rr_world_configure(world, "faults", &own, run->config);
    rr_history_init(&run->history, own.names, rr_world_seed);
    run->program = rr_child_run(world, run->config, NULL);
}

static bool is_plain(const rr_run *run)
{
    return run->history.names == plain_names;
}

void rr_run_add_plain(rr_run *run, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        rr_measure value = rr_value_measure(1 + (int64_t)rr_history_draw(&run->history, 1000));
        char key[32], text[64];
        rr_record record;

        snprintf(key, sizeof key, "key-%llu", (unsigned long long)rr_history_draw(&run->history, CELLS));
        record = rr_delta_record(key, run->history.count, &value, text);
        rr_history_add(&run->history, 0, &record);
    }
}

void rr_run_add(rr_run *run, size_t count)
{
    if (is_plain(run)) {
        rr_run_add_plain(run, count);
    } else {
        rr_history_mixed(&run->history, count, CELLS);
    }
}

void rr_run_publish(rr_run *run)
{
    rr_publish_history(run->world, &run->history, run->published, run->history.count - run->published);
    run->published = run->history.count;
}

void rr_run_load(rr_run *run, size_t count)
{
    rr_run_add(run, count);
    rr_run_publish(run);
}

void rr_run_restart(rr_run *run)
{
    run->program = rr_child_run(run->world, run->config, NULL);
}

/* ---- the checkpoint ---- */

static char *checkpoint_of(rr_run *run)
{
    return rr_redis_get(run->world, "rr:checkpoint:{results}");
}

uint64_t rr_run_floor(rr_run *run)
{
    char *text = checkpoint_of(run);
    const char *at = text == NULL ? NULL : strstr(text, "\"floor\":");
    uint64_t floor = at == NULL ? 0 : strtoull(at + strlen("\"floor\":"), NULL, 10);

    free(text);
    return floor;
}

static bool floor_is_reached(rr_world *world, const void *context)
{
    return rr_run_floor((rr_run *)context) == rr_stream_last(world, "RESULTS");
}

void rr_run_wait_checkpoint(rr_run *run)
{
    rr_wait(run->world, floor_is_reached, run, CHECKPOINT_MS, "the checkpoint to be written");
}

static bool nothing_is_repaired(rr_world *world, const void *context)
{
    char *text = checkpoint_of((rr_run *)context);
    bool none = text != NULL && strstr(text, "\"repair\":null") != NULL;

    (void)world;
    free(text);
    return none && floor_is_reached(world, context);
}

void rr_run_wait_repaired(rr_run *run)
{
    rr_wait(run->world, nothing_is_repaired, run, REPAIRED_MS, "the repair to end");
}

/* ---- the end ---- */

int rr_run_verify(rr_run *run)
{
    int code;
    char *said = rr_world_output(run->world, (const char *[]){"verify", "--config", run->config, NULL}, &code);

    if (code != 0) {
        print_error("verify: exit code %d\n%.2000s\n", code, said);
    }
    free(said);
    return code;
}

void rr_run_compare(rr_run *run)
{
    assert_int_equal(rr_stream_count(run->world, "DEAD"), run->letters);
    assert_true(rr_assert_cells(run->world, &run->history) > 0);
    assert_int_equal(rr_run_verify(run), 0);
}

void rr_run_fini(rr_run *run)
{
    rr_history_fini(&run->history);
}

void rr_run_end(rr_run *run)
{
    rr_wait_settled(run->world, RR_SETTLE_MS);
    rr_run_wait_repaired(run);
    assert_int_equal(rr_child_stop(run->program, RR_LEAVE_MS), 0);
    assert_int_equal(rr_child_count_before(run->program, " dead letters"), run->letters);
    rr_run_compare(run);
    rr_run_fini(run);
}

/* ---- notices ---- */

static rr_notice read_notice(const char *text)
{
    const char *lost = strstr(text, "had lost "), *range = strstr(text, "of sequences ");
    rr_notice notice = {.there = true};

    notice.lost = lost == NULL ? 0 : strtoull(lost + strlen("had lost "), NULL, 10);
    if (range != NULL) {
        sscanf(range, "of sequences %llu to %llu", &notice.from, &notice.to);
    }
    return notice;
}

rr_notice rr_run_notice(rr_run *run, const char *kind)
{
    redisReply *entries = rr_redis_ask(run->world, (const char *[]){"XRANGE", "rr:log:{}", "-", "+", NULL});
    rr_notice notice = {0};

    for (size_t k = 0; k < entries->elements; k++) {
        const redisReply *fields = entries->element[k]->element[1];
        const char *json = fields->elements < 2 ? "" : fields->element[1]->str;

        if (strstr(json, kind) != NULL) {
            notice = read_notice(json);
        }
    }
    freeReplyObject(entries);
    return notice;
}

/* ---- what breaks ---- */

size_t rr_run_portion(void)
{
    return rr_world_scaled(1500, 15000);
}

void rr_run_break_under_load(rr_run *run, size_t times, size_t most_ms, void (*break_it)(rr_run *run))
{
    for (size_t k = 0; k < times; k++) {
        rr_run_load(run, rr_run_portion());
        rr_nap_ms((long)rr_history_draw(&run->history, most_ms));
        break_it(run);
    }
}

/* ---- over a relay ---- */

void rr_relayed_begin(rr_relayed *relayed, rr_world *world, rr_relayed_server to, const rr_setup *setup, bool plain)
{
    rr_setup own = setup == NULL ? (rr_setup){0} : *setup;
    char url[64];

    relayed->relay = rr_relay_open(to == RR_RELAYED_NATS ? world->nats.port : world->redis.port);
    assert_non_null(relayed->relay);
    snprintf(url, sizeof url, "%s://127.0.0.1:%d", to == RR_RELAYED_NATS ? "nats" : "redis",
             rr_relay_port(relayed->relay));
    *(to == RR_RELAYED_NATS ? &own.nats_url : &own.redis_url) = url;
    rr_run_begin(&relayed->run, world, &own, plain);
}

void rr_relayed_end(rr_relayed *relayed)
{
    rr_run_end(&relayed->run);
    rr_relay_close(relayed->relay);
}

void rr_relayed_chopped(rr_world *world, rr_relayed_server to, size_t count)
{
    rr_relayed relayed;

    rr_relayed_begin(&relayed, world, to, NULL, false);
    rr_relay_chop(relayed.relay, true);
    rr_run_load(&relayed.run, count);
    rr_wait_settled(world, RR_SETTLE_MS);
    rr_relay_chop(relayed.relay, false);
    rr_relayed_end(&relayed);
}

void rr_relayed_half_open(rr_world *world, rr_relayed_server to, const rr_setup *setup, size_t times)
{
    rr_relayed relayed;

    rr_relayed_begin(&relayed, world, to, setup, false);
    for (size_t k = 0; k < times; k++) {
        rr_run_load(&relayed.run, rr_run_portion());
        rr_nap_ms((long)rr_history_draw(&relayed.run.history, 50));
        rr_relay_forget(relayed.relay);
        rr_run_load(&relayed.run, 100);
        rr_wait_settled(world, RR_SETTLE_MS);
    }
    rr_relayed_end(&relayed);
}

void rr_relayed_reset(rr_world *world, rr_relayed_server to, const rr_setup *setup, size_t times, size_t most_ms)
{
    rr_relayed relayed;

    rr_relayed_begin(&relayed, world, to, setup, false);
    for (size_t k = 0; k < times; k++) {
        rr_run_load(&relayed.run, rr_run_portion() / 10);
        rr_nap_ms((long)rr_history_draw(&relayed.run.history, most_ms));
        rr_relay_reset(relayed.relay);
    }
    rr_relayed_end(&relayed);
}
