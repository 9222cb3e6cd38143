/* Joins one record to the register of a cumulative cell or of a contributor (semantics, sections 5 and 6). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REGISTER_H
#define RR_REGISTER_H

#include "facts.h"

/* The effect of one record by the rules of its mode. rr_join may change the verdict by what readers see (law 7). */
typedef struct rr_effect {
    rr_verdict verdict;
    rr_alert_set alerts;
    bool grew;          /* facts changed */
    bool is_new;        /* a live record or withdrawal that is new, and not withdrawn already */
    bool contradiction; /* the record contradicts what is held */
    rr_version version; /* the version that a correction would have to cover */
} rr_effect;

/* The newest version known, asserted or withdrawn. */
rr_version rr_register_known(const rr_register *reg);

/* True if the newest assertion counts. */
bool rr_register_stands(const rr_register *reg);

/* True if two contents are known under the newest version. */
bool rr_register_equivocates(const rr_register *reg);

/* True if the newest assertion stands against withdrawals that name other values. */
bool rr_register_mismatches(const rr_register *reg);

/* Takes an assertion into the register of a cumulative cell. */
rr_effect rr_register_take_cumulative(rr_register *reg, const rr_contract *contract, const rr_record *record);

/* Takes an assertion or a withdrawal into the register of a contributor. */
rr_effect rr_register_take_retraction(rr_register *reg, const rr_record *record, rr_arena *scratch);

#endif
