/* Time, chance, crash points, and the engines as coroutines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "must.h"
#include "time.h"

enum { STACK = 512 * 1024, TURNS_MAX = 200000 };

#define START_US INT64_C(1767261800000000) /* 2026-01-01T10:03:20Z */
#define DAY_US (86400 * RR_SECOND_US)
#define PATIENCE_US (400 * RR_SECOND_US) /* from the last fault until nothing is under way */

rr_sim rr_sim_now;

static rr_sim *const sim = &rr_sim_now;
static const rr_slice checkpoint_key = {"rr:checkpoint:{src}", 19};

const char *rr_sim_fault_word(rr_sim_fault fault)
{
    static const char *const words[] = {
#define RR_X(name, word, text) word,
        RR_SIM_FAULT_TABLE(RR_X)
#undef RR_X
    };

    return words[fault];
}

const char *rr_sim_call_word(rr_sim_call call)
{
    static const char *const words[] = {
#define RR_X(port, name, params, args) #port "." #name,
        RR_SIM_CALL_TABLE(RR_X, RR_X)
#undef RR_X
    };

    return words[call];
}

/* ---- small things ---- */

unsigned rr_sim_below(unsigned bound)
{
    return rr_dice_below(&sim->dice, bound);
}

bool rr_sim_chance(unsigned percent)
{
    return rr_dice_chance(&sim->dice, percent);
}

void rr_sim_say(const char *format, ...)
{
    va_list arguments;

    if (!sim->verbose) {
        return;
    }
    printf("%10.3f s %6" PRIu64 " %s ", (double)(sim->time_us - START_US) / 1e6, sim->points,
           sim->running == NULL       ? "-"
           : sim->running->index == 0 ? "a"
                                      : "b");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void rr_sim_break(const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rr_sim_say("BROKEN: %s", text);
    if (sim->broken == NULL) {
        sim->broken = strdup(text);
        RR_MUST(sim->broken != NULL);
    }
}

void *rr_sim_take(size_t bytes)
{
    void *taken = rr_arena_zero(&sim->arena, bytes);

    RR_MUST(taken != NULL);
    return taken;
}

rr_slice rr_sim_keep(rr_slice bytes)
{
    rr_slice kept = rr_arena_copy(&sim->arena, bytes);

    RR_MUST(kept.len == bytes.len);
    return kept;
}

void *rr_sim_grow(void *list, size_t count, size_t *room, size_t size)
{
    void *grown;

    if (count < *room) {
        return list;
    }
    *room = *room == 0 ? 8 : *room * 2;
    grown = rr_sim_take(*room * size);
    if (count != 0) {
        memcpy(grown, list, count * size);
    }
    return grown;
}

/* ---- faults ---- */

bool rr_sim_is_due(rr_sim_fault fault)
{
    return sim->armed[fault] != 0;
}

bool rr_sim_strikes(rr_sim_fault fault)
{
    if (sim->armed[fault] == 0) {
        return false;
    }
    sim->armed[fault]--;
    sim->took[fault] = true;
    rr_sim_say("fault: %s", rr_sim_fault_word(fault));
    return true;
}

/* Half of the crashes wait for a call that is rare, unless the run has a goal. */
static void aim(void)
{
    static const rr_sim_call rare[] = {RR_SIM_source_progress, RR_SIM_source_progress, RR_SIM_source_release,
                                       RR_SIM_source_publish,  RR_SIM_source_replay,   RR_SIM_store_read_parts,
                                       RR_SIM_store_confirm,   RR_SIM_channel_send};

    sim->crash_call = rr_sim_chance(50) ? -1 : (int)rare[rr_sim_below(sizeof rare / sizeof *rare)];
    sim->crash_behind = (int)rr_sim_below(2);
    if (sim->goal_call >= 0) {
        sim->crash_call = sim->goal_call;
        sim->crash_behind = sim->goal_behind;
    }
}

static void arm(void)
{
    for (size_t k = 0; k < sim->trigger_count; k++) {
        if (sim->triggers[k].at == sim->points) {
            sim->armed[sim->triggers[k].fault]++;
            if (sim->triggers[k].fault == RR_SIM_CRASH) {
                aim();
            }
            sim->away_at_publish =
                sim->triggers[k].fault == RR_SIM_QUEUE_AWAY ? rr_sim_chance(30) : sim->away_at_publish;
        }
    }
}

/* What was planned and found no occasion is dropped; what is under way ends. */
static void calm_down(void)
{
    rr_sim_say("from here on nothing goes wrong");
    memset(sim->armed, 0, sizeof sim->armed);
    sim->calm = true;
    sim->calm_us = sim->time_us;
    sim->store.away_until_us = sim->store.unconfirmed_until_us = sim->source.away_until_us =
        sim->source.quiet_until_us = sim->channel_away_until_us = 0;
    rr_sim_do_late();
    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        sim->engines[k].start_us = sim->engines[k].start_us > sim->time_us ? sim->time_us : sim->engines[k].start_us;
    }
}

static void jump(rr_sim_fault fault, int64_t by_us)
{
    if (sim->running != NULL && rr_sim_is_due(fault)) {
        int64_t skew = sim->running->skew_us + by_us;

        if (skew <= 2 * DAY_US && skew >= -2 * DAY_US) {
            rr_sim_strikes(fault);
            sim->running->skew_us = skew;
        }
    }
}

/* A server that comes back has lost what was not on its disk, or its replica takes over, which has what it
 * confirmed. All connections end. */
static void lose_sink(void)
{
    uint64_t safe = sim->waits ? sim->store.confirmed : 0;
    uint64_t lost = sim->store.now - safe < 30 ? sim->store.now - safe : 30;

    if (lost == 0) {
        return;
    }
    if (rr_sim_strikes(RR_SIM_SINK_FLUSH)) {
        rr_sim_lose(safe);
    } else if (rr_sim_strikes(RR_SIM_SINK_SUFFIX)) {
        uint64_t last = rr_sim_written(&sim->store, checkpoint_key);
        bool keeps = last != 0 && last >= safe && last < sim->store.now && rr_sim_chance(50);

        /* Often what was written since the last checkpoint, which says least about it. */
        rr_sim_lose(keeps ? last : sim->store.now - 1 - rr_sim_below((unsigned)lost));
    }
}

static void change_world(rr_sim_call call)
{
    rr_sim_source *source = &sim->source;

    jump(RR_SIM_CLOCK_FORWARD, DAY_US);
    jump(RR_SIM_CLOCK_BACK, -DAY_US);
    if (rr_sim_is_due(RR_SIM_SINK_FLUSH) || rr_sim_is_due(RR_SIM_SINK_SUFFIX)) {
        lose_sink();
    }
    if (rr_sim_is_due(RR_SIM_SOURCE_TAIL) && source->stored >= 2 && rr_sim_lose_tail()) {
        rr_sim_strikes(RR_SIM_SOURCE_TAIL);
    }
    if (rr_sim_strikes(RR_SIM_STORE_AWAY)) {
        sim->store.away_until_us = sim->time_us + 1000 * (1 + (int64_t)rr_sim_below(rr_sim_chance(30) ? 30000 : 4000));
    }
    if (sim->waits && rr_sim_strikes(RR_SIM_UNCONFIRMED)) {
        sim->store.unconfirmed_until_us =
            sim->time_us + 1000 * (1 + (int64_t)rr_sim_below(rr_sim_chance(30) ? 30000 : 4000));
    }
    if ((!sim->away_at_publish || call == RR_SIM_source_publish) && rr_sim_strikes(RR_SIM_QUEUE_AWAY)) {
        bool is_long = sim->away_at_publish || rr_sim_chance(20);

        source->away_until_us = sim->time_us + 1000 * (1 + (int64_t)rr_sim_below(is_long ? 30000 : 4000));
    }
    if (rr_sim_strikes(RR_SIM_CHANNEL_AWAY)) {
        sim->channel_away_until_us = sim->time_us + 1000 * (1 + (int64_t)rr_sim_below(12000));
    }
    if (sim->store.late_count != 0 && sim->calls >= sim->store.late_at) {
        rr_sim_do_late();
    }
}

/* Messages come bit by bit, as long as things go wrong. */
static void produce(void)
{
    rr_sim_source *source = &sim->source;
    size_t due = sim->fault_points == 0 ? source->count : source->count * sim->points / sim->fault_points + 1;

    due = due > source->count || sim->calm ? source->count : due;
    if (source->stored < due && sim->time_us >= source->quiet_until_us) {
        source->stored = due;
        source->highest = due > source->highest ? due : source->highest;
    }
}

/* ---- engines ---- */

static void to_scheduler(void)
{
    swapcontext(&sim->running->context, &sim->scheduler);
}

static void end_life(rr_sim_engine *e)
{
    rr_sim_source *source = &sim->source;
    size_t kept = 0;

    e->alive = false;
    e->held = 0;
    e->holds = NULL;
    e->handed_count = 0;
    for (size_t k = 0; k < source->flight_count; k++) {
        if (source->flights[k].engine != e->index) {
            source->flights[kept++] = source->flights[k];
        }
    }
    source->flight_count = kept;
}

static void crash(rr_sim_call call, int behind)
{
    rr_sim_engine *e = sim->running;

    rr_sim_say("killed %s %s", behind ? "behind" : "before", rr_sim_call_word(call));
    sim->took[RR_SIM_CRASH] = true;
    sim->crashed[call][behind]++;
    end_life(e);
    e->start_us = sim->time_us + (sim->crash_at != 0 ? 0 : 1000 * (int64_t)rr_sim_below(8000));
    to_scheduler();
    RR_MUST(!"nobody wakes who was killed");
}

static bool is_wanted(rr_sim_call call, int behind)
{
    return sim->crash_call < 0 || (sim->crash_call == (int)call && sim->crash_behind == behind);
}

static void point(rr_sim_call call, int behind)
{
    sim->points++;
    arm();
    if (!sim->calm && sim->points >= sim->fault_points) {
        calm_down();
    }
    if (sim->points == sim->crash_at || (is_wanted(call, behind) && rr_sim_strikes(RR_SIM_CRASH))) {
        crash(call, behind);
    }
}

void rr_sim_wait(int64_t us)
{
    sim->running->wake_us = sim->time_us + us;
    to_scheduler();
}

static void maybe_yield(void)
{
    bool other = false;

    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        other = other || (sim->engines[k].alive && &sim->engines[k] != sim->running);
    }
    if (other && rr_sim_chance(30)) {
        rr_sim_wait(0);
    }
}

void rr_sim_before(rr_sim_call call)
{
    sim->calls++;
    sim->time_us += 1 + (sim->fault_points == 0 ? 100 : (int64_t)rr_sim_below(2000));
    rr_sim_say("%s", rr_sim_call_word(call));
    point(call, 0);
    produce();
    change_world(call);
    if (rr_sim_strikes(RR_SIM_LEAVE)) {
        sim->running->stopped = true;
        atomic_store(&sim->running->stop, 1);
    }
    maybe_yield();
}

void rr_sim_after(rr_sim_call call)
{
    point(call, 1);
    change_world(call);
    maybe_yield();
}

static int64_t now_us(void)
{
    return sim->time_us + (sim->running == NULL ? 0 : sim->running->skew_us);
}

static void pause_ms(int ms)
{
    rr_sim_wait((int64_t)ms * 1000);
}

static void log_line(rr_log_level level, const char *text)
{
    (void)level;
    rr_sim_say("says: %s", text);
}

static rr_bound_route route(const void *context, rr_slice subject)
{
    const rr_contract *contract = context;

    return (rr_bound_route){.contract = rr_slice_equal(subject, RR_SLICE("results.law")) ? contract : NULL};
}

static void set_options(rr_sim_engine *e)
{
    e->store.engine = e->source.engine = e->channel.engine = e;
    e->store_ops = rr_sim_store_ops;
    if (sim->whole) {
        e->store_ops.load_ahead = NULL;
        e->store_ops.load_next = NULL;
        e->store_ops.swap_ahead = NULL;
        e->store_ops.swap_end = NULL;
    }
    e->bound_source = (rr_bound_source){.ops = &rr_sim_source_ops,
                                        .source = &e->source,
                                        .name = RR_SLICE("src"),
                                        .stream = RR_SLICE("RESULTS"),
                                        .consumer = RR_SLICE("c"),
                                        .batch = sim->batch,
                                        .dead_letters = "rr.dead",
                                        .route = route,
                                        .context = sim->contract};
    e->contract = (rr_bound_contract){.contract = sim->contract, .text = RR_SLICE("name: law\n")};
    e->bound_channel = (rr_bound_channel){.ops = &rr_sim_channel_ops, .channel = &e->channel};
    e->options = (rr_service_options){.env.store_ops = &e->store_ops,
                                      .env.store = &e->store,
                                      .env.prefix = RR_SLICE("rr"),
                                      .env.sources = &e->bound_source,
                                      .env.source_count = 1,
                                      .env.contracts = &e->contract,
                                      .env.contract_count = 1,
                                      .channels = &e->bound_channel,
                                      .channel_count = 1,
                                      .drain_timeout_ms = 1000,
                                      .predict_from = sim->predict_from,
                                      .send_from = sim->send_from,
                                      .env.stop = &e->stop,
                                      .env.now_us = now_us,
                                      .env.pause_ms = pause_ms,
                                      .env.log = log_line};
}

/* The one reason to leave that is none of ours to fix. */
static bool may_refuse(const rr_sim_engine *e)
{
    return e->status == RR_CONFIG && sim->took[RR_SIM_SOURCE_TAIL] && strstr(e->error.text, "rolled back") != NULL;
}

static void one_life(void)
{
    rr_sim_engine *e = sim->running;

    e->totals = (rr_service_totals){0};
    e->error = (rr_error){0};
    e->status = rr_service_run(&e->options, &e->totals, &e->error);
    rr_sim_say("left: %s", e->status == RR_OK ? "done" : e->error.text);
    for (int k = 0; k < RR_VERDICT_COUNT; k++) {
        sim->verdicts[k] += e->totals.verdicts[k];
    }
    if (e->status == RR_OK && !e->stopped) {
        rr_sim_break("the engine left, and nobody had told it to");
    } else if (e->status != RR_OK && !may_refuse(e)) {
        rr_sim_break("the engine gave up: %s", e->error.text);
    }
    if (e->held != 0) {
        rr_sim_break("the engine left with %zu deliveries in hand, neither acknowledged nor let go", e->held);
    }
    end_life(e);
    e->start_us = sim->time_us + RR_SECOND_US;
    to_scheduler();
    RR_MUST(!"nobody wakes who has left");
}

static void start_life(rr_sim_engine *e)
{
    e->alive = true;
    e->stopped = e->cut = e->reading_again = false;
    e->lives++;
    e->wake_us = sim->time_us;
    e->base_count = 0;
    atomic_store(&e->stop, 0);
    memset(e->in_hand, 0, sim->source.count + 1);
    memset(e->done, 0, sim->source.count + 1);
    set_options(e);
    RR_MUST(getcontext(&e->context) == 0);
    e->context.uc_stack.ss_sp = e->stack;
    e->context.uc_stack.ss_size = STACK;
    e->context.uc_link = NULL;
    makecontext(&e->context, one_life, 0);
    rr_sim_say("engine %c starts", e->index == 0 ? 'a' : 'b');
}

/* ---- rest ---- */

/* What there is still to do, or NULL. */
static const char *unrest(void)
{
    const rr_sim_source *source = &sim->source;
    rr_slice checkpoint = rr_sim_value(&sim->store, checkpoint_key, sim->store.now);
    char incarnation[64];

    if (source->stored < source->count) {
        return "not all records are in the stream";
    }
    for (size_t k = 0; k < source->count; k++) {
        if (source->messages[k].place != RR_SIM_ACKED) {
            return "a record is not acknowledged";
        }
    }
    for (size_t k = 0; k < sim->store.entry_count; k++) {
        if (sim->store.entries[k].done_at == 0) {
            return "an alert is not handed out";
        }
    }
    snprintf(incarnation, sizeof incarnation, "\"incarnation\":\"sim/%u\"", sim->store.incarnation);
    if (checkpoint.len == 0 || memmem(checkpoint.data, checkpoint.len, incarnation, strlen(incarnation)) == NULL) {
        return "the checkpoint is not of this store";
    }
    return memmem(checkpoint.data, checkpoint.len, "\"repair\":null", 13) == NULL ? "a repair is not done" : NULL;
}

static bool any_alive(void)
{
    bool any = false;

    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        any = any || sim->engines[k].alive;
    }
    return any;
}

/* True: the run is over. */
static bool look_for_rest(void)
{
    const char *what = unrest();

    if (what == NULL && sim->resting_us == 0) {
        sim->resting_us = sim->time_us;
    } else if (what != NULL) {
        sim->resting_us = 0;
    }
    if (what != NULL && sim->time_us - sim->calm_us > PATIENCE_US) {
        rr_sim_break("%d s after the last fault it has not come to rest: %s", (int)(PATIENCE_US / RR_SECOND_US), what);
    }
    if (what != NULL || sim->time_us - sim->resting_us < sim->rest_us) {
        return false;
    }
    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        sim->engines[k].wanted = false;
        if (sim->engines[k].alive && !sim->engines[k].stopped) {
            sim->engines[k].stopped = true;
            atomic_store(&sim->engines[k].stop, 1);
        }
    }
    return !any_alive();
}

/* ---- the scheduler ---- */

static int64_t earliest(void)
{
    int64_t least = INT64_MAX;

    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        const rr_sim_engine *e = &sim->engines[k];
        int64_t at = e->alive ? e->wake_us : e->wanted ? e->start_us : INT64_MAX;

        least = at < least ? at : least;
    }
    return least;
}

static rr_sim_engine *pick(void)
{
    rr_sim_engine *ready[RR_SIM_ENGINES];
    unsigned count = 0;

    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        rr_sim_engine *e = &sim->engines[k];

        if (!e->alive && e->wanted && e->start_us <= sim->time_us) {
            start_life(e);
        }
        if (e->alive && e->wake_us <= sim->time_us) {
            ready[count++] = e;
        }
    }
    return count == 0 ? NULL : ready[count == 1 ? 0 : rr_sim_below(count)];
}

void rr_sim_run(void)
{
    rr_sim_engine *next;

    sim->engines[0].wanted = true;
    for (int turn = 0; sim->broken == NULL; turn++) {
        if (sim->engines[0].lives != 0 && !sim->engines[1].wanted && rr_sim_strikes(RR_SIM_SECOND)) {
            sim->took[RR_SIM_SECOND] = false; /* it has to do something first */
            sim->engines[1].wanted = true;
        }
        if (sim->calm && look_for_rest()) {
            break;
        }
        next = pick();
        if (next == NULL) {
            RR_MUST(earliest() != INT64_MAX);
            sim->time_us = earliest() > sim->time_us ? earliest() : sim->time_us;
            continue;
        }
        if (turn > TURNS_MAX) {
            rr_sim_break("it runs and runs");
            break;
        }
        sim->running = next;
        swapcontext(&sim->scheduler, &next->context);
        sim->running = NULL;
    }
    if (sim->broken == NULL) {
        rr_judge_end();
    }
}

void rr_sim_init(uint64_t seed, const rr_contract *contract)
{
    bool verbose = sim->verbose;
    char *stacks[RR_SIM_ENGINES];

    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        stacks[k] = sim->engines[k].stack == NULL ? malloc(STACK) : sim->engines[k].stack;
        RR_MUST(stacks[k] != NULL);
    }
    memset(sim, 0, sizeof *sim);
    sim->verbose = verbose;
    sim->dice = (rr_dice){seed};
    sim->contract = contract;
    sim->batch = 4;
    sim->predict_from = seed % 2;
    sim->send_from = seed / 2 % 2;
    sim->whole = seed / 4 % 8 == 3;
    sim->goal_call = -1;
    sim->ack_wait_us = 30 * RR_SECOND_US;
    sim->rest_us = 3 * RR_SECOND_US;
    sim->time_us = START_US;
    sim->store.incarnation = 1;
    rr_arena_init(&sim->arena, 0);
    for (int k = 0; k < RR_SIM_ENGINES; k++) {
        sim->engines[k] = (rr_sim_engine){.index = k, .stack = stacks[k]};
        sim->engines[k].in_hand = rr_sim_take(RR_LINES_MAX + 1);
        sim->engines[k].done = rr_sim_take(RR_LINES_MAX + 1);
    }
    sim->source.messages = rr_sim_take(RR_LINES_MAX * sizeof *sim->source.messages);
}

void rr_sim_fini(void)
{
    rr_arena_fini(&sim->arena);
    free(sim->broken);
    sim->broken = NULL;
}
