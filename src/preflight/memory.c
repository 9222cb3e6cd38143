/* The memory that contracts want: keys x windows x kept time, and identities. In doubles: an estimate has no need of
 * exact sums, and must not overflow. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "rows.h"
#include "time.h"

/* Bytes of Redis 7.0 memory, measured with cells of one measure: 510 to 580 a cell; an identity takes 40 in a small hash
 * and 90 in one above 128 fields. */
enum { CELL_BYTES = 600, IDENTITY_BYTES = 100 };

#define DAY_US (INT64_C(86400) * RR_SECOND_US)

_Static_assert((int)RR_AMOUNT_MAX > (int)RR_TIME_TEXT_MAX, "a duration and its NUL");

const char *rr_amount_bytes(double bytes, char text[RR_AMOUNT_MAX])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, RR_AMOUNT_MAX, bytes < 10 && unit != 0 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

const char *rr_amount_us(int64_t us, char text[RR_AMOUNT_MAX])
{
    text[rr_duration_print(us, text)] = '\0';
    return text;
}

typedef struct want {
    double bytes;       /* of all that is kept at once */
    double daily_bytes; /* that each day adds, without end */
    size_t unknown;     /* contracts whose windows cannot be counted */
    const char *most;   /* a word before the number: sessions can only be bounded */
} want;

static double cell_bytes(const rr_contract *contract, const rr_preflight_hopes *hopes)
{
    double beside = contract->mode == RR_MODE_CUMULATIVE ? 0 : (double)hopes->identities * IDENTITY_BYTES;

    return CELL_BYTES + beside;
}

/* From the start of one window to that of the next, of one key; 0: no telling. */
static int64_t step_of(const rr_contract *contract)
{
    switch (contract->window_kind) {
    case RR_WINDOW_TUMBLING:
    case RR_WINDOW_SLIDING: return contract->slide_us;
    case RR_WINDOW_SESSION: return contract->gap_us;
    default: return 0;
    }
}

static void add_contract(want *sum, const rr_contract *contract, const rr_preflight_hopes *hopes)
{
    double each = (double)hopes->keys * cell_bytes(contract, hopes);
    int64_t step_us = step_of(contract);

    if (contract->window_kind == RR_WINDOW_GLOBAL) {
        sum->bytes += each;
    } else if (step_us <= 0) {
        sum->bytes += each;
        sum->unknown++;
    } else if (contract->retention_us == RR_FOREVER) {
        sum->daily_bytes += each * (double)DAY_US / (double)step_us;
    } else {
        double kept_us = (double)contract->retention_us + (double)contract->grace_us + (double)contract->size_us;

        sum->bytes += each * (kept_us / (double)step_us + 1);
    }
    if (contract->window_kind == RR_WINDOW_SESSION) {
        sum->most = "at most ";
    }
}

static want sum_up(const rr_preflight *all)
{
    want sum = {.most = "about "};

    for (size_t k = 0; k < all->config->contracts.count; k++) {
        add_contract(&sum, &all->config->contracts.items[k], &all->hopes);
    }
    return sum;
}

static bool say(const rr_preflight_view *view, const want *sum)
{
    char bytes[RR_AMOUNT_MAX], daily[RR_AMOUNT_MAX], bound[RR_AMOUNT_MAX], growth[96] = "", rest[160] = "";

    if (sum->daily_bytes > 0) {
        snprintf(growth, sizeof growth, ", and %s more each day without end", rr_amount_bytes(sum->daily_bytes, daily));
    }
    if (sum->unknown != 0) {
        snprintf(rest, sizeof rest, "; windows of kind any cannot be counted: one a key was taken for %zu contracts",
                 sum->unknown);
    }
    return rr_preflight_say(
        view, "%llu keys want %s%s%s; maxmemory is %s%s", (unsigned long long)view->all->hopes.keys, sum->most,
        rr_amount_bytes(sum->bytes, bytes), growth,
        view->store->max_memory > 0 ? rr_amount_bytes((double)view->store->max_memory, bound) : "not set", rest);
}

static bool is_short(const rr_preflight_view *view, const want *sum)
{
    return view->store->max_memory > 0 && sum->bytes > (double)view->store->max_memory;
}

bool rr_preflight_memory_short(const rr_preflight_view *view)
{
    want sum = sum_up(view->all);

    return view->all->hopes.keys != 0 && is_short(view, &sum) && say(view, &sum);
}

bool rr_preflight_memory_estimated(const rr_preflight_view *view)
{
    want sum = sum_up(view->all);

    return view->all->hopes.keys != 0 && !is_short(view, &sum) && say(view, &sum);
}
