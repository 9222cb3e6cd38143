/* What the loop keeps beside the cells: each second the contracts' texts, the readers' status and the checkpoint; and
 * the repair, a slice at a turn. Private to the engine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECOVERY_H
#define RR_RECOVERY_H

#include <pthread.h>

#include "checkpoint.h"
#include "service.h"

/* What the loop knows of one source. */
typedef struct rr_source_progress {
    uint64_t sequence; /* the newest settled delivery */
    int64_t time_us;
    uint64_t digest;
    bool untold;             /* ... and the alert of that could not be stored yet */
    int64_t since_us;        /* what was stored before was never meant for us */
    int64_t repair_after_us; /* a repair that failed rests until then */
    bool looked;             /* since the start the message at the floor was compared with its digest */
    bool doubted;            /* it delivered for the first time what was done already: is it still the same? */
    bool away;               /* queue or store did not answer at the last tick */
    bool halted;             /* it was rolled back or made anew: nothing more is taken from it */
    rr_checkpoint checkpoint;
} rr_source_progress;

/* One batch on its way. */
typedef struct rr_inflight {
    size_t source, count;
    rr_delivery *deliveries;
    rr_item *items;
    rr_record *records;
    int64_t told_us; /* when the queue last heard of them: their arrival, or that we are at work on them */
    rr_arena arena;  /* records, values, sentences */
    rr_status status;
    rr_error error;
    bool left; /* it is time to leave, and it is not decided */
    bool done; /* the worker is through with it; guarded by the lock */
} rr_inflight;

/* One is decided, and the next waits behind it, so that the worker never waits for who fills them. */
enum { RR_INFLIGHT_MOST = 2 };

typedef struct live {
    const rr_service_options *options;
    rr_service_totals *totals;
    rr_batch *batch, *repair_batch;
    rr_inflight slots[RR_INFLIGHT_MOST + 1]; /* one is filled while the others are under way */
    rr_inflight *flights[RR_INFLIGHT_MOST];  /* with the worker, or decided and not ended; the oldest first */
    size_t flight_count;
    size_t room;         /* of a slot */
    rr_arena tick_arena; /* of one tick */
    rr_buf text;
    int64_t next_tick_us;
    rr_source_progress *reached; /* per source */
    char incarnation[128];       /* of the store that all we hold of it is from; empty: never seen */
    bool unsure;                 /* an op failed since: it may be another one now */
    atomic_int down;             /* how many servers are away */
    atomic_ulong outages;
    atomic_bool leaving;
    rr_inflight *admitted; /* the one behind those that are under way */
    atomic_bool moved;     /* another generation of the prefix is in force: nothing more is acknowledged here */
    rr_arena note_arena;   /* of whoever uses the store at the moment */
    char drainer[64];
    /* the worker; guarded by the lock */
    bool working;
    pthread_t worker;
    pthread_mutex_t lock;
    pthread_cond_t work_there, work_done;
    rr_inflight *waiting[RR_INFLIGHT_MOST]; /* those that the worker has not taken yet */
    bool work_over;
} live;

void rr_service_log(const live *l, rr_log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* How the loop waits. */
void rr_service_sleep(const live *l, int ms);

/* Something that was asked of the store failed. Its next connection may lead to another one, so nothing that was seen of
 * it counts until it has said again who it is. */
void rr_recovery_suspect_store(live *l);

/* Asks who the store is. *same: still the one that all we hold of it is from; where it is not, nothing of that counts. */
rr_status rr_recovery_identify_store(live *l, bool *same, rr_error *error);

/* A contract of another text was stored: CONFIG. accept: it is replaced. Reads the eras; no batch is under way. */
rr_status rr_recovery_check_contracts(live *l, bool accept, rr_error *error);

/* Is our prefix still in force? Sets l->moved if not. Asked after each batch, before its acknowledgement: what is
 * acknowledged here was then delivered before the switch, and who goes on with the next generation reads again all that
 * was delivered by then. */
rr_status rr_recovery_check_generation(live *l, rr_error *error);

/* True if a second is over since the last tick, or the clock was set. */
bool rr_recovery_tick_due(const live *l);

/* What is due each second. Outages are no error here. CONFIG: it cannot go on. */
rr_status rr_recovery_tick(live *l, rr_error *error);

/* Tells readers how far it is, as well as it can. */
void rr_recovery_show_status(live *l);

/* Reads a slice of what is to be repaired, of each source that has something. *busy: there is more. Of a slice that is
 * read all effects are confirmed. */
rr_status rr_recovery_repair(live *l, bool *busy, rr_error *error);

#endif
