/* The stream, its consumer as the server keeps it, the dead letters, and the alert channel. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "must.h"
#include "time.h"

static rr_sim *const sim = &rr_sim_now;
static rr_sim_source *const src = &rr_sim_now.source;

/* A delivery that an engine has: its bytes belong to it, and are freed when it is acknowledged or released. */
typedef struct hold {
    struct hold *next;
    size_t message;
    char bytes[];
} hold;

static rr_status no_part(rr_error *error)
{
    return rr_fail(error, RR_INTERNAL, "simulated queue: the loop has no use for this call");
}

static rr_status away(rr_error *error)
{
    if (sim->time_us < src->away_until_us) {
        return rr_fail(error, RR_UNAVAILABLE, "simulated queue: it cannot be reached");
    }
    return RR_OK;
}

/* ---- what the server knows ---- */

size_t rr_sim_ack_floor(const rr_sim_source *source)
{
    for (size_t k = 0; k < source->delivered; k++) {
        if (source->messages[k].place != RR_SIM_ACKED) {
            return k;
        }
    }
    return source->delivered;
}

/* The server came back with an older copy of the stream and of what was acknowledged. What is lost is published again
 * some time later. */
bool rr_sim_lose_tail(void)
{
    size_t most = src->stored - 1 < 6 ? src->stored - 1 : 6, reach;

    src->stored -= 1 + rr_sim_below((unsigned)most);
    reach = src->stored - rr_sim_below((unsigned)(src->stored < 4 ? src->stored : 4));
    src->delivered = src->delivered < reach ? src->delivered : reach;
    for (size_t k = src->delivered; k < src->count; k++) {
        src->messages[k].place = RR_SIM_WAITING;
        src->messages[k].times = 0;
        src->messages[k].lost = false; /* it comes again by itself */
    }
    for (int e = 0; e < RR_SIM_ENGINES; e++) {
        /* Connections broke, and what was done was done by the numbers of the old ones. */
        memset(sim->engines[e].done + src->delivered, 0, src->count - src->delivered);
    }
    src->flight_count = 0;
    src->quiet_until_us = sim->time_us + 1000 * (1000 + (int64_t)rr_sim_below(9000));
    rr_sim_say("the stream ends at %zu, delivered up to %zu", src->stored, src->delivered);
    return true;
}

static void fly(const rr_sim_engine *e, size_t message, int64_t arrive_us)
{
    src->flights = rr_sim_grow(src->flights, src->flight_count, &src->flight_room, sizeof *src->flights);
    src->flights[src->flight_count++] = (rr_sim_flight){.message = message,
                                                        .consumer_sequence = src->consumer_sequence,
                                                        .times = src->messages[message].times,
                                                        .arrive_us = arrive_us,
                                                        .engine = e->index,
                                                        .life = e->lives};
}

/* The server gives a message to this engine; what becomes of it on the way. */
static void send_one(const rr_sim_engine *e, size_t k)
{
    rr_sim_message *message = &src->messages[k];

    message->place = RR_SIM_OUT;
    message->times++;
    message->due_us = sim->time_us + sim->ack_wait_us;
    src->delivered = k + 1 > src->delivered ? k + 1 : src->delivered;
    src->consumer_sequence++;
    if (rr_sim_strikes(RR_SIM_DROP)) {
        return;
    }
    if (rr_sim_strikes(RR_SIM_DELAY)) {
        fly(e, k, sim->time_us + 1000 * (1 + (int64_t)rr_sim_below(60000)));
        return;
    }
    fly(e, k, sim->time_us);
    if (rr_sim_strikes(RR_SIM_REPEAT)) {
        src->consumer_sequence++;
        message->times++;
        fly(e, k, sim->time_us + (rr_sim_chance(50) ? 0 : 1000 * (int64_t)rr_sim_below(20000)));
    }
}

/* Those whose time is up first, then new ones. */
static void send_some(const rr_sim_engine *e, size_t most)
{
    for (size_t k = 0; k < src->stored && most != 0; k++) {
        if (src->messages[k].place == RR_SIM_OUT && src->messages[k].due_us <= sim->time_us) {
            send_one(e, k);
            most--;
        }
    }
    for (size_t k = 0; k < src->stored && most != 0; k++) {
        if (src->messages[k].place == RR_SIM_WAITING) {
            send_one(e, k);
            most--;
        }
    }
}

/* ---- in hand ---- */

static void take(rr_sim_engine *e, const rr_sim_flight *flight, rr_delivery *delivery)
{
    const rr_sim_message *message = &src->messages[flight->message];
    size_t len = message->payload.len;
    hold *held = malloc(sizeof *held + len + message->subject.len);

    RR_MUST(held != NULL);
    *held = (hold){.next = e->holds, .message = flight->message};
    memcpy(held->bytes, message->payload.data, len);
    memcpy(held->bytes + len, message->subject.data, message->subject.len);
    e->holds = held;
    e->held++;
    *delivery = (rr_delivery){.subject = {held->bytes + len, message->subject.len},
                              .payload = {held->bytes, len},
                              .stream_sequence = flight->message + 1,
                              .consumer_sequence = flight->consumer_sequence,
                              .times_delivered = flight->times,
                              .stored_at_us = message->stored_at_us,
                              .handle = held};
    rr_sim_say("delivers %zu, the %llu. time", flight->message + 1, (unsigned long long)flight->times);
}

static void drop(rr_sim_engine *e, const rr_delivery *delivery)
{
    for (hold **at = (hold **)&e->holds; *at != NULL; at = &(*at)->next) {
        if (*at == delivery->handle) {
            hold *gone = *at;

            *at = gone->next;
            e->held--;
            memset(gone->bytes, 'x', src->messages[gone->message].payload.len);
            free(gone);
            return;
        }
    }
    rr_sim_break("sequence %llu was acknowledged or let go, and was not in hand",
                 (unsigned long long)delivery->stream_sequence);
}

static void shuffle(rr_delivery *deliveries, size_t count)
{
    for (size_t k = count; k > 1; k--) {
        size_t other = rr_sim_below((unsigned)k);
        rr_delivery held = deliveries[k - 1];

        deliveries[k - 1] = deliveries[other];
        deliveries[other] = held;
    }
}

/* ---- the calls ---- */

static rr_status do_source_open(const rr_source_options *options, rr_source **source, rr_error *error)
{
    (void)options;
    *source = NULL;
    return no_part(error);
}

static void do_source_close(rr_source *source)
{
    (void)source;
}

static void arrive(rr_sim_engine *e, rr_delivery *deliveries, size_t most, size_t *count)
{
    size_t kept = 0;

    for (size_t k = 0; k < src->flight_count; k++) {
        const rr_sim_flight *flight = &src->flights[k];

        if (flight->engine == e->index && flight->arrive_us <= sim->time_us && *count < most) {
            take(e, flight, &deliveries[(*count)++]);
        } else {
            src->flights[kept++] = *flight;
        }
    }
    src->flight_count = kept;
}

static rr_status do_source_fetch(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                                 rr_error *error)
{
    rr_sim_engine *e = source->engine;
    rr_status status = away(error);

    *count = 0;
    e->reading_again = false;
    if (e->held == 0) {
        e->base_count = 0; /* what it looked at belongs to no batch */
    }
    if (status == RR_OK) {
        send_some(e, sim->calm || sim->crash_at != 0 ? most : rr_sim_below((unsigned)most + 1));
        arrive(e, deliveries, most, count);
    }
    if (*count == 0) {
        rr_sim_wait((int64_t)wait_ms * 1000);
        return status;
    }
    if (*count > 1 && rr_sim_strikes(RR_SIM_REORDER)) {
        shuffle(deliveries, *count);
    }
    sim->took[RR_SIM_SECOND] = sim->took[RR_SIM_SECOND] || e->index == 1;
    return RR_OK;
}

/* Under `ack: all` only what has nothing undone below it. */
static void mark_acked(rr_sim_engine *e, const rr_delivery *deliveries, size_t count, bool lost)
{
    for (size_t k = 0; k < count; k++) {
        size_t at = (size_t)deliveries[k].stream_sequence - 1;

        /* Beyond what the consumer says it delivered, the stream has lost it: the next message of this number is another. */
        e->done[at] = e->done[at] || at < src->delivered;
        if (sim->ack == RR_ACK_EXPLICIT && !lost && at < src->delivered) {
            src->messages[at].place = RR_SIM_ACKED;
        }
    }
    for (size_t k = 0; sim->ack == RR_ACK_ALL && !lost && k < src->delivered; k++) {
        if (src->messages[k].place != RR_SIM_ACKED && !e->done[k]) {
            break;
        }
        src->messages[k].place = RR_SIM_ACKED;
    }
}

static rr_status do_source_ack(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    rr_sim_engine *e = source->engine;
    bool lost = rr_sim_strikes(RR_SIM_ACK_LOST);
    rr_status status = away(error);

    rr_judge_ack(e, deliveries, count);
    mark_acked(e, deliveries, count, lost || status != RR_OK);
    for (size_t k = 0; k < count; k++) {
        rr_sim_say("acknowledges %llu", (unsigned long long)deliveries[k].stream_sequence);
        drop(e, &deliveries[k]);
    }
    e->base_count = 0;
    return status;
}

static rr_status do_source_progress(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error)
{
    rr_status status = away(error);

    (void)source;
    for (size_t k = 0; status == RR_OK && k < count; k++) {
        rr_sim_message *message = &src->messages[deliveries[k].stream_sequence - 1];

        message->due_us = message->place == RR_SIM_OUT ? sim->time_us + sim->ack_wait_us : message->due_us;
    }
    return status;
}

static void do_source_release(rr_source *source, const rr_delivery *deliveries, size_t count, bool leaving)
{
    for (size_t k = 0; k < count; k++) {
        rr_sim_message *message = &src->messages[deliveries[k].stream_sequence - 1];

        if (leaving && sim->ack == RR_ACK_EXPLICIT && message->place == RR_SIM_OUT && away(NULL) == RR_OK) {
            message->due_us = sim->time_us;
        }
        rr_sim_say("releases %llu", (unsigned long long)deliveries[k].stream_sequence);
        drop(source->engine, &deliveries[k]);
    }
    source->engine->base_count = 0;
}

/* Its subject ends in the sequence; there is one of each. */
static void keep_letter(rr_publication *letter)
{
    const char *digits = memrchr(letter->subject.data, '.', letter->subject.len);
    size_t at = digits == NULL ? 0 : (size_t)strtoull(digits + 1, NULL, 10) - 1;

    RR_MUST(at < src->count);
    letter->error.status = RR_OK;
    letter->already = src->messages[at].letters != 0;
    if (!letter->once || !src->messages[at].refused || !rr_slice_equal(letter->payload, src->messages[at].payload)) {
        rr_sim_break("a dead letter that is not due: %.*s", (int)letter->subject.len, letter->subject.data);
    }
    src->messages[at].letters += !letter->already;
}

static rr_status do_source_publish(rr_source *source, rr_publication *publications, size_t count, rr_error *error)
{
    size_t stored = count;
    rr_status status = away(error);

    (void)source;
    if (status != RR_OK) {
        stored = rr_sim_below((unsigned)count + 1); /* they may have come, without an answer */
    }
    for (size_t k = 0; k < stored; k++) {
        /* Subjects are not ended: they lie in the batch's memory with bytes behind them. */
        char subject[512];
        rr_publication letter = publications[k];

        snprintf(subject, sizeof subject, "%.*s", (int)letter.subject.len, letter.subject.data);
        letter.subject = rr_slice_of(subject);
        keep_letter(&letter);
        publications[k].already = letter.already;
        publications[k].error.status = RR_OK;
    }
    return status;
}

static rr_status do_source_bound(rr_source *source, rr_slice subject, char stream[256], rr_error *error)
{
    (void)source;
    (void)subject;
    stream[0] = '\0';
    return no_part(error);
}

static rr_status do_source_info(rr_source *source, rr_source_info *info, rr_error *error)
{
    rr_status status = away(error);

    (void)source;
    *info = (rr_source_info){.first_sequence = 1,
                             .last_sequence = src->stored,
                             .created_at_us = 1767000000000000,
                             .ack_floor = rr_sim_ack_floor(src),
                             .delivered = src->delivered,
                             .deliveries = src->delivered,
                             .replicas = 1};
    snprintf(info->retention, sizeof info->retention, "limits");
    snprintf(info->storage, sizeof info->storage, "file");
    for (size_t k = 0; k < src->stored; k++) {
        info->pending += src->messages[k].place == RR_SIM_WAITING;
        info->ack_pending += src->messages[k].place == RR_SIM_OUT;
    }
    return status;
}

static rr_status do_source_flush(rr_source *source, int timeout_ms, rr_error *error)
{
    (void)source;
    (void)timeout_ms;
    return away(error);
}

static rr_status do_source_replay(rr_source *source, uint64_t from, uint64_t to,
                                  bool (*each)(void *context, const rr_delivery *), void *context, rr_error *error)
{
    rr_status status = away(error);
    bool more = status == RR_OK;

    source->engine->reading_again = true;
    for (size_t k = from == 0 ? 0 : (size_t)from - 1; more && k < src->stored && (to == 0 || k < to); k++) {
        const rr_sim_message *message = &src->messages[k];
        char *bytes = malloc(message->payload.len + 1);
        rr_delivery delivery = {.subject = message->subject,
                                .payload = {bytes, message->payload.len},
                                .stream_sequence = k + 1,
                                .times_delivered = 1,
                                .stored_at_us = message->stored_at_us};

        RR_MUST(bytes != NULL);
        memcpy(bytes, message->payload.data, message->payload.len);
        more = each(context, &delivery);
        memset(bytes, 'x', message->payload.len);
        free(bytes);
        status = away(error);
        more = more && status == RR_OK;
    }
    return status;
}

static rr_status do_source_find_time(rr_source *source, int64_t time_us, uint64_t *sequence, rr_error *error)
{
    (void)source;
    (void)time_us;
    *sequence = 0;
    return no_part(error);
}

static rr_status do_source_survey(const rr_source_options *options, rr_slice dead_letter, rr_source_survey *survey,
                                  rr_error *error)
{
    (void)options;
    (void)dead_letter;
    (void)survey;
    return no_part(error);
}

static rr_status do_source_make_stream(const rr_source_options *options, const char *name, const char *const *subjects,
                                       size_t count, rr_error *error)
{
    (void)options;
    (void)name;
    (void)subjects;
    (void)count;
    return no_part(error);
}

RR_SIM_SOURCE_CALLS(RR_SIM_GATE, RR_SIM_GATE_VOID)
RR_SIM_HOLDS_ALL(rr_source_ops, RR_SIM_SOURCE_CALLS);

const rr_source_ops rr_sim_source_ops = {.scheme = "sim", RR_SIM_SOURCE_CALLS(RR_SIM_OP, RR_SIM_OP)};

/* ---- the channel ---- */

static rr_status do_channel_open(const rr_channel_options *options, rr_channel **channel, rr_error *error)
{
    (void)options;
    *channel = NULL;
    return no_part(error);
}

static void do_channel_close(rr_channel *channel)
{
    (void)channel;
}

/* Each message says how many entries of its kind it stands for. */
static void check_counts(const rr_sim_engine *e, const rr_alert_message *messages, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        int kind = rr_alert_parse(messages[k].kind);
        unsigned entries = 0;
        char words[32];
        int len;

        RR_MUST(kind >= 0);
        for (size_t h = 0; h < e->handed_count; h++) {
            entries += (e->handed[h].alerts & RR_BIT(kind)) != 0;
        }
        len = snprintf(words, sizeof words, "\"count\":%u,", entries);
        if (memmem(messages[k].json.data, messages[k].json.len, words, (size_t)len) == NULL) {
            rr_sim_break("%u alerts of a kind were due, and the message says: %.*s", entries, (int)messages[k].json.len,
                         messages[k].json.data);
        }
    }
}

static bool has_kind(const rr_alert_message *messages, size_t count, int kind)
{
    bool has = false;

    for (size_t k = 0; k < count; k++) {
        has = has || rr_alert_parse(messages[k].kind) == kind;
    }
    return has;
}

/* Sent is sent, also where the store has lost the entry since. */
static void mark_one(const rr_sim_entry *handed, const rr_alert_message *messages, size_t count)
{
    for (int kind = 0; kind < RR_ALERT_COUNT; kind++) {
        if ((handed->alerts & RR_BIT(kind)) == 0 || !has_kind(messages, count, kind)) {
            continue;
        }
        if (handed->message == SIZE_MAX) {
            sim->notices[kind]++;
        } else {
            sim->source.messages[handed->message].sent |= RR_BIT(kind);
        }
    }
    for (size_t k = 0; k < sim->store.entry_count; k++) {
        rr_sim_entry *entry = &sim->store.entries[k];

        entry->sent = entry->sent || (entry->id == handed->id && entry->at == handed->at);
    }
}

static void mark_sent(const rr_sim_engine *e, const rr_alert_message *messages, size_t count)
{
    for (size_t h = 0; h < e->handed_count; h++) {
        mark_one(&e->handed[h], messages, count);
    }
}

static rr_status do_channel_send(rr_channel *channel, const rr_alert_message *messages, size_t count, rr_error *error)
{
    bool fails = sim->time_us < sim->channel_away_until_us;

    check_counts(channel->engine, messages, count);
    if (!fails || rr_sim_chance(30)) {
        mark_sent(channel->engine, messages, count);
    }
    return fails ? rr_fail(error, RR_UNAVAILABLE, "simulated channel: no answer") : RR_OK;
}

RR_SIM_CHANNEL_CALLS(RR_SIM_GATE, RR_SIM_GATE_VOID)
RR_SIM_HOLDS_ALL(rr_channel_ops, RR_SIM_CHANNEL_CALLS);

const rr_channel_ops rr_sim_channel_ops = {.scheme = "sim", RR_SIM_CHANNEL_CALLS(RR_SIM_OP, RR_SIM_OP)};
