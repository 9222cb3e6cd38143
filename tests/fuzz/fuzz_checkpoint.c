/* A checkpoint as read from the store: read or refused; what is read prints as a checkpoint that is the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpoint.h"
#include "kit.h"

/* In a store that is not the checkpoint's, the floor stays where it was. */
static void check_advance(const rr_checkpoint *read)
{
    const char *other = strcmp(read->incarnation, "another") == 0 ? "a third" : "another";
    rr_source_info info = {.first_sequence = 3, .last_sequence = 90, .ack_floor = 40, .delivered = 50};
    rr_checkpoint now = *read;
    rr_checkpoint_finding finding;

    info.created_at_us = read->created_at_us;
    finding = rr_checkpoint_advance(&now, true, &info, other);
    RR_MUST(finding == RR_CHECKPOINT_SOURCE_ROLLED_BACK || now.floor == read->floor);
    RR_MUST(!now.repairing || finding == RR_CHECKPOINT_SOURCE_ROLLED_BACK || read->repairing || now.from <= now.to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rr_buf first, second;
    rr_arena *arena = fuzz_arena(0);
    rr_checkpoint read, again;

    if (!rr_checkpoint_read((rr_slice){(const char *)data, size}, arena, &read)) {
        return 0;
    }
    rr_buf_clear(&first);
    rr_buf_clear(&second);
    rr_checkpoint_write(&first, &read);
    RR_MUST(rr_buf_ok(&first) && rr_checkpoint_read(rr_buf_view(&first), arena, &again));
    rr_checkpoint_write(&second, &again);
    RR_MUST(rr_slice_equal(rr_buf_view(&first), rr_buf_view(&second)));
    RR_MUST(read.floor == again.floor && read.created_at_us == again.created_at_us &&
            read.repairing == again.repairing && read.gap == again.gap &&
            strcmp(read.incarnation, again.incarnation) == 0);
    check_advance(&read);
    return 0;
}
