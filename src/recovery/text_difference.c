/* Where two texts differ. A message is one line, as the log has it: line breaks in it would be escaped. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "text_difference.h"

#include <string.h>

enum { LINE_SHOWN = 200 };

static rr_slice line_at(rr_slice text, size_t at)
{
    size_t start = at, end = at;

    while (start > 0 && text.data[start - 1] != '\n') {
        start--;
    }
    while (end < text.len && text.data[end] != '\n') {
        end++;
    }
    while (start < end && text.data[start] == ' ') {
        start++;
    }
    if (start == end) {
        return RR_SLICE("nothing");
    }
    return (rr_slice){text.data + start, end - start < LINE_SHOWN ? end - start : LINE_SHOWN};
}

rr_text_difference rr_text_difference_find(rr_slice stored, rr_slice own)
{
    size_t at = 0;

    while (at < stored.len && at < own.len && stored.data[at] == own.data[at]) {
        at++;
    }
    return (rr_text_difference){line_at(stored, at), line_at(own, at)};
}

static void log_lines(const rr_environment *env, const char *kind, rr_slice name, const char *whose, rr_slice text)
{
    while (text.len != 0) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.data);

        rr_environment_log(env, RR_LOG_ERROR, "%s %.*s, %s: %.*s", kind, (int)name.len, name.data, whose, (int)len,
                           text.data);
        len += end != NULL;
        text = (rr_slice){text.data + len, text.len - len};
    }
}

void rr_text_difference_log(const rr_environment *env, const char *kind, rr_slice name, rr_slice stored, rr_slice own)
{
    log_lines(env, kind, name, "as stored", stored);
    log_lines(env, kind, name, "of this program", own);
}
