/* Members of a flat JSON object, found without a parser. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "js_json.h"

#include <stdio.h>
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
