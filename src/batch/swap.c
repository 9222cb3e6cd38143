/* What the swap of one unit carries: log entries, value, parts, side values, its place in the list of open
 * conflicts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "swap.h"

#include "decision.h"
#include "forget.h"
#include "key.h"
#include "view.h"

/* The decisions of a unit that belong into the log (semantics, law 5). */
static bool put_entries(rr_batch *batch, rr_batch_unit *u, rr_swap *swap)
{
    rr_slice *entries;

    u->suppressed = 0;
    if (!batch->options.log_decisions) {
        return true;
    }
    entries = rr_arena_take(&batch->scratch, u->item_count * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    swap->entries = entries;
    for (size_t k = u->first_item; k != SIZE_MAX; k = batch->items[k].next) {
        const rr_item *item = &batch->items[k];

        if (!rr_decision_due(&item->outcome) || (batch->options.replayed && item->outcome.alerts == 0)) {
            continue;
        }
        if (batch->logged + batch->logging >= RR_LIMIT_BATCH_ALERTS) {
            u->suppressed++;
            continue;
        }
        batch->logging++;
        entries[swap->entry_count] = rr_decision_write(item, batch->now_us, &batch->text, &batch->scratch);
        if (entries[swap->entry_count++].data == NULL) {
            return false;
        }
    }
    if (swap->entry_count != 0) {
        swap->log_key = rr_decision_log_key(batch->options.prefix, u->contract, &batch->text, &batch->scratch);
    }
    return swap->entry_count == 0 || swap->log_key.data != NULL;
}

static bool put_parts(rr_batch *batch, rr_batch_unit *u, rr_swap *swap)
{
    rr_pair *parts = rr_arena_take(&batch->scratch, u->facts.part_count * sizeof *parts + 1);

    if (parts == NULL) {
        return false;
    }
    swap->parts = parts;
    for (size_t k = 0; k < u->facts.part_count; k++) {
        const rr_part *part = &u->facts.parts[k];
        char *bytes;

        if (!part->dirty) {
            continue;
        }
        bytes = rr_arena_take(&batch->scratch, rr_part_write_need(&u->facts, part));
        if (bytes == NULL) {
            return false;
        }
        parts[swap->part_count++] = (rr_pair){part->id, {bytes, rr_part_write(&u->facts, part, bytes)}};
    }
    return true;
}

static int64_t expiry_ms(const rr_batch *batch, const rr_contract *contract, int64_t end_us)
{
    return batch->options.expire ? rr_expiry_ms(contract, end_us) : 0;
}

static rr_slice copy_text(rr_batch *batch)
{
    return rr_buf_ok(&batch->text) ? rr_arena_copy(&batch->scratch, rr_buf_view(&batch->text)) : (rr_slice){NULL, 0};
}

static bool put_session(rr_batch *batch, rr_batch_unit *u, const rr_cell *cell, rr_side *side)
{
    const rr_record *first = batch->items[u->first_item].record;

    rr_buf_clear(&batch->text);
    rr_key_unit(&batch->text, batch->options.prefix, u->contract, first->business_key, first->metric_version,
                cell->window);
    side->key = copy_text(batch);
    rr_buf_clear(&batch->text);
    rr_stored_write_session(&batch->text, &u->facts, cell, batch->now_us, u->token);
    side->value = copy_text(batch);
    side->expire_at_ms = expiry_ms(batch, u->contract, rr_unit_outermost_end(&u->facts, cell->window));
    return side->key.data != NULL && side->value.data != NULL;
}

static bool put_sessions(rr_batch *batch, rr_batch_unit *u, rr_swap *swap)
{
    rr_side *sides = rr_arena_zero(&batch->scratch, u->facts.cell_count * sizeof *sides + 1);
    int64_t last_end = INT64_MIN;

    if (sides == NULL || !rr_arena_reserve(&batch->arena, rr_join_need(&u->facts, NULL))) {
        return false;
    }
    rr_unit_see(&u->facts, &batch->arena);
    swap->sides = sides;
    for (size_t k = 0; k < u->facts.cell_count; k++) {
        const rr_cell *cell = &u->facts.cells[k];

        last_end = cell->window.end > last_end ? cell->window.end : last_end;
        if (cell->dirty && !put_session(batch, u, cell, &sides[swap->side_count++])) {
            return false;
        }
    }
    swap->expire_at_ms = expiry_ms(batch, u->contract, last_end);
    return true;
}

static bool put_open(rr_batch *batch, rr_batch_unit *u, rr_swap *swap)
{
    bool is_open = rr_unit_is_open(&u->facts);

    if (!batch->options.list_open || is_open == u->facts.listed) {
        return true;
    }
    u->facts.listed = is_open;
    swap->open = is_open ? RR_OPEN_ADD : RR_OPEN_REMOVE;
    swap->open_key = rr_decision_open_key(batch->options.prefix, u->contract, &batch->text, &batch->scratch);
    swap->open_score_ms = batch->now_us / 1000;
    return swap->open_key.data != NULL;
}

static bool put_value(rr_batch *batch, rr_batch_unit *u, rr_swap *swap)
{
    /* The birth is in the name of the hash of parts: after a new birth nobody reads the old hash, and it expires. */
    rr_tokens_next(&batch->tokens, u->forgets ? (rr_slice){NULL, 0} : swap->token, u->token);
    if (u->contract->window_kind == RR_WINDOW_SESSION) {
        if (!put_sessions(batch, u, swap)) {
            return false;
        }
    } else {
        swap->expire_at_ms = expiry_ms(batch, u->contract, batch->items[u->first_item].record->window.end);
        swap->keeps_expiry = swap->token.len != 0 && swap->expire_at_ms == u->facts.expires_ms;
    }
    if (!put_open(batch, u, swap)) {
        return false;
    }
    u->facts.expires_ms = swap->expire_at_ms;
    rr_buf_clear(&batch->text);
    rr_stored_write(&batch->text, &u->facts, batch->now_us, u->token, &batch->scratch);
    swap->value = copy_text(batch);
    return swap->value.data != NULL && (!u->facts.spilled || put_parts(batch, u, swap));
}

bool rr_batch_prepare_swap(rr_batch *batch, rr_batch_unit *u, rr_swap *swap, bool *needed)
{
    RR_STORE_ITEM_INIT(swap);
    swap->key = u->key;
    swap->token = rr_value_token(u->value);
    swap->partless = !u->had_parts;
    if (!put_entries(batch, u, swap) || (u->grew && !put_value(batch, u, swap))) {
        return false;
    }
    *needed = u->grew || swap->entry_count != 0;
    return true;
}
