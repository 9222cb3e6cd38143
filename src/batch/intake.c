/* Deliveries admitted one behind the other into items, records and an arena that are used again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "intake.h"

#include <stdlib.h>

#include "admit.h"
#include "must.h"

bool rr_intake_init(rr_intake *intake, size_t room)
{
    *intake = (rr_intake){0};
    rr_arena_init(&intake->arena, 0);
    return rr_intake_reserve(intake, room);
}

void rr_intake_fini(rr_intake *intake)
{
    rr_arena_fini(&intake->arena);
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
    return intake->room != 0;
}

rr_item *rr_intake_add(rr_intake *intake, const rr_bound_source *source, const rr_delivery *delivery, int64_t now_us)
{
    return rr_intake_add_routed(intake, source->route(source->context, delivery->subject), source->stream, delivery,
                                now_us);
}

rr_item *rr_intake_add_routed(rr_intake *intake, const rr_contract *contract, rr_slice stream,
                              const rr_delivery *delivery, int64_t now_us)
{
    rr_item *item = &intake->items[intake->count];

    RR_MUST(!rr_intake_is_full(intake));
    if (!rr_admit_payload(contract, stream, delivery, now_us, &intake->arena, item, &intake->records[intake->count])) {
        return NULL;
    }
    intake->count++;
    return item;
}

void rr_intake_drop_last(rr_intake *intake)
{
    RR_MUST(intake->count != 0);
    intake->count--;
    intake->dropped++;
}

void rr_intake_reset(rr_intake *intake)
{
    rr_arena_reset(&intake->arena);
    intake->count = intake->dropped = 0;
}

int64_t rr_intake_replay_clock(const rr_contract *contract, int64_t now_us)
{
    return contract != NULL && contract->window_kind == RR_WINDOW_SESSION ? INT64_MIN : now_us;
}
