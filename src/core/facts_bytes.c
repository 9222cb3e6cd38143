/* The facts of a unit as bytes: varints, lengths, and nothing that needs alignment. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "facts.h"

#include "packed.h"

enum { FACTS_FORMAT = 1, FLAG_SPILLED = 1, FLAG_LISTED = 2 };

/* ---- writing ---- */

static void put_assertion(char **at, const rr_assertion *assertion)
{
    rr_packed_put_version(at, assertion->version);
    if (rr_version_is_set(assertion->version)) {
        rr_packed_put_byte(at, (uint8_t)assertion->status);
        rr_packed_put_slice(at, assertion->values);
    }
}

static size_t assertion_need(const rr_assertion *assertion)
{
    return 3 * RR_PACKED_VARINT_MAX + 1 + assertion->values.len;
}

static void put_register(char **at, const rr_register *reg)
{
    put_assertion(at, &reg->newest);
    rr_packed_put_version(at, reg->contradicted);
    rr_packed_put_version(at, reg->untargeted);
    rr_packed_put_version(at, reg->targeted);
    if (rr_version_is_set(reg->targeted)) {
        rr_packed_put_byte(at, reg->named_count);
        rr_packed_put_slice(at, reg->named);
    }
}

static size_t register_need(const rr_register *reg)
{
    return assertion_need(&reg->newest) + 8 * RR_PACKED_VARINT_MAX + reg->named.len;
}

static void put_fold(char **at, const rr_unit *unit, const rr_cell *cell)
{
    const rr_fold *fold = &cell->fold;

    if (unit->contract->mode == RR_MODE_DELTA) {
        rr_packed_put_slice(at, fold->sum);
        rr_packed_put_varint(at, fold->counting);
        rr_packed_put_varint(at, fold->closed);
        rr_packed_put_varint(at, fold->contradicted);
        rr_packed_put_varint(at, fold->own);
        return;
    }
    put_assertion(at, &fold->top);
    rr_packed_put_slice(at, fold->top_contributor);
    rr_packed_put_varint(at, fold->equivocations);
    rr_packed_put_version(at, fold->equivocation_max);
    rr_packed_put_varint(at, fold->mismatches);
    rr_packed_put_version(at, fold->mismatch_max);
    rr_packed_put_version(at, cell->live_max);
}

static void put_lanes(char **at, const rr_cell *cell)
{
    rr_packed_put_byte(at, (uint8_t)(cell->has_base | cell->correction_contradicted << 1 | cell->incumbent << 2));
    put_assertion(at, &cell->correction);
    rr_packed_put_version(at, cell->base);
    rr_packed_put_version(at, cell->known_base);
    rr_packed_put_version(at, cell->known_version);
}

static void put_cell(char **at, const rr_unit *unit, const rr_cell *cell)
{
    const rr_contract *contract = unit->contract;

    if (contract->window_kind == RR_WINDOW_SESSION) {
        rr_packed_put_window(at, cell->window);
    }
    if (contract->mode == RR_MODE_CUMULATIVE) {
        put_assertion(at, &cell->reg.newest);
        rr_packed_put_version(at, cell->reg.contradicted);
    } else {
        put_fold(at, unit, cell);
    }
    if (contract->corrections != RR_CORRECTIONS_NONE) {
        put_lanes(at, cell);
    }
    rr_packed_put_slice(at, cell->contender);
}

static size_t cell_need(const rr_cell *cell)
{
    return register_need(&cell->reg) + assertion_need(&cell->fold.top) + assertion_need(&cell->correction) +
           cell->fold.sum.len + cell->fold.top_contributor.len + cell->contender.len + 32 * RR_PACKED_VARINT_MAX;
}

static size_t inline_parts_need(const rr_unit *unit)
{
    size_t need = RR_PACKED_VARINT_MAX;

    for (size_t k = 0; !unit->spilled && k < unit->part_count; k++) {
        need += unit->parts[k].id.len + 2 * RR_PACKED_VARINT_MAX + rr_part_write_need(unit, &unit->parts[k]);
    }
    return need;
}

size_t rr_unit_write_need(const rr_unit *unit)
{
    size_t need = 64 + unit->stream.len + inline_parts_need(unit);

    for (size_t k = 0; k < unit->cell_count; k++) {
        need += cell_need(&unit->cells[k]);
    }
    return need;
}

static void put_inline_parts(char **at, const rr_unit *unit)
{
    rr_packed_put_varint(at, unit->part_count);
    for (size_t k = 0; k < unit->part_count; k++) {
        const rr_part *part = &unit->parts[k];
        char *length_at;

        rr_packed_put_slice(at, part->id);
        length_at = *at;
        *at += 3; /* a part inline is shorter than 2^21 bytes */
        rr_packed_put_fixed21(length_at, rr_part_write(unit, part, *at));
        *at += rr_packed_get_fixed21(length_at);
    }
}

static void spill(rr_unit *unit)
{
    unit->spilled = true;
    for (size_t k = 0; k < unit->part_count; k++) {
        unit->parts[k].dirty = true;
    }
}

static size_t inline_bytes(const rr_unit *unit)
{
    size_t bytes = 0;

    for (size_t k = 0; k < unit->part_count; k++) {
        const rr_part *part = &unit->parts[k];
        bytes += part->id.len + part->reg.newest.values.len + part->reg.named.len + 24;
        for (size_t c = 0; c < part->claim_count; c++) {
            bytes += part->claims[c].values.len + 12;
        }
    }
    return bytes;
}

size_t rr_unit_write(rr_unit *unit, char *to)
{
    char *at = to;

    if (!unit->spilled && inline_bytes(unit) > RR_LIMIT_INLINE_BYTES) {
        spill(unit);
    }
    rr_packed_put_byte(&at, FACTS_FORMAT);
    rr_packed_put_byte(&at, (uint8_t)((unit->spilled ? FLAG_SPILLED : 0) | (unit->listed ? FLAG_LISTED : 0)));
    rr_packed_put_slice(&at, unit->stream);
    rr_packed_put_varint(&at, unit->stream_sequence);
    rr_packed_put_varint(&at, (uint64_t)unit->expires_ms);
    rr_packed_put_varint(&at, unit->part_total);
    rr_packed_put_varint(&at, unit->cell_count);
    for (size_t k = 0; k < unit->cell_count; k++) {
        put_cell(&at, unit, &unit->cells[k]);
    }
    if (!unit->spilled) {
        put_inline_parts(&at, unit);
    }
    return (size_t)(at - to);
}

size_t rr_part_write_need(const rr_unit *unit, const rr_part *part)
{
    size_t need = RR_PACKED_VARINT_MAX;

    if (unit->contract->mode == RR_MODE_RETRACTION) {
        return need + register_need(&part->reg);
    }
    for (size_t k = 0; k < part->claim_count; k++) {
        need += 8 * RR_PACKED_VARINT_MAX + part->claims[k].values.len;
    }
    return need;
}

static void put_claim(char **at, const rr_unit *unit, const rr_claim *claim)
{
    rr_packed_put_byte(at,
                       (uint8_t)(claim->held | claim->withdrawn << 1 | claim->contradicted << 2 | claim->status << 3));
    if (unit->contract->window_kind == RR_WINDOW_SESSION) {
        rr_packed_put_window(at, claim->window);
    }
    if (claim->held) {
        rr_packed_put_version(at, claim->version);
        rr_packed_put_slice(at, claim->values);
    }
}

size_t rr_part_write(const rr_unit *unit, const rr_part *part, char *to)
{
    char *at = to;

    if (unit->contract->mode == RR_MODE_RETRACTION) {
        put_register(&at, &part->reg);
        return (size_t)(at - to);
    }
    rr_packed_put_varint(&at, part->claim_count);
    for (size_t k = 0; k < part->claim_count; k++) {
        put_claim(&at, unit, &part->claims[k]);
    }
    return (size_t)(at - to);
}

/* ---- reading ---- */

static rr_slice get_values(rr_packed *in, const rr_contract *contract)
{
    rr_slice values = rr_packed_get_slice(in);

    if (!in->failed && !rr_values_check(contract, values)) {
        in->failed = true;
    }
    return values;
}

static rr_result_status get_status(rr_packed *in, unsigned status)
{
    if (status >= RR_RESULT_COUNT) {
        in->failed = true;
        return RR_RESULT_PROVISIONAL;
    }
    return (rr_result_status)status;
}

static void get_assertion(rr_packed *in, const rr_contract *contract, rr_assertion *assertion)
{
    assertion->version = rr_packed_get_version(in);
    if (rr_version_is_set(assertion->version)) {
        assertion->status = get_status(in, rr_packed_get_byte(in));
        assertion->values = get_values(in, contract);
    }
}

static void check_named(rr_packed *in, const rr_contract *contract, const rr_register *reg)
{
    rr_packed named = rr_packed_over(reg->named);

    for (unsigned k = 0; k < reg->named_count; k++) {
        rr_slice content = rr_packed_get_slice(&named);

        if (named.failed || content.len == 0 || (uint8_t)content.data[0] >= RR_RESULT_COUNT ||
            (content.len != 1 && !rr_values_check(contract, (rr_slice){content.data + 1, content.len - 1}))) {
            in->failed = true;
            return;
        }
    }
    in->failed |= named.failed || named.at != named.end || reg->named_count > RR_REGISTER_NAMED_MAX;
}

static void get_register(rr_packed *in, const rr_contract *contract, rr_register *reg)
{
    get_assertion(in, contract, &reg->newest);
    reg->contradicted = rr_packed_get_version(in);
    reg->untargeted = rr_packed_get_version(in);
    reg->targeted = rr_packed_get_version(in);
    if (rr_version_is_set(reg->targeted)) {
        reg->named_count = rr_packed_get_byte(in);
        reg->named = rr_packed_get_slice(in);
        if (!in->failed) {
            check_named(in, contract, reg);
        }
    }
}

static void get_fold(rr_packed *in, const rr_contract *contract, rr_cell *cell)
{
    rr_fold *fold = &cell->fold;

    if (contract->mode == RR_MODE_DELTA) {
        fold->sum = get_values(in, contract);
        fold->counting = rr_packed_get_varint(in);
        fold->closed = rr_packed_get_varint(in);
        fold->contradicted = rr_packed_get_varint(in);
        fold->own = rr_packed_get_varint(in);
        return;
    }
    get_assertion(in, contract, &fold->top);
    fold->top_contributor = rr_packed_get_slice(in);
    fold->equivocations = rr_packed_get_varint(in);
    fold->equivocation_max = rr_packed_get_version(in);
    fold->mismatches = rr_packed_get_varint(in);
    fold->mismatch_max = rr_packed_get_version(in);
    cell->live_max = rr_packed_get_version(in);
}

static void get_lanes(rr_packed *in, const rr_contract *contract, rr_cell *cell)
{
    uint8_t flags = rr_packed_get_byte(in);

    cell->has_base = flags & 1;
    cell->correction_contradicted = flags >> 1 & 1;
    if (flags >> 2 > RR_LANE_CORRECTION) {
        in->failed = true;
        return;
    }
    cell->incumbent = (rr_lane)(flags >> 2);
    get_assertion(in, contract, &cell->correction);
    cell->base = rr_packed_get_version(in);
    cell->known_base = rr_packed_get_version(in);
    cell->known_version = rr_packed_get_version(in);
}

static void get_cell(rr_packed *in, const rr_contract *contract, rr_cell *cell)
{
    if (contract->window_kind == RR_WINDOW_SESSION) {
        cell->window = rr_packed_get_window(in);
    }
    if (contract->mode == RR_MODE_CUMULATIVE) {
        get_assertion(in, contract, &cell->reg.newest);
        cell->reg.contradicted = rr_packed_get_version(in);
        cell->live_max = cell->reg.newest.version;
    } else {
        get_fold(in, contract, cell);
    }
    if (contract->corrections != RR_CORRECTIONS_NONE) {
        get_lanes(in, contract, cell);
    }
    cell->contender = rr_packed_get_slice(in);
}

static bool get_cells(rr_packed *in, rr_unit *unit, rr_arena *arena)
{
    uint64_t count = rr_packed_get_varint(in);
    uint64_t most = unit->contract->window_kind == RR_WINDOW_SESSION ? RR_LIMIT_WINDOWS : 1;

    if (in->failed || count > most) {
        return false;
    }
    unit->cell_room = (size_t)count + 1;
    unit->cells = rr_arena_zero(arena, unit->cell_room * sizeof *unit->cells);
    if (unit->cells == NULL) {
        return false;
    }
    for (; unit->cell_count < count && !in->failed; unit->cell_count++) {
        rr_cell *cell = &unit->cells[unit->cell_count];

        get_cell(in, unit->contract, cell);
        if (unit->cell_count > 0 && rr_window_compare(cell[-1].window, cell->window) >= 0) {
            return false;
        }
    }
    return !in->failed;
}

static bool get_claims(rr_packed *in, const rr_contract *contract, rr_part *part, rr_arena *arena)
{
    uint64_t count = rr_packed_get_varint(in);

    if (in->failed || count > RR_LIMIT_CLAIMS) {
        return false;
    }
    part->claim_room = (size_t)count + 1;
    part->claims = rr_arena_zero(arena, part->claim_room * sizeof *part->claims);
    if (part->claims == NULL) {
        return false;
    }
    for (; part->claim_count < count && !in->failed; part->claim_count++) {
        rr_claim *claim = &part->claims[part->claim_count];
        uint8_t flags = rr_packed_get_byte(in);

        claim->held = flags & 1;
        claim->withdrawn = flags >> 1 & 1;
        claim->contradicted = flags >> 2 & 1;
        claim->status = get_status(in, flags >> 3);
        if (contract->window_kind == RR_WINDOW_SESSION) {
            claim->window = rr_packed_get_window(in);
        }
        if (claim->held) {
            claim->version = rr_packed_get_version(in);
            claim->values = get_values(in, contract);
        }
        if (part->claim_count > 0 && rr_window_compare(claim[-1].window, claim->window) >= 0) {
            return false;
        }
    }
    return !in->failed;
}

bool rr_part_read(rr_unit *unit, rr_slice id, rr_slice bytes, rr_arena *arena)
{
    rr_packed in = rr_packed_over(bytes);
    rr_part *part;

    if (unit->part_count == unit->part_room) {
        size_t room = unit->part_room == 0 ? 8 : unit->part_room * 2;
        rr_part *grown = rr_arena_take(arena, room * sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        if (unit->part_count != 0) {
            memcpy(grown, unit->parts, unit->part_count * sizeof *grown);
        }
        unit->parts = grown;
        unit->part_room = room;
    }
    part = &unit->parts[unit->part_count];
    *part = (rr_part){.id = id};
    if (unit->contract->mode == RR_MODE_RETRACTION) {
        get_register(&in, unit->contract, &part->reg);
    } else if (!get_claims(&in, unit->contract, part, arena)) {
        return false;
    }
    if (in.failed || in.at != in.end) {
        return false;
    }
    unit->part_count++;
    return true;
}

static bool get_inline_parts(rr_packed *in, rr_unit *unit, rr_arena *arena)
{
    uint64_t count = rr_packed_get_varint(in);

    for (uint64_t k = 0; k < count && !in->failed; k++) {
        rr_slice id = rr_packed_get_slice(in);
        rr_slice bytes = rr_packed_get_bytes(in, rr_packed_take_fixed21(in));

        if (in->failed || !rr_part_read(unit, id, bytes, arena)) {
            return false;
        }
    }
    return !in->failed;
}

bool rr_unit_read(rr_unit *unit, const rr_contract *contract, rr_slice bytes, rr_arena *arena)
{
    rr_packed in = rr_packed_over(bytes);
    uint8_t flags;

    rr_unit_init(unit, contract);
    if (rr_packed_get_byte(&in) != FACTS_FORMAT) {
        return false;
    }
    flags = rr_packed_get_byte(&in);
    if ((flags & ~(FLAG_SPILLED | FLAG_LISTED)) != 0) {
        return false;
    }
    unit->spilled = flags & FLAG_SPILLED;
    unit->listed = flags & FLAG_LISTED;
    unit->complete = !unit->spilled;
    unit->stream = rr_packed_get_slice(&in);
    unit->stream_sequence = rr_packed_get_varint(&in);
    unit->expires_ms = (int64_t)rr_packed_get_varint(&in);
    unit->part_total = rr_packed_get_varint(&in);
    if (!get_cells(&in, unit, arena) || (!unit->spilled && !get_inline_parts(&in, unit, arena))) {
        return false;
    }
    return !in.failed && in.at == in.end;
}
