/* The JetStream source: one durable pull consumer of a NATS stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SOURCE_JETSTREAM_H
#define RR_SOURCE_JETSTREAM_H

#include <rr/source.h>

extern const rr_source_ops rr_source_jetstream_ops;

#endif
