/* Reading and writing the subjects that acknowledgements go to. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_reply.h"

#include <stdio.h>

enum { TOKENS_MAX = 16, SHORT_FORM = 9, LONG_FORM = 11, NUMBERS = 5 };

/* The number up to the next point or the end; false: none, or beyond 64 bits. */
static bool read_number(const char *at, const char *end, uint64_t *number)
{
    const char *begin = at;
    uint64_t sum = 0;

    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum)) {
            return false;
        }
    }
    *number = sum;
    return at > begin && (at == end || *at == '.');
}

bool rr_reply_parse(rr_slice subject, rr_reply *reply, rr_slice *head)
{
    uint64_t *const numbers[NUMBERS] = {&reply->delivered, &reply->stream, &reply->consumer, &reply->stored_ns,
                                        &reply->pending};
    static const char prefix[] = "$JS.ACK.";
    const char *tokens[TOKENS_MAX], *end;
    size_t count = 0, first;

    if (subject.len < sizeof prefix || memcmp(subject.data, prefix, sizeof prefix - 1) != 0 ||
        memchr(subject.data, '\0', subject.len) != NULL) {
        return false;
    }
    end = subject.data + subject.len;
    for (const char *at = subject.data; at != NULL && count < TOKENS_MAX; at = memchr(at, '.', (size_t)(end - at))) {
        at += count > 0;
        tokens[count++] = at;
    }
    if (count != SHORT_FORM && count < LONG_FORM) {
        return false;
    }
    first = count == SHORT_FORM ? 4 : 6;
    for (size_t i = 0; i < NUMBERS; i++) {
        if (!read_number(tokens[first + i], end, numbers[i])) {
            return false;
        }
    }
    if (head != NULL) {
        *head = (rr_slice){subject.data, (size_t)(tokens[first] - subject.data)};
    }
    return true;
}

size_t rr_reply_print(rr_slice head, const rr_reply *reply, char *text)
{
    int len = snprintf(text, RR_REPLY_MAX, "%.*s%llu.%llu.%llu.%llu.%llu", (int)head.len, head.data,
                       (unsigned long long)reply->delivered, (unsigned long long)reply->stream,
                       (unsigned long long)reply->consumer, (unsigned long long)reply->stored_ns,
                       (unsigned long long)reply->pending);

    return len < 0 ? 0 : (size_t)len;
}
