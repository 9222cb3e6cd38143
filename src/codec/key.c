/* Keys in a store, written in one pass and read strictly. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "key.h"

#include "number.h"

static const char hex_digits[] = "0123456789ABCDEF";

static inline bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

/* Room is reserved by the caller: three bytes for each. */
static char *put_escaped(char *to, rr_slice text)
{
    for (size_t at = 0; at < text.len; at++) {
        unsigned char c = (unsigned char)text.data[at];

        if (is_plain(c)) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '%';
        *to++ = hex_digits[c >> 4];
        *to++ = hex_digits[c & 15];
    }
    return to;
}

static char *put(char *to, rr_slice text)
{
    if (text.len != 0) {
        memcpy(to, text.data, text.len);
    }
    return to + text.len;
}

/* All but the last part. Room for that is left too. NULL: no memory. */
static char *put_head(rr_buf *out, rr_slice prefix, const rr_contract *contract, rr_slice business_key,
                      rr_slice metric_version)
{
    size_t most = prefix.len + 3 * (contract->name.len + business_key.len + metric_version.len) + 64;
    char *to;

    if (out->failed || !rr_buf_reserve(out, most)) {
        return NULL;
    }
    to = put(out->data + out->len, prefix);
    to = put(to, RR_SLICE(":{"));
    to = put_escaped(to, contract->name);
    *to++ = ':';
    to = put_escaped(to, business_key);
    to = put(to, RR_SLICE("}:"));
    return put_escaped(to, metric_version);
}

void rr_key_unit(rr_buf *out, rr_slice prefix, const rr_contract *contract, rr_slice business_key,
                 rr_slice metric_version, rr_window window)
{
    char *to = put_head(out, prefix, contract, business_key, metric_version);

    if (to == NULL) {
        return;
    }
    if (contract->window_kind != RR_WINDOW_GLOBAL) {
        *to++ = ':';
        to += rr_i64_print(window.start, to);
        *to++ = '-';
        to += rr_i64_print(window.end, to);
    }
    out->len = (size_t)(to - out->data);
}

void rr_key_sessions(rr_buf *out, rr_slice prefix, const rr_contract *contract, rr_slice business_key,
                     rr_slice metric_version)
{
    char *to = put_head(out, prefix, contract, business_key, metric_version);

    if (to != NULL) {
        to = put(to, RR_SLICE(":sessions"));
        out->len = (size_t)(to - out->data);
    }
}

void rr_key_escape(rr_buf *out, rr_slice text)
{
    if (!out->failed && rr_buf_reserve(out, 3 * text.len)) {
        out->len = (size_t)(put_escaped(out->data + out->len, text) - out->data);
    }
}

static bool take(rr_slice *rest, rr_slice expected)
{
    if (rest->len < expected.len || memcmp(rest->data, expected.data, expected.len) != 0) {
        return false;
    }
    rest->data += expected.len;
    rest->len -= expected.len;
    return true;
}

static int hex_value(char c)
{
    const char *at = c == '\0' ? NULL : strchr(hex_digits, c);

    return at == NULL ? -1 : (int)(at - hex_digits);
}

/* Up to the first byte that has no place in a part. */
static bool take_escaped(rr_slice *rest, rr_arena *arena, rr_slice *part)
{
    char *to = rr_arena_take(arena, rest->len + 1);

    *part = (rr_slice){to, 0};
    while (to != NULL && rest->len != 0) {
        unsigned char c = (unsigned char)rest->data[0];
        size_t taken = 1;

        if (c == '%') {
            int high = rest->len < 3 ? -1 : hex_value(rest->data[1]);
            int low = rest->len < 3 ? -1 : hex_value(rest->data[2]);

            c = (unsigned char)(high * 16 + low);
            if (high < 0 || low < 0 || is_plain(c)) {
                return false;
            }
            taken = 3;
        } else if (!is_plain(c)) {
            break;
        }
        to[part->len++] = (char)c;
        rest->data += taken;
        rest->len -= taken;
    }
    return to != NULL && part->len != 0;
}

/* A time as we print it: no leading zeros, no "-0". */
static bool take_time(rr_slice *rest, int64_t *time_us)
{
    size_t len = rest->len != 0 && rest->data[0] == '-' ? 1 : 0;
    rr_slice text;

    while (len < rest->len && rest->data[len] >= '0' && rest->data[len] <= '9') {
        len++;
    }
    text = (rr_slice){rest->data, len};
    rest->data += len;
    rest->len -= len;
    return rr_number_i64(text, time_us) && !rr_slice_equal(text, RR_SLICE("-0"));
}

bool rr_key_parse(rr_slice key, rr_slice prefix, rr_arena *arena, rr_key_parts *parts)
{
    *parts = (rr_key_parts){0};
    if (!take(&key, prefix) || !take(&key, RR_SLICE(":{")) || !take_escaped(&key, arena, &parts->contract) ||
        !take(&key, RR_SLICE(":")) || !take_escaped(&key, arena, &parts->business_key) || !take(&key, RR_SLICE("}:")) ||
        !take_escaped(&key, arena, &parts->metric_version)) {
        return false;
    }
    if (key.len == 0) {
        return true;
    }
    parts->is_sessions = rr_slice_equal(key, RR_SLICE(":sessions"));
    if (parts->is_sessions) {
        return true;
    }
    parts->has_window = true;
    return take(&key, RR_SLICE(":")) && take_time(&key, &parts->window.start) && take(&key, RR_SLICE("-")) &&
           take_time(&key, &parts->window.end) && key.len == 0;
}
