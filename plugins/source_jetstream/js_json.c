/* Members of a flat JSON object, found without a parser. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rr_js_json_value(rr_slice json, const char *name)
{
    char quoted[64];
    int len = snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = json.len == 0 ? NULL : memmem(json.data, json.len, quoted, (size_t)len);

    return at == NULL ? NULL : at + len;
}

uint64_t rr_js_json_number(rr_slice json, const char *name)
{
    const char *at = rr_js_json_value(json, name), *end = json.len == 0 ? json.data : json.data + json.len;
    uint64_t number = 0;

    for (; at != NULL && at < end && *at >= '0' && *at <= '9' && number < UINT64_MAX / 10 - 9; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
    }
    return number;
}

bool rr_js_json_text(rr_slice json, const char *name, char *text, size_t room)
{
    const char *at = rr_js_json_value(json, name), *end = json.len == 0 ? json.data : json.data + json.len;
    size_t len = 0;

    text[0] = '\0';
    if (at == NULL || at >= end || *at != '"') {
        return false;
    }
    for (at++; at < end && *at != '"' && len + 1 < room; at++) {
        at += *at == '\\' && at + 1 < end;
        text[len++] = *at;
    }
    text[len] = '\0';
    return true;
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

char *rr_js_json_base64(rr_slice json, const char *name, size_t *len)
{
    const char *at = rr_js_json_value(json, name), *end = json.data + json.len;
    char *bytes = at == NULL || at == end || *at != '"' ? NULL : malloc((size_t)(end - at));
    unsigned bits = 0, held = 0;

    *len = 0;
    if (bytes == NULL) {
        return NULL;
    }
    for (at++; at < end && *at != '"' && *at != '='; at++) {
        int value = base64_value(*at);

        if (value < 0) {
            free(bytes);
            return NULL;
        }
        bits = bits << 6 | (unsigned)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes[(*len)++] = (char)(bits >> held);
        }
    }
    return bytes;
}
