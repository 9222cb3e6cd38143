/* The words of the specification, one table for each kind. Enums, output and the
 * tables of the documents are made from these tables.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_WORDS_H
#define RR_WORDS_H

#include <rr/slice.h>

/* verdict, how the delivery is settled, what it says (semantics, section 3). */
#define RR_VERDICT_TABLE(X) \
    X(APPLIED, ACK, "what readers see has changed") \
    X(DUPLICATE, ACK, "the same record is held already") \
    X(ABSORBED, ACK, "valid, and readers see no change") \
    X(STALE, ACK, "older than what is held: a stale overwrite attempt, not taken") \
    X(CONFLICT, ACK, "contradicts what is held: the held value stays and the conflict is open") \
    X(TOO_LATE, DEAD_LETTER, "arrived after the retention of its cell: a dead letter") \
    X(REFUSED, DEAD_LETTER, "breaks the contract: a dead letter with its reason")

/* reason, its word, what it says to a person (semantics, sections 4 and 10). In the order of the checks. */
#define RR_REASON_TABLE(X) \
    X(NONE, "", "no reason") \
    X(MALFORMED, "malformed", "the record cannot be decoded") \
    X(LIMIT_EXCEEDED, "limit_exceeded", "the record, or the cell with it, is larger than a limit") \
    X(UNROUTED, "unrouted", "no contract is configured for the subject of the record") \
    X(KEY_MISSING, "key_missing", "business_key is missing or empty") \
    X(MODE_MISMATCH, "mode_mismatch", "the producer says another mode than the contract") \
    X(WINDOW_UNEXPECTED, "window_unexpected", "a window, though the contract's is global") \
    X(WINDOW_MISSING, "window_missing", "window is missing, or has no start or no end") \
    X(WINDOW_INVERTED, "window_inverted", "the window's start is not before its end") \
    X(WINDOW_IMPLAUSIBLE, "window_implausible", "the window starts before the year 2000") \
    X(WINDOW_IN_FUTURE, "window_in_future", "the window ends too far in the future") \
    X(WINDOW_MISALIGNED, "window_misaligned", "the window is not one of the contract's") \
    X(METRIC_VERSION_MISSING, "metric_version_missing", "metric_version is missing or empty") \
    X(METRIC_VERSION_UNKNOWN, "metric_version_unknown", "the contract does not list metric_version") \
    X(OP_NOT_IN_MODE, "op_not_in_mode", "RETRACT, where nothing can be retracted") \
    X(CORRECTION_NOT_ALLOWED, "correction_not_allowed", "a correction, though the contract has none") \
    X(BASE_MISSING, "base_missing", "the correction does not state the base_version it rests on") \
    X(STATUS_NOT_ALLOWED, "status_not_allowed", "only a correction may be RECONCILED") \
    X(IDENTITY_MISSING, "identity_missing", "a delta without delta_id, and without producer and sequence") \
    X(VERSION_MISSING, "version_missing", "result_version is missing, or was never set") \
    X(VERSION_IMPLAUSIBLE, "version_implausible", "an epoch above the contract's max_epoch") \
    X(MEASURE_UNKNOWN, "measure_unknown", "a measure that the contract does not name") \
    X(MEASURE_TYPE, "measure_type", "a measure's value is not of the contract's type") \
    X(MEASURE_MISSING, "measure_missing", "a measure of the contract is missing") \
    X(BEYOND_RETENTION, "beyond_retention", "arrived at or after the window's end plus retention") \
    X(CELL_GONE, "cell_gone", "processed after its cell may have been removed")

/* alert kind, its word, what it says. */
#define RR_ALERT_TABLE(X) \
    X(STALE_OVERWRITE, "stale_overwrite", "an older result tried to replace a newer one") \
    X(EQUIVOCATION, "equivocation", "two contents under one identity") \
    X(RETRACTION_MISMATCH, "retraction_mismatch", "a withdrawal names other values than those held") \
    X(CORRECTION_CONFLICT, "correction_conflict", "a live revision and an offline correction disagree") \
    X(COVERED_UNSEEN, "covered_unseen", "a correction covers a record that it may not have seen") \
    X(OVERLAPPING_SESSIONS, "overlapping_sessions", "two sessions of one key overlap, and none spans both") \
    X(VALUE_FELL, "value_fell", "a measure that never falls fell: deltas in a cumulative stream?") \
    X(REOPENED, "reopened", "a result that was STREAM_CLOSED is PROVISIONAL again") \
    X(CONTRACT_VIOLATION, "contract_violation", "a record breaks the contract") \
    X(TOO_LATE, "too_late", "a record arrived after the retention of its cell") \
    X(SINK_ROLLED_BACK, "sink_rolled_back", "Redis had lost results that were stored; they were read again") \
    X(UNREPAIRABLE_GAP, "unrepairable_gap", "Redis had lost results, and the stream no longer has them") \
    X(SOURCE_ROLLED_BACK, "source_rolled_back", "the stream lost its end, or was made anew")

/* conflict, its word; in the order of the words, as cells list them. */
#define RR_CONFLICT_TABLE(X) \
    X(DIVERGENCE, "divergence", CORRECTION_CONFLICT) \
    X(EQUIVOCATION, "equivocation", EQUIVOCATION) \
    X(OVERLAPPING_SESSIONS, "overlapping_sessions", OVERLAPPING_SESSIONS) \
    X(RETRACTION_MISMATCH, "retraction_mismatch", RETRACTION_MISMATCH)

/* Words in records; the first of each is the default. */
#define RR_MODE_TABLE(X) X(UNSPECIFIED) X(CUMULATIVE) X(DELTA) X(RETRACTION)
#define RR_OP_TABLE(X) X(ASSERT) X(RETRACT)
#define RR_ORIGIN_TABLE(X) X(LIVE) X(CORRECTION)
#define RR_RESULT_STATUS_TABLE(X) X(PROVISIONAL) X(STREAM_CLOSED) X(RECONCILED)
#define RR_CAUSE_TABLE(X) \
    X(UNSPECIFIED) X(EARLY) X(ON_TIME) X(LATE) X(CORRECTION) X(BACKFILL) X(RECOMPUTE) X(SESSION_MERGE) X(RETRACTION)
#define RR_STATE_TABLE(X) X(present) X(withdrawn) X(merged)

typedef enum rr_verdict {
#define RR_X(name, settle, text) RR_VERDICT_##name,
    RR_VERDICT_TABLE(RR_X)
#undef RR_X
        RR_VERDICT_COUNT
} rr_verdict;

typedef enum rr_settle { RR_SETTLE_ACK, RR_SETTLE_DEAD_LETTER } rr_settle;

typedef enum rr_reason {
#define RR_X(name, word, text) RR_REASON_##name,
    RR_REASON_TABLE(RR_X)
#undef RR_X
        RR_REASON_COUNT
} rr_reason;

typedef enum rr_alert {
#define RR_X(name, word, text) RR_ALERT_##name,
    RR_ALERT_TABLE(RR_X)
#undef RR_X
        RR_ALERT_COUNT
} rr_alert;

typedef enum rr_conflict {
#define RR_X(name, word, alert) RR_CONFLICT_##name,
    RR_CONFLICT_TABLE(RR_X)
#undef RR_X
        RR_CONFLICT_COUNT
} rr_conflict;

#define RR_WORD_ENUM(type, prefix, TABLE, member) typedef enum type { TABLE(member) prefix##_COUNT } type
#define RR_X(name) RR_MODE_##name,
RR_WORD_ENUM(rr_mode, RR_MODE, RR_MODE_TABLE, RR_X);
#undef RR_X
#define RR_X(name) RR_OP_##name,
RR_WORD_ENUM(rr_op, RR_OP, RR_OP_TABLE, RR_X);
#undef RR_X
#define RR_X(name) RR_ORIGIN_##name,
RR_WORD_ENUM(rr_origin, RR_ORIGIN, RR_ORIGIN_TABLE, RR_X);
#undef RR_X
#define RR_X(name) RR_RESULT_##name,
RR_WORD_ENUM(rr_result_status, RR_RESULT, RR_RESULT_STATUS_TABLE, RR_X);
#undef RR_X
#define RR_X(name) RR_CAUSE_##name,
RR_WORD_ENUM(rr_cause, RR_CAUSE, RR_CAUSE_TABLE, RR_X);
#undef RR_X
#define RR_X(name) RR_STATE_##name,
RR_WORD_ENUM(rr_state, RR_STATE, RR_STATE_TABLE, RR_X);
#undef RR_X

/* A set of alerts or conflicts: bit k is the k-th row of its table. */
typedef uint32_t rr_alert_set;
typedef uint8_t rr_conflict_set;
#define RR_BIT(n) (1u << (n))

/* Word and sentence of a row. Never NULL for a valid row. */
const char *rr_verdict_word(rr_verdict verdict);
const char *rr_verdict_text(rr_verdict verdict);
rr_settle rr_verdict_settle(rr_verdict verdict);
const char *rr_reason_word(rr_reason reason);
const char *rr_reason_text(rr_reason reason);
const char *rr_alert_word(rr_alert alert);
const char *rr_alert_text(rr_alert alert);
const char *rr_conflict_word(rr_conflict conflict);
rr_alert rr_conflict_alert(rr_conflict conflict); /* the alert raised when it opens */
const char *rr_mode_word(rr_mode mode);
const char *rr_op_word(rr_op op);
const char *rr_origin_word(rr_origin origin);
const char *rr_result_word(rr_result_status status);
const char *rr_cause_word(rr_cause cause);
const char *rr_state_word(rr_state state);

/* The row of a word, or -1. UNSPECIFIED is no word: absent means that. */
int rr_mode_parse(rr_slice word);
int rr_op_parse(rr_slice word);
int rr_origin_parse(rr_slice word);
int rr_result_parse(rr_slice word);
int rr_cause_parse(rr_slice word);
int rr_reason_parse(rr_slice word);
int rr_alert_parse(rr_slice word);

#endif
