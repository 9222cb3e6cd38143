/* All cells of a contract in a store, sorted, as `apply --cells` prints them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CELLS_H
#define RR_CELLS_H

#include <rr/store.h>

#include "contract.h"

/* Prints to standard output. Reads every unit of the contract under the prefix; memory grows with their keys. */
rr_status rr_cells_print(const rr_store_ops *ops, rr_store *store, rr_slice prefix,
                         const rr_contract *contract, rr_error *error);

#endif
