/* All cells of a contract in a store, sorted, as `apply --cells` prints them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CELLS_H
#define RR_CELLS_H

#include "listing.h"

/* Prints to standard output. filter: NULL for all cells. printed: how many, may be NULL. */
rr_status rr_cells_print(const rr_store_ops *ops, rr_store *store, rr_slice prefix, const rr_contract *contract,
                         const rr_listing_filter *filter, uint64_t *printed, rr_error *error);

#endif
