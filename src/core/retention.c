/* Which retention a window has, and when its cell may be removed (semantics, section 10). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "retention.h"

#include "time.h"

/* Clocks of processes and of the store may differ by this much. */
#define CLOCK_MARGIN_US (600 * RR_SECOND_US)

static bool is_kept_forever(const rr_contract *contract)
{
    return contract->retention_us == RR_FOREVER || contract->window_kind == RR_WINDOW_GLOBAL;
}

static rr_era stricter_era(rr_era a, rr_era b)
{
    return (rr_era){.until_us = a.until_us > b.until_us ? a.until_us : b.until_us,
                    .retention_us = a.retention_us < b.retention_us ? a.retention_us : b.retention_us,
                    .kept_us = a.kept_us < b.kept_us ? a.kept_us : b.kept_us};
}

/* The era that a contract leaves when another replaces it now. until_us is the end of the latest window that may have a
 * cell: its record passed the check window_in_future, perhaps in another process with another clock. */
static rr_era era_left_by(const rr_contract *contract, int64_t now_us)
{
    int64_t ahead_us =
        rr_add_held(contract->future_tolerance_us, rr_contract_has_size(contract) ? contract->size_us : 0);
    rr_era era = {.until_us = rr_add_held(rr_add_held(now_us, CLOCK_MARGIN_US), ahead_us),
                  .retention_us = contract->retention_us,
                  .kept_us = rr_add_held(contract->retention_us, contract->grace_us)};

    if (is_kept_forever(contract)) {
        era.retention_us = era.kept_us = RR_FOREVER;
    }
    return era;
}

/* The strictest rules for windows that end at end_us. */
static rr_era era_in_force(const rr_contract *contract, int64_t end_us)
{
    const rr_eras *eras = contract->window_kind == RR_WINDOW_GLOBAL ? NULL : contract->eras;
    rr_era now = era_left_by(contract, 0);

    for (size_t k = 0; eras != NULL && k < eras->count; k++) {
        if (end_us <= eras->items[k].until_us) {
            now = stricter_era(now, eras->items[k]);
        }
    }
    return now;
}

/* `by` forbids everything that `era` forbids. */
static bool is_era_covered(rr_era era, rr_era by)
{
    return by.until_us >= era.until_us && by.retention_us <= era.retention_us && by.kept_us <= era.kept_us;
}

/* A later era holds for the windows of an earlier one too. So from the last to the first, each era becomes at least as
 * strict as the next, and is dropped if it is not stricter. */
static void drop_needless_eras(rr_eras *eras)
{
    size_t left = eras->count;

    for (size_t k = eras->count; k-- > 0;) {
        rr_era era = eras->items[k];

        if (left < eras->count) {
            era = stricter_era(era, eras->items[left]);
            era.until_us = eras->items[k].until_us;
        }
        if (left == eras->count || !is_era_covered(era, eras->items[left])) {
            eras->items[--left] = era;
        }
    }
    eras->count -= left;
    memmove(eras->items, &eras->items[left], eras->count * sizeof *eras->items);
}

static void add_era(rr_eras *eras, rr_era era)
{
    size_t at = 0;

    while (at < eras->count && eras->items[at].until_us < era.until_us) {
        at++;
    }
    if (at < eras->count && eras->items[at].until_us == era.until_us) {
        eras->items[at] = stricter_era(eras->items[at], era);
    } else {
        memmove(&eras->items[at + 1], &eras->items[at], (eras->count - at) * sizeof era);
        eras->items[at] = era;
        eras->count++;
    }
    drop_needless_eras(eras);
    if (eras->count > RR_LIMIT_ERAS) {
        eras->items[1].retention_us = eras->items[0].retention_us;
        eras->items[1].kept_us = eras->items[0].kept_us;
        memmove(eras->items, &eras->items[1], --eras->count * sizeof era);
    }
}

void rr_eras_join(rr_eras *eras, const rr_eras *more)
{
    for (size_t k = 0; k < more->count; k++) {
        add_era(eras, more->items[k]);
    }
}

/* False if the new contract, `now`, is as strict about the same windows: when it is replaced, its own era names
 * them. False too if all these windows are gone under the new contract as well. */
static bool does_era_matter(rr_era era, rr_era now, int64_t now_us)
{
    int64_t over_us = rr_add_held(rr_add_held(era.until_us, now.kept_us), CLOCK_MARGIN_US);

    return !is_era_covered(era, now) && over_us > now_us;
}

void rr_eras_advance(rr_eras *eras, const rr_contract *before, const rr_contract *after, int64_t now_us)
{
    rr_era was = era_left_by(before, now_us), is = era_left_by(after, now_us);
    size_t left = 0;

    for (size_t k = 0; k < eras->count; k++) {
        if (does_era_matter(eras->items[k], is, now_us)) {
            eras->items[left++] = eras->items[k];
        }
    }
    eras->count = left;
    if (was.kept_us != RR_FOREVER && does_era_matter(was, is, now_us)) {
        add_era(eras, was);
    }
}

int64_t rr_retention_us(const rr_contract *contract, int64_t end_us)
{
    return era_in_force(contract, end_us).retention_us;
}

int64_t rr_kept_us(const rr_contract *contract, int64_t end_us)
{
    return era_in_force(contract, end_us).kept_us;
}

/* When a cell may be removed at the earliest; RR_FOREVER for never. */
static int64_t earliest_removal_us(const rr_contract *contract, int64_t end_us)
{
    int64_t kept_us = rr_kept_us(contract, end_us);

    return kept_us == RR_FOREVER ? RR_FOREVER : rr_add_held(end_us, kept_us);
}

bool rr_cell_may_be_gone(const rr_contract *contract, rr_window window, int64_t now_us)
{
    int64_t removal = earliest_removal_us(contract, window.end);

    return removal != RR_FOREVER && now_us >= removal;
}

int64_t rr_expiry_us(const rr_contract *contract, int64_t end_us)
{
    return rr_add_held(earliest_removal_us(contract, end_us), CLOCK_MARGIN_US);
}

int64_t rr_expiry_ms(const rr_contract *contract, int64_t end_us)
{
    int64_t at_us = contract->window_kind == RR_WINDOW_GLOBAL ? RR_FOREVER : rr_expiry_us(contract, end_us);

    return at_us == RR_FOREVER ? 0 : at_us / 1000 + 1;
}
