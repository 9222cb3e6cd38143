/* Blocks of headers, taken from slabs and given back to a list. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_headers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "nats_protocol.h"

enum { SLAB_BLOCKS = 64 };

struct rr_js_block {
    struct rr_js_block *next;
    rr_header headers[];
};

struct rr_js_slab {
    struct rr_js_slab *next;
};

static bool is_name(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        if (*at <= ' ' || *at >= 0x7f || *at == ':') {
            return false;
        }
    }
    return *name != '\0';
}

rr_status rr_js_headers_init(rr_js_headers *wanted, const char *const *names, rr_error *error)
{
    *wanted = (rr_js_headers){0};
    for (size_t k = 0; names != NULL && names[k] != NULL; k++) {
        if (k == RR_SOURCE_HEADERS_MAX) {
            return rr_fail(error, RR_CONFIG, "headers: more than %d are wanted", RR_SOURCE_HEADERS_MAX);
        }
        if (!is_name(names[k])) {
            return rr_fail(error, RR_CONFIG, "headers: '%s' is not a name of a header (no spaces or colons)", names[k]);
        }
        wanted->count = k + 1;
    }
    wanted->names = wanted->count == 0 ? NULL : names;
    return RR_OK;
}

void rr_js_headers_fini(rr_js_headers *wanted)
{
    for (struct rr_js_slab *slab = wanted->slabs, *next; slab != NULL; slab = next) {
        next = slab->next;
        free(slab);
    }
    *wanted = (rr_js_headers){0};
}

static void add_slab(rr_js_headers *wanted)
{
    size_t size = sizeof(struct rr_js_block) + wanted->count * sizeof(rr_header);
    struct rr_js_slab *slab = malloc(sizeof *slab + SLAB_BLOCKS * size);

    if (slab == NULL) {
        return;
    }
    slab->next = wanted->slabs;
    wanted->slabs = slab;
    for (size_t k = 0; k < SLAB_BLOCKS; k++) {
        struct rr_js_block *block = (struct rr_js_block *)((char *)(slab + 1) + k * size);

        block->next = wanted->spare;
        wanted->spare = block;
    }
}

bool rr_js_headers_take(rr_js_headers *wanted, rr_slice block, rr_delivery *delivery)
{
    if (wanted->names == NULL || block.len == 0) {
        return true;
    }
    if (wanted->spare == NULL) {
        add_slab(wanted);
    }
    if (wanted->spare == NULL) {
        return false;
    }
    delivery->header_count = rr_nats_pick_headers(block, wanted->names, wanted->count, wanted->spare->headers);
    if (delivery->header_count != 0) {
        delivery->headers = wanted->spare->headers;
        wanted->spare = wanted->spare->next;
    }
    return true;
}

void rr_js_headers_release(rr_js_headers *wanted, const rr_delivery *delivery)
{
    if (delivery->headers != NULL) {
        struct rr_js_block *block =
            (struct rr_js_block *)((char *)(uintptr_t)delivery->headers - offsetof(struct rr_js_block, headers));

        block->next = wanted->spare;
        wanted->spare = block;
    }
}
