/* rr_listing: the keys of all units of a contract in a store, sorted by business key, metric version and window. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_LISTING_H
#define RR_LISTING_H

#include <rr/store.h>

#include "contract.h"

/* Which units; all zero: all. A session group matches every window. */
typedef struct rr_listing_filter {
    bool has_key, has_metric_version, has_window;
    rr_slice business_key, metric_version;
    rr_window window;
} rr_listing_filter;

typedef struct rr_listed {
    rr_slice key, business_key, metric_version;
    rr_window window; /* {0, 0} of a group of sessions, and under a global window */
} rr_listed;

/* All zero is empty. Memory grows with the number of keys, not with the values. */
typedef struct rr_listing {
    rr_listed *items;
    size_t count, room;
    rr_arena arena;
} rr_listing;

/* Scans the store's keys below the prefix. filter may be NULL. Whatever it returns, the listing is to be ended by
 * rr_listing_fini. */
rr_status rr_listing_read(rr_listing *listing, const rr_store_ops *ops, rr_store *store, rr_slice prefix,
                          const rr_contract *contract, const rr_listing_filter *filter, rr_error *error);
/* Adds the units that only `more` has, and keeps the order. False: memory ran out. */
bool rr_listing_merge(rr_listing *listing, const rr_listing *more);
void rr_listing_fini(rr_listing *listing);

/* The order of the listing. */
int rr_listed_compare(const rr_listed *a, const rr_listed *b);

#endif
