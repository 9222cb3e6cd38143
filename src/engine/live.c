/* The loop, its waiting, and what it tells readers each second. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "admit.h"
#include "deadletter.h"
#include "drain.h"
#include "keeper.h"

enum {
    PAUSE_MIN_MS = 50,
    PAUSE_MAX_MS = 1000,
    PROGRESS_US = 5000000,
    DRAIN_EVERY_MS = 200
};

void rr_live_talk(const live *l, rr_talk level, const char *format, ...)
{
    char text[RR_ERROR_TEXT_MAX + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    l->options->talk(level, text);
}

static void complain(void *context, const rr_error *error)
{
    const live *l = context;

    rr_live_talk(l, RR_TALK_ERROR, "stuck, its records are not acknowledged and come again: %s", error->text);
}

static bool stopping(const live *l)
{
    return atomic_load(l->options->stop) != 0;
}

static rr_status no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out");
}

static void pause_ms(int ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&wait, NULL);
}

/* ---- deciding one batch ---- */

/* Waits out an outage; tells the source that we are still at work. False: it is time to leave. */
static bool wait_out(live *l, const rr_live_source *source, size_t count, int *pause, int64_t *told_us)
{
    int64_t now = l->options->now_us();

    if (stopping(l)) {
        return false;
    }
    if (now - *told_us > PROGRESS_US) {
        source->ops->progress(source->source, l->deliveries, count, NULL);
        *told_us = now;
    }
    pause_ms(*pause);
    *pause = *pause * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : *pause * 2;
    return !stopping(l);
}

/* What an outage looks like to people: one line when it begins, one when it is over. */
static void outage(live *l, bool *down, const char *what, const rr_error *error)
{
    if (!*down) {
        *down = true;
        l->down = true;
        l->totals->outages++;
        rr_live_talk(l, RR_TALK_WARNING, "%s cannot be reached; nothing is acknowledged until it is back: %s", what, error->text);
    }
}

static void recovered(live *l, bool down, const char *what)
{
    if (down) {
        l->down = false;
        rr_live_talk(l, RR_TALK_INFO, "%s is back", what);
    }
}

/* Redis may be another one after an outage: what it was told before that is decided again. waiting: deliveries that
 * the queue waits for. */
static rr_status decide(live *l, const rr_live_source *source, size_t waiting, size_t count, bool *left, rr_error *error)
{
    int64_t told_us = l->options->now_us();
    int pause = PAUSE_MIN_MS;
    bool down = false;
    rr_status status = rr_batch_begin(l->batch, l->items, count, error);

    while (status == RR_OK) {
        status = rr_batch_step(l->batch, l->options->now_us(), error);
        if (status != RR_UNAVAILABLE && status != RR_REFUSED_BY_SERVER) {
            break;
        }
        outage(l, &down, "the store", error);
        if (!wait_out(l, source, waiting, &pause, &told_us)) {
            *left = true;
            return RR_OK;
        }
        status = rr_batch_begin(l->batch, l->items, count, error);
    }
    recovered(l, down, "the store");
    return status;
}

static bool dead_letter_due(const rr_item *item)
{
    return item->settled && rr_verdict_settle(item->outcome.verdict) == RR_SETTLE_DEAD_LETTER;
}

static rr_status store_dead_letters(live *l, const rr_live_source *source, size_t count, bool *left, rr_error *error)
{
    int64_t told_us = l->options->now_us();
    int pause = PAUSE_MIN_MS;
    bool down = false;
    rr_publication *letters;
    size_t due = 0;

    for (size_t k = 0; k < count; k++) {
        due += dead_letter_due(&l->items[k]);
    }
    if (due == 0 || source->dead_letters == NULL) {
        return RR_OK;
    }
    letters = rr_arena_zero(&l->arena, due * sizeof *letters);
    due = 0;
    for (size_t k = 0; letters != NULL && k < count; k++) {
        if (dead_letter_due(&l->items[k]) &&
            !rr_dead_letter_write(&letters[due++], source->dead_letters, &l->items[k], &l->deliveries[k], &l->text,
                                  &l->arena)) {
            letters = NULL;
        }
    }
    if (letters == NULL) {
        return no_memory(error);
    }
    while (due != 0) {
        rr_status status = source->ops->publish(source->source, letters, due, error);
        size_t failed = 0;

        for (size_t k = 0; k < due; k++) {
            if (status == RR_OK && letters[k].error.status == RR_OK) {
                l->totals->dead_letters++;
            } else {
                if (status == RR_OK) {
                    *error = letters[k].error;
                }
                letters[failed++] = letters[k];
            }
        }
        due = failed;
        if (due == 0) {
            break;
        }
        outage(l, &down, "the dead letters' stream", error);
        if (!wait_out(l, source, count, &pause, &told_us)) {
            *left = true;
            return RR_OK;
        }
    }
    recovered(l, down, "the dead letters' stream");
    return RR_OK;
}

/* Acknowledges what is settled; lets go of what is stuck. */
static rr_status settle(live *l, const rr_live_source *source, size_t count, size_t source_index, rr_error *error)
{
    size_t done = 0, stuck = 0;
    rr_delivery *let_go = rr_arena_take(&l->arena, count * sizeof *let_go);

    if (let_go == NULL) {
        return no_memory(error);
    }
    for (size_t k = 0; k < count; k++) {
        if (l->items[k].settled) {
            l->totals->verdicts[l->items[k].outcome.verdict]++;
            l->reached[source_index].sequence = l->deliveries[k].stream_sequence;
            l->reached[source_index].time_us = l->deliveries[k].stored_at_us;
            l->reached[source_index].digest = rr_checkpoint_digest(l->deliveries[k].payload);
            l->deliveries[done++] = l->deliveries[k];
        } else {
            let_go[stuck++] = l->deliveries[k];
        }
    }
    l->totals->acknowledged += done;
    l->totals->stuck += stuck;
    if (stuck != 0) {
        source->ops->release(source->source, let_go, stuck, false);
    }
    return done == 0 ? RR_OK : source->ops->ack(source->source, l->deliveries, done, error);
}

static rr_status take_batch(live *l, size_t source_index, size_t count, rr_error *error)
{
    const rr_live_source *source = &l->options->sources[source_index];
    bool left = false;
    rr_status status = RR_OK;

    rr_arena_reset(&l->arena);
    l->totals->deliveries += count;
    for (size_t k = 0; k < count && status == RR_OK; k++) {
        l->totals->redeliveries += l->deliveries[k].times_delivered > 1;
        if (!rr_admit_delivery(source, &l->deliveries[k], l->options->now_us(), &l->arena, &l->items[k], &l->records[k])) {
            status = no_memory(error);
        }
    }
    if (status == RR_OK) {
        status = decide(l, source, count, count, &left, error);
    }
    if (status == RR_OK && !left) {
        status = store_dead_letters(l, source, count, &left, error);
    }
    if (status == RR_OK && !left) {
        status = settle(l, source, count, source_index, error);
        return status == RR_UNAVAILABLE ? RR_OK : status; /* they come again */
    }
    source->ops->release(source->source, l->deliveries, count, true);
    return status;
}

/* ---- alerts, from a thread of their own ---- */

static void *hand_out(void *context)
{
    live *l = context;
    rr_arena arena;
    rr_error error = {0};
    int pause = DRAIN_EVERY_MS;

    rr_arena_init(&arena, 0);
    for (;;) {
        bool last = stopping(l);
        rr_status status = rr_drain_once(l->options, l->options->drain_store, l->drainer, &arena,
                                         &l->totals->alerts_sent, &error);

        if (status != RR_OK && pause == DRAIN_EVERY_MS) {
            rr_live_talk(l, RR_TALK_WARNING, "alerts wait: %s", error.text);
        }
        pause = status == RR_OK ? DRAIN_EVERY_MS : pause * 2 > 5000 ? 5000 : pause * 2;
        if (last) {
            break;
        }
        for (int waited = 0; waited < pause && !stopping(l); waited += 50) {
            pause_ms(50);
        }
    }
    rr_arena_fini(&arena);
    return NULL;
}

/* ---- the loop ---- */

static bool make_room(live *l)
{
    size_t room = 1;

    for (size_t k = 0; k < l->options->source_count; k++) {
        room = l->options->sources[k].batch > room ? l->options->sources[k].batch : room;
    }
    l->room = room;
    l->deliveries = calloc(room, sizeof *l->deliveries);
    l->items = calloc(room, sizeof *l->items);
    l->records = calloc(room, sizeof *l->records);
    l->reached = calloc(l->options->source_count + 1, sizeof *l->reached);
    return l->deliveries != NULL && l->items != NULL && l->records != NULL && l->reached != NULL;
}

/* One turn over all sources. *idle: nothing came. */
static rr_status turn(live *l, bool *down, bool *idle, rr_error *error)
{
    int wait_ms = l->options->source_count == 1 ? 100 : 10;

    *idle = true;
    for (size_t k = 0; k < l->options->source_count; k++) {
        const rr_live_source *source = &l->options->sources[k];
        size_t count = 0;
        rr_status status;

        if (l->reached[k].halted) {
            continue;
        }
        status = source->ops->fetch(source->source, l->deliveries, source->batch, &count, wait_ms, error);

        if (status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER) {
            outage(l, &down[k], "the queue", error);
            continue;
        }
        if (status != RR_OK) {
            return rr_error_within(error, "source %.*s", (int)source->name.len, source->name.data);
        }
        recovered(l, down[k], "the queue");
        down[k] = false;
        if (count != 0) {
            *idle = false;
            status = take_batch(l, k, count, error);
            if (status != RR_OK) {
                return status;
            }
        }
    }
    return RR_OK;
}

/* Nothing came for a while, and nothing is waiting or unacknowledged. */
static bool all_done(live *l)
{
    for (size_t k = 0; k < l->options->source_count; k++) {
        rr_source_info info;

        if (l->options->sources[k].ops->info(l->options->sources[k].source, &info, NULL) != RR_OK ||
            info.pending != 0 || info.ack_pending != 0) {
            return false;
        }
    }
    return true;
}

static rr_status loop(live *l, rr_error *error)
{
    bool *down = calloc(l->options->source_count + 1, sizeof *down);
    rr_status status = down == NULL ? no_memory(error) : RR_OK;
    bool idle = false, repairing = false;

    while (status == RR_OK && !stopping(l)) {
        status = turn(l, down, &idle, error);
        if (status == RR_OK) {
            status = rr_keeper_tick(l, error);
        }
        if (status == RR_OK) {
            status = rr_keeper_repair(l, &repairing, error);
        }
        if (status == RR_OK && l->options->drain_store == NULL && idle) {
            rr_drain_once(l->options, l->options->store, l->drainer, &l->arena, &l->totals->alerts_sent, error);
        }
        if (idle && !repairing && l->options->until_idle && all_done(l)) {
            break;
        }
    }
    free(down);
    return status;
}

/* ---- observing: the streams are read from a place of our own, and nothing is written anywhere ---- */

typedef struct observing {
    live *l;
    size_t source;
    size_t count;
    uint64_t reached; /* sequence */
    rr_status status;
    rr_error *error;
} observing;

static void observe_batch(observing *o)
{
    bool left = false;

    o->status = o->count == 0 ? RR_OK : decide(o->l, &o->l->options->sources[o->source], 0, o->count, &left, o->error);
    for (size_t k = 0; k < o->count && o->status == RR_OK; k++) {
        o->l->totals->verdicts[o->l->items[k].outcome.verdict]++;
    }
    o->l->totals->deliveries += o->count;
    o->count = 0;
    rr_arena_reset(&o->l->arena);
}

static bool observe_one(void *context, const rr_delivery *delivery)
{
    observing *o = context;
    live *l = o->l;

    if (!rr_admit_delivery(&l->options->sources[o->source], delivery, l->options->now_us(), &l->arena,
                           &l->items[o->count], &l->records[o->count])) {
        o->status = no_memory(o->error);
        return false;
    }
    o->reached = delivery->stream_sequence;
    if (++o->count == l->room) {
        observe_batch(o);
    }
    return o->status == RR_OK && !stopping(l);
}

static rr_status observe(live *l, rr_error *error)
{
    rr_status status = RR_OK;

    while (status == RR_OK && !stopping(l)) {
        bool idle = true;

        for (size_t k = 0; k < l->options->source_count && status == RR_OK && !stopping(l); k++) {
            const rr_live_source *source = &l->options->sources[k];
            observing o = {.l = l, .source = k, .reached = l->reached[k].sequence, .error = error};

            rr_arena_reset(&l->arena);
            status = source->ops->replay(source->source, o.reached + 1, 0, observe_one, &o, error);
            observe_batch(&o);
            status = status == RR_OK || status == RR_UNAVAILABLE ? o.status : status;
            idle = idle && o.reached == l->reached[k].sequence;
            l->reached[k].sequence = o.reached;
        }
        if (idle && l->options->until_idle) {
            break;
        }
        if (idle) {
            pause_ms(200);
        }
    }
    return status;
}

static rr_status start(live *l, rr_error *error)
{
    rr_status status = l->options->observe ? RR_OK : rr_keeper_check_contracts(l, l->options->accept_contracts, error);

    return status == RR_UNAVAILABLE ? RR_OK : status; /* each second it is looked at again */
}

static void leave(live *l)
{
    l->next_tick_us = 0;
    rr_keeper_tick(l, NULL);
    for (size_t k = 0; k < l->options->source_count; k++) {
        l->options->sources[k].ops->flush(l->options->sources[k].source, l->options->drain_timeout_ms, NULL);
    }
    l->totals->batch = *rr_batch_totals(l->batch);
    rr_batch_free(l->batch);
    rr_batch_free(l->repair_batch);
    rr_arena_fini(&l->arena);
    rr_arena_fini(&l->tick_arena);
    rr_buf_fini(&l->text);
    free(l->deliveries);
    free(l->items);
    free(l->records);
    free(l->reached);
}

rr_status rr_live_run(const rr_live_options *options, rr_live_totals *totals, rr_error *error)
{
    live l = {.options = options, .totals = totals};
    rr_batch_options batch = {.prefix = options->prefix,
                              .log_decisions = !options->observe,
                              .list_open = !options->observe,
                              .complain = complain,
                              .context = &l};
    pthread_t drainer;
    bool draining = false;
    rr_status status;

    snprintf(l.drainer, sizeof l.drainer, "reconciler-%ld-%lld", (long)getpid(), (long long)options->now_us());
    rr_arena_init(&l.arena, 0);
    rr_arena_init(&l.tick_arena, 0);
    l.batch = rr_batch_new(options->store_ops, options->store, &batch);
    batch.again = true;
    l.repair_batch = rr_batch_new(options->store_ops, options->store, &batch);
    status = l.batch == NULL || l.repair_batch == NULL || !make_room(&l) ? no_memory(error) : start(&l, error);
    if (status == RR_OK && options->drain_store != NULL) {
        draining = pthread_create(&drainer, NULL, hand_out, &l) == 0;
    }
    if (status == RR_OK) {
        status = options->observe ? observe(&l, error) : loop(&l, error);
    }
    if (draining) {
        atomic_store((atomic_int *)options->stop, 1);
        pthread_join(drainer, NULL);
    }
    leave(&l);
    return status;
}
