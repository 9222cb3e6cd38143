/* What the loop keeps beside the cells: each second the contracts' texts, the readers' status and the checkpoint; and
 * the repair, a slice at a turn. Private to the engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_KEEPER_H
#define RR_KEEPER_H

#include "checkpoint.h"
#include "live.h"

/* What the loop knows of one source. */
typedef struct rr_live_reach {
    uint64_t sequence; /* the newest settled delivery */
    int64_t time_us;
    uint64_t digest;
    bool halted;       /* it was rolled back or made anew: nothing more is taken from it */
    rr_checkpoint checkpoint;
    char incarnation[128];
} rr_live_reach;

typedef struct live {
    const rr_live_options *options;
    rr_live_totals *totals;
    rr_batch *batch, *repair_batch;
    rr_arena arena;      /* of one batch: records, values, sentences */
    rr_arena tick_arena; /* of one tick */
    rr_buf text;
    rr_delivery *deliveries;
    rr_item *items;
    rr_record *records;
    size_t room;
    int64_t next_tick_us;
    rr_live_reach *reached; /* per source */
    bool down;              /* a server is away */
    char drainer[64];
} live;

void rr_live_talk(const live *l, rr_talk level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A contract of another text was stored: CONFIG. accept: it is replaced. */
rr_status rr_keeper_check_contracts(live *l, bool accept, rr_error *error);

/* What is due each second. Outages are no error here. CONFIG: it cannot go on. */
rr_status rr_keeper_tick(live *l, rr_error *error);

/* Reads a slice of what is to be repaired, of each source that has something. *busy: there is more. */
rr_status rr_keeper_repair(live *l, bool *busy, rr_error *error);

#endif
