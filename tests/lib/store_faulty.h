/* rr_store_faulty: wraps any store and loses, delays or makes unknown what a plan says.
 *
 * Calls of each op are counted from 1. Until its fault is due a call goes through
 * unchanged. The caller sees what a broken connection shows: UNAVAILABLE, and
 * swaps that are UNKNOWN from some item on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_STORE_FAULTY_H
#define RR_TEST_STORE_FAULTY_H

#include <rr/store.h>

typedef enum rr_fault_op {
    RR_FAULT_LOAD,
    RR_FAULT_READ_PARTS,
    RR_FAULT_SWAP,
    RR_FAULT_CONFIRM,
    RR_FAULT_OPS
} rr_fault_op;

typedef enum rr_fault_kind {
    RR_FAULT_NOT_SENT,    /* nothing is done, no answer */
    RR_FAULT_NO_ANSWER,   /* it is done, the answer is lost */
    RR_FAULT_LATE,        /* swaps: no answer now; done before the call (of any op) that comes `late` calls after */
    RR_FAULT_UNCONFIRMED, /* swaps: done and answered, but the replicas have not confirmed; confirm: they have not */
    RR_FAULT_RIVAL        /* `rival` runs first, on the store that is wrapped; then the call goes through */
} rr_fault_kind;

typedef struct rr_fault {
    rr_fault_op op;
    rr_fault_kind kind;
    size_t nth;       /* the first call that it hits, from 1 */
    size_t times;     /* how many calls in a row; 0 is 1 */
    size_t from_item; /* swaps before this one in the call are answered as usual */
    size_t late;      /* LATE: 1 is before the very next call */
    void (*rival)(void *context, rr_store *inner);
    void *context;
} rr_fault;

extern const rr_store_ops rr_store_faulty_ops; /* its open refuses: wrap an open store */

/* Takes over `inner`, which close closes. The plan must outlive the store. NULL: memory ran out. */
rr_store *rr_store_faulty_new(const rr_store_ops *ops, rr_store *inner, const rr_fault *plan, size_t faults);

/* How often an op was called. */
size_t rr_store_faulty_calls(const rr_store *store, rr_fault_op op);

/* Does now what is still late. */
void rr_store_faulty_settle(rr_store *store);

#endif
