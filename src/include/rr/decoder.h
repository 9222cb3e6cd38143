/* The decoder port: a message of another form becomes records.
 *
 * A decoder is for messages that a mapping (`decode:` with paths) cannot
 * describe. It writes each record as the bytes of one rr.v1.Result
 * (proto/rr/v1/result.proto), so a plugin needs no type of the program's core.
 *
 * The same message must give the same records whenever it is decoded, in every
 * process: messages are decoded again after a crash, by `verify` and by
 * `rebuild`. So a decoder uses no clock, no random numbers, no network, and
 * keeps nothing from one message for the next.
 *
 * Threads: `decode` does not change the decoder, and may be called for one
 * decoder by several threads at once. No function may block for the network.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DECODER_H
#define RR_DECODER_H

#include <rr/error.h>
#include <rr/options.h>
#include <rr/slice.h>
#include <rr/source.h>

enum {
    RR_DECODER_RECORDS_MAX = 256, /* records of one message; with more it is refused: limit_exceeded */
    RR_DECODER_WHY_MAX = 256      /* bytes of a sentence, with its NUL; what is longer is cut */
};

typedef struct rr_decoder rr_decoder; /* defined by the decoder */

/* A message as it came. It lives until `decode` returns. */
typedef struct rr_decoder_message {
    rr_slice payload; /* may be empty */
    rr_slice subject; /* empty: it came from no queue */
    const rr_header *headers;
    size_t header_count;
    int64_t stored_at_us; /* when the queue stored it, microseconds since the epoch; INT64_MIN: unknown */
} rr_decoder_message;

typedef enum rr_decoder_answer {
    RR_DECODER_RECORDS,   /* what was emitted, at least one, in the order of the message */
    RR_DECODER_SKIP,      /* the message holds no record, by a rule of the decoder: acknowledged and counted */
    RR_DECODER_MALFORMED, /* REFUSED malformed, as a whole: a dead letter with `why`. What was emitted is dropped */
    RR_DECODER_NO_MEMORY  /* memory ran out: nothing is decided, and the message is decoded again later */
} rr_decoder_answer;

/* Takes one record. The bytes are copied, and may go after the call. False: no more is taken (memory, or the limit on
 * records); the decoder then returns, and its answer does not count. */
typedef bool rr_decoder_emit(void *context, rr_slice result);

typedef struct rr_decoder_options {
    const rr_plugin_value *values; /* as the decoder's table says; they outlive the decoder */
    size_t value_count;
} rr_decoder_options;

typedef struct rr_decoder_ops {
    const char *name;                /* what `decode: {plugin: NAME}` says */
    const rr_plugin_option *options; /* the table of `options:`; NULL: it takes none. No value may be a secret: they are
                                      * kept in the store, to notice a change */
    const char *revision;            /* changes whenever a message would give other records than before: "1" */

    /* Touches no network: `check` opens decoders, too. CONFIG: an option has a value that the decoder cannot use. *decoder
     * is NULL on failure. */
    rr_status (*open)(const rr_decoder_options *options, rr_decoder **decoder, rr_error *error);
    void (*close)(rr_decoder *decoder);

    /* The names of the headers that `decode` reads; they live until `close`. Messages may come with these alone. NULL: it
     * reads none. */
    const rr_slice *(*headers)(const rr_decoder *decoder, size_t *count);

    /* Decodes one message: calls `emit` once for each record. `why` comes as an empty text; after MALFORMED it holds one
     * sentence that names what is wrong, in UTF-8 without control characters. */
    rr_decoder_answer (*decode)(const rr_decoder *decoder, const rr_decoder_message *message, rr_decoder_emit *emit,
                                void *context, char why[RR_DECODER_WHY_MAX]);
} rr_decoder_ops;

#endif
