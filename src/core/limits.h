/* Every bound of the core in one table: name, value, what it bounds, what happens beyond it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_LIMITS_H
#define RR_LIMITS_H

#define RR_LIMIT_TABLE(X) \
    X(RECORD_BYTES, 65536, "bytes of a record as the queue delivers it", "REFUSED limit_exceeded") \
    X(KEY_BYTES, 512, "bytes of business_key, metric_version, delta_id, producer or contributor", \
      "REFUSED limit_exceeded") \
    X(EVIDENCE_BYTES, 4096, "bytes of evidence", "REFUSED limit_exceeded") \
    X(MEASURES, 64, "measures of a contract or a record", "contract: an error; record: REFUSED limit_exceeded") \
    X(DECIMAL_DIGITS, 100, "digits of a decimal before the point, and after it", "REFUSED measure_type") \
    X(PARTS, 2000000, "delta identities or contributors of a cell (of all sessions of a key)", \
      "REFUSED limit_exceeded") \
    X(WINDOWS, 1000, "session windows of one business key and metric version", "REFUSED limit_exceeded") \
    X(CLAIMS, 64, "session windows that one delta identity is addressed to", "REFUSED limit_exceeded") \
    X(NAMED_VALUES, 16, "different values named by withdrawals of one version", \
      "CONFLICT retraction_mismatch, not held") \
    X(INLINE_BYTES, 640, "bytes of identities or contributors kept in the cell's own value", \
      "kept in a hash beside the cell") \
    X(BATCH_ALERTS, 1000, "decisions and alerts of one contract stored one by one in a batch", "counted") \
    X(ERAS, 8, "earlier retentions of a contract that its windows may still have", \
      "the two oldest count as one, the shorter")

enum rr_limit {
#define RR_X(name, value, what, beyond) RR_LIMIT_##name = (value),
    RR_LIMIT_TABLE(RR_X)
#undef RR_X
};

#endif
