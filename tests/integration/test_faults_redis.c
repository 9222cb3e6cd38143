/* Redis breaks in every way that it can: nothing is lost, nothing counts twice, and no record becomes a dead letter. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"

enum { SOON_MS = 10000, PATH = 512 };

static void ask(rr_run *run, const char *const *words)
{
    freeReplyObject(rr_redis_ask(run->world, words));
}

static void config_set(rr_run *run, const char *name, const char *value)
{
    ask(run, (const char *[]){"CONFIG", "SET", name, value, NULL});
}

static void come_back(rr_run *run, bool keep_data)
{
    assert_true(rr_server_restart(&run->world->redis, keep_data));
    rr_redis_reconnect(run->world);
}

/* What came back must be what was lost, all of it, and the range must hold it. */
static void assert_told(rr_run *run, uint64_t first_lost, uint64_t last_lost, uint64_t results)
{
    rr_notice notice = rr_run_notice(run, "sink_rolled_back");

    assert_true(notice.there);
    print_message("    lost %llu results of sequences %llu to %llu; told %llu of %llu to %llu\n",
                  (unsigned long long)results, (unsigned long long)first_lost, (unsigned long long)last_lost,
                  notice.lost, notice.from, notice.to);
    assert_true(notice.from <= first_lost && notice.to >= last_lost);
    if (results != 0) {
        assert_int_equal(notice.lost, results);
    }
    assert_true(rr_child_has_said(run->program, "sink_rolled_back"));
}

/* ---- killed, or without its data ---- */

static void kill_redis(rr_run *run, bool keep_data)
{
    rr_server_kill(&run->world->redis);
    rr_run_load(run, 100);
    come_back(run, keep_data);
}

static void kill_and_keep(rr_run *run)
{
    kill_redis(run, true);
}

static void kill_and_lose(rr_run *run)
{
    kill_redis(run, false);
}

static void flush(rr_run *run)
{
    ask(run, (const char *[]){"FLUSHALL", NULL});
    rr_run_load(run, 100);
}

static void broken_under_load(void **state, size_t times, size_t most_ms, void (*break_it)(rr_run *run))
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_break_under_load(&run, times, most_ms, break_it);
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

static void killed_while_it_keeps_a_log_nothing_is_missing(void **state)
{
    broken_under_load(state, rr_world_scaled(3, 20), 60, kill_and_keep);
}

static void killed_without_a_log_under_load_everything_comes_back(void **state)
{
    broken_under_load(state, rr_world_scaled(3, 20), 100, kill_and_lose);
}

static void flushed_under_load_everything_comes_back(void **state)
{
    broken_under_load(state, rr_world_scaled(4, 30), 200, flush);
}

/* All of it is lost while nothing is under relayed, so what is told of it is exact. */
static void lost_at_rest(void **state, bool killed)
{
    rr_run run;
    uint64_t last;

    rr_run_begin(&run, *state, NULL, true);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    last = rr_stream_last(run.world, "RESULTS");
    if (killed) {
        rr_server_kill(&run.world->redis);
        come_back(&run, false);
    } else {
        ask(&run, (const char *[]){"FLUSHALL", NULL});
    }
    rr_run_wait_repaired(&run);
    assert_told(&run, 1, last, last);
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

static void killed_without_a_log_everything_comes_back(void **state)
{
    lost_at_rest(state, true);
}

/* The same process, without its data. */
static void flushed_while_it_runs_everything_comes_back(void **state)
{
    lost_at_rest(state, false);
}

/* ---- the log cut short ---- */

/* The file that grows. */
static void find_log(const rr_world *world, char *path)
{
    char folder[PATH / 2];
    struct dirent *entry;
    DIR *dir;

    snprintf(folder, sizeof folder, "%s/data/appendonlydir", world->redis.folder);
    dir = opendir(folder);
    assert_non_null(dir);
    path[0] = '\0';
    while ((entry = readdir(dir)) != NULL) {
        if (strstr(entry->d_name, ".incr.aof") != NULL) {
            snprintf(path, PATH, "%s/%.200s", folder, entry->d_name);
        }
    }
    closedir(dir);
    assert_true(path[0] != '\0');
}

static off_t size_of(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

/* A known suffix of effects is gone, to the byte, and the checkpoint is the one from before it. */
static void lose_suffix(rr_run *run, size_t count)
{
    char log[PATH];
    uint64_t floor, last;
    off_t size;

    rr_wait_settled(run->world, RR_SETTLE_MS);
    rr_run_wait_checkpoint(run);
    floor = rr_run_floor(run);
    find_log(run->world, log);
    rr_nap_ms(50);
    size = size_of(log);
    rr_run_load(run, count);
    rr_wait_settled(run->world, RR_SETTLE_MS);
    last = rr_stream_last(run->world, "RESULTS");
    assert_int_equal(last, floor + count);
    rr_server_kill(&run->world->redis);
    assert_true(size_of(log) > size + 17);
    assert_int_equal(truncate(log, size + 17), 0); /* within a command */
    come_back(run, true);
    rr_run_wait_repaired(run);
    assert_told(run, floor + 1, last, count);
}

static void its_log_cut_short_what_was_above_the_checkpoint_comes_back(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, true);
    for (size_t k = 0; k < rr_world_scaled(2, 10); k++) {
        rr_run_load(&run, rr_run_portion());
        lose_suffix(&run, 200 + rr_history_draw(&run.history, 400));
    }
    rr_run_end(&run);
}

/* The program is not there when it happens, and finds it when it comes. */
static void its_log_cut_short_while_nobody_runs_it_comes_back(void **state)
{
    rr_run run;
    char log[PATH];
    uint64_t floor, last;
    off_t size;

    rr_run_begin(&run, *state, NULL, true);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    rr_run_wait_checkpoint(&run);
    floor = rr_run_floor(&run);
    find_log(run.world, log);
    rr_nap_ms(50);
    size = size_of(log);
    rr_run_load(&run, 300);
    rr_wait_settled(run.world, RR_SETTLE_MS);
    last = rr_stream_last(run.world, "RESULTS");
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    rr_server_kill(&run.world->redis);
    assert_int_equal(truncate(log, size), 0);
    come_back(&run, true);
    rr_run_restart(&run);
    rr_run_wait_repaired(&run);
    assert_told(&run, floor + 1, last, 300);
    rr_run_end(&run);
}

/* ---- another master ---- */

static bool replica_is_up(rr_world *world, const void *context)
{
    redisReply *reply = rr_redis_ask(world, (const char *[]){"INFO", "replication", NULL});
    bool up = strstr(reply->str, "master_link_status:up") != NULL;

    (void)context;
    freeReplyObject(reply);
    return up;
}

/* A replica behind a relay of its own; asked through world->link while this is at work. */
static void start_replica(rr_world *world, rr_server *replica, int master_port)
{
    rr_server master = world->redis;
    char port[16];

    assert_true(rr_server_start_redis(replica, (const char *[]){"--repl-diskless-sync-delay", "0", NULL}));
    snprintf(port, sizeof port, "%d", master_port);
    world->redis = *replica;
    rr_redis_reconnect(world);
    freeReplyObject(rr_redis_ask(world, (const char *[]){"REPLICAOF", "127.0.0.1", port, NULL}));
    rr_wait(world, replica_is_up, NULL, SOON_MS, "the replica to follow");
    world->redis = master;
    rr_redis_reconnect(world);
}

/* lag: how many of the last records the replica does not get. */
static void fail_over(void **state, size_t lag)
{
    rr_world *world = *state;
    rr_relay *front = rr_relay_open(world->redis.port), *between = rr_relay_open(world->redis.port);
    rr_setup setup = {0};
    rr_server replica, master = world->redis;
    char url[64];
    uint64_t floor, last;
    rr_run run;

    freeReplyObject(rr_redis_ask(world, (const char *[]){"CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL}));
    start_replica(world, &replica, rr_relay_port(between));
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", rr_relay_port(front));
    setup.redis_url = url;
    rr_run_begin(&run, world, &setup, true);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(world, RR_SETTLE_MS);
    rr_run_wait_checkpoint(&run);
    floor = rr_run_floor(&run);
    rr_nap_ms(300); /* the replica has it all */
    rr_relay_freeze(between, true);
    if (lag != 0) {
        rr_run_load(&run, lag);
        rr_wait_settled(world, RR_SETTLE_MS);
    }
    last = rr_stream_last(world, "RESULTS");
    rr_server_kill(&master);
    rr_relay_close(between);

    world->redis = replica;
    rr_redis_reconnect(world);
    ask(&run, (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
    rr_run_load(&run, 100);
    rr_relay_lead_to(front, replica.port);
    rr_relay_reset(front);
    rr_run_wait_repaired(&run);
    if (lag != 0) {
        assert_told(&run, floor + 1, last, lag);
    } else {
        assert_false(rr_run_notice(&run, "sink_rolled_back").there);
    }
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
    rr_relay_close(front);
    rr_server_fini(&master);
}

static void failed_over_to_a_replica_that_lagged_what_it_lacks_comes_back(void **state)
{
    fail_over(state, 350);
}

static void failed_over_to_a_replica_in_step_nothing_is_missing(void **state)
{
    fail_over(state, 0);
}

/* ---- replicas that are waited for ---- */

/* Nobody was there twice, so a decision that stands twice in the log was told again by a retry. */
static void assert_told_once(rr_run *run)
{
    for (size_t k = 0; run->history.names[k] != NULL; k++) {
        char key[64], *seen = calloc(run->history.count + 1, 1);
        redisReply *entries;

        assert_non_null(seen);
        snprintf(key, sizeof key, "rr:log:{%s}", run->history.names[k]);
        entries = rr_redis_ask(run->world, (const char *[]){"XRANGE", key, "-", "+", NULL});
        for (size_t i = 0; i < entries->elements; i++) {
            const char *at = strstr(entries->element[i]->element[1]->element[1]->str, "\"sequence\":");
            size_t sequence = at == NULL ? 0 : strtoul(at + strlen("\"sequence\":"), NULL, 10);

            assert_true(sequence != 0 && sequence <= run->history.count);
            if (seen[sequence]++ != 0) {
                fail_msg("%s: sequence %zu stands twice in the log", key, sequence);
            }
        }
        freeReplyObject(entries);
        free(seen);
    }
}

static void its_replica_silent_nothing_is_acknowledged_nor_told_again(void **state)
{
    enum { MORE = 300 };
    rr_world *world = *state;
    rr_setup setup = {.wait_replicas = 1, .redis_timeout_ms = 1000, .ack_wait_s = 600};
    rr_server replica;
    rr_progress progress;
    rr_run run;

    ask(&(rr_run){.world = world}, (const char *[]){"CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL});
    start_replica(world, &replica, world->redis.port);
    rr_run_begin(&run, world, &setup, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(world, RR_SETTLE_MS);
    rr_server_pause(&replica);
    rr_run_load(&run, MORE);
    rr_child_wait_for(run.program, "only 0 of 1 replicas have confirmed", RR_SETTLE_MS);
    rr_nap_ms((long)rr_world_scaled(2500, 20000)); /* it tries again */
    progress = rr_consumer_progress(world);
    assert_int_equal(progress.pending + progress.ack_pending, MORE);
    rr_server_resume(&replica);
    rr_wait_settled(world, RR_SETTLE_MS);
    assert_told_once(&run);
    rr_run_end(&run);
    rr_server_fini(&replica);
}

/* The master of now, and who will be the next. */
typedef struct pair {
    rr_relay *front, *between;
    rr_server next;
} pair;

static void add_replica(pair *p, rr_world *world)
{
    p->between = rr_relay_open(world->redis.port);
    assert_non_null(p->between);
    start_replica(world, &p->next, rr_relay_port(p->between));
}

/* behind: the replica does not get the last records. Without that the fault begins while they are being stored, and
 * a program that does not wait for replicas goes on acknowledging. */
static void lose_master(pair *p, rr_run *run, bool behind)
{
    rr_world *world = run->world;
    rr_server lost = world->redis;

    if (behind) {
        rr_wait_settled(world, RR_SETTLE_MS);
        rr_relay_freeze(p->between, true);
    }
    rr_run_load(run, rr_run_portion());
    if (behind) {
        rr_child_wait_for(run->program, "only 0 of 1 replicas have confirmed", RR_SETTLE_MS);
    } else {
        rr_nap_ms((long)rr_history_draw(&run->history, 60));
        rr_relay_freeze(p->between, true);
        rr_nap_ms(200);
    }
    rr_server_kill(&lost);
    rr_relay_close(p->between);
    world->redis = p->next;
    rr_redis_reconnect(world);
    ask(run, (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
    add_replica(p, world);
    rr_run_load(run, 100);
    rr_relay_lead_to(p->front, world->redis.port);
    rr_relay_reset(p->front);
    rr_server_fini(&lost);
}

/* Nothing of a work queue can be read again: what was acknowledged must be where it was confirmed. */
static void lose_masters(void **state, size_t times, bool behind)
{
    rr_world *world = *state;
    rr_setup setup = {.wait_replicas = 1, .redis_timeout_ms = 1000};
    pair p = {.front = rr_relay_open(world->redis.port)};
    char url[64];
    rr_run run;

    assert_non_null(p.front);
    rr_stream_make_queue(world, "RESULTS", "results.>");
    ask(&(rr_run){.world = world}, (const char *[]){"CONFIG", "SET", "repl-diskless-sync-delay", "0", NULL});
    add_replica(&p, world);
    snprintf(url, sizeof url, "redis://127.0.0.1:%d", rr_relay_port(p.front));
    setup.redis_url = url;
    rr_run_begin(&run, world, &setup, false);
    rr_run_load(&run, rr_run_portion());
    for (size_t k = 0; k < times; k++) {
        lose_master(&p, &run, behind);
    }
    rr_wait_settled(world, RR_SETTLE_MS);
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    assert_int_equal(rr_stream_count(world, "RESULTS"), 0);
    assert_int_equal(rr_stream_count(world, "DEAD"), run.letters);
    assert_true(rr_assert_cells(world, &run.history) > 0);
    rr_run_fini(&run);
    rr_relay_close(p.between);
    rr_relay_close(p.front);
    rr_server_fini(&p.next);
}

static void its_master_lost_under_load_nothing_that_was_acknowledged_is_missing(void **state)
{
    lose_masters(state, rr_world_scaled(2, 10), false);
}

static void its_master_lost_behind_a_silent_replica_nothing_that_was_acknowledged_is_missing(void **state)
{
    lose_masters(state, 1, true);
}

/* ---- it refuses ---- */

/* Meanwhile the program waits, and no record becomes a dead letter. */
static void refused_for_a_while(rr_run *run, const char *says)
{
    rr_run_load(run, rr_run_portion());
    rr_child_wait_for(run->program, "the store refuses writes", SOON_MS);
    rr_child_wait_for(run->program, says, SOON_MS);
    rr_nap_ms((long)rr_world_scaled(1000, 10000));
    assert_int_equal(rr_stream_count(run->world, "DEAD"), 0);
}

static void over_its_memory_it_waits_and_goes_on(void **state)
{
    rr_run run;
    char most[32];

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    snprintf(most, sizeof most, "%lld", rr_redis_info(run.world, "memory", "used_memory") - 100000);
    config_set(&run, "maxmemory-policy", "noeviction");
    config_set(&run, "maxmemory", most);
    refused_for_a_while(&run, "OOM");
    config_set(&run, "maxmemory", "0");
    rr_child_wait_for(run.program, "the store is back", SOON_MS);
    rr_run_end(&run);
}

/* The memory ends during a batch, so that some of it is stored and the rest is not. */
static void full_in_the_midst_of_a_batch_it_waits_and_goes_on(void **state)
{
    rr_setup setup = {.batch = 1024};
    rr_run run;
    char most[32];

    rr_run_begin(&run, *state, &setup, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    snprintf(most, sizeof most, "%lld", rr_redis_info(run.world, "memory", "used_memory") + 60000);
    config_set(&run, "maxmemory", most);
    refused_for_a_while(&run, "OOM");
    config_set(&run, "maxmemory", "0");
    rr_child_wait_for(run.program, "the store is back", SOON_MS);
    rr_run_end(&run);
}

static void read_only_it_waits_and_goes_on(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    ask(&run, (const char *[]){"REPLICAOF", "127.0.0.1", "1", NULL}); /* a master that is not there */
    refused_for_a_while(&run, "READONLY");
    ask(&run, (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
    rr_child_wait_for(run.program, "the store is back", SOON_MS);
    rr_run_end(&run);
}

static void with_too_few_replicas_it_waits_and_goes_on(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    config_set(&run, "min-replicas-to-write", "1");
    refused_for_a_while(&run, "NOREPLICAS");
    config_set(&run, "min-replicas-to-write", "0");
    rr_child_wait_for(run.program, "the store is back", SOON_MS);
    rr_run_end(&run);
}

/* Its user loses the permission to write, and has it back. */
static void without_permission_it_waits_and_goes_on(void **state)
{
    rr_setup setup = {0};
    rr_world *world = *state;
    char url[64];
    rr_run run;

    freeReplyObject(
        rr_redis_ask(world, (const char *[]){"ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all", NULL}));
    snprintf(url, sizeof url, "redis://limited:secret@127.0.0.1:%d", world->redis.port);
    setup.redis_url = url;
    rr_run_begin(&run, world, &setup, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(world, RR_SETTLE_MS);
    ask(&run, (const char *[]){"ACL", "SETUSER", "limited", "-mset", "-set", NULL});
    refused_for_a_while(&run, "The user executing the script");
    ask(&run, (const char *[]){"ACL", "SETUSER", "limited", "+@all", NULL});
    rr_child_wait_for(run.program, "the store is back", SOON_MS);
    rr_run_end(&run);
}

static void read_only_at_the_start_it_is_waited_for(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    rr_run_load(&run, rr_run_portion());
    rr_wait_settled(run.world, RR_SETTLE_MS);
    assert_int_equal(rr_child_stop(run.program, RR_LEAVE_MS), 0);
    ask(&run, (const char *[]){"REPLICAOF", "127.0.0.1", "1", NULL});
    run.program = rr_child_start(run.world, (const char *[]){"run", "--config", run.config, NULL});
    rr_child_wait_for(run.program, "waiting for a server: ", SOON_MS);
    rr_child_wait_for(run.program, "READONLY", SOON_MS);
    ask(&run, (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
    rr_child_wait_for(run.program, " running", SOON_MS);
    rr_run_load(&run, rr_run_portion());
    rr_run_end(&run);
}

/* ---- it forgets, or drops us ---- */

static void its_functions_removed_they_come_back(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    for (size_t k = 0; k < rr_world_scaled(10, 100); k++) {
        rr_run_load(&run, rr_run_portion() / 5);
        ask(&run, (const char *[]){"FUNCTION", "FLUSH", NULL});
    }
    rr_run_end(&run);
}

static void its_connections_killed_again_and_again_it_goes_on(void **state)
{
    rr_run run;

    rr_run_begin(&run, *state, NULL, false);
    for (size_t k = 0; k < rr_world_scaled(10, 100); k++) {
        rr_run_load(&run, rr_run_portion() / 5);
        for (int n = 0; n < 5; n++) {
            rr_nap_ms((long)rr_history_draw(&run.history, 15));
            ask(&run, (const char *[]){"CLIENT", "KILL", "TYPE", "normal", NULL});
        }
    }
    rr_run_end(&run);
}

/* ---- the way there ---- */

/* Half a second each way: every answer takes a second. */
static void answers_that_take_a_second_are_waited_for(void **state)
{
    rr_setup setup = {.batch = 1024, .ack_wait_s = 60};
    rr_relayed w;

    rr_relayed_begin(&w, *state, RR_RELAYED_REDIS, &setup, true);
    rr_relay_delay(w.relay, 500);
    rr_run_load(&w.run, rr_run_portion());
    rr_nap_ms((long)rr_world_scaled(3000, 60000));
    assert_false(rr_child_has_said(w.run.program, "nothing is acknowledged until"));
    rr_relay_reset(w.relay); /* it must also come anew */
    rr_run_load(&w.run, 100);
    rr_wait_settled(w.run.world, RR_SETTLE_MS);
    rr_relay_delay(w.relay, 0);
    rr_relayed_end(&w);
}

/* Beyond its patience nothing is believed; when it is quicker again it goes on. */
static void answers_later_than_its_patience_are_not_taken_for_others(void **state)
{
    rr_relayed w;

    rr_relayed_begin(&w, *state, RR_RELAYED_REDIS, NULL, false);
    rr_run_load(&w.run, rr_run_portion());
    rr_relay_delay(w.relay, 1200); /* there and back: 2.4 s, and it waits for 2 */
    rr_run_load(&w.run, 300);
    rr_child_wait_for(w.run.program, "timed out", SOON_MS);
    rr_nap_ms((long)rr_world_scaled(2000, 30000));
    rr_relay_delay(w.relay, 0);
    rr_relayed_end(&w);
}

static void bytes_that_come_one_by_one_are_put_together(void **state)
{
    rr_relayed_chopped(*state, RR_RELAYED_REDIS, rr_world_scaled(500, 5000));
}

static void connections_that_are_half_open_are_left(void **state)
{
    rr_relayed_half_open(*state, RR_RELAYED_REDIS, NULL, rr_world_scaled(2, 10));
}

static void connections_that_are_reset_again_and_again_are_made_anew(void **state)
{
    rr_relayed_reset(*state, RR_RELAYED_REDIS, NULL, rr_world_scaled(20, 200), 40);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RR_LASTING(killed_while_it_keeps_a_log_nothing_is_missing),
        RR_FLEETING(killed_without_a_log_everything_comes_back),
        RR_FLEETING(killed_without_a_log_under_load_everything_comes_back),
        RR_FLEETING(flushed_while_it_runs_everything_comes_back),
        RR_FLEETING(flushed_under_load_everything_comes_back),
        RR_LASTING(its_log_cut_short_what_was_above_the_checkpoint_comes_back),
        RR_LASTING(its_log_cut_short_while_nobody_runs_it_comes_back),
        RR_FLEETING(failed_over_to_a_replica_that_lagged_what_it_lacks_comes_back),
        RR_FLEETING(failed_over_to_a_replica_in_step_nothing_is_missing),
        RR_FLEETING(its_replica_silent_nothing_is_acknowledged_nor_told_again),
        RR_LASTING(its_master_lost_under_load_nothing_that_was_acknowledged_is_missing),
        RR_LASTING(its_master_lost_behind_a_silent_replica_nothing_that_was_acknowledged_is_missing),
        RR_FLEETING(over_its_memory_it_waits_and_goes_on),
        RR_FLEETING(full_in_the_midst_of_a_batch_it_waits_and_goes_on),
        RR_FLEETING(read_only_it_waits_and_goes_on),
        RR_FLEETING(with_too_few_replicas_it_waits_and_goes_on),
        RR_FLEETING(without_permission_it_waits_and_goes_on),
        RR_FLEETING(read_only_at_the_start_it_is_waited_for),
        RR_FLEETING(its_functions_removed_they_come_back),
        RR_FLEETING(its_connections_killed_again_and_again_it_goes_on),
        RR_FLEETING(answers_that_take_a_second_are_waited_for),
        RR_FLEETING(answers_later_than_its_patience_are_not_taken_for_others),
        RR_FLEETING(bytes_that_come_one_by_one_are_put_together),
        RR_FLEETING(connections_that_are_half_open_are_left),
        RR_FLEETING(connections_that_are_reset_again_and_again_are_made_anew),
    };
    int code = rr_world_main(argc, argv);

    return code != 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
