/* What the fuzz targets share. A target is one LLVMFuzzerTestOneInput that checks a property and aborts where it does
 * not hold (RR_MUST). Linked with clang's libFuzzer it looks for inputs; linked with replay.c it runs those it is
 * given, which is how the corpus is run in every test.
 *
 * Where a target needs a contract, the input's first byte chooses it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_FUZZ_KIT_H
#define RR_FUZZ_KIT_H

#include "facts.h"
#include "join.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Bytes of the input not taken yet. */
typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

uint8_t fuzz_byte(fuzz_input *in);               /* 0 where there is none left */
rr_slice fuzz_bytes(fuzz_input *in, size_t len); /* at most what is left */
rr_slice fuzz_rest(fuzz_input *in);
rr_slice fuzz_chunk(fuzz_input *in);           /* behind two bytes of length, the low one first */
rr_slice fuzz_until(fuzz_input *in, char end); /* up to the next `end`, which is taken too */

/* One of a table of contracts: each mode, window and lane of corrections. Valid for ever. */
const rr_contract *fuzz_contract(uint8_t selector);

/* An arena that is empty again; `which` 0 or 1. Keeps its memory from input to input. */
rr_arena *fuzz_arena(unsigned which);

/* Everything a unit holds, as bytes in the arena. */
rr_slice fuzz_facts(const rr_unit *unit, rr_arena *arena);

/* Admits a record; false if it is refused. */
bool fuzz_admit(const rr_contract *contract, rr_record *record, rr_arena *arena);

/* Joins an admitted record, and once more: joining twice is joining once (semantics, law 2). False: it needs parts
 * that are not at hand, and nothing is known of the unit any more. */
bool fuzz_join_twice(rr_unit *unit, const rr_record *record, rr_arena *arena);

/* The k-th of some honest records of a contract, admitted; NULL: there are no more, or this one is refused. */
enum { FUZZ_SAMPLES = 12 };
const rr_record *fuzz_sample(const rr_contract *contract, size_t k, rr_arena *arena);

#endif
