/* Keys in a store: <prefix>:{<contract>:<business key>}:<metric version>:<start>-<end>
 *
 * Times are microseconds since the epoch. Under a global window the last part
 * and its colon are not there; for the index of a group of sessions it is the
 * word "sessions". In contract, business key and metric version every byte but
 * A-Z a-z 0-9 - . _ ~ is percent-encoded in upper-case hex. So two identities
 * never have the same key, and only the braces of the key itself choose the slot
 * of a Redis cluster.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_KEY_H
#define RR_KEY_H

#include "buf.h"
#include "contract.h"

/* Appends the key of a cell. prefix goes in as it is; the window of a global contract is ignored. */
void rr_key_unit(rr_buf *out, rr_slice prefix, const rr_contract *contract, rr_slice business_key,
                 rr_slice metric_version, rr_window window);

/* Appends the key of the index of all sessions of one business key and metric version. */
void rr_key_sessions(rr_buf *out, rr_slice prefix, const rr_contract *contract, rr_slice business_key,
                     rr_slice metric_version);

/* Appends the text, percent-encoded as the parts of a key are. */
void rr_key_escape(rr_buf *out, rr_slice text);

typedef struct rr_key_parts {
    rr_slice contract, business_key, metric_version; /* decoded */
    bool has_window, is_sessions;                    /* neither: global */
    rr_window window;
} rr_key_parts;

/* Takes a key apart; decoded parts lie in the arena. Only what the functions above write is a key: false for lower-case
 * hex, for an encoding of a byte that needs none, for a time with leading zeros (and if the arena is exhausted). */
bool rr_key_parse(rr_slice key, rr_slice prefix, rr_arena *arena, rr_key_parts *parts);

#endif
