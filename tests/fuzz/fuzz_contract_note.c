/* The note of a contract as read from the store: read or refused; what is read prints as the same bytes, and its eras
 * are in order: joined to none, or once more, they are the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "contract_note.h"
#include "kit.h"

static void check_change(const rr_eras *read)
{
    rr_contract before = rr_contract_defaults, after = rr_contract_defaults;
    rr_eras eras = *read;

    before.retention_us = before.grace_us = 7;
    after.eras = &eras;
    rr_eras_advance(&eras, &before, &after, 1);
    RR_MUST(eras.count <= RR_LIMIT_ERAS && rr_kept_us(&after, 1) <= 14);
    for (size_t k = 0; k < read->count; k++) {
        RR_MUST(rr_kept_us(&after, read->items[k].until_us) <= read->items[k].kept_us);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rr_buf printed;
    rr_slice held = {(const char *)data, size};
    rr_contract_note note;
    rr_eras joined = {0};

    if (!rr_contract_note_read(held, &note)) {
        return 0;
    }
    rr_buf_clear(&printed);
    rr_contract_note_write(&printed, note.text, &note.eras);
    RR_MUST(rr_buf_ok(&printed) && rr_slice_equal(rr_buf_view(&printed), held));
    rr_eras_join(&joined, &note.eras);
    rr_eras_join(&joined, &note.eras);
    RR_MUST(joined.count == note.eras.count &&
            memcmp(joined.items, note.eras.items, joined.count * sizeof *joined.items) == 0);
    check_change(&note.eras);
    return 0;
}
