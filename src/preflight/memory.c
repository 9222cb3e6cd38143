/* The estimate of the memory that the contracts need: keys x windows x retention, and identities. It computes in
 * doubles: an estimate needs no exact sums, and must not overflow. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rows.h"
#include "time.h"

/* Bytes of Redis 7.0 memory, measured with cells of one measure: 510 to 580 a cell. An identity takes 40 in a small
 * hash and 90 in one above 128 fields. */
enum { CELL_BYTES = 600, IDENTITY_BYTES = 100 };

#define DAY_US (INT64_C(86400) * RR_SECOND_US)

typedef struct estimate {
    double bytes;          /* of all cells that are kept at once */
    double daily_bytes;    /* that each day adds, without end */
    size_t uncountable;    /* contracts whose windows cannot be counted */
    const char *qualifier; /* a word before the number: session windows have only an upper bound */
} estimate;

static double cell_bytes(const rr_contract *contract, const rr_preflight_expected *expected)
{
    double identities = contract->mode == RR_MODE_CUMULATIVE ? 0 : (double)expected->identities * IDENTITY_BYTES;

    return CELL_BYTES + identities;
}

/* From the start of one window of a key to the start of the next; 0: unknown. */
static int64_t window_step_us(const rr_contract *contract)
{
    switch (contract->window_kind) {
    case RR_WINDOW_TUMBLING:
    case RR_WINDOW_SLIDING: return contract->slide_us;
    case RR_WINDOW_SESSION: return contract->gap_us;
    default: return 0;
    }
}

static void add_contract(estimate *sum, const rr_contract *contract, const rr_preflight_expected *expected)
{
    double each = (double)expected->keys * cell_bytes(contract, expected);
    int64_t step_us = window_step_us(contract);

    if (contract->window_kind == RR_WINDOW_GLOBAL) {
        sum->bytes += each;
    } else if (step_us <= 0) {
        sum->bytes += each;
        sum->uncountable++;
    } else if (contract->retention_us == RR_FOREVER) {
        sum->daily_bytes += each * (double)DAY_US / (double)step_us;
    } else {
        double kept_us = (double)contract->retention_us + (double)contract->grace_us + (double)contract->size_us;

        sum->bytes += each * (kept_us / (double)step_us + 1);
    }
    if (contract->window_kind == RR_WINDOW_SESSION) {
        sum->qualifier = "at most ";
    }
}

static estimate add_contracts(const rr_preflight *all)
{
    estimate sum = {.qualifier = "about "};

    for (size_t k = 0; k < all->config->contracts.count; k++) {
        add_contract(&sum, &all->config->contracts.items[k], &all->expected);
    }
    return sum;
}

static bool report_estimate(const rr_preflight_view *view, const estimate *sum)
{
    char bytes[RR_AMOUNT_MAX], daily[RR_AMOUNT_MAX], bound[RR_AMOUNT_MAX], growth[96] = "", rest[160] = "";

    if (sum->daily_bytes > 0) {
        snprintf(growth, sizeof growth, ", and %s more each day without end", rr_amount_bytes(sum->daily_bytes, daily));
    }
    if (sum->uncountable != 0) {
        snprintf(rest, sizeof rest,
                 "; windows of kind any cannot be counted: the estimate takes one a key for %zu contracts",
                 sum->uncountable);
    }
    return rr_preflight_report(
        view, "%llu keys need %s%s%s; maxmemory is %s%s", (unsigned long long)view->all->expected.keys, sum->qualifier,
        rr_amount_bytes(sum->bytes, bytes), growth,
        view->store->max_memory > 0 ? rr_amount_bytes((double)view->store->max_memory, bound) : "not set", rest);
}

static bool is_above_maxmemory(const rr_preflight_view *view, const estimate *sum)
{
    return view->store->max_memory > 0 && sum->bytes > (double)view->store->max_memory;
}

static bool compare_estimate(const rr_preflight_view *view, bool is_above)
{
    estimate sum = add_contracts(view->all);

    return view->all->expected.keys != 0 && is_above_maxmemory(view, &sum) == is_above && report_estimate(view, &sum);
}

bool rr_preflight_find_memory_short(const rr_preflight_view *view)
{
    return compare_estimate(view, true);
}

bool rr_preflight_find_memory_enough(const rr_preflight_view *view)
{
    return compare_estimate(view, false);
}
