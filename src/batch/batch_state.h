/* The state of a batch and of its units, and how a unit ends. Private to src/batch; the stages share it.
 *
 *   batch.c       a batch from new to free, and its steps
 *   grouping.c    which records belong to which unit
 *   prediction.c  which units are taken for absent without a load
 *   unit.c        open and join one unit
 *   parts.c       read the parts that the records of units name
 *   swap.c        what the swap of one unit carries
 *   round_trip.c  load, decide and swap all units that are ready
 *   refusals.c    store the alerts of refused records
 *
 * A unit goes LOAD -> OPEN -> PARTS -> JOIN -> SWAP -> DONE. PARTS is left out where no parts stand beside the value.
 * It goes back to OPEN when its swap lost, and to LOAD when its swap was not answered.
 *
 * Functions that return a status return MEMORY when memory ran out, and what the store returned otherwise.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_BATCH_STATE_H
#define RR_BATCH_STATE_H

#include <rr/store.h>

#include "batch_options.h"
#include "cache.h"
#include "item.h"
#include "stored.h"

/* In the order of a step: those before SWAP have work to do. */
typedef enum rr_batch_state {
    RR_BATCH_LOAD,  /* its value is to be loaded */
    RR_BATCH_OPEN,  /* its value is at hand, and is to be read */
    RR_BATCH_PARTS, /* its parts are to be read */
    RR_BATCH_JOIN,  /* its records can be joined */
    RR_BATCH_SWAP,  /* its records are joined, and its swap is to be prepared or answered */
    RR_BATCH_DONE,  /* its items are settled */
    RR_BATCH_STUCK  /* given up: its items are stuck */
} rr_batch_state;

typedef struct rr_batch_unit {
    const rr_contract *contract;
    rr_slice key;
    uint64_t hash;
    size_t first_item, last_item, item_count; /* linked by rr_item.next; SIZE_MAX ends the list */
    rr_batch_state state;
    rr_slice value; /* as the store or the cache gave it */
    bool looked_up; /* the value was loaded, predicted or left by a lost swap: it is not the cache's */
    bool predicted; /* taken for absent without a load: its swap will tell */
    rr_unit facts;
    bool all_parts;           /* the join needs all of them */
    bool had_parts;           /* parts stand beside the value as loaded */
    bool forgets;             /* windows are dropped whose parts stand beside the value: all parts are written anew */
    bool grew;                /* the records changed the facts */
    char token[RR_TOKEN_LEN]; /* of the last swap that was prepared */
    bool attempted;           /* that swap was sent */
    bool unanswered;          /* ... and its answer never came */
    unsigned lost_swaps;      /* swaps that it lost in a row */
    size_t suppressed;        /* decisions that are counted, but not logged */
} rr_batch_unit;

typedef struct rr_batch {
    const rr_store_ops *ops;
    rr_store *store;
    rr_batch_options options;
    rr_batch_counts counts;
    rr_tokens tokens;
    rr_arena keys;    /* until the next begin */
    rr_arena arena;   /* until the next begin, or until a step after one that failed */
    rr_arena scratch; /* for one round of loading and swapping */
    rr_item *items;
    size_t item_count;
    rr_batch_unit *units;
    size_t unit_count, unit_room;
    int32_t *slots; /* hash table: indexes of units, -1 where free */
    size_t slot_room;
    rr_buf text;                     /* where keys, values and log entries are put together */
    rr_cache *cache;                 /* NULL: none */
    bool predicts_absent;            /* nearly all cells are new: their loads are left out */
    size_t sampled, sampled_present; /* units looked up since that was decided, and how many were in the store */
    size_t logged;                   /* log entries of this batch that are stored */
    size_t logging;                  /* log entries that this round tries to store */
    bool confirmed;                  /* replicas have all that this batch read and wrote */
    bool step_failed;                /* the last step failed */
    int64_t now_us;                  /* of the step */
} rr_batch;

rr_status rr_batch_no_memory(rr_error *error);

/* Puts the value into the cache; an empty one removes what is there. */
void rr_batch_cache_value(rr_batch *batch, const rr_batch_unit *unit, rr_slice value);

/* Ends a unit whose effect is stored. stored: what the store holds now. */
void rr_batch_settle_unit(rr_batch *batch, rr_batch_unit *unit, rr_slice stored);

/* Ends a unit that cannot be stored, and reports the error. */
void rr_batch_give_up_unit(rr_batch *batch, rr_batch_unit *unit, const rr_error *error);

#endif
