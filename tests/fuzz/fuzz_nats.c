/* What a NATS server sends: an operation ends where it ends, whatever comes behind it, and lies within its bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "kit.h"
#include "nats_protocol.h"

static void check_within(rr_slice part, const char *from, size_t len)
{
    RR_MUST(part.len == 0 || (part.data >= from && part.data + part.len <= from + len));
}

/* A copy, so that no byte behind it can be read. */
static rr_nats_op parse_copy(const char *from, size_t len, rr_nats_parsed *parsed)
{
    char *copy = malloc(len == 0 ? 1 : len);
    rr_nats_op op;

    RR_MUST(copy != NULL);
    if (len != 0) {
        memcpy(copy, from, len);
    }
    op = rr_nats_parse((rr_slice){copy, len}, parsed);
    free(copy);
    return op;
}

/* In the order of the names, each once at most, with its value within. */
static void check_picked(rr_slice headers, const char *from, size_t len)
{
    static const char *const names[] = {"A", "Status", "Nats-Pending-Messages"};
    rr_header picked[3];
    size_t count = rr_nats_pick_headers(headers, names, 3, picked), name = 0;

    RR_MUST(count <= 3);
    for (size_t k = 0; k < count; k++) {
        while (name < 3 && picked[k].name.data != names[name]) {
            name++;
        }
        RR_MUST(name++ < 3);
        check_within(picked[k].value, from, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;

    while (size != 0) {
        rr_nats_parsed parsed, alone;
        rr_nats_op op = rr_nats_parse((rr_slice){at, size}, &parsed);

        RR_MUST(op == parse_copy(at, size, &alone));
        if (op == RR_NATS_MORE || op == RR_NATS_BROKEN) {
            RR_MUST(op == RR_NATS_BROKEN || parsed.used == 0 || parsed.used > size);
            break;
        }
        RR_MUST(parsed.used != 0 && parsed.used <= size);
        RR_MUST(parse_copy(at, parsed.used, &alone) == op && alone.used == parsed.used && alone.sid == parsed.sid);
        RR_MUST(parse_copy(at, parsed.used - 1, &alone) == RR_NATS_MORE);
        check_within(parsed.subject, at, parsed.used);
        check_within(parsed.reply, at, parsed.used);
        check_within(parsed.headers, at, parsed.used);
        check_within(parsed.payload, at, parsed.used);
        if (rr_nats_status_of(parsed.headers) != 0) {
            check_within(rr_nats_status_text(parsed.headers), at, parsed.used);
        }
        check_within(rr_nats_header(parsed.headers, "A"), at, parsed.used);
        check_picked(parsed.headers, at, parsed.used);
        at += parsed.used;
        size -= parsed.used;
    }
    return 0;
}
