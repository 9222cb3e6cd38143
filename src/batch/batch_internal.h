/* What the files of a batch share. Private to src/batch.
 *
 *   batch.c       a batch from begin to the end of its steps
 *   grouping.c    which records belong to which unit
 *   prediction.c  which units are taken for absent without a load
 *   unit.c        open, join, settle or give up one unit
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
#ifndef RR_BATCH_INTERNAL_H
#define RR_BATCH_INTERNAL_H

#include "batch.h"
#include "cache.h"

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
    bool grew;                /* the facts did */
    char token[RR_TOKEN_LEN]; /* of the last swap that was prepared */
    bool attempted;           /* that swap was sent */
    bool unanswered;          /* ... and never answered */
    unsigned lost_swaps;      /* in a row */
    size_t suppressed;        /* decisions that are counted, but not logged */
} rr_batch_unit;

struct rr_batch {
    const rr_store_ops *ops;
    rr_store *store;
    rr_batch_options options;
    rr_batch_counts counts;
    rr_tokens tokens;
    rr_arena keys;    /* lives from begin to begin */
    rr_arena arena;   /* likewise, but for a reset after a step that failed */
    rr_arena scratch; /* one round of loading and swapping */
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
    bool step_failed;                /* the step before this one */
    int64_t now_us;                  /* of the step */
};

rr_status rr_batch_no_memory(rr_error *error);

/* ---- unit.c ---- */

/* Puts the value into the cache; an empty one removes what is there. */
void rr_batch_cache_value(rr_batch *batch, const rr_batch_unit *unit, rr_slice value);

/* Ends a unit whose effect is stored. stored: what the store holds now. */
void rr_batch_settle_unit(rr_batch *batch, rr_batch_unit *unit, rr_slice stored);

/* Ends a unit that cannot be stored, and reports the error. */
void rr_batch_give_up_unit(rr_batch *batch, rr_batch_unit *unit, const rr_error *error);

/* OPEN: reads the facts out of the value. Then the unit is in PARTS or JOIN, or has ended. */
rr_status rr_batch_open_unit(rr_batch *batch, rr_batch_unit *unit, rr_error *error);

/* JOIN: joins the unit's records in their order. Then the unit is in SWAP, or in PARTS where the join needs more. */
rr_status rr_batch_join_unit(rr_batch *batch, rr_batch_unit *unit, rr_error *error);

/* ---- prediction.c ---- */

/* Learns whether a unit that was looked up is in the store. */
void rr_batch_note_presence(rr_batch *batch, bool present);

/* Moves units from LOAD to OPEN with an empty value, where nearly all units are absent. */
void rr_batch_predict_absent(rr_batch *batch);

/* ---- the rounds of a step ---- */

/* PARTS: reads the parts of all units that need some. Then each is in JOIN, in LOAD where its value has changed, or has
 * ended. */
rr_status rr_batch_read_parts(rr_batch *batch, rr_error *error);

/* LOAD, OPEN, JOIN: loads, joins and swaps all units that have their parts. */
rr_status rr_batch_round_trip(rr_batch *batch, rr_error *error);

/* Settles the refused items: stores their alerts, within RR_LIMIT_BATCH_ALERTS. */
rr_status rr_batch_store_refusals(rr_batch *batch, rr_error *error);

/* ---- swap.c ---- */

/* Fills the swap of a unit in SWAP, in the scratch arena. *needed: there is something to store. False: memory ran out. */
bool rr_batch_prepare_swap(rr_batch *batch, rr_batch_unit *unit, rr_swap *swap, bool *needed);

#endif
