/* A world in one thread for the real engine: a source, a store, a channel and a clock made for it, and what goes wrong.
 *
 * Every engine of a run is a coroutine. Each call of a port is a place where
 * the world may change, where another engine may go on, and where the engine
 * may end as if it had been killed: before the call, or behind it. Then its
 * memory is forgotten, and a new life starts on what survived. The same seed
 * gives the same run.
 *
 * Crashed engines leave their memory behind: runs are made in processes that
 * end.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SIM_H
#define RR_SIM_H

#include <ucontext.h>

#include "history.h"
#include "join.h"
#include "service.h"

/* kind, word, what happens. */
#define RR_SIM_FAULT_TABLE(X) \
    X(DROP, "drop", "a delivery is lost on its way and comes again") \
    X(REPEAT, "repeat", "a delivery comes twice") \
    X(REORDER, "reorder", "deliveries come in another order than they were stored") \
    X(DELAY, "delay", "a delivery comes late") \
    X(ACK_LOST, "ack_lost", "acknowledgements are lost on their way") \
    X(CRASH, "crash", "an engine is killed, before or behind a call of a port") \
    X(LEAVE, "leave", "an engine is told to leave, and starts again") \
    X(SINK_SUFFIX, "sink_suffix", "the store loses its last writes") \
    X(SINK_FLUSH, "sink_flush", "the store comes back empty") \
    X(SOURCE_TAIL, "source_tail", "stream and consumer are replaced by an older copy") \
    X(UNKNOWN_DONE, "unknown_done", "swaps are done, and their answer is lost") \
    X(UNKNOWN_NOT, "unknown_not", "swaps are lost on their way") \
    X(UNKNOWN_LATE, "unknown_late", "swaps without an answer are done a good while later") \
    X(STORE_AWAY, "store_away", "the store does not answer for a while") \
    X(UNCONFIRMED, "unconfirmed", "the store's replica hears nothing for a while") \
    X(QUEUE_AWAY, "queue_away", "the queue does not answer for a while") \
    X(CHANNEL_AWAY, "channel_away", "the alert channel fails, having sent or not") \
    X(CLOCK_FORWARD, "clock_forward", "an engine's clock jumps a day forward") \
    X(CLOCK_BACK, "clock_back", "an engine's clock jumps a day back") \
    X(SECOND, "second_process", "a second engine shares the consumer")

typedef enum rr_sim_fault {
#define RR_X(name, word, text) RR_SIM_##name,
    RR_SIM_FAULT_TABLE(RR_X)
#undef RR_X
        RR_SIM_FAULTS
} rr_sim_fault;

const char *rr_sim_fault_word(rr_sim_fault fault);

/* Every call of every port: X has a status, V has none. The assertions below this list hold it to the ports. */
#define RR_SIM_STORE_CALLS(X, V) \
    X(store, open, (const char *url, const rr_store_options *options, rr_store **store, rr_error *error), \
      (url, options, store, error)) \
    V(store, close, (rr_store * store), (store)) \
    X(store, load, (rr_store * store, rr_load * loads, size_t count, rr_arena * arena, rr_error * error), \
      (store, loads, count, arena, error)) \
    X(store, read_parts, (rr_store * store, rr_parts_read * reads, size_t count, rr_arena * arena, rr_error * error), \
      (store, reads, count, arena, error)) \
    X(store, swap, (rr_store * store, rr_swap * swaps, size_t count, rr_arena * arena, rr_error * error), \
      (store, swaps, count, arena, error)) \
    X(store, load_ahead, (rr_store * store, rr_load * loads, size_t count, rr_arena * arena, rr_error * error), \
      (store, loads, count, arena, error)) \
    X(store, load_next, (rr_store * store, size_t * ready, rr_error * error), (store, ready, error)) \
    X(store, swap_ahead, (rr_store * store, rr_swap * swaps, size_t count, rr_arena * arena, rr_error * error), \
      (store, swaps, count, arena, error)) \
    X(store, swap_end, (rr_store * store, rr_error * error), (store, error)) \
    X(store, confirm, (rr_store * store, rr_error * error), (store, error)) \
    X(store, log_read, \
      (rr_store * store, rr_slice key, const char *drainer, int idle_ms, size_t most, rr_arena *arena, \
       rr_log_entry **entries, size_t *count, rr_error *error), \
      (store, key, drainer, idle_ms, most, arena, entries, count, error)) \
    X(store, log_done, (rr_store * store, rr_slice key, const rr_slice *ids, size_t count, rr_error *error), \
      (store, key, ids, count, error)) \
    X(store, note_get, (rr_store * store, rr_slice key, rr_arena * arena, rr_slice * value, rr_error * error), \
      (store, key, arena, value, error)) \
    X(store, note_set, \
      (rr_store * store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms, \
       const rr_store_identity *incarnation, bool *done, rr_error *error), \
      (store, key, expected, value, ttl_ms, incarnation, done, error)) \
    X(store, note_put, (rr_store * store, rr_slice key, rr_slice value, int64_t ttl_ms, rr_error * error), \
      (store, key, value, ttl_ms, error)) \
    X(store, identity, (rr_store * store, rr_store_identity * identity, rr_error * error), (store, identity, error)) \
    X(store, scan, \
      (rr_store * store, rr_slice prefix, bool (*each)(void *context, rr_slice key), void *context, rr_error *error), \
      (store, prefix, each, context, error)) \
    X(store, sweep, \
      (rr_store * store, rr_slice prefix, bool (*gone)(void *context, rr_slice key), void *context, uint64_t *removed, \
       rr_error *error), \
      (store, prefix, gone, context, removed, error)) \
    X(store, survey, \
      (const char *url, const rr_store_options *options, rr_slice prefix, rr_store_survey *survey, rr_error *error), \
      (url, options, prefix, survey, error))

#define RR_SIM_SOURCE_CALLS(X, V) \
    X(source, open, (const rr_source_options *options, rr_source **source, rr_error *error), (options, source, error)) \
    V(source, close, (rr_source * source), (source)) \
    X(source, fetch, \
      (rr_source * source, rr_delivery * deliveries, size_t most, size_t * count, int wait_ms, rr_error *error), \
      (source, deliveries, most, count, wait_ms, error)) \
    X(source, ack, (rr_source * source, const rr_delivery *deliveries, size_t count, rr_error *error), \
      (source, deliveries, count, error)) \
    X(source, progress, (rr_source * source, const rr_delivery *deliveries, size_t count, rr_error *error), \
      (source, deliveries, count, error)) \
    V(source, release, (rr_source * source, const rr_delivery *deliveries, size_t count, bool leaving), \
      (source, deliveries, count, leaving)) \
    X(source, publish, (rr_source * source, rr_publication * publications, size_t count, rr_error * error), \
      (source, publications, count, error)) \
    X(source, bound, (rr_source * source, rr_slice subject, char stream[256], rr_error *error), \
      (source, subject, stream, error)) \
    X(source, info, (rr_source * source, rr_source_info * info, rr_error * error), (source, info, error)) \
    X(source, flush, (rr_source * source, int timeout_ms, rr_error *error), (source, timeout_ms, error)) \
    X(source, replay, \
      (rr_source * source, uint64_t from, uint64_t to, bool (*each)(void *context, const rr_delivery *), \
       void *context, rr_error *error), \
      (source, from, to, each, context, error)) \
    X(source, find_time, (rr_source * source, int64_t time_us, uint64_t * sequence, rr_error * error), \
      (source, time_us, sequence, error)) \
    X(source, survey, \
      (const rr_source_options *options, rr_slice dead_letter, rr_source_survey *survey, rr_error *error), \
      (options, dead_letter, survey, error)) \
    X(source, make_stream, \
      (const rr_source_options *options, const char *name, const char *const *subjects, size_t count, \
       rr_error *error), \
      (options, name, subjects, count, error))

#define RR_SIM_CHANNEL_CALLS(X, V) \
    X(channel, open, (const rr_channel_options *options, rr_channel **channel, rr_error *error), \
      (options, channel, error)) \
    V(channel, close, (rr_channel * channel), (channel)) \
    X(channel, send, (rr_channel * channel, const rr_alert_message *messages, size_t count, rr_error *error), \
      (channel, messages, count, error))

#define RR_SIM_CALL_TABLE(X, V) RR_SIM_STORE_CALLS(X, V) RR_SIM_SOURCE_CALLS(X, V) RR_SIM_CHANNEL_CALLS(X, V)

typedef enum rr_sim_call {
#define RR_X(port, name, params, args) RR_SIM_##port##_##name,
    RR_SIM_CALL_TABLE(RR_X, RR_X)
#undef RR_X
        RR_SIM_CALLS
} rr_sim_call;

const char *rr_sim_call_word(rr_sim_call call);

/* The wrapper of a call, with its two crash points, around `do_<port>_<name>`; and its place in the table of ops. */
#define RR_SIM_GATE(port, name, params, args) \
    static rr_status port##_##name params \
    { \
        rr_status status; \
\
        rr_sim_before(RR_SIM_##port##_##name); \
        status = do_##port##_##name args; \
        rr_sim_after(RR_SIM_##port##_##name); \
        return status; \
    }
#define RR_SIM_GATE_VOID(port, name, params, args) \
    static void port##_##name params \
    { \
        rr_sim_before(RR_SIM_##port##_##name); \
        do_##port##_##name args; \
        rr_sim_after(RR_SIM_##port##_##name); \
    }
#define RR_SIM_OP(port, name, params, args) .name = port##_##name,
#define RR_SIM_ONE(port, name, params, args) +1

/* An op that is added to a port has no row above, and this says so. */
#define RR_SIM_HOLDS_ALL(ops, CALLS) \
    _Static_assert(sizeof(ops) == offsetof(ops, open) + (0 CALLS(RR_SIM_ONE, RR_SIM_ONE)) * sizeof(void (*)(void)), \
                   "a call of the port " #ops " has no crash point in the simulation")

/* ---- the store ---- */

typedef enum rr_sim_item_kind { RR_SIM_VALUE, RR_SIM_PART, RR_SIM_OPEN } rr_sim_item_kind;

/* What was written, and by which write; gone: removed by it. */
typedef struct rr_sim_version {
    uint64_t at;
    bool gone;
    rr_slice bytes;
} rr_sim_version;

typedef struct rr_sim_item {
    rr_sim_item_kind kind;
    rr_slice key, field; /* field: of a part (behind the birth), or the member of a list of open conflicts */
    rr_sim_version *versions;
    size_t count, room;
} rr_sim_item;

typedef struct rr_sim_entry {
    uint64_t at, id, done_at; /* writes; done_at 0: not done */
    int64_t handed_us;        /* 0: never */
    rr_slice key, bytes;
    size_t message; /* SIZE_MAX: about the source */
    rr_alert_set alerts;
    bool sent;
} rr_sim_entry;

/* Every write has a number; losing a suffix forgets the versions above one. */
typedef struct rr_sim_store {
    rr_sim_item *items;
    size_t item_count, item_room;
    rr_sim_entry *entries;
    size_t entry_count, entry_room;
    uint64_t now, next_id;
    unsigned incarnation;
    int64_t away_until_us, unconfirmed_until_us;
    uint64_t confirmed; /* writes that its replica has for certain */
    /* a call of swaps on its way */
    rr_swap *late;
    size_t late_count;
    uint64_t late_at; /* calls */
} rr_sim_store;

/* The value as of a write; empty where there was none. */
rr_slice rr_sim_value(const rr_sim_store *store, rr_slice key, uint64_t at);
uint64_t rr_sim_written(const rr_sim_store *store, rr_slice key); /* the last write of a value; 0: none */
bool rr_sim_is_open(const rr_sim_store *store, rr_slice member);
void rr_sim_lose(uint64_t keep); /* all writes above that one */
void rr_sim_do_late(void);

extern const rr_store_ops rr_sim_store_ops;

/* ---- the stream and its consumer ---- */

typedef enum rr_sim_place { RR_SIM_WAITING, RR_SIM_OUT, RR_SIM_ACKED } rr_sim_place;

typedef struct rr_sim_message {
    rr_slice subject, payload;
    int64_t stored_at_us;
    /* what the judge knows of it */
    rr_record record;
    bool refused;
    rr_slice key; /* of its unit; empty: refused */
    rr_alert_set logged, sent, due;
    unsigned letters; /* dead letters stored */
    bool lost;        /* acknowledged, and then lost by the store; nothing has brought it back yet */
    bool back;        /* a repair has */
    /* what the consumer knows of it */
    rr_sim_place place;
    int64_t due_us; /* OUT: when it comes again */
    uint64_t times;
} rr_sim_message;

typedef struct rr_sim_flight {
    size_t message;
    uint64_t consumer_sequence, times;
    int64_t arrive_us;
    int engine;
    uint64_t life;
} rr_sim_flight;

typedef struct rr_sim_source {
    rr_sim_message *messages;
    size_t count;   /* of the whole history; message k is stored as sequence k + 1 */
    size_t stored;  /* in the stream now */
    size_t highest; /* most that were ever */
    size_t delivered;
    uint64_t consumer_sequence;
    int64_t away_until_us, quiet_until_us; /* quiet: nothing is published */
    rr_sim_flight *flights;
    size_t flight_count, flight_room;
} rr_sim_source;

size_t rr_sim_ack_floor(const rr_sim_source *source);
bool rr_sim_lose_tail(void);

extern const rr_source_ops rr_sim_source_ops;
extern const rr_channel_ops rr_sim_channel_ops;

/* ---- the engines ---- */

enum { RR_SIM_ENGINES = 2, RR_SIM_UNITS = 64, RR_SIM_TRIGGERS = 64 };

struct rr_store {
    struct rr_sim_engine *engine;
    rr_load *ahead; /* loads that were asked ahead */
    size_t ahead_count, ahead_ready;
    rr_arena *ahead_arena;
};
struct rr_source {
    struct rr_sim_engine *engine;
};
struct rr_channel {
    struct rr_sim_engine *engine;
};

/* What an engine saw of a unit when it decided its batch: the write as of which it read. */
typedef struct rr_sim_base {
    rr_slice key;
    uint64_t at;
    char token[RR_TOKEN_LEN]; /* of its own swap that was done since */
} rr_sim_base;

typedef struct rr_sim_engine {
    int index;
    bool wanted, alive, stopped; /* stopped: told to leave */
    uint64_t lives;
    ucontext_t context;
    char *stack;
    atomic_int stop;
    int64_t skew_us, wake_us, start_us;
    bool cut;             /* its connection to the store broke, and it does not know yet */
    bool reading_again;   /* in a replay */
    bool *in_hand, *done; /* per message; done: `ack: all`, handed to ack in this life */
    size_t held;          /* deliveries in hand */
    void *holds;          /* list of them */
    rr_sim_base bases[RR_SIM_UNITS];
    size_t base_count;
    rr_sim_entry *handed; /* those that it read last, as they were */
    size_t handed_count;
    struct rr_store store;
    struct rr_source source;
    struct rr_channel channel;
    rr_store_ops store_ops;
    rr_service_options options;
    rr_bound_source live_source;
    rr_bound_contract contract;
    rr_bound_channel live_channel;
    rr_service_totals totals;
    rr_status status;
    rr_error error;
} rr_sim_engine;

/* ---- the world ---- */

typedef struct rr_sim_trigger {
    uint64_t at; /* crash points */
    rr_sim_fault fault;
} rr_sim_trigger;

typedef struct rr_sim {
    rr_dice dice;
    bool verbose;
    rr_arena arena; /* of the run */
    const rr_contract *contract;
    bool honest;
    bool waits; /* the store waits for its replica; what fails over to it has all that was confirmed */
    rr_ack_mode ack;
    size_t batch;
    size_t predict_from; /* every other seed predicts from what it saw last */
    size_t send_from;    /* every other pair of seeds hands over each swap by itself */
    bool whole;          /* every eighth four of seeds: the store has none of the calls that work in pieces */
    int64_t ack_wait_us, rest_us;
    /* time */
    int64_t time_us;
    uint64_t points, calls;
    uint64_t crash_at;            /* a crash point, from 1; 0: none is planned */
    uint64_t fault_points;        /* from here on nothing goes wrong */
    int crash_call, crash_behind; /* where the next crash is wanted; -1: anywhere */
    int goal_call, goal_behind;   /* where all crashes are wanted; -1: each is aimed by itself */
    bool away_at_publish;         /* the queue goes when the next dead letters come, and for long */
    bool calm;
    int64_t calm_us, resting_us; /* when it began; 0: not yet */
    rr_sim_trigger triggers[RR_SIM_TRIGGERS];
    size_t trigger_count;
    unsigned armed[RR_SIM_FAULTS];
    bool took[RR_SIM_FAULTS];
    uint64_t crashed[RR_SIM_CALLS][2]; /* before, behind */
    rr_sim_engine engines[RR_SIM_ENGINES];
    rr_sim_engine *running;
    ucontext_t scheduler;
    rr_sim_store store;
    rr_sim_source source;
    int64_t channel_away_until_us;
    unsigned notices[RR_ALERT_COUNT]; /* of sources, sent */
    uint64_t verdicts[RR_VERDICT_COUNT];
    char *broken; /* the first promise that was broken, in words; NULL: none */
} rr_sim;

/* The run of this process. */
extern rr_sim rr_sim_now;

/* A world without a history: then messages are put, and it runs. */
void rr_sim_init(uint64_t seed, const rr_contract *contract);
void rr_sim_put(rr_slice json, int64_t stored_at_us, bool routed);
/* Runs until everything has come to rest, or a promise is broken. */
void rr_sim_run(void);
void rr_sim_fini(void);

/* For the ports. */
void rr_sim_before(rr_sim_call call);
void rr_sim_after(rr_sim_call call);
void rr_sim_wait(int64_t us);
unsigned rr_sim_below(unsigned bound);
bool rr_sim_chance(unsigned percent);
bool rr_sim_strikes(rr_sim_fault fault); /* it is due: then it is taken, and counts as having taken effect */
bool rr_sim_is_due(rr_sim_fault fault);
void rr_sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rr_sim_break(const char *format, ...) __attribute__((format(printf, 1, 2)));
rr_slice rr_sim_keep(rr_slice bytes); /* a copy in the run's arena */
void *rr_sim_take(size_t bytes);      /* cleared */
/* A list that grows in the run's arena. */
void *rr_sim_grow(void *list, size_t count, size_t *room, size_t size);

/* The judge. */
void rr_judge_put(rr_sim_message *message, uint64_t sequence, bool routed);
void rr_judge_ack(const rr_sim_engine *engine, const rr_delivery *deliveries, size_t count);
void rr_judge_lost(void);
void rr_judge_swapped(const rr_sim_engine *engine, rr_slice key, uint64_t before);
void rr_judge_end(void);

#endif
