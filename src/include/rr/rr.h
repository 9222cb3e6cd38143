/* librr: the reconciler inside your own consumer.
 *
 * Your consumer fetches records from its queue, calls rr_reconciler_take, and
 * acknowledges. When rr_reconciler_take returns OK, the effect and the alerts of
 * each record whose answer is `stored` are in the store: acknowledge those. After
 * any failure call it again with the same records: taking a record twice has the
 * same effect as taking it once.
 *
 * Payloads are rr.v1.Result. Those of another form, protobuf or JSON, need a mapping: then one input may become
 * several records, or none where a rule of the mapping skips it. An input is acknowledged as a whole.
 *
 *     rr_reconciler *r;
 *     rr_error error = {0};
 *
 *     rr_reconciler_options options = {.contract_yaml = yaml, .store_url = "redis://127.0.0.1:6379"};
 *
 *     if (rr_reconciler_open(&options, &r, &error) != RR_OK) {
 *         ... error.text ...
 *     }
 *     status = rr_reconciler_take(r, inputs, count, answers, &error);
 *     rr_reconciler_close(r);
 *
 * One reconciler belongs to one thread at a time. Link with -lrr (pkg-config rr).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RR_H
#define RR_RR_H

#include <rr/error.h>
#include <rr/slice.h>
#include <rr/source.h>

typedef struct rr_reconciler rr_reconciler;

/* Texts are read while it is opened and may go afterwards. */
typedef struct rr_reconciler_options {
    /* The text of a file of contracts (`contracts:`, a list). It is not compared with the one that the stored cells
     * were made under, and nothing is known of earlier retentions: to lengthen one, use another prefix or a new
     * name. */
    const char *contract_yaml;
    const char *contract; /* which; NULL: the only one */
    /* How payloads become records: the text that stands below `decode:` in a configuration. Its examples are not
     * looked at. NULL: payloads are rr.v1.Result. */
    const char *mapping_yaml;
    const char *mapping_folder; /* relative paths in mapping_yaml start here; NULL: the current folder */
    const char *store_url;      /* "memory:", "redis://[user:password@]host:port/db", "unix:///path" */
    const char *prefix;         /* of keys; NULL: "rr" */
    int timeout_ms;             /* of the store; 0: 2000 */
    size_t wait_replicas;       /* of the store, that must have a record's effect before it is `stored`; 0: none */
} rr_reconciler_options;

/* One message as it came. */
typedef struct rr_input {
    rr_slice payload;         /* rr.v1.Result as protobuf, or what the mapping reads */
    int64_t stored_at_us;     /* when the queue stored it, microseconds since the epoch: the clock of its decision */
    rr_slice stream;          /* where it comes from; may be empty */
    uint64_t sequence;        /* its place there; 0: unknown */
    rr_slice subject;         /* for a mapping that reads its tokens; may be empty */
    const rr_header *headers; /* for a mapping that reads some; the first of a name counts */
    size_t header_count;
} rr_input;

/* What became of an input, or of one of its records. Of several records verdict, reason, text and index are those of
 * the gravest one, the first of its kind: REFUSED, then TOO_LATE, CONFLICT, STALE, ABSORBED, DUPLICATE, APPLIED. Texts
 * live until the next rr_reconciler_take or rr_reconciler_close. */
typedef struct rr_answer {
    const char *verdict; /* APPLIED, DUPLICATE, ABSORBED, STALE, CONFLICT, TOO_LATE, REFUSED; "": it has no record */
    const char *reason;  /* of TOO_LATE and REFUSED; else "" */
    rr_slice text;       /* a sentence for a person, where there is one */
    bool stored;         /* effect and alerts of all its records are stored: acknowledge it */
    bool dead_letter;    /* a record has no effect but this answer: keep the payload somewhere first */
    size_t index;        /* the record's place in its message, from 0 */
    size_t records;      /* that it became, without those that were skipped */
    size_t dead_letters; /* how many of them have no effect but their answers */
    size_t skipped;      /* that a rule of the mapping skipped; a message that is skipped as a whole counts as one */
} rr_answer;

/* CONFIG: the contract or the mapping has errors (the first one, and how many more). UNAVAILABLE: the store does not
 * answer. */
rr_status rr_reconciler_open(const rr_reconciler_options *options, rr_reconciler **reconciler, rr_error *error);
void rr_reconciler_close(rr_reconciler *reconciler);

/* Decides and stores the records of many inputs at once, in the order given; blocks for the store. answers: one for
 * each input. UNAVAILABLE: no answer is valid; call it again later with the same inputs. Alerts are appended to the
 * decision log in the store, as the daemon does. */
rr_status rr_reconciler_take(rr_reconciler *reconciler, const rr_input *inputs, size_t count, rr_answer *answers,
                             rr_error *error);

/* The answer of one record of an input of the newest rr_reconciler_take, which returned OK: input and record count from
 * 0, skipped ones are not among the records. Its counts are those of one record. False: there is no such record. */
bool rr_reconciler_answer(const rr_reconciler *reconciler, size_t input, size_t record, rr_answer *answer);

/* What readers see of a cell: its JSON as in the store, in *json until the next rr_reconciler_get or
 * rr_reconciler_close; empty if there is no such cell. start_us and end_us are not looked at under a global window. */
rr_status rr_reconciler_get(rr_reconciler *reconciler, rr_slice business_key, rr_slice metric_version, int64_t start_us,
                            int64_t end_us, rr_slice *json, rr_error *error);

#endif
