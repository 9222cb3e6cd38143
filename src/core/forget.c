/* A window is removed only when all windows that contain it are. So no sum that stays includes facts that are
 * removed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "forget.h"

#include "must.h"
#include "retention.h"
#include "packed.h"

int64_t rr_unit_outermost_end(const rr_unit *unit, rr_window window)
{
    int64_t end = window.end;

    for (size_t k = 0; k < unit->cell_count && unit->cells[k].window.start <= window.start; k++) {
        if (rr_window_contains(unit->cells[k].window, window) && unit->cells[k].window.end > end) {
            end = unit->cells[k].window.end;
        }
    }
    return end;
}

static bool is_gone(const rr_unit *unit, rr_window window, int64_t now_us)
{
    window.end = rr_unit_outermost_end(unit, window);
    return rr_cell_may_be_gone(unit->contract, window, now_us);
}

bool rr_unit_has_gone(const rr_unit *unit, int64_t now_us)
{
    for (size_t k = 0; k < unit->cell_count; k++) {
        if (is_gone(unit, unit->cells[k].window, now_us)) {
            return true;
        }
    }
    return false;
}

/* The window in a contributor's id. */
static rr_window window_of(const rr_part *part)
{
    rr_packed id = rr_packed_over((rr_slice){part->id.data + 1, part->id.len - 1});

    return rr_packed_get_window(&id);
}

static bool keeps_something(rr_unit *unit, rr_part *part, int64_t now_us)
{
    size_t kept = 0;

    if (unit->contract->mode == RR_MODE_RETRACTION) {
        return !is_gone(unit, window_of(part), now_us);
    }
    for (size_t k = 0; k < part->claim_count; k++) {
        if (!is_gone(unit, part->claims[k].window, now_us)) {
            part->claims[kept++] = part->claims[k];
        }
    }
    part->claim_count = kept;
    return kept != 0;
}

void rr_unit_forget(rr_unit *unit, int64_t now_us)
{
    size_t parts = 0;

    RR_MUST(unit->complete);
    for (size_t k = 0; k < unit->part_count; k++) {
        if (keeps_something(unit, &unit->parts[k], now_us)) {
            unit->parts[parts++] = unit->parts[k];
        }
    }
    unit->part_count = parts;
    unit->part_total = parts;
    /* A window that contains a gone one is gone itself, so the order does not matter. */
    for (size_t k = unit->cell_count; k-- > 0;) {
        if (is_gone(unit, unit->cells[k].window, now_us)) {
            memmove(&unit->cells[k], &unit->cells[k + 1], (unit->cell_count - k - 1) * sizeof *unit->cells);
            unit->cell_count--;
        }
    }
}
