/* The store port: where cells are kept, changed only by compare-and-swap.
 *
 * The store knows bytes, not rules. What changes together is a *unit*: one
 * cell, or all sessions of one business key and metric version. A unit has a
 *
 *   value   the bytes under its key, ending with a token and two more bytes:
 *           ...,"token":"<RR_TOKEN_LEN characters>"}
 *   parts   what can grow: fields of a hash beside the value, named by the key
 *           and the unit's birth (the token's first RR_BIRTH_LEN characters)
 *   sides   side values: further values written by the same swap (the windows
 *           of a session group)
 *
 * Tokens are compared for equality only. A swap names the token of the value on
 * which its decision rests, and replaces only a value with that token. So no
 * value is overwritten that the program has not read.
 *
 * Threads: one thread at a time uses a store. Every operation may block for the
 * time-out that the store was opened with, and for two more if it waits for
 * replicas. Memory: arguments must live until the operation returns; results
 * are in the arena.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_STORE_H
#define RR_STORE_H

#include <rr/arena.h>
#include <rr/error.h>
#include <rr/options.h>
#include <rr/slice.h>
#include <rr/survey.h>

enum {
    RR_BIRTH_LEN = 8,                /* characters A-Z a-z 0-9 - _ : drawn when a unit is first written */
    RR_TOKEN_LEN = 27,               /* birth, then 11 of the process, then 8 of its counter */
    RR_TOKEN_TAIL = RR_TOKEN_LEN + 2 /* from the token's first character to the value's last */
};

typedef struct rr_store rr_store; /* defined by the store */

typedef struct rr_pair {
    rr_slice name, bytes;
} rr_pair;

/* The token in a value, or an empty slice where the value is too short to have one. */
static inline rr_slice rr_value_token(rr_slice value)
{
    return value.len < RR_TOKEN_TAIL ? (rr_slice){NULL, 0}
                                     : (rr_slice){value.data + value.len - RR_TOKEN_TAIL, RR_TOKEN_LEN};
}

/* One read of a unit's value. A key that holds a value of another type fails alone: here, or in the swap that follows,
 * where a check would make every load slower (redis). */
typedef struct rr_load {
    rr_slice key;   /* in */
    rr_slice value; /* out: empty where there is none */
    rr_error error; /* out: status OK, or REFUSED_BY_SERVER: this key alone cannot be read */
} rr_load;

/* One read of parts. Answers only while the unit's value still has the token. */
typedef struct rr_parts_read {
    rr_slice key, token; /* in; the birth is the token's first part */
    const rr_slice *ids; /* in: the parts wanted ... */
    size_t id_count;
    bool all;        /* in: ... or all of them */
    bool changed;    /* out: the value has another token, or is gone: load again */
    rr_slice *found; /* out, unless all: id_count slices, empty where there is none */
    rr_pair *parts;  /* out, if all: what there is, in no order */
    size_t part_count;
    rr_error error; /* out, as in rr_load */
} rr_parts_read;

/* A side of a swap: another value written with the unit. */
typedef struct rr_side {
    rr_slice key, value;  /* value empty: remove the key */
    int64_t expire_at_ms; /* 0: never */
} rr_side;

/* The change of the list of open conflicts (a sorted set beside the units). */
typedef enum rr_open { RR_OPEN_UNCHANGED, RR_OPEN_ADD, RR_OPEN_REMOVE } rr_open;

typedef enum rr_swap_answer {
    RR_SWAP_UNKNOWN, /* no answer came, or the swap was never sent: load the unit and compare the token with yours */
    RR_SWAP_WON,     /* done, all of it */
    RR_SWAP_LOST,    /* nothing done: the unit has another token; `current` is what is there now */
    RR_SWAP_FAILED   /* nothing done, and trying again soon will not help: `error` names the key and says why */
} rr_swap_answer;

typedef struct rr_swap {
    /* The unit; an empty key: only `entries`, which always wins. */
    rr_slice key;
    rr_slice token;       /* expected; empty: the key must be absent */
    rr_slice value;       /* new, with its new token; empty: stays as it is, only the token is compared */
    int64_t expire_at_ms; /* for value and parts; 0: never */
    bool keeps_expiry;    /* the caller promises that the stored value expires at expire_at_ms already; saves work */
    const rr_side *sides;
    size_t side_count;
    const rr_pair *parts; /* fields to write into the hash of value's birth; only with a value */
    size_t part_count;
    bool
        partless; /* the caller promises that the unit has no stored parts, whose expiry would change too; saves work */
    /* The list of open conflicts at `open_key` gets or loses the unit's key. A key whose value has expired may be taken
     * off it by any swap that lists another. */
    rr_open open;
    rr_slice open_key;
    int64_t open_score_ms;
    /* Decisions and alerts, appended to the stream `log_key` if the swap wins, each one JSON object. */
    rr_slice log_key;
    const rr_slice *entries;
    size_t entry_count;
    /* out */
    rr_swap_answer answer;
    rr_slice current;
    rr_error error;
} rr_swap;

/* All zero, as the start of a load, a read of parts or a swap, but for the error's long text. */
#define RR_STORE_ITEM_INIT(item) \
    do { \
        memset((item), 0, offsetof(__typeof__(*(item)), error)); \
        (item)->error.status = RR_OK; \
        (item)->error.text[0] = '\0'; \
    } while (0)

/* Why a swap is invalid whatever the store holds, or NULL. An invalid swap is FAILED with status INTERNAL. */
static inline const char *rr_swap_flaw(const rr_swap *swap)
{
    if (swap->token.len != 0 && swap->token.len != RR_TOKEN_LEN) {
        return "the expected token has another length than a token";
    }
    if (swap->value.len != 0 && swap->value.len < RR_TOKEN_TAIL) {
        return "the new value is too short to hold a token";
    }
    if (swap->part_count != 0 && swap->value.len == 0) {
        return "parts are written only with a value, whose token guards them";
    }
    if (swap->open != RR_OPEN_UNCHANGED && swap->open_key.len == 0) {
        return "the list of open conflicts has no key";
    }
    if (swap->entry_count != 0 && swap->log_key.len == 0) {
        return "the log has no key";
    }
    if (swap->key.len == 0 && (swap->value.len != 0 || swap->side_count != 0 || swap->open != RR_OPEN_UNCHANGED)) {
        return "a swap without a key can only append to a log";
    }
    return NULL;
}

/* One entry of a log, as a consumer of the outbox reads it. */
typedef struct rr_log_entry {
    rr_slice id;    /* given by the store, for log_done */
    rr_slice bytes; /* the JSON object */
} rr_log_entry;

/* Identifies the server process behind the store, so that a change of server is noticed. */
typedef struct rr_store_identity {
    char incarnation[128]; /* run id and replication id; equal only for the same server process */
} rr_store_identity;

typedef struct rr_store_options {
    int timeout_ms;                /* of one op; 0: the store's default, 2000 */
    const char *password;          /* NULL: the one in the URL, or none */
    size_t log_max;                /* entries kept in a log; 0: 100000 */
    size_t wait_replicas;          /* replicas that must have what a swap wrote before it counts; 0: none */
    const char *prefix;            /* of the program's keys, for keys that the store itself writes; NULL: "rr" */
    const rr_plugin_value *values; /* of `options:`, as the plugin's table says; NULL: it has none */
    size_t value_count;
} rr_store_options;

/* The settings of the store's server (rr/survey.h says how a hidden one looks). */
typedef struct rr_store_survey {
    char server[64];      /* for people: "Redis 7.0.15", "the memory of this process" */
    rr_known too_old;     /* older than what the store needs */
    rr_known cluster;     /* cells of one call may be on several nodes */
    rr_known replica;     /* follows another server: takes no writes */
    rr_known log;         /* each write goes to a log on disk (AOF) ... */
    char log_sync[16];    /* ... which reaches the disk: always, everysec, no */
    rr_known snapshots;   /* the whole is written to disk now and then (RDB) */
    int64_t replicas;     /* servers that follow this one, connected now */
    int64_t max_memory;   /* bytes; 0: no bound */
    int64_t used_memory;  /* bytes */
    char eviction[32];    /* what it does at the bound: noeviction, allkeys-lru, ... */
    rr_known lazy_expire; /* large values expire without stopping the server */
    rr_known functions;   /* the program's functions are loaded, and one of them ran */
    char functions_error[256];
    char user[64];          /* the user of this connection */
    char denied[256];       /* commands that the program needs and this user may not call on its keys: "HSET, XADD" */
    char writes_error[256]; /* why it takes no writes at the moment: full, disk trouble, too few replicas */
} rr_store_survey;

typedef struct rr_store_ops {
    const char *scheme;              /* of its URLs: "redis", "memory" */
    const rr_plugin_option *options; /* the table of `options:`; NULL: it takes none */

    /* Connects at once. url is as in the configuration. Refuses a server that cannot keep the promises (too old, a
     * cluster); the error says why. *store is NULL on failure. */
    rr_status (*open)(const char *url, const rr_store_options *options, rr_store **store, rr_error *error);
    void (*close)(rr_store *store);

    /* All operations below return:
     *
     * OK                 the server answered; each item has its own answer.
     * UNAVAILABLE        it did not answer. Items are unset; swaps without an answer are UNKNOWN, also those that were
     *                    never sent; a swap that was answered before the connection broke keeps its answer. The
     *                    connection is dropped, and the next operation connects again. A connection is never
     *                    replaced without one of the two before it, so that the caller can check whether it is
     *                    still the same server.
     * REFUSED_BY_SERVER  it answered, and refused (out of memory, a replica, no permission, it loads its data). Swaps
     *                    without an answer are UNKNOWN; trying again may help. The connection may have been dropped.
     *
     * The same unit may stand more than once in a call: swaps that create it come first, the others follow in order. */
    rr_status (*load)(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error);
    rr_status (*read_parts)(rr_store *store, rr_parts_read *reads, size_t count, rr_arena *arena, rr_error *error);
    rr_status (*swap)(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error);

    /* Load and swap in pieces, so that the store works on some units while the caller decides on others. A store has
     * all four, or NULL for all four if it gains nothing by them.
     *
     * load_ahead  sends the loads (count may be 0) and starts a new round: what the caller left unfinished before is
     *             dropped. Keys, loads and arena must live until the last answer.
     * load_next   waits for more answers, which come in order; *ready: how many loads have been answered so far.
     * swap_ahead  sends these swaps, in addition to those of earlier calls of the round; a unit only once in a round.
     *             They must live until swap_end.
     * swap_end    waits for the answers to all swaps, and to loads that have none yet. After it nothing is in flight.
     *
     * If one of them fails, the round and the connection are over; items without an answer are as after UNAVAILABLE.
     * No other operation may be called between load_ahead and the last answer, or between swap_ahead and swap_end. */
    rr_status (*load_ahead)(rr_store *store, rr_load *loads, size_t count, rr_arena *arena, rr_error *error);
    rr_status (*load_next)(rr_store *store, size_t *ready, rr_error *error);
    rr_status (*swap_ahead)(rr_store *store, rr_swap *swaps, size_t count, rr_arena *arena, rr_error *error);
    rr_status (*swap_end)(rr_store *store, rr_error *error);

    /* Waits until everything that the store held at the time of the call, whoever wrote it, is on `wait_replicas` of
     * its replicas. OK at once if wait_replicas is 0. UNAVAILABLE: too few replicas confirmed in time. A call of
     * `swap` ends with the same wait: if that fails it returns UNAVAILABLE although its swaps are answered. Other
     * operations do not wait, so what they read may be missing on replicas. */
    rr_status (*confirm)(rr_store *store, rr_error *error);

    /* Entries of a log (the outbox) that no consumer has finished: at most `most`, oldest first. Each goes to one
     * consumer at a time, and to another one after `idle_ms` without log_done. Blocks no longer than the time-out. */
    rr_status (*log_read)(rr_store *store, rr_slice log_key, const char *consumer, int idle_ms, size_t most,
                          rr_arena *arena, rr_log_entry **entries, size_t *count, rr_error *error);
    rr_status (*log_done)(rr_store *store, rr_slice log_key, const rr_slice *ids, size_t count, rr_error *error);

    /* Small values of the program itself (checkpoint, status, fingerprint). note_get: value empty if absent.
     * note_set: writes if the value is still `expected` (empty: absent) and, where `incarnation` is not NULL, the
     * server is still that one, compared inside the call; *done says whether. ttl_ms 0: for ever. An empty value
     * removes the note. */
    rr_status (*note_get)(rr_store *store, rr_slice key, rr_arena *arena, rr_slice *value, rr_error *error);
    rr_status (*note_set)(rr_store *store, rr_slice key, rr_slice expected, rr_slice value, int64_t ttl_ms,
                          const rr_store_identity *incarnation, bool *done, rr_error *error);
    /* Writes a note without a condition, for one that expires by itself (the pause of a rebuild). */
    rr_status (*note_put)(rr_store *store, rr_slice key, rr_slice value, int64_t ttl_ms, rr_error *error);

    rr_status (*identity)(rr_store *store, rr_store_identity *identity, rr_error *error);

    /* All unit keys that begin with `prefix`, in no order, some perhaps twice, for tools: calls `each` in pages.
     * A false from `each` ends the walk. Other values under the prefix (sides, notes) come too. */
    rr_status (*scan)(rr_store *store, rr_slice prefix, bool (*each)(void *context, rr_slice key), void *context,
                      rr_error *error);

    /* Removes keys of every kind (values, parts, notes, logs) that begin with `prefix` and of which `gone` says so, in
     * pages; *removed grows by them. What is written there meanwhile may stay. For tools. NULL: this store cannot. */
    rr_status (*sweep)(rr_store *store, rr_slice prefix, bool (*gone)(void *context, rr_slice key), void *context,
                       uint64_t *removed, rr_error *error);

    /* Reads the settings of the server behind a URL by a connection of its own, even if `open` would refuse it. Changes
     * nothing, except that the program's functions are loaded. `prefix`: of the program's keys. UNAVAILABLE: it cannot
     * be reached; CONFIG: it rejects the credentials. NULL: this store has no survey. */
    rr_status (*survey)(const char *url, const rr_store_options *options, rr_slice prefix, rr_store_survey *survey,
                        rr_error *error);
} rr_store_ops;

#endif
