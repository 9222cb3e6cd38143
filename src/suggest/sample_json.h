/* One message of JSON, as paths and values. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SAMPLE_JSON_H
#define RR_SAMPLE_JSON_H

#include "sampled.h"

/* NULL, or why the payload cannot be read. */
const char *rr_sample_read_json(rr_sample *sample, rr_slice payload);

#endif
