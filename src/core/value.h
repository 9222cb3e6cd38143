/* Values, exactly: the measures of one content as canonical bytes.
 *
 * The contract's measures in their order, one after the other:
 *   int64    zigzag varint, of up to 128 bits (a sum may be larger than int64)
 *   decimal  one byte of length, then plain notation without trailing zeros
 *   double   eight bytes, little endian
 * So two contents are the same if their bytes are, and nothing passes through
 * floating point. Memory comes from the arena, in which rr_values_need bytes
 * must be left (asserted).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_VALUE_H
#define RR_VALUE_H

#include "contract.h"

/* Bytes that one set of values, or a sum of them, can take. */
size_t rr_values_need(const rr_contract *contract);

/* All zero, as the start of a sum. */
rr_slice rr_values_zero(const rr_contract *contract, rr_arena *arena);

/* a + b, or a - b. Never for doubles: no contract has deltas of doubles (asserted). */
rr_slice rr_values_add(const rr_contract *contract, rr_slice a, rr_slice b, rr_arena *arena);
rr_slice rr_values_subtract(const rr_contract *contract, rr_slice a, rr_slice b, rr_arena *arena);

/* True if a measure that never falls is lower in `now` than in `before`. */
bool rr_values_fell(const rr_contract *contract, rr_slice before, rr_slice now);

/* Reads one measure (the k-th of the contract) as text, for output: integers of any size, decimals in plain
 * notation, doubles as the shortest text that reads back the same (as ECMAScript prints them, but -0 as "-0").
 * text: at least RR_NUMBER_TEXT_MAX bytes. *values moves behind the measure. Returns the length. */
enum { RR_NUMBER_TEXT_MAX = 256 };
size_t rr_values_print(const rr_contract *contract, size_t measure, rr_slice *values, char *text);

/* True if the bytes are well-formed values of this contract (for what a store hands back). */
bool rr_values_check(const rr_contract *contract, rr_slice values);

/* Writes one number of a record at *at in canonical bytes (at most RR_NUMBER_TEXT_MAX) and advances *at. False: it
 * is not of this type (REFUSED measure_type). */
bool rr_value_read(rr_measure_type type, const rr_measure *measure, char **at);

#endif
