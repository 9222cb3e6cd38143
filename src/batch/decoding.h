/* A message through a plugin's decoder (rr/decoder.h): its rr.v1.Result messages become records. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_DECODING_H
#define RR_DECODING_H

#include "buf.h"
#include "mapped.h"
#include <rr/decoder.h>

/* Decodes one message, in the form that a mapping gives.
 *
 * arena    what the records and their strings lie in: the message may go. Nothing is taken where the outcome is not
 *          RECORDS, except where memory ran out
 * scratch  reset here, and used until the return; may be shared by all decoders of a thread. At most
 *          RR_MAPPING_RECORDS_MAX records of RR_LIMIT_RECORD_BYTES bytes
 *
 * A record that is no rr.v1.Result, or that is too long, is refused alone. A decoder that breaks its port (an answer that
 * does not exist, RECORDS without a record, SKIP after a record) makes the message malformed. */
void rr_decoder_run(const rr_decoder_ops *ops, const rr_decoder *decoder, const rr_decoder_message *message,
                    rr_arena *arena, rr_arena *scratch, rr_mapping_result *result);

/* Appends what the records depend on, in canonical text: the decoder's name, its revision, and each option with its value.
 * Two configurations that decode alike have the same text. Check with rr_buf_ok. */
void rr_decoder_print(const rr_decoder_ops *ops, const rr_decoder_options *options, rr_buf *out);

#endif
