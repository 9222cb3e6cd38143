/* Entries of the decision log: a decision with its record, as one JSON object. The outbox makes alerts from them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DECISION_H
#define RR_DECISION_H

#include "batch.h"

/* Whether a decision is logged: STALE, CONFLICT, and every one that raised an alert (semantics, law 5). */
bool rr_decision_due(const rr_outcome *outcome);

/* The entry, in the arena; {NULL, 0} if memory ran out. `text` is scratch memory. */
rr_slice rr_decision_write(const rr_item *item, int64_t now_us, rr_buf *text, rr_arena *arena);

/* An alert that is about a source and not about a record. */
rr_slice rr_decision_write_notice(rr_alert alert, rr_slice source, rr_slice stream, rr_slice why, int64_t now_us,
                                  rr_buf *text, rr_arena *arena);

/* `<prefix>:log:{<contract>}` and `<prefix>:open:{<contract>}`; of a record without contract: `{}`. */
rr_slice rr_decision_log_key(rr_slice prefix, const rr_contract *contract, rr_buf *text, rr_arena *arena);
rr_slice rr_decision_open_key(rr_slice prefix, const rr_contract *contract, rr_buf *text, rr_arena *arena);

/* `<prefix>:<kind>:{<name>}`, the name percent-encoded as in every key. */
rr_slice rr_engine_key(rr_slice prefix, const char *kind, rr_slice name, rr_buf *text, rr_arena *arena);

#endif
