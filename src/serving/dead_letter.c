/* Subject and headers of a dead letter. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dead_letter.h"

#include <inttypes.h>

#include "checkpoint.h"
#include "time.h"

enum { HEADERS = 13, ORIGINAL_MAX = 4096 }; /* bytes of an original header: its value is cut, so a letter always fits */

static rr_slice kept(rr_buf *text, rr_arena *arena)
{
    return rr_buf_ok(text) ? rr_arena_copy(arena, rr_buf_view(text)) : (rr_slice){NULL, 0};
}

/* One token of a subject: bytes that NATS gives a meaning, or that a header could not hold, become '_'. */
static void put_token(rr_buf *out, rr_slice name)
{
    for (size_t k = 0; k < name.len; k++) {
        char c = name.data[k];

        rr_buf_char(out, c <= ' ' || c == '.' || c == '*' || c == '>' || c == 0x7f ? '_' : c);
    }
    if (name.len == 0) {
        rr_buf_char(out, '_');
    }
}

/* A stream made anew gives its sequences again: when the queue stored the record, and a digest of it, make the subject
 * this record's alone, and are the same for each delivery of it. */
static void put_mark(rr_buf *out, const rr_delivery *delivery)
{
    rr_buf_format(out, "%" PRId64 "-%016" PRIx64, delivery->stored_at_us, rr_checkpoint_digest(delivery->payload));
}

static rr_slice subject_of(const char *prefix, const rr_item *item, const rr_delivery *delivery, rr_buf *text,
                           rr_arena *arena)
{
    rr_buf_clear(text);
    rr_buf_text(text, prefix);
    rr_buf_char(text, '.');
    put_token(text, item->contract == NULL ? (rr_slice){NULL, 0} : item->contract->name);
    rr_buf_char(text, '.');
    put_mark(text, delivery);
    rr_buf_char(text, '.');
    put_token(text, item->record->stream);
    rr_buf_char(text, '.');
    rr_buf_u64(text, delivery->stream_sequence);
    return kept(text, arena);
}

static void add(rr_publication *letter, rr_header *headers, const char *name, rr_slice value)
{
    headers[letter->header_count++] = (rr_header){rr_slice_of(name), value};
}

static void add_number(rr_publication *letter, rr_header *headers, const char *name, uint64_t number, rr_buf *text,
                       rr_arena *arena)
{
    rr_buf_clear(text);
    rr_buf_u64(text, number);
    add(letter, headers, name, kept(text, arena));
}

/* A header's value is one line. */
static rr_slice one_line(rr_slice value, rr_buf *text, rr_arena *arena)
{
    rr_buf_clear(text);
    for (size_t k = 0; k < value.len; k++) {
        rr_buf_char(text, (unsigned char)value.data[k] < 0x20 ? ' ' : value.data[k]);
    }
    return kept(text, arena);
}

static rr_slice time_of(int64_t time_us, rr_arena *arena)
{
    char text[RR_TIME_TEXT_MAX];

    return rr_arena_copy(arena, (rr_slice){text, rr_time_print(time_us, text)});
}

static void add_original(rr_publication *letter, rr_header *headers, const rr_header *original, rr_buf *text,
                         rr_arena *arena)
{
    rr_slice value = original->value;
    rr_header *to = &headers[letter->header_count++];

    value.len = value.len < ORIGINAL_MAX ? value.len : ORIGINAL_MAX;
    to->value = one_line(value, text, arena);
    rr_buf_clear(text);
    rr_buf_text(text, RR_DEAD_LETTER_ORIGINAL);
    rr_buf_slice(text, original->name);
    to->name = kept(text, arena);
}

static bool is_dead(const rr_item *item)
{
    return rr_verdict_settle(item->outcome.verdict) == RR_SETTLE_DEAD_LETTER;
}

static const rr_item *first_dead(const rr_item *items, size_t count)
{
    const rr_item *item = items;

    while (item + 1 < items + count && !is_dead(item)) {
        item++;
    }
    return item;
}

/* "2 of 12: 3, 7", the places counted from 1. */
static rr_slice refused_of(const rr_item *items, size_t count, rr_buf *text, rr_arena *arena)
{
    size_t dead = 0;

    for (size_t k = 0; k < count; k++) {
        dead += is_dead(&items[k]);
    }
    rr_buf_clear(text);
    rr_buf_format(text, "%zu of %zu:", dead, items->of);
    dead = 0;
    for (size_t k = 0; k < count; k++) {
        if (is_dead(&items[k])) {
            rr_buf_format(text, dead++ == 0 ? " %zu" : ", %zu", items[k].index + 1);
        }
    }
    return kept(text, arena);
}

bool rr_dead_letter_write(rr_publication *letter, const char *prefix, const rr_item *items, size_t count,
                          const rr_delivery *delivery, rr_buf *text, rr_arena *arena)
{
    const rr_item *item = first_dead(items, count);
    rr_header *headers = rr_arena_take(arena, (HEADERS + delivery->header_count) * sizeof *headers);

    *letter = (rr_publication){
        .payload = delivery->payload, .headers = headers, .once = true, .cut_header = RR_SLICE("Rr-Cut-From-Bytes")};
    letter->subject = subject_of(prefix, item, delivery, text, arena);
    if (headers == NULL || letter->subject.data == NULL) {
        return false;
    }
    add(letter, headers, "Rr-Reason", rr_slice_of(rr_reason_word(item->outcome.reason)));
    add(letter, headers, "Rr-Text", one_line(item->why, text, arena));
    add(letter, headers, "Rr-Verdict", rr_slice_of(rr_verdict_word(item->outcome.verdict)));
    if (items->of > 1) {
        add(letter, headers, "Rr-Refused", refused_of(items, count, text, arena));
    }
    add(letter, headers, "Rr-Contract",
        one_line(item->contract == NULL ? (rr_slice){NULL, 0} : item->contract->name, text, arena));
    add(letter, headers, "Rr-Subject", one_line(delivery->subject, text, arena));
    add(letter, headers, "Rr-Stream", one_line(item->record->stream, text, arena));
    add_number(letter, headers, "Rr-Sequence", delivery->stream_sequence, text, arena);
    add(letter, headers, "Rr-Stored-At", time_of(delivery->stored_at_us, arena));
    add_number(letter, headers, "Rr-Deliveries", delivery->times_delivered, text, arena);
    add(letter, headers, "Rr-Program", RR_SLICE("reconciler " RR_VERSION_TEXT));
    for (size_t k = 0; k < delivery->header_count; k++) {
        add_original(letter, headers, &delivery->headers[k], text, arena);
    }
    if (delivery->payload.len > RR_DEAD_LETTER_PAYLOAD_MAX) {
        letter->payload.len = RR_DEAD_LETTER_PAYLOAD_MAX;
        letter->cut_from = delivery->payload.len;
    }
    return rr_buf_ok(text);
}
