/* What a message of another form becomes: records, or none. A mapping and a decoder of a plugin both give it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MAPPED_H
#define RR_MAPPED_H

#include "record.h"
#include "text.h"

enum { RR_MAPPING_RECORDS_MAX = 256 }; /* of one message */

/* One record of a message. */
typedef enum rr_mapped_kind {
    RR_MAPPED_RECORD,
    RR_MAPPED_SKIPPED,   /* by a rule: acknowledged and counted, no verdict */
    RR_MAPPED_MALFORMED, /* REFUSED malformed */
    RR_MAPPED_TOO_LARGE  /* REFUSED limit_exceeded */
} rr_mapped_kind;

typedef struct rr_mapped {
    rr_mapped_kind kind;
    rr_record record;   /* RECORD: as decoded; what the engine and rr_admit set is zero */
    const rr_text *why; /* MALFORMED and TOO_LARGE: a sentence for a person; else NULL */
} rr_mapped;

/* A whole message. */
typedef enum rr_mapping_outcome {
    RR_MAPPING_RECORDS,   /* count is at least 1, one for each, in the order of the message */
    RR_MAPPING_SKIPPED,   /* by a rule: no record; acknowledged and counted */
    RR_MAPPING_MALFORMED, /* REFUSED malformed as a whole: why */
    RR_MAPPING_TOO_LARGE, /* REFUSED limit_exceeded as a whole: why */
    RR_MAPPING_NO_MEMORY  /* ours: decide again later */
} rr_mapping_outcome;

typedef struct rr_mapping_result {
    rr_mapping_outcome outcome;
    rr_mapped *records; /* in the arena */
    size_t count;
    rr_text why;
} rr_mapping_result;

#endif
