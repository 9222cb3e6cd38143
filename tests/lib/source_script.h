/* rr_source_script: a source that delivers given records, in memory, and remembers what became of each.
 *
 * Records that were released, or not acknowledged when it is rewound, come again. What is published (dead letters) is
 * kept by the sequence that its subject ends in. Nothing here allocates but `new`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_TEST_SOURCE_SCRIPT_H
#define RR_TEST_SOURCE_SCRIPT_H

#include <rr/source.h>

enum { RR_SCRIPT_MAX = 2048 };

typedef struct rr_script_record {
    rr_slice subject, payload; /* must outlive the source */
    int64_t stored_at_us;
} rr_script_record;

extern const rr_source_ops rr_source_script_ops; /* its open refuses: make one with `new` */

/* Of at most RR_SCRIPT_MAX records; sequences count from 1. on_ack (may be NULL) is called before a record counts as
 * acknowledged. NULL: memory ran out. */
rr_source *rr_source_script_new(const rr_script_record *records, size_t count,
                                void (*on_ack)(void *context, const rr_delivery *delivery), void *context);

/* What `info`, `replay` and `find_time` say of the stream: sequences below `first` are gone, those above `last`
 * never were; made at this time. Unset: all records, made at 1. */
void rr_source_script_set_stream(rr_source *source, uint64_t first, uint64_t last, int64_t created_at_us);

/* Delivers again, from the first, what is not acknowledged. */
void rr_source_script_rewind(rr_source *source);

/* Delivers this record only after all others were delivered. */
void rr_source_script_hold_back(rr_source *source, uint64_t sequence);

/* The next so many calls of publish store nothing. */
void rr_source_script_fail_publish(rr_source *source, unsigned times);

size_t rr_source_script_acked(const rr_source *source); /* how many records were acknowledged */
bool rr_source_script_is_acked(const rr_source *source, uint64_t sequence);
bool rr_source_script_has_letter(const rr_source *source, uint64_t sequence);

#endif
