/* Sentences in fixed memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include "number.h"
#include "time.h"
#include "utf8.h"

enum { SLICE_SHOWN = 64 };

/* Whole characters only; false where the sentence is full. */
static bool append(rr_text *text, const char *bytes, size_t len)
{
    if (len > sizeof text->bytes - text->len) {
        return false;
    }
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    return true;
}

void rr_text_put(rr_text *text, const char *more)
{
    rr_slice rest = rr_slice_of(more);

    while (text != NULL && rest.len != 0) {
        size_t len = rr_utf8_char_len(rest);

        if (!append(text, rest.data, len == 0 ? 1 : len)) {
            return;
        }
        rest.data += len == 0 ? 1 : len;
        rest.len -= len == 0 ? 1 : len;
    }
}

/* Text of a record ends up in message headers and on terminals: so control characters become question marks. */
void rr_text_slice(rr_text *text, rr_slice more)
{
    size_t at = 0;

    while (text != NULL && at < more.len) {
        rr_slice rest = {more.data + at, more.len - at};
        size_t len = rr_utf8_char_len(rest);
        bool shown = len > 1 || (len == 1 && *rest.data >= 0x20 && *rest.data != 0x7f);

        len = len == 0 ? 1 : len;
        if (at + len > SLICE_SHOWN) {
            rr_text_put(text, "...");
            return;
        }
        if (!append(text, shown ? rest.data : "?", shown ? len : 1)) {
            return;
        }
        at += len;
    }
}

void rr_text_i64(rr_text *text, int64_t number)
{
    char digits[21];

    if (text != NULL) {
        append(text, digits, rr_i64_print(number, digits));
    }
}

void rr_text_u64(rr_text *text, uint64_t number)
{
    char digits[21];

    if (text != NULL) {
        append(text, digits, rr_u64_print(number, digits));
    }
}

void rr_text_time(rr_text *text, int64_t time_us)
{
    char bytes[RR_TIME_TEXT_MAX];

    if (text != NULL) {
        append(text, bytes, rr_time_print(time_us, bytes));
    }
}

void rr_text_duration(rr_text *text, int64_t us)
{
    char bytes[RR_TIME_TEXT_MAX];

    if (text != NULL) {
        append(text, bytes, rr_duration_print(us, bytes));
    }
}
