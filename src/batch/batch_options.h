/* The options of a batch, and what it counts. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_BATCH_OPTIONS_H
#define RR_BATCH_OPTIONS_H

#include <rr/error.h>

/* The last two count records, all others units. */
typedef struct rr_batch_counts {
    uint64_t loads, swaps;
    uint64_t won;
    uint64_t lost;         /* contention: the value changed after it had been read */
    uint64_t mispredicted; /* the unit was taken for absent without a load, and was in the store */
    uint64_t unknown;      /* the answer never came, or the store failed while it was at work */
    uint64_t failed;       /* given up: the unit is stuck */
    uint64_t reordered;    /* STALE records that this program, and not the stream, put behind a newer one: no alert */
    uint64_t suppressed;   /* decisions beyond RR_LIMIT_BATCH_ALERTS: counted, not logged */
} rr_batch_counts;

typedef struct rr_batch_options {
    rr_slice prefix;     /* of keys */
    bool log_decisions;  /* append alerts, STALE and CONFLICT to the decision log */
    bool list_open;      /* keep the sorted set of open conflicts */
    bool expire;         /* cells are removed some time after their retention (`apply` removes nothing) */
    bool forget;         /* drop session windows that may have expired */
    bool replayed;       /* the records were decided before (repair): a STALE one is no alert and is not logged */
    size_t cache_slots;  /* values kept from batch to batch, a power of two; 0: none */
    size_t send_from;    /* hand swaps to the store when so many are prepared, and prepare the next meanwhile; 0: 256 */
    size_t predict_from; /* load so many units before the first one is predicted to be absent; 0: 64 */
    void (*report_stuck)(void *context, const rr_error *error); /* a unit is stuck; may be NULL */
    void *context;
} rr_batch_options;

#endif
