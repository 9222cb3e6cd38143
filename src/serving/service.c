/* The loop, its waiting, and what it tells readers each second. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "admit.h"
#include "dead_letter.h"
#include "outbox.h"
#include "recovery.h"

enum {
    PAUSE_MIN_MS = 50,
    PAUSE_MAX_MS = 1000,
    PROGRESS_US = 5000000,
    CACHE_SLOTS = 32768,
    FILL_WAIT_MS = 1,
    FILL_TURNS = 20,
    DRAIN_EVERY_MS = 200,
    DRAIN_BURST_MS = 1000,
    DRAIN_MAX_MS = 10000
};

void rr_service_log(const live *l, rr_log_level level, const char *format, ...)
{
    char text[RR_ERROR_TEXT_MAX + 128];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    l->options->log(level, text);
}

static void complain(void *context, const rr_error *error)
{
    const live *l = context;

    rr_service_log(l, RR_LOG_ERROR, "stuck, its records are not acknowledged and come again: %s", error->text);
}

static bool stopping(const live *l)
{
    return atomic_load(l->options->stop) != 0;
}

static rr_status no_memory(rr_error *error)
{
    return rr_fail(error, RR_MEMORY, "memory ran out");
}

void rr_service_sleep(const live *l, int ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000L};

    if (l->options->pause_ms != NULL) {
        l->options->pause_ms(ms);
    } else {
        nanosleep(&wait, NULL);
    }
}

/* ---- deciding one batch ---- */

/* What an outage looks like to people: one line when it begins, one when it is over. */
static void outage(live *l, bool *down, const char *what, const rr_error *error)
{
    if (!*down) {
        *down = true;
        atomic_fetch_add(&l->down, 1);
        atomic_fetch_add(&l->outages, 1);
        rr_service_log(l, RR_LOG_WARNING, "%s %s; nothing is acknowledged until it is back: %s", what,
                       error->status == RR_UNAVAILABLE ? "cannot be reached" : "refuses writes", error->text);
    }
}

static void recovered(live *l, bool *down, const char *what)
{
    if (*down) {
        *down = false;
        atomic_fetch_sub(&l->down, 1);
        rr_service_log(l, RR_LOG_INFO, "%s is back", what);
    }
}

/* Waits, each time a little longer. False: it is time to leave. */
static bool wait_out(const live *l, int *pause)
{
    if (stopping(l)) {
        return false;
    }
    rr_service_sleep(l, *pause);
    *pause = *pause * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : *pause * 2;
    return !stopping(l);
}

/* ---- deciding one batch: the worker's part ---- */

/* Who observes stores nothing, and has no generations. */
static rr_status check_in_force(live *l, bool *left, rr_error *error)
{
    rr_status status = rr_recovery_check_generation(l, error);

    *left = status == RR_OK && atomic_load(&l->moved);
    return status;
}

/* While it waited, for the batch before it or for the store, a cell may have been removed: an old record must not come
 * back as the first of a fresh one. */
static bool refuse_gone(const live *l, rr_item *items, size_t count)
{
    int64_t now_us = l->options->now_us();
    bool any = false;

    for (size_t k = 0; k < count; k++) {
        if (!items[k].refused && !items[k].settled &&
            rr_cell_may_be_gone(items[k].contract, items[k].record->window, now_us)) {
            rr_item_refuse(&items[k], RR_REASON_CELL_GONE);
            items[k].why = rr_slice_of(rr_reason_text(RR_REASON_CELL_GONE));
            any = true;
        }
    }
    return any;
}

/* Begins a batch, if it is anew, or where some of it is too late by now: what is settled then stays so, and is not told
 * again. */
static rr_status begin(live *l, rr_item *items, size_t count, bool anew, rr_error *error)
{
    for (size_t k = 0; k < count; k++) {
        items[k].settled &= !anew;
    }
    return refuse_gone(l, items, count) || anew ? rr_batch_begin_rest(l->batch, items, count, error) : RR_OK;
}

/* Goes on with a batch, or begins it anew where the store is not the one that it was begun with: what is settled there is
 * not settled here, and what was decided upon its values without a write is checked by no token. */
static rr_status attempt(live *l, rr_item *items, size_t count, bool *begun, bool *left, rr_error *error)
{
    bool same = true;
    rr_status status = l->unsure ? rr_recovery_identify_store(l, &same, error) : RR_OK;

    *begun = *begun && same;
    if (status == RR_OK) {
        status = begin(l, items, count, !*begun, error);
        *begun = status == RR_OK;
    }
    status = status == RR_OK ? rr_batch_step(l->batch, l->options->now_us(), error) : status;
    status = status == RR_OK ? check_in_force(l, left, error) : status;
    if (status != RR_OK) {
        rr_recovery_suspect_store(l);
    }
    return status;
}

static rr_status decide(live *l, rr_item *items, size_t count, bool *left, rr_error *error)
{
    int pause = PAUSE_MIN_MS;
    bool down = false, begun = false;
    rr_status status;

    for (;;) {
        status = attempt(l, items, count, &begun, left, error);
        if (status != RR_UNAVAILABLE && status != RR_REFUSED_BY_SERVER) {
            break;
        }
        outage(l, &down, "the store", error);
        if (!wait_out(l, &pause)) {
            *left = true;
            status = RR_OK;
            break;
        }
    }
    if (!*left) {
        recovered(l, &down, "the store");
    }
    return status;
}

static void work_on(live *l, rr_inflight *slot)
{
    slot->left = false;
    slot->status = decide(l, slot->items, slot->count, &slot->left, &slot->error);
}

static bool is_decided(const rr_inflight *slot)
{
    return slot->status == RR_OK && !slot->left;
}

/* A second thread, so that a batch is fetched and decoded while the one before it is with the store. Behind one that
 * could not be decided none is begun. */
static void *work(void *context)
{
    live *l = context;
    bool over = false;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        rr_inflight *slot;

        while (l->waiting[0] == NULL && !l->work_over) {
            pthread_cond_wait(&l->work_there, &l->lock);
        }
        slot = l->waiting[0];
        if (slot == NULL) {
            break;
        }
        l->waiting[0] = l->waiting[1];
        l->waiting[1] = NULL;
        pthread_mutex_unlock(&l->lock);
        if (over) {
            slot->status = RR_OK;
            slot->left = true;
        } else {
            work_on(l, slot);
        }
        over = !is_decided(slot);
        pthread_mutex_lock(&l->lock);
        slot->done = true;
        pthread_cond_signal(&l->work_done);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void hand_over(live *l, rr_inflight *slot)
{
    l->flights[l->flight_count++] = slot;
    if (!l->working) {
        work_on(l, slot);
        return;
    }
    pthread_mutex_lock(&l->lock);
    slot->done = false;
    l->waiting[l->waiting[0] == NULL ? 0 : 1] = slot;
    pthread_cond_signal(&l->work_there);
    pthread_mutex_unlock(&l->lock);
}

/* Tells the queue that we are still at work on these, where it takes long. */
static void tell_progress(live *l, rr_inflight *slot)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    int64_t now_us = l->options->now_us(), since_us = now_us - slot->told_us;

    if (since_us > PROGRESS_US || since_us < 0) {
        source->ops->progress(source->source, slot->deliveries, slot->count, NULL);
        slot->told_us = now_us;
    }
}

/* All that are on their way. ending: the one that is ended, or NULL. */
static void signal_progress(live *l, rr_inflight *ending)
{
    if (ending != NULL) {
        tell_progress(l, ending);
    }
    for (size_t k = 0; k < l->flight_count; k++) {
        tell_progress(l, l->flights[k]);
    }
    if (l->admitted != NULL) {
        tell_progress(l, l->admitted);
    }
}

/* Waits until the worker is through with a batch, for so long at most. */
static bool is_done(live *l, const rr_inflight *slot, int wait_ms)
{
    struct timespec until;
    bool done;

    if (!l->working) {
        return true;
    }
    pthread_mutex_lock(&l->lock);
    if (!slot->done) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += wait_ms % 1000 * 1000000L;
        until.tv_sec += wait_ms / 1000 + until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&l->work_done, &l->lock, &until);
    }
    done = slot->done;
    pthread_mutex_unlock(&l->lock);
    return done;
}

/* ---- what follows the decision ---- */

static bool dead_letter_due(const rr_item *item)
{
    return item->settled && rr_verdict_settle(item->outcome.verdict) == RR_SETTLE_DEAD_LETTER;
}

static rr_publication *write_dead_letters(live *l, rr_inflight *slot, size_t *due)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    rr_publication *letters;
    size_t count = 0;

    for (size_t k = 0; k < slot->count; k++) {
        count += dead_letter_due(&slot->items[k]);
    }
    letters = rr_arena_zero(&slot->arena, count * sizeof *letters);
    *due = 0;
    for (size_t k = 0; letters != NULL && k < slot->count; k++) {
        if (dead_letter_due(&slot->items[k]) &&
            !rr_dead_letter_write(&letters[(*due)++], source->dead_letters, &slot->items[k], &slot->deliveries[k],
                                  &l->text, &slot->arena)) {
            return NULL;
        }
    }
    return letters;
}

/* Publishes; keeps those that were not stored, with the first reason. */
static size_t publish(live *l, const rr_bound_source *source, rr_publication *letters, size_t due, rr_error *error)
{
    rr_status status = source->ops->publish(source->source, letters, due, error);
    size_t failed = 0;

    for (size_t k = 0; k < due; k++) {
        if (status == RR_OK && letters[k].error.status == RR_OK) {
            l->totals->dead_letters++;
            continue;
        }
        if (status == RR_OK && failed == 0) {
            *error = letters[k].error;
        }
        letters[failed++] = letters[k];
    }
    return failed;
}

static rr_status store_dead_letters(live *l, rr_inflight *slot, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    int pause = PAUSE_MIN_MS;
    bool down = false;
    size_t due = 0;
    rr_publication *letters = write_dead_letters(l, slot, &due);

    if (letters == NULL) {
        return no_memory(error);
    }
    while (due != 0) {
        due = publish(l, source, letters, due, error);
        if (due == 0) {
            break;
        }
        outage(l, &down, "the dead letters' stream", error);
        signal_progress(l, slot);
        if (!wait_out(l, &pause)) {
            slot->left = true;
            break;
        }
    }
    if (!slot->left) {
        recovered(l, &down, "the dead letters' stream");
    }
    return RR_OK;
}

static void note_reached(rr_source_progress *reach, const rr_delivery *deliveries, size_t count)
{
    const rr_delivery *newest = NULL;

    for (size_t k = 0; k < count; k++) {
        if (deliveries[k].stream_sequence > (newest == NULL ? reach->sequence : newest->stream_sequence)) {
            newest = &deliveries[k];
        }
    }
    if (newest != NULL) {
        reach->sequence = newest->stream_sequence;
        reach->time_us = newest->stored_at_us;
        reach->digest = rr_checkpoint_digest(newest->payload);
    }
}

/* Acknowledges what is settled; lets go of what is stuck. */
static rr_status settle(live *l, rr_inflight *slot, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    size_t done = 0, stuck = 0;
    rr_delivery *let_go = rr_arena_take(&slot->arena, slot->count * sizeof *let_go);

    if (let_go == NULL) {
        return no_memory(error);
    }
    for (size_t k = 0; k < slot->count; k++) {
        if (slot->items[k].settled) {
            l->totals->verdicts[slot->items[k].outcome.verdict]++;
            slot->deliveries[done++] = slot->deliveries[k];
        } else {
            let_go[stuck++] = slot->deliveries[k];
        }
    }
    l->totals->acknowledged += done;
    l->totals->stuck += stuck;
    if (stuck != 0) {
        source->ops->release(source->source, let_go, stuck, false);
    }
    if (done == 0) {
        return RR_OK;
    }
    note_reached(&l->reached[slot->source], slot->deliveries, done);
    return source->ops->ack(source->source, slot->deliveries, done, error);
}

/* Takes the oldest of the batches that are under way, when it is decided; NULL: there is none. */
static rr_inflight *await(live *l)
{
    rr_inflight *oldest = l->flights[0];

    if (l->flight_count == 0) {
        return NULL;
    }
    while (!is_done(l, oldest, 1000)) {
        signal_progress(l, NULL);
    }
    l->flights[0] = l->flights[1];
    l->flight_count--;
    return oldest;
}

/* What follows the decision of a batch. */
static rr_status end(live *l, rr_inflight *slot, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    rr_status status = slot->status;

    if (status != RR_OK) {
        *error = slot->error;
    }
    if (is_decided(slot)) {
        status = store_dead_letters(l, slot, error);
    }
    if (status == RR_OK && !slot->left) {
        status = settle(l, slot, error);
        return status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER ? RR_OK : status; /* they come again */
    }
    source->ops->release(source->source, slot->deliveries, slot->count, true);
    return status;
}

/* Decodes what was fetched, from one on. */
static rr_status admit_all(live *l, rr_inflight *slot, size_t from, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    int64_t now_us = l->options->now_us();

    l->totals->deliveries += slot->count - from;
    for (size_t k = from; k < slot->count; k++) {
        l->totals->redeliveries += slot->deliveries[k].times_delivered > 1;
        l->reached[slot->source].doubted |=
            slot->deliveries[k].times_delivered <= 1 &&
            slot->deliveries[k].stream_sequence <= l->reached[slot->source].checkpoint.floor;
        if (!rr_admit_delivery(source, &slot->deliveries[k], now_us, &slot->arena, &slot->items[k],
                               &slot->records[k])) {
            return no_memory(error);
        }
    }
    return RR_OK;
}

/* Ends what is decided by now. Waits a moment where that is nothing. *busy: the worker has still something to do. */
static rr_status end_decided(live *l, bool *busy, rr_error *error)
{
    rr_status status = RR_OK;
    int wait_ms = FILL_WAIT_MS;

    while (status == RR_OK && l->flight_count != 0 && is_done(l, l->flights[0], wait_ms)) {
        status = end(l, await(l), error);
        wait_ms = 0;
    }
    *busy = l->flight_count != 0;
    return status;
}

/* Decodes a batch, and what else comes while those before it are with the worker, for a little while: of a larger batch
 * more records share a call and a write. */
static rr_status fill(live *l, rr_inflight *slot, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    rr_status status;
    bool busy = l->working;

    slot->told_us = l->options->now_us();
    rr_arena_reset(&slot->arena);
    status = admit_all(l, slot, 0, error);
    for (int k = 0; k < FILL_TURNS && status == RR_OK && slot->count < source->batch && busy; k++) {
        size_t from = slot->count, more = 0;

        status = end_decided(l, &busy, error);
        if (status == RR_OK && busy) {
            /* What goes wrong is remembered or happens again, and is told by the next turn. */
            source->ops->fetch(source->source, slot->deliveries + from, source->batch - from, &more, 0, NULL);
            slot->count += more;
            status = admit_all(l, slot, from, error);
        }
    }
    return status;
}

/* Waits for all batches that are under way, and ends them. The first failure counts. */
static rr_status collect(live *l, rr_error *error)
{
    rr_status status = RR_OK;
    rr_error ignored = {0};

    while (l->flight_count != 0) {
        rr_status one = end(l, await(l), status == RR_OK ? error : &ignored);

        status = status == RR_OK ? one : status;
    }
    return status;
}

/* Decodes what was fetched while those before it are decided. The oldest of these is ended while this one is with the
 * worker; but where there is no worker, before it: nothing that the store is asked may lie between an effect and its
 * acknowledgement, since it may tell that the effect is gone. */
static rr_status take_batch(live *l, rr_inflight *slot, rr_error *error)
{
    const rr_bound_source *source = &l->options->sources[slot->source];
    rr_inflight *before = NULL;
    rr_status status;

    l->admitted = slot;
    status = fill(l, slot, error);
    if (status == RR_OK && l->working && l->flight_count == RR_INFLIGHT_MOST) {
        before = await(l);
    } else if (status == RR_OK && !l->working) {
        status = collect(l, error);
    }
    l->admitted = NULL;
    if (status != RR_OK || stopping(l)) {
        source->ops->release(source->source, slot->deliveries, slot->count, true);
    } else {
        hand_over(l, slot);
    }
    return before == NULL ? status : end(l, before, error);
}

/* ---- alerts, from a thread of their own ---- */

/* After alerts were sent the next ones wait a little, longer while they keep coming: a burst is one alert. */
static int next_pause(int pause, rr_status status, bool sent)
{
    if (status == RR_OK && !sent) {
        return DRAIN_EVERY_MS;
    }
    pause = pause < DRAIN_BURST_MS ? DRAIN_BURST_MS : pause * 2;
    return pause > DRAIN_MAX_MS ? DRAIN_MAX_MS : pause;
}

static void *hand_out(void *context)
{
    live *l = context;
    rr_arena arena;
    rr_error error = {0};
    int pause = DRAIN_EVERY_MS;
    bool waiting = false;

    rr_arena_init(&arena, 0);
    for (;;) {
        bool last = stopping(l) || atomic_load(&l->leaving);
        uint64_t before = l->totals->alerts_sent;
        rr_status status =
            rr_outbox_send(l->options, l->options->outbox_store, l->drainer, &arena, &l->totals->alerts_sent, &error);

        if (status != RR_OK && !waiting) {
            rr_service_log(l, RR_LOG_WARNING, "alerts wait: %s", error.text);
        }
        waiting = status != RR_OK;
        pause = next_pause(pause, status, l->totals->alerts_sent != before);
        if (last) {
            break;
        }
        for (int waited = 0; waited < pause && !stopping(l) && !atomic_load(&l->leaving); waited += 50) {
            rr_service_sleep(l, 50);
        }
    }
    rr_arena_fini(&arena);
    return NULL;
}

/* ---- the loop ---- */

static bool make_slot(rr_inflight *slot, size_t room)
{
    rr_arena_init(&slot->arena, 0);
    slot->deliveries = calloc(room, sizeof *slot->deliveries);
    slot->items = calloc(room, sizeof *slot->items);
    slot->records = calloc(room, sizeof *slot->records);
    return slot->deliveries != NULL && slot->items != NULL && slot->records != NULL;
}

static void free_slot(rr_inflight *slot)
{
    rr_arena_fini(&slot->arena);
    free(slot->deliveries);
    free(slot->items);
    free(slot->records);
}

static bool make_room(live *l)
{
    size_t room = 1;

    for (size_t k = 0; k < l->options->source_count; k++) {
        room = l->options->sources[k].batch > room ? l->options->sources[k].batch : room;
    }
    l->room = room;
    l->reached = calloc(l->options->source_count + 1, sizeof *l->reached);
    for (size_t k = 0; k < RR_INFLIGHT_MOST + 1; k++) {
        if (!make_slot(&l->slots[k], room)) {
            return false;
        }
    }
    return l->reached != NULL;
}

/* One that is not under way: there is one more than may be. */
static rr_inflight *free_slot_of(live *l)
{
    rr_inflight *slot = l->slots;

    while ((l->flight_count > 0 && slot == l->flights[0]) || (l->flight_count > 1 && slot == l->flights[1])) {
        slot++;
    }
    return slot;
}

/* While a batch is under way there is something better to do than to wait for the next. */
static int wait_for(const live *l)
{
    return l->flight_count != 0 ? 0 : l->options->source_count == 1 ? 100 : 10;
}

/* One turn over all sources. *idle: nothing came. */
static rr_status turn(live *l, bool *down, bool *idle, rr_error *error)
{
    *idle = l->flight_count == 0;
    for (size_t k = 0; k < l->options->source_count; k++) {
        const rr_bound_source *source = &l->options->sources[k];
        rr_inflight *slot = free_slot_of(l);
        rr_status status;

        if (l->reached[k].halted) {
            continue;
        }
        slot->source = k;
        slot->count = 0;
        status = source->ops->fetch(source->source, slot->deliveries, source->batch, &slot->count, wait_for(l), error);
        if (status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER) {
            outage(l, &down[k], "the queue", error);
            continue;
        }
        if (status != RR_OK) {
            return rr_error_within(error, "source %.*s", (int)source->name.len, source->name.data);
        }
        recovered(l, &down[k], "the queue");
        status = slot->count != 0 ? take_batch(l, slot, error) : RR_OK;
        *idle = *idle && slot->count == 0;
        if (status != RR_OK) {
            return status;
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
            info.pending != 0 || (info.ack_pending != 0 && info.ack_floor < info.delivered)) {
            return false;
        }
    }
    return true;
}

/* What the loop does between batches, when the store is free. */
static rr_status between(live *l, bool idle, bool *repairing, rr_error *error)
{
    rr_status status = rr_recovery_tick(l, error);

    if (status == RR_OK && !atomic_load(&l->moved)) {
        status = rr_recovery_repair(l, repairing, error);
    }
    if (status == RR_OK && l->options->outbox_store == NULL && idle) {
        if (rr_outbox_send(l->options, l->options->store, l->drainer, &l->tick_arena, &l->totals->alerts_sent, error) !=
            RR_OK) {
            rr_recovery_suspect_store(l);
        }
    }
    return status;
}

static rr_status loop(live *l, rr_error *error)
{
    bool *down = calloc(l->options->source_count + 1, sizeof *down);
    rr_status status = down == NULL ? no_memory(error) : RR_OK, last;
    bool idle = false, repairing = false;
    rr_error ignored = {0};

    while (status == RR_OK && !stopping(l) && !atomic_load(&l->moved)) {
        size_t before = l->totals->deliveries;

        status = turn(l, down, &idle, error);
        if (status == RR_OK && (l->totals->deliveries == before || repairing || rr_recovery_tick_due(l))) {
            status = collect(l, error);
            status = status == RR_OK ? between(l, idle, &repairing, error) : status;
        }
        if (idle && !repairing && l->options->until_idle && all_done(l)) {
            break;
        }
    }
    free(down);
    last = collect(l, status == RR_OK ? error : &ignored);
    return status == RR_OK ? last : status;
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

    rr_inflight *slot = &o->l->slots[0];

    o->status = o->count == 0 ? RR_OK : decide(o->l, slot->items, o->count, &left, o->error);
    for (size_t k = 0; k < o->count && o->status == RR_OK; k++) {
        o->l->totals->verdicts[slot->items[k].outcome.verdict]++;
    }
    o->l->totals->deliveries += o->count;
    o->count = 0;
    rr_arena_reset(&slot->arena);
}

static bool observe_one(void *context, const rr_delivery *delivery)
{
    observing *o = context;
    live *l = o->l;
    rr_inflight *slot = &l->slots[0];

    if (!rr_admit_delivery(&l->options->sources[o->source], delivery, l->options->now_us(), &slot->arena,
                           &slot->items[o->count], &slot->records[o->count])) {
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
            const rr_bound_source *source = &l->options->sources[k];
            observing o = {.l = l, .source = k, .reached = l->reached[k].sequence, .error = error};

            rr_arena_reset(&l->slots[0].arena);
            status = source->ops->replay(source->source, o.reached + 1, 0, observe_one, &o, error);
            observe_batch(&o);
            status = status == RR_OK || status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER ? o.status : status;
            idle = idle && o.reached == l->reached[k].sequence;
            l->reached[k].sequence = o.reached;
        }
        if (idle && l->options->until_idle) {
            break;
        }
        if (idle) {
            rr_service_sleep(l, 200);
        }
    }
    return status;
}

/* No record is judged before the contracts' notes were read: they tell which windows keep an earlier retention. */
static rr_status check_contracts(live *l, rr_error *error)
{
    int pause = PAUSE_MIN_MS;
    bool down = false;
    rr_status status = rr_recovery_check_contracts(l, l->options->accept_contracts, error);

    while (status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER) {
        outage(l, &down, "the store", error);
        if (!wait_out(l, &pause)) {
            return RR_OK;
        }
        rr_arena_reset(&l->tick_arena);
        status = rr_recovery_check_contracts(l, l->options->accept_contracts, error);
    }
    recovered(l, &down, "the store");
    return status;
}

static rr_status start(live *l, rr_error *error)
{
    rr_status status;

    for (size_t k = 0; k < l->options->contract_count; k++) {
        if (l->options->contracts[k].eras != NULL) {
            *l->options->contracts[k].eras = (rr_eras){0}; /* another generation has its own, or none */
        }
    }
    status = l->options->observe ? RR_OK : check_contracts(l, error);
    /* The first checkpoint before the first acknowledgement: else nobody could tell that nothing was lost before it. */
    return status == RR_OK && !stopping(l) ? rr_recovery_tick(l, error) : status;
}

static void start_worker(live *l)
{
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work_there, NULL);
    pthread_cond_init(&l->work_done, NULL);
    /* Without a second handle of the store everything is done by one thread. */
    l->working = l->options->outbox_store != NULL && pthread_create(&l->worker, NULL, work, l) == 0;
}

static void stop_worker(live *l)
{
    if (l->working) {
        pthread_mutex_lock(&l->lock);
        l->work_over = true;
        pthread_cond_signal(&l->work_there);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->worker, NULL);
        l->working = false;
    }
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work_there);
    pthread_cond_destroy(&l->work_done);
}

/* Acknowledgements go out first, within a bound: a queue that does not answer must not hold up who wants to leave.
 * The checkpoint stays where the last tick set it: a lower floor is never wrong. */
static void leave(live *l)
{
    int flush_ms = l->options->drain_timeout_ms / 4;
    rr_error ignored = {0};

    for (size_t k = 0; k < l->options->source_count; k++) {
        l->options->sources[k].ops->flush(l->options->sources[k].source, flush_ms, &ignored);
    }
    rr_recovery_show_status(l);
    l->totals->batch = *rr_batch_totals(l->batch);
    l->totals->outages = atomic_load(&l->outages);
    l->totals->moved = atomic_load(&l->moved);
}

static void fini(live *l)
{
    rr_batch_free(l->batch);
    rr_batch_free(l->repair_batch);
    rr_arena_fini(&l->tick_arena);
    rr_arena_fini(&l->note_arena);
    rr_buf_fini(&l->text);
    for (size_t k = 0; k < RR_INFLIGHT_MOST + 1; k++) {
        free_slot(&l->slots[k]);
    }
    free(l->reached);
}

static rr_status serve(live *l, rr_error *error)
{
    const rr_service_options *options = l->options;
    pthread_t drainer;
    bool draining = false;
    rr_status status = start(l, error);

    if (status != RR_OK) {
        return status;
    }
    draining = options->outbox_store != NULL && pthread_create(&drainer, NULL, hand_out, l) == 0;
    if (options->outbox_store != NULL && !draining) {
        return rr_fail(error, RR_MEMORY, "no thread for the alerts");
    }
    start_worker(l);
    status = options->observe ? observe(l, error) : loop(l, error);
    stop_worker(l);
    if (draining) {
        atomic_store(&l->leaving, true);
        pthread_join(drainer, NULL);
    }
    leave(l);
    return status;
}

rr_status rr_service_run(const rr_service_options *options, rr_service_totals *totals, rr_error *error)
{
    live l = {.options = options, .totals = totals, .unsure = true};
    rr_batch_options batch = {.prefix = options->prefix,
                              .log_decisions = !options->observe,
                              .list_open = !options->observe,
                              .expire = true,
                              .cache_slots = options->observe ? 0 : CACHE_SLOTS,
                              .guess_from = options->guess_from,
                              .send_from = options->send_from,
                              .forget = !options->observe,
                              .complain = complain,
                              .context = &l};
    rr_error unread = {0};
    rr_status status;

    error = error == NULL ? &unread : error;
    snprintf(l.drainer, sizeof l.drainer, "reconciler-%ld-%lld", (long)getpid(), (long long)options->now_us());
    rr_arena_init(&l.tick_arena, 0);
    rr_arena_init(&l.note_arena, 0);
    l.batch = rr_batch_new(options->store_ops, options->store, &batch);
    batch.again = true;
    batch.cache_slots = 0; /* two caches of one store would be behind each other */
    l.repair_batch = rr_batch_new(options->store_ops, options->store, &batch);
    status = l.batch == NULL || l.repair_batch == NULL || !make_room(&l) ? no_memory(error) : serve(&l, error);
    fini(&l);
    return status;
}
