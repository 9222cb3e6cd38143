/* rr_contract_note: the contract that the stored cells were made under, as it is kept in the store.
 *
 *   the contract in canonical text
 *   # {"eras":[{"until_us":…,"retention_us":…,"kept_us":…}]}
 *
 * The last line, a comment to YAML, is there only where a retention was changed
 * and windows may still have cells of before (contract.h). It is read as it is
 * written and in no other way: what it forbids must not be lost by a slip.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CONTRACT_NOTE_H
#define RR_CONTRACT_NOTE_H

#include <rr/store.h>

#include "buf.h"
#include "contract.h"

typedef struct rr_contract_note {
    rr_slice held; /* all of it; empty: there is none */
    rr_slice text; /* the contract */
    rr_eras eras;
} rr_contract_note;

void rr_contract_note_write(rr_buf *out, rr_slice text, const rr_eras *eras);

/* False: its last line is not one of ours. Slices point into `held`. */
bool rr_contract_note_read(rr_slice held, rr_contract_note *note);

/* Reads it from the store; slices lie in the arena. CONFIG: it is there and cannot be read. */
rr_status rr_contract_note_load(const rr_store_ops *ops, rr_store *store, rr_slice key, rr_arena *arena,
                                rr_contract_note *note, rr_error *error);

#endif
