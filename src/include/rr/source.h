/* The source port: deliveries from a queue, and their acknowledgement.
 *
 * Threads: used by one thread, which may not be the one that opened it. `fetch`
 * blocks up to its wait; the others do not wait for the network, but for
 * `publish`, `bound`, `flush`, `info`, `replay` and `find_time`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_SOURCE_H
#define RR_SOURCE_H

#include <rr/arena.h>
#include <rr/error.h>
#include <rr/options.h>
#include <rr/slice.h>
#include <rr/survey.h>

typedef struct rr_source rr_source; /* defined by the source */

typedef struct rr_header {
    rr_slice name, value;
} rr_header;

enum {
    RR_SOURCE_HEADERS_MAX = 32, /* names of wanted headers */
    RR_SOURCE_API_MAX = 127     /* bytes of a JetStream domain or API prefix */
};

/* One arrival of a record. Slices and headers live until the delivery is acknowledged, abandoned or released.
 *
 * The headers are those that options.headers names and the message has, in the order of options.headers. Names are
 * compared byte by byte, as NATS does: `X-Job` is not `x-job`. Where a name stands twice, the first one counts. A value
 * has no spaces or tabs at its ends; it may be empty, and may hold any other byte. */
typedef struct rr_delivery {
    rr_slice subject, payload;
    const rr_header *headers; /* NULL where header_count is 0 */
    size_t header_count;
    uint64_t stream_sequence;   /* where it stands in the stream; never an identity, never a version */
    uint64_t consumer_sequence; /* the number of this delivery among all of this consumer */
    uint64_t times_delivered;   /* 1: the first time */
    int64_t stored_at_us;       /* when the queue stored it: the clock of the decision */
    void *handle;               /* for the source only */
} rr_delivery;

typedef enum rr_ack_mode { RR_ACK_EXPLICIT, RR_ACK_ALL } rr_ack_mode;

typedef enum rr_start { RR_START_ALL, RR_START_NEW, RR_START_TIME } rr_start;

/* Options of one consumer, from the configuration. Texts outlive the source. */
typedef struct rr_source_options {
    const char *url; /* nats://host:port[,nats://host:port] */
    const char *stream, *consumer;
    bool
        read_only; /* nothing is bound, fetched or acknowledged: only publish, replay, find_time and info; the consumer need
                              * not be there */
    const char *filter; /* subject filter of a consumer that is made; NULL: all */
    const char *user, *password, *token, *credentials_file, *nkey_seed_file; /* NULL: none */
    const char *tls_ca_file, *tls_cert_file, *tls_key_file;
    rr_ack_mode ack;
    bool create;    /* make the consumer where there is none */
    rr_start start; /* of a consumer that is made */
    int64_t start_time_us;
    size_t batch;               /* records of one pull; 0: 1024 */
    size_t pulls;               /* pulls outstanding; 0: 3 */
    int ack_wait_s;             /* of a consumer that is made; 0: 60 */
    int timeout_ms;             /* of a request; 0: 5000 */
    const char *const *headers; /* names of the headers that deliveries carry, at most RR_SOURCE_HEADERS_MAX, then NULL;
                                 * NULL: none */
    const char *domain;         /* JetStream domain of the stream: requests go to `$JS.<domain>.API`; NULL: `$JS.API` */
    const char *api_prefix;     /* requests go below this subject instead; NULL: as `domain` says. Not both */
    const rr_plugin_value *values; /* of `options:`, as the plugin's table says; NULL: it has none */
    size_t value_count;
} rr_source_options;

/* The stream and the consumer as the server tells them. */
typedef struct rr_source_info {
    uint64_t first_sequence, last_sequence; /* of the stream */
    int64_t created_at_us;                  /* of the stream */
    uint64_t ack_floor, delivered;          /* stream sequences of the consumer; a fresh one has `delivered` in front
                                                * of where it starts */
    uint64_t deliveries;                    /* how often it delivered; 0: it is fresh */
    uint64_t starts_at;                     /* the sequence that it was made to start at; 0: any */
    int64_t starts_at_us;                   /* ... or the time of storing; 0: any */
    uint64_t pending, ack_pending, redelivered;
    char retention[16]; /* limits, interest, workqueue */
    char storage[16];   /* of the stream: file, memory */
    int replicas;
    int64_t max_age_us, max_messages, max_bytes; /* of the stream; 0: no limit */
} rr_source_info;

/* One message to be stored. */
typedef struct rr_publication {
    rr_slice subject, payload;
    const rr_header *headers;
    size_t header_count;
    bool once; /* in: the subject may hold one message. If it has one already, that is no error (`already`) */
    rr_slice
        cut_header;  /* in: what is more than the server or the stream takes is cut to what they take, and a header of
                          * this name holds its whole length; empty: it is an error */
    size_t cut_from; /* in, out: the whole length of a payload that was cut; 0: it was not */
    bool already;    /* out: it was there */
    rr_error error;  /* out: OK: stored (or already there) */
} rr_publication;

/* A stream as its server tells it. Of a limit 0 is none. */
typedef struct rr_stream_survey {
    rr_known there;
    char name[256];
    char storage[16];   /* file, memory */
    char retention[16]; /* limits, interest, workqueue */
    char discard[8];    /* what goes when it is full: old, new */
    rr_known discard_new_per_subject;
    rr_known confirms; /* what is published is confirmed (no_ack is off) */
    int64_t replicas;
    int64_t max_age_us, max_messages, max_bytes, max_messages_per_subject, max_message_size;
    int64_t duplicates_us;              /* how long it knows the ids of messages */
    int64_t messages, bytes, consumers; /* now */
    int64_t first_at_us, last_at_us;    /* when its first and last message were stored; 0: it is empty */
    char subjects[512];                 /* "a.>, b.*", cut if longer */
} rr_stream_survey;

typedef struct rr_consumer_survey {
    rr_known there;
    char ack[16];     /* explicit, all, none */
    char deliver[32]; /* all, new, last, last_per_subject, by_start_sequence, by_start_time */
    char filter[513]; /* empty: all, or not told */
    int64_t ack_wait_ms;
    int64_t max_deliver, max_ack_pending; /* 0: no limit */
} rr_consumer_survey;

/* The settings of the source's servers (rr/survey.h says how a hidden one looks). */
typedef struct rr_source_survey {
    char server[280];    /* for people: "NATS at nats://host:4222" */
    int64_t max_payload; /* bytes of one message */
    rr_stream_survey stream;
    rr_consumer_survey consumer;
    char unfit[RR_ERROR_TEXT_MAX]; /* why `open` would refuse stream or consumer (the first of its reasons); empty: it
                                    * would not, or there is no such consumer */
    rr_stream_survey dead_letters; /* the stream that keeps what is published below the dead letters' subject */
    char hidden[256];              /* which settings are hidden, and why */
} rr_source_survey;

typedef struct rr_source_ops {
    const char *scheme;              /* "nats" */
    const rr_plugin_option *options; /* the table of `options:`; NULL: it takes none */

    /* Connects and binds to the durable consumer; makes it only if options->create; refuses one that does not fit
     * with the difference in words. *source is NULL on failure. */
    rr_status (*open)(const rr_source_options *options, rr_source **source, rr_error *error);
    void (*close)(rr_source *source);

    /* Up to `most` deliveries, in the order they came, waiting at most wait_ms for the first. OK with 0 is normal.
     * UNAVAILABLE: not connected; it reconnects by itself. CONFIG: the consumer or the stream is gone, or a second
     * reader shows itself under `ack: all`; it does not come back by itself. */
    rr_status (*fetch)(rr_source *source, rr_delivery *deliveries, size_t most, size_t *count, int wait_ms,
                       rr_error *error);

    /* The effect of these is stored: acknowledge. Under `ack: all` the source itself sees to it that only the
     * highest sequence below which every delivery was handed to ack is acknowledged. Frees the deliveries. */
    rr_status (*ack)(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error);

    /* Tells the server that these are still being worked on: it restarts their ack wait. */
    rr_status (*progress)(rr_source *source, const rr_delivery *deliveries, size_t count, rr_error *error);

    /* Gives up these without acknowledging them. The server delivers them again: at once if `leaving` (the program
     * ends) and the consumer allows it, else after the ack wait. Frees the deliveries. */
    void (*release)(rr_source *source, const rr_delivery *deliveries, size_t count, bool leaving);

    /* Stores messages in a stream and waits until the server has confirmed each (dead letters). Headers are pairs
     * of name and value. An item's error says why it alone was not stored; OK if all were tried. */
    rr_status (*publish)(rr_source *source, rr_publication *publications, size_t count, rr_error *error);

    /* The stream that keeps what is published on this subject (no wildcards); empty where none does. */
    rr_status (*bound)(rr_source *source, rr_slice subject, char stream[256], rr_error *error);

    rr_status (*info)(rr_source *source, rr_source_info *info, rr_error *error);

    /* Sends now what is buffered (acknowledgements), waiting at most timeout_ms. */
    rr_status (*flush)(rr_source *source, int timeout_ms, rr_error *error);

    /* Reads stored messages again, without any effect on the consumer: calls `each` for sequences from..to that are
     * still there and pass the consumer's filter, in order. False from `each` ends it. to 0: as far as there are. */
    rr_status (*replay)(rr_source *source, uint64_t from, uint64_t to, bool (*each)(void *context, const rr_delivery *),
                        void *context, rr_error *error);

    /* The first sequence that was stored at or after a time and passes the consumer's filter; 0: there is none. Needs a
     * few requests, however long the stream is, and has no effect on the consumer. Where the server's clock was set
     * back, a place near the right one. */
    rr_status (*find_time)(rr_source *source, int64_t time_us, uint64_t *sequence, rr_error *error);

    /* Reads, by a connection of its own, the settings of the servers, the stream and the consumer that `open` would
     * use, even if it would refuse them, and of the stream that keeps `dead_letter` (a subject without wildcards);
     * makes and changes nothing. UNAVAILABLE: no server can be reached; CONFIG: the server rejects the credentials.
     * NULL: this source has no survey. */
    rr_status (*survey)(const rr_source_options *options, rr_slice dead_letter, rr_source_survey *survey,
                        rr_error *error);

    /* Makes a stream that keeps these subjects on disk without any limit, by a connection of its own. One of that name
     * with other settings is an error, and is not changed. NULL: this source makes none. */
    rr_status (*make_stream)(const rr_source_options *options, const char *name, const char *const *subjects,
                             size_t count, rr_error *error);
} rr_source_ops;

#endif
