/* Reply subjects of the queue: what is read prints as a subject that reads the same. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "js_reply.h"
#include "kit.h"

static void check_print(rr_slice head, const rr_reply *reply)
{
    char text[RR_REPLY_MAX + 1];
    rr_reply again = {0};
    rr_slice head_again = {NULL, 0};
    size_t len;

    if (head.len > RR_REPLY_HEAD_MAX) {
        return;
    }
    len = rr_reply_print(head, reply, text);
    RR_MUST(len != 0 && len < RR_REPLY_MAX);
    RR_MUST(rr_reply_parse((rr_slice){text, len}, &again, &head_again));
    RR_MUST(rr_slice_equal(head, head_again) && memcmp(reply, &again, sizeof again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *subject = malloc(size == 0 ? 1 : size); /* no more than that may be read */
    rr_reply reply = {0};
    rr_slice head;

    RR_MUST(subject != NULL);
    if (size != 0) {
        memcpy(subject, data, size);
    }
    if (rr_reply_parse((rr_slice){subject, size}, &reply, &head)) {
        check_print(head, &reply);
    }
    free(subject);
    return 0;
}
