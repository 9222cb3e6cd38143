/* The wanted headers of deliveries.
 *
 * A delivery's headers lie in a block of the source, which goes back when the delivery is released. Blocks are made
 * while more deliveries are under way than ever before, so nothing is allocated per message after that.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RR_JS_HEADERS_H
#define RR_JS_HEADERS_H

#include <rr/source.h>

/* All zero: no header is wanted. */
typedef struct rr_js_headers {
    const char *const *names; /* ended by NULL; NULL: none is wanted */
    size_t count;             /* of names */
    struct rr_js_slab *slabs;
    struct rr_js_block *spare;
} rr_js_headers;

/* names: as in rr_source_options, and outlive this. CONFIG: more than RR_SOURCE_HEADERS_MAX, or one that is no name of a
 * header. */
rr_status rr_js_headers_init(rr_js_headers *wanted, const char *const *names, rr_error *error);

/* Frees the headers of all deliveries too. */
void rr_js_headers_fini(rr_js_headers *wanted);

/* Sets the delivery's headers from a message's header block, which must live as long. False: memory ran out. */
bool rr_js_headers_take(rr_js_headers *wanted, rr_slice block, rr_delivery *delivery);

void rr_js_headers_release(rr_js_headers *wanted, const rr_delivery *delivery);

#endif
