/* A value is read from its end, so that the part for readers is never parsed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "stored.h"

#include <sys/random.h>

#include "cell_json.h"
#include "time.h"

static const char token_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void put_digits(uint64_t number, size_t characters, char *to)
{
    for (size_t k = characters; k-- > 0; number >>= 6) {
        to[k] = token_alphabet[number & 63];
    }
}

/* splitmix64 */
static uint64_t next_random(rr_tokens *tokens)
{
    uint64_t z = tokens->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

bool rr_tokens_init(rr_tokens *tokens)
{
    uint64_t seed[2];

    if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        return false;
    }
    *tokens = (rr_tokens){.random = seed[0]};
    put_digits(seed[1], sizeof tokens->process, tokens->process);
    return true;
}

void rr_tokens_next(rr_tokens *tokens, rr_slice before, char *to)
{
    if (before.len == RR_TOKEN_LEN) {
        memcpy(to, before.data, RR_BIRTH_LEN);
    } else {
        put_digits(next_random(tokens), RR_BIRTH_LEN, to);
    }
    memcpy(to + RR_BIRTH_LEN, tokens->process, sizeof tokens->process);
    put_digits(++tokens->counter, RR_TOKEN_LEN - RR_BIRTH_LEN - sizeof tokens->process,
               to + RR_BIRTH_LEN + sizeof tokens->process);
}

/* ---- reading ---- */

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool read_base64(rr_slice text, rr_arena *arena, rr_slice *bytes)
{
    unsigned char *to;
    size_t len = 0;
    uint32_t group = 0;

    while (text.len > 0 && text.data[text.len - 1] == '=') {
        text.len--;
    }
    to = rr_arena_take(arena, text.len * 3 / 4 + 3);
    if (to == NULL) {
        return false;
    }
    for (size_t k = 0; k < text.len; k++) {
        int value = base64_value(text.data[k]);

        if (value < 0) {
            return false;
        }
        group = group << 6 | (uint32_t)value;
        if (k % 4 != 0) {
            to[len++] = (unsigned char)(group >> (6 - k % 4 * 2));
        }
    }
    *bytes = (rr_slice){(const char *)to, len};
    return true;
}

static bool ends_with(rr_slice text, rr_slice end)
{
    return text.len >= end.len && memcmp(text.data + text.len - end.len, end.data, end.len) == 0;
}

/* The digits in front of `,"facts":"` are the format. */
static rr_status check_format(rr_slice head, rr_error *error)
{
    rr_slice name = RR_SLICE("\"format\":");
    size_t digits = 0;
    unsigned format = 0;

    while (digits < head.len && digits < 6 && head.data[head.len - digits - 1] >= '0' &&
           head.data[head.len - digits - 1] <= '9') {
        digits++;
    }
    for (size_t k = head.len - digits; k < head.len; k++) {
        format = format * 10 + (unsigned)(head.data[k] - '0');
    }
    head.len -= digits;
    if (digits == 0 || !ends_with(head, name)) {
        return rr_fail(error, RR_INPUT, "the value was not written by this program: it names no format");
    }
    if (format != RR_STORED_FORMAT) {
        return rr_fail(error, RR_INPUT,
                       "the value has format %u, and this program knows format %d: a newer program wrote it", format,
                       RR_STORED_FORMAT);
    }
    return RR_OK;
}

/* At least what rr_unit_read takes for so many bytes: a cell, a claim or a part in the value has one byte or more,
 * and the array of parts doubles as it grows. */
static size_t read_need(const rr_contract *contract, size_t bytes)
{
    size_t most = contract->window_kind == RR_WINDOW_SESSION ? RR_LIMIT_WINDOWS : 1;
    size_t cells = (most < bytes ? most : bytes) + 1;

    return cells * sizeof(rr_cell) + 4 * (bytes + 8) * sizeof(rr_part) + 2 * bytes * (sizeof(rr_claim) + 16) + 64;
}

/* rr_unit_read does not tell broken bytes from memory that ran out. With enough memory it can only be the bytes. */
static rr_status read_facts(rr_unit *unit, const rr_contract *contract, rr_slice bytes, rr_arena *arena)
{
    if (rr_unit_read(unit, contract, bytes, arena)) {
        return RR_OK;
    }
    if (!rr_arena_reserve(arena, read_need(contract, bytes.len))) {
        return RR_MEMORY;
    }
    return rr_unit_read(unit, contract, bytes, arena) ? RR_OK : RR_INPUT;
}

bool rr_stored_read_part(rr_unit *unit, rr_slice id, rr_slice bytes, rr_arena *arena, bool *is_good)
{
    size_t grown = unit->part_count < unit->part_room ? 0 : unit->part_room == 0 ? 8 : 2 * unit->part_room;

    if (!rr_arena_reserve(arena, grown * sizeof(rr_part) + (RR_LIMIT_CLAIMS + 1) * sizeof(rr_claim) + 32)) {
        return false;
    }
    *is_good = rr_part_read(unit, id, bytes, arena);
    return true;
}

rr_status rr_stored_read(rr_unit *unit, const rr_contract *contract, rr_slice value, rr_arena *arena, rr_error *error)
{
    rr_slice middle = RR_SLICE("\",\"token\":\""), name = RR_SLICE(",\"facts\":\"");
    rr_slice head = {value.data, value.len < RR_TOKEN_TAIL ? 0 : value.len - RR_TOKEN_TAIL};
    rr_slice text, bytes;
    rr_status status;

    if (value.len == 0) {
        rr_unit_init(unit, contract);
        return RR_OK;
    }
    if (head.len == 0 || !ends_with(value, RR_SLICE("\"}")) || !ends_with(head, middle)) {
        return rr_fail(error, RR_INPUT, "the value was not written by this program: it does not end in a token");
    }
    head.len -= middle.len;
    text.len = 0;
    while (text.len < head.len && head.data[head.len - text.len - 1] != '"') {
        text.len++;
    }
    text.data = head.data + head.len - text.len;
    head.len -= text.len;
    if (!ends_with(head, name)) {
        return rr_fail(error, RR_INPUT, "the value was not written by this program: it holds no facts");
    }
    head.len -= name.len;
    if (check_format(head, error) != RR_OK) {
        return RR_INPUT;
    }
    if (!rr_arena_reserve(arena, text.len + 64)) {
        return rr_fail(error, RR_MEMORY, "no memory for the facts");
    }
    status = read_base64(text, arena, &bytes) ? read_facts(unit, contract, bytes, arena) : RR_INPUT;
    if (status == RR_MEMORY) {
        return rr_fail(error, RR_MEMORY, "no memory for the facts");
    }
    if (status != RR_OK) {
        return rr_fail(error, RR_INPUT,
                       "the value's facts are broken, or were written under a contract of another shape");
    }
    return RR_OK;
}

/* ---- writing ---- */

/* All values of a batch have the same time, so it is formatted once. */
static void put_time(rr_buf *out, int64_t time_us)
{
    static _Thread_local struct {
        int64_t time_us;
        size_t len;
        char text[RR_TIME_TEXT_MAX];
    } last;

    if (last.len == 0 || last.time_us != time_us) {
        last.time_us = time_us;
        last.len = rr_time_print(time_us, last.text);
    }
    rr_buf_char(out, '"');
    rr_buf_put(out, last.text, last.len);
    rr_buf_char(out, '"');
}

/* Everything after the part for readers, but the facts and the token. */
static void put_provenance(rr_buf *out, const rr_unit *unit, int64_t now_us)
{
    rr_buf_text(out, ",\"updated_at\":");
    put_time(out, now_us);
    if (unit->stream.len != 0) {
        rr_buf_text(out, ",\"stream\":");
        rr_buf_json(out, unit->stream);
        rr_buf_text(out, ",\"sequence\":");
        rr_buf_u64(out, unit->stream_sequence);
    }
    rr_buf_text(out, ",\"format\":");
    rr_buf_u64(out, RR_STORED_FORMAT);
}

static void put_token(rr_buf *out, const char *token)
{
    rr_buf_text(out, ",\"token\":\"");
    rr_buf_put(out, token, RR_TOKEN_LEN);
    rr_buf_text(out, "\"}");
}

static void put_windows(rr_buf *out, const rr_unit *unit)
{
    rr_buf_text(out, "\"windows\":[");
    for (size_t k = 0; k < unit->cell_count; k++) {
        if (k != 0) {
            rr_buf_char(out, ',');
        }
        rr_window_json(out, unit->cells[k].window);
        out->len -= out->len != 0; /* the closing brace */
        rr_buf_text(out, ",\"state\":\"");
        rr_buf_text(out, rr_state_word(unit->cells[k].view.state));
        rr_buf_text(out, "\"}");
    }
    rr_buf_char(out, ']');
}

static void put_facts(rr_buf *out, rr_unit *unit, rr_arena *facts_room)
{
    char *bytes = rr_arena_take(facts_room, rr_unit_write_need(unit));

    if (bytes == NULL) {
        out->failed = true;
        return;
    }
    rr_buf_text(out, ",\"facts\":\"");
    rr_buf_base64(out, (rr_slice){bytes, rr_unit_write(unit, bytes)});
    rr_buf_char(out, '"');
}

void rr_stored_put_shown(rr_buf *out, const rr_unit *unit)
{
    rr_buf_char(out, '{');
    if (unit->contract->window_kind == RR_WINDOW_SESSION) {
        put_windows(out, unit);
    } else {
        rr_cell_json(out, unit->contract, &unit->cells[0].view, unit->contract->integers_as_strings);
    }
}

void rr_stored_put_shown_session(rr_buf *out, const rr_unit *unit, const rr_cell *cell)
{
    rr_buf_char(out, '{');
    rr_cell_json(out, unit->contract, &cell->view, unit->contract->integers_as_strings);
}

void rr_stored_write(rr_buf *out, rr_unit *unit, int64_t now_us, const char *token, rr_arena *facts_room)
{
    rr_stored_put_shown(out, unit);
    put_provenance(out, unit, now_us);
    put_facts(out, unit, facts_room);
    put_token(out, token);
}

void rr_stored_write_session(rr_buf *out, const rr_unit *unit, const rr_cell *cell, int64_t now_us, const char *token)
{
    rr_stored_put_shown_session(out, unit, cell);
    put_provenance(out, unit, now_us);
    put_token(out, token);
}
