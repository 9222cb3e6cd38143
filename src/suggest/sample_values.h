/* Adding paths and values to a sample, for the readers of JSON and protobuf. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SAMPLE_VALUES_H
#define RR_SAMPLE_VALUES_H

#include "sampled.h"

/* The path of a step below a parent. 0 (counted): there is no room, the path is too deep, or a configuration cannot hold
 * the step: it is empty, too long, no UTF-8, or has a NUL. */
uint16_t rr_sample_path(rr_sample *sample, uint16_t parent, rr_slice step);

/* Adds one value to the message being read. A later value of the same path and item replaces an earlier one. */
void rr_sample_put(rr_sample *sample, rr_value_seen value);
void rr_sample_put_text(rr_sample *sample, uint16_t path, uint16_t item, rr_value_kind kind, rr_slice text);
void rr_sample_put_int(rr_sample *sample, uint16_t path, uint16_t item, rr_value_kind kind, int64_t number);
void rr_sample_put_real(rr_sample *sample, uint16_t path, uint16_t item, double number);

#endif
