/* Deliveries admitted one behind the other into items, records and an arena that are used again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "intake.h"

#include <stdlib.h>
#include <string.h>

#include "admit.h"
#include "decoding.h"
#include "must.h"
#include "record_proto.h"

bool rr_intake_init(rr_intake *intake, size_t room)
{
    *intake = (rr_intake){0};
    rr_arena_init(&intake->arena, 0);
    rr_arena_init(&intake->scratch, 0);
    return rr_intake_reserve(intake, room);
}

void rr_intake_fini(rr_intake *intake)
{
    rr_arena_fini(&intake->arena);
    rr_arena_fini(&intake->scratch);
    free(intake->items);
    free(intake->records);
    *intake = (rr_intake){0};
}

bool rr_intake_reserve(rr_intake *intake, size_t room)
{
    RR_MUST(intake->count == 0);
    if (intake->room >= room) {
        return true;
    }
    free(intake->items);
    free(intake->records);
    intake->items = calloc(room, sizeof *intake->items);
    intake->records = calloc(room, sizeof *intake->records);
    intake->room = intake->items == NULL || intake->records == NULL ? 0 : room;
    intake->item_room = intake->room;
    return intake->room != 0;
}

/* A message can hold many records, so there may be more items than deliveries. No batch has the items yet, so they
 * may move. */
static bool reserve_items(rr_intake *intake, size_t more)
{
    size_t room = intake->item_room;
    rr_item *items;

    if (room - intake->count >= more) {
        return true;
    }
    while (room - intake->count < more) {
        room *= 2;
    }
    items = realloc(intake->items, room * sizeof *items);
    if (items == NULL) {
        return false;
    }
    intake->items = items;
    intake->item_room = room;
    return true;
}

static void observe(rr_intake *intake, const rr_record *record, rr_slice rule)
{
    if (intake->observe != NULL) {
        intake->observe(intake->observer, record, rule);
    }
}

/* The contract says what is wrong with a field, the mapping which path it came from. */
static void add_paths(rr_item *item, const rr_mapping *mapping, rr_arena *arena)
{
    rr_text text = {.len = item->why.len < RR_TEXT_MAX ? item->why.len : RR_TEXT_MAX};
    rr_slice copy;

    memcpy(text.bytes, item->why.data, text.len);
    rr_mapping_explain(mapping, item->outcome.reason, item->record, &text);
    copy = rr_arena_copy(arena, (rr_slice){text.bytes, text.len});
    item->why = copy.data == NULL ? item->why : copy;
}

/* The next item, of a record at its place in the message. */
static bool add_item(rr_intake *intake, rr_bound_route route, rr_record *record, rr_decoded decoded, rr_text *why,
                     rr_slice stream, const rr_delivery *delivery, int64_t now_us)
{
    rr_item *item = &intake->items[intake->count];

    observe(intake, decoded == RR_DECODED_RECORD ? record : NULL, (rr_slice){NULL, 0});
    if (!rr_admit_decoded(item, route.contract, record, decoded, why, stream, delivery, now_us, &intake->arena)) {
        return false;
    }
    item->delivery = intake->deliveries;
    item->is_mapped = !rr_route_is_own_form(route);
    if (route.mapping != NULL && item->refused && decoded == RR_DECODED_RECORD && item->why.len != 0) {
        add_paths(item, route.mapping, &intake->arena);
    }
    intake->count++;
    return true;
}

static bool add_own_form(rr_intake *intake, rr_bound_route route, rr_slice stream, const rr_delivery *delivery,
                         int64_t now_us)
{
    rr_record *record = &intake->records[intake->deliveries];
    rr_text why;
    int64_t clock_us;
    rr_decoded decoded;

    why.len = 0;
    decoded = rr_record_from_proto(delivery->payload, false, &intake->arena, record, &clock_us, &why);
    return decoded != RR_DECODED_NO_MEMORY && reserve_items(intake, 1) &&
           add_item(intake, route, record, decoded, &why, stream, delivery, now_us);
}

/* A message that cannot be decoded as a whole becomes one refused record. */
static bool add_broken(rr_intake *intake, rr_bound_route route, rr_decoded decoded, rr_text *why, rr_slice stream,
                       const rr_delivery *delivery, int64_t now_us)
{
    rr_record *record = &intake->records[intake->deliveries];

    *record = (rr_record){0};
    return reserve_items(intake, 1) && add_item(intake, route, record, decoded, why, stream, delivery, now_us);
}

static rr_decoded decoded_as(rr_mapped_kind kind)
{
    return kind == RR_MAPPED_RECORD      ? RR_DECODED_RECORD
           : kind == RR_MAPPED_TOO_LARGE ? RR_DECODED_TOO_LARGE
                                         : RR_DECODED_MALFORMED;
}

static bool add_records(rr_intake *intake, rr_bound_route route, rr_mapping_result *result, rr_slice stream,
                        const rr_delivery *delivery, int64_t now_us)
{
    size_t before = intake->count, skipped = 0;

    if (!reserve_items(intake, result->count)) {
        return false;
    }
    for (size_t k = 0; k < result->count; k++) {
        rr_mapped *mapped = &result->records[k];
        rr_text why;

        if (mapped->kind == RR_MAPPED_SKIPPED) {
            skipped++;
            observe(intake, NULL, RR_SLICE("`op` becomes SKIP"));
            continue;
        }
        why.len = 0;
        if (mapped->why != NULL) {
            why = *mapped->why;
        }
        if (!add_item(intake, route, &mapped->record, decoded_as(mapped->kind), &why, stream, delivery, now_us)) {
            intake->count = before;
            return false;
        }
        intake->items[intake->count - 1].index = k;
        intake->items[intake->count - 1].of = result->count;
    }
    intake->skipped += skipped;
    return true;
}

static void map(rr_intake *intake, const rr_mapping *mapping, const rr_delivery *delivery, rr_mapping_result *result)
{
    rr_mapping_input input = {.message = delivery->payload,
                              .subject = delivery->subject,
                              .headers = delivery->headers,
                              .header_count = delivery->header_count,
                              .has_stream_time = delivery->stored_at_us != RR_NEVER_STORED,
                              .stream_time_us = delivery->stored_at_us};

    rr_mapping_run(mapping, &input, &intake->arena, &intake->scratch, result);
}

static void ask_decoder(rr_intake *intake, rr_bound_route route, const rr_delivery *delivery, rr_mapping_result *result)
{
    rr_decoder_message message = {.payload = delivery->payload,
                                  .subject = delivery->subject,
                                  .headers = delivery->headers,
                                  .header_count = delivery->header_count,
                                  .stored_at_us = delivery->stored_at_us};

    rr_decoder_run(route.decoder_ops, route.decoder, &message, &intake->arena, &intake->scratch, result);
}

static bool add_foreign(rr_intake *intake, rr_bound_route route, rr_slice stream, const rr_delivery *delivery,
                        int64_t now_us)
{
    rr_mapping_result result;

    if (route.mapping != NULL) {
        map(intake, route.mapping, delivery, &result);
    } else {
        ask_decoder(intake, route, delivery, &result);
    }
    switch (result.outcome) {
    case RR_MAPPING_RECORDS: return add_records(intake, route, &result, stream, delivery, now_us);
    case RR_MAPPING_SKIPPED:
        intake->skipped++;
        observe(intake, NULL,
                result.why.len != 0 ? (rr_slice){result.why.bytes, result.why.len}
                                    : RR_SLICE("the decoder makes no record of this message"));
        return true;
    case RR_MAPPING_MALFORMED:
    case RR_MAPPING_TOO_LARGE:
        return add_broken(intake, route,
                          result.outcome == RR_MAPPING_MALFORMED ? RR_DECODED_MALFORMED : RR_DECODED_TOO_LARGE,
                          &result.why, stream, delivery, now_us);
    case RR_MAPPING_NO_MEMORY: break;
    }
    return false;
}

bool rr_intake_add(rr_intake *intake, const rr_bound_source *source, const rr_delivery *delivery, int64_t now_us)
{
    return rr_intake_add_routed(intake, source->route(source->context, delivery->subject), source->stream, delivery,
                                now_us);
}

bool rr_intake_add_routed(rr_intake *intake, rr_bound_route route, rr_slice stream, const rr_delivery *delivery,
                          int64_t now_us)
{
    bool good;

    RR_MUST(intake->deliveries < intake->room);
    good = rr_route_is_own_form(route) ? add_own_form(intake, route, stream, delivery, now_us)
                                       : add_foreign(intake, route, stream, delivery, now_us);
    intake->deliveries += good;
    return good;
}

void rr_intake_drop_refused(rr_intake *intake, size_t from, void (*refused)(void *context, const rr_item *item),
                            void *context)
{
    size_t kept = from;

    for (size_t k = from; k < intake->count; k++) {
        if (!intake->items[k].refused) {
            intake->items[kept++] = intake->items[k];
        } else if (refused != NULL) {
            refused(context, &intake->items[k]);
        }
    }
    intake->count = kept;
}

void rr_intake_reset(rr_intake *intake)
{
    rr_arena_reset(&intake->arena);
    intake->count = intake->deliveries = intake->skipped = 0;
}

int64_t rr_intake_replay_clock(const rr_contract *contract, int64_t now_us)
{
    return contract != NULL && contract->window_kind == RR_WINDOW_SESSION ? INT64_MIN : now_us;
}
