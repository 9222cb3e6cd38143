/* The loop, its waiting, and what it tells readers each second. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "deadletter.h"
#include "drain.h"
#include "decision.h"
#include "record_proto.h"
#include "time.h"

enum {
    TICK_US = 1000000,
    PAUSE_MIN_MS = 50,
    PAUSE_MAX_MS = 1000,
    PROGRESS_US = 5000000,
    STATUS_TTL_MS = 60000,
    DRAIN_EVERY_MS = 200
};

typedef struct live {
    const rr_live_options *options;
    rr_live_totals *totals;
    rr_batch *batch;
    rr_arena arena; /* of one batch: records, values, sentences */
    rr_buf text;
    rr_delivery *deliveries;
    rr_item *items;
    rr_record *records;
    size_t room;
    int64_t next_tick_us;
    struct {
        uint64_t sequence;
        int64_t time_us;
    } *reached; /* per source */
    const char *state; /* ok, degraded */
    char drainer[64];
} live;

static void talk(const live *l, rr_talk level, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void talk(const live *l, rr_talk level, const char *format, ...)
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

    talk(l, RR_TALK_ERROR, "stuck, its records are not acknowledged and come again: %s", error->text);
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

static void refuse(rr_item *item, rr_reason reason)
{
    bool late = reason == RR_REASON_BEYOND_RETENTION || reason == RR_REASON_CELL_GONE;

    item->refused = true;
    item->outcome = (rr_outcome){.verdict = late ? RR_VERDICT_TOO_LATE : RR_VERDICT_REFUSED,
                                 .reason = reason,
                                 .alerts = RR_BIT(late ? RR_ALERT_TOO_LATE : RR_ALERT_CONTRACT_VIOLATION)};
}

static rr_reason reason_of(rr_decoded decoded)
{
    return decoded == RR_DECODED_TOO_LARGE ? RR_REASON_LIMIT_EXCEEDED : RR_REASON_MALFORMED;
}

/* Decodes and admits one delivery. False: memory ran out. */
static bool admit(live *l, const rr_live_source *source, const rr_delivery *delivery, rr_item *item, rr_record *record)
{
    rr_text why = {.len = 0};
    int64_t clock_us;
    rr_decoded decoded;
    rr_reason reason = RR_REASON_NONE;

    *item = (rr_item){.contract = source->route(source->context, delivery->subject), .record = record};
    decoded = rr_record_from_proto(delivery->payload, false, &l->arena, record, &clock_us, &why);
    record->stream = source->stream;
    record->stream_sequence = delivery->stream_sequence;
    record->has_arrival = true;
    record->arrival_us = delivery->stored_at_us;
    if (decoded == RR_DECODED_NO_MEMORY) {
        return false;
    }
    if (item->contract == NULL) {
        reason = RR_REASON_UNROUTED;
    } else if (decoded != RR_DECODED_RECORD) {
        reason = reason_of(decoded);
    } else {
        if (!rr_arena_reserve(&l->arena, rr_admit_need(item->contract, record))) {
            return false;
        }
        reason = rr_admit(item->contract, record, &l->arena, &why);
        if (reason == RR_REASON_NONE && rr_cell_may_be_gone(item->contract, record->window, l->options->now_us())) {
            reason = RR_REASON_CELL_GONE;
        }
    }
    if (reason != RR_REASON_NONE) {
        refuse(item, reason);
        item->why = why.len == 0 ? rr_slice_of(rr_reason_text(reason))
                                 : rr_arena_copy(&l->arena, (rr_slice){why.bytes, why.len});
    }
    return true;
}

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
        l->state = "degraded";
        l->totals->outages++;
        talk(l, RR_TALK_WARNING, "%s cannot be reached; nothing is acknowledged until it is back: %s", what, error->text);
    }
}

static void recovered(live *l, bool down, const char *what)
{
    if (down) {
        l->state = "ok";
        talk(l, RR_TALK_INFO, "%s is back", what);
    }
}

/* Redis may be another one after an outage: what it was told before that is decided again. */
static rr_status decide(live *l, const rr_live_source *source, size_t count, bool *left, rr_error *error)
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
        if (!wait_out(l, source, count, &pause, &told_us)) {
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
        if (!admit(l, source, &l->deliveries[k], &l->items[k], &l->records[k])) {
            status = no_memory(error);
        }
    }
    if (status == RR_OK) {
        status = decide(l, source, count, &left, error);
    }
    if (status == RR_OK && !left) {
        status = store_dead_letters(l, source, count, &left, error);
    }
    if (status == RR_OK && !left && !l->options->observe) {
        status = settle(l, source, count, source_index, error);
        return status == RR_UNAVAILABLE ? RR_OK : status; /* they come again */
    }
    source->ops->release(source->source, l->deliveries, count, true);
    return status;
}

/* ---- each second ---- */

static rr_slice own_key(live *l, const char *kind, rr_slice name)
{
    return rr_engine_key(l->options->prefix, kind, name, &l->text, &l->arena);
}

/* Two processes with different texts of one contract must notice. */
static rr_status check_contract(live *l, const rr_live_contract *contract, bool accept, rr_error *error)
{
    rr_slice key = own_key(l, "contract", contract->contract->name), held = {NULL, 0};
    bool done = false;
    rr_status status = l->options->store_ops->note_get(l->options->store, key, &l->arena, &held, error);

    if (status != RR_OK || rr_slice_equal(held, contract->text)) {
        return status;
    }
    if (held.len != 0 && !accept) {
        return rr_fail(error, RR_CONFIG,
                       "contract %.*s is not the one that the stored cells were made under.\n--- stored:\n%.*s"
                       "--- this program's:\n%.*sIf the change is meant, start once with --accept-contracts.",
                       (int)contract->contract->name.len, contract->contract->name.data,
                       (int)(held.len < 400 ? held.len : 400), held.data,
                       (int)(contract->text.len < 400 ? contract->text.len : 400), contract->text.data);
    }
    status = l->options->store_ops->note_set(l->options->store, key, held, contract->text, 0, NULL, &done, error);
    return status != RR_OK || done ? status : check_contract(l, contract, false, error);
}

static void put_time(rr_buf *out, int64_t time_us)
{
    char text[RR_TIME_TEXT_MAX];

    rr_buf_char(out, '"');
    rr_buf_put(out, text, rr_time_print(time_us, text));
    rr_buf_char(out, '"');
}

static rr_status put_status(live *l, const rr_contract *contract, rr_error *error)
{
    rr_slice key = own_key(l, "status", contract->name);
    rr_buf *out = &l->text;
    bool first = true;

    rr_buf_clear(out);
    rr_buf_format(out, "{\"state\":\"%s\",\"updated_at\":", l->state);
    put_time(out, l->options->now_us());
    rr_buf_text(out, ",\"sources\":[");
    for (size_t k = 0; k < l->options->source_count; k++) {
        if (l->reached[k].sequence == 0) {
            continue;
        }
        rr_buf_text(out, first ? "{\"name\":" : ",{\"name\":");
        rr_buf_json(out, l->options->sources[k].name);
        rr_buf_text(out, ",\"stream\":");
        rr_buf_json(out, l->options->sources[k].stream);
        rr_buf_text(out, ",\"through_sequence\":");
        rr_buf_u64(out, l->reached[k].sequence);
        rr_buf_text(out, ",\"through_time\":");
        put_time(out, l->reached[k].time_us);
        rr_buf_char(out, '}');
        first = false;
    }
    rr_buf_text(out, "]}");
    return l->options->store_ops->note_put(l->options->store, key, rr_buf_view(out), STATUS_TTL_MS, error);
}

static rr_status tick(live *l, rr_error *error)
{
    rr_status status = RR_OK;

    if (l->options->observe || l->options->now_us() < l->next_tick_us) {
        return RR_OK;
    }
    l->next_tick_us = l->options->now_us() + TICK_US;
    rr_arena_reset(&l->arena);
    for (size_t k = 0; k < l->options->contract_count && status == RR_OK; k++) {
        status = check_contract(l, &l->options->contracts[k], false, error);
        if (status == RR_OK) {
            status = put_status(l, l->options->contracts[k].contract, error);
        }
    }
    return status == RR_UNAVAILABLE || status == RR_REFUSED_BY_SERVER ? RR_OK : status;
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
            talk(l, RR_TALK_WARNING, "alerts wait: %s", error.text);
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
        rr_status status = source->ops->fetch(source->source, l->deliveries, source->batch, &count, wait_ms, error);

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
    bool idle = false;

    while (status == RR_OK && !stopping(l)) {
        status = turn(l, down, &idle, error);
        if (status == RR_OK) {
            status = tick(l, error);
        }
        if (status == RR_OK && l->options->drain_store == NULL && idle) {
            rr_drain_once(l->options, l->options->store, l->drainer, &l->arena, &l->totals->alerts_sent, error);
        }
        if (idle && l->options->until_idle && all_done(l)) {
            break;
        }
    }
    free(down);
    return status;
}

static rr_status start(live *l, rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < l->options->contract_count && status == RR_OK && !l->options->observe; k++) {
        status = check_contract(l, &l->options->contracts[k], l->options->accept_contracts, error);
    }
    return status;
}

static void leave(live *l)
{
    l->next_tick_us = 0;
    tick(l, NULL);
    for (size_t k = 0; k < l->options->source_count; k++) {
        l->options->sources[k].ops->flush(l->options->sources[k].source, l->options->drain_timeout_ms, NULL);
    }
    l->totals->batch = *rr_batch_totals(l->batch);
    rr_batch_free(l->batch);
    rr_arena_fini(&l->arena);
    rr_buf_fini(&l->text);
    free(l->deliveries);
    free(l->items);
    free(l->records);
    free(l->reached);
}

rr_status rr_live_run(const rr_live_options *options, rr_live_totals *totals, rr_error *error)
{
    live l = {.options = options, .totals = totals, .state = "ok"};
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
    l.batch = rr_batch_new(options->store_ops, options->store, &batch);
    status = l.batch == NULL || !make_room(&l) ? no_memory(error) : start(&l, error);
    if (status == RR_OK && options->drain_store != NULL) {
        draining = pthread_create(&drainer, NULL, hand_out, &l) == 0;
    }
    if (status == RR_OK) {
        status = loop(&l, error);
    }
    if (draining) {
        atomic_store((atomic_int *)options->stop, 1);
        pthread_join(drainer, NULL);
    }
    leave(&l);
    return status;
}
