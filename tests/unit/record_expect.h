/* What the tests of the record decoders share: one record at a time, decoded from bytes of exactly its size, and
 * what is expected of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_RECORD_EXPECT_H
#define RR_RECORD_EXPECT_H

#include "record.h"

/* The result of the last call of decode_copy. `record` points into `arena`. */
extern rr_arena arena;
extern rr_record record;
extern rr_text why;
extern int64_t clock_us;

/* One way to decode bytes into `record` and `clock_us`. */
typedef rr_decoded record_decoder(rr_slice bytes, rr_arena *memory, rr_text *sentence);

/* Decodes a copy in heap memory of just that size, which is freed before the call returns: so a sanitizer sees a read
 * behind the bytes, and a record that still points into them. */
rr_decoded decode_copy(record_decoder *decoder, rr_slice bytes);

void assert_slice(rr_slice slice, rr_slice expected);
void assert_text(rr_slice slice, const char *expected);

/* The sentence of the last call has this part. */
void assert_why(const char *part);

/* Bytes changed at random are decoded, and do no harm. Every second round takes the new bytes from `alphabet`,
 * unless it is NULL; every fifth cuts the end off. decode gets the number of the round. */
void decode_damaged(rr_slice bytes, const char *alphabet, void (*decode)(rr_slice damaged, int round));

/* Many records fit into little memory, as decoding gives its scratch back; and too little memory is
 * RR_DECODED_NO_MEMORY. */
void assert_scratch_is_given_back(record_decoder *decoder, const rr_slice *rows, size_t count);

/* Setup and teardown of the group. */
int open_arena(void **state);
int close_arena(void **state);

#endif
