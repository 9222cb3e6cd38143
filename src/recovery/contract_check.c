/* Compares the contracts of this process with those in the store: two processes must not use different texts of one
 * contract. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_check.h"

#include "contract_note.h"
#include "text_difference.h"

/* The error shows the first line that differs; the log has both texts. */
static rr_status refuse_text(const rr_recovery *recovery, const rr_bound_contract *contract, rr_slice stored,
                             rr_error *error)
{
    rr_slice name = contract->contract->name;
    rr_text_difference first = rr_text_difference_find(stored, contract->text);

    rr_text_difference_log(recovery->env, "contract", name, stored, contract->text);
    return rr_fail(error, RR_CONFIG,
                   "contract %.*s is not the one that the stored cells were made under. Stored: '%.*s'; this "
                   "program's: '%.*s'. If the change is meant, start once with --accept-contracts.",
                   (int)name.len, name.data, (int)first.stored.len, first.stored.data, (int)first.own.len,
                   first.own.data);
}

/* Cells that were made under the stored text may expire by its retention: that becomes an era. */
static rr_status add_era(const rr_recovery *recovery, const rr_bound_contract *contract, rr_slice key, rr_slice stored,
                         bool (*read)(rr_slice text, rr_contract *contract), rr_eras *eras, rr_error *error)
{
    rr_contract before;

    if (!read(stored, &before)) {
        return rr_fail(error, RR_CONFIG,
                       "key %.*s: the text of this contract cannot be read, so nobody can tell how long "
                       "the stored cells are kept. Restore it, or rebuild.",
                       (int)key.len, key.data);
    }
    rr_eras_advance(eras, &before, contract->contract, recovery->env->now_us());
    return RR_OK;
}

/* *written: the note holds this now. */
static rr_status write_note(rr_recovery *recovery, const rr_bound_contract *contract, rr_slice key, rr_slice held,
                            const rr_eras *eras, bool *written, rr_error *error)
{
    const rr_environment *env = recovery->env;

    rr_buf_clear(&recovery->text);
    rr_contract_note_write(&recovery->text, contract->text, eras);
    if (!rr_buf_ok(&recovery->text)) {
        return rr_fail(error, RR_MEMORY, "memory ran out");
    }
    *written = rr_slice_equal(held, rr_buf_view(&recovery->text));
    return *written
               ? RR_OK
               : env->store_ops->note_set(env->store, key, held, rr_buf_view(&recovery->text), 0, NULL, written, error);
}

/* The eras that this process knows and those of the note are joined, so that neither a lost note nor a change there and
 * back loses any. */
static rr_status check_contract(rr_recovery *recovery, const rr_bound_contract *contract,
                                bool (*accept)(rr_slice text, rr_contract *contract), rr_error *error)
{
    const rr_environment *env = recovery->env;
    rr_slice key = rr_recovery_key(recovery, "contract", contract->contract->name);
    rr_eras eras = contract->eras == NULL ? (rr_eras){0} : *contract->eras;
    rr_contract_note note = {0};
    bool written = false, is_same;
    rr_status status = rr_contract_note_load(env->store_ops, env->store, key, &recovery->arena, &note, error);

    if (status != RR_OK) {
        return status;
    }
    is_same = note.held.len == 0 || rr_slice_equal(note.text, contract->text);
    if (!is_same && accept == NULL) {
        return refuse_text(recovery, contract, note.text, error);
    }
    rr_eras_join(&eras, &note.eras);
    status = is_same ? RR_OK : add_era(recovery, contract, key, note.text, accept, &eras, error);
    status = status == RR_OK ? write_note(recovery, contract, key, note.held, &eras, &written, error) : status;
    if (status == RR_OK && written && contract->eras != NULL) {
        *contract->eras = eras;
    }
    /* Another process wrote the note in the meantime. It is read again, and a text that this process may have
     * brought is not accepted. */
    return status != RR_OK || written ? status : check_contract(recovery, contract, NULL, error);
}

rr_status rr_contracts_check(rr_recovery *recovery, bool (*accept)(rr_slice text, rr_contract *contract),
                             rr_error *error)
{
    rr_status status = RR_OK;

    for (size_t k = 0; k < recovery->env->contract_count && status == RR_OK; k++) {
        status = check_contract(recovery, &recovery->env->contracts[k], accept, error);
    }
    return status;
}
