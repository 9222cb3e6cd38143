/* The contract that a file of contracts starts from (semantics, section 4). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include "time.h"

#define DAY_US (86400 * RR_SECOND_US)

static const rr_measure_def default_measure = {.name = {"value", 5}, .type = RR_MEASURE_INT64};

const rr_contract rr_contract_defaults = {
    .window_kind = RR_WINDOW_ANY,
    .max_us = DAY_US,
    .measures = &default_measure,
    .measure_count = 1,
    .corrections = RR_CORRECTIONS_NONE,
    .during_conflict = RR_DURING_INCUMBENT,
    .retention_us = RR_FOREVER,
    .grace_us = DAY_US,
    .future_tolerance_us = DAY_US,
    .max_epoch = UINT32_MAX,
};
