/* rr_item: one record on its way through a batch, with its outcome. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_ITEM_H
#define RR_ITEM_H

#include "join.h"

typedef struct rr_item {
    const rr_contract *contract; /* NULL: unknown; then `refused` is set */
    rr_record *record;           /* admitted, unless `refused` */
    size_t delivery;             /* for the caller: index of the delivery that the record came in */
    size_t index, of;            /* its place in that message, from 0, and how many the message holds */
    bool is_mapped;              /* a mapping made the record */
    bool refused;                /* in: the outcome is set already; only its alert is to be stored */
    rr_slice why;                /* a sentence for the decision log; may be empty */
    rr_outcome outcome;          /* out */
    bool settled;                /* out: effect and alerts are stored */
    bool stuck;                  /* out: they cannot be stored, and trying again soon will not help */
    size_t unit, next;           /* private to the batch */
} rr_item;

#endif
