/* Cells as JSON: what `apply --cells` prints, and what readers find in the store (semantics, section 11). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_CELL_JSON_H
#define RR_CELL_JSON_H

#include "buf.h"

#include "facts.h"

/* `"state":…` to `"conflicts":[…]`, without braces. quoted: int64 measures as strings. */
void rr_cell_json(rr_buf *out, const rr_contract *contract, const rr_view *view, bool quoted);

/* `"start":…,"end":…` as RFC 3339 in braces. */
void rr_window_json(rr_buf *out, rr_window window);

/* A version: an integer if its epoch is 0, else an object; null if it is not set. */
void rr_version_json(rr_buf *out, rr_version version);

/* `{"count":3,"revenue":"10.1"}` */
void rr_values_json(rr_buf *out, const rr_contract *contract, rr_slice values, bool quoted);

/* A whole line of `apply --cells`, with its newline. */
void rr_cell_line(rr_buf *out, const rr_contract *contract, rr_slice business_key, rr_slice metric_version,
                  rr_window window, const rr_view *view);

/* `["a","b"]`: the alerts of a set, sorted by word; the conflicts of a set. */
void rr_alerts_json(rr_buf *out, rr_alert_set alerts);
void rr_conflicts_json(rr_buf *out, rr_conflict_set conflicts);

#endif
