/* The mappings that the stored cells were decoded by, held against those of this process: two processes must never
 * decode one stream in two ways. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_MAPPING_CHECK_H
#define RR_MAPPING_CHECK_H

#include "recovery_state.h"

/* Whose mappings may have changed. */
typedef enum rr_mappings_accept {
    RR_MAPPINGS_ACCEPT_NONE,
    RR_MAPPINGS_ACCEPT_HELD, /* at the start: a corrected mapping is what a held source waits for. Its hold ends then */
    RR_MAPPINGS_ACCEPT_ALL
} rr_mappings_accept;

/* Of what a source's mappings do; equal for equal fingerprints. */
uint64_t rr_mappings_digest(const rr_bound_source *source);

/* Compares the canonical text of each source's mappings with its note in the store, `<prefix>:mapping:{<source>}`, and
 * writes the note where there is none. CONFIG: the stored mappings are other ones, and that is not accepted. */
rr_status rr_mappings_check(rr_recovery *recovery, rr_mappings_accept accept, rr_error *error);

#endif
