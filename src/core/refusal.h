/* rr_admission: one admission under way, and the sentence that explains a refusal.
 *
 * Shared by the sources of rr_admit. A sentence reads "what was seen; what the contract says; the likely cause".
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_REFUSAL_H
#define RR_REFUSAL_H

#include "contract.h"

typedef struct rr_admission {
    const rr_contract *contract;
    rr_record *record; /* completed by the checks */
    rr_arena *scratch; /* has rr_admit_need bytes left */
    rr_text *why;      /* NULL: nobody asks for the sentence */
} rr_admission;

/* Each appends to the sentence. */
static inline void rr_explain(const rr_admission *a, const char *text)
{
    rr_text_put(a->why, text);
}

static inline void rr_explain_window(const rr_admission *a, rr_window window)
{
    rr_text_put(a->why, "the window ");
    rr_text_time(a->why, window.start);
    rr_text_put(a->why, " to ");
    rr_text_time(a->why, window.end);
}

static inline void rr_explain_named(const rr_admission *a, const char *before, rr_slice name, const char *after)
{
    rr_text_put(a->why, before);
    rr_text_slice(a->why, name);
    rr_text_put(a->why, after);
}

/* Appends the last part of the sentence and returns the reason. */
static inline rr_reason rr_refuse(const rr_admission *a, rr_reason reason, const char *text)
{
    rr_explain(a, text);
    return reason;
}

/* Semantics, section 4, point 2: the record's window against the contract's kind of window. Sets the window of a global
 * contract. */
rr_reason rr_check_window(const rr_admission *a);

/* Semantics, section 4, point 5: the record's measures against the contract's. Sets record->values and
 * record->has_values. */
rr_reason rr_check_measures(const rr_admission *a);

#endif
