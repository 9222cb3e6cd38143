/* All cells of a contract in a store, sorted, as `apply --cells` prints them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CELLS_H
#define RR_CELLS_H

#include <rr/store.h>

#include "contract.h"

/* Which cells; all zero: all. */
typedef struct rr_cells_filter {
    bool has_key, has_metric_version, has_window;
    rr_slice business_key, metric_version;
    rr_window window;
} rr_cells_filter;

/* Prints to standard output and counts. Reads the units that may match; memory grows with their keys.
 * filter, printed: may be NULL. */
rr_status rr_cells_print(const rr_store_ops *ops, rr_store *store, rr_slice prefix, const rr_contract *contract,
                         const rr_cells_filter *filter, uint64_t *printed, rr_error *error);

#endif
