/* rr_unit: the facts of what changes together, as the decision core holds them.
 *
 * A unit is one cell, or, under a session contract, all windows of one business
 * key and metric version. A fact is never taken back; what readers see is a
 * function of the facts (view.h). Beside the facts a cell keeps their fold (a
 * sum, or the newest assertion that stands), so that joining a record needs only
 * the parts that the record names.
 *
 * All memory is the batch's arena. Slices may point into a record, a loaded
 * value or the arena; nothing here owns memory.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_FACTS_H
#define RR_FACTS_H

#include "contract.h"
#include "must.h"
#include "value.h"

/* One content under one version; version not set: none. */
typedef struct rr_assertion {
    rr_version version;
    rr_result_status status;
    rr_slice values;
} rr_assertion;

/* Beyond the limit there is always room for withdrawals that name no values or the held ones: one for each status. */
enum { RR_REGISTER_NAMED_MAX = RR_LIMIT_NAMED_VALUES + 2 * RR_RESULT_COUNT };

/* The newest assertion of a cell or a contributor (semantics, section 5), with the withdrawals of section 6. */
typedef struct rr_register {
    rr_assertion newest;
    rr_version contradicted; /* the newest version under which two contents came; not set: none */
    rr_version untargeted;   /* the newest untargeted withdrawal */
    rr_version targeted;     /* the newest version named by targeted withdrawals */
    uint8_t named_count;     /* different contents of these withdrawals: ... */
    rr_slice named;          /* ... each a status and the values that it names, or none, behind a length as a varint */
} rr_register;

/* What the records of one delta identity said that were addressed to one window (semantics, section 7). */
typedef struct rr_claim {
    rr_window window;
    bool held;         /* a contribution: the content below */
    bool withdrawn;    /* a RETRACT addressed to this window names the identity */
    bool contradicted; /* another content came for the contribution held here */
    rr_version version;
    rr_result_status status;
    rr_slice values;
} rr_claim;

/* What of a unit can grow without a bound: a delta identity (of all its windows), or a contributor (of one window). */
typedef struct rr_part {
    rr_slice id;
    bool dirty;       /* grew since it was loaded */
    rr_register reg;  /* retraction */
    rr_claim *claims; /* delta; sorted by window */
    size_t claim_count, claim_room;
} rr_part;

/* What the facts of a cell fold into. */
typedef struct rr_fold {
    /* delta: of the identities that count in this window and those inside it, beyond the correction's base */
    rr_slice sum;
    uint64_t counting, closed, contradicted;
    uint64_t own; /* identities addressed to this very window that count */
    /* retraction */
    rr_assertion top;                          /* the newest assertion standing over all contributors ... */
    rr_slice top_contributor;                  /* ... and whose it is */
    uint64_t equivocations, mismatches;        /* contributors with an open one ... */
    rr_version equivocation_max, mismatch_max; /* ... and the highest version that is concerned */
} rr_fold;

typedef enum rr_lane { RR_LANE_NONE, RR_LANE_LIVE, RR_LANE_CORRECTION } rr_lane;

/* What readers see of one cell; conflicts beside it. */
typedef struct rr_view {
    rr_state state;
    rr_slice values;    /* present */
    rr_version version; /* not set: null */
    rr_origin origin;
    rr_result_status status;
    rr_window merged_into; /* merged */
    rr_conflict_set conflicts;
} rr_view;

typedef struct rr_cell {
    rr_window window;
    bool dirty;          /* facts or view changed since the unit was loaded */
    rr_register reg;     /* cumulative */
    rr_fold fold;        /* delta, retraction */
    rr_version live_max; /* the greatest version of any live fact, withdrawals included */
    /* corrections; semantics, section 8 */
    rr_assertion correction; /* version not set: none */
    bool has_base, correction_contradicted;
    rr_version base;
    rr_version known_base, known_version; /* the newest correction that live is known to include */
    rr_lane incumbent;                    /* while the lanes diverge: the one in effect when they parted */
    rr_slice contender;                   /* the latest contradicting content of an open conflict, for people */
    rr_view view;                         /* kept by the join */
    bool view_valid;
} rr_cell;

typedef struct rr_unit {
    const rr_contract *contract;
    rr_cell *cells; /* sorted by window; one at most but for sessions */
    size_t cell_count, cell_room;
    rr_part *parts; /* those that were loaded, in no order */
    size_t part_count, part_room;
    uint64_t part_total; /* of all, loaded or not */
    bool spilled;        /* the parts are beside the value */
    bool complete;       /* all parts are loaded */
    rr_slice stream;     /* where the record behind the newest change came from; empty: unknown */
    uint64_t stream_sequence;
    bool listed;        /* the store's list of open conflicts had it when the unit was written last */
    int64_t expires_ms; /* when the store removes its value, according to the last write; 0: never */
} rr_unit;

/* An empty unit: no facts yet. */
void rr_unit_init(rr_unit *unit, const rr_contract *contract);

/* The cell of a window, or NULL. */
rr_cell *rr_unit_cell(rr_unit *unit, rr_window window);

/* The part at hand with this id, or NULL. */
rr_part *rr_unit_part(const rr_unit *unit, rr_slice id);

/* Takes bytes that the caller has reserved in the arena (asserted). */
static inline void *rr_take_reserved(rr_arena *arena, size_t bytes)
{
    void *taken = rr_arena_take(arena, bytes);

    RR_MUST(taken != NULL);
    return taken;
}

/* Grow the arrays by one. Memory comes from the arena, which must have it (asserted).
 *
 * rr_unit_insert_cell    a cell without facts, in its place by window; no cell has this window yet
 * rr_unit_remove_cell    the cell of a window, which is there
 * rr_unit_add_part       a part without facts; no part has this id yet
 * rr_part_reserve_claim  room for one more claim
 */
rr_cell *rr_unit_insert_cell(rr_unit *unit, rr_window window, rr_arena *arena);
void rr_unit_remove_cell(rr_unit *unit, rr_window window);
rr_part *rr_unit_add_part(rr_unit *unit, rr_slice id, rr_arena *arena);
void rr_part_reserve_claim(rr_part *part, rr_arena *arena);

/* The id of the part that a record names, empty where it names none (cumulative, corrections): a delta's
 * identity; a contributor, with its window in front under a session contract. In the arena or the record. */
rr_slice rr_part_id(const rr_contract *contract, const rr_record *record, rr_arena *arena);

/* Facts as bytes, for a store. Reading checks everything: a store's bytes are input.
 *
 * rr_unit_read   the unit's cells, and its parts unless they are beside the value. False: not such bytes, or memory
 *                ran out.
 * rr_part_read   one part kept beside the value, into the unit; absent parts have no bytes and are not read.
 */
bool rr_unit_read(rr_unit *unit, const rr_contract *contract, rr_slice bytes, rr_arena *arena);
bool rr_part_read(rr_unit *unit, rr_slice id, rr_slice bytes, rr_arena *arena);

/* Writes what rr_unit_read reads, at most rr_unit_write_need bytes, and returns how many. If the loaded parts take
 * more than RR_LIMIT_INLINE_BYTES it sets unit->spilled and marks them dirty: then the caller writes them beside the
 * value with rr_part_write. */
size_t rr_unit_write_need(const rr_unit *unit);
size_t rr_unit_write(rr_unit *unit, char *to);
size_t rr_part_write_need(const rr_unit *unit, const rr_part *part);
size_t rr_part_write(const rr_unit *unit, const rr_part *part, char *to);

#endif
