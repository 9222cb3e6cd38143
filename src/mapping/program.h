/* A compiled mapping from inside: the trie that the bytes run through, and the steps behind it. For src/mapping alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MAPPING_PROGRAM_H
#define RR_MAPPING_PROGRAM_H

#include "mapping.h"
#include "proto_schema.h"

/* ---- What was captured ---- */

typedef enum rr_slot_kind {
    RR_SLOT_EMPTY, /* nothing came, or a oneof was set otherwise since */
    RR_SLOT_NULL,  /* JSON: came, and is absent */
    RR_SLOT_THERE, /* a message */
    RR_SLOT_INT,
    RR_SLOT_UINT,
    RR_SLOT_REAL,
    RR_SLOT_BOOL,
    RR_SLOT_TEXT,
    RR_SLOT_NUMBER, /* JSON: digits as they came */
    RR_SLOT_TIME,   /* of a Timestamp or Duration; never in a slot, made by rr_run_fetch */
    RR_SLOT_LIST    /* items or pairs */
} rr_slot_kind;

typedef struct rr_slot {
    rr_slot_kind kind;
    union {
        int64_t i; /* INT and BOOL */
        uint64_t u;
        double real;
        rr_slice text;
        struct {
            int64_t seconds;
            int64_t nanos;
        } time;
        struct rr_items *items; /* stay while the slot is empty, to be filled again */
        struct rr_pairs *pairs;
    };
} rr_slot;

/* What `each` names: the slots of each item. */
typedef struct rr_items {
    size_t count, made; /* made: items that have memory */
    rr_slot *items[RR_MAPPING_RECORDS_MAX];
} rr_items;

/* A whole map, by key. */
typedef struct rr_pair {
    rr_slice key;
    rr_slot value;
} rr_pair;

typedef struct rr_pairs {
    size_t count;
    bool too_many;
    rr_pair items[RR_LIMIT_MEASURES];
} rr_pairs;

/* ---- The trie ---- */

typedef enum rr_act {
    RR_ACT_CLEAR,   /* a member of a oneof that nobody asks for: the others are cleared */
    RR_ACT_CAPTURE, /* a scalar, into the slot */
    RR_ACT_DESCEND, /* a message: there, and on with its node */
    RR_ACT_MAP,     /* entries whose key is an edge of the node, and/or all of them into the slot */
    RR_ACT_ITEMS    /* each item has slots of its own, and the mapping's node of items */
} rr_act;

enum { RR_SLOT_NONE = 0xffff, RR_NODE_SMALL = 32 };

typedef struct rr_node rr_node;
typedef struct rr_edge rr_edge;

struct rr_edge {
    rr_act act;
    rr_schema_type type; /* CAPTURE: of the value; MAP: of all values, where they go into the slot. JSON: none */
    rr_schema_type key;  /* MAP: of the keys */
    uint32_t number;     /* protobuf */
    rr_proto_wire wire;  /* that it must come with */
    rr_slice name;       /* JSON; of a MAP's node: the key, if it is text */
    uint64_t bits;       /* of a MAP's node: the key, if it is a number */
    uint16_t slot;       /* or RR_SLOT_NONE */
    bool is_guarded;     /* it has a sibling, or a closed enum */
    rr_edge *sibling;    /* the next of its oneof, in a circle; NULL: it clears nothing */
    const rr_schema_enum *closed; /* CAPTURE, MAP: a number that it does not name is an unknown field (proto2) */
    rr_node *to;
    rr_edge *next;
};

struct rr_node {
    rr_edge *first;
    rr_edge *small[RR_NODE_SMALL]; /* by field number */
};

/* ---- Where a value comes from ---- */

typedef enum rr_value_type {
    RR_TYPE_ANY, /* JSON: the value says */
    RR_TYPE_INT,
    RR_TYPE_UINT,
    RR_TYPE_REAL,
    RR_TYPE_BOOL,
    RR_TYPE_ENUM,
    RR_TYPE_TEXT,
    RR_TYPE_TIMESTAMP, /* google.protobuf.Timestamp and Duration: two slots */
    RR_TYPE_DURATION
} rr_value_type;

typedef struct rr_ref {
    rr_from from;
    bool whole;    /* the slots are the message's, not an item's */
    bool implicit; /* zero where it is not on the wire, if its message is there */
    rr_value_type type;
    uint16_t slot, nanos;
    uint16_t parent; /* of the message that holds it; RR_SLOT_NONE: it is always there */
    const rr_schema_enum *words;
    rr_slice name; /* of a header */
    uint64_t token;
    rr_slice text;     /* as written, for sentences */
    rr_slice resolved; /* numbers and types, for the fingerprint */
} rr_ref;

/* ---- What is done with it ---- */

typedef union rr_final {
    rr_slice text;  /* KEY, TEXT, NUMBER */
    uint64_t count; /* COUNT */
    int64_t us;     /* TIME, DURATION */
    int row;        /* WORD */
} rr_final;

typedef struct rr_literal {
    bool skip;
    rr_final value;
    rr_slice text; /* as written */
} rr_literal;

typedef struct rr_choice {
    rr_slice text; /* as the value prints */
    uint64_t bits; /* INT, UINT and ENUM: as a number */
    rr_literal to;
} rr_choice;

/* What most parts are: one slot, as it is. Where the slot holds something else, the long way is taken. */
typedef enum rr_quick {
    RR_QUICK_NOT,
    RR_QUICK_TEXT,
    RR_QUICK_COUNT,
    RR_QUICK_TIME,      /* times factor_us */
    RR_QUICK_TIMESTAMP, /* of google.protobuf */
    RR_QUICK_NUMBER,    /* an integer */
    RR_QUICK_CHOICE     /* an integer or enum of `values`, as a word */
} rr_quick;

typedef struct rr_part {
    rr_ref ref;
    int64_t factor_us;
    const rr_mapping_part *said;
    const rr_choice *choices; /* sorted by text, of enums by number */
    size_t choice_count;
    bool has_other, has_preset, has_const;
    rr_literal other, preset; /* a const is its preset */
} rr_part;

typedef struct rr_step {
    rr_quick quick;
    uint16_t slot;       /* of quick ones: that of the part's ref */
    bool whole;          /* and whose it is */
    bool empty_is_value; /* and whether an empty slot may stand for a value: zero, or the preset */
    bool is_list;
    rr_target target;
    const rr_part *parts;
    size_t part_count;
    rr_slice name; /* of a MEASURE */
} rr_step;

typedef struct rr_test {
    rr_ref ref;
    const rr_choice *choices;
    size_t choice_count;
} rr_test;

/* One way in which a message gives records. */
typedef struct rr_emit {
    bool items;        /* one for each item of the mapping's list */
    uint16_t there;    /* slot of the message that it is of; RR_SLOT_NONE: the whole one */
    rr_slice at;       /* its path as written */
    rr_slice resolved; /* and in numbers, for the fingerprint */
    const rr_test *when;
    size_t when_count;
    bool has_op;
    rr_op op;
    rr_withdraws withdraws;
    const rr_step *steps;
    size_t step_count;
    bool has_map; /* of measures */
    rr_ref map;
} rr_emit;

struct rr_mapping {
    const rr_mapping_spec *spec;
    rr_node *whole, *item;
    size_t whole_slots, item_slots;
    uint16_t items_slot; /* or RR_SLOT_NONE */
    const rr_test *skips;
    size_t skip_count;
    rr_emit emits[RR_MAPPING_HALVES_MAX];
    size_t emit_count;
    bool retracts_mapped; /* retracts_version has an entry of its own */
    const rr_slice *headers;
    size_t header_count;
    rr_slice message; /* protobuf: its full name */
    rr_slice each;    /* resolved, for the fingerprint */
};

/* ---- A message under way ---- */

typedef struct rr_run {
    const rr_mapping *mapping;
    const rr_mapping_input *input;
    rr_slice body; /* the message without its frame */
    rr_arena *arena, *scratch;
    rr_slot *whole;
    rr_mapping_outcome outcome; /* RECORDS while nothing stands against it */
    rr_text *why;
} rr_run;

/* Fill the slots; false: outcome and why say what stands against the message. */
bool rr_run_proto(rr_run *run);
bool rr_run_json(rr_run *run);

/* Why an empty message, or a JSON null, is skipped. */
#define RR_SKIP_EMPTY "`skip` names empty messages"

/* Ends the message with this outcome; `why` is put behind what run->why holds. Always false. */
bool rr_run_stop(rr_run *run, rr_mapping_outcome outcome, const char *why);

/* Memory of the scratch, cleared. NULL: stopped. */
void *rr_run_take(rr_run *run, size_t bytes);

/* The next item's slots, all empty; NULL: stopped. */
rr_slot *rr_run_item(rr_run *run, rr_slot *list);

/* The list of pairs of a slot, made where there is none; NULL: stopped. */
rr_pairs *rr_run_pairs(rr_run *run, rr_slot *slot);

/* A value as it came; EMPTY: absent. What stands in no slot is put into *made. */
const rr_slot *rr_run_fetch(const rr_run *run, const rr_ref *ref, const rr_slot *item, rr_slot *made);

/* True if a message of this slot is there; RR_SLOT_NONE is the whole one. */
bool rr_run_there(const rr_slot *slots, uint16_t slot);

/* The choice that names the value, or NULL. */
const rr_choice *rr_choice_find(const rr_ref *ref, const rr_choice *choices, size_t count, const rr_slot *seen);

typedef enum rr_finished {
    RR_FINISHED,
    RR_FINISHED_SKIP,
    RR_FINISHED_MALFORMED, /* why is filled */
    RR_FINISHED_TOO_LARGE, /* why is filled */
    RR_FINISHED_NO_MEMORY
} rr_finished;

/* One record from the slots, into one that is all zero, and that stays so unless it is FINISHED; item NULL: of the whole
 * message. */
rr_finished rr_run_finish(const rr_run *run, const rr_emit *emit, const rr_slot *item, rr_record *record, rr_text *why);

/* One record's values under way. */
typedef struct rr_finishing {
    const rr_run *run;
    rr_text *why;
    const rr_step *step;
    rr_finished stopped; /* FINISHED while nothing stands against the record */
} rr_finishing;

/* The value of a part. False: stopped. *there false: absent. A NUMBER goes to *measure, all others to *value. */
bool rr_finish_part(rr_finishing *f, const rr_part *part, const rr_slot *seen, bool *there, rr_final *value,
                    rr_measure *measure);

/* A value of a type that needs no words, as a measure. */
bool rr_finish_number(rr_finishing *f, const rr_ref *ref, int64_t scale, const rr_slot *seen, rr_measure *measure);

/* "window.end, from 'win.max_ts' " and what is said; stops; false. */
bool rr_finish_malformed(rr_finishing *f, const rr_ref *ref, const char *what);

/* The same, with the value that was seen: "... is 'x'; it has to be WANTED". */
bool rr_finish_expect(rr_finishing *f, const rr_ref *ref, const rr_slot *seen, const char *wanted);

/* False, and stopped: no UTF-8, or a NUL. */
bool rr_finish_text(rr_finishing *f, const rr_ref *ref, rr_slice text);

/* A literal read as a target's value. NULL, or what it has to be. */
const char *rr_literal_read(rr_target target, rr_slice text, rr_literal *literal);

/* A number with its point moved to the right, as canonical plain text (RR_DECIMAL_TEXT_MAX). 0: too many digits, or no
 * number. */
size_t rr_number_shift(rr_slice number, int64_t places, char *text);

#endif
