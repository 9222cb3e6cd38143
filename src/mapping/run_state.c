/* What a message under way has captured: the slots, filled by the walkers and read by the rules and the steps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"
#include "time.h"

/* ---- what the walkers ask for ---- */

bool rr_run_stop(rr_run *run, rr_mapping_outcome outcome, const char *why)
{
    rr_text_put(run->why, why);
    run->outcome = outcome;
    return false;
}

void *rr_run_take(rr_run *run, size_t bytes)
{
    void *taken = rr_arena_zero(run->scratch, bytes);

    if (taken == NULL) {
        rr_run_stop(run, RR_MAPPING_NO_MEMORY, "");
    }
    return taken;
}

/* What an item of a list that was cleared had is used again, so that no message takes memory without bound. */
rr_slot *rr_run_item(rr_run *run, rr_slot *list)
{
    size_t bytes = (run->mapping->item_slots + 1) * sizeof(rr_slot);
    rr_items *items = list->items;

    if (items == NULL) {
        items = list->items = rr_run_take(run, sizeof *items);
    }
    if (items == NULL) {
        return NULL;
    }
    if (list->kind != RR_SLOT_LIST) {
        list->kind = RR_SLOT_LIST;
        items->count = 0;
    }
    if (items->count == RR_MAPPING_RECORDS_MAX) {
        rr_run_stop(run, RR_MAPPING_TOO_LARGE, "the message has more than 256 records");
        return NULL;
    }
    if (items->count == items->made) {
        items->items[items->made] = rr_run_take(run, bytes);
        if (items->items[items->made] == NULL) {
            return NULL;
        }
        items->made++;
    } else {
        for (size_t k = 0; k < run->mapping->item_slots; k++) {
            items->items[items->count][k].kind = RR_SLOT_EMPTY;
        }
    }
    return items->items[items->count++];
}

rr_pairs *rr_run_pairs(rr_run *run, rr_slot *slot)
{
    if (slot->pairs == NULL) {
        slot->pairs = rr_run_take(run, sizeof *slot->pairs);
    }
    if (slot->pairs != NULL && slot->kind != RR_SLOT_LIST) {
        slot->kind = RR_SLOT_LIST;
        slot->pairs->count = 0;
        slot->pairs->too_many = false;
    }
    return slot->pairs;
}

/* ---- values ---- */

bool rr_run_there(const rr_slot *slots, uint16_t slot)
{
    return slot == RR_SLOT_NONE || slots[slot].kind == RR_SLOT_THERE || slots[slot].kind == RR_SLOT_LIST;
}

static const rr_slot *zero_of(rr_value_type type)
{
    static const rr_slot zero_uint = {.kind = RR_SLOT_UINT}, zero_real = {.kind = RR_SLOT_REAL},
                         zero_bool = {.kind = RR_SLOT_BOOL}, zero_text = {.kind = RR_SLOT_TEXT, .text = {"", 0}},
                         zero_int = {.kind = RR_SLOT_INT};

    switch (type) {
    case RR_TYPE_UINT: return &zero_uint;
    case RR_TYPE_REAL: return &zero_real;
    case RR_TYPE_BOOL: return &zero_bool;
    case RR_TYPE_TEXT: return &zero_text;
    default: return &zero_int;
    }
}

static const rr_slot nothing = {.kind = RR_SLOT_EMPTY};

static const rr_slot *fetch_time(const rr_slot *slots, const rr_ref *ref, rr_slot *made)
{
    const rr_slot *seconds = &slots[ref->slot], *nanos = &slots[ref->nanos];

    if (!rr_run_there(slots, ref->parent)) {
        return &nothing;
    }
    made->kind = RR_SLOT_TIME;
    made->time.seconds = seconds->kind == RR_SLOT_EMPTY ? 0 : seconds->i;
    made->time.nanos = nanos->kind == RR_SLOT_EMPTY ? 0 : nanos->i;
    return made;
}

static const rr_slot *fetch_slot(const rr_run *run, const rr_ref *ref, const rr_slot *item, rr_slot *made)
{
    const rr_slot *slots = ref->whole ? run->whole : item;
    const rr_slot *seen = &slots[ref->slot];

    if (ref->type == RR_TYPE_TIMESTAMP || ref->type == RR_TYPE_DURATION) {
        return fetch_time(slots, ref, made);
    }
    return seen->kind == RR_SLOT_EMPTY && ref->implicit && rr_run_there(slots, ref->parent) ? zero_of(ref->type) : seen;
}

static const rr_slot *put_text(rr_slot *made, rr_slice text)
{
    made->kind = text.len == 0 ? RR_SLOT_EMPTY : RR_SLOT_TEXT;
    made->text = text;
    return made;
}

static const rr_slot *fetch_token(rr_slice subject, uint64_t token, rr_slot *made)
{
    const char *at = subject.data, *end = subject.len == 0 ? at : at + subject.len;

    while (at != NULL) {
        const char *dot = at == end ? NULL : memchr(at, '.', (size_t)(end - at));

        if (--token == 0) {
            return put_text(made, (rr_slice){at, (size_t)((dot == NULL ? end : dot) - at)});
        }
        at = dot == NULL ? NULL : dot + 1;
    }
    return &nothing;
}

static const rr_slot *fetch_header(const rr_mapping_input *in, rr_slice name, rr_slot *made)
{
    for (size_t k = 0; k < in->header_count; k++) {
        if (rr_slice_equal(in->headers[k].name, name)) {
            return put_text(made, in->headers[k].value);
        }
    }
    return &nothing;
}

static const rr_slot *put_stream_time(rr_slot *made, int64_t us)
{
    int64_t seconds = us / RR_SECOND_US - (us % RR_SECOND_US < 0 ? 1 : 0);

    made->kind = RR_SLOT_TIME;
    made->time.seconds = seconds;
    made->time.nanos = (us - seconds * RR_SECOND_US) * 1000;
    return made;
}

const rr_slot *rr_run_fetch(const rr_run *run, const rr_ref *ref, const rr_slot *item, rr_slot *made)
{
    const rr_mapping_input *in = run->input;

    switch (ref->from) {
    case RR_FROM_PATH: return fetch_slot(run, ref, item, made);
    case RR_FROM_HEADER: return fetch_header(in, ref->name, made);
    case RR_FROM_SUBJECT: return fetch_token(in->subject, ref->token, made);
    case RR_FROM_STREAM: return in->has_stream_time ? put_stream_time(made, in->stream_time_us) : &nothing;
    default: return &nothing;
    }
}
