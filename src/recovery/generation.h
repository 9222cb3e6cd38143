/* rr_generation: which prefix of keys is in force.
 *
 * All that a reconciler keeps stands below one prefix. A rebuild fills another
 * one beside it, `<prefix>.g<number>`, and then names that in the note
 * `<prefix>:generation`. Where the note is absent the configured prefix itself is
 * in force. So readers are switched over by one key, and see either all of the
 * one or all of the other.
 *
 *   <prefix>:generation   the prefix in force, plain text, for readers too
 *   <prefix>:pause        while it is there no batch is begun: a switch is under way. It goes by itself
 *   <prefix>:rebuild      who rebuilds; guards the switch
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_GENERATION_H
#define RR_GENERATION_H

#include <rr/store.h>

#include "buf.h"

enum { RR_GENERATION_PREFIX_MAX = 128 }; /* with the NUL: 64 of the configuration, and a number */

/* Appends `<base>:generation` and the like. */
void rr_generation_key(rr_buf *out, rr_slice base, const char *kind);

/* Appends the prefix of a generation; 0: the base itself. */
void rr_generation_prefix(rr_buf *out, rr_slice base, uint64_t number);

/* The generation that a key belongs to, and what stands behind its prefix, from the colon on. False: it is below no
 * prefix of this base. */
bool rr_generation_of_key(rr_slice base, rr_slice key, uint64_t *number, rr_slice *rest);

/* The prefix in force, in the arena, and its number. CONFIG: the note is not one of ours. */
rr_status rr_generation_read(const rr_store_ops *ops, rr_store *store, rr_slice base, rr_arena *arena, rr_slice *prefix,
                             uint64_t *number, rr_error *error);

#endif
