/* A unit written as if it were new, guarded by the token of what it replaces. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "replacement.h"

#include "decision.h"
#include "forget.h"
#include "key.h"
#include "view.h"

static rr_slice keep_text(rr_buf *text, rr_arena *arena)
{
    rr_slice copy = rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};

    rr_buf_fini(text);
    return copy;
}

static bool put_parts(rr_unit *unit, rr_arena *arena, rr_swap *swap)
{
    rr_pair *parts = rr_arena_take(arena, (unit->part_count + 1) * sizeof *parts);

    if (parts == NULL) {
        return false;
    }
    swap->parts = parts;
    for (size_t k = 0; unit->spilled && k < unit->part_count; k++) {
        char *bytes = rr_arena_take(arena, rr_part_write_need(unit, &unit->parts[k]));

        if (bytes == NULL) {
            return false;
        }
        parts[swap->part_count++] = (rr_pair){unit->parts[k].id, {bytes, rr_part_write(unit, &unit->parts[k], bytes)}};
    }
    return true;
}

static rr_slice session_key(const rr_replacement *r, rr_window window, rr_arena *arena)
{
    rr_buf text = {0};

    rr_key_unit(&text, r->prefix, r->unit->contract, r->business_key, r->metric_version, window);
    return keep_text(&text, arena);
}

/* Writes every window of the group, and removes the windows that the group no longer has. */
static bool put_sessions(const rr_replacement *r, const char *token, rr_arena *arena, rr_swap *swap)
{
    rr_side *sides = rr_arena_zero(arena, (r->unit->cell_count + r->stale_cell_count + 1) * sizeof *sides);

    if (sides == NULL) {
        return false;
    }
    swap->sides = sides;
    for (size_t k = 0; k < r->unit->cell_count; k++) {
        rr_buf text = {0};
        rr_side *side = &sides[swap->side_count++];

        side->key = session_key(r, r->unit->cells[k].window, arena);
        rr_stored_write_session(&text, r->unit, &r->unit->cells[k], r->now_us, token);
        side->value = keep_text(&text, arena);
        side->expire_at_ms = rr_expiry_ms(r->unit->contract, rr_unit_outermost_end(r->unit, r->unit->cells[k].window));
        if (side->key.data == NULL || side->value.data == NULL) {
            return false;
        }
    }
    for (size_t k = 0; k < r->stale_cell_count; k++) {
        if (rr_unit_cell(r->unit, r->stale_cells[k].window) == NULL) {
            sides[swap->side_count++].key = session_key(r, r->stale_cells[k].window, arena);
        }
    }
    return true;
}

bool rr_replacement_prepare(const rr_replacement *r, rr_tokens *tokens, rr_arena *arena, rr_swap *swap)
{
    bool session = r->unit->contract->window_kind == RR_WINDOW_SESSION;
    char *token = rr_arena_take(arena, RR_TOKEN_LEN);
    int64_t end = session ? INT64_MIN : r->window.end;
    rr_buf text = {0};

    if (token == NULL) {
        return false;
    }
    for (size_t k = 0; session && k < r->unit->cell_count; k++) {
        end = r->unit->cells[k].window.end > end ? r->unit->cells[k].window.end : end;
    }
    rr_tokens_next(tokens, (rr_slice){NULL, 0}, token);
    *swap = (rr_swap){
        .key = r->key, .token = rr_value_token(r->store_value), .expire_at_ms = rr_expiry_ms(r->unit->contract, end)};
    r->unit->expires_ms = swap->expire_at_ms;
    r->unit->listed = rr_unit_is_open(r->unit);
    swap->open = r->unit->listed ? RR_OPEN_ADD : RR_OPEN_REMOVE;
    swap->open_key = rr_decision_open_key(r->prefix, r->unit->contract, &text, arena);
    swap->open_score_ms = r->now_us / 1000;
    rr_buf_clear(&text);
    rr_stored_write(&text, r->unit, r->now_us, token, arena);
    swap->value = keep_text(&text, arena);
    return swap->value.data != NULL && swap->open_key.data != NULL && put_parts(r->unit, arena, swap) &&
           (!session || put_sessions(r, token, arena, swap));
}
